/* SPDX-License-Identifier: MIT */
/*
 * panels/flame.js - the flame graph of the marked area or of the visible time, on a CPU or off.
 */

import { get } from "../api.js";
import { count, duration, percent } from "../format.js";
import { set, state } from "../store.js";
import { reveal } from "../timeline/view.js";
import { button, el } from "./parts/dom.js";
import { flameGraph } from "./flame_graph.js";
import { params, scope, scopeId, scopeKeys, scopeText, soon } from "./parts/scope.js";

/* Kinds of nodes, as docs/formats/ui.md numbers them. */
const kinds = ["all", "process", "thread", "span", "function", "syscall", "object", "state", "kernel", "rest"];
let graph, summary, note, kindButtons, sources, search, found, out, asked = "", answer = null, source = "";

/* tree - the answer's table of nodes as objects with children. */
function tree(a)
{
	const nodes = a.nodes.map(([, name, total, self, n, what, row]) => ({
		name: a.names[name], value: total, self, count: n, kind: kinds[what] || "function", row, children: [],
	}));
	a.nodes.forEach(([parent], i) => {
		if (parent >= 0 && parent < i)
			nodes[parent].children.push(nodes[i]);
	});
	return nodes[0] || null;
}

function draw()
{
	const a = answer;
	const root = a && a.total > 0 ? tree(a) : null;
	graph.show(root, a ? a.unit : "ns");
	const left = a?.left_out?.nodes ? `${count(a.left_out.nodes)} smaller nodes are summed. ` : "";
	note.textContent = `${root ? "" : "No time to show here. "}${a?.note || ""} ${left}`.trim();
	note.hidden = note.textContent === "";
	sources.hidden = !a || a.sources.length < 2;
	sources.replaceChildren(...(a?.sources || []).map((s) => {
		const option = el("option", { value: s, text: { samples: "by samples", stacks: "by stacks of switches",
			calls: "by calls and spans" }[s] || s });
		option.selected = s === a.source;
		return option;
	}));
	drawSearch();
}

function drawSearch()
{
	const share = graph.search(search.value.trim());
	found.textContent = search.value.trim() && answer?.total ? percent(share) : "";
}

async function load()
{
	const s = scope(), id = `${scopeId(s)} ${state.flameKind} ${source}`;
	if (id === asked)
		return;
	asked = id;
	for (const b of kindButtons.children)
		b.setAttribute("aria-pressed", b.dataset.kind === state.flameKind);
	summary.textContent = `${scopeText(s)}, reading`;
	const got = await get("/api/flame", { ...params(s), kind: state.flameKind, source: source || undefined },
		{ key: "flame" });
	if (!got)
		return;
	answer = got;
	summary.textContent = `${scopeText(s)}: ${got.unit === "ns" ? duration(got.total) : `${count(got.total)} samples`} ${
		state.flameKind === "on" ? "on CPUs" : "off CPUs"}`;
	draw();
}
const loadSoon = soon(load, 200);

export const flame = {
	id: "flame",
	title: "Flame graph",
	keys: [...scopeKeys, "flameKind"],
	focus: () => graph.node.querySelector("canvas").focus(),
	build(body, bar)
	{
		const kind = (id, text) => button(text, () => set({ flameKind: id }), { "data-kind": id });
		kindButtons = el("div", { class: "choice row", role: "group", "aria-label": "Time of threads" },
			kind("on", "on CPU"), kind("off", "off CPU"));
		sources = el("select", { "aria-label": "where the stacks are from", hidden: true,
			on: { change: () => {
				source = sources.value;
				load();
			} } });
		search = el("input", { type: "search", class: "mono", placeholder: "mark frames",
			"aria-label": "mark frames whose name has this text", on: { input: drawSearch } });
		found = el("span", { class: "dim", role: "status" });
		out = button("Zoom out", () => graph.reset(), { class: "small", hidden: true });
		summary = el("span", { class: "dim", role: "status" });
		note = el("p", { class: "flame-note dim", hidden: true });
		graph = flameGraph({
			onZoom: (n) => { out.hidden = n === null; },
			onThread: (row) => reveal(row, scope().from, scope().to),
		});
		bar.append(summary, out, kindButtons, sources, found, search);
		body.append(note, graph.node);
	},
	update: () => loadSoon(),
};
