/* SPDX-License-Identifier: MIT */
/*
 * timeline/paint.js - a row on a surface: states, spans, calls, events, counters, from its pictures.
 *
 * The window says what is visible: { from, to, width }: times, and pixels of the surface from 0.  Only what
 * touches it is painted.  Text stays at the visible begin of what it names.
 */

import { count, duration } from "../format.js";
import { recording } from "../recording.js";
import { columnsOf, fullAlpha, tones } from "./columns.js";
import { few } from "./textures.js";
import { titleOf } from "./titles.js";

const leastBox = 3, roundFrom = 7, textFrom = 18;

/* The look of intervals by kind: fill, border, corners, place of the text. */
const looks = {
	spans: { fill: "span", border: "spanb", radius: 3, baseline: 13, hasTime: true, hasTitle: true },
	syscalls: { fill: "call", border: "callb", radius: 0, baseline: 11, hasTitle: true },
	calls: { fill: "func", border: "funcb", radius: 0, baseline: 11 },
	busy: { fill: "irqs", border: "irq", radius: 0, baseline: 11 },
	disk: { fill: "disks", border: "disk", radius: 0, baseline: 11 },
};

/* itemName - the name of item @i of @track. */
export function itemName(track, i)
{
	const what = track.items.what[i];
	return drawable((track.kind === "running" ? recording.rows[what]?.name : recording.names[what]) || "");
}

const drawables = new Map();

/* clean - @text of a recording as it can be drawn in a row: without control characters and changes of
 * direction, and without marks piled up over other rows. */
export function clean(text)
{
	return text.slice(0, 500)
		.replace(/[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu, "\ufffd")
		.replace(/(\p{M}{2})\p{M}+/gu, "$1");
}

/* drawable - the same of a name, which is remembered. */
export function drawable(text)
{
	let shown = drawables.get(text);
	if (shown === undefined)
		drawables.set(text, shown = clean(text));
	return shown;
}

/* firstItem - the first item that ends after @at (points: at or after). */
export function firstItem(items, at)
{
	let low = 0, high = items.end.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (items.end[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

class Row {
	constructor(surface, view, chosen)
	{
		this.surface = surface;
		this.chosen = chosen;
		this.from = view.from;
		this.to = view.to;
		this.width = view.width;
		this.perNs = view.width / (view.to - view.from);
	}

	x(ns)
	{
		return (ns - this.from) * this.perNs;
	}

	/* part - paint @track of @picture within [@from, @to). */
	part(picture, track, lane, y, from, to)
	{
		if (track.kind === "counter") {
			this.counter(picture, track, lane, y, from, to);
			return;
		}
		this.columns(picture, track, lane, y, from, to);
		if (track.kind === "events" || track.kind === "samples")
			this.points(track, lane, y, from, to);
		else if (track.kind === "running")
			this.running(track, lane, y, from, to);
		else if (track.items)
			this.intervals(track, lane, y, from, to);
	}

	/* columns - what has a value in every pixel: as rectangles if they are few, else as a bitmap. */
	columns(picture, track, lane, y, from, to)
	{
		const columns = columnsOf(track);
		const perPixel = (picture.to - picture.from) / picture.width;
		const p0 = Math.max(0, Math.floor((from - picture.from) / perPixel));
		const p1 = Math.min(picture.width, Math.ceil((to - picture.from) / perPixel));
		if (!columns?.n || p1 <= p0)
			return;
		const [first, end] = columns.range(p0, p1);
		const top = y + lane.y, h = lane.height;
		const begin = this.x(picture.from + p0 * perPixel), stop = this.x(picture.from + p1 * perPixel);
		if (end - first > few && this.surface.texture(picture, track, p0, p1, begin, stop, top, h))
			return;
		const rowHeight = h / columns.rows;
		for (let i = first; i < end; i++) {
			const x0 = this.x(picture.from + Math.max(p0, columns.from[i]) * perPixel);
			const x1 = this.x(picture.from + Math.min(p1, columns.to[i]) * perPixel);
			this.surface.column(tones[columns.tone[i]], columns.alpha[i] / fullAlpha, x0,
					    top + columns.top[i] * rowHeight, x1 - x0,
					    (columns.end[i] - columns.top[i]) * rowHeight);
		}
	}

	/* each - call @fn(x0, x1, i) for the items that touch [@from, @to), cut to it. */
	each(items, from, to, fn)
	{
		for (let i = firstItem(items, from); i < items.begin.length && items.begin[i] < to; i++)
			fn(this.x(Math.max(items.begin[i], from)), this.x(Math.min(items.end[i], to)), i);
	}

	intervals(track, lane, y, from, to)
	{
		const { surface } = this;
		const look = looks[track.kind];
		const top = y + lane.y, h = lane.height;
		this.each(track.items, from, to, (x0, x1, i) => {
			const w = x1 - x0;
			if (w < leastBox) {
				surface.fill(look.border, 1, x0, top, Math.max(1, w), h);
				return;
			}
			if (look.radius && w >= roundFrom)
				surface.box(look.fill, look.border, look.radius, x0, top, w, h);
			else
				surface.box(look.fill, look.border, 0, x0, top, w, h);
			if (w >= textFrom)
				this.name(track, i, look, x0, w, top);
		});
	}

	name(track, i, look, x, w, top)
	{
		const { items } = track;
		const name = itemName(track, i);
		const title = look.hasTitle ? titleOf(track.track, items.index[i]) : "";
		const time = look.hasTime && w > 70 ? duration(items.end[i] - items.begin[i]) : "";
		const room = w - 9;
		let text = name;
		if (title) {
			this.titled([name, title, time], x + 5, room, top + look.baseline);
			return;
		}
		if (look.hasTime) {
			/* With the name's last part alone where the whole one does not fit. */
			const last = name.slice(name.indexOf(":") + 1);
			text = [`${name}  ${time}`, `${last}  ${time}`, name].find((t) => (time || t === name) &&
				this.surface.measure(t) <= room) || last;
		}
		this.surface.text("text", text, x + 5, top + look.baseline, room);
	}

	/* titled - name, title and time side by side; with less room the name's last part, and no time. */
	titled([name, title, time], x, room, baseline)
	{
		const { surface } = this;
		const last = name.slice(name.indexOf(":") + 1);
		const gap = surface.measure("  ");
		const rest = surface.measure(title) + (time ? 2 * gap + surface.measure(time) : gap);
		const isWhole = surface.measure(name) + rest <= room;
		const shown = isWhole ? name : last;
		const hasTime = time && (isWhole || surface.measure(last) + rest <= room);
		const at = surface.measure(shown) + gap;
		surface.text("text", shown, x, baseline, room);
		if (room > at)
			surface.text("title", title, x + at, baseline, room - at);
		if (hasTime)
			surface.text("text", time, x + at + surface.measure(title) + gap, baseline);
	}

	running(track, lane, y, from, to)
	{
		const { surface, chosen } = this;
		const top = y + lane.y, h = lane.height;
		this.each(track.items, from, to, (x0, x1, i) => {
			const w = x1 - x0;
			const isChosen = track.items.what[i] === chosen;
			const strength = isChosen ? 1 : chosen >= 0 ? 0.42 : 0.55;
			surface.fill("run", strength, x0, top, Math.max(0.8, w - (w > 3 ? 1 : 0)), h);
			if (w >= textFrom)
				surface.text(isChosen ? "ontop" : "text", itemName(track, i), x0 + 5, top + 11, w - 9);
		});
	}

	points(track, lane, y, from, to)
	{
		const { surface } = this;
		const isSample = track.kind === "samples";
		const middle = y + lane.y + lane.height / 2;
		this.each(track.items, from, to, (x0) => {
			if (isSample)
				surface.fill("kern", 1, x0 - 0.5, y + lane.y, 1.2, lane.height);
			else
				surface.diamond("mark", x0, middle, lane.height / 2);
		});
	}

	counter(picture, track, lane, y, from, to)
	{
		const { points } = track;
		const perPixel = (picture.to - picture.from) / picture.width;
		let least = Math.min(0, ...range(points.least, Math.min)), greatest = range(points.greatest, Math.max)[0];
		if (greatest === undefined)
			return;
		if (greatest <= least)
			greatest = least + 1;
		const base = y + lane.y + lane.height;
		const yOf = (v) => base - (v - least) / (greatest - least) * (lane.height - 2);
		const xs = [], ys = [], tops = [], bottoms = [];
		for (let i = 0; i < points.x.length; i++) {
			const at = picture.from + points.x[i] * perPixel;
			const isBefore = i + 1 < points.x.length && picture.from + points.x[i + 1] * perPixel < from;
			if (isBefore)
				continue;
			if (at > to)
				break;
			xs.push(this.x(Math.max(at, from)));
			ys.push(yOf(points.last[i]));
			tops.push(yOf(points.greatest[i]));
			bottoms.push(yOf(points.least[i]));
		}
		if (!xs.length)
			return;
		const until = Math.min(to, recording.ready);
		if (until > from) {
			xs.push(this.x(until));
			for (const list of [ys, tops, bottoms])
				list.push(ys[ys.length - 1]);
		}
		this.surface.chart("kern", xs, ys, tops, bottoms, base);
		this.surface.text("dim", count(greatest), 4, y + lane.y + 9, 0, "small");
	}
}

/* range - [the result of @pick over @list], or [] of an empty one. */
function range(list, pick)
{
	if (!list.length)
		return [];
	let best = list[0];
	for (const v of list)
		best = pick(best, v);
	return [best];
}

/*
 * paintRow - paint @entry of the layout at @y from its pictures: the fine one where it reaches, the wide one
 * beside it.  @view: { from, to, width }; @chosen: the row of the selection, or -1.
 */
export function paintRow(surface, entry, y, { fine, wide }, view, chosen)
{
	const row = new Row(surface, view, chosen);
	const best = fine || wide;
	if (!best)
		return;
	for (const lane of entry.lanes) {
		const paint = (picture, from, to) => {
			const track = picture?.tracks.get(lane.track);
			if (track && to > from)
				row.part(picture, track, lane, y, from, to);
		};
		if (!fine) {
			paint(wide, view.from, view.to);
			continue;
		}
		paint(fine, Math.max(view.from, fine.from), Math.min(view.to, fine.to));
		paint(wide, view.from, Math.min(view.to, fine.from));
		paint(wide, Math.max(view.from, fine.to), view.to);
	}
}
