/* SPDX-License-Identifier: MIT */
/*
 * timeline/overlay.js - the layer over the rows: axis, losses, selection, marks, arrows, the critical path.
 *
 * Pure drawing on a 2D context; `v` is what is visible: { from, to, width, height, top (of the rows) },
 * `topOf(row)` y of a row or undefined.
 */

import { duration } from "../format.js";
import { colours } from "../theme.js";
import { sizes } from "./layout.js";
import { ticks } from "./ticks.js";

const xOf = (v, ns) => (ns - v.from) / (v.to - v.from) * v.width;

/* zeroOf - where times count from: the begin of area or selection, or null for the clock. */
export function zeroOf(state)
{
	return state.selected ? state.selected.from : state.area ? state.area.from : null;
}

/* grid - lines of the ticks, below the rows.  Returns the ticks with their x. */
export function grid(c, v, zero)
{
	const list = ticks(v.from, v.to, v.width, zero).map((t) => ({ ...t, x: Math.round(xOf(v, t.at)) }));
	c.fillStyle = colours.line;
	for (const t of list)
		c.fillRect(t.x, sizes.axis - 4, 1, v.height);
	return list;
}

export function axis(c, v, list)
{
	c.fillStyle = colours.bg;
	c.fillRect(0, 0, v.width, sizes.axis - 2);
	c.fillStyle = colours.line;
	c.fillRect(0, sizes.axis - 1, v.width, 1);
	c.fillStyle = colours.dim;
	c.font = `11px ${colours.sans}`;
	c.textBaseline = "alphabetic";
	for (const t of list) {
		c.fillText(t.text, t.x + 4, 15);
		c.fillRect(t.x, sizes.axis - 6, 1, 5);
	}
}

const hatches = new Map();

function hatch(c, colour)
{
	if (c.hatching)
		return c.hatching(colours[colour]);
	const key = `${colour} ${colours.version}`;
	if (!hatches.has(key)) {
		const tile = new OffscreenCanvas(8, 8);
		const t = tile.getContext("2d");
		t.strokeStyle = colours[colour];
		t.lineWidth = 1.6;
		t.beginPath();
		for (const i of [-8, 0, 8]) {
			t.moveTo(i - 1, 9);
			t.lineTo(i + 9, -1);
		}
		t.stroke();
		hatches.set(key, tile);
	}
	return c.createPattern(hatches.get(key), "repeat");
}

/* hatched - [@x0, @x1) hatched, and faintly coloured. */
export function hatched(c, colour, x0, x1, y, h)
{
	c.save();
	c.globalAlpha = 0.1;
	c.fillStyle = colours[colour];
	c.fillRect(x0, y, x1 - x0, h);
	c.globalAlpha = 0.55;
	c.fillStyle = hatch(c, colour);
	c.fillRect(x0, y, x1 - x0, h);
	c.restore();
}

/* gaps - times in which events were lost: hatched below the rows, and a bar in the axis. */
export function gaps(c, v, list)
{
	for (const [from, to] of list) {
		if (to < v.from || from > v.to)
			continue;
		const x0 = Math.max(0, xOf(v, from));
		const width = Math.max(2, Math.min(v.width, xOf(v, to)) - x0);
		hatched(c, "lost", x0, x0 + width, v.top, v.height - v.top);
	}
}

/* gapBars - the same gaps in the axis, where nothing covers them. */
export function gapBars(c, v, list)
{
	c.fillStyle = colours.lost;
	for (const [from, to] of list) {
		if (to < v.from || from > v.to)
			continue;
		const x0 = Math.max(0, xOf(v, from));
		c.fillRect(x0, sizes.axis - 5, Math.max(2, Math.min(v.width, xOf(v, to)) - x0), 4);
	}
}

/* unread - the time that is not indexed yet. */
export function unread(c, v, ready, end)
{
	if (ready >= end || ready >= v.to)
		return;
	const x0 = Math.max(0, xOf(v, ready)), x1 = Math.min(v.width, xOf(v, end));
	if (x1 - x0 < 1)
		return;
	hatched(c, "dim", x0, x1, v.top, v.height - v.top);
	c.font = `12px ${colours.sans}`;
	const text = "being read…";
	const width = c.measureText(text).width;
	if (x1 - x0 < width + 24)
		return;
	c.fillStyle = colours.panel;
	c.fillRect(x0 + 8, v.top + 8, width + 16, 22);
	c.fillStyle = colours.text;
	c.fillText(text, x0 + 16, v.top + 23);
}

function dashed(c, x, v)
{
	c.save();
	c.strokeStyle = colours.sel;
	c.setLineDash([4, 3]);
	c.beginPath();
	c.moveTo(Math.round(x) + 0.5, sizes.axis - 2);
	c.lineTo(Math.round(x) + 0.5, v.height);
	c.stroke();
	c.restore();
}

/* selection - two dashed lines through all rows. */
export function selection(c, v, selected)
{
	for (const at of selected.to > selected.from ? [selected.from, selected.to] : [selected.from])
		if (at >= v.from && at <= v.to)
			dashed(c, xOf(v, at), v);
}

/* outline - two pixels around the selected item at y, h. */
export function outline(c, v, selected, y, h, radius)
{
	const x0 = Math.max(-4, xOf(v, selected.from)), x1 = Math.min(v.width + 4, xOf(v, selected.to));
	if (x1 < -2 || x0 > v.width + 2)
		return;
	c.strokeStyle = colours.sel;
	c.lineWidth = 2;
	c.beginPath();
	if (selected.to > selected.from)
		c.roundRect(x0, y, Math.max(3, x1 - x0), h, radius);
	else
		c.roundRect(x0 - h / 2 - 1, y - 1, h + 2, h + 2, radius);
	c.stroke();
}

/* area - a time, and the rows between y0 and y1. */
export function area(c, v, a, bands)
{
	const x0 = xOf(v, a.from), x1 = xOf(v, a.to);
	c.fillStyle = colours.sel;
	c.globalAlpha = 0.13;
	for (const [y, h] of bands)
		c.fillRect(x0, y, x1 - x0, h);
	c.globalAlpha = 1;
	c.fillRect(Math.round(x0), sizes.axis - 8, 1, v.height);
	c.fillRect(Math.round(x1), sizes.axis - 8, 1, v.height);
	c.fillRect(x0, sizes.axis - 4, x1 - x0, 3);
	const text = duration(a.to - a.from);
	c.font = `600 11px ${colours.sans}`;
	const width = c.measureText(text).width;
	if (x1 - x0 < width + 12)
		return;
	const x = Math.min(Math.max((x0 + x1) / 2, width / 2 + 6), v.width - width / 2 - 6) - width / 2;
	c.fillStyle = colours.panel;
	c.fillRect(x - 5, 2, width + 10, 16);
	c.fillStyle = colours.sel;
	c.fillText(text, x, 14);
}

export function marks(c, v, list)
{
	c.font = `600 11px ${colours.sans}`;
	for (const mark of list) {
		const x = Math.round(xOf(v, mark.at));
		if (x < -200 || x > v.width)
			continue;
		c.fillStyle = colours.mark;
		c.fillRect(x, 2, 1, v.height);
		const width = c.measureText(mark.text).width + 8;
		c.fillRect(x, 2, width, 14);
		c.fillStyle = colours.bg;
		c.fillText(mark.text, x + 4, 13);
	}
}

/* arrow - from @x0, @y0 to @x1, @y1: curved into the row, or straight to it if there is hardly time between. */
function arrow(c, x0, y0, x1, y1)
{
	const isSteep = x1 - x0 < 12;
	const bend = Math.min(24, (x1 - x0) / 2);
	const down = y1 > y0 ? 1 : -1;
	c.beginPath();
	c.moveTo(x0, y0);
	if (isSteep)
		c.lineTo(x1, y1);
	else
		c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
	c.stroke();
	c.beginPath();
	c.moveTo(x1, y1);
	if (isSteep) {
		c.lineTo(x1 - 4, y1 - 7 * down);
		c.lineTo(x1 + 4, y1 - 7 * down);
	} else {
		c.lineTo(x1 - 7, y1 - 4);
		c.lineTo(x1 - 7, y1 + 4);
	}
	c.fill();
}

/* arrows - wake-ups: from the waker's row at its time to the woken when it runs. */
export function arrows(c, v, wakes, topOf)
{
	c.lineWidth = 1.6;
	const draw = (list, colour) => {
		c.strokeStyle = c.fillStyle = colours[colour];
		for (const w of list) {
			const y0 = topOf(w.waker), y1 = topOf(w.woken);
			if (y0 === undefined || y1 === undefined || w.runs < v.from || w.at > v.to)
				continue;
			arrow(c, xOf(v, w.at), y0 + sizes.pad + 4, xOf(v, Math.max(w.runs, w.at)), y1 + sizes.pad + 4);
		}
	};
	draw(wakes.by, "dim");
	draw(wakes.of, "sel");
}

/* path - the critical path: [row, from, to, state, words, depth] in the order of time.  A bar above the row that
 * had to run or was waited for; thin lines where it goes on in another row. */
export function path(c, v, segments, topOf)
{
	const drawn = new Set();
	let before = null;
	c.fillStyle = colours.mark;
	for (const [row, from, to] of segments) {
		const top = topOf(row);
		if (top === undefined) {
			before = null;
			continue;
		}
		const y = top + sizes.pad - 4;
		const x0 = xOf(v, from), x1 = xOf(v, to);
		const key = `${Math.round(x0)} ${before?.y} ${y}`;
		if (before && before.row !== row && x0 >= 0 && x0 <= v.width && !drawn.has(key)) {
			drawn.add(key);
			c.globalAlpha = 0.7;
			c.fillRect(Math.round(x0), Math.min(before.y, y), 1, Math.abs(y - before.y) + 3);
			c.globalAlpha = 1;
		}
		if (x1 >= 0 && x0 <= v.width)
			c.fillRect(Math.max(0, x0), y, Math.max(1.5, Math.min(v.width, x1) - Math.max(0, x0)), 3);
		before = { row, y };
	}
}
