/* SPDX-License-Identifier: MIT */
/*
 * timeline/navigate.js - commands that move the view and the selection; movements glide.
 */

import { get } from "../api.js";
import { command } from "../commands.js";
import { announce } from "../notice.js";
import { recording } from "../recording.js";
import { redo, set, state, undo } from "../store.js";
import { startMarks } from "./marks.js";
import { startRows, toggleFold } from "./rows.js";
import { say } from "./say.js";
import { bounded, draw, view, visible, zoomEnd, zoomTo } from "./view.js";

const glideMs = 130;
const zoomStep = 0.6, panStep = 0.22;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
let glide = null; /* { from, to: target; begin: { from, to }; at } */

export function stopGliding()
{
	glide = null;
	view.isMoving = false;
}

function frame()
{
	if (!glide)
		return;
	const share = Math.min(1, (performance.now() - glide.at) / glideMs);
	const eased = 1 - (1 - share) ** 3;
	const mix = (a, b) => a + (b - a) * eased;
	const { begin, from, to } = glide;
	if (share === 1) {
		stopGliding();
		zoomTo(from, to, "glide");
		draw();
		return;
	}
	zoomTo(mix(begin.from, from), mix(begin.to, to), "glide");
	requestAnimationFrame(frame);
}

/* glideTo - show [@from, @to), smoothly. */
export function glideTo(from, to)
{
	const target = bounded(from, to);
	if (stillness.matches) {
		zoomTo(target.from, target.to, "glide");
		return;
	}
	const wasGliding = Boolean(glide);
	glide = { ...target, begin: visible(), at: performance.now() };
	view.isMoving = true;
	if (!wasGliding)
		requestAnimationFrame(frame);
}

const goal = () => glide ? { from: glide.from, to: glide.to } : visible();

function zoom(factor)
{
	if (state.following) {
		zoomEnd(factor);
		return;
	}
	const { from, to } = goal();
	const now = visible();
	const at = state.cursor !== null && state.cursor >= now.from && state.cursor <= now.to ? state.cursor
		: state.selected && state.selected.from < to && state.selected.to > from
			? (Math.max(from, state.selected.from) + Math.min(to, state.selected.to)) / 2 : (from + to) / 2;
	const share = (at - now.from) / (now.to - now.from);
	const span = Math.max(20, (to - from) * factor);
	glideTo(at - share * span, at + (1 - share) * span);
}

function pan(share)
{
	const { from, to } = goal();
	glideTo(from + share * (to - from), to + share * (to - from));
}

function fit()
{
	const about = state.selected || state.area;
	const now = visible();
	if (!about) {
		glideTo(0, recording.end);
		return;
	}
	const room = Math.max((about.to - about.from) * 0.15, 20);
	const target = bounded(about.from - room, about.to + room);
	const isThere = Math.abs(now.from - target.from) < room / 10 && Math.abs(now.to - target.to) < room / 10;
	glideTo(...(isThere ? [0, recording.end] : [target.from, target.to]));
}

/* next - select the next (or previous) item of the current row. */
async function next(direction)
{
	const { selected } = state;
	const row = selected ? selected.row : view.current;
	if (!(row >= 0))
		return;
	const now = visible();
	const at = selected ? selected.from : direction > 0 ? now.from - 1 : now.to;
	const [track] = selected ? selected.id.split(".") : [];
	const isState = recording.tracks.get(Number(track))?.kind === "states";
	const item = await get("/api/next", { ...(isState ? { track } : { row }), at, direction }, { key: "next" });
	if (!item)
		return;
	if (!item.id) {
		announce(direction > 0 ? "No later item in this row" : "No earlier item in this row");
		return;
	}
	set({ selected: { id: item.id, row, from: item.from, to: item.to }, area: null, path: null },
	    { undo: "next" });
	say({ ...item, row });
	follow(item, now);
}

/* follow - move the view as little as needed to show @item. */
function follow(item, now)
{
	const span = now.to - now.from;
	if (item.from >= now.from && item.to <= now.to)
		return;
	if (item.to - item.from > span * 0.9) {
		const room = (item.to - item.from) * 0.1;
		glideTo(item.from - room, item.to + room);
	} else {
		const middle = (item.from + item.to) / 2;
		glideTo(middle - span / 2, middle + span / 2);
	}
}

/* open - zoom to the selection, or fold the current row. */
function open()
{
	if (state.selected || state.area) {
		fit();
		return;
	}
	const entry = view.plan.byId.get(view.current);
	if (entry?.hasChildren)
		toggleFold(entry);
	else
		next(1);
}

function areaOfSelection()
{
	const { from, to, row } = state.selected;
	set({ area: { from, to: Math.max(to, from + 1), rows: [row] }, selected: null }, { undo: true });
}

function clear()
{
	set({ selected: null, area: null, path: null }, { undo: true });
}

function startSelecting()
{
	const add = (id, title, keys, run, when) => command({ id, title, keys, run, when, group: "Selection" });
	add("select.next", "Next item of the row", ["."], () => next(1));
	add("select.previous", "Previous item of the row", [","], () => next(-1));
	add("select.open", "Open: zoom to the selection, fold or unfold the row", ["Enter"], open);
	add("select.clear", "Clear the selection", ["Escape"], clear,
	    () => Boolean(state.selected || state.area || state.path));
	add("select.area", "Make the selected item an area", ["shift+a"], areaOfSelection, () => Boolean(state.selected));
	add("select.visible", "Make the visible time an area", ["shift+v"], () => {
		const { from, to } = visible();
		set({ area: { from: Math.round(from), to: Math.round(to), rows: [] }, selected: null }, { undo: true });
	});
	add("undo", "Undo: the view and selection before", ["z", "ctrl+z"], undo);
	add("redo", "Redo", ["shift+z", "ctrl+shift+z", "ctrl+y"], redo);
}

/* startNavigation - register the commands of the timeline. */
export function startNavigation()
{
	const add = (id, title, keys, run, when) => command({ id, title, keys, run, when, group: "View" });
	add("view.zoom-in", "Zoom in", ["w", "+", "="], () => zoom(zoomStep));
	add("view.zoom-out", "Zoom out", ["s", "-"], () => zoom(1 / zoomStep));
	add("view.left", "Earlier", ["a", "ArrowLeft"], () => pan(-panStep));
	add("view.right", "Later", ["d", "ArrowRight"], () => pan(panStep));
	add("view.fit", "Fit the selection; again: everything", ["f"], fit);
	add("view.all", "Show everything", ["0"], () => glideTo(0, recording.end));
	add("view.begin", "Go to the begin", ["Home"], () => {
		const { from, to } = visible();
		glideTo(0, to - from);
	});
	add("view.end", "Go to the end", ["End"], () => {
		const { from, to } = visible();
		glideTo(recording.end - (to - from), recording.end);
	});
	startSelecting();
	startMarks();
	startRows();
}


