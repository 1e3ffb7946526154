/* SPDX-License-Identifier: MIT */
/*
 * timeline/svg.js - the few calls of a 2D context that scene and surface make, as SVG elements; and the view kept
 * as a file, SVG or PNG.
 *
 * Text stays text.  What is a bitmap on the screen becomes rectangles.  Everything of a recording
 * is escaped; the file has no script and no style of its own.
 */

import { command } from "../commands.js";
import { notice } from "../notice.js";
import { recording } from "../recording.js";
import { colours } from "../theme.js";
import { sizes } from "./layout.js";
import { drawable } from "./paint.js";
import { drawScene } from "./scene.js";
import { CanvasSurface } from "./surface.js";
import { topOf, view, visibleEntries } from "./view.js";

const labelWidth = 196;
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/* Characters that XML forbids are shown as the one for what cannot be shown. */
const escaped = (text) => text.replace(/[&<>"]/g, (c) => escapes[c])
	.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
/* tag - an element as text; numbers are cut to hundredths, attributes that are "" left out. */
function tag(name, attributes, content)
{
	const list = Object.entries(attributes).filter(([, v]) => v !== "")
		.map(([key, v]) => ` ${key}="${typeof v === "number" ? short(v) : v}"`).join("");
	return content === undefined ? `<${name}${list}/>` : `<${name}${list}>${content}</${name}>`;
}

const short = (n) => String(Math.round(n * 100) / 100);

class SvgContext {
	constructor(measure)
	{
		this.out = [];
		this.path = "";
		this.saved = [];
		this.clips = 0;
		this.patterns = new Map();
		this.measureContext = measure;
		Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", globalAlpha: 1, lineWidth: 1,
				      font: "12px sans-serif", dash: "" });
	}

	measureText(text)
	{
		this.measureContext.font = this.font;
		return this.measureContext.measureText(text);
	}

	alpha()
	{
		return this.globalAlpha < 1 ? this.globalAlpha : "";
	}

	fillRect(x, y, w, h)
	{
		if (w > 0 && h > 0)
			this.out.push(tag("rect", { x, y, width: w, height: h, fill: this.fillStyle,
						    opacity: this.alpha() }));
	}

	fillText(text, x, y)
	{
		this.out.push(tag("text", {
			x, y, "font-size": /(\d+)px/.exec(this.font)[1],
			"font-weight": this.font.startsWith("600") ? "600" : "", fill: this.fillStyle,
			"xml:space": "preserve",
		}, escaped(text)));
	}

	beginPath()
	{
		this.path = "";
	}

	moveTo(x, y)
	{
		this.path += `M${short(x)} ${short(y)}`;
	}

	lineTo(x, y)
	{
		this.path += `${this.path ? "L" : "M"}${short(x)} ${short(y)}`;
	}

	bezierCurveTo(...p)
	{
		this.path += `C${p.map(short).join(" ")}`;
	}

	rect(x, y, w, h)
	{
		this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;
	}

	roundRect(x, y, w, h, radius)
	{
		const r = Math.min(radius, w / 2, h / 2);
		const turn = (dx, dy) => `a${short(r)} ${short(r)} 0 0 1 ${short(dx)} ${short(dy)}`;
		this.path += `M${short(x + r)} ${short(y)}h${short(w - 2 * r)}${turn(r, r)}v${short(h - 2 * r)}` +
			     `${turn(-r, r)}h${short(2 * r - w)}${turn(-r, -r)}v${short(2 * r - h)}${turn(r, -r)}z`;
	}

	fill()
	{
		this.out.push(tag("path", { d: this.path, fill: this.fillStyle, opacity: this.alpha() }));
	}

	stroke()
	{
		this.out.push(tag("path", { d: this.path, fill: "none", stroke: this.strokeStyle,
					    "stroke-width": this.lineWidth, "stroke-dasharray": this.dash,
					    opacity: this.alpha() }));
	}

	setLineDash(list)
	{
		this.dash = list.join(" ");
	}

	save()
	{
		const { fillStyle, strokeStyle, globalAlpha, lineWidth, font, dash } = this;
		this.saved.push({ state: { fillStyle, strokeStyle, globalAlpha, lineWidth, font, dash }, groups: 0 });
	}

	restore()
	{
		const { state, groups } = this.saved.pop();
		Object.assign(this, state);
		this.out.push("</g>".repeat(groups));
	}

	clip()
	{
		const id = `clip${this.clips++}`;
		this.out.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
		this.saved[this.saved.length - 1].groups++;
	}

	/* hatching - the fill of slanted lines of @colour (overlay.js). */
	hatching(colour)
	{
		const id = `hatch${colour.slice(1)}`;
		const lines = tag("path", { d: "M-1 9L9 -1M-1 1L1 -1M7 9L9 7", stroke: colour, "stroke-width": 1.6 });
		this.patterns.set(id, tag("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, lines));
		return `url(#${id})`;
	}

	text(width, height)
	{
		const parts = [tag("title", {}, escaped(recording.name)),
			       tag("defs", {}, [...this.patterns.values()].join("")), ...this.out];
		return tag("svg", {
			xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`,
			"font-family": escaped(colours.sans),
		}, `\n${parts.join("\n")}\n`) + "\n";
	}
}

function drawLabels(c)
{
	c.fillStyle = colours.bg;
	c.fillRect(-labelWidth, 0, labelWidth, view.height);
	c.fillStyle = colours.line;
	c.fillRect(-1, 0, 1, view.height);
	for (const entry of visibleEntries()) {
		const y = topOf(entry) + 14;
		const { row } = entry;
		if (y < sizes.axis + 10)
			continue;
		const id = row.tid >= 0 ? String(row.tid) : row.pid >= 0 ? String(row.pid) : "";
		c.font = entry.isHead ? `600 11px ${colours.sans}` : `12px ${colours.sans}`;
		c.fillStyle = entry.isHead ? colours.dim : colours.text;
		const shown = drawable(row.name) || "(no name)";
		const name = shown.length > 22 ? `${shown.slice(0, 21)}…` : shown;
		c.fillText(name, 10 + Math.min(entry.level, 6) * 12 - labelWidth, y);
		c.fillStyle = colours.dim;
		c.font = `12px ${colours.sans}`;
		c.fillText(id, -12 - c.measureText(id).width, y);
	}
}

function keep(blob, ending)
{
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = `${recording.name.replace(/[^\w.-]+/g, "_") || "timeline"}.${ending}`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
	notice(`Saved ${link.download}`);
}

/* svgOfView - the view as the text of an SVG file. */
export function svgOfView()
{
	const measure = new OffscreenCanvas(1, 1).getContext("2d");
	const c = new SvgContext(measure);
	c.out.push(`<g transform="translate(${labelWidth} 0)">`);
	drawScene(new CanvasSurface(c, false));
	drawLabels(c);
	c.out.push("</g>");
	return c.text(Math.round(view.width) + labelWidth, Math.round(view.height));
}

function saveSvg()
{
	keep(new Blob([svgOfView()], { type: "image/svg+xml" }), "svg");
}

async function savePng()
{
	const { ratio } = view;
	const width = Math.round((view.width + labelWidth) * ratio);
	const canvas = new OffscreenCanvas(width, Math.round(view.height * ratio));
	const c = canvas.getContext("2d");
	c.setTransform(ratio, 0, 0, ratio, labelWidth * ratio, 0);
	drawScene(new CanvasSurface(c));
	drawLabels(c);
	keep(await canvas.convertToBlob({ type: "image/png" }), "png");
}

export function startSvg()
{
	command({ id: "save.svg", title: "Save picture as SVG", group: "Save", run: saveSvg });
	command({ id: "save.png", title: "Save picture as PNG", group: "Save", run: savePng });
}
