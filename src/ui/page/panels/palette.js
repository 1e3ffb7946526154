/* SPDX-License-Identifier: MIT */
/*
 * panels/palette.js - one field for commands, threads, names and events: "/" or Ctrl+K.
 *
 * Commands are matched in the page, everything else by the server's search.  The list is a listbox whose
 * options the field's keys walk through; the focus stays in the field and goes back where it was.
 */

import { get } from "../api.js";
import { canRun, command, commands, keyText } from "../commands.js";
import { count, duration, time } from "../format.js";
import { recording, rowName } from "../recording.js";
import { set, state } from "../store.js";
import { openPanel } from "./open.js";
import { el, fill, later } from "./parts/dom.js";
import { select, show } from "./parts/go.js";

const mostCommands = 8, limit = 24;
let box, input, list, options = [], chosen = 0, before = null, only = "";

/* score - how well `text` fits `words`: the lower, the better; -1: not at all. */
function score(text, words)
{
	const t = text.toLowerCase(), w = words.toLowerCase();
	if (w === "" || t === w)
		return 0;
	const at = t.indexOf(w);
	if (at === 0)
		return 1;
	if (at > 0)
		return t[at - 1] === " " ? 2 : 3;
	return -1;
}

/* commandScore - the same for a command; far words of its title and group in any order are the last. */
function commandScore(c, words)
{
	const s = score(c.title, words);
	if (s >= 0)
		return s;
	const all = `${c.title} ${c.group || ""}`.toLowerCase();
	return words.toLowerCase().split(/\s+/).every((word) => all.includes(word)) ? 4 : -1;
}

function commandOptions(words)
{
	return commands().filter((c) => canRun(c) && c.id !== "palette.open")
		.map((c) => ({ c, s: commandScore(c, words) }))
		.filter((o) => o.s >= 0)
		.sort((a, b) => a.s - b.s)
		.slice(0, words === "" || only === "commands" ? 40 : mostCommands)
		.map(({ c }) => ({ group: "Commands", text: c.title, more: c.group || "",
			keys: c.keys || [], run: () => c.run() }));
}

function rowOption(r)
{
	const row = recording.rows[r.row];
	return {
		group: "Rows", text: rowName(r.row), more: r.kind,
		run: () => row && show(r.row, state.from, state.to || recording.end),
	};
}

function nameOption(n)
{
	return {
		group: "Names", text: n.text, more: `${count(n.n)} times`,
		run() {
			set({ latencyName: n.text });
			openPanel("latency");
		},
	};
}

function itemOption(i)
{
	return {
		group: "Nearest", text: recording.names[i.name] ?? "", run: () => select(i),
		more: `${i.to > i.from ? `${duration(i.to - i.from)} · ` : ""}${rowName(i.row)} · ${time(i.from).slice(0, -3)}`,
	};
}

function choose(index)
{
	chosen = options.length ? (index + options.length) % options.length : 0;
	options.forEach((o, i) => o.node.setAttribute("aria-selected", i === chosen));
	const node = options[chosen]?.node;
	if (node)
		input.setAttribute("aria-activedescendant", node.id);
	else
		input.removeAttribute("aria-activedescendant");
	node?.scrollIntoView({ block: "nearest" });
}

function draw(newOptions)
{
	options = newOptions;
	const nodes = [];
	options.forEach((o, i) => {
		if (i === 0 || options[i - 1].group !== o.group)
			nodes.push(el("div", { class: "palette-group", role: "presentation", text: o.group }));
		o.node = el("div", {
			role: "option", id: `palette-${i}`, class: "option",
			on: { pointerdown: (e) => e.preventDefault(), click: () => run(i),
				pointermove: () => chosen !== i && choose(i) },
		}, el("span", { class: "option-text", text: o.text }), el("span", { class: "dim", text: o.more }),
		(o.keys || []).slice(0, 2).map((k) => el("kbd", { text: keyText(k) })));
		nodes.push(o.node);
	});
	if (nodes.length === 0)
		nodes.push(el("div", { class: "palette-group", text: "Nothing found" }));
	fill(list, nodes);
	choose(0);
}

function run(index)
{
	const option = options[index];
	close();
	option?.run();
}

let found = []; /* of the server, for `foundFor` */
let foundFor = "";

async function search()
{
	const text = input.value.trim();
	if (text === "" || only === "commands" || !recording.isOpen)
		return;
	const middle = (state.from + (state.to || recording.end)) / 2;
	const answer = await get("/api/search", { text, at: middle, limit }, { key: "palette", quiet: true });
	if (!answer || answer.error || input.value.trim() !== text)
		return;
	found = [...answer.rows.map(rowOption), ...answer.names.map(nameOption), ...answer.items.map(itemOption)];
	foundFor = text;
	draw(merged());
}
const searchSoon = later(search, 80);

/* merged - the best match first: commands with a word that begins with the text, the server's results, others. */
function merged()
{
	const text = input.value.trim();
	const own = commandOptions(text);
	if (text === "" || foundFor !== text)
		return own;
	const isNear = (o) => [0, 1, 2].includes(score(o.text, text));
	return [...own.filter(isNear), ...found, ...own.filter((o) => !isNear(o))];
}

function onInput()
{
	if (input.value.trim() !== foundFor)
		found = [];
	draw(merged());
	searchSoon();
}

function onKey(event)
{
	const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
	if (by)
		choose(Math.abs(by) === 1 ? chosen + by : Math.max(0, Math.min(options.length - 1, chosen + by)));
	else if (event.key === "Enter")
		run(chosen);
	else if (event.key === "Escape")
		close();
	else if (event.key !== "Tab")
		return;
	event.preventDefault();
	event.stopPropagation();
}

function close()
{
	if (box.hidden)
		return;
	box.hidden = true;
	document.getElementById("top-search").setAttribute("aria-expanded", "false");
	if (before?.isConnected && before !== document.body)
		before.focus();
	else
		input.blur();
}

function open(what)
{
	if (box.hidden)
		before = document.activeElement;
	only = what || "";
	const at = document.getElementById("top-search").getBoundingClientRect();
	box.style.left = `${at.left}px`;
	box.style.width = `${Math.max(520, at.width)}px`;
	box.style.top = `${at.top}px`;
	box.hidden = false;
	document.getElementById("top-search").setAttribute("aria-expanded", "true");
	input.value = "";
	found = [];
	foundFor = "";
	input.placeholder = only === "commands" ? "Run a command" : "Search events, threads, functions, files; or a command";
	draw(commandOptions(""));
	input.focus();
}

export function startPalette()
{
	box = document.getElementById("palette");
	input = el("input", {
		type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list",
		"aria-autocomplete": "list", "aria-label": "Search and commands", autocomplete: "off", spellcheck: "false",
		on: { input: onInput, keydown: onKey, blur: () => setTimeout(() => {
			if (!box.contains(document.activeElement))
				close();
		}, 0) },
	});
	list = el("div", { id: "palette-list", role: "listbox", "aria-label": "Found" });
	box.append(input, list);
	command({ id: "palette.open", title: "Search everything", group: "Page", keys: ["/", "ctrl+k"],
		run: () => open() });
	command({ id: "palette.commands", title: "Run a command by name", group: "Page",
		keys: ["ctrl+shift+p"], run: () => open("commands") });
}
