/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/table.js - a table that sorts by a click on a column's head, and copies itself as CSV.
 *
 * A column is {title, unit, value(row), text(value, row), numeric, go(row), node(row), hint}: `value` sorts and
 * goes to CSV, in `unit`; `text` or `node` is shown; `go` makes the cell a link.  At most `most` rows
 * are in the page at first, a button adds more: a recording may have 100 000 threads.
 */

import { button, copy, el, fill, link } from "./dom.js";
import { count } from "../../format.js";
import { announce } from "../../notice.js";

function cellOf(column, row)
{
	if (column.node)
		return el("td", { class: column.numeric && "number" }, column.node(row));
	const value = column.value(row);
	const text = column.text ? column.text(value, row) : String(value ?? "");
	return el("td", { class: column.numeric && "number", title: column.numeric ? null : text },
		column.go ? link(text, () => column.go(row)) : text);
}

function compare(a, b)
{
	if (typeof a === "number" && typeof b === "number")
		return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true });
}

function csvField(value)
{
	const text = String(value ?? "");
	return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/* csvOf - the table as text: RFC 4180, with the columns' titles first. */
function csvOf(columns, rows)
{
	const told = columns.filter((c) => c.value);
	const lines = [told.map((c) => csvField(c.unit ? `${c.title} (${c.unit})` : c.title)).join(",")];
	for (const row of rows)
		lines.push(told.map((c) => csvField(c.value(row))).join(","));
	return lines.join("\r\n") + "\r\n";
}

/* tableOf - {node, update(rows), note(text), copy()}.  `sort` is the column it is sorted by at first, greatest
 * first if that is numeric. */
export function tableOf(title, columns, sort, most = 200)
{
	let rows = [], shown = most, by = sort, ascending = !columns[sort].numeric;
	const heads = columns.map((column, i) => el("th", {
		scope: "col", class: column.numeric && "number", title: column.hint,
	}, button(column.title, () => sortBy(i), { class: "head" })));
	const body = el("tbody");
	const more = button("", () => {
		shown += 1000;
		draw();
	}, { class: "more" });
	const noteNode = el("p", { class: "dim", hidden: true });
	const node = el("div", { class: "table" },
		el("table", { "aria-label": title }, el("thead", {}, el("tr", {}, heads)), body), more, noteNode);

	function sortBy(i) {
		ascending = i === by ? !ascending : !columns[i].numeric;
		by = i;
		draw();
	}
	function draw() {
		const value = columns[by].value, sign = ascending ? 1 : -1;
		rows.sort((a, b) => sign * compare(value(a), value(b)));
		heads.forEach((head, i) => head.setAttribute("aria-sort",
			i !== by ? "none" : ascending ? "ascending" : "descending"));
		fill(body, rows.slice(0, shown).map((row) =>
			el("tr", {}, columns.map((column) => cellOf(column, row)))));
		more.hidden = rows.length <= shown;
		more.textContent = count(rows.length - shown) + " more";
	}
	return {
		node,
		update(newRows) {
			rows = newRows.slice();
			draw();
		},
		/* note - a sentence below the table; "" for none. */
		note(text) {
			noteNode.textContent = text;
			noteNode.hidden = text === "";
		},
		copy() {
			copy(csvOf(columns, rows));
			announce(title + " copied as CSV");
		},
	};
}
