/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/item.js - the answer about the selected item: asked for once, for all panels.
 */

import { get } from "../../api.js";
import { on, state } from "../../store.js";

const listeners = [];
let current = null;

/* onItem - `fn(item)` runs when the answer about a new selection is there; null: nothing is selected. */
export function onItem(fn)
{
	listeners.push(fn);
}

export const currentItem = () => current;

async function ask()
{
	const s = state.selected;
	if (s && current?.id === s.id && current.to === s.to)
		return;
	const item = s ? await get("/api/item", { id: s.id }, { key: "item" }) : null;
	if (item === undefined || state.selected?.id !== s?.id)
		return;
	current = item;
	for (const fn of listeners)
		fn(item);
}

export function startItem()
{
	on("selected", ask);
	ask();
}
