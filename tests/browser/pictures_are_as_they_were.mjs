/* SPDX-License-Identifier: MIT */
/*
 * Screenshots beside kept pictures, as letters (lib/picture.mjs), with tolerance: everything, a zoom with a selection, a
 * recording with losses; in both themes the same letters, because colours keep their meaning.  At last the comparison
 * itself is tried: another time and a missing row do not pass.
 */
import { serve, settled } from "./lib/browser.mjs";
import { cases, ok, recording } from "./lib/test.mjs";
import { canvasBox, fresh, items, press, selects, still } from "./lib/steer.mjs";
import { asLetters, differences, looksLike } from "./lib/picture.mjs";

const kept = (name) => new URL(`kept/${name}.txt`, import.meta.url).pathname;
const server = await serve(recording("web"));
const page = await server.open();
let clip, whole;

async function standsStill(of)
{
	await settled(of);
	await of.evaluate(() => document.activeElement.blur()); /* no ring around what has the focus */
	await of.mouse.move(3, 3); /* no cursor line */
	await still(of);
}

await cases(page, {
	async the_whole_recording_looks_as_kept()
	{
		await fresh(page);
		await press(page, "\\");
		clip = await canvasBox(page);
		await standsStill(page);
		whole = await looksLike(page, clip, kept("whole"), "the whole recording");
		for (const letters of ["u", "w", "_", "sss", "ccc", "m"])
			ok(whole.some((line) => line.includes(letters)), `it has ${letters}`);
	},
	async a_selection_looks_as_kept()
	{
		const spans = await items(page, "worker-1", "spans", 20);
		const slowest = spans.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);
		await selects(page, slowest);
		await press(page, "f");
		await standsStill(page);
		await looksLike(page, clip, kept("selection"), "the slowest request", { most: 0.08 });
		await press(page, "c");
		await standsStill(page);
		ok(differences(await asLetters(page, clip), await asLetters(page, clip)) === 0, "a picture stands still");
	},
	async losses_are_hatched_as_kept()
	{
		const lossy = await serve(recording("lossy"));
		const other = await lossy.open();
		await press(other, "\\");
		await standsStill(other);
		await looksLike(other, await canvasBox(other), kept("losses"), "a recording with losses", { most: 0.08 });
		await other.context().close();
	},
	async the_light_theme_has_the_same_letters()
	{
		await fresh(page);
		await page.emulateMedia({ colorScheme: "light" });
		await standsStill(page);
		await looksLike(page, clip, kept("whole"), "the light theme", { most: 0.2, isWritten: false });
		await page.emulateMedia({ colorScheme: "dark" });
	},
	async another_picture_does_not_pass()
	{
		await fresh(page);
		await standsStill(page);
		const inked = whole.join("").replaceAll(" ", "").length;
		ok(differences(await asLetters(page, clip), whole) < 0.02 * inked, "the same again does");
		await page.locator("#labels [role=treeitem]").filter({ hasText: "worker-3" }).click();
		await press(page, "h");
		await standsStill(page);
		ok(differences(await asLetters(page, clip), whole) > 0.1 * inked, "a hidden row does not");
		await press(page, "Shift+H", "d", "w");
		await standsStill(page);
		ok(differences(await asLetters(page, clip), whole) > 0.1 * inked, "another time does not");
	},
});
