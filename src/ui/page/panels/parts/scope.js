/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/scope.js - the scope of the lower panels: the marked area, or else the visible time.
 *
 * Both change the same panels in the same way, so that a number never depends on how its span was
 * chosen.
 */

import { duration } from "../../format.js";
import { recording, rowName } from "../../recording.js";
import { state } from "../../store.js";

/* keys of the store that change the scope */
export const scopeKeys = ["from", "to", "area"];

/* scope - {from, to, rows, isArea}; rows [] means all. */
export function scope()
{
	const area = state.area;
	const from = Math.max(0, Math.floor(area ? area.from : state.from));
	const to = Math.ceil(area ? area.to : state.to || recording.end);
	return { from, to: Math.max(from + 1, to), rows: area ? area.rows : [], isArea: area !== null };
}

/* params - a scope as parameters of a request. */
export function params(s)
{
	return { from: s.from, to: s.to, rows: s.rows.length ? s.rows : undefined };
}

/* scopeText - the scope in words. */
export function scopeText(s)
{
	const rows = s.rows.length === 0 ? "" : s.rows.length === 1
		? ` of ${rowName(s.rows[0])}` : ` of ${s.rows.length} rows`;
	return `${s.isArea ? "area" : "visible"}, ${duration(s.to - s.from)}${rows}`;
}

/* scopeId - a text that changes when the same question may have another answer: with the scope, and while
 * its time is not indexed to the end. */
export function scopeId(s)
{
	const isReady = recording.done || recording.ready >= s.to;
	const part = isReady ? "all" : Math.floor(20 * recording.ready / s.to);
	return JSON.stringify([s.from, s.to, s.rows, part]);
}

/*
 * soon - a function that runs `load` (which returns a promise) `ms` after its last call, and after 1 s at the
 * latest.  A load that goes on is superseded by the next; but not while a live session is followed:
 * there it would never come to an end.
 */
export function soon(load, ms)
{
	const mostMs = 1000;
	let timer = 0, first = 0, running = 0, again = false;

	async function run()
	{
		first = 0;
		if (running && state.following) {
			again = true;
			return;
		}
		running++;
		await load();
		running--;
		if (again && !running) {
			again = false;
			call();
		}
	}
	function call()
	{
		const now = performance.now();
		first ||= now;
		clearTimeout(timer);
		timer = setTimeout(run, Math.max(0, Math.min(ms, first + mostMs - now)));
	}
	return call;
}
