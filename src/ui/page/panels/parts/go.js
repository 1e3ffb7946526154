/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/go.js - selecting an item from a panel: the timeline shows it, wherever it is.
 */

import { set } from "../../store.js";
import { reveal } from "../../timeline/view.js";

/* select - `item` is {id, row, from, to}. */
export function select(item)
{
	set({ selected: { id: item.id, row: item.row, from: item.from, to: item.to } }, { undo: true });
	reveal(item.row, item.from, item.to);
}

/* show - that time of `row`, without selecting anything. */
export function show(row, from, to)
{
	reveal(row, from, to);
	set({ cursor: from });
}
