/* SPDX-License-Identifier: MIT */
/*
 * panels/flame_graph.js - a tree of call stacks as an icicle: the root above, width is time.
 *
 * A node is {name, value, self, children, kind, row}; children are never wider than their parent together.
 * A frame below half a pixel and its callees are not drawn: the work of a picture depends on its width,
 * not on the tree.
 *
 * By mouse: a click zooms to a frame, a click on a frame above zooms out, a double click on a thread shows its
 * row.  By keyboard: arrows go to callers, callees and neighbours, Enter zooms (again: shows the row), Backspace
 * zooms out.
 */

import { count, duration, percent } from "../format.js";
import { announce } from "../notice.js";
import { colours, onTheme } from "../theme.js";
import { canvasOf, el } from "./parts/dom.js";

const height = 19;

/* Colours of page.css by kind of node. */
const kindColours = {
	all: "block", process: "block", thread: "block", span: "spanb", function: "run", syscall: "callb",
	object: "callb", kernel: "kern", rest: "block", irq: "irq", blocked: "block", ready: "ready",
};
const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "Enter", "Backspace"];
const stateColour = (name) => ({ "in the kernel": "kernel", interrupted: "irq", blocked: "blocked" })[name] || "ready";

/* mix - between two "#rrggbb" colours. */
function mix(a, b, share)
{
	const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
	const full = (c) => c.length === 4 ? "#" + [...c.slice(1)].map((d) => d + d).join("") : c;
	const [p, q] = [full(a), full(b)];
	return "rgb(" + [0, 1, 2].map((i) =>
		Math.round(part(p, i) * (1 - share) + part(q, i) * share)).join(",") + ")";
}

/* hash - 0 to 1, the same for the same name in every graph. */
function hash(name)
{
	let h = 2166136261;
	for (let i = 0; i < name.length; i++)
		h = Math.imul(h ^ name.charCodeAt(i), 16777619);
	return ((h >>> 8) & 0xffff) / 0xffff;
}

/* flameGraph - {node, show(root, unit), search(text), reset(), redraw()}.  `unit`: "ns" or a word
 * that is counted. */
export function flameGraph({ onZoom, onThread })
{
	const canvas = el("canvas", { tabindex: "0", role: "application",
		"aria-label": "flame graph: arrows move, Enter zooms, Backspace zooms out" });
	const tip = el("div", { class: "tip", hidden: true });
	const inner = el("div", { class: "flame-inner" }, canvas);
	const node = el("div", { class: "flame" }, inner, tip);
	let root = null, top = null, current = null, unit = "ns", text = "";
	let boxes = []; /* drawn frames: {node, x, y, w} */

	const amount = (v) => unit === "ns" ? duration(v) : count(v) + " " + unit;
	function path(n) {
		const all = [];
		for (let p = n; p; p = p.parent)
			all.unshift(p);
		return all;
	}
	function describe(n) {
		return n.name + ", " + amount(n.value) + ", " + percent(n.value / root.value) +
			" of all" + (n.self ? ", " + amount(n.self) + " itself" : "");
	}

	/* Links to parents, and depths, so that keys can walk; without recursion: stacks are deep. */
	function prepare(r) {
		const work = [r];
		r.parent = null;
		r.depth = 0;
		while (work.length) {
			const n = work.pop();
			for (const c of n.children) {
				c.parent = n;
				c.depth = n.depth + 1;
				work.push(c);
			}
		}
	}

	function matches(n) {
		return text !== "" && n.name.toLowerCase().includes(text);
	}
	/* share - of the root's value that frames with the searched text cover, each stack once. */
	function share() {
		let sum = 0;
		const work = [root];
		while (work.length) {
			const n = work.pop();
			if (matches(n))
				sum += n.value;
			else
				work.push(...(n.children));
		}
		return sum / root.value;
	}

	function layout(width) {
		const above = path(top);
		const list = above.slice(0, -1).map((n, i) => ({ node: n, x: 0, y: i * height, w: width }));
		const work = [{ node: top, x: 0, y: (above.length - 1) * height, w: width }];
		while (work.length) {
			const box = work.pop();
			let x = box.x;
			list.push(box);
			for (const c of box.node.children) {
				const w = (box.w * c.value) / Math.max(1, box.node.value);
				if (w >= 0.5)
					work.push({ node: c, x, y: box.y + height, w });
				x += w;
			}
		}
		return list;
	}

	function redraw() {
		if (!root || node.clientWidth === 0)
			return;
		boxes = layout(node.clientWidth);
		const rows = boxes.reduce((most, b) => Math.max(most, b.y), 0) / height + 1;
		inner.style.height = Math.max(rows * height + 4, node.clientHeight - 4) + "px";
		const { x } = canvasOf(canvas);
		const base = Object.fromEntries(Object.entries(kindColours).map(([k, v]) => [k, colours[v]]));
		const panel = colours.panel, ink = colours.text, dim = colours.dim;
		x.font = "12px " + getComputedStyle(document.body).fontFamily;
		x.textBaseline = "middle";
		for (const b of boxes)
			drawBox(x, b, base, panel, ink, dim);
	}
	function drawBox(x, b, base, panel, ink, dim) {
		const n = b.node, faint = text !== "" && !matches(n);
		const isAbove = n.depth < top.depth;
		const fill = base[n.kind === "state" ? stateColour(n.name) : n.kind] || base.function;
		x.fillStyle = mix(panel, fill, (faint || isAbove ? 0.14 : 0.38 + 0.22 * hash(n.name)));
		x.fillRect(b.x, b.y, Math.max(0.5, b.w - (b.w > 3 ? 1 : 0)), height - 1);
		if (matches(n)) {
			x.fillStyle = colours.mark;
			x.fillRect(b.x, b.y + height - 4, Math.max(1, b.w - 1), 3);
		}
		if (n === current) {
			x.strokeStyle = colours.sel;
			x.lineWidth = 2;
			x.strokeRect(b.x + 1, b.y + 1, Math.max(1, b.w - 3), height - 3);
		}
		if (b.w < 24)
			return;
		x.save();
		x.beginPath();
		x.rect(b.x, b.y, b.w - 4, height);
		x.clip();
		x.fillStyle = faint || isAbove ? dim : ink;
		x.fillText(n.name, b.x + 5, b.y + height / 2);
		x.restore();
	}

	function boxAt(event) {
		const r = canvas.getBoundingClientRect();
		const px = event.clientX - r.left, py = event.clientY - r.top;
		return boxes.find((b) => px >= b.x && px < b.x + b.w && py >= b.y && py < b.y + height);
	}
	function zoom(n) {
		top = n;
		current = n;
		redraw();
		onZoom(n === root ? null : n);
		announce(describe(n));
	}
	function showTip(event) {
		const b = boxAt(event);
		tip.hidden = !b;
		if (!b)
			return;
		tip.textContent = b.node.name + "\n" + amount(b.node.value) + ", " +
			percent(b.node.value / root.value) + " of all" +
			(b.node.self ? "\n" + amount(b.node.self) + " itself" : "") +
			(b.node.row === undefined ? "" : "\na double click shows its row");
		const r = node.getBoundingClientRect();
		const left = Math.min(event.clientX - r.left + 14, r.width - tip.offsetWidth - 8);
		const below = event.clientY - r.top + 18;
		const fits = below + tip.offsetHeight < r.height;
		tip.style.left = Math.max(0, left) + "px";
		tip.style.top = Math.max(0, (fits ? below : below - tip.offsetHeight - 30)) +
			node.scrollTop + "px";
	}

	function step(key) {
		const n = current || top, list = n.parent ? n.parent.children : [];
		const i = list.indexOf(n);
		if (key === "ArrowDown")
			return n.children.reduce((a, c) => !a || c.value > a.value ? c : a, null);
		if (key === "ArrowUp")
			return n.parent;
		if (key === "ArrowLeft")
			return list[i - 1];
		if (key === "ArrowRight")
			return list[i + 1];
		return key === "Home" ? root : null;
	}
	function onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey || !keys.includes(event.key))
			return;
		event.preventDefault();
		event.stopPropagation();
		if (!root)
			return;
		if (event.key === "Enter" && current) {
			if (current === top && current.row !== undefined)
				onThread(current.row);
			zoom(current);
		} else if (event.key === "Backspace") {
			zoom(top.parent || root);
		} else {
			const n = step(event.key);
			if (!n)
				return;
			current = n;
			while (n.depth < top.depth)
				top = top.parent;
			redraw();
			announce(describe(n));
		}
	}

	canvas.addEventListener("pointermove", showTip);
	canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
	canvas.addEventListener("click", (event) => {
		const b = boxAt(event);
		if (b)
			zoom(b.node);
	});
	canvas.addEventListener("dblclick", (event) => {
		const b = boxAt(event);
		if (b && b.node.row !== undefined)
			onThread(b.node.row);
	});
	canvas.addEventListener("keydown", onKey);
	new ResizeObserver(redraw).observe(node);
	onTheme(redraw);

	return {
		node,
		redraw,
		show(newRoot, newUnit) {
			root = top = newRoot;
			current = null;
			unit = newUnit;
			if (root)
				prepare(root);
			canvas.hidden = !root;
			redraw();
		},
		/* search - mark frames; returns the share of the time they cover. */
		search(newText) {
			text = newText.toLowerCase();
			redraw();
			return root && text ? share() : 0;
		},
		reset() {
			if (root)
				zoom(root);
		},
	};
}
