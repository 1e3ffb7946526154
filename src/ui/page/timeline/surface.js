/* SPDX-License-Identifier: MIT */
/*
 * timeline/surface.js - the canvas under the rows: few calls, few changes of colour.
 *
 * Shapes are collected and drawn by flush(): bitmaps first, then rectangles, boxes, charts, diamonds, and
 * texts last.  Shapes of one layer may be drawn in any order; rows do not overlap.  Colours are names of the
 * variables of page.css.  The context is a canvas's, or svg.js's.
 */

import { colours } from "../theme.js";
import { textureOf } from "./textures.js";

const widths = new Map(); /* style: Map of text to width; for the fonts of one theme */
const mostWidths = 20000;
let widthsFont = "";

function widthsOf(style)
{
	if (widthsFont !== colours.sans) {
		widths.clear();
		widthsFont = colours.sans;
	}
	let of = widths.get(style);
	if (!of || of.size > mostWidths)
		widths.set(style, of = new Map());
	return of;
}

/* fit - @text cut to @room pixels, with an ellipsis; "" if hardly a letter fits. */
export function fit(text, width, room)
{
	if (width <= room)
		return text;
	const n = Math.floor(text.length * (room - 8) / width);
	return n >= 2 ? `${text.slice(0, n).trimEnd()}…` : "";
}

function diamondPath(c, x, y, r)
{
	c.beginPath();
	c.moveTo(x, y - r);
	c.lineTo(x + r, y);
	c.lineTo(x, y + r);
	c.lineTo(x - r, y);
}

const stamps = new Map();

/* stampOf - a diamond as a bitmap: copied faster than drawn. */
function stampOf(colour, r, scale)
{
	const key = `${colour} ${colours.version} ${r} ${scale}`;
	if (!stamps.has(key)) {
		const side = Math.ceil((2 * r + 2) * scale);
		const canvas = new OffscreenCanvas(side, side);
		const s = canvas.getContext("2d");
		s.scale(scale, scale);
		s.fillStyle = colours[colour];
		diamondPath(s, r + 1, r + 1, r);
		s.fill();
		stamps.set(key, canvas);
	}
	return stamps.get(key);
}

export class CanvasSurface {
	/* @hasBitmaps: false where everything has to be shapes. */
	constructor(context, hasBitmaps = true)
	{
		this.context = context;
		this.hasBitmaps = hasBitmaps;
		this.columns = new Map();
		this.fills = new Map();
		this.boxes = new Map();
		this.textures = [];
		this.charts = [];
		this.diamonds = [];
		this.texts = [];
	}

	font(style)
	{
		return style === "small" ? `11px ${colours.sans}` : style === "bold" ? `600 12px ${colours.sans}`
										 : `12px ${colours.sans}`;
	}

	measure(text, style = "")
	{
		const of = widthsOf(style);
		let width = of.get(text);
		if (width === undefined) {
			this.context.font = this.font(style);
			of.set(text, width = this.context.measureText(text).width);
		}
		return width;
	}

	fill(colour, alpha, x, y, w, h)
	{
		const key = alpha === 1 ? colour : `${colour} ${alpha}`;
		let list = this.fills.get(key);
		if (!list)
			this.fills.set(key, list = { colour, alpha, rects: [] });
		list.rects.push(x, y, w, h);
	}

	/* box - a rectangle with a border of one pixel, and round corners if @radius. */
	box(fill, border, radius, x, y, w, h)
	{
		const key = `${fill} ${radius}`;
		let list = this.boxes.get(key);
		if (!list)
			this.boxes.set(key, list = { fill, border, radius, rects: [] });
		list.rects.push(x, y, w, h);
	}

	diamond(colour, x, y, r)
	{
		this.diamonds.push([colour, x, y, r]);
	}

	/* text - @baseline; @room: it is cut to this width; 0: never. */
	text(colour, text, x, baseline, room = 0, style = "")
	{
		const cut = room ? fit(text, this.measure(text, style), room) : text;
		if (cut)
			this.texts.push([colour, style, cut, x, baseline]);
	}

	/* chart - a line through xs, ys, the area below it, and bars from tops to bottoms. */
	chart(colour, xs, ys, tops, bottoms, base)
	{
		this.charts.push([colour, xs, ys, tops, bottoms, base]);
	}

	/* column - as fill, but drawn before all of these; "unknown" and "block" before the others. */
	column(colour, alpha, x, y, w, h)
	{
		const key = alpha === 1 ? colour : `${colour} ${alpha}`;
		let list = this.columns.get(key);
		if (!list)
			this.columns.set(key, list = { colour, alpha, rects: [] });
		list.rects.push(x, y, w, h);
	}

	/* texture - the bitmap of @track, of the pixels [@p0, @p1) of its picture, to [@x0, @x1).  Returns false if
	 * it is not to be drawn as a bitmap. */
	texture(picture, track, p0, p1, x0, x1, y, h)
	{
		const texture = this.hasBitmaps ? textureOf(picture, track) : null;
		if (texture)
			this.textures.push([texture, p0, p1, x0, x1, y, h]);
		return Boolean(texture);
	}

	flush()
	{
		const c = this.context;
		c.imageSmoothingEnabled = false;
		for (const [{ canvas, top, rows }, p0, p1, x0, x1, y, h] of this.textures)
			c.drawImage(canvas, p0, top, p1 - p0, rows, x0, y, x1 - x0, h);
		const { columns } = this;
		const below = ["unknown", "block"].map((key) => columns.get(key)).filter(Boolean);
		for (const { colour, alpha, rects } of [...below, ...columns.values(), ...this.fills.values()]) {
			c.fillStyle = colours[colour];
			c.globalAlpha = alpha;
			for (let i = 0; i < rects.length; i += 4)
				c.fillRect(rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
			rects.length = 0;
		}
		c.globalAlpha = 1;
		this.flushBoxes();
		this.charts.forEach((chart) => this.drawChart(...chart));
		this.flushDiamonds();
		this.flushTexts();
		this.textures.length = this.charts.length = this.diamonds.length = this.texts.length = 0;
		this.columns.clear();
		this.fills.clear();
		this.boxes.clear();
	}

	flushBoxes()
	{
		const c = this.context;
		for (const { fill, border, radius, rects } of this.boxes.values()) {
			/* A border below the inside: two fills are several times faster than a stroke, and many small
			 * shapes than a large path of many. */
			this.fillRects(border, rects, 0, radius);
			this.fillRects(fill, rects, 1, radius - 1);
		}
	}

	fillRects(colour, rects, inset, radius)
	{
		const c = this.context;
		c.fillStyle = colours[colour];
		for (let i = 0; i < rects.length; i += 4) {
			const x = rects[i] + inset, y = rects[i + 1] + inset;
			const w = rects[i + 2] - 2 * inset, h = rects[i + 3] - 2 * inset;
			if (radius <= 0) {
				c.fillRect(x, y, w, h);
				continue;
			}
			c.beginPath();
			c.roundRect(x, y, w, h, radius);
			c.fill();
		}
	}

	flushDiamonds()
	{
		const c = this.context;
		const scale = this.hasBitmaps && this.diamonds.length ? c.getTransform().a : 1;
		for (const [colour, x, y, r] of this.diamonds) {
			const stamp = this.hasBitmaps ? stampOf(colour, r, scale) : null;
			if (stamp) {
				c.drawImage(stamp, x - r - 1, y - r - 1, 2 * r + 2, 2 * r + 2);
				continue;
			}
			c.fillStyle = colours[colour];
			diamondPath(c, x, y, r);
			c.fill();
		}
	}

	drawChart(colour, xs, ys, tops, bottoms, base)
	{
		const c = this.context;
		if (!xs.length)
			return;
		c.fillStyle = c.strokeStyle = colours[colour];
		c.globalAlpha = 0.25;
		c.beginPath();
		c.moveTo(xs[0], base);
		for (let i = 0; i < xs.length; i++) {
			if (i)
				c.lineTo(xs[i], ys[i - 1]);
			c.lineTo(xs[i], ys[i]);
		}
		c.lineTo(xs[xs.length - 1], base);
		c.fill();
		c.globalAlpha = 1;
		for (let i = 0; i < xs.length; i++)
			if (bottoms[i] - tops[i] > 1)
				c.fillRect(xs[i], tops[i], 1, bottoms[i] - tops[i]);
		c.lineWidth = 1.25;
		c.beginPath();
		for (let i = 0; i < xs.length; i++) {
			c.lineTo(xs[i], ys[i ? i - 1 : 0]);
			c.lineTo(xs[i], ys[i]);
		}
		c.stroke();
	}

	flushTexts()
	{
		const c = this.context;
		let colour = "", style = null;
		c.textBaseline = "alphabetic";
		for (const t of this.texts) {
			if (t[0] !== colour)
				c.fillStyle = colours[colour = t[0]];
			if (t[1] !== style)
				c.font = this.font(style = t[1]);
			c.fillText(t[2], t[3], t[4]);
		}
	}
}
