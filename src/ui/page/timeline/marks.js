/* SPDX-License-Identifier: MIT */
/*
 * timeline/marks.js - marks: times with a text, set, renamed, gone to and removed.
 */

import { command } from "../commands.js";
import { since } from "../format.js";
import { announce } from "../notice.js";
import { set, state } from "../store.js";
import { sizes } from "./layout.js";
import { glideTo } from "./navigate.js";
import { view, visible, xOf } from "./view.js";

const flagWidth = 15, mostText = 80;
let field;
let edited = null;

/* here - the time that marks are set at: the pointer's, else the selection's, else the middle. */
const here = () => Math.round(state.cursor ?? state.selected?.from ?? (visible().from + visible().to) / 2);

const nearest = () => state.marks.reduce((a, b) => Math.abs(b.at - here()) < Math.abs(a.at - here()) ? b : a);

function add()
{
	const used = new Set(state.marks.map((m) => m.text));
	let text = "";
	for (let i = 0; !text || used.has(text); i++)
		text = i < 26 ? String.fromCharCode(65 + i) : `M${i}`;
	set({ marks: [...state.marks, { at: here(), text }] }, { undo: true });
	announce(`Mark ${text}`);
}

function remove(mark)
{
	set({ marks: state.marks.filter((m) => m !== mark) }, { undo: true });
	announce(`Mark ${mark.text} removed`);
}

/* rename - a text field at the flag of @mark. */
export function rename(mark)
{
	edited = mark;
	field.value = mark.text;
	field.hidden = false;
	const x = Math.min(Math.max(0, xOf(mark.at)), view.width - 130);
	field.style.transform = `translateX(${Math.round(x)}px)`;
	field.select();
}

function close(isKept)
{
	if (!edited)
		return;
	const mark = edited, text = field.value.trim().slice(0, mostText);
	edited = null;
	field.hidden = true;
	document.getElementById("canvas").focus();
	if (!isKept || text === mark.text)
		return;
	if (text)
		set({ marks: state.marks.map((m) => m === mark ? { ...m, text } : m) }, { undo: true });
	else
		remove(mark);
}

/* go - show the next mark after the middle of the view, or the one before. */
function go(direction)
{
	const { from, to } = visible();
	const middle = Math.round((from + to) / 2), half = (to - from) / 2;
	const close_ = half / 500;
	const there = state.marks.filter((m) => direction * (m.at - middle) > close_)
		.sort((a, b) => direction * (a.at - b.at))[0];
	if (!there) {
		announce(direction > 0 ? "No later mark" : "No earlier mark");
		return;
	}
	glideTo(there.at - half, there.at + half);
	announce(`Mark ${there.text}, ${since(there.at)}`);
}

/* markAt - the mark whose flag is at @x, @y of the canvas. */
export function markAt(x, y)
{
	return y < sizes.axis ? state.marks.find((m) => x >= xOf(m.at) && x < xOf(m.at) + flagWidth) : undefined;
}

export function startMarks()
{
	const has = () => state.marks.length > 0;
	const one = (id, title, keys, run, when) => command({ id, title, keys, run, when, group: "Marks" });
	one("mark.add", "Mark the time at the pointer or of the selection", ["m"], add);
	one("mark.remove", "Remove the nearest mark", ["shift+m"], () => remove(nearest()), has);
	one("mark.rename", "Rename the nearest mark", ["n"], () => rename(nearest()), has);
	one("mark.next", "Go to the next mark", [">"], () => go(1), has);
	one("mark.previous", "Go to the previous mark", ["<"], () => go(-1), has);
	field = document.getElementById("mark-text");
	field.addEventListener("keydown", (event) => {
		if (event.key !== "Enter" && event.key !== "Escape")
			return;
		event.preventDefault();
		close(event.key === "Enter");
	});
	field.addEventListener("blur", () => close(true));
}
