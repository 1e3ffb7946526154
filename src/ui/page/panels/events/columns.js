/* SPDX-License-Identifier: MIT */
/*
 * panels/events/columns.js - the columns of the event table: their texts and widths.
 *
 * A width is a CSS variable of the grid, so resizing a column touches one property and no row.
 * Widths are kept in this browser; they are not part of the address.
 */

import { count, duration, since, time } from "../../format.js";
import { el } from "../parts/dom.js";

const storageKey = "duet.columns", least = 40;

/* plain - fields as text without the braces around them. */
export function plain(fields)
{
	return fields.replace(/^\{ ?/, "").replace(/ ?\}$/, "");
}

function lostText(e)
{
	const parts = [];
	if (e.lost)
		parts.push(count(e.lost) + (e.lost === 1 ? " event lost" : " events lost"));
	if (e.lost_packets)
		parts.push(count(e.lost_packets) + (e.lost_packets === 1 ? " packet lost" :
			" packets lost"));
	return parts.join(", ") + " before this time";
}

export const columns = [
	{ id: "time", title: "time", width: 178, text: (e) => time(e.at) },
	{ id: "since", title: "since", width: 100, numeric: true,
		text: (e, base) => (e.at < base ? "−" : "+") + duration(Math.abs(e.at - base)) },
	{ id: "cpu", title: "CPU", width: 46, numeric: true, text: (e) => e.cpu >= 0 ? String(e.cpu) : "" },
	{ id: "thread", title: "thread", width: 150, text: (e) => e.thread },
	{ id: "name", title: "event", width: 240,
		text: (e) => "lost" in e ? lostText(e) : e.name },
	{ id: "fields", title: "fields", width: 0, text: (e) => plain(e.fields) },
];

/* line - an event as a line of text, to copy. */
export function line(e)
{
	return [time(e.at), since(e.at), e.cpu >= 0 ? "cpu" + e.cpu : "", e.thread,
		"lost" in e ? lostText(e) : e.name, plain(e.fields)].join("\t");
}

function stored()
{
	try {
		const widths = JSON.parse(localStorage.getItem(storageKey) || "{}");
		return widths && typeof widths === "object" ? widths : {};
	} catch {
		return {};
	}
}

/* heads - the row of column heads of `grid`, with separators to drag or to move by arrow keys. */
export function heads(grid)
{
	const widths = stored();
	const apply = (column) => {
		const width = Math.max(least, Number(widths[column.id]) || column.width);
		grid.style.setProperty("--column-" + column.id, width + "px");
		return width;
	};
	const change = (column, separator, width) => {
		widths[column.id] = Math.round(Math.max(least, width));
		separator.setAttribute("aria-valuenow", apply(column));
		try {
			localStorage.setItem(storageKey, JSON.stringify(widths));
		} catch {
			/* Without storage the width holds until the page is closed. */
		}
	};
	return columns.map((column) => {
		const head = el("div", {
			role: "columnheader", class: "cell-" + column.id + (column.numeric ? " number" : ""),
			text: column.title,
		});
		if (column.width === 0)
			return head;
		const separator = el("span", {
			class: "separator", role: "separator", tabindex: "0", "aria-orientation": "vertical",
			"aria-label": "width of column " + column.title, "aria-valuenow": apply(column),
		});
		dragged(separator, () => head.getBoundingClientRect().width,
			(width) => change(column, separator, width));
		head.append(separator);
		return head;
	});
}

function dragged(separator, width, change)
{
	separator.addEventListener("pointerdown", (down) => {
		const had = width();
		separator.setPointerCapture(down.pointerId);
		separator.onpointermove = (move) => change(had + move.clientX - down.clientX);
		separator.onpointerup = () => { separator.onpointermove = null; };
		down.preventDefault();
	});
	separator.addEventListener("keydown", (event) => {
		const by = { ArrowLeft: -10, ArrowRight: 10 }[event.key];
		if (!by)
			return;
		change(width() + by);
		event.preventDefault();
		event.stopPropagation();
	});
}
