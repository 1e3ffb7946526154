/* SPDX-License-Identifier: MIT */
/*
 * picture.mjs - a screenshot as a grid of letters that a person can read, and its comparison with a kept one.
 *
 * A cell of 8 x 4 pixels has the letter of the theme's colour that most of its pixels are nearest to, if those are at
 * least a third of it and not background.  So fonts, antialiasing and a shift by a pixel change few cells; a missing
 * row, state, span or colour changes many.  TEST_WRITE=1 writes the kept picture anew.
 */
import fs from "node:fs";
import { blank } from "./browser.mjs";
import { ok } from "./test.mjs";

const cell = { width: 8, height: 4 };

/* The colours of the theme that have a meaning, and their letters; " " is what is not one of them. */
export const letters = {
	"--bg": " ", "--panel": " ", "--line": " ", "--hover": " ", "--run": "u", "--kern": "k", "--ready": "w", "--block": "_",
	"--irq": "i", "--span": "s", "--spanb": "S", "--call": "c", "--callb": "C", "--mark": "m", "--lost": "L",
};

let decoder = null;

/* In the page: the PNG as letters. */
async function read({ png, colours, cell })
{
	const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
	const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
	const canvas = new OffscreenCanvas(image.width, image.height);
	const context = canvas.getContext("2d");
	context.drawImage(image, 0, 0);
	const { data } = context.getImageData(0, 0, image.width, image.height);
	const nearest = (at) => {
		let best = 0, least = Infinity;
		colours.forEach(([, r, g, b], i) => {
			const distance = (data[at] - r) ** 2 + (data[at + 1] - g) ** 2 + (data[at + 2] - b) ** 2;
			if (distance < least)
				[best, least] = [i, distance];
		});
		return colours[best][0];
	};
	const letter = (x0, y0) => {
		const n = {};
		for (let y = y0; y < y0 + cell.height; y++)
			for (let x = x0; x < x0 + cell.width; x++) {
				const l = nearest((y * image.width + x) * 4);
				n[l] = (n[l] || 0) + 1;
			}
		delete n[" "];
		const [most] = Object.entries(n).sort((a, b) => b[1] - a[1]);
		return most && most[1] * 3 >= cell.width * cell.height ? most[0] : " ";
	};
	const lines = [];
	for (let y = 0; y + cell.height <= image.height; y += cell.height) {
		let line = "";
		for (let x = 0; x + cell.width <= image.width; x += cell.width)
			line += letter(x, y);
		lines.push(line.trimEnd());
	}
	return lines;
}

/* colours - letters and colours of the theme that @page shows now. */
async function coloursOf(page)
{
	return page.evaluate((names) => {
		const style = getComputedStyle(document.documentElement);
		const probe = document.createElement("canvas").getContext("2d");
		const found = [];
		for (const [name, letter] of Object.entries(names)) {
			const value = style.getPropertyValue(name).trim();
			if (!value)
				continue;
			probe.fillStyle = value;
			const [r, g, b] = probe.fillStyle.match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16));
			found.push([letter, r, g, b]);
		}
		return found;
	}, letters);
}

/* asLetters - what @page shows in @clip ({ x, y, width, height }). */
export async function asLetters(page, clip)
{
	decoder ||= await blank();
	const png = (await page.screenshot({ clip })).toString("base64");
	return decoder.evaluate(read, { png, colours: await coloursOf(page), cell });
}

/* differences - the number of cells in which two pictures differ. */
export function differences(a, b)
{
	let n = 0;
	for (let y = 0; y < Math.max(a.length, b.length); y++) {
		const [one, other] = [a[y] || "", b[y] || ""];
		for (let x = 0; x < Math.max(one.length, other.length); x++)
			n += (one[x] || " ") !== (other[x] || " ");
	}
	return n;
}

const inked = (lines) => lines.reduce((n, l) => n + l.replaceAll(" ", "").length, 0);

/*
 * looksLike - @page shows in @clip what the file @kept has; at most the share @most of the cells that have a letter
 * differ.  Without @isWritten the kept one stays as it is with TEST_WRITE, too.  The new picture is left in meson-logs/ if it does not.
 */
export async function looksLike(page, clip, kept, what, { most = 0.06, isWritten = true } = {})
{
	const now = await asLetters(page, clip);
	if (process.env.TEST_WRITE && isWritten)
		fs.writeFileSync(kept, `${now.join("\n")}\n`);
	const wanted = fs.readFileSync(kept, "utf8").replace(/\n$/, "").split("\n");
	const n = differences(now, wanted), of = inked(wanted);
	if (!ok(of > 200 && n <= most * of, what, `: ${n} cells differ, of ${of} with a colour`))
		fs.writeFileSync(`${fs.existsSync("meson-logs") ? "meson-logs" : "."}/browser-${kept.split("/").pop()}`,
			`${now.join("\n")}\n`);
	return now;
}
