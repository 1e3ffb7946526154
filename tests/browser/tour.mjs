/* SPDX-License-Identifier: MIT */
/*
 * tour.mjs - makes the pictures of docs/tour.  Not a test:
 *
 *	tests/browser/run.py DUET LIBDUET tools/npm/node_modules tests/browser/tour.mjs web
 *
 * The recording is the one made by hand, so the pictures change with the page alone.
 */
import fs from "node:fs";
import { dirname } from "node:path";
import { serve, settled } from "./lib/browser.mjs";
import { recording } from "./lib/test.mjs";
import { small } from "./lib/small_png.mjs";
import { fresh, items, press, rowId, selects, still } from "./lib/steer.mjs";

const size = { width: 1280, height: 800 };
const to = new URL("../../docs/tour/", import.meta.url).pathname;
process.chdir(dirname(recording("web"))); /* so that the page shows a short path */
const server = await serve("web");
const page = await server.open({ viewport: size });

async function picture(name)
{
	await page.mouse.move(3, 3);
	await settled(page, 400);
	await page.evaluate(() => document.activeElement.blur());
	await still(page);
	fs.writeFileSync(`${to}${name}.png`, await small(await page.screenshot()));
	console.log(`${name}.png: ${fs.statSync(`${to}${name}.png`).size} bytes`);
}

async function slowest(thread)
{
	const all = await items(page, thread, "spans", 40);
	return all.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);
}

await fresh(page);
await picture("everything");

const request = await slowest("worker-1");
await selects(page, request);
await press(page, "f", "s");
await page.getByRole("button", { name: "Show the critical path" }).click();
await picture("why");

await page.locator("#canvas").focus();
await press(page, "3");
await picture("latency");

await page.locator("#canvas").focus();
await press(page, "Escape", "0", "4");
await page.getByRole("button", { name: "off CPU" }).click();
const box = await page.locator("#canvas").boundingBox();
await page.mouse.move(box.x + box.width * 0.15, box.y + 10);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.55, box.y + 10, { steps: 5 });
await page.mouse.up();
await picture("area");

await page.locator("#canvas").focus();
await press(page, "Escape", "5");
await page.getByRole("textbox", { name: "script" }).fill(`global waits

probe syscall.fsync.return {
	waits[execname()] <<< gettimeofday_us() - @entry(gettimeofday_us())
}`);
await page.getByRole("textbox", { name: "script" }).press("Control+Enter");
await page.emulateMedia({ colorScheme: "light" });
await picture("query");
await server.end();
process.exit(await rowId(page, "worker-1") < 0 ? 1 : 0);
