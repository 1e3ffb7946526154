/* SPDX-License-Identifier: MIT */
/*
 * timeline/textures.js - pictures with many columns as bitmaps.
 *
 * A bitmap is drawn stretched to the view of the moment: one call a track and frame, however many columns
 * differ.  The tracks of a picture with many columns share one; it is made when it is first needed, and again
 * after the colours changed.
 */

import { colours } from "../theme.js";
import { columnsOf, fullAlpha, tones } from "./columns.js";

export const few = 120; /* columns that are drawn as rectangles */

const made = new WeakMap(); /* picture: { version, canvas, tops: Map of id to row } */
let palette = { version: -1, pixels: null };
let probe = null;

/* pixelsOf - every tone at every opacity as pixels of ImageData, little-endian. */
function pixelsOf()
{
	if (palette.version === colours.version)
		return palette.pixels;
	probe ||= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const pixels = new Uint32Array(tones.length * (fullAlpha + 1));
	tones.forEach((name, tone) => {
		probe.fillStyle = colours[name];
		probe.fillRect(0, 0, 1, 1);
		const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
		for (let a = 0; a <= fullAlpha; a++)
			pixels[tone * (fullAlpha + 1) + a] =
				((Math.round(255 * a / fullAlpha) << 24) | (b << 16) | (g << 8) | r) >>> 0;
	});
	palette = { version: colours.version, pixels };
	return pixels;
}

function fill(pixels, width, row, columns)
{
	const of = pixelsOf();
	for (let i = 0; i < columns.n; i++) {
		const pixel = of[columns.tone[i] * (fullAlpha + 1) + columns.alpha[i]];
		const to = Math.min(width, columns.to[i]);
		for (let y = row + columns.top[i]; y < row + columns.end[i]; y++)
			pixels.fill(pixel, y * width + columns.from[i], y * width + to);
	}
}

function make(picture)
{
	const tops = new Map();
	let rows = 0;
	for (const track of picture.tracks.values()) {
		const columns = columnsOf(track);
		if (!columns || columns.n <= few)
			continue;
		tops.set(track.track, rows);
		rows += columns.rows;
	}
	const { width } = picture;
	const atlas = { version: colours.version, canvas: null, tops };
	made.set(picture, atlas);
	if (!rows)
		return atlas;
	atlas.canvas = new OffscreenCanvas(width, rows);
	const context = atlas.canvas.getContext("2d");
	const image = context.createImageData(width, rows);
	const pixels = new Uint32Array(image.data.buffer);
	for (const [id, row] of tops)
		fill(pixels, width, row, columnsOf(picture.tracks.get(id)));
	context.putImageData(image, 0, 0);
	return atlas;
}

/* prepare - make the bitmap of @picture, if it needs one. */
export function prepare(picture)
{
	const has = made.get(picture);
	return has && has.version === colours.version ? has : make(picture);
}

/* textureOf - the bitmap with @track of @picture and its first row in it, or null: few columns. */
export function textureOf(picture, track)
{
	const { canvas, tops } = prepare(picture);
	const top = tops.get(track.track);
	return top === undefined ? null : { canvas, top, rows: columnsOf(track).rows };
}
