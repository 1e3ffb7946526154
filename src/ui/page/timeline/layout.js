/* SPDX-License-Identifier: MIT */
/*
 * timeline/layout.js - which rows are shown, and where: pure functions of the recording and the state.
 *
 * The canvas, the labels, hit tests and the SVG all use the same entries:
 *
 *   { id, row, level, y, height, isHead, hasChildren, isFolded, lanes: [{ track, kind, depth, y, height }] }
 *
 * y is from the top of the list (lanes: of the entry).  Pinned rows are a list of their own, above.
 */

export const sizes = {
	axis: 24, head: 20, pad: 4, foot: 7, band: 7, cpu: 14, span: 18, call: 15, busy: 14, event: 10, sample: 8,
	counter: 34, least: 22,
};

/* Heights of the lanes of a track's kind, and the space below one. */
const lanes = {
	states: [sizes.band, 3], running: [sizes.cpu, 2], spans: [sizes.span, 2], syscalls: [sizes.call, 2],
	calls: [sizes.call, 1], busy: [sizes.busy, 2], events: [sizes.event, 2], samples: [sizes.sample, 2],
	counter: [sizes.counter, 2],
};
const order = ["states", "running", "events", "spans", "syscalls", "calls", "busy", "samples", "counter"];
const compact = new Set(["cpu", "irq", "disk"]);

function lanesOf(row)
{
	const pad = compact.has(row.kind) ? 1 : sizes.pad;
	const tracks = row.tracks.filter((t) => t.kind in lanes).sort((a, b) =>
		order.indexOf(a.kind) - order.indexOf(b.kind) || a.depth - b.depth);
	let y = pad;
	const list = tracks.map((t) => {
		const [height, space] = lanes[t.kind];
		const lane = { track: t.id, kind: t.kind, depth: t.depth, y, height };
		y += height + space;
		return lane;
	});
	const foot = compact.has(row.kind) ? 1 : sizes.foot;
	return { lanes: list, height: list.length ? Math.max(compact.has(row.kind) ? 17 : sizes.least, y + foot) : 0 };
}

function entryOf(row, level)
{
	const { lanes: list, height } = lanesOf(row);
	const isHead = list.length === 0;
	return {
		id: row.id, row, level, y: 0, lanes: list, isHead,
		height: isHead ? sizes.head : height,
		hasChildren: false, isFolded: false,
	};
}

function matches(row, text)
{
	return row.name.toLowerCase().includes(text) || String(row.tid) === text || String(row.pid) === text;
}

/* filtered - ids of the rows to show for the filter @text: those that match, what lies in them, and what they
 * lie in.  null: all. */
function filtered(recording, text)
{
	if (!text)
		return null;
	const wanted = new Set();
	const low = text.toLowerCase();
	const below = (id) => {
		wanted.add(id);
		recording.rows[id].children.forEach(below);
	};
	for (const row of recording.rows) {
		if (!matches(row, low))
			continue;
		below(row.id);
		for (let up = recording.rows[row.parent]; up; up = recording.rows[up.parent])
			wanted.add(up.id);
	}
	return wanted;
}

/* Rows of one parent: CPUs first, then processes and threads, those with spans or functions of an
 * application first, then devices and counters. */
const sorts = { host: 0, cpu: 1, process: 2, thread: 2, irq: 4, disk: 5, counter: 6 };

function sortOf(recording, id)
{
	const row = recording.rows[id];
	if (id < 0)
		return 7; /* others, seen in part */
	if (row.kind === "group") {
		const first = recording.rows[row.children[0]];
		return first ? sorts[first.kind] ?? 3 : 3;
	}
	if (row.kind !== "process" && row.kind !== "thread")
		return sorts[row.kind] ?? 3;
	const isTraced = [row, ...row.children.map((c) => recording.rows[c])]
		.some((r) => r.tracks.some((t) => t.kind === "spans" || t.kind === "calls"));
	return isTraced ? 2 : 3;
}

function sorted(recording, ids)
{
	const keys = new Map(ids.map((id) => [id, sortOf(recording, id)]));
	const cpu = (id) => recording.rows[id].kind === "cpu" ? recording.rows[id].cpu : 0;
	return [...ids].sort((a, b) => keys.get(a) - keys.get(b) || cpu(a) - cpu(b) || a - b);
}

/* grouping - a function: the rows below a row (null: the top) as the state groups them.  @homes: of threads, the
 * CPU each ran on most. */
function grouping(recording, state, homes)
{
	const rows = recording.rows;
	if (state.group === "process")
		return (id) => id === null ? recording.roots : rows[id].children;
	const threads = (ids) => ids.flatMap((id) => rows[id].kind === "process"
		? [...(rows[id].tracks.length ? [id] : []), ...rows[id].children] : [id]);
	if (state.group === "none")
		return (id) => threads(id === null ? recording.roots : rows[id].children);
	const byCpu = new Map();
	const homeOf = (row) => row.kind === "thread" ? homes?.get(row.id) ?? row.cpu : -1;
	for (const row of rows)
		if (homeOf(row) >= 0)
			byCpu.set(homeOf(row), [...(byCpu.get(homeOf(row)) || []), row.id]);
	const placed = (id) => homeOf(rows[id]) >= 0;
	return (id) => {
		if (id !== null && rows[id].kind === "cpu")
			return byCpu.get(rows[id].cpu) || [];
		return threads(id === null ? recording.roots : rows[id].children).filter((c) => !placed(c));
	};
}

/* layout - the entries of the state: { pinned, pinnedHeight, rows, height, byId }. */
export function layout(recording, state, homes)
{
	const hidden = new Set(state.hidden), folded = new Set(state.folded), pinned = new Set(state.pinned);
	const wanted = filtered(recording, state.rowFilter.trim());
	const grouped = grouping(recording, state, homes);
	const children = (id) => sorted(recording, grouped(id));
	const result = { pinned: [], pinnedHeight: 0, rows: [], height: 0, byId: new Map() };
	const shown = (id) => !hidden.has(id) && (!wanted || wanted.has(id));

	function add(id, level)
	{
		const row = recording.rows[id];
		const below = children(id).filter(shown);
		if (row.kind === "process" && !row.tracks.length && below.length === 1 && row.children.length === 1) {
			add(below[0], level);
			return;
		}
		if (!row.tracks.length && !below.length)
			return;
		const entry = entryOf(row, level);
		entry.hasChildren = below.length > 0;
		entry.isFolded = folded.has(id) && !wanted;
		if (!pinned.has(id) || entry.hasChildren) {
			entry.y = result.height;
			result.height += entry.height;
			result.rows.push(entry);
			result.byId.set(id, entry);
		}
		if (!entry.isFolded)
			below.forEach((c) => add(c, level + 1));
	}
	children(null).filter(shown).forEach((id) => add(id, 0));

	for (const id of state.pinned) {
		const row = recording.rows[id];
		if (!row || !row.tracks.length)
			continue;
		const entry = { ...entryOf(row, 0), y: result.pinnedHeight, isPinned: true };
		result.pinnedHeight += entry.height;
		result.pinned.push(entry);
		result.byId.set(id, entry);
	}
	return result;
}

/* within - the entries of @list (in the order of y) that touch [@top, @bottom). */
export function within(list, top, bottom)
{
	let low = 0, high = list.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (list[mid].y + list[mid].height <= top)
			low = mid + 1;
		else
			high = mid;
	}
	let end = low;
	while (end < list.length && list[end].y < bottom)
		end++;
	return list.slice(low, end);
}

/* headOf - the head that sticks at the top of @list scrolled to @top: the last head at or above it that has
 * rows below, or undefined. */
export function headOf(list, top)
{
	const [first] = within(list, top, top + 1);
	if (!first)
		return undefined;
	let i = list.indexOf(first);
	const level = first.level;
	if (first.isHead && first.y === top)
		return undefined;
	for (; i >= 0; i--)
		if (list[i].isHead && (list[i].level < level || i === list.indexOf(first)))
			return list[i];
	return undefined;
}
