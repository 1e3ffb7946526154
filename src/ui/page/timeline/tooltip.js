/* SPDX-License-Identifier: MIT */
/*
 * timeline/tooltip.js - the tooltip under the pointer: the cursor line with its time, name and duration of the item.
 */

import { duration, percent, since, time } from "../format.js";
import { recording, rowName } from "../recording.js";
import { on, state } from "../store.js";
import { pictureOf } from "./pictures.js";
import { sharesOf } from "./hit.js";
import { whatAt } from "./input.js";
import { zeroOf } from "./overlay.js";
import { pointAt, startTitles } from "./titles.js";
import { view, visible, xOf } from "./view.js";

const stateNames = { user: "running, user", kernel: "running, kernel", runnable: "waiting for a CPU",
		     preempted: "preempted", blocked: "blocked", irq: "interrupted", unknown: "unknown" };
const stateColours = { user: "run", kernel: "kern", runnable: "ready", preempted: "ready", blocked: "block",
		       irq: "irq", unknown: "unknown" };
const leastShare = 0.004;

let tip, line, label, canvas;
let pointer = null; /* the last move of the pointer, while the tooltip is shown */

function node(kind, text, name = "")
{
	const e = document.createElement(kind);
	e.textContent = text;
	e.className = name;
	return e;
}

function shares(list)
{
	return Object.entries(list || {}).filter(([, share]) => share > leastShare).sort((a, b) => b[1] - a[1])
		.map(([name, share]) => {
			const e = node("div", "", "share");
			const swatch = node("span", "", "swatch");
			swatch.style.background = `var(--${stateColours[name]})`;
			e.append(swatch, `${stateNames[name]} ${percent(share)}`);
			return e;
		});
}

function densityAt(hit)
{
	const { fine, wide } = pictureOf(hit.entry.id);
	const picture = fine && hit.at >= fine.from && hit.at < fine.to ? fine : wide;
	const density = picture?.tracks.get(hit.lane.track)?.density;
	if (!density)
		return null;
	const p = (hit.at - picture.from) / (picture.to - picture.from) * picture.width;
	for (let i = 0; i < density.x.length; i++)
		if (p >= density.x[i] && p < density.x[i] + density.n[i])
			return density.count[i];
	return null;
}

const kindNames = { spans: "spans", syscalls: "system calls", calls: "function calls", busy: "intervals", disk: "requests",
		    running: "switches", events: "events", samples: "samples" };

function content(hit)
{
	const { entry, lane, item, at } = hit;
	if (item) {
		const parts = [node("b", item.name || kindNames[item.kind])];
		if (item.title)
			parts.push(node("div", item.title, "title"));
		if (item.to > item.from)
			parts.push(node("div", duration(item.to - item.from)));
		const owner = item.kind === "running" ? recording.rows[entry.id] : null;
		parts.push(node("div", owner ? owner.name : rowName(entry.id), "dim"));
		if (item.kind === "spans" || item.kind === "calls" || item.kind === "syscalls")
			parts.push(...shares(sharesOf(entry.id, item.from, item.to)));
		return parts;
	}
	if (lane.kind === "states") {
		const { from, to } = visible();
		const pixel = (to - from) / view.width;
		const here = shares(sharesOf(entry.id, at - 3 * pixel, at + 3 * pixel));
		return here.length ? [...here, node("div", rowName(entry.id), "dim")] : null;
	}
	if (lane.kind === "counter")
		return counterAt(hit);
	const n = densityAt(hit);
	return n === null ? null : [node("b", n ? `${n} ${kindNames[lane.kind] || ""} here` : kindNames[lane.kind]),
				    node("div", "too short to be drawn one by one; zoom in", "dim")];
}

function counterAt({ entry, lane, at })
{
	const { fine } = pictureOf(entry.id);
	const points = fine?.tracks.get(lane.track)?.points;
	if (!points)
		return null;
	const p = (at - fine.from) / (fine.to - fine.from) * fine.width;
	let i = -1;
	while (i + 1 < points.x.length && points.x[i + 1] <= p)
		i++;
	if (i < 0)
		return null;
	const parts = [node("b", `${entry.row.name}: ${points.last[i]}`)];
	if (points.greatest[i] !== points.least[i])
		parts.push(node("div", `${points.least[i]} to ${points.greatest[i]} in this pixel`, "dim"));
	return parts;
}

function hide()
{
	pointer = null;
	tip.hidden = true;
}

function show(event)
{
	if (event.buttons || event.pointerType === "touch") {
		hide();
		return;
	}
	const box = canvas.getBoundingClientRect();
	const hit = whatAt(event.clientX - box.left, event.clientY - box.top);
	const parts = hit?.lane ? content(hit) : null;
	canvas.style.cursor = hit?.item ? "pointer" : "";
	if (!parts) {
		hide();
		return;
	}
	pointer = event;
	if (hit.item)
		pointAt(hit.item);
	tip.replaceChildren(...parts);
	tip.hidden = false;
	const size = tip.getBoundingClientRect();
	const x = Math.min(event.clientX + 14, innerWidth - size.width - 8);
	const y = event.clientY + 18 + size.height > innerHeight ? event.clientY - size.height - 10 : event.clientY + 18;
	tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}

function drawCursor()
{
	const { cursor } = state;
	const x = cursor === null ? -1 : xOf(cursor);
	const isShown = x >= 0 && x <= view.width;
	line.hidden = label.hidden = !isShown;
	if (!isShown)
		return;
	const zero = zeroOf(state);
	label.textContent = zero === null ? time(cursor) : since(cursor - zero);
	line.style.transform = `translateX(${Math.round(x)}px)`;
	const width = label.offsetWidth;
	label.style.transform = `translateX(${Math.round(x + 6 + width > view.width ? x - width - 5 : x + 5)}px)`;
}

/* The legend of colours below the rows. */
function legend()
{
	const entries = [["run", "running, user"], ["kern", "running, kernel"], ["ready", "waiting for a CPU"],
			 ["block", "blocked"], ["irq", "interrupted"], ["spanb", "span"], ["callb", "system call"],
			 ["funcb", "function"], ["disk", "disk request"], ["mark", "event"]];
	const box = document.getElementById("legend");
	for (const [colour, text] of entries) {
		const e = node("span", "");
		e.setAttribute("aria-hidden", "true");
		const swatch = node("i", "", "swatch");
		swatch.style.background = `var(--${colour})`;
		e.append(swatch, text);
		box.append(e);
	}
	box.append(node("span", "W S zoom   A D move   F fit   M mark   , . previous, next   ? help", "hint"));
}

export function startTooltip()
{
	tip = document.getElementById("tooltip");
	line = document.getElementById("cursor-line");
	label = document.getElementById("cursor-time");
	canvas = document.getElementById("canvas");
	canvas.addEventListener("pointermove", show);
	canvas.addEventListener("pointerdown", hide);
	canvas.addEventListener("pointerleave", hide);
	canvas.addEventListener("wheel", hide, { passive: true });
	addEventListener("keydown", hide);
	on(["from", "to"], hide);
	on(["cursor", "from", "to", "selected", "area"], drawCursor);
	startTitles(() => pointer && show(pointer));
	legend();
}
