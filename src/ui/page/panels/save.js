/* SPDX-License-Identifier: MIT */
/*
 * panels/save.js - the menu Save: the view as a picture, the selection as a file for other tools.
 *
 * The marked area is saved, else the visible time.  The menu says how long that is.
 * A file is fetched and then given to the browser, so that an error is a sentence and not a broken file.
 */

import { address } from "../api.js";
import { command, runCommand } from "../commands.js";
import { duration } from "../format.js";
import { announce, notice } from "../notice.js";
import { recording } from "../recording.js";
import { state } from "../store.js";
import { button, el, fill } from "./parts/dom.js";
import { params, scope, scopeText } from "./parts/scope.js";

const files = [
	{ as: "perfetto", title: "Perfetto", text: "for ui.perfetto.dev and trace_processor" },
	{ as: "csv", title: "CSV", text: "the events as a table" },
	{ as: "ctf", title: "CTF", text: "a recording, for duet, Babeltrace and Trace Compass; all rows" },
	{ as: "html", title: "One HTML file", text: "this page with its data; opens without duet" },
];

const pictures = [
	{ id: "save.png", title: "PNG picture", text: "what is visible, in the size of the screen" },
	{ id: "save.svg", title: "SVG picture", text: "what is visible, as lines and text" },
];

let menu, progress, running = null;

function nameOf(response, as)
{
	const given = /filename="([^"\\]+)"/.exec(response.headers.get("Content-Disposition") || "");
	return given ? given[1] : `${recording.name || "recording"}.${as}`;
}

function mebibytes(n)
{
	return n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

function showProgress(title, size)
{
	progress.hidden = false;
	progress.firstChild.textContent = size ? `${title}: ${mebibytes(size)}` : `${title}: being made`;
}

/* received - the body of `response`, with its size shown while it comes. */
async function received(response, title)
{
	const reader = response.body.getReader(), parts = [];
	let size = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return new Blob(parts);
		parts.push(value);
		size += value.length;
		showProgress(title, size);
	}
}

function give(blob, name)
{
	const url = URL.createObjectURL(blob);
	const a = el("a", { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}

async function save(file, isAll)
{
	running?.abort();
	const control = running = new AbortController();
	const s = isAll ? { from: 0, to: recording.end, rows: [] } : scope();
	const p = { as: file.as, ...params(s) };
	if (file.as === "ctf")
		delete p.rows;
	showProgress(file.title, 0);
	try {
		const response = await fetch(address("/api/export", p), {
			credentials: "same-origin", signal: control.signal });
		if (!response.ok)
			throw new Error((await response.json()).error);
		const name = nameOf(response, file.as);
		const blob = await received(response, file.title);
		give(blob, name);
		notice(`Saved ${name}, ${mebibytes(blob.size)}`);
	} catch (error) {
		if (!control.signal.aborted)
			notice(`${file.title}: ${error.message}`, "error");
	} finally {
		if (running === control) {
			running = null;
			progress.hidden = true;
		}
	}
}

function item(title, text, run)
{
	return el("button", { type: "button", role: "menuitem", class: "menu-item", tabindex: "-1", on: {
		click() {
			close();
			run();
		} } }, el("b", { text: title }), el("span", { class: "dim", text }));
}

function close()
{
	if (menu.hidden)
		return;
	menu.hidden = true;
	document.getElementById("top-save").setAttribute("aria-expanded", "false");
	document.getElementById("top-save").focus();
}

function open()
{
	if (!menu.hidden)
		return close();
	const s = scope();
	const isOffline = document.getElementById("duet-data") !== null;
	const whole = !state.area && s.from <= 0 && s.to >= recording.end;
	const what = whole ? `everything, ${duration(recording.end)}` : scopeText(s);
	fill(menu,
		el("div", { class: "menu-head", text: "Picture" }),
		pictures.map((p) => item(p.title, p.text, () => runCommand(p.id))),
		isOffline ? null : [
			el("div", { class: "menu-head", text: `Data: ${what}` }),
			files.map((f) => item(f.title, f.text, () => save(f, false))),
			whole ? null : item("Everything as CTF", "the whole recording", () => save(files[2], true)),
		]);
	const at = document.getElementById("top-save").getBoundingClientRect();
	menu.style.top = `${at.bottom + 4}px`;
	menu.style.right = `${innerWidth - at.right}px`;
	menu.hidden = false;
	document.getElementById("top-save").setAttribute("aria-expanded", "true");
	menu.querySelector("button").focus();
}

function onKey(event)
{
	const items = [...menu.querySelectorAll("button")];
	const i = items.indexOf(document.activeElement);
	const next = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: items.length - 1 }[event.key];
	if (next !== undefined)
		items[(next + items.length) % items.length].focus();
	else if (event.key === "Escape" || event.key === "Tab")
		close();
	else if (event.key !== "Enter" && event.key !== " ")
		return;
	else
		return event.stopPropagation();
	event.preventDefault();
	event.stopPropagation();
}

export function startSave()
{
	const top = document.getElementById("top-save");
	top.setAttribute("aria-haspopup", "menu");
	top.setAttribute("aria-expanded", "false");
	menu = el("div", { id: "save-menu", class: "menu", role: "menu", "aria-label": "Save", hidden: true,
		on: { keydown: onKey } });
	progress = el("div", { class: "notice progress", role: "status", hidden: true }, el("span"),
		button("Cancel", () => {
			running?.abort();
			announce("cancelled");
		}, { class: "small" }));
	document.body.append(menu, progress);
	document.addEventListener("pointerdown", (event) => {
		if (!menu.hidden && !menu.contains(event.target) && !top.contains(event.target))
			close();
	});
	command({ id: "save.open", title: "Save", group: "Page", keys: ["ctrl+s"], when: () => recording.isOpen,
		run: open });
	for (const f of files)
		command({ id: `save.${f.as}`, title: `Save as ${f.title}`, group: "Save",
			when: () => recording.isOpen && document.getElementById("duet-data") === null,
			run: () => save(f, false) });
}
