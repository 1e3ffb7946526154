/* SPDX-License-Identifier: MIT */
/*
 * steer.mjs - where things are on the page, and what the page shows now.
 *
 * The page's own modules are imported a second time in it: a module is one object, so they are the running ones.
 * Tests read from them; they act by mouse and keyboard alone.
 */
import { settled } from "./browser.mjs";
import { wait } from "./test.mjs";

/* still - until two frames have passed: the store tells its listeners in the next one. */
export const still = (page) => page.evaluate(() =>
	new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/* shown - the visible time, { from, to }. */
export const shown = (page) => page.evaluate(async () => (await import("/timeline/view.js")).visible());

/* state - some keys of the page's state. */
export const state = (page, ...keys) => page.evaluate(async (keys) => {
	const { state } = await import("/store.js");
	return JSON.parse(JSON.stringify(keys.length === 1 ? state[keys[0]] : Object.fromEntries(keys.map((k) => [k, state[k]]))));
}, keys);

/* rowId - the row of a thread, CPU, ... named @name. */
export const rowId = (page, name) => page.evaluate(async (name) => {
	const { recording } = await import("/recording.js");
	const rows = recording.rows.filter((r) => r.name === name);
	return (rows.find((r) => r.kind !== "process") || rows[0])?.id ?? -1;
}, name);

/*
 * items - the items of the track of @kind (and depth 0) of row @name: [{ id, row, from, to, name }].
 * A test's recording is small: all are asked for, one by one, at most @most.
 */
export const items = (page, name, kind, most = 20) => page.evaluate(async ({ name, kind, most }) => {
	const { recording } = await import("/recording.js");
	const row = recording.rows.find((r) => r.name === name && r.tracks.some((t) => t.kind === kind));
	const track = row?.tracks.find((t) => t.kind === kind && t.depth === 0);
	const found = [];
	if (!track)
		return found;
	for (let at = -1; found.length < most;) {
		const item = await (await fetch(`/api/next?track=${track.id}&at=${at}&direction=1`)).json();
		if (!item.id)
			break;
		found.push({ ...item, row: row.id });
		at = item.from;
	}
	return found;
}, { name, kind, most });

/* placeOf - the middle of an item on the screen, { x, y }; its row is scrolled into view. */
export const placeOf = (page, item) => page.evaluate(async (item) => {
	const view = await import("/timeline/view.js");
	view.showRow(item.row);
	await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
	const entry = view.view.plan.byId.get(item.row);
	const lane = entry.lanes.find((l) => l.track === Number(item.id.split(".")[0]));
	const box = document.getElementById("canvas").getBoundingClientRect();
	const { from, to } = view.visible();
	const middle = (Math.max(item.from, from) + Math.min(item.to, to)) / 2;
	return { x: box.x + view.xOf(middle), y: box.y + view.topOf(entry) + lane.y + lane.height / 2 };
}, item);

/* canvasBox - where the timeline is on the screen. */
export const canvasBox = (page) => page.locator("#canvas").boundingBox();

/* timeAt - the time below @x of the screen. */
export const timeAt = (page, x) => page.evaluate(async (x) => (await import("/timeline/view.js"))
	.timeAt(x - document.getElementById("canvas").getBoundingClientRect().x), x);

/* selects - click on @item, and wait until it is the selection. */
export async function selects(page, item)
{
	const { x, y } = await placeOf(page, item);
	await page.mouse.click(x, y);
	await wait(page, `a click selects ${item.name || item.id}`,
		async (id) => (await import("/store.js")).state.selected?.id === id, item.id);
	await settled(page);
}

/* press - keys one after the other, each with its effect. */
export async function press(page, ...keys)
{
	for (const key of keys) {
		await page.keyboard.press(key);
		await still(page);
	}
}

/* fresh - the view as it was opened: everything, nothing selected, the focus on the canvas. */
export async function fresh(page)
{
	await page.evaluate(async () => {
		const { set } = await import("/store.js");
		set({ from: 0, to: 0, selected: null, area: null, marks: [], pinned: [], folded: [], hidden: [], rowFilter: "",
		      group: "process", path: null });
		(await import("/timeline/view.js")).view.current = -1;
		document.getElementById("canvas").focus();
	});
	await page.mouse.move(5, 500);
	await still(page);
}
