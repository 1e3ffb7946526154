/* SPDX-License-Identifier: MIT */
/*
 * panels/sessions/dashboard.js - a session over time: events, bytes and losses a second, and how full its buffers are.
 */

import { count, percent } from "../../format.js";
import { lines } from "../parts/chart.js";
import { el, fill } from "../parts/dom.js";
import { channelsOf, historyOf, lostOf } from "./list.js";

const units = ["B", "kB", "MB", "GB", "TB"];

/* bytes - of memory, disks and rates: "4.2 MB". */
export function bytes(n)
{
	let unit = 0;
	for (n = Number(n) || 0; n >= 999.5 && unit < units.length - 1; unit++)
		n /= 1000;
	return `${unit === 0 || n >= 99.5 ? Math.round(n) : n.toPrecision(2)} ${units[unit]}`;
}

function channelRow(c)
{
	const share = c.used_bytes / Math.max(1, c.memory_bytes);
	const meter = el("meter", { min: "0", max: "1", low: "0.7", high: "0.9", optimum: "0", value: String(share),
		"aria-label": `buffer of ${c.name}` });
	return el("tr", {}, el("td", { text: c.name }), el("td", { class: "dim", text: c.mode }),
		el("td", {}, meter), el("td", { class: "number", text: percent(share) }),
		el("td", { class: "number", text: bytes(c.memory_bytes) }),
		el("td", { class: "number", text: c.lost ? `${count(c.lost)} lost` : "none lost" }));
}

function programRow(p)
{
	return el("tr", {}, el("td", { text: `${p.name} ${p.pid}` }),
		el("td", { class: "number", text: p.events_per_s === undefined ? "" : `${count(p.events_per_s)} events/s` }),
		el("td", { class: "number", text: p.bytes_per_s === undefined ? "" : `${bytes(p.bytes_per_s)}/s` }));
}

/* dashboard - {node, show(session)}; null: it has ended. */
export function dashboard()
{
	const charts = [
		["events", "events a second", "run", count],
		["bytes", "bytes a second", "kern", bytes],
		["lost", "lost events, each second", "lost", count],
		["used", "fullest buffer", "ready", (v) => `${Math.round(v)} %`],
	].map(([key, title, colour, format]) => [key, lines(title, [{ title, colour }], format), title]);
	const tables = el("div", { class: "board-tables" });
	const sections = charts.map(([, c, title]) => el("section", {}, el("h3", { text: title }), c.node));
	const node = el("div", { class: "board" }, sections, tables);
	return {
		node,
		show(session) {
			if (!session) {
				fill(tables, el("p", { class: "dim", text: "This session does not record any more." }));
				return;
			}
			const h = historyOf(session.session);
			/* A flight recorder keeps events in memory: it has no rates, only how full that is. */
			sections.forEach((section, i) => { section.hidden = i < 2 && h.hasRates === false; });
			for (const [key, chart] of charts)
				chart.show(h.times, [h[key]]);
			fill(tables, el("table", {}, channelsOf(session).map(channelRow)),
				el("p", { class: lostOf(session) ? "lost" : "dim", text: lostOf(session)
					? `${count(lostOf(session))} events lost` : "no event lost" }),
				el("table", {}, (session.program || []).map(programRow)));
		},
	};
}
