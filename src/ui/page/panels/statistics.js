/* SPDX-License-Identifier: MIT */
/*
 * panels/statistics.js - numbers of the marked area or the visible time: threads, calls, events, CPUs.
 *
 * The numbers are the index's exact sums, as `duet report` has them.  A name leads to its latency, a
 * thread to its row.
 */

import { get } from "../api.js";
import { count, duration, percent } from "../format.js";
import { recording, rowName } from "../recording.js";
import { set } from "../store.js";
import { reveal } from "../timeline/view.js";
import { button, el, fill } from "./parts/dom.js";
import { openLatency, openPanel } from "./open.js";
import { params, scope, scopeId, scopeKeys, scopeText, soon } from "./parts/scope.js";
import { stateBar } from "./parts/states.js";
import { tableOf } from "./parts/table.js";

const time = (title, key, hint) => ({ title, hint, unit: "ns", numeric: true, value: (r) => r[key], text: (v) => v ? duration(v) : "" });
const number = (title, key, hint) => ({ title, hint, numeric: true, value: (r) => r[key] ?? 0, text: (v) => v ? count(v) : "" });
const sumOf = (r) => r.user + r.kernel + r.irq + r.preempted + r.runnable + r.blocked + r.unknown;

function goRow(r)
{
	const s = scope();
	reveal(r.row, s.from, s.to);
}

const threadColumns = [
	{ title: "thread", value: (r) => rowName(r.row), go: goRow },
	{ title: "time", unit: "ns", value: sumOf, numeric: true, node: (r) => stateBar(r, scope().to - scope().from),
		hint: "the thread's time, in the width of the whole span" },
	{ title: "CPU", unit: "ns", numeric: true, value: (r) => r.user + r.kernel, text: (v) => v ? duration(v) : "",
		hint: "running, in user mode and in the kernel" },
	time("user", "user"), time("kernel", "kernel"), time("interrupted", "irq"),
	time("waiting", "runnable", "runnable: waiting for a CPU"), time("preempted", "preempted"),
	time("blocked", "blocked"), time("unknown", "unknown"),
];

const nameOf = (r) => recording.names[r.name] ?? `name ${r.name}`;

function callColumns(title, kind)
{
	return [
		{ title, value: nameOf, go: (r) => openLatency(nameOf(r), kind) },
		number("number", "n"), time("sum", "sum"), time("mean", "mean"), time("least", "min"),
		time("p50", "p50"), time("p99", "p99"), time("greatest", "max"),
		...(kind === "syscalls" ? [number("errors", "errors")] : []),
	];
}

const share = {
	title: "of the time", unit: "share", numeric: true, value: (r) => r.busy / (scope().to - scope().from),
	text: (v) => percent(v),
};

const tables = [
	{ id: "threads", title: "Threads", columns: threadColumns, sort: 2 },
	{ id: "processes", title: "Processes", sort: 3, columns: [
		{ ...threadColumns[0], title: "process" }, number("threads", "threads"),
		...threadColumns.slice(2)] },
	{ id: "syscalls", title: "System calls", columns: callColumns("system call", "syscalls"), sort: 2 },
	{ id: "spans", title: "Spans", columns: callColumns("span", "spans"), sort: 2 },
	{ id: "calls", title: "Functions", columns: callColumns("function", "calls"), sort: 2 },
	{ id: "events", title: "Events", sort: 1, columns: [
		{ title: "event", value: nameOf, go: (r) => showEvents(nameOf(r)) },
		number("number", "n"),
		{ title: "a second", numeric: true, value: (r) => r.rate, text: (v) => count(v) }] },
	{ id: "cpus", title: "CPUs", sort: 1, columns: [
		{ title: "CPU", value: (r) => rowName(r.row), go: goRow },
		time("busy", "busy"), share, number("switches", "n"),
		{ title: "most by", value: mostBy }] },
	{ id: "devices", title: "Interrupts and disks", sort: 1, columns: [
		{ title: "device", value: (r) => rowName(r.row), go: goRow },
		time("busy", "busy"), share, number("number", "n")] },
];

function mostBy(r)
{
	return (r.threads || []).slice(0, 3)
		.map(([row, ns]) => `${rowName(row)} ${percent(ns / Math.max(1, r.busy))}`).join(", ");
}

function showEvents(name)
{
	set({ filter: `$name == ${JSON.stringify(name)}` });
	openPanel("events");
}

let current = "threads", choice, place, summary, copyButton, answer = null, asked = "", shown = null;

function drawChoice()
{
	for (const b of choice.children) {
		const list = answer?.[b.dataset.id];
		b.hidden = !list || list.n === 0;
		b.setAttribute("aria-pressed", b.dataset.id === current);
		b.lastChild.textContent = list ? count(list.n) : "";
	}
}

function draw()
{
	if (!answer)
		return;
	if (!answer[current] || answer[current].n === 0)
		current = tables.find((t) => answer[t.id]?.n > 0)?.id || "threads";
	const table = tables.find((t) => t.id === current);
	if (shown?.id !== current) {
		shown = { id: current, table: tableOf(table.title, table.columns, table.sort) };
		fill(place, shown.table.node);
	}
	const list = answer[current] || { n: 0, list: [] };
	shown.table.update(list.list);
	shown.table.note(list.n > list.list.length
		? `the ${count(list.list.length)} largest of ${count(list.n)}` : "");
	drawChoice();
}

async function load()
{
	const s = scope(), id = scopeId(s);
	if (id === asked)
		return;
	asked = id;
	summary.textContent = scopeText(s);
	place.setAttribute("aria-busy", "true");
	const got = await get("/api/area", { ...params(s), limit: 1000 }, { key: "area" });
	if (!got)
		return;
	answer = got;
	place.removeAttribute("aria-busy");
	draw();
}
const loadSoon = soon(load, 150);

export const statistics = {
	id: "statistics",
	title: "Statistics",
	keys: scopeKeys,
	focus: () => choice.querySelector("[aria-pressed=true]")?.focus(),
	build(body, bar)
	{
		choice = el("div", { class: "choice", role: "group", "aria-label": "Statistics of" },
			tables.map((t) => {
				const b = button("", () => {
					current = t.id;
					draw();
				}, { "data-id": t.id });
				b.append(`${t.title} `, el("span", { class: "dim" }));
				return b;
			}));
		place = el("div", { class: "place" });
		summary = el("span", { class: "dim", role: "status" });
		copyButton = button("Copy as CSV", () => shown?.table.copy(), { class: "small" });
		bar.append(summary, copyButton);
		body.append(el("div", { class: "with-choice" }, choice, place));
	},
	update: () => loadSoon(),
};
