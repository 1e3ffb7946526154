/* SPDX-License-Identifier: MIT */
/*
 * timeline/labels.js - the names of the rows: a tree beside the canvas.
 *
 * Only labels that can be seen are elements; they are moved in the frame in which the canvas is drawn.  One of
 * them has tabindex 0: that of the current row (roving tabindex).
 */

import { command } from "../commands.js";
import { set, state } from "../store.js";
import { sizes } from "./layout.js";
import { drawable } from "./paint.js";
import { toggleFold, choose, toggle } from "./rows.js";
import { topOf, view, visibleEntries } from "./view.js";

const nodes = new Map(); /* "id", pinned ones "p" + id: element */
let box, filter;

function button(text, title, run)
{
	const b = document.createElement("button");
	b.textContent = text;
	b.title = title;
	b.tabIndex = -1;
	b.setAttribute("aria-label", title);
	b.addEventListener("click", (event) => {
		event.stopPropagation();
		run();
	});
	return b;
}

function make(entry)
{
	const node = document.createElement("div");
	const part = (name) => {
		const span = document.createElement("span");
		span.className = name;
		node.append(span);
		return span;
	};
	node.setAttribute("role", "treeitem");
	node.dataset.row = entry.id;
	node.parts = { fold: part("fold"), name: part("name"), id: part("id") };
	node.parts.fold.setAttribute("aria-hidden", "true");
	const tools = part("tools");
	tools.append(button("▴", "Pin at the top, or back (p)", () => toggle("pinned", entry.id)),
		     button("×", "Hide this row (h)", () => toggle("hidden", entry.id)));
	node.addEventListener("click", (event) => {
		if (event.target === node.parts.fold || node.entry.isHead)
			toggleFold(node.entry);
		choose(entry.id);
	});
	node.addEventListener("focus", () => choose(entry.id, { keeps: true }));
	box.append(node);
	return node;
}

function idText(row)
{
	return row.tid >= 0 ? String(row.tid) : row.pid >= 0 ? String(row.pid) : "";
}

function setText(node, text)
{
	if (node.shown !== text)
		node.textContent = node.shown = text;
}

function setAttribute(node, name, value)
{
	if (value === null)
		node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value))
		node.setAttribute(name, value);
}

function update(node, entry, y, isStuck, tabRow)
{
	const { row } = entry;
	const isChosen = row.id === (state.selected ? state.selected.row : view.current);
	node.entry = entry;
	setText(node.parts.fold, entry.hasChildren ? (entry.isFolded ? "▶" : "▼") : "");
	setText(node.parts.name, row.name ? drawable(row.name) : "(no name)");
	setText(node.parts.id, idText(row));
	const name = `label${entry.isHead ? " head" : ""}${isStuck ? " stuck" : ""}${isChosen ? " chosen" : ""}${
		entry.isPinned ? " pinned" : ""}`;
	if (node.className !== name)
		node.className = name;
	setAttribute(node, "aria-level", entry.level + 1);
	setAttribute(node, "aria-expanded", entry.hasChildren ? String(!entry.isFolded) : null);
	setAttribute(node, "aria-selected", String(isChosen));
	setAttribute(node, "tabindex", row.id === tabRow ? "0" : "-1");
	if (node.drawn?.entry === entry && node.drawn.y === y)
		return;
	node.drawn = { entry, y };
	node.parts.name.title = row.name;
	node.style.paddingLeft = `${6 + Math.min(entry.level, 6) * 10}px`;
	node.style.height = `${entry.height}px`;
	node.style.transform = `translateY(${y - sizes.axis}px)`;
}

/* drawLabels - put the labels where the rows are. */
export function drawLabels()
{
	const entries = visibleEntries();
	const isStuck = (e) => e === view.head;
	if (view.head && !entries.includes(view.head))
		entries.push(view.head);
	const current = entries.some((e) => e.id === view.current) ? view.current : entries[0]?.id;
	const seen = new Set();
	for (const entry of entries) {
		const key = entry.isPinned ? `p${entry.id}` : String(entry.id);
		let node = nodes.get(key);
		if (!node)
			nodes.set(key, node = make(entry));
		seen.add(key);
		const y = isStuck(entry) ? sizes.axis + view.plan.pinnedHeight : topOf(entry);
		update(node, entry, y, isStuck(entry) || entry.isPinned, current);
	}
	for (const [key, node] of nodes)
		if (!seen.has(key)) {
			const hadFocus = node === document.activeElement;
			node.remove();
			nodes.delete(key);
			if (hadFocus)
				focusRow(current);
		}
}

/* focusRow - put the focus on the label of @id, if the labels have it. */
export function focusRow(id)
{
	for (const node of nodes.values())
		if (node.entry.id === id) {
			node.focus({ preventScroll: true });
			return;
		}
}

export const hasFocus = () => box.contains(document.activeElement);

export function startLabels()
{
	box = document.getElementById("labels");
	filter = document.getElementById("row-filter");
	filter.value = state.rowFilter;
	filter.addEventListener("input", () => set({ rowFilter: filter.value }, { undo: "filter" }));
	filter.addEventListener("keydown", (event) => {
		if (event.key === "Escape" && filter.value)
			set({ rowFilter: filter.value = "" }, { undo: true });
		else if (event.key !== "Enter" && event.key !== "Escape" && event.key !== "ArrowDown")
			return;
		event.preventDefault();
		document.getElementById("canvas").focus();
	});
	command({
		id: "rows.filter", title: "Filter rows", group: "Rows", keys: ["ctrl+shift+f", "r"],
		run: () => filter.select(),
	});
}

/* filterChanged - the state's filter, by undo or a link, in the field too. */
export function filterChanged()
{
	if (document.activeElement !== filter && filter.value !== state.rowFilter)
		filter.value = state.rowFilter;
}
