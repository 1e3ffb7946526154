/* SPDX-License-Identifier: MIT */
/*
 * small_png.mjs - a screenshot as a PNG with a palette of 256 colours: a third of the size.
 *
 * The colours that most pixels have are kept, all others become the nearest of them: a page has few colours, and
 * the rest are edges of letters.  Format: PNG, 3rd edition, sections 5 and 11.
 */
import zlib from "node:zlib";
import { blank } from "./browser.mjs";

let decoder = null;

/* In the page: palette and an index a pixel, both in base64. */
async function quantized(png)
{
	const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))]));
	const canvas = new OffscreenCanvas(image.width, image.height);
	const context = canvas.getContext("2d");
	context.drawImage(image, 0, 0);
	const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
	const n = new Map(), index = new Map();
	for (const p of pixels)
		n.set(p, (n.get(p) || 0) + 1);
	const palette = [...n].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([p]) => [p & 255, p >> 8 & 255, p >> 16 & 255]);
	const nearest = (p) => {
		let best = 0, least = Infinity;
		palette.forEach(([r, g, b], i) => {
			const d = 2 * (r - (p & 255)) ** 2 + 4 * (g - (p >> 8 & 255)) ** 2 + 3 * (b - (p >> 16 & 255)) ** 2;
			if (d < least)
				[best, least] = [i, d];
		});
		return best;
	};
	const rows = new Uint8Array((image.width + 1) * image.height); /* each begins with its filter: none */
	for (let i = 0; i < pixels.length; i++) {
		const p = pixels[i];
		if (!index.has(p))
			index.set(p, nearest(p));
		rows[i + Math.floor(i / image.width) + 1] = index.get(p);
	}
	let text = "";
	for (let i = 0; i < rows.length; i += 8192)
		text += String.fromCharCode(...rows.subarray(i, i + 8192));
	return { width: image.width, height: image.height, palette: palette.flat(), rows: btoa(text) };
}

function chunk(type, data)
{
	const body = Buffer.concat([Buffer.from(type), data]), frame = Buffer.alloc(8);
	frame.writeUInt32BE(data.length, 0);
	frame.writeUInt32BE(crc32(body), 4);
	return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function crc32(bytes)
{
	let crc = 0xffffffff;
	for (const byte of bytes) {
		crc ^= byte;
		for (let k = 0; k < 8; k++)
			crc = crc & 1 ? crc >>> 1 ^ 0xedb88320 : crc >>> 1;
	}
	return (crc ^ 0xffffffff) >>> 0;
}

/* small - the PNG @png (a Buffer) with a palette. */
export async function small(png)
{
	decoder ||= await blank();
	const { width, height, palette, rows } = await decoder.evaluate(quantized, png.toString("base64"));
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, 3, 0, 0, 0], 8); /* 8 bits, a palette */
	return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head),
		chunk("PLTE", Buffer.from(palette)), chunk("IDAT", zlib.deflateSync(Buffer.from(rows, "base64"), { level: 9 })),
		chunk("IEND", Buffer.alloc(0))]);
}
