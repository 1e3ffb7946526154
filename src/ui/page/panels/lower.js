/* SPDX-License-Identifier: MIT */
/*
 * panels/lower.js - the tabs below the timeline.
 *
 * A panel is {id, title, keys, build(body, bar), update(), when}.  It is built when it is shown first, and
 * updated when it is shown, and when one of `keys` of the store, or the recording, changes while it is
 * shown: a hidden panel sends no requests.  `bar` is its part of the line of tabs.
 */

import { command } from "../commands.js";
import { onRecording, recording } from "../recording.js";
import { on, state } from "../store.js";
import { button, el, fill } from "./parts/dom.js";
import { events } from "./events/events.js";
import { flame } from "./flame.js";
import { latency } from "./latency.js";
import { live } from "./sessions/live.js";
import { isFolded, openPanel, togglePanels } from "./open.js";
import { query } from "./query.js";
import { statistics } from "./statistics.js";

const panels = [events, statistics, latency, flame, query, live];
const built = new Map(); /* id: {tab, body, bar, isBuilt} */
let foldButton;

const isOffered = (panel) => !panel.when || panel.when();

function shown()
{
	return panels.find((p) => p.id === state.panel && isOffered(p)) || panels[0];
}

function update(panel)
{
	if (isFolded() || !recording.isOpen)
		return;
	const parts = built.get(panel.id);
	if (!parts.isBuilt) {
		parts.isBuilt = true;
		panel.build(parts.body, parts.bar);
	}
	panel.update();
}

function showPanel()
{
	const current = shown();
	for (const panel of panels) {
		const { tab, body, bar } = built.get(panel.id);
		const isIt = panel === current;
		tab.hidden = !isOffered(panel);
		tab.setAttribute("aria-selected", isIt);
		tab.tabIndex = isIt ? 0 : -1;
		body.hidden = bar.hidden = !isIt || isFolded();
	}
	foldButton.textContent = isFolded() ? "▴" : "▾";
	foldButton.setAttribute("aria-expanded", !isFolded());
	update(current);
}

function onTabKey(event)
{
	const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	if (!by || event.ctrlKey || event.altKey || event.metaKey)
		return;
	const offered = panels.filter(isOffered);
	const next = offered[(offered.indexOf(shown()) + by + offered.length) % offered.length];
	openPanel(next.id);
	built.get(next.id).tab.focus();
	event.preventDefault();
	event.stopPropagation();
}

/* Escape leaves a field of a panel for its tab, so that the keys of the page work again. */
function onEscape(event)
{
	if (event.key !== "Escape" || event.defaultPrevented || !event.target.matches("input, select, textarea"))
		return;
	built.get(shown().id).tab.focus();
	event.preventDefault();
	event.stopPropagation();
}

function parts(panel)
{
	const tab = el("button", {
		type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`,
		text: panel.title, hidden: !isOffered(panel),
		on: { click: () => openPanel(panel.id), dblclick: togglePanels },
	});
	const body = el("div", {
		role: "tabpanel", id: `panel-${panel.id}`, class: "panel-body",
		"aria-labelledby": `tab-${panel.id}`, hidden: true,
	});
	return { tab, body, bar: el("div", { class: "panel-bar", hidden: true }), isBuilt: false };
}

function registerCommands()
{
	panels.forEach((panel, i) => command({
		id: `panel.${panel.id}`, title: `Show ${panel.title.toLowerCase()}`, group: "Panels",
		keys: [String(i + 1)], when: () => recording.isOpen && isOffered(panel),
		run() {
			openPanel(panel.id);
			requestAnimationFrame(() => panel.focus?.());
		},
	}));
	command({ id: "panel.fold", title: "Fold or unfold the lower panel", group: "Panels",
		keys: ["\\"], run: togglePanels });
}

export function startLower()
{
	for (const panel of panels)
		built.set(panel.id, parts(panel));
	const all = panels.map((p) => built.get(p.id));
	foldButton = button("▾", togglePanels, { class: "icon", "aria-label": "Fold or unfold this panel",
		title: "Fold or unfold (\\)" });
	fill(document.getElementById("lower"),
		el("div", { class: "tabs" },
			el("div", { role: "tablist", "aria-label": "Panels", on: { keydown: onTabKey } },
				all.map((p) => p.tab)),
			el("span", { class: "grow" }), all.map((p) => p.bar), foldButton),
		all.map((p) => p.body));
	document.getElementById("lower").addEventListener("keydown", onEscape);
	registerCommands();
	on(["panel", "panelHeight"], showPanel);
	for (const panel of panels.filter((p) => p.keys.length))
		on(panel.keys, () => panel === shown() && update(panel));
	onRecording(showPanel);
}
