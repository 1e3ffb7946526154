/* SPDX-License-Identifier: MIT */
/*
 * panels/why.js - why a thread was not running: sentences that nest along the chain of wakeups, and the
 * critical path.
 *
 * A sentence leads to its thread and time.  The path is drawn on the timeline through `state.path`, and
 * listed here for screen readers.
 */

import { get } from "../api.js";
import { command } from "../commands.js";
import { count, duration } from "../format.js";
import { announce } from "../notice.js";
import { rowName } from "../recording.js";
import { on, set, state } from "../store.js";
import { button, el } from "./parts/dom.js";
import { show } from "./parts/go.js";
import { states } from "./parts/states.js";

/* At first: so many reasons of a level, and none that is a smaller share of all (of the first level's: of it). */
const few = [4, 3], leastShare = 0.06, leastOfParent = 0.2;
const mostDepth = 6, mostSteps = 200;

/* Numbers of states, as the index numbers them. */
const stateIds = ["unknown", "user", "kernel", "irq", "preempted", "runnable", "blocked"];
const stateOf = (number) => states.find((s) => s.id === stateIds[number]) || states.at(-1);

let path = null; /* of the answer that is shown */

function sentence(reason, depth, whole)
{
	const causes = depth < mostDepth ? reason.causes || [] : [];
	const times = reason.n > 1 && !/ times\b/.test(reason.text) ? `, ${count(reason.n)} times` : "";
	return el("li", {},
		el("button", { type: "button", class: "reason", title: `Show it: ${rowName(reason.row)}`,
			on: { click: () => show(reason.row, reason.from, reason.to) } },
		el("b", { text: duration(reason.ns) }), ` ${reason.text}${times}`),
		causes.length ? list(causes, depth + 1, whole, reason.ns) : null);
}

function restText(n, areSome)
{
	return areSome ? `${count(n)} more` : n === 1 ? "its cause" : `${count(n)} causes`;
}

/* list - `reasons` are sorted, the largest first; `whole` is the time of all,
 * `parent` that of the reason which they are causes of. */
function list(reasons, depth, whole, parent = Infinity)
{
	const least = Math.min(leastShare * whole, depth === 1 ? leastOfParent * parent : Infinity);
	const large = reasons.filter((r) => r.ns >= least).length;
	const shown = Math.min(few[Math.min(depth, few.length - 1)], depth === 0 ? Math.max(1, large) : large);
	const items = reasons.map((r) => sentence(r, depth, whole));
	const node = el("ul", { class: "why" }, items.slice(0, shown));
	const rest = items.slice(shown);
	if (rest.length)
		node.append(el("li", {}, button(restText(rest.length, shown > 0), (event) => {
			event.target.parentElement.replaceWith(...rest);
			rest[0].querySelector("button").focus();
		}, { class: "link dim" })));
	return node;
}

function step([row, from, to, number, words])
{
	return el("li", {}, el("button", { type: "button", class: "reason", on: { click: () => show(row, from, to) } },
		el("span", { class: `swatch state-${stateOf(number).id}` }), el("b", { text: duration(to - from) }),
		` ${rowName(row)} `, el("span", { class: "dim", text: words })));
}

function pathNodes(answer)
{
	if (!answer.path || answer.path.length === 0)
		return null;
	path = answer.path;
	if (state.path !== null)
		set({ path });
	const shown = path;
	const toggle = button("", () => set({ path: state.path === shown ? null : shown }), { class: "small" });
	const label = () => {
		toggle.textContent = state.path === shown ? "Hide the critical path" : "Show the critical path";
		toggle.setAttribute("aria-pressed", state.path === shown);
	};
	label();
	toggle.relabel = label;
	toggle.id = "why-path";
	const details = el("details", {}, el("summary", { text: `its ${count(shown.length)} steps` }));
	details.addEventListener("toggle", () => {
		if (details.open && details.children.length === 1)
			details.append(el("ol", { class: "steps" }, shown.slice(0, mostSteps).map(step)));
	});
	return el("div", {}, toggle, details);
}

/* noWhy - nothing is selected that could have waited: no path is drawn either. */
export function noWhy()
{
	path = null;
	set({ path: null });
}

/* whyNode - the section for thread `row` in that time; it fills itself.  A path that is drawn becomes that of
 * this time. */
export function whyNode(row, from, to)
{
	path = null;
	const body = el("div", { class: "why-body", "aria-busy": "true" }, el("p", { class: "dim", text: "looking" }));
	const node = el("section", {}, el("h3", { text: "Why it was not running" }), body);
	get("/api/why", { row, from, to: Math.max(from + 1, to) }, { key: "why", quiet: true }).then((answer) => {
		if (!answer || !node.isConnected)
			return;
		body.removeAttribute("aria-busy");
		body.replaceChildren();
		if (answer.error || !answer.path?.length)
			noWhy();
		if (answer.error) {
			body.append(el("p", { class: "dim", text: answer.error }));
			return;
		}
		if (answer.reasons.length)
			body.append(list(answer.reasons, 0, answer.reasons.reduce((sum, r) => sum + r.ns, 0)));
		else
			body.append(el("p", { class: "dim", text: "It ran all the time." }));
		if (!answer.is_whole)
			body.append(el("p", { class: "dim", text:
				`Of ${count(answer.n_waits)} waits the longest ${count(answer.n_followed)} were followed.` }));
		for (const text of answer.missing || [])
			body.append(el("p", { class: "dim", text }));
		const steps = pathNodes(answer);
		if (steps)
			body.append(steps);
	});
	return node;
}

export function startWhy()
{
	on("path", () => document.getElementById("why-path")?.relabel());
	command({ id: "path.toggle", title: "Show or hide the critical path", group: "Selection", keys: ["c"],
		when: () => path !== null || state.path !== null,
		run() {
			set({ path: state.path ? null : path });
			announce(state.path ? `critical path of ${state.path.length} steps` : "critical path hidden");
		} });
}
