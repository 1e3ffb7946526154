/* SPDX-License-Identifier: MIT */
/*
 * timeline/view.js - the visible part: sizes, scrolling, where time and rows are on the screen; it draws.
 *
 * Nothing is drawn except in an animation frame, and then only if draw() was called since the last one.
 * Other modules change the store; the store's changes call draw().
 */

import { recording, onRecording } from "../recording.js";
import { on, set, state } from "../store.js";
import { onTheme } from "../theme.js";
import { drawLabels, startLabels } from "./labels.js";
import { headOf, layout, sizes, within } from "./layout.js";
import { startInput } from "./input.js";
import { startLive } from "./live.js";
import { startNavigation } from "./navigate.js";
import { startPictures, unpack, want } from "./pictures.js";
import { drawScene } from "./scene.js";
import { drawStrip, startStrip } from "./strip.js";
import { CanvasSurface } from "./surface.js";
import { startSvg } from "./svg.js";
import { titlesLater } from "./titles.js";
import { startTooltip } from "./tooltip.js";
import { startWakes } from "./wakes.js";

export const view = {
	width: 1, height: 1, ratio: 1, /* of the canvas, CSS pixels; device pixels per CSS pixel */
	scroll: 0,
	plan: layout(recording, state),
	head: undefined, /* the entry that sticks at the top */
	current: -1,	 /* the row that keys are about */
	homes: null,	 /* rows of threads to CPUs, for grouping by CPU */
	isMoving: false, /* panned or zoomed right now */
	frames: [],	 /* how long the last frames took to draw, ms */
};

export const leastSpan = 20; /* ns */
const mostFrames = 600;
const unpackMs = 5; /* of a frame */
const nextRows = 6; /* rows above and below whose pictures are asked for too */
let element, context, scroller, space, surface;
let frame = 0;
let isPlanOld = true;
let scrollGoal = state.scroll; /* of a link, until there are rows enough; -1: none */

/* visible - the visible time: all of the recording where the state names none. */
export function visible()
{
	const end = Math.max(1, recording.end);
	return state.to > state.from ? { from: state.from, to: state.to } : { from: 0, to: end };
}

export function xOf(ns)
{
	const { from, to } = visible();
	return (ns - from) / (to - from) * view.width;
}

export function timeAt(x)
{
	const { from, to } = visible();
	return from + x / view.width * (to - from);
}

/* bounded - [@from, @to) moved and cut into the recording. */
export function bounded(from, to)
{
	const end = Math.max(1, recording.end);
	const span = Math.min(Math.max(to - from, Math.min(leastSpan, end)), end);
	const begin = Math.min(Math.max((from + to) / 2 - span / 2, 0), end - span);
	return { from: begin, to: begin + span };
}

/* zoomTo - show [@from, @to).  @step: the name of its step of undo; successive ones are one step. */
export function zoomTo(from, to, step = "view")
{
	const b = bounded(from, to);
	const isAll = b.from <= 0 && b.to >= recording.end;
	set({ from: isAll ? 0 : b.from, to: isAll ? 0 : b.to, following: false }, { undo: step });
}

/* zoomEnd - make the visible time @factor as long; its end stays, and so does the following of it. */
export function zoomEnd(factor)
{
	const { from, to } = visible();
	const span = Math.min(Math.max((to - from) * factor, leastSpan), Math.max(1, recording.end));
	set({ from: to - span, to });
}

/* rowAt - the entry of the layout at @y of the canvas, and y within it; or undefined. */
export function rowAt(y)
{
	const { plan } = view;
	const top = y - sizes.axis;
	if (top < 0)
		return undefined;
	const isPinned = top < plan.pinnedHeight;
	if (!isPinned && view.head && top - plan.pinnedHeight < sizes.head)
		return { entry: view.head, y: top - plan.pinnedHeight };
	const at = isPinned ? top : top - plan.pinnedHeight + view.scroll;
	const [entry] = within(isPinned ? plan.pinned : plan.rows, at, at + 1);
	return entry && { entry, y: at - entry.y };
}

/* topOf - y of @entry on the canvas. */
export function topOf(entry)
{
	return sizes.axis + entry.y + (entry.isPinned ? 0 : view.plan.pinnedHeight - view.scroll);
}

/* roomForRows - the height of the part that scrolls. */
export function roomForRows()
{
	return Math.max(0, view.height - sizes.axis - view.plan.pinnedHeight);
}

/* visibleEntries - entries of the layout that can be seen, pinned ones first. */
export function visibleEntries()
{
	return [...view.plan.pinned, ...within(view.plan.rows, view.scroll, view.scroll + roomForRows())];
}

/* scrollBy - move the rows by @dy pixels. */
export function scrollBy(dy)
{
	scroller.scrollTop += dy;
}

/* showRow - scroll until the row @id is in view. */
export function showRow(id)
{
	makePlan();
	const entry = view.plan.byId.get(id);
	if (!entry || entry.isPinned)
		return;
	const head = entry.isHead ? 0 : sizes.head;
	if (entry.y - head < view.scroll)
		scroller.scrollTop = entry.y - head;
	else if (entry.y + entry.height > view.scroll + roomForRows())
		scroller.scrollTop = Math.min(entry.y - head, entry.y + entry.height - roomForRows());
	view.scroll = scroller.scrollTop;
	draw();
}

/* reveal - scroll to the row @id, unfold what it lies in, and show [@from, @to) with room at both sides. */
export function reveal(id, from, to)
{
	const up = new Set();
	for (let row = recording.rows[id]; row; row = recording.rows[row.parent])
		up.add(row.id);
	const patch = { folded: state.folded.filter((f) => !up.has(f)), hidden: state.hidden.filter((h) => !up.has(h)) };
	isPlanOld = true;
	makePlan();
	if (state.rowFilter && !view.plan.byId.has(id))
		patch.rowFilter = "";
	set(patch);
	isPlanOld = true;
	view.current = id;
	if (from !== undefined) {
		const room = Math.max((to - from) * 0.4, leastSpan);
		const now = visible();
		if (from < now.from || to > now.to || to - from < (now.to - now.from) / 50)
			zoomTo(from - room, to + room);
	}
	showRow(id);
}

/* draw - draw in the next frame. */
export function draw()
{
	frame ||= requestAnimationFrame(drawNow);
}

/* planChanged - the rows or their order may be others now. */
export function planChanged()
{
	isPlanOld = true;
	draw();
}

function makePlan()
{
	if (!isPlanOld)
		return;
	isPlanOld = false;
	view.plan = layout(recording, state, view.homes);
	const rest = view.plan.height - roomForRows();
	space.style.height = `${Math.max(0, rest > 0 ? rest + sizes.head : 0)}px`;
	if (scrollGoal >= 0)
		scroller.scrollTop = scrollGoal;
	view.scroll = scroller.scrollTop;
	if (recording.done || scroller.scrollTop === scrollGoal)
		scrollGoal = -1;
}

/* scrolled - by the user, or by a link or undo that changed the state. */
function scrolled()
{
	view.scroll = scroller.scrollTop;
	if (scrollGoal < 0)
		set({ scroll: Math.round(view.scroll) });
	draw();
}

function scrollBack()
{
	if (scrollGoal < 0 && Math.abs(scroller.scrollTop - state.scroll) > 1)
		scroller.scrollTop = state.scroll;
}

function resize()
{
	const box = element.parentElement.getBoundingClientRect();
	view.width = Math.max(1, box.width);
	view.height = Math.max(1, box.height);
	view.ratio = devicePixelRatio || 1;
	element.width = Math.round(view.width * view.ratio);
	element.height = Math.round(view.height * view.ratio);
	planChanged();
	drawNow();
}

function askPictures(entries, now)
{
	const { plan } = view;
	const ids = entries.filter((e) => e.lanes.length).map((e) => e.id);
	const far = nextRows * 40;
	const near = within(plan.rows, view.scroll - far, view.scroll + roomForRows() + far)
		.filter((e) => e.lanes.length && !ids.includes(e.id)).map((e) => e.id);
	if (recording.isOpen && recording.end > 0)
		want([...ids, ...near], ids.length, now.from, now.to, Math.round(view.width * view.ratio));
}

function drawAll()
{
	makePlan();
	if (unpack(unpackMs))
		draw();
	view.head = headOf(view.plan.rows, view.scroll);
	askPictures(visibleEntries(), visible());
	context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
	drawScene(surface);
	titlesLater();
}

function drawNow()
{
	frame = 0;
	const began = performance.now();
	drawAll();
	drawLabels();
	drawStrip();
	view.frames.push(performance.now() - began);
	if (view.frames.length > mostFrames)
		view.frames.shift();
}

export function startTimeline()
{
	element = document.getElementById("canvas");
	context = element.getContext("2d", { alpha: false });
	surface = new CanvasSurface(context);
	scroller = document.getElementById("timeline");
	space = document.getElementById("timeline-space");
	scroller.addEventListener("scroll", scrolled);
	scroller.addEventListener("wheel", () => scrollGoal = -1, { passive: true });
	startPictures(draw);
	startLabels();
	startStrip();
	startWakes();
	startTooltip();
	startInput(element);
	startNavigation();
	startLive();
	startSvg();
	new ResizeObserver(resize).observe(element.parentElement);
	onRecording((_, hasNewRows) => hasNewRows ? planChanged() : draw());
	onTheme(draw);
	on(["pinned", "folded", "hidden", "rowFilter", "group"], planChanged);
	on("scroll", scrollBack);
	on(["from", "to", "selected", "area", "marks", "path"], draw);
}
