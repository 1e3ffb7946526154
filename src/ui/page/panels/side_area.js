/* SPDX-License-Identifier: MIT */
/*
 * panels/side_area.js - the side panel of a marked area: its totals, and where to look closer.
 */

import { get } from "../api.js";
import { runCommand } from "../commands.js";
import { count, duration, time } from "../format.js";
import { recording, rowName } from "../recording.js";
import { set } from "../store.js";
import { zoomTo } from "../timeline/view.js";
import { openLatency, openPanel } from "./open.js";
import { button, el, link } from "./parts/dom.js";
import { show } from "./parts/go.js";
import { stateBar, stateTable, states } from "./parts/states.js";

const few = 6;

function totals(threads)
{
	const all = Object.fromEntries(states.map((s) => [s.id, 0]));
	for (const t of threads)
		for (const s of states)
			all[s.id] += t[s.id] || 0;
	return all;
}

function largest(title, list, text)
{
	if (!list || list.n === 0)
		return null;
	return el("section", {}, el("h3", { text: title }),
		el("table", { class: "split" }, list.list.slice(0, few).map(text)));
}

const callLine = (kind) => (r) => callRow(r, kind);

function callRow(r, kind)
{
	const name = recording.names[r.name] ?? "";
	return el("tr", {},
		el("td", {}, link(name, () => openLatency(name, kind), "Its latency")),
		el("td", { class: "number", text: count(r.n) }),
		el("td", { class: "number", text: duration(r.sum) }));
}

function fillIn(body, area, a)
{
	const sums = totals(a.threads.list);
	const whole = Object.values(sums).reduce((x, y) => x + y, 0);
	const byTime = (r) => r.user + r.kernel;
	const busiest = { n: a.threads.n, list: [...a.threads.list].sort((x, y) => byTime(y) - byTime(x)) };
	body.removeAttribute("aria-busy");
	body.replaceChildren();
	if (whole > 0)
		body.append(el("section", {},
			el("h3", { text: `Time of ${count(a.threads.n)} thread${a.threads.n === 1 ? "" : "s"}` }),
			stateBar(sums, whole), stateTable(sums, whole)));
	for (const node of [
		largest("Most on a CPU", busiest, (r) => el("tr", {},
			el("td", {}, link(rowName(r.row), () => show(r.row, area.from, area.to))),
			el("td", { class: "number", text: duration(byTime(r)) }))),
		largest("Spans", a.spans, callLine("spans")),
		largest("System calls", a.syscalls, callLine("syscalls")),
		largest("Functions", a.calls, callLine("calls")),
	])
		if (node)
			body.append(node);
}

export function areaNodes(area)
{
	const rows = area.rows.length === 0 ? "all rows"
		: area.rows.length === 1 ? rowName(area.rows[0]) : `${count(area.rows.length)} rows`;
	const body = el("div", { "aria-busy": "true" });
	get("/api/area", { from: area.from, to: area.to, rows: area.rows.length ? area.rows : undefined, limit: 1000 },
		{ key: "side-area", quiet: true }).then((a) => {
		if (!a || !body.isConnected)
			return;
		if (a.error)
			body.replaceChildren(el("p", { class: "dim", text: a.error }));
		else
			fillIn(body, area, a);
	});
	return [
		el("div", { class: "dim", text: `marked area · ${rows}` }),
		el("div", { class: "title" }, el("h2", { text: duration(area.to - area.from) })),
		el("div", { class: "dim", text: `${time(area.from)} to ${time(area.to)}` }),
		el("div", { class: "row" },
			button("Zoom to it", () => zoomTo(area.from, area.to), { class: "small" }),
			button("Statistics", () => openPanel("statistics"), { class: "small" }),
			button("Flame graph", () => openPanel("flame"), { class: "small" }),
			button("Save…", () => runCommand("save.open"), { class: "small" }),
			button("Unmark", () => set({ area: null }, { undo: true }), { class: "small" })),
		body,
	];
}
