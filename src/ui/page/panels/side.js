/* SPDX-License-Identifier: MIT */
/*
 * panels/side.js - the panel at the side: the selected item, else the marked area, else the recording.
 *
 * The numbers beside a bar add up to its duration.  Everything that has a place in the recording is a
 * link there.
 */

import { get } from "../api.js";
import { command } from "../commands.js";
import { count, duration, time } from "../format.js";
import { announce } from "../notice.js";
import { onRecording, recording, rowName } from "../recording.js";
import { on, set, state } from "../store.js";
import { areaNodes } from "./side_area.js";
import { factNodes } from "./side_facts.js";
import { openLatency } from "./open.js";
import { copy, el, fill, later, link, button } from "./parts/dom.js";
import { onItem, startItem } from "./parts/item.js";
import { select, show } from "./parts/go.js";
import { stateBar, stateTable, states } from "./parts/states.js";
import { noWhy, startWhy, whyNode } from "./why.js";

const side = document.getElementById("side");
const kindWords = {
	states: "state", running: "on the CPU", spans: "span", syscalls: "system call", calls: "function",
	busy: "busy", events: "event", samples: "sample", counter: "counter",
};
const wordOf = (id) => states.find((s) => s.id === id)?.title || id;
const titleOf = (item) => item.kind === "states" ? wordOf(item.state || item.name) : item.name;

function section(title, ...children)
{
	return el("section", {}, el("h3", { text: title }), children);
}

/* baseName - of a path; other objects as they are. */
function baseName(object)
{
	return object.startsWith("/") ? object.slice(object.lastIndexOf("/") + 1) : object;
}

/* objectOf - distinguishes the item from others of its name: its object, or its first fields. */
function objectOf(item)
{
	if (item.object)
		return baseName(item.object);
	const fields = item.kind === "spans" ? item.fields || [] : [];
	return fields.slice(0, 2).map(([, value]) => value.replace(/^"(.*)"$/, "$1").slice(0, 60)).join(" ");
}

function who(item)
{
	const row = item.thread ?? item.row, r = recording.rows[row];
	const parts = [link(r ? r.name : rowName(row), () => show(row, item.from, item.to), "Show its row")];
	if (r && r.tid >= 0)
		parts.push(` · thread ${r.tid}`);
	const process = r && recording.rows[r.parent];
	if (process && process.kind === "process" && process.name !== r.name)
		parts.push(" of ", link(rowName(r.parent), () => show(r.parent, item.from, item.to)));
	if (item.cpu >= 0)
		parts.push(` · CPU ${item.cpu}`);
	parts.push(` · ${kindWords[item.kind] || item.kind}`);
	return el("div", { class: "dim" }, parts);
}

function neighbour(item, which, text, label)
{
	const to = item[which];
	return button(text, () => select({ ...to, row: item.row }),
		{ class: "icon", "aria-label": label, title: label, disabled: !to });
}

function head(item)
{
	const rank = item.rank;
	const facts = [];
	if (item.to > item.from)
		facts.push(duration(item.to - item.from) + (item.open ? " so far" : item.cut ? " or more: its end was not recorded" : ""));
	facts.push(time(item.from).slice(0, -3));
	if (rank && rank.of > 1)
		facts.push(`no. ${count(rank.n)} of ${count(rank.of)} by length`);
	return [
		who(item),
		el("div", { class: "title" },
			el("h2", {}, titleOf(item), el("span", { class: "object", text: ` ${objectOf(item)}` })),
			neighbour(item, "previous", "‹", "Previous of this track"),
			neighbour(item, "next", "›", "Next of this track")),
		el("div", { class: "dim", text: facts.join(" · "), title: `begins ${time(item.from)}` }),
		item.kind === "counter" && item.value !== undefined
			? el("div", { class: "value", text: count(item.value) }) : null,
	];
}

function timeNodes(item)
{
	const whole = item.to - item.from;
	if (!item.sums || whole <= 0 || item.kind === "states")
		return null;
	return section("Where its time went", stateBar(item.sums, whole), stateTable(item.sums, whole));
}

function fieldRows(fields)
{
	return fields.map(([name, value]) => el("tr", {},
		el("th", { scope: "row", text: name, title: name }),
		el("td", { text: value, title: value })));
}

function fieldNodes(item)
{
	const begin = item.fields || [];
	const end = (item.end_fields || []).filter(([n, v]) => !begin.some(([name, value]) => name === n && value === v));
	if (begin.length + end.length === 0)
		return null;
	const all = [...begin, ...end];
	return section("Fields",
		el("table", { class: "fields" }, fieldRows(begin)),
		end.length ? el("div", { class: "dim", text: "at its end" }) : null,
		end.length ? el("table", { class: "fields" }, fieldRows(end)) : null,
		button("Copy", () => {
			copy(all.map((f) => f.join("\t")).join("\n") + "\n");
			announce("fields copied");
		}, { class: "small" }));
}

function callNodes(item)
{
	if (!item.call)
		return null;
	return section("System call", el("div", { class: "mono call", text: item.call +
		(item.result !== undefined ? ` = ${item.result}` : "") }));
}

function stackNodes(item)
{
	if (!item.stack || item.stack.length === 0)
		return null;
	return section("Stack", el("ol", { class: "stack" }, item.stack.map((f) => el("li", {
		title: f.address || null },
	el("span", { class: "mono", text: f.function || f.address || "?" }),
	el("span", { class: "dim", text: ` ${f.source || f.file || ""}` })))));
}

function wakeNodes(item)
{
	const w = item.woken;
	if (!w)
		return null;
	const by = w.waker >= 0
		? [link(rowName(w.waker), () => show(w.waker, w.at, w.runs)),
			w.in ? [", in ", link(w.in.name, () => select({ ...w.in, row: w.waker,
				from: w.in.from ?? w.at, to: w.in.to ?? w.at }))] : null]
		: "an interrupt";
	return section("What woke it", el("p", {}, by, ` at ${time(w.at)}; on a CPU ${duration(w.runs - w.at)} later`));
}

/* The threads that it woke meanwhile; the section fills itself. */
function wokeNodes(item)
{
	const row = item.thread ?? item.row;
	if (recording.rows[row]?.kind !== "thread" || item.to <= item.from)
		return null;
	const node = el("div", {});
	get("/api/wakes", { row, from: item.from, to: item.to, limit: 200 }, { key: "side-wakes", quiet: true })
		.then((answer) => {
			if (!answer || answer.error || answer.by.length === 0)
				return;
			const by = new Map();
			for (const w of answer.by)
				by.set(w.woken, [...(by.get(w.woken) || []), w]);
			node.replaceWith(section("What it woke", el("ul", { class: "plain" },
				[...by].slice(0, 8).map(([woken, list]) => el("li", {},
					link(rowName(woken), () => show(woken, list[0].at, list[0].runs)),
					el("span", { class: "dim", text: list.length > 1
						? ` ${count(list.length)} times` : ` at ${time(list[0].at)}` }))))));
		});
	return node;
}

function waitNodes(item)
{
	if (!item.waits || item.kind === "states" || item.waits.length === 0)
		return null;
	return section("Its longest waits", el("ul", { class: "plain" }, item.waits.map((w) => el("li", {},
		link(duration(w.to - w.from), () => select({ ...w, row: item.thread ?? item.row })),
		w.call ? ` in ${w.call}` : "",
		w.waker >= 0 ? el("span", { class: "dim", text: `, ended by ${rowName(w.waker)}` }) : null))));
}

function aroundNodes(item)
{
	if (!item.around || item.around.length === 0)
		return null;
	return section("Within", el("ul", { class: "plain" }, item.around.map((a) => el("li", {},
		link(a.name, () => select({ ...a, row: item.thread ?? item.row })),
		el("span", { class: "dim", text: ` ${duration(a.to - a.from)}` })))));
}

function rankNodes(item)
{
	const r = item.rank;
	if (!r || r.of < 2)
		return null;
	const about = r.median_of && r.median_of < r.of ? " about" : "";
	return section(`All ${count(r.of)} of this name`,
		el("p", { class: "dim", text: `least ${duration(r.least)} · p50${about} ${duration(r.p50)} · p99${about} ${
			duration(r.p99)} · greatest ${duration(r.greatest)}` }),
		button("Their latency", () => openLatency(item.name, item.kind), { class: "small" }));
}

function drawItem(item)
{
	const row = item.thread ?? item.row;
	const isThread = recording.rows[row]?.kind === "thread" && item.to > item.from;
	const ran = item.sums ? item.sums.user + item.sums.kernel + item.sums.irq : 0;
	const mayWait = isThread && (!item.sums || ran < item.to - item.from);
	if (!mayWait)
		noWhy();
	fill(side, el("div", { class: "side-inner" }, head(item), timeNodes(item),
		mayWait ? whyNode(row, item.from, item.to) : null,
		callNodes(item), fieldNodes(item), wakeNodes(item), stackNodes(item),
		item.source ? section("Source", el("div", { class: "mono", text: item.source })) : null,
		waitNodes(item), aroundNodes(item), wokeNodes(item), rankNodes(item),
		(item.notes || []).map((text) => el("p", { class: "dim", text }))));
	side.scrollTop = 0;
}

/* The shown selection: the id of the item, the area, or "" - so that an answer that comes twice, or
 * while a live recording grows, does not move the panel under the reader. */
let shownFor = null;

function draw()
{
	if (!recording.isOpen)
		return;
	const s = state.selected, area = state.area;
	const id = s ? `item ${s.id} ${s.to}` : area ? `area ${JSON.stringify(area)}` : `facts ${recording.version} ${recording.done}`;
	if (id === shownFor)
		return;
	shownFor = id;
	if (!s)
		fill(side, el("div", { class: "side-inner" }, area ? areaNodes(area) : factNodes()));
}

export function startSide()
{
	startWhy();
	onItem((item) => item ? drawItem(item) : noWhy());
	startItem();
	on(["selected", "area"], later(draw, 30));
	onRecording(draw);
	command({ id: "side.focus", title: "Go to the selection's panel", group: "Selection", keys: ["shift+Enter"],
		run: () => side.querySelector("button, a, [tabindex]")?.focus() });
}

