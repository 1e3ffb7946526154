/* SPDX-License-Identifier: MIT */
/*
 * theme.js - light, dark, or as the system; and the colours of page.css for canvases.
 */

import { command } from "./commands.js";
import { announce } from "./notice.js";
import { on, set, state } from "./store.js";

const names = ["bg", "panel", "line", "text", "dim", "sel", "run", "kern", "ready", "block", "irq", "unknown",
	       "span", "spanb", "call", "callb", "func", "funcb", "irqs", "disk", "disks", "mark",
	       "lost", "hover", "head", "ontop", "title"];

/* The colours now, by the name of their variable.  `version` changes with them. */
export const colours = { version: 0, sans: "sans-serif", mono: "monospace" };
const listeners = [];

/* onTheme - @fn runs after the colours changed. */
export function onTheme(fn)
{
	listeners.push(fn);
}

const system = matchMedia("(prefers-color-scheme: dark)");

function apply()
{
	const dark = state.theme ? state.theme === "dark" : system.matches;
	document.documentElement.dataset.theme = dark ? "dark" : "light";
	const style = getComputedStyle(document.documentElement);
	for (const name of names)
		colours[name] = style.getPropertyValue(`--${name}`).trim();
	colours.sans = style.getPropertyValue("--sans").trim();
	colours.mono = style.getPropertyValue("--mono").trim();
	colours.version++;
	for (const fn of listeners)
		fn();
}

const order = { "": "light", light: "dark", dark: "" };

export function startTheme()
{
	command({
		id: "theme.next", title: "Theme: light, dark, as the system", group: "Page", keys: [],
		run() {
			set({ theme: order[state.theme] });
			announce(`Theme: ${state.theme || "as the system"}`);
		},
	});
	on("theme", apply);
	system.addEventListener("change", apply);
	apply();
}
