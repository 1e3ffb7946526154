/* SPDX-License-Identifier: MIT */
/*
 * timeline/strip.js - the overview: CPU use and events of the whole recording, and the visible part as a frame.
 *
 * The frame is dragged and stretched; a click elsewhere moves it there, a drag elsewhere makes a new one.
 */

import { get } from "../api.js";
import { duration, since } from "../format.js";
import { onRecording, recording } from "../recording.js";
import { on, state } from "../store.js";
import { colours, onTheme } from "../theme.js";
import { hatched, unread } from "./overlay.js";
import { stopGliding } from "./navigate.js";
import { draw, view, visible, zoomTo } from "./view.js";

const left = 196, right = 14, grip = 6, barWidth = 3;
const agedMs = 1000; /* a strip of a recording that grows is asked for again after */
let canvas, context;
let width = 1, height = 1;
let known = null, askedAt = 0, askedReady = -1, isAsking = false;
let isOld = true;
let drag = null;

const span = () => Math.max(1, width - left - right);
const xOf = (ns) => left + ns / Math.max(1, recording.end) * span();
const timeAt = (x) => Math.min(1, Math.max(0, (x - left) / span())) * recording.end;

async function ask()
{
	if (isAsking || !recording.isOpen || !(recording.end > 0))
		return;
	const isGrowing = recording.ready !== askedReady;
	if (known && (!isGrowing || (performance.now() - askedAt < agedMs && !recording.done)))
		return;
	isAsking = true;
	askedAt = performance.now();
	askedReady = recording.ready;
	const bars = Math.min(4000, Math.max(1, Math.floor(span() / barWidth)));
	const answer = await get("/api/overview", { width: bars }, { key: "overview", quiet: true });
	isAsking = false;
	if (answer?.events) {
		known = answer;
		stripChanged();
	}
}

function stripChanged()
{
	isOld = true;
	draw();
}

function drawBars()
{
	const n = known.events.length;
	const end = known.to || recording.end;
	const scale = end / Math.max(1, recording.end);
	const step = span() * scale / n;
	const thick = Math.max(1, step - 1);
	context.fillStyle = colours.run;
	for (let i = 0; i < known.cpu.length; i++) {
		const h = known.cpu[i] ? Math.max(1, 16 * known.cpu[i] / 255) : 0;
		if (h)
			context.fillRect(left + i * step, 22 - h, thick, h);
	}
	const most = Math.log1p(known.events.reduce((a, b) => Math.max(a, b), 1));
	context.fillStyle = colours.kern;
	for (let i = 0; i < n; i++) {
		if (!known.events[i])
			continue;
		const h = Math.max(2, 15 * Math.log1p(known.events[i]) / most);
		context.fillRect(left + i * step, 42 - h, thick, h);
	}
	for (const [from, to] of known.gaps || [])
		hatched(context, "lost", xOf(from), Math.max(xOf(from) + 2, xOf(to)), 2, height - 4);
}

function drawFrame()
{
	const { from, to } = visible();
	const x0 = xOf(from), x1 = Math.max(xOf(to), x0 + 2);
	context.fillStyle = colours.sel;
	context.globalAlpha = 0.14;
	context.fillRect(x0, 2, x1 - x0, height - 4);
	context.globalAlpha = 1;
	context.strokeStyle = colours.sel;
	context.lineWidth = 1;
	context.strokeRect(Math.round(x0) + 0.5, 2.5, Math.max(1, Math.round(x1 - x0) - 1), height - 5);
	for (const x of x1 - x0 > 12 ? [x0, x1 - 3] : []) {
		context.fillStyle = colours.sel;
		context.fillRect(Math.round(x), height / 2 - 7, 3, 14);
	}
}

/* drawStrip - draw, if anything changed. */
export function drawStrip()
{
	if (!isOld)
		return;
	isOld = false;
	ask();
	context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
	context.fillStyle = colours.panel;
	context.fillRect(0, 0, width, height);
	context.fillStyle = colours.dim;
	context.font = `11px ${colours.sans}`;
	context.textBaseline = "alphabetic";
	context.fillText("CPU", 14, 20);
	context.fillText("events", 14, 39);
	if (known)
		drawBars();
	if (recording.isOpen) {
		unread(context, { from: -left * recording.end / span(), to: recording.end * (1 + right / span()), width,
				  height: height - 2, top: 2 }, recording.ready, recording.end);
		for (const m of state.marks) {
			context.fillStyle = colours.mark;
			context.fillRect(xOf(m.at), 0, 1, height);
		}
		drawFrame();
	}
	describe();
}

function describe()
{
	const { from, to } = visible();
	canvas.setAttribute("aria-valuemin", 0);
	canvas.setAttribute("aria-valuemax", Math.round(recording.end / 1000));
	canvas.setAttribute("aria-valuenow", Math.round((from + to) / 2000));
	canvas.setAttribute("aria-valuetext", `${duration(to - from)} from ${since(from)}`);
}

function partAt(x)
{
	const { from, to } = visible();
	const x0 = xOf(from), x1 = xOf(to);
	if (Math.abs(x - x0) < grip && x1 - x0 < span())
		return "from";
	if (Math.abs(x - x1) < grip && x1 - x0 < span())
		return "to";
	return x > x0 && x < x1 && x1 - x0 < span() - 1 ? "frame" : "";
}

const cursors = { from: "ew-resize", to: "ew-resize", frame: "grab", "": "crosshair" };

function down(event)
{
	stopGliding();
	const x = event.clientX - canvas.getBoundingClientRect().left;
	drag = { part: partAt(x), x, at: timeAt(x), isMoved: false, ...visible() };
	canvas.setPointerCapture(event.pointerId);
}

function move(event)
{
	const x = event.clientX - canvas.getBoundingClientRect().left;
	if (!drag) {
		canvas.style.cursor = cursors[partAt(x)];
		return;
	}
	if (!drag.isMoved && Math.abs(x - drag.x) < 3)
		return;
	drag.isMoved = view.isMoving = true;
	const at = timeAt(x);
	const { from, to } = drag;
	if (drag.part === "frame")
		zoomTo(from + at - drag.at, to + at - drag.at, "strip");
	else if (drag.part === "from")
		zoomTo(Math.min(at, to - 20), to, "strip");
	else if (drag.part === "to")
		zoomTo(from, Math.max(at, from + 20), "strip");
	else
		zoomTo(Math.min(at, drag.at), Math.max(at, drag.at), "strip");
}

function up()
{
	if (drag && !drag.isMoved && drag.part === "") {
		const half = (drag.to - drag.from) / 2;
		zoomTo(drag.at - half, drag.at + half, "strip");
	}
	drag = null;
	view.isMoving = false;
	draw();
}

function resize()
{
	const box = canvas.parentElement.getBoundingClientRect();
	width = Math.max(1, box.width);
	height = Math.max(1, canvas.clientHeight);
	canvas.width = Math.round(width * (devicePixelRatio || 1));
	canvas.height = Math.round(height * (devicePixelRatio || 1));
	known = null;
	stripChanged();
}

export function startStrip()
{
	canvas = document.getElementById("overview-canvas");
	context = canvas.getContext("2d", { alpha: false });
	canvas.addEventListener("pointerdown", down);
	canvas.addEventListener("pointermove", move);
	canvas.addEventListener("pointerup", up);
	canvas.addEventListener("pointercancel", up);
	canvas.addEventListener("dblclick", () => zoomTo(0, recording.end, "strip"));
	new ResizeObserver(resize).observe(canvas.parentElement);
	onRecording(stripChanged);
	onTheme(stripChanged);
	on(["from", "to", "marks"], stripChanged);
}
