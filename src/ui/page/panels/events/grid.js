/* SPDX-License-Identifier: MIT */
/*
 * panels/events/grid.js - the event table as it is seen: as many rows as fit, a current one, a scroll bar
 * over time.
 *
 * The browser scrolls nothing: a million rows of 22 pixels are higher than its elements may be.  The grid
 * has a position (`top`, in rows of the window that pages.js holds) and redraws the rows that are
 * visible; near an end of the window it asks for more.
 */

import { count, time } from "../../format.js";
import { announce } from "../../notice.js";
import { columns, heads, line, plain } from "./columns.js";
import { button, copy, el, fill } from "../parts/dom.js";

const rowHeight = 22, near = 100;

/* eventGrid - over the pages `w`.  `choose(e, goes)`: an event became the current one by the user; `goes`
 * after Enter or a double click.  `seek(at)`: go to a time.  `base()`: from which times are counted. */
export function eventGrid(w, { choose, seek, selected, base })
{
	const rowsNode = el("div", { class: "grid-rows", role: "rowgroup" });
	const end = el("div", { class: "grid-end dim" });
	const thumb = el("div", { class: "thumb" });
	const scroll = el("div", {
		class: "grid-scroll", role: "scrollbar", "aria-orientation": "vertical",
		"aria-label": "time of the table", "aria-valuemin": "0", "aria-valuemax": "100",
	}, thumb);
	const grid = el("div", {
		class: "grid", role: "grid", tabindex: "0", "aria-label": "events", "aria-multiselectable": "true",
	});
	grid.append(el("div", { role: "rowgroup", class: "grid-head" },
		el("div", { role: "row" }, heads(grid))), rowsNode, end);
	const node = el("div", { class: "events" }, grid, scroll);
	let top = 0, current = -1, anchor = -1, pool = [], pending = false, wantsEarlier = false;

	const fitting = () => Math.max(1, Math.floor(rowsNode.clientHeight / rowHeight));
	const greatestTop = () => Math.max(0, w.rows.length - fitting());

	function rowNode(i) {
		const cells = columns.map((c) => el("div", {
			role: "gridcell", class: "cell-" + c.id + (c.numeric ? " number" : ""),
		}));
		const row = el("div", { role: "row", class: "grid-row", id: "event-row-" + i }, cells);
		row.addEventListener("pointerdown", (event) => {
			if (event.button === 0)
				pick(Math.floor(top) + i, event.shiftKey);
		});
		row.addEventListener("dblclick", () => go(true));
		return { row, cells };
	}

	function drawRow(p, index) {
		const e = w.rows[index];
		p.row.hidden = !e;
		if (!e)
			return;
		const zero = base();
		columns.forEach((c, k) => {
			const text = c.text(e, zero);
			if (p.cells[k].textContent !== text)
				p.cells[k].textContent = text;
		});
		p.cells[5].title = plain(e.fields);
		const low = Math.min(anchor, current), high = Math.max(anchor, current);
		const s = selected();
		const isIn = s && e.at >= s.from && e.at <= s.to && e.row === s.row;
		p.row.className = "grid-row" + (index === current ? " current" : "") +
			(index >= low && index <= high && low >= 0 ? " chosen" : "") +
			(isIn ? " inside" : "") + ("lost" in e ? " lost" : "");
		p.row.setAttribute("aria-rowindex", index + 1);
		p.row.setAttribute("aria-selected", index >= low && index <= high);
	}

	/* isOpen - whether a search for rare events has not come to the end of the time. */
	const isOpen = () => w.searched !== null && (w.isPart.later || (w.rows.length < fitting() && w.isPart.earlier));

	function stopButton(is)
	{
		return button(is ? "Stop" : "Go on", () => {
			w.isStopped = is;
			redraw();
		}, { class: "small" });
	}

	function drawEnd() {
		const shown = Math.floor(top) + fitting() >= w.rows.length;
		end.hidden = !(shown && (w.error || isOpen() || w.rows.length === 0));
		if (end.hidden)
			return;
		if (w.error)
			fill(end, "No events are shown: the filter is wrong.");
		else if (isOpen() && w.isStopped)
			fill(end, `searched up to ${time(w.searched[1])}, ${w.rows.length ? "more may follow" : "nothing found so far"} `,
				stopButton(false));
		else if (isOpen())
			fill(end, `searching, up to ${time(w.searched[1])} so far `, stopButton(true));
		else if (w.loading || !w.query)
			fill(end, "searching");
		else
			fill(end, "No event here.");
	}

	function drawScroll() {
		const q = w.query;
		if (!q || w.rows.length === 0) {
			scroll.hidden = true;
			return;
		}
		const whole = w.earlier === null && w.later === null;
		const first = w.rows[Math.min(Math.floor(top), w.rows.length - 1)];
		const share = whole ? top / Math.max(1, w.rows.length) :
			(first.at - q.from) / Math.max(1, q.to - q.from);
		const size = Math.max(0.06, fitting() / Math.max(w.rows.length, whole ? 0 : w.n));
		scroll.hidden = whole && w.rows.length <= fitting();
		const y = Math.max(0, Math.min(1 - size, whole ? share : share * (1 - size)));
		thumb.style.top = 100 * y + "%";
		thumb.style.height = 100 * size + "%";
		scroll.setAttribute("aria-valuenow", Math.round(100 * share));
		scroll.setAttribute("aria-valuetext", time(first.at));
	}

	function draw() {
		pending = false;
		if (!node.isConnected || rowsNode.clientHeight === 0)
			return;
		const wanted = Math.ceil(rowsNode.clientHeight / rowHeight) + 1;
		while (pool.length < wanted) {
			pool.push(rowNode(pool.length));
			rowsNode.append(pool[pool.length - 1].row);
		}
		top = Math.max(0, Math.min(greatestTop(), top));
		const first = Math.floor(top);
		rowsNode.style.setProperty("--shift", -(top - first) * rowHeight + "px");
		pool.forEach((p, i) => drawRow(p, i < wanted ? first + i : -1));
		const isSeen = current >= first && current < first + pool.length;
		if (isSeen)
			grid.setAttribute("aria-activedescendant", "event-row-" + (current - first));
		else
			grid.removeAttribute("aria-activedescendant");
		grid.setAttribute("aria-rowcount", w.isExact ? w.n : -1);
		grid.setAttribute("aria-busy", w.loading);
		drawEnd();
		drawScroll();
		askMore(first);
	}

	/* A whole page ahead is fetched before it is needed.  A search for rare events goes on until the
	 * visible rows are full; scrolling continues it. */
	function askMore(first)
	{
		const lower = w.rows.length - first - pool.length, isShort = w.rows.length < fitting();
		if (w.isStopped)
			return;
		if (w.later !== null && lower < (w.isPart.later ? 1 : near))
			w.more(1);
		else if (w.earlier !== null && (w.isPart.earlier ? isShort || wantsEarlier : first < near))
			w.more(-1);
		wantsEarlier = false;
	}
	function redraw() {
		if (!pending) {
			pending = true;
			requestAnimationFrame(draw);
		}
	}

	function keepSeen() {
		if (current < top)
			top = current;
		else if (current >= Math.floor(top) + fitting())
			top = current - fitting() + 1;
	}
	function pick(index, extends_) {
		if (w.rows.length === 0)
			return;
		wantsEarlier = index < 0;
		current = Math.max(0, Math.min(w.rows.length - 1, index));
		if (!extends_)
			anchor = current;
		keepSeen();
		go(false);
		redraw();
	}
	function go(far) {
		const e = w.rows[current];
		if (!e)
			return;
		choose(e, far);
		announce(line(e).replaceAll("\t", ", "));
	}
	function copyChosen() {
		const low = Math.min(anchor, current), high = Math.max(anchor, current);
		const chosen = low < 0 ? w.rows : w.rows.slice(low, high + 1);
		copy(chosen.map(line).join("\n") + "\n");
		announce(count(chosen.length) + (chosen.length === 1 ? " event" : " events") + " copied");
	}

	function onKey(event) {
		const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -fitting(), PageDown: fitting() }[event.key];
		const isCopy = (event.ctrlKey || event.metaKey) && event.key === "c";
		if (isCopy && String(window.getSelection()) === "")
			copyChosen();
		else if (event.ctrlKey || event.metaKey || event.altKey || event.target !== grid)
			return;
		else if (by)
			pick((current < 0 ? Math.floor(top) - Math.sign(by) : current) + by, event.shiftKey);
		else if (event.key === "Home")
			w.earlier === null ? pick(0, event.shiftKey) : seek(w.query.from, true);
		else if (event.key === "End")
			w.later === null ? pick(w.rows.length - 1, event.shiftKey) : seek(w.query.to, true);
		else if (event.key === "Enter")
			go(true);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	function drag(event) {
		const box = scroll.getBoundingClientRect();
		const share = Math.max(0, Math.min(1, (event.clientY - box.top) / box.height));
		if (w.earlier === null && w.later === null) {
			top = share * w.rows.length - fitting() / 2;
			redraw();
		} else if (w.query) {
			seek(w.query.from + share * (w.query.to - w.query.from), false);
		}
	}
	scroll.addEventListener("pointerdown", (event) => {
		scroll.setPointerCapture(event.pointerId);
		scroll.onpointermove = drag;
		scroll.onpointerup = () => { scroll.onpointermove = null; };
		drag(event);
		event.preventDefault();
	});
	grid.addEventListener("wheel", (event) => {
		if (event.ctrlKey || event.shiftKey)
			return;
		const wheel = event.deltaMode === 1 ? event.deltaY : event.deltaY / rowHeight;
		wantsEarlier = wheel < 0 && top <= 0;
		top = Math.max(0, Math.min(greatestTop(), top + wheel));
		redraw();
		event.preventDefault();
	}, { passive: false });
	grid.addEventListener("keydown", onKey);
	new ResizeObserver(redraw).observe(node);

	return {
		node,
		redraw,
		focus: () => grid.focus(),
		copyChosen,
		/* changed - the window has `shift` more rows before those it had. */
		changed(shift) {
			if (shift) {
				top += shift;
				current = current >= 0 ? Math.max(-1, current + shift) : -1;
				anchor = anchor >= 0 ? Math.max(0, anchor + shift) : -1;
			}
			redraw();
		},
		/* show - the row of time `at` becomes visible, and the current one if `is`. */
		show(at, isCurrent) {
			const index = Math.min(w.indexAt(at), w.rows.length - 1);
			if (isCurrent) {
				current = anchor = index;
				keepSeen();
			} else {
				current = anchor = -1;
				top = index;
			}
			redraw();
		},
		isCurrent: (e) => current >= 0 && w.rows[current] === e,
	};
}
