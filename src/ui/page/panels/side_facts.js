/* SPDX-License-Identifier: MIT */
/*
 * panels/side_facts.js - the side panel when nothing is selected: facts of the recording, its losses and
 * damages, and how to begin.
 */

import { get } from "../api.js";
import { keyText } from "../commands.js";
import { count, day, duration, time } from "../format.js";
import { recording } from "../recording.js";
import { el, link } from "./parts/dom.js";
import { select } from "./parts/go.js";

const hints = [
	["Click", "a span, a call or a state: where its time went, and why it was not running"],
	["Shift drag", "over rows, or over the time axis: statistics, latency and flame graph of that area"],
	["Drag", "moves the timeline"],
	["Wheel", "zooms at the pointer; with Shift it moves in time"],
	["w", "zoom in", "s", "out"],
	["a", "move left", "d", "right"],
	["f", "the selection, then everything"],
	[".", "next item of the row", ",", "previous"],
	["/", "search, and all commands"],
	["?", "all keys, and what the colours mean"],
];

function hint([key, text, key2, text2])
{
	const shown = (k) => el("kbd", { text: k.length === 1 ? keyText(k) : k });
	return el("tr", {}, el("td", {}, shown(key)), el("td", {}, text, key2 ? [", ", shown(key2), ` ${text2}`] : null));
}

function numberOf(kind)
{
	return recording.rows.filter((r) => r.kind === kind && (r.tracks.length || r.children.length)).length;
}

function fact(title, value, attributes)
{
	return value === "" || value === undefined || value === null ? null
		: el("tr", {}, el("th", { scope: "row", text: title }), el("td", { ...attributes, text: value }));
}

function lossText()
{
	const parts = [];
	if (recording.lost)
		parts.push(`${count(recording.lost)} events`);
	if (recording.lost_packets)
		parts.push(`${count(recording.lost_packets)} packets`);
	return parts.join(", ") || "none";
}

/* Calls whose purpose is to wait. */
const sleepers = /^(clock_)?nanosleep|^p?poll$|^ppoll|^p?select|^epoll_p?wait|^wait(4|id)|^pause$|^rt_sig(timedwait|suspend)$/;
const mostEvents = 2e7, mostLongest = 6;

async function go(id)
{
	const item = await get("/api/item", { id });
	if (item)
		select(item);
}

/* longestNode - the longest span or call of each name; the section fills itself.  Not for recordings whose
 * statistics would keep the server busy for seconds. */
function longestNode()
{
	const node = el("div", {});
	if (!recording.done || recording.live || recording.events > mostEvents)
		return node;
	get("/api/area", { from: 0, to: recording.end, limit: 1000 }, { key: "facts", quiet: true }).then((a) => {
		if (!a || a.error || !node.isConnected)
			return;
		const all = [...a.spans.list, ...a.syscalls.list, ...a.calls.list].filter((r) => r.max_id)
			.map((r) => ({ ...r, name: recording.names[r.name] ?? "" }))
			.filter((r) => !sleepers.test(r.name)).sort((x, y) => y.max - x.max);
		if (all.length)
			node.replaceWith(el("section", {}, el("h3", { text: "Longest of each name" }),
				el("table", { class: "split" }, all.slice(0, mostLongest).map((r) => el("tr", {},
					el("td", {}, link(r.name, () => go(r.max_id), "Show it, and why")),
					el("td", { class: "number", text: duration(r.max) }),
					el("td", { class: "number dim", text: `of ${count(r.n)}` }))))));
	});
	return node;
}

export function factNodes()
{
	const hasLoss = recording.lost > 0 || recording.lost_packets > 0;
	const share = recording.end > 0 ? recording.ready / recording.end : 0;
	return [
		el("div", { class: "dim", text: recording.live ? "live session" : "recording" }),
		el("div", { class: "title" }, el("h2", { text: recording.name })),
		recording.done || recording.live ? null : el("p", { class: "dim", role: "status",
			text: `${Math.floor(100 * Math.min(1, share))} % is indexed; what is ready is shown` }),
		recording.failure ? el("p", { class: "problem", role: "alert", text: recording.failure }) : null,
		recording.damage ? el("section", {}, el("h3", { text: "Damage" }),
			el("pre", { class: "problem", text: recording.damage })) : null,
		el("section", {}, el("h3", { text: "What was recorded" }),
			el("table", { class: "fields" },
				fact("host", recording.host), fact("kernel", recording.kernel),
				fact("begin", `${day(0)} ${time(0)}`),
				fact("duration", duration(recording.end)),
				fact("events", count(recording.events)),
				fact("lost", lossText(), { class: hasLoss ? "lost" : null }),
				fact("CPUs", count(numberOf("cpu"))),
				fact("processes", count(numberOf("process"))),
				fact("threads", count(numberOf("thread"))),
				(recording.paths || []).map((p, i) => fact(i ? "" : "files", p)))),
		longestNode(),
		el("section", {}, el("h3", { text: "To begin" }), el("table", { class: "hints" }, hints.map(hint))),
	];
}
