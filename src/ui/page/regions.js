/* SPDX-License-Identifier: MIT */
/*
 * regions.js - the dividers between timeline, side panel and lower panel, by mouse and by keyboard.
 */

import { on, set, state } from "./store.js";

const step = 24;

const splits = [
	{ id: "side-split", key: "sideWidth", least: 200, variable: "--side", isWide: true,
	  most: () => Math.max(200, innerWidth - 520), more: "ArrowLeft", less: "ArrowRight" },
	{ id: "lower-split", key: "panelHeight", least: 34, variable: "--lower", isWide: false,
	  most: () => Math.max(60, innerHeight - 220), more: "ArrowUp", less: "ArrowDown" },
];

function bounded(split, size)
{
	return Math.round(Math.min(split.most(), Math.max(split.least, size)));
}

function apply()
{
	for (const split of splits) {
		const size = bounded(split, state[split.key]);
		document.body.style.setProperty(split.variable, `${size}px`);
		const element = document.getElementById(split.id);
		element.setAttribute("aria-valuenow", size);
		element.setAttribute("aria-valuemin", split.least);
		element.setAttribute("aria-valuemax", split.most());
	}
}

function dragged(split, element, event)
{
	const begin = split.isWide ? event.clientX : event.clientY;
	const size = state[split.key];
	const move = (e) => set({ [split.key]: bounded(split, size + begin - (split.isWide ? e.clientX : e.clientY)) });
	const end = () => {
		element.classList.remove("moved");
		element.removeEventListener("pointermove", move);
		element.removeEventListener("pointerup", end);
		element.removeEventListener("pointercancel", end);
	};
	element.classList.add("moved");
	element.setPointerCapture(event.pointerId);
	element.addEventListener("pointermove", move);
	element.addEventListener("pointerup", end);
	element.addEventListener("pointercancel", end);
	event.preventDefault();
	element.focus();
}

function pressed(split, event)
{
	const change = { [split.more]: step, [split.less]: -step, Home: 1e5, End: -1e5 }[event.key];
	if (!change)
		return;
	set({ [split.key]: bounded(split, state[split.key] + change) });
	event.preventDefault();
}

export function startRegions()
{
	for (const split of splits) {
		const element = document.getElementById(split.id);
		element.addEventListener("pointerdown", (e) => dragged(split, element, e));
		element.addEventListener("keydown", (e) => pressed(split, e));
		element.addEventListener("dblclick", () => set({ [split.key]: split.isWide ? 372 : 210 }));
	}
	on(splits.map((s) => s.key), apply);
	addEventListener("resize", apply);
	apply();
}
