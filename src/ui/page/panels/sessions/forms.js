/* SPDX-License-Identifier: MIT */
/*
 * panels/sessions/forms.js - actions on sessions: buttons, and forms for their options.
 *
 * A form's fields are options of the command of the same name; the server runs that command, and its
 * error is shown in the form.
 */

import { post } from "../../api.js";
import { notice } from "../../notice.js";
import { button, el, fill } from "../parts/dom.js";
import { askSessions, channelsOf } from "./list.js";

const list = (text) => text.split(/[\s,]+/).filter(Boolean);

/* Fields of the forms: [member, label, hint, isList]. */
const startFields = [
	["session", "name", "web"],
	["output", "directory", "where to; empty: a new one of that name"],
	["events", "events of applications", "shop:*  (empty: all)", true],
	["kernel", "events of the kernel", "sched, syscalls", true],
	["programs", "only programs", "nginx*", true],
	["filter", "filter", "size > 4096 && name ~ \"tmp*\""],
	["buffer", "memory", "64M"],
	["rotate", "rotate", "1G, 10min or request"],
];
const snapshotFields = [
	["output", "directory", "where to; empty: beside the recording"],
	["last", "only the last", "5s"],
	["max_size", "at most", "64M"],
];
const eventFields = [
	["events", "events", "shop:*", true],
	["filter", "filter", "id > 100"],
	["programs", "only programs", "shop*", true],
];

let dialog = null, whenMade = () => {};

/* onMade - `fn(path, text)` runs when a recording was finished or a snapshot written: its directory. */
export function onMade(fn)
{
	whenMade = fn;
}

/* change - ask for `body`; resolves to its error, or "". */
async function change(body, title)
{
	const answer = await post("/api/session", body, { quiet: true });
	if (answer?.ok)
		notice(`${title}: ${(answer.text || "done").trim().split("\n")[0]}`);
	if (answer?.ok && answer.path && body.verb !== "start")
		whenMade(answer.path, title);
	askSessions();
	return answer?.error || "";
}

/* changeNow - the same without a form: an error is a notice. */
async function changeNow(body, title)
{
	const problem = await change(body, title);
	if (problem)
		notice(`${title}: ${problem}`, "error");
}

/* openRecording - of {session} or {path}: this page is about it from then on. */
export async function openRecording(what)
{
	const answer = await post("/api/open", what);
	if (answer && answer.ok)
		location.href = "/";
}

function field([name, label, hint])
{
	const input = el("input", { name, type: "text", placeholder: hint, autocomplete: "off", spellcheck: "false",
		class: "mono" });
	return el("label", {}, el("span", { text: label }), input);
}

/* form - a dialog with `fields`, and flags [member, label]; `doing` is the word of its button, `verb` the request. */
function form(title, doing, verb, fields, fixed, flags = [])
{
	const problem = el("pre", { class: "problem", role: "alert", hidden: true });
	const node = el("form", { method: "dialog", class: "session-form", on: { submit(event) {
		event.preventDefault();
		const body = { verb, ...fixed };
		for (const [name, , , isList] of fields) {
			const value = node.elements[name].value.trim();
			if (value)
				body[name] = isList ? list(value) : value;
		}
		for (const [name] of flags)
			if (node.elements[name].checked)
				body[name] = "true";
		change(body, title).then((text) => {
			problem.textContent = text;
			problem.hidden = text === "";
			if (text === "")
				dialog.close();
		});
	} } },
	el("div", { class: "dialog-head" }, el("h2", { text: title }),
		button("×", () => dialog.close(), { class: "icon", "aria-label": "Close" })),
	fields.map(field),
	flags.map(([name, label]) => el("label", { class: "flag" }, el("input", { type: "checkbox", name }), ` ${label}`)),
	problem,
	el("div", { class: "row end" }, button("Cancel", () => dialog.close(), { class: "small" }),
		el("button", { type: "submit", class: "primary", text: doing })));
	if (!dialog) {
		dialog = el("dialog", { id: "session-dialog", on: { keydown: (e) => e.stopPropagation() } });
		document.body.append(dialog);
	}
	fill(dialog, node);
	dialog.setAttribute("aria-label", title);
	dialog.showModal();
	node.querySelector("input").focus();
}

export function startForm()
{
	form("Start a session", "Start", "start", startFields, {}, [["overwrite", "flight recorder: keep the newest in memory"]]);
}

/* sessionButtons - for a session of /api/sessions.  Only a flight recorder has a snapshot to take. */
export function sessionButtons(session)
{
	const name = session.session;
	const isRecorder = channelsOf(session).some((c) => c.mode === "overwrite");
	const act = (text, run) => button(text, (event) => {
		event.stopPropagation();
		run();
	}, { class: "small" });
	return [
		act("Stop", () => changeNow({ verb: "stop", session: name }, `Stop ${name}`)),
		isRecorder ? act("Snapshot…", () =>
			form(`Snapshot of ${name}`, "Take it", "snapshot", snapshotFields, { session: name })) : null,
		act("Rotate", () => changeNow({ verb: "rotate", session: name }, `Rotate ${name}`)),
		act("Enable…", () => form(`Enable events of ${name}`, "Enable", "enable", eventFields, { session: name })),
		act("Disable…", () => form(`Disable events of ${name}`, "Disable", "disable", eventFields, { session: name })),
	];
}
