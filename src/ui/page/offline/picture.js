/* SPDX-License-Identifier: MIT */
/*
 * offline/picture.js - pictures and the overview, in the encoding of docs/formats/ui.md.
 *
 * Every pixel has the exact sums of its time, as the server's.
 */
import { from as fileFrom, gaps, isPoints, rows, to as fileTo, track, tracksOfKind } from "./data.js";

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const itemsMost = 2000;
const order = [1, 2, 5, 6, 4, 3, 0]; /* states in the order of their bits: user, kernel, runnable, .. */

function number(n)
{
	let s = "";
	do {
		const low = n % 32;
		n = Math.floor(n / 32);
		s += digits[low + (n ? 32 : 0)];
	} while (n);
	return s;
}

/* A part of a pixel's time as a digit; what is there at all is at least 1. */
function share(part, whole)
{
	return part <= 0 ? 0 : Math.min(63, Math.max(1, Math.round(63 * part / whole)));
}

class Pixels {
	constructor(from, to, width)
	{
		this.from = from;
		this.span = Math.max(1, to - from);
		this.width = Math.max(1, Math.min(width, this.span));
		this.to = from + this.span;
	}

	at(x)
	{
		return this.from + Math.floor(x * this.span / this.width);
	}

	of(ns)
	{
		let x = Math.floor((ns - this.from) * this.width / this.span);
		x = Math.max(0, Math.min(this.width - 1, x));
		while (x + 1 < this.width && this.at(x + 1) <= ns)
			x++;
		while (x > 0 && this.at(x) > ns)
			x--;
		return x;
	}

	/* Adds the part of [begin, end) in each pixel by add(x, ns). */
	spread(begin, end, add)
	{
		begin = Math.max(begin, this.from);
		end = Math.min(end, this.to);
		if (end <= begin)
			return;
		for (let x = this.of(begin); x < this.width && this.at(x) < end; x++) {
			const a = Math.max(begin, this.at(x));
			const b = Math.min(end, x + 1 < this.width ? this.at(x + 1) : this.to);
			if (b > a)
				add(x, b - a);
		}
	}

	time(x)
	{
		return (x + 1 < this.width ? this.at(x + 1) : this.to) - this.at(x);
	}
}

/* Equal neighbours as one run; empty ones at the end are left out. */
function runs(width, textOf, empty)
{
	const parts = [];
	let last = null, n = 0, kept = 0;
	for (let x = 0; x <= width; x++) {
		const now = x < width ? textOf(x) : null;
		if (now === last && x < width) {
			n++;
			continue;
		}
		if (n) {
			parts.push([n, last]);
			if (last !== empty)
				kept = parts.length;
		}
		last = now;
		n = 1;
	}
	return parts.slice(0, kept);
}

function statesTrack(t, pixels)
{
	const sums = new Float64Array(pixels.width * 7);
	for (let i = t.find(pixels.from); i < t.n && t.begin[i] < pixels.to; i++)
		pixels.spread(t.begin[i], t.end[i], (x, ns) => {
			sums[x * 7 + t.what[i]] += ns;
		});
	const textOf = (x) => {
		let set = 0, shares = "";
		order.forEach((state, bit) => {
			const s = share(sums[x * 7 + state], pixels.time(x));
			if (s) {
				set |= 1 << bit;
				shares += digits[s];
			}
		});
		return number(set) + shares;
	};
	const empty = number(0);
	return { runs: runs(pixels.width, textOf, empty).map(([n, s]) => number(n) + s).join("") };
}

/* The longest intervals are items, each at least a pixel long. */
function chooseItems(t, pixels)
{
	const pixel = pixels.span / pixels.width, items = [], rest = [];
	for (let i = t.find(pixels.from); i < t.n && t.begin[i] < pixels.to; i++)
		(t.end[i] - t.begin[i] >= pixel ? items : rest).push(i);
	if (items.length > itemsMost) {
		items.sort((a, b) => t.end[b] - t.begin[b] - (t.end[a] - t.begin[a]));
		rest.push(...items.splice(itemsMost));
		items.sort((a, b) => a - b);
	}
	return { items, rest };
}

function flat(t, items, from, isPoint)
{
	const out = [];
	let index = 0, at = from;
	for (const i of items) {
		out.push(t.first + i - index, t.begin[i] - at);
		if (!isPoint)
			out.push(t.end[i] - t.begin[i]);
		out.push(t.what[i]);
		index = t.first + i;
		at = isPoint ? t.begin[i] : t.end[i];
	}
	return out;
}

function intervalTrack(t, pixels)
{
	const { items, rest } = chooseItems(t, pixels);
	const count = new Float64Array(pixels.width), covered = new Float64Array(pixels.width);
	for (const i of rest) {
		if (t.begin[i] >= pixels.from)
			count[pixels.of(t.begin[i])]++;
		pixels.spread(t.begin[i], t.end[i], (x, ns) => {
			covered[x] += ns;
		});
	}
	const textOf = (x) => number(count[x]) + digits[share(covered[x], pixels.time(x))];
	return { grain: 1, items: flat(t, items, pixels.from, false),
		 density: runs(pixels.width, textOf, number(0) + digits[0]).map(([n, s]) => {
			 /* the number is that of the whole run, so runs of several pixels are given singly */
			 const one = number(1) + s;
			 return s === number(0) + digits[0] ? number(n) + s : one.repeat(n);
		 }).join("") };
}

function pointTrack(t, pixels)
{
	const first = t.find(pixels.from), count = new Float64Array(pixels.width), alone = [];
	let end = first;
	for (; end < t.n && t.begin[end] < pixels.to; end++)
		count[pixels.of(t.begin[end])]++;
	for (let i = first; i < end && alone.length < itemsMost; i++) {
		const x = pixels.of(t.begin[i]);
		if (count[x] === 1)
			alone.push(i);
	}
	for (const i of alone)
		count[pixels.of(t.begin[i])] = 0;
	return { grain: 1, items: flat(t, alone, pixels.from, true),
		 density: runs(pixels.width, (x) => number(count[x]), number(0)).map(([n, s]) => (
			 s === number(0) ? number(n) + s : (number(1) + s).repeat(n))).join("") };
}

function counterTrack(t, pixels)
{
	const points = [];
	for (let i = t.find(pixels.from); i < t.n && t.begin[i] < pixels.to; i++) {
		const x = pixels.of(t.begin[i]), n = points.length;
		if (n && points[n - 4] === x) {
			points[n - 3] = Math.min(points[n - 3], t.aux[i]);
			points[n - 2] = Math.max(points[n - 2], t.aux[i]);
			points[n - 1] = t.aux[i];
		} else {
			points.push(x, t.aux[i], t.aux[i], t.aux[i]);
		}
	}
	return { grain: 1, points };
}

function draw(t, pixels)
{
	if (t.kind === "states")
		return statesTrack(t, pixels);
	if (t.kind === "counter")
		return counterTrack(t, pixels);
	return isPoints(t.kind) ? pointTrack(t, pixels) : intervalTrack(t, pixels);
}

/* picture - as /api/picture. */
export function picture({ rows: ids, from, to, width })
{
	const pixels = new Pixels(from, to, width);
	return {
		from, to: pixels.to, width: pixels.width, ready: fileTo, merged: 0,
		rows: ids.filter((id) => rows[id]).map((id) => ({
			row: id,
			tracks: rows[id].tracks.map(({ id: t, kind, depth }) => (
				{ track: t, kind, depth, ...draw(track(t), pixels) })),
		})),
		gaps: gaps.filter((g) => g[0] < to && g[1] > from).slice(0, 200),
	};
}

/* overview - as /api/overview. */
export function overview({ width, end })
{
	const pixels = new Pixels(0, end, width), busy = new Float64Array(pixels.width);
	const events = new Array(pixels.width).fill(0);
	const cpus = tracksOfKind(["running"]);
	for (const t of cpus)
		for (let i = 0; i < t.n; i++)
			pixels.spread(t.begin[i], t.end[i], (x, ns) => {
				busy[x] += ns;
			});
	for (const t of tracksOfKind(["spans", "syscalls", "calls", "busy", "events", "samples", "counter"]))
		for (let i = 0; i < t.n; i++)
			if (t.begin[i] >= fileFrom && t.begin[i] < pixels.to)
				events[pixels.of(t.begin[i])]++;
	return { from: 0, to: pixels.to, width: pixels.width, gaps,
		 cpu: cpus.length ? Array.from(busy, (ns, x) => (
			 Math.min(255, Math.round(255 * ns / (pixels.time(x) * cpus.length))))) : [],
		 events };
}
