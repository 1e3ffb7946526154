/* SPDX-License-Identifier: MIT */
/*
 * panels/latency.js - how long all instances of a name took: histogram, percentiles, and the slowest.
 *
 * The axis is logarithmic: four bins to a doubling.  The bin of the selected instance has the colour of
 * the selection.  A click on a slow instance goes there.
 */

import { get } from "../api.js";
import { count, duration, time } from "../format.js";
import { recording, rowName } from "../recording.js";
import { set, state } from "../store.js";
import { reveal } from "../timeline/view.js";
import { latencyKind } from "./open.js";
import { button, copy, el, fill, later } from "./parts/dom.js";
import { histogram } from "./parts/chart.js";
import { onItem } from "./parts/item.js";
import { params, scope, scopeId, scopeKeys, scopeText, soon } from "./parts/scope.js";
import { tableOf } from "./parts/table.js";

let input, names, chart, figures, place, slowest, summary, whole, asked = "", answer = null, last = [];

function go(r)
{
	set({ selected: { id: r.id, row: r.row, from: r.from, to: r.to } }, { undo: true });
	reveal(r.row, r.from, r.to);
}

const columns = [
	{ title: "duration", unit: "ns", numeric: true, value: (r) => r.to - r.from, text: (v) => duration(v), go },
	{ title: "thread", value: (r) => rowName(r.row) },
	{ title: "begins", unit: "ns", value: (r) => r.from, text: (v) => time(v) },
];

function figure(title, value)
{
	return el("div", {}, el("dt", { text: title }), el("dd", { text: value }));
}

function draw()
{
	const a = answer;
	if (!a || a.n === 0) {
		fill(figures, el("p", { class: "dim", text: state.latencyName
			? `Nothing named "${state.latencyName}" begins in this time.`
			: "Choose a name: a span, a system call or a function." }));
		chart.show([], -1);
		slowest.update([]);
		return;
	}
	const bin = a.item ? a.item.bin : -1;
	chart.show(a.bins, bin);
	const about = a.is_exact ? "" : "about ";
	fill(figures, el("dl", { class: "figures" },
		figure("number", count(a.n)), figure("mean", duration(a.mean)),
		figure("least", duration(a.min)), figure("p50", about + duration(a.p50)),
		figure("p90", about + duration(a.p90)), figure("p99", about + duration(a.p99)),
		figure("greatest", duration(a.max)),
		a.item && a.item.bin >= 0
			? figure("selected", `${duration(a.item.duration)}, no. ${count(a.item.rank)}`) : null));
	slowest.update(a.slowest);
}

async function load()
{
	const s = whole.checked ? { from: 0, to: recording.end, rows: [], isArea: false } : scope();
	const item = state.selected?.id;
	const id = `${scopeId(s)} ${state.latencyName} ${latencyKind(state.latencyName)} ${item}`;
	if (id === asked)
		return;
	asked = id;
	summary.textContent = whole.checked ? "whole recording" : scopeText(s);
	if (state.latencyName === "") {
		answer = null;
		draw();
		return;
	}
	const got = await get("/api/latency", {
		name: state.latencyName, kind: latencyKind(state.latencyName), ...params(s), limit: 100, item,
	}, { key: "latency" });
	if (got) {
		answer = got;
		draw();
	}
}
const loadSoon = soon(load, 150);

/* suggest - names with the text that was typed, from the whole recording. */
const suggest = later(async () => {
	const got = await get("/api/search", { text: input.value, limit: 40 }, { key: "latency-names" });
	if (got)
		fill(names, got.names.map((n) => el("option", { value: n.text })));
}, 120);

function choose(name)
{
	set({ latencyName: name.trim() });
}

export const latency = {
	id: "latency",
	title: "Latency",
	keys: [...scopeKeys, "latencyName", "selected"],
	focus: () => (state.latencyName ? slowest.node.querySelector("button") : input).focus(),
	build(body, bar)
	{
		names = el("datalist", { id: "latency-names" });
		input = el("input", {
			type: "search", class: "mono", list: "latency-names", "aria-label": "name of spans or calls",
			placeholder: "span, system call or function", autocomplete: "off", spellcheck: "false",
			on: { input: suggest, change: () => choose(input.value), focus: suggest },
		});
		whole = el("input", { type: "checkbox", on: { change: load } });
		summary = el("span", { class: "dim", role: "status" });
		bar.append(summary, el("label", {}, whole, " whole recording"), input, names,
			button("Copy as CSV", () => slowest.copy(), { class: "small" }));
		chart = histogram();
		figures = el("div", { class: "place-figures" });
		slowest = tableOf("slowest", columns, 0);
		place = el("div", { class: "latency" },
			el("div", { class: "latency-chart" }, figures, chart.node),
			el("div", { class: "latency-slowest" }, slowest.node));
		body.append(place);
	},
	update()
	{
		if (document.activeElement !== input)
			input.value = state.latencyName;
		loadSoon();
	},
};

/* The name of a selected span or call becomes that of the panel, as long as none was chosen. */
export function startLatency()
{
	onItem((item) => {
		if (item && ["spans", "syscalls", "calls", "busy"].includes(item.kind) && !state.latencyName)
			set({ latencyName: item.name });
	});
}
