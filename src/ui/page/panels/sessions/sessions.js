/* SPDX-License-Identifier: MIT */
/*
 * panels/sessions/sessions.js - the page without a recording: the sessions of this user, and actions on them.
 *
 * A recording that was finished or written here can be opened here.
 */

import { command } from "../../commands.js";
import { count, duration } from "../../format.js";
import { announce } from "../../notice.js";
import { recording } from "../../recording.js";
import { bytes, dashboard } from "./dashboard.js";
import { button, el, fill } from "../parts/dom.js";
import { onMade, openRecording, sessionButtons, startForm } from "./forms.js";
import { askSessions, bytesOf, lostOf, rateOf, startSessions } from "./list.js";

let place, rows, made, board, shownSession = "";
let isPressed = false; /* a button of the table, right now */

function row(s)
{
	const lost = lostOf(s);
	const node = el("tr", { class: s.session === shownSession ? "current" : null,
		on: { click: () => choose(s.session) } },
	el("td", {}, button(s.session, () => choose(s.session), { class: "link",
		"aria-pressed": s.session === shownSession })),
	el("td", { class: "dim", text: s.path || "", title: s.path }),
	el("td", { class: "number", text: s.duration_ns === undefined ? "" : duration(Number(s.duration_ns)) }),
	el("td", { class: "number", text: count(s.programs || 0) }),
	el("td", { class: "number", text: s.events_per_s === undefined ? "" : count(rateOf(s)) }),
	el("td", { class: "number", text: s.events_per_s === undefined ? "" : bytes(bytesOf(s)) }),
	el("td", { class: lost ? "number lost" : "number", text: lost ? count(lost) : "none" }),
	el("td", { class: "row" },
		button("Open", (event) => {
			event.stopPropagation();
			openRecording({ session: s.session });
		}, { class: "small primary" }),
		sessionButtons(s)));
	return node;
}

function choose(name)
{
	shownSession = name;
	askSessions();
}

function update(now)
{
	if (isPressed)
		return; /* what is pressed has to be there when it is let go; the next answer is shown */
	if (now.error) {
		fill(rows, el("tr", {}, el("td", { colspan: "8", class: "problem", text: now.error })));
		return;
	}
	if (!now.list.some((s) => s.session === shownSession))
		shownSession = now.list[0]?.session || "";
	/* A table under the pointer or the focus is not made anew: a button would vanish while it is pressed. */
	const held = document.activeElement?.closest?.("#session-rows") ? document.activeElement : null;
	const place_ = held ? [...rows.querySelectorAll("button")].indexOf(held) : -1;
	fill(rows, now.list.length ? now.list.map(row) : el("tr", {}, el("td", { colspan: "8", class: "dim",
		text: "No session records now.  Start one here, or by `duet start`." })));
	if (place_ >= 0)
		rows.querySelectorAll("button")[place_]?.focus();
	const shown = now.list.find((s) => s.session === shownSession);
	board.node.hidden = !shown;
	if (shown)
		board.show(shown);
}

function build()
{
	const heads = ["session", "directory", "for", "programs", "events/s", "bytes/s", "lost", ""];
	rows = el("tbody", { id: "session-rows", on: { pointerdown: () => { isPressed = true; } } });
	for (const end of ["pointerup", "pointercancel"])
		addEventListener(end, () => setTimeout(() => { isPressed = false; }, 0));
	board = dashboard();
	const path = el("input", { type: "text", class: "mono", name: "path", placeholder: "/path/of/a/recording",
		"aria-label": "directory of a recording", autocomplete: "off", spellcheck: "false" });
	made = el("ul", { class: "plain made", "aria-label": "Recordings of this page" });
	onMade((directory, text) => made.prepend(el("li", {}, `${text}: `, el("span", { class: "mono", text: directory }), " ",
		button("Open", () => openRecording({ path: directory }), { class: "small" }))));
	place = el("main", { id: "sessions", "aria-label": "Sessions" },
		el("div", { class: "row" }, el("h2", { text: "Sessions" }), el("span", { class: "grow" }),
			el("form", { class: "row", on: { submit(event) {
				event.preventDefault();
				if (path.value.trim())
					openRecording({ path: path.value.trim() });
			} } }, path, el("button", { type: "submit", class: "small", text: "Open recording" })),
			button("Start a session…", startForm, { class: "primary" }),
			recording.isOpen ? button("Back to the recording", hide, { class: "small" }) : null),
		el("table", { class: "sessions" },
			el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", { scope: "col", text: h,
				class: i > 1 && i < 7 ? "number" : null })))), rows),
		made, board.node);
	document.body.append(place);
}

const isShown = () => document.body.classList.contains("no-recording");

function hide()
{
	document.body.classList.remove("no-recording");
	dispatchEvent(new Event("resize"));
}

/* startSessionsPage - instead of the timeline: when the server has no recording, or when it is asked for. */
export function startSessionsPage()
{
	document.body.classList.add("no-recording");
	if (!place) {
		build();
		startSessions((now) => isShown() && update(now));
		command({ id: "session.start", title: "Start a session", group: "Sessions", keys: ["n"],
			when: isShown, run: startForm });
	}
	if (!recording.isOpen) {
		document.getElementById("top-recording").textContent = "sessions";
		document.title = "duet - sessions";
	}
	announce("Sessions");
}

command({
	id: "session.list", title: "Sessions: list, or back to the recording", group: "Sessions", keys: ["shift+s"],
	when: () => document.getElementById("duet-data") === null && recording.isOpen,
	run: () => isShown() ? hide() : startSessionsPage(),
});
