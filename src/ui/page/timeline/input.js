/* SPDX-License-Identifier: MIT */
/*
 * timeline/input.js - mouse, wheel, trackpad and touch on the canvas.
 *
 *   wheel          zoom at the pointer (also with ctrl); shift: pan; sideways: pan; alt: scroll
 *   drag           pan in time and rows; with shift, or on the axis: choose an area
 *   click          select what is there; double click: zoom to it
 *   two fingers    pan and zoom
 */

import { recording } from "../recording.js";
import { set, state } from "../store.js";
import { isPoints } from "./decode.js";
import { findAt, itemAt, laneAt, reachOf } from "./hit.js";
import { sizes } from "./layout.js";
import { markAt, rename } from "./marks.js";
import { glideTo, stopGliding } from "./navigate.js";
import { say } from "./say.js";
import { bounded, draw, rowAt, scrollBy, timeAt, topOf, view, visible } from "./view.js";
import { visibleEntries, xOf, zoomEnd, zoomTo } from "./view.js";

const slack = 4; /* pixels a click may move */
const wheelZoom = 0.0022, wheelLine = 16;

let canvas;
const fingers = new Map(); /* pointerId: { x, y } */
let drag = null;	   /* { kind, x, y, from, to, ... } */
let pinch = null;

function place(event)
{
	const box = canvas.getBoundingClientRect();
	return { x: event.clientX - box.left, y: event.clientY - box.top };
}

const perPixel = () => {
	const { from, to } = visible();
	return (to - from) / view.width;
};

/* the thing at @x, @y: { entry, lane, at, item }. */
export function whatAt(x, y)
{
	const hit = rowAt(y);
	if (!hit)
		return null;
	const at = timeAt(x);
	const lane = laneAt(hit.entry, hit.y);
	const reach = lane && isPoints(lane.kind) ? reachOf(perPixel()) : perPixel() * 2;
	return { entry: hit.entry, lane, at, item: lane ? itemAt(hit.entry, lane, at, reach) : undefined };
}

async function click(x, y)
{
	const mark = markAt(x, y);
	if (mark) {
		rename(mark);
		return;
	}
	const hit = whatAt(x, y);
	if (!hit || y < sizes.axis) {
		set({ selected: null, area: null, path: null }, { undo: true });
		return;
	}
	view.current = hit.entry.id;
	draw();
	const item = hit.lane && (hit.item || await findAt(hit.entry, hit.lane, hit.at, perPixel()));
	select(item || null);
}

/* select - make @item (as of hit.js) the selection; null: none. */
export function select(item)
{
	if (!item) {
		set({ selected: null, area: null, path: null }, { undo: true });
		return;
	}
	const { id, row, from, to } = item;
	set({ selected: { id, row, from, to }, area: null, path: null }, { undo: true });
	say(item);
}

async function doubleClick(event)
{
	const { x, y } = place(event);
	const hit = whatAt(x, y);
	const item = hit?.lane && (hit.item || await findAt(hit.entry, hit.lane, hit.at, perPixel()));
	if (!item)
		return;
	const room = Math.max((item.to - item.from) * 0.15, 20);
	glideTo(item.from - room, item.to + room);
}

/* rowsBetween - ids of rows of the picture that touch [@y0, @y1).  A heading above some of its own rows is left
 * out: it would stand for all of them.  A row that the server does not know (others, recording.js) stands for
 * the rows below it. */
function rowsBetween(y0, y1)
{
	const [top, end] = y0 < y1 ? [y0, y1] : [y1, y0];
	const touched = visibleEntries().filter((e) => topOf(e) < end && topOf(e) + e.height > top);
	const ids = [...new Set(touched.map((e) => e.id))];
	const parents = new Set(ids.map((id) => recording.rows[id]?.parent));
	return ids.filter((id) => !parents.has(id)).flatMap((id) => id < 0 ? recording.rows[id].children : [id]);
}

function areaTo(x, y)
{
	const a = timeAt(drag.x), b = timeAt(Math.min(view.width, Math.max(0, x)));
	const rows = drag.y < sizes.axis ? [] : rowsBetween(drag.y, y);
	const end = Math.max(1, recording.end);
	const from = Math.round(Math.max(0, Math.min(a, b))), to = Math.round(Math.min(end, Math.max(a, b)));
	if (to > from)
		set({ area: { from, to, rows }, selected: null }, { undo: `area ${drag.since}` });
}

function panTo(x, y, event)
{
	const shift = (drag.x - x) * (drag.to - drag.from) / view.width;
	const b = bounded(drag.from + shift, drag.to + shift);
	if (b.from !== visible().from)
		zoomTo(b.from, b.to, `drag ${drag.since}`);
	if (event.movementY !== undefined)
		scrollBy(drag.lastY - y);
	drag.lastY = y;
}

function down(event)
{
	if (event.button > 1)
		return;
	stopGliding();
	const { x, y } = place(event);
	fingers.set(event.pointerId, { x, y });
	canvas.setPointerCapture(event.pointerId);
	if (fingers.size === 2) {
		drag = null;
		pinch = pinchNow();
		return;
	}
	drag = { kind: event.shiftKey || y < sizes.axis ? "area" : "pan", x, y, lastY: y, isMoved: false, ...visible(),
		 since: performance.now() };
}

function pinchNow()
{
	const [a, b] = [...fingers.values()];
	return { x: (a.x + b.x) / 2, size: Math.max(20, Math.abs(a.x - b.x)), ...visible() };
}

function move(event)
{
	const { x, y } = place(event);
	if (fingers.has(event.pointerId))
		fingers.set(event.pointerId, { x, y });
	if (pinch && fingers.size === 2) {
		const now = pinchNow();
		const span = (pinch.to - pinch.from) * pinch.size / now.size;
		const at = pinch.from + pinch.x / view.width * (pinch.to - pinch.from);
		const from = at - now.x / view.width * span;
		zoomTo(from, from + span, "pinch");
		return;
	}
	set({ cursor: timeAt(x) });
	if (!drag)
		return;
	if (!drag.isMoved && Math.hypot(x - drag.x, y - drag.y) < slack)
		return;
	drag.isMoved = view.isMoving = true;
	canvas.classList.add(drag.kind === "pan" ? "panning" : "choosing");
	if (drag.kind === "pan")
		panTo(x, y, event);
	else
		areaTo(x, y);
}

function up(event)
{
	fingers.delete(event.pointerId);
	if (pinch) {
		pinch = fingers.size ? pinch : null;
		return;
	}
	canvas.classList.remove("panning", "choosing");
	view.isMoving = false;
	const was = drag;
	drag = null;
	if (was && !was.isMoved && event.type === "pointerup")
		click(was.x, was.y);
	draw();
}

/* zoomAt - make the visible time @factor as long; what is at @x stays there. */
export function zoomAt(x, factor, step = "zoom")
{
	if (state.following) {
		zoomEnd(factor);
		return;
	}
	const { from, to } = visible();
	const at = timeAt(x);
	const span = Math.min(Math.max((to - from) * factor, 20), Math.max(1, recording.end));
	const begin = at - (at - from) / (to - from) * span;
	zoomTo(begin, begin + span, step);
}

function wheel(event)
{
	event.preventDefault();
	stopGliding();
	const scale = event.deltaMode === 1 ? wheelLine : event.deltaMode === 2 ? view.height : 1;
	const dx = event.deltaX * scale, dy = event.deltaY * scale;
	if (event.altKey) {
		scrollBy(dy);
		return;
	}
	const pan = event.shiftKey && !dx ? dy : Math.abs(dx) > Math.abs(dy) || event.shiftKey ? dx : 0;
	if (pan) {
		const { from, to } = visible();
		const shift = pan * (to - from) / view.width;
		zoomTo(from + shift, to + shift, "pan");
		return;
	}
	if (dy)
		zoomAt(place(event).x, Math.exp(Math.max(-1.2, Math.min(1.2, dy * wheelZoom * (event.ctrlKey ? 3 : 1)))));
}

export function startInput(element)
{
	canvas = element;
	canvas.addEventListener("pointerdown", down);
	canvas.addEventListener("pointermove", move);
	canvas.addEventListener("pointerup", up);
	canvas.addEventListener("pointercancel", up);
	canvas.addEventListener("pointerleave", () => {
		if (!drag)
			set({ cursor: null });
	});
	canvas.addEventListener("dblclick", doubleClick);
	canvas.addEventListener("wheel", wheel, { passive: false });
	canvas.addEventListener("contextmenu", (event) => event.shiftKey || event.preventDefault());
}
