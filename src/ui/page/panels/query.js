/* SPDX-License-Identifier: MIT */
/*
 * panels/query.js - the script box: `duet script` over the recording, in the page.
 *
 * The server runs the script with limits of time and output and answers text and tables.  A time in
 * them is a link to the timeline.  Scripts that ran are kept in a history of this browser, newest first.
 */

import { cancel, post } from "../api.js";
import { command } from "../commands.js";
import { count, duration, time } from "../format.js";
import { announce } from "../notice.js";
import { set, state } from "../store.js";
import { button, el, fill, link } from "./parts/dom.js";
import { examples } from "./examples.js";
import { scope } from "./parts/scope.js";
import { goTo, sinceBegin, withTimes } from "./parts/times.js";
import { tableOf } from "./parts/table.js";

const historyKey = "duet.scripts", mostHistory = 50;
let text, output, status, runButton, within, menu, isRunning = false;

function history()
{
	try {
		const list = JSON.parse(localStorage.getItem(historyKey) || "[]");
		return Array.isArray(list) ? list.filter((s) => typeof s === "string") : [];
	} catch {
		return [];
	}
}

function remember(script)
{
	const list = [script, ...history().filter((s) => s !== script)].slice(0, mostHistory);
	try {
		localStorage.setItem(historyKey, JSON.stringify(list));
	} catch {
		/* A browser without storage has no history; scripts run all the same. */
	}
}

/* unitsOf - the units of columns of array `name`, as the script's table() or plot() has them. */
function unitsOf(script, name)
{
	const units = {};
	for (const [, array, columns] of script.matchAll(/\b(?:table|plot)\s*\(\s*(\w+)\s*,\s*"([^"]*)"/g))
		for (const column of array === name ? columns.split(",") : []) {
			const [, heading, unit] = /^\s*([^=:]+)[^:]*(?::(\w+))?\s*$/.exec(column) || [];
			if (unit)
				units[heading.trim()] = unit;
		}
	return units;
}

const toNs = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/* cellNode - a value of a table: a moment of the recording as a link, a duration in its unit. */
function cellNode(value, unit)
{
	if (typeof value !== "number")
		return withTimes(String(value ?? ""));
	const at = sinceBegin(value);
	if (at !== null)
		return link(time(at), () => goTo(at), "Show this time");
	if (toNs[unit])
		return duration(value * toNs[unit]);
	return Number.isInteger(value) ? count(value) : String(value);
}

function tableNode(table, script)
{
	const name = table.table || table.plot || "", units = unitsOf(script, name), rows = table.rows || [];
	const columns = (table.columns || []).map((title, i) => ({
		title,
		numeric: rows.every((r) => typeof r[i] === "number" || r[i] === null),
		value: (r) => r[i] ?? "",
		node: (r) => cellNode(r[i], units[title]),
	}));
	if (columns.length === 0)
		return null;
	const shown = tableOf(name || "table", columns, columns.length - 1);
	shown.update(rows);
	return el("section", {},
		el("div", { class: "row" }, el("h3", { text: name }),
			button("Copy as CSV", () => shown.copy(), { class: "small" })),
		shown.node);
}

/* goToError - the caret where the script is wrong; line and column count from 1. */
function goToError(line, column)
{
	const lines = text.value.split("\n");
	if (!line || line > lines.length)
		return;
	const before = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
	const at = before + Math.max(0, (column || 1) - 1);
	text.focus();
	text.setSelectionRange(at, at);
}

const cutWords = {
	output: "It printed more than 1 MiB: the rest is left out.",
	time: "It was ended because its time was over; this is what it printed until then.",
};

function show(answer, script)
{
	const parts = [];
	if (answer.error)
		parts.push(el("pre", { class: "error", role: "alert", text: answer.error }));
	for (const table of answer.tables || [])
		parts.push(tableNode(table, script));
	if (answer.output)
		parts.push(el("pre", { class: "output" }, withTimes(answer.output)));
	if (answer.messages && answer.messages !== answer.error)
		parts.push(el("pre", { class: "output dim", text: answer.messages }));
	if (parts.length === 0)
		parts.push(el("p", { class: "dim", text: "The script printed nothing." }));
	if (answer.cut)
		parts.push(el("p", { class: "problem", text: cutWords[answer.cut] || answer.cut }));
	fill(output, parts);
	output.scrollTop = 0;
	status.textContent = answer.ms === undefined ? "" : duration(answer.ms * 1e6);
	announce(answer.error ? `The script failed: ${answer.error}` : "The script has ended");
	if (answer.error)
		goToError(answer.line, answer.column);
}

function setRunning(is)
{
	isRunning = is;
	runButton.textContent = is ? "Stop" : "Run";
	if (is)
		status.textContent = "running";
}

async function run()
{
	const script = text.value;
	if (isRunning || script.trim() === "")
		return;
	remember(script);
	setRunning(true);
	const s = scope();
	const part = within.checked ? { from: s.from, to: s.to } : {};
	const answer = await post("/api/script", { text: script, ...part }, { key: "script", quiet: true });
	setRunning(false);
	if (answer)
		show(answer, script);
	else
		status.textContent = "stopped";
}

function take(script)
{
	text.value = script;
	set({ script });
	text.focus();
}

function fillMenu()
{
	const group = (label, list) => el("optgroup", { label }, list.map((e) =>
		el("option", { value: e.script, text: e.title })));
	fill(menu, el("option", { value: "", text: "Examples and history" }),
		group("Examples", examples),
		group("History", history().map((script) => ({
			script, title: script.trim().split("\n")[0].slice(0, 80) }))));
}

function onKey(event)
{
	if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
		event.preventDefault();
		run();
	}
	if (event.key !== "Escape")
		event.stopPropagation();
}

export const query = {
	id: "query",
	title: "Query",
	keys: ["script"],
	when: () => document.getElementById("duet-data") === null,
	build(body) {
		text = el("textarea", {
			class: "mono script", spellcheck: "false", "aria-label": "script",
			placeholder: "A script as of `duet script`; Ctrl+Enter runs it.",
			on: { input: () => set({ script: text.value }), keydown: onKey },
		});
		text.value = state.script || "";
		menu = el("select", { "aria-label": "examples and history", on: {
			change: () => {
				if (menu.value)
					take(menu.value);
				menu.selectedIndex = 0;
			},
			pointerdown: fillMenu, focus: fillMenu,
		} });
		fillMenu();
		runButton = button("Run", () => isRunning ? cancel("script") : run(), { class: "primary", title: "Ctrl+Enter" });
		within = el("input", { type: "checkbox" });
		status = el("span", { class: "dim", role: "status" });
		output = el("div", { class: "results", tabindex: "0", "aria-label": "results" });
		body.append(el("div", { class: "query" },
			el("div", { class: "query-in" }, text,
				el("div", { class: "row" }, runButton, menu,
					el("label", { class: "dim", title: "Events of the marked area's time, or of the visible time" },
						within, " this time only"), status)),
			output));
	},
	update() {
		if (text.value !== (state.script || "") && document.activeElement !== text)
			text.value = state.script || "";
	},
};

command({ id: "query.run", title: "Run the script", group: "Panels", when: () => query.when(), run: () => {
	set({ panel: "query" });
	requestAnimationFrame(run);
} });
