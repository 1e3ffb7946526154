/* SPDX-License-Identifier: MIT */
/*
 * timeline/wakes.js - the wake-ups that concern the selection, for arrows.
 */

import { get } from "../api.js";
import { recording } from "../recording.js";
import { on, state } from "../store.js";
import { draw } from "./view.js";

const limit = 200;
const none = { of: [], by: [] };
let known = none;

/* wakes - { of: woken in the selection, by: it woke }. */
export const wakes = () => known;

async function ask()
{
	known = none;
	draw();
	const { selected } = state;
	if (!selected || recording.rows[selected.row]?.kind !== "thread")
		return;
	const answer = await get("/api/wakes", { row: selected.row, from: selected.from,
		to: Math.max(selected.to, selected.from + 1), limit }, { key: "wakes", quiet: true });
	if (!answer || answer.error || state.selected !== selected)
		return;
	known = { of: answer.of || [], by: answer.by || [] };
	draw();
}

export function startWakes()
{
	on("selected", ask);
	if (state.selected)
		setTimeout(ask, 300);
}
