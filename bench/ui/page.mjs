/* SPDX-License-Identifier: MIT */
/*
 * bench/ui/page.mjs - the page in headless Chromium: the first picture, answers and frames while it is moved and zoomed.
 * Started by page.py.  Environment: RECORDING, STEPS (of each movement).
 *
 * Movements are keys and wheel turns, one a frame, so each changes the view.  Printed: time to the first picture, to
 * the whole index; of each movement the frames per second, the time that drawing took, and the times of the answers
 * of /api/picture as the browser saw them (median, 99th percentile, largest); memory of the server.
 */
import fs from "node:fs";
import { blank, serve, settled } from "../../tests/browser/lib/browser.mjs";
import { canvasBox } from "../../tests/browser/lib/steer.mjs";
import { wait } from "../../tests/browser/lib/test.mjs";

const recording = process.env.RECORDING, steps = Number(process.env.STEPS || 200);

function percentiles(list)
{
	const sorted = [...list].sort((a, b) => a - b);
	const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? NaN;
	return `median ${at(0.5).toFixed(1)}, p99 ${at(0.99).toFixed(1)}, most ${at(1).toFixed(1)} ms (${sorted.length})`;
}

const memory = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, "utf8").match(/VmHWM:\s+(\d+)/)[1]) / 1024;

/* opened - until rows and the first picture are on the screen: ms. */
async function opened()
{
	const server = await serve(recording);
	const page = await blank({ origin: server.origin, reducedMotion: "no-preference" });
	const begin = performance.now();
	await page.goto(server.address);
	await wait(page, "the first picture", async () => {
		const { view } = await import("/timeline/view.js");
		const { pictureOf } = await import("/timeline/pictures.js");
		return view.plan.rows.some((e) => !e.isHead && pictureOf(e.id));
	});
	return { server, page, ms: performance.now() - begin };
}

/* During @fn, which moves the page: frames, drawing times, answers. */
async function measured(page, name, fn)
{
	await settled(page);
	await page.evaluate(async () => {
		performance.clearResourceTimings();
		performance.setResourceTimingBufferSize(100000);
		const { view } = await import("/timeline/view.js");
		view.frames.length = 0;
		window.stamps = [];
		window.goesOn = true;
		requestAnimationFrame(function tick(now) {
			window.stamps.push(now);
			if (window.goesOn)
				requestAnimationFrame(tick);
		});
	});
	await fn();
	const got = await page.evaluate(async () => {
		window.goesOn = false;
		const { view } = await import("/timeline/view.js");
		const answers = performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/picture"));
		return { stamps: window.stamps, drawn: [...view.frames],
			 answers: answers.filter((e) => e.responseStatus === 200).map((e) => e.responseEnd - e.requestStart) };
	});
	const gaps = got.stamps.slice(1).map((t, i) => t - got.stamps[i]);
	const seconds = (got.stamps.at(-1) - got.stamps[0]) / 1000;
	console.log(`${name}: ${(gaps.length / seconds).toFixed(1)} frames a second; between frames ${percentiles(gaps)}`);
	console.log(`  drawing: ${percentiles(got.drawn)}`);
	console.log(`  answers: ${percentiles(got.answers)}`);
}

/* turns - @n wheel events on the canvas, one a frame, from inside the page: the driver's own time is not counted. */
const turns = (page, n, delta, isPan) => page.evaluate(async ({ n, delta, isPan }) => {
	const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
	for (let i = 0; i < n; i++) {
		const sign = Math.sin(i / 25) >= 0 ? 1 : -1;
		canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: delta * sign, shiftKey: isPan, bubbles: true, cancelable: true,
			clientX: box.x + box.width * (0.5 + 0.3 * Math.sin(i / 40)), clientY: box.y + box.height / 2 }));
		await new Promise(requestAnimationFrame);
	}
}, { n, delta, isPan });

const zoomTo = (page, share) => page.evaluate(async (share) => {
	const { recording } = await import("/recording.js");
	(await import("/timeline/view.js")).zoomTo(recording.end * 0.4, recording.end * (0.4 + share));
}, share);

const begin = performance.now();
const first = await opened();
console.log(`first picture, without an index: ${first.ms.toFixed(0)} ms`);
await wait(first.page, "the index", async () => (await import("/recording.js")).recording.done);
const { events, bytes } = await first.page.evaluate(async () => {
	const { recording } = await import("/recording.js");
	return { events: recording.events, bytes: recording.end };
});
console.log(`${events} events over ${(bytes / 1e9).toFixed(1)} s, indexed ${((performance.now() - begin) / 1000).toFixed(1)} s after the start`);
await first.page.context().close();
await first.server.end();

const { server, page, ms } = await opened();
console.log(`first picture, with the index: ${ms.toFixed(0)} ms`);
await settled(page);
await canvasBox(page);
for (const [name, share] of [["everything", 1], ["a hundredth", 0.01], ["a millionth", 1e-6]]) {
	await zoomTo(page, share);
	await measured(page, `zooming from ${name}`, () => turns(page, steps, 120, false));
	await zoomTo(page, share === 1 ? 0.3 : share);
	await measured(page, `moving through ${name === "everything" ? "a third" : name}`, () => turns(page, steps, 90, true));
}
console.log(`memory of the server: ${memory(server.process.pid).toFixed(0)} MiB at most`);
await page.context().close();
await server.end();
process.exit(0);
