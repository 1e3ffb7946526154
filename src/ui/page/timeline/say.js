/* SPDX-License-Identifier: MIT */
/*
 * timeline/say.js - the selection in words, for screen readers.
 */

import { duration, time } from "../format.js";
import { announce } from "../notice.js";
import { rowName } from "../recording.js";

/* say - @item: { name, row, from, to }. */
export function say(item)
{
	const length = item.to > item.from ? `, ${duration(item.to - item.from)}` : "";
	announce(`${item.name || "item"} of ${rowName(item.row)}${length}, at ${time(item.from)}`);
}
