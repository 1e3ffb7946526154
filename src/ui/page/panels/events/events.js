/* SPDX-License-Identifier: MIT */
/*
 * panels/events/events.js - the event table: events of the visible time, in step with the timeline.
 *
 * Zoom and area limit its rows, a selection in the timeline moves it, a click in it selects there.  The
 * filter is duet-filter(7), as for recording and `duet view -f`.
 */

import { get } from "../../api.js";
import { command } from "../../commands.js";
import { count } from "../../format.js";
import { recording } from "../../recording.js";
import { on, set, state } from "../../store.js";
import { reveal } from "../../timeline/view.js";
import { openPanel } from "../open.js";
import { button, el, later } from "../parts/dom.js";
import { eventChart } from "./chart.js";
import { eventGrid } from "./grid.js";
import { eventPages } from "./pages.js";
import { params, scope, scopeId, scopeKeys, soon } from "../parts/scope.js";

/* A page with its data inside filters by a text; the expression language needs duet. */
const isOffline = document.getElementById("duet-data") !== null;
let grid, pages, chart, input, problem, summary, only, base = 0, asked = "", isOwn = false;

/* Which track of an event's row is selected by it, the first that has it. */
const order = ["events", "spans", "syscalls", "calls", "samples", "states", "running", "busy"];

/* itemAt - the item of `row` that an event at `at` stands for: one that is there, begins or ends then. */
async function itemAt(row, at)
{
	const tracks = [...(recording.rows[row]?.tracks || [])]
		.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind)).slice(0, 12);
	const found = await Promise.all(tracks.map((t) =>
		get("/api/next", { track: t.id, at, direction: 0 }, { quiet: true })));
	const items = found.filter((v) => v && v.id);
	return items.find((v) => v.from === at || v.to === at) || items.find((v) => v.from <= at && v.to >= at);
}

let chosen = 0;
async function select(e, goes)
{
	const mine = ++chosen;
	if (e.row < 0)
		return;
	const item = await itemAt(e.row, e.at);
	if (mine !== chosen)
		return;
	isOwn = true;
	if (item)
		set({ selected: { id: item.id, row: e.row, from: item.from, to: item.to } }, { undo: "event" });
	if (goes)
		reveal(e.row, item ? item.from : e.at, item ? item.to : e.at);
}

let waiting = null;
const selectLater = later(() => select(waiting.e, waiting.goes), 90);
function choose(e, goes)
{
	set({ cursor: e.at });
	waiting = { e, goes };
	if (goes)
		select(e, true);
	else
		selectLater();
}

/* onlyRows - the selected thread's row, if only its events are wanted. */
function onlyRows()
{
	return only.checked && state.selected ? { rows: [state.selected.row] } : {};
}

function wanted()
{
	return { ...params(scope()), ...onlyRows(), filter: state.filter || undefined };
}

function reload(at)
{
	const q = wanted();
	if (state.following)
		return pages.open(q, q.to).then(() => grid.show(q.to, false));
	const shownAt = at ?? (state.selected && state.selected.from >= q.from && state.selected.from <= q.to
		? state.selected.from : q.from);
	return pages.open(q, shownAt).then(() => follow(shownAt));
}

function follow(at)
{
	const s = state.selected;
	grid.show(at, Boolean(s) && s.from === at && pages.covers(at));
}

function seek(at, isCurrent)
{
	const rounded = Math.round(at);
	if (pages.covers(rounded))
		grid.show(rounded, isCurrent);
	else
		seekLater(rounded, isCurrent);
}
let target = null;
const seekSoon = later(() => pages.open(wanted(), target.at).then(() =>
	grid.show(target.at, target.isCurrent)), 60);
function seekLater(at, isCurrent)
{
	target = { at, isCurrent };
	seekSoon();
}

function showError()
{
	const e = pages.error;
	problem.hidden = !e;
	input.setAttribute("aria-invalid", Boolean(e));
	if (!e)
		return;
	const at = e.position;
	problem.textContent = typeof at === "number"
		? `${state.filter}\n${" ".repeat(charactersIn(state.filter, at))}^ ${e.error}` : e.error;
}

/* charactersIn - `bytes` of UTF-8 as a number of characters. */
function charactersIn(text, bytes)
{
	return [...new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes))].length;
}

function changed(shift)
{
	grid.changed(shift);
	showError();
	const n = pages.n;
	const isPart = state.filter || pages.query?.rows;
	summary.textContent = pages.error ? "" : isPart && pages.earlier === null && pages.later === null
		? `${count(pages.rows.length)} found`
		: n ? `${pages.isExact ? "" : "about "}${count(n)} events` : "";
}

function onFilterKey(event)
{
	if (event.key === "Enter") {
		set({ filter: input.value.trim() });
		grid.focus();
	} else if (event.key === "Escape") {
		input.value = state.filter;
		grid.focus();
	} else {
		return;
	}
	event.preventDefault();
}

const reloadSoon = soon(async () => {
	const id = scopeId(scope()) + JSON.stringify(onlyRows()) + state.filter;
	if (id === asked)
		return;
	asked = id;
	await reload();
}, 120);

export const events = {
	id: "events",
	title: "Events",
	keys: [...scopeKeys, "filter", "selected"],
	focus: () => grid.focus(),
	build(body, bar)
	{
		pages = eventPages((shift) => changed(shift));
		grid = eventGrid(pages, {
			choose, seek,
			selected: () => state.selected,
			base: () => base,
		});
		input = el("input", {
			type: "search", class: "mono",
			placeholder: isOffline ? "filter: a text" : "filter: $tid == 812 && $name ~ \"sched_*\"",
			"aria-label": "filter of the event table", spellcheck: "false", autocomplete: "off",
			title: isOffline ? "Events that have this text" : "An expression of duet-filter(7); Enter applies it",
			on: { keydown: onFilterKey, change: () => set({ filter: input.value.trim() }) },
		});
		problem = el("pre", { class: "filter-problem", role: "alert", hidden: true });
		summary = el("span", { class: "dim", role: "status" });
		only = el("input", { type: "checkbox", on: { change: () => reloadSoon() } });
		bar.append(summary, el("label", { title: "Only events of the selected thread" }, only, " selected only"), input,
			button("Copy", () => grid.copyChosen(), { class: "small", title: "Copy the chosen rows as text (Ctrl+C); all that are here if none is chosen" }));
		chart = eventChart();
		body.append(problem, el("div", { class: "events-row" }, grid.node, chart.node));
		on("selected", () => {
			if (!isOwn && state.selected) {
				base = state.selected.from;
				if (state.panel === "events" && pages.query)
					seek(state.selected.from, true);
			}
			isOwn = false;
			grid.redraw();
		});
		base = state.selected ? state.selected.from : 0;
	},
	update()
	{
		if (document.activeElement !== input)
			input.value = state.filter;
		chart.update();
		reloadSoon();
	},
};

command({ id: "events.filter", title: "Filter the events", group: "Panels", keys: ["shift+f"],
	when: () => recording.isOpen, run() {
		openPanel("events");
		requestAnimationFrame(() => requestAnimationFrame(() => input.focus()));
	} });
command({ id: "events.only", title: "Events of the selected thread only, or of all", group: "Panels", keys: ["shift+o"],
	when: () => recording.isOpen && state.selected !== null, run() {
		openPanel("events");
		requestAnimationFrame(() => requestAnimationFrame(() => only.click()));
	} });
