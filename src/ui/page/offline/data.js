/* SPDX-License-Identifier: MIT */
/*
 * offline/data.js - the data of a page written by `duet ui --html`: rows, tracks, wakeups, events.
 *
 * The format is in docs/formats/ui.md, "One file".  Rows get new ids without holes; tracks, names and
 * indexes of items keep theirs.  Tracks are decoded when they are first needed.
 */

const text = document.getElementById("duet-data")?.textContent || "{}";
const file = JSON.parse(text);
const list = (value) => (Array.isArray(value) ? value : []);

const value = new Int8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].forEach((c, i) => {
	value[c.charCodeAt(0)] = i;
});

/* ---------------------------------------------------------------- rows and names */

const newId = new Map(list(file.rows).map((row, i) => [row.id, i]));
export const rowOf = (id) => newId.get(id) ?? -1;

export const rows = list(file.rows).map((row, i) => ({ ...row, id: i, parent: rowOf(row.parent), tracks: [] }));

export const names = [];
for (const [id, name] of list(file.names))
	names[id] = name;
for (let i = 0; i < names.length; i++)
	names[i] ??= "";

export const from = file.from || 0;
export const to = file.to || 0;
export const gaps = list(file.gaps);
export const wakes = list(file.wakes).map(([at, runs, waker, woken]) => (
	{ at, runs, waker: rowOf(waker), woken: rowOf(woken) })).filter((w) => w.woken >= 0);
export const events = list(file.events).map((e) => ({ ...e, row: rowOf(e.row) }));
export const flames = list(file.flames).map((f) => ({
	...f, nodes: f.nodes.map((n) => (n.length > 6 ? [...n.slice(0, 6), rowOf(n[6])] : n)) }));
export const leftOut = list(file.left_out);
export const about = file.recording || {};

/* ---------------------------------------------------------------- tracks */

export const isPoints = (kind) => kind === "events" || kind === "samples" || kind === "counter";
const hasValue = (kind) => kind === "counter" || kind === "syscalls";

function* numbers(digits)
{
	for (let at = 0; at < digits.length;) {
		let n = 0, unit = 1, d;
		do {
			d = value[digits.charCodeAt(at++) & 127];
			n += (d & 31) * unit;
			unit *= 32;
		} while (d & 32 && at < digits.length);
		yield n;
	}
}

/* Half of an even number; of an odd one the negative number that it stands for. */
const signed = (n) => (n % 2 ? -(n + 1) / 2 : n / 2);

class Track {
	constructor(t)
	{
		Object.assign(this, { id: t.id, kind: t.kind, depth: t.depth, first: t.first, n: t.n,
				      row: rowOf(t.row), isOpen: t.open, data: t.data });
	}

	/* The arrays begin, end, what, and aux of those that have values. */
	decode()
	{
		if (!this.data)
			return this;
		const next = numbers(this.data), take = () => next.next().value ?? 0;
		const point = isPoints(this.kind), valued = hasValue(this.kind);
		this.begin = new Float64Array(this.n);
		this.end = point ? this.begin : new Float64Array(this.n);
		this.what = new Uint32Array(this.n);
		this.aux = valued ? new Float64Array(this.n) : null;
		for (let i = 0, at = 0; i < this.n; i++) {
			this.begin[i] = at += take();
			if (!point)
				this.end[i] = at += take();
			const what = take();
			this.what[i] = this.kind === "running" ? rowOf(what) : what;
			if (valued)
				this.aux[i] = signed(take());
		}
		this.data = null;
		return this;
	}

	/* The first interval that ends after @ns; of points, that is at or after it. */
	find(ns)
	{
		let low = 0, high = this.n;
		const point = isPoints(this.kind);
		while (low < high) {
			const middle = (low + high) >> 1;
			if (point ? this.begin[middle] >= ns : this.end[middle] > ns)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	}
}

const all = new Map(list(file.tracks).map((t) => [t.id, new Track(t)]).filter(([, t]) => t.row >= 0));
for (const t of all.values())
	rows[t.row].tracks.push({ id: t.id, kind: t.kind, depth: t.depth });
for (const row of rows)
	row.tracks.sort((a, b) => a.id - b.id);

/* isCut - a system call whose exit was not recorded: it has no duration. */
const callCut = 1 - 2 ** 31;
export const isCut = (t, i) => t.kind === "syscalls" && t.aux[i] === callCut;

/* hasEnd - whether the end of interval @i was recorded. */
export const hasEnd = (t, i) => !(t.isOpen && i === t.n - 1) && !isCut(t, i);

/* track - one by its id, decoded; undefined: it is not in this file. */
export const track = (id) => all.get(id)?.decode();

export const tracksOf = (row) => rows[row].tracks.map((t) => track(t.id));

/* tracksOfKind - all of these kinds, in @chosen rows (null: all). */
export function tracksOfKind(kinds, chosen = null)
{
	return [...all.values()].filter((t) => kinds.includes(t.kind) && (!chosen || chosen.has(t.row)))
		.map((t) => t.decode());
}

/* below - the rows of @ids and all below them, as a set; null for none, which means all. */
export function below(ids)
{
	if (!ids.length)
		return null;
	const chosen = new Set(ids);
	for (let more = true; more;) {
		more = false;
		for (const row of rows)
			if (!chosen.has(row.id) && chosen.has(row.parent)) {
				chosen.add(row.id);
				more = true;
			}
	}
	return chosen;
}

/* nameOf - the name of interval @i of track @t. */
const stateNames = ["unknown", "user", "kernel", "irq", "preempted", "runnable", "blocked"];
export function nameOf(t, i)
{
	if (t.kind === "states")
		return stateNames[t.what[i]] ?? "unknown";
	if (t.kind === "running")
		return rows[t.what[i]]?.name ?? "?";
	if (t.kind === "samples")
		return "sample";
	return names[t.what[i]] ?? "";
}

/* place - an item as answers give it. */
export function place(t, i)
{
	return { id: `${t.id}.${t.first + i}`, row: t.row, kind: t.kind, name: nameOf(t, i), from: t.begin[i],
		 to: t.end[i] };
}

/* find - "T.I" as a track and the position in its arrays; null: it is not in this file. */
export function find(id)
{
	const [t, i] = String(id).split(".").map(Number);
	const found = track(t);
	const at = i - (found?.first ?? 0);
	return found && at >= 0 && at < found.n ? { track: found, i: at } : null;
}

/* statesIn - nanoseconds by state of the thread of @row in that time; null: it has no states. */
export function statesIn(row, begin, end)
{
	const info = rows[row].tracks.find((t) => t.kind === "states");
	if (!info)
		return null;
	const t = track(info.id), sums = new Array(7).fill(0);
	let n = 0;
	for (let i = t.find(begin); i < t.n && t.begin[i] < end; i++) {
		sums[t.what[i]] += Math.min(t.end[i], end) - Math.max(t.begin[i], begin);
		n += t.begin[i] >= begin;
	}
	return { sums, n };
}

export { stateNames };
