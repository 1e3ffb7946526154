/* SPDX-License-Identifier: MIT */
/*
 * timeline/columns.js - what a track has a value for in every pixel, as columns: state bands and densities.
 *
 * Columns lie side by side or over each other, in the order of their first pixel; later ones cover earlier ones.
 * In a state band active states lie on top of each other by their shares, from the top; the blocked rest is the
 * thinner grey band below.
 */

import { fullShare, isPoints } from "./decode.js";

export const bandRows = 7; /* a state band is so many rows high; a density one */
const blockedRows = 5;

export const tones = ["run", "kern", "irq", "ready", "block", "unknown", "spanb", "callb", "funcb", "mark", "disk"];
const tone = Object.fromEntries(tones.map((name, i) => [name, i]));
export const fullAlpha = 32;

/* Shares of active states in the order they are stacked: [index of the share, tone]. */
const stack = [[0, tone.run], [1, tone.kern], [5, tone.irq], [4, tone.ready], [2, tone.ready]];
const blocked = 3, unknown = 6;
const ofKind = { running: tone.run, spans: tone.spanb, syscalls: tone.callb, calls: tone.funcb, busy: tone.irq,
		 disk: tone.disk, events: tone.mark, samples: tone.kern };

class Columns {
	constructor(most, rows)
	{
		this.n = 0;
		this.rows = rows;
		this.from = new Uint32Array(most);
		this.to = new Uint32Array(most);
		for (const key of ["top", "end", "tone", "alpha"])
			this[key] = new Uint8Array(most);
	}

	add(from, to, top, end, which, alpha)
	{
		const i = this.n++;
		this.from[i] = from;
		this.to[i] = to;
		this.top[i] = top;
		this.end[i] = end;
		this.tone[i] = which;
		this.alpha[i] = alpha;
	}

	/* range - [first, end) of the columns that may touch the pixels [@p0, @p1). */
	range(p0, p1)
	{
		const first = this.search(this.to, p0 + 1), end = this.search(this.from, p1);
		return [first, end];
	}

	/* Of columns of one run the same; so both lists ascend. */
	search(list, value)
	{
		let low = 0, high = this.n;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (list[mid] < value)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}
}

function ofStates({ x, n, shares })
{
	const columns = new Columns(x.length * 7, bandRows);
	for (let r = 0; r < x.length; r++) {
		const at = r * 7, from = x[r], to = from + n[r];
		let total = 0;
		for (let i = 0; i < 7; i++)
			total += shares[at + i];
		if (shares[at + unknown])
			columns.add(from, to, 0, bandRows, tone.unknown, fullAlpha);
		if (shares[at + blocked])
			columns.add(from, to, 0, Math.max(1, Math.round(blockedRows * Math.min(1, total / fullShare))),
				    tone.block, fullAlpha);
		let y = 0;
		for (const [i, which] of stack) {
			const share = shares[at + i];
			if (!share || y >= bandRows)
				continue;
			const end = Math.min(bandRows, y + Math.max(1, Math.round(bandRows * share / fullShare)));
			columns.add(from, to, y, end, which, fullAlpha);
			y = end;
		}
	}
	return columns;
}

function ofDensity(kind, { x, n, count, share })
{
	const columns = new Columns(x.length, 1);
	for (let r = 0; r < x.length; r++) {
		const strength = isPoints(kind) ? Math.min(1, 0.35 + Math.log2(1 + count[r] / n[r]) / 6)
						: 0.35 + 0.5 * Math.sqrt(share[r] / fullShare);
		columns.add(x[r], x[r] + n[r], 0, 1, ofKind[kind], Math.round(strength * fullAlpha));
	}
	return columns;
}

/* columnsOf - the columns of @track (of decode.js), or null: it has none. */
export function columnsOf(track)
{
	if (track.columns === undefined)
		track.columns = track.runs ? ofStates(track.runs)
			: track.density ? ofDensity(track.kind, track.density) : null;
	return track.columns;
}
