/* SPDX-License-Identifier: MIT */
/*
 * timeline/decode.js - answers of /api/picture as arrays, in the encoding of docs/formats/ui.md.
 *
 * Of a decoded track:
 *
 *   states      runs: { x, n: Uint32Array of pixels; shares: Uint8Array, 7 a run }
 *   intervals   items: { index, begin, end, what }, density: { x, n, count, share }
 *   points      items: { index, begin, what }, density: { x, n, count }
 *   counter     points: { x, least, greatest, last }, grain
 *
 * Text that does not follow the encoding ends a track early; it is never an error.
 */

const value = new Int8Array(128).fill(-1);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].forEach((c, i) => {
	value[c.charCodeAt(0)] = i;
});

/* States in the order of their shares: the bits of the answer. */
export const states = ["user", "kernel", "runnable", "blocked", "preempted", "irq", "unknown"];
export const fullShare = 63;

class Digits {
	constructor(text)
	{
		this.text = typeof text === "string" ? text : "";
		this.at = 0;
	}

	get isAtEnd()
	{
		return this.at >= this.text.length;
	}

	digit()
	{
		const v = this.at < this.text.length ? value[this.text.charCodeAt(this.at++) & 127] : 0;
		return v < 0 ? 0 : v;
	}

	number()
	{
		let n = 0, unit = 1, d;
		do {
			d = this.digit();
			n += (d & 31) * unit;
			unit *= 32;
		} while (d & 32 && !this.isAtEnd);
		return n;
	}
}

function runsOf(text)
{
	const digits = new Digits(text);
	const x = [], n = [], shares = [];
	for (let at = 0; !digits.isAtEnd;) {
		const length = digits.number();
		const set = digits.number();
		x.push(at);
		n.push(length);
		for (let i = 0; i < states.length; i++)
			shares.push(set & (1 << i) ? digits.digit() : 0);
		at += length;
	}
	return { x: Uint32Array.from(x), n: Uint32Array.from(n), shares: Uint8Array.from(shares) };
}

function densityOf(text, hasShare)
{
	const digits = new Digits(text);
	const x = [], n = [], count = [], share = [];
	for (let at = 0; !digits.isAtEnd;) {
		const length = digits.number();
		const c = digits.number();
		const s = hasShare ? digits.digit() : 0;
		if (c || s) {
			x.push(at);
			n.push(length);
			count.push(c);
			share.push(s);
		}
		at += length;
	}
	return { x: Uint32Array.from(x), n: Uint32Array.from(n), count: Float64Array.from(count),
		 share: Uint8Array.from(share) };
}

function itemsOf(list, from, isPoint)
{
	const size = isPoint ? 3 : 4;
	const n = Math.floor((list || []).length / size);
	const items = { index: new Float64Array(n), begin: new Float64Array(n), what: new Uint32Array(n) };
	items.end = isPoint ? items.begin : new Float64Array(n);
	let index = 0, at = from;
	for (let i = 0; i < n; i++) {
		items.index[i] = index += list[i * size];
		items.begin[i] = at += list[i * size + 1];
		if (!isPoint)
			items.end[i] = at += list[i * size + 2];
		items.what[i] = list[i * size + size - 1];
	}
	return items;
}

function pointsOf(list)
{
	const n = Math.floor((list || []).length / 4);
	const points = { x: new Float64Array(n), least: new Float64Array(n), greatest: new Float64Array(n),
			 last: new Float64Array(n) };
	for (let i = 0; i < n; i++)
		[points.x[i], points.least[i], points.greatest[i], points.last[i]] = list.slice(i * 4, i * 4 + 4);
	return points;
}

export const isPoints = (kind) => kind === "events" || kind === "samples";

function track(t, from)
{
	const base = { track: t.track, kind: t.kind, depth: t.depth || 0, grain: t.grain || 1 };
	if (t.kind === "states")
		return { ...base, runs: runsOf(t.runs) };
	if (t.kind === "counter")
		return { ...base, points: pointsOf(t.points) };
	return { ...base, items: itemsOf(t.items, from, isPoints(t.kind)),
		 density: densityOf(t.density, !isPoints(t.kind)) };
}

/* decodeRow - the tracks of a row of an answer that begins at @from: Map of id to track. */
export function decodeRow(row, from)
{
	return new Map(row.tracks.map((t) => [t.track, track(t, from)]));
}
