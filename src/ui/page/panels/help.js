/* SPDX-License-Identifier: MIT */
/*
 * panels/help.js - all commands by group with their keys, and the meaning of the colours: "?".
 *
 * The list is made of the commands themselves, so it cannot lack one.
 */

import { command, commands, keyText } from "../commands.js";
import { button, el, fill } from "./parts/dom.js";
import { swatch } from "./parts/states.js";

const colourWords = [
	["--run", "running in user mode"], ["--kern", "running in the kernel"], ["--irq", "interrupted"],
	["--ready", "waiting for a CPU: runnable or preempted"], ["--block", "blocked: thin, because nothing happens"],
	["--unknown", "unknown: events were lost, or not recorded"],
	["--spanb", "spans of the application"], ["--callb", "system calls"], ["--funcb", "functions"],
	["--mark", "marks, and events without duration"], ["--lost", "lost events, and errors"],
];

const mouse = [
	["click", "select"], ["drag", "move in time and rows"],
	["Shift drag", "mark an area; so does a drag on the time axis"], ["wheel", "zoom at the pointer"], ["Shift wheel", "move in time"],
	["double click", "zoom to it"],
	["drag above", "move or stretch what is visible, in the overview"],
];

let dialog = null;

function keysOf(c)
{
	return (c.keys || []).map((k) => el("kbd", { text: keyText(k) }));
}

function group(title, rows)
{
	return el("section", {}, el("h3", { text: title }), el("table", {}, rows));
}

function groups()
{
	const by = new Map();
	for (const c of commands())
		by.set(c.group || "Page", [...(by.get(c.group || "Page") || []), c]);
	return [...by].map(([title, list]) => group(title, list.map((c) => el("tr", {},
		el("td", { class: "keys" }, keysOf(c)),
		el("td", { text: c.title })))));
}

function close()
{
	dialog.close();
}

function open()
{
	if (dialog.open)
		return close();
	fill(dialog,
		el("div", { class: "dialog-head" }, el("h2", { text: "Keys and colours" }),
			button("×", close, { class: "icon", "aria-label": "Close" })),
		el("div", { class: "help-columns" },
			group("Colours", colourWords.map(([variable, text]) => el("tr", {},
				el("td", { class: "keys" }, swatch(variable)), el("td", { text })))),
			group("Mouse", mouse.map(([what, text]) => el("tr", {},
				el("td", { class: "keys", text: what }), el("td", { text })))),
			groups()));
	dialog.showModal();
}

export function startHelp()
{
	dialog = el("dialog", { id: "help-dialog", "aria-label": "Help", on: {
		click: (e) => e.target === dialog && close(),
		keydown(e) {
			if (e.key === "?")
				close();
			if (e.key !== "Tab")
				e.stopPropagation();
		},
	} });
	document.body.append(dialog);
	command({ id: "help.open", title: "Keys and colours", group: "Page", keys: ["?"], run: open });
}
