/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/states.js - the states of a thread: names, colours, and the bar that shows their shares.
 *
 * The same words and colours everywhere.  Numbers beside a bar add up to its whole, as far as the
 * thread lived.
 */

import { duration, percent } from "../../format.js";
import { el } from "./dom.js";

export const states = [
	{ id: "user", title: "running, user", color: "--run" },
	{ id: "kernel", title: "running, kernel", color: "--kern" },
	{ id: "irq", title: "interrupted", color: "--irq" },
	{ id: "preempted", title: "preempted", color: "--ready" },
	{ id: "runnable", title: "waiting for a CPU", color: "--ready" },
	{ id: "blocked", title: "blocked", color: "--block" },
	{ id: "unknown", title: "unknown", color: "--line" },
];

export function swatch(variable)
{
	return el("span", { class: "swatch", style: { background: "var(" + variable + ")" } });
}

/* stateBar - the shares of `ns` (an object by state id) in `whole`, as one bar.  Its text for
 * readers of screens has the same numbers. */
export function stateBar(ns, whole)
{
	const parts = states.filter((s) => ns[s.id] > 0);
	const bar = el("div", {
		class: "bar",
		role: "img",
		"aria-label": parts.map((s) => s.title + " " + duration(ns[s.id])).join(", "),
	});
	for (const s of parts)
		bar.append(el("i", {
			class: "state-" + s.id,
			title: s.title + " " + duration(ns[s.id]),
			style: { width: (100 * ns[s.id]) / whole + "%" },
		}));
	return bar;
}

/* stateTable - the same shares as numbers. */
export function stateTable(ns, whole)
{
	const table = el("table", { class: "split" });
	for (const s of states)
		if (ns[s.id] > 0)
			table.append(el("tr", {},
				el("td", {}, el("span", { class: "swatch state-" + s.id }), s.title),
				el("td", { class: "number", text: duration(ns[s.id]) }),
				el("td", { class: "number", text: percent(ns[s.id] / whole) })));
	return table;
}
