/* SPDX-License-Identifier: MIT */
/* Zoom, pan, fit, marks, selection, areas, rows, undo and links: each by mouse and by keyboard. */
import { serve, settled } from "./lib/browser.mjs";
import { cases, is, near, ok, recording, wait } from "./lib/test.mjs";
import {
	canvasBox, fresh, items, placeOf, press, rowId, selects, shown, state, still, timeAt,
} from "./lib/steer.mjs";

const server = await serve(recording("web"));
const page = await server.open();
const box = await canvasBox(page);
const all = await shown(page);
const span = ({ from, to }) => to - from;
const at = (share) => ({ x: box.x + box.width * share, y: box.y + box.height / 2 });

const labels = () => page.locator("#labels [role=treeitem] .name").allTextContents();
const label = (name) => page.locator("#labels [role=treeitem]").filter({ has: page.getByText(name, { exact: true }) });

await cases(page, {
	async rows_of_cpus_processes_and_threads_are_shown()
	{
		const names = await labels();
		is(names.slice(0, 3), ["CPUs", "CPU 0", "CPU 1"], "CPUs come first");
		for (const name of ["web", "worker-1", "worker-4", "logd", "Disks", "vda"])
			ok(names.includes(name), `there is a row ${name}`, names);
		is(new URL(page.url()).search, "", "the token is gone from the address");
		ok((await page.title()).includes("web"), "the title names the recording");
	},
	async w_and_s_zoom_at_the_pointer()
	{
		await fresh(page);
		await page.mouse.move(at(0.25).x, at(0.25).y);
		await still(page);
		const before = await timeAt(page, at(0.25).x);
		await press(page, "w", "w", "w");
		const now = await shown(page);
		ok(span(now) < span(all) / 3, "w makes the visible time shorter", now);
		near(await timeAt(page, at(0.25).x), before, span(now) / 500, "the time at the pointer stays");
		await press(page, "s", "s", "s", "s");
		is(await shown(page), all, "s shows all again");
	},
	async the_wheel_zooms_at_the_pointer()
	{
		await fresh(page);
		await page.mouse.move(at(0.75).x, at(0.75).y);
		const before = await timeAt(page, at(0.75).x);
		for (let i = 0; i < 5; i++)
			await page.mouse.wheel(0, -240);
		await wait(page, "the wheel zooms", async (least) => {
			const { from, to } = (await import("/timeline/view.js")).visible();
			return to - from < least;
		}, span(all) / 5);
		await still(page);
		near(await timeAt(page, at(0.75).x), before, span(await shown(page)) / 100, "the time at the pointer stays");
	},
	async a_and_d_go_left_and_right()
	{
		await fresh(page);
		await press(page, "w", "w");
		const before = await shown(page);
		await press(page, "d");
		const right = await shown(page);
		ok(right.from > before.from, "d goes later");
		near(span(right), span(before), 2, "the span stays");
		await press(page, "a", "a");
		ok((await shown(page)).from < before.from, "a goes earlier");
		await press(page, "Home");
		is((await shown(page)).from, 0, "Home goes to the begin");
		await press(page, "End");
		is((await shown(page)).to, all.to, "End goes to the end");
	},
	async dragging_and_the_sideways_wheel_pan()
	{
		await fresh(page);
		await press(page, "w", "w");
		const before = await shown(page), under = await timeAt(page, at(0.5).x);
		await page.mouse.move(at(0.5).x, at(0.5).y);
		await page.mouse.down();
		await page.mouse.move(at(0.6).x, at(0.5).y, { steps: 4 });
		await page.mouse.move(at(0.7).x, at(0.5).y, { steps: 4 });
		await page.mouse.up();
		await still(page);
		near(await timeAt(page, at(0.7).x), under, span(before) / 200, "what was taken is under the pointer");
		is(await state(page, "selected"), null, "a drag selects nothing");
		const dragged = await shown(page);
		await page.keyboard.down("Shift");
		await page.mouse.wheel(0, 200);
		await page.keyboard.up("Shift");
		await wait(page, "shift and wheel pan", async (from) => (await import("/timeline/view.js")).visible().from > from,
			dragged.from);
	},
	async the_overview_moves_the_view()
	{
		await fresh(page);
		await press(page, "w", "w", "w");
		const before = await shown(page);
		const strip = await page.locator("#overview-canvas").boundingBox();
		const scale = strip.width / span(all);
		const right = await page.evaluate(() => document.getElementById("canvas").getBoundingClientRect().x);
		/* The strip's time axis begins where the rows' does. */
		const x = (ns) => right + ns / span(all) * (strip.x + strip.width - right);
		await page.mouse.move(x((before.from + before.to) / 2), strip.y + strip.height / 2);
		await page.mouse.down();
		await page.mouse.move(x((before.from + before.to) / 2) + 120, strip.y + strip.height / 2, { steps: 5 });
		await page.mouse.up();
		await still(page);
		const dragged = await shown(page);
		ok(dragged.from > before.from && Math.abs(span(dragged) - span(before)) < span(before) / 50,
			"the frame is dragged", { before, dragged, scale });
		await page.locator("#overview-canvas").focus();
		await press(page, "ArrowRight");
		ok((await shown(page)).from > dragged.from, "the arrow keys move it");
	},
	async a_click_selects_and_f_fits()
	{
		await fresh(page);
		const [span2] = (await items(page, "worker-1", "spans")).slice(1);
		await selects(page, span2);
		is((await state(page, "selected")).row, await rowId(page, "worker-1"), "its row is selected");
		await press(page, "f");
		const now = await shown(page);
		ok(now.from < span2.from && now.to > span2.to && span(now) < 2 * span(span2), "f fits the selection", now);
		await press(page, "f");
		is(await shown(page), all, "f again shows everything");
		await press(page, "Escape");
		is(await state(page, "selected"), null, "Escape clears the selection");
		const { x, y } = await placeOf(page, span2);
		await page.mouse.dblclick(x, y);
		await wait(page, "a double click zooms to it", async (most) => {
			const { from, to } = (await import("/timeline/view.js")).visible();
			return to - from < most;
		}, 2 * span(span2));
		await press(page, "Escape", "0");
		is(await shown(page), all, "0 shows everything");
	},
	async full_stop_and_comma_go_through_a_row()
	{
		await fresh(page);
		const spans = await items(page, "worker-3", "syscalls", 6);
		await selects(page, spans[0]);
		const seen = [spans[0].from];
		for (let i = 0; i < 8; i++) {
			await press(page, ".");
			await settled(page, 30);
			seen.push((await state(page, "selected")).from);
		}
		ok(seen.every((t, i) => !i || t > seen[i - 1]), "each next one begins later", seen);
		for (let i = 7; i >= 0; i--) {
			await press(page, ",");
			await settled(page, 30);
			is((await state(page, "selected")).from, seen[i], "comma goes back the same way");
		}
	},
	async the_arrow_keys_choose_rows_and_enter_opens()
	{
		await fresh(page);
		await press(page, "ArrowDown", "ArrowDown");
		is(await page.locator("#labels .chosen .name").allTextContents(), ["CPU 0"], "down twice is the second row");
		await press(page, ".");
		await settled(page, 30);
		is((await state(page, "selected"))?.row, await rowId(page, "CPU 0"), "full stop selects its first item");
		await press(page, "Enter");
		ok(span(await shown(page)) < span(all) / 2, "Enter zooms to it");
	},
	async m_marks_a_time()
	{
		await fresh(page);
		await page.mouse.move(at(0.4).x, at(0.4).y);
		await still(page);
		const time = await timeAt(page, at(0.4).x);
		await press(page, "m");
		await page.mouse.move(at(0.6).x, at(0.4).y);
		await still(page);
		await press(page, "m");
		const marks = await state(page, "marks");
		is(marks.map((m) => m.text), ["A", "B"], "two marks");
		near(marks[0].at, time, 2, "where the pointer was");
		await press(page, "Shift+M");
		is((await state(page, "marks")).map((m) => m.text), ["A"], "shift m removes the nearest");
	},
	async an_area_is_drawn_or_made_of_what_is_selected()
	{
		await fresh(page);
		const [first] = await items(page, "worker-2", "spans", 2);
		const { y } = await placeOf(page, first);
		await page.keyboard.down("Shift");
		await page.mouse.move(at(0.2).x, y);
		await page.mouse.down();
		await page.mouse.move(at(0.3).x, y, { steps: 3 });
		await page.mouse.move(at(0.5).x, y, { steps: 3 });
		await page.mouse.up();
		await page.keyboard.up("Shift");
		await still(page);
		const area = await state(page, "area");
		near(area.from, span(all) * 0.2, span(all) / 200, "it begins where the drag did");
		near(area.to, span(all) * 0.5, span(all) / 200, "it ends where the drag did");
		is(area.rows, [await rowId(page, "worker-2")], "of the row that was touched");
		await page.mouse.move(at(0.6).x, box.y + 10);
		await page.mouse.down();
		await page.mouse.move(at(0.8).x, box.y + 10, { steps: 4 });
		await page.mouse.up();
		await still(page);
		is((await state(page, "area")).rows, [], "on the axis it is of all rows");
		await selects(page, first);
		await press(page, "Shift+A");
		const made = await state(page, "area");
		is([made.from, made.to, made.rows], [first.from, first.to, [first.row]], "shift a makes one of the selection");
		await press(page, "Shift+V");
		is((await state(page, "area")).rows, [], "shift v makes one of what is visible");
	},
	async rows_are_folded_and_unfolded()
	{
		await fresh(page);
		await label("web").first().locator(".fold").click();
		await still(page);
		ok(!(await labels()).includes("worker-1"), "a click folds a process");
		await label("web").first().locator(".fold").click();
		await still(page);
		ok((await labels()).includes("worker-1"), "a click unfolds it");
		await page.locator("#canvas").focus();
		await fresh(page);
		await press(page, "ArrowDown", "ArrowLeft");
		ok(!(await labels()).includes("CPU 0"), "left folds the row");
		await press(page, "ArrowRight");
		ok((await labels()).includes("CPU 0"), "right unfolds it");
		await press(page, "[");
		ok(!(await labels()).some((n) => ["CPU 0", "worker-1"].includes(n)), "[ folds all");
		await press(page, "]");
		ok((await labels()).includes("worker-1"), "] unfolds all");
	},
	async rows_are_pinned_and_hidden()
	{
		await fresh(page);
		await label("worker-2").hover();
		await label("worker-2").getByRole("button", { name: /^Pin/ }).click();
		await still(page);
		const id = await rowId(page, "worker-2");
		is(await state(page, "pinned"), [id], "the button pins");
		const first = await page.evaluate(() => [...document.querySelectorAll("#labels [role=treeitem]")]
			.sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)[0].querySelector(".name").textContent);
		is(first, "worker-2", "a pinned row is the first");
		await label("worker-2").first().click();
		await press(page, "p");
		is(await state(page, "pinned"), [], "p takes it back");
		await press(page, "h");
		ok(!(await labels()).includes("worker-2"), "h hides a row");
		await label("worker-3").hover();
		await label("worker-3").getByRole("button", { name: /^Hide/ }).click();
		await still(page);
		ok(!(await labels()).includes("worker-3"), "the button hides a row");
		await press(page, "Shift+H");
		ok((await labels()).includes("worker-2") && (await labels()).includes("worker-3"), "shift h shows them again");
	},
	async rows_are_filtered_and_grouped()
	{
		await fresh(page);
		await press(page, "r");
		await page.keyboard.type("worker-3");
		await still(page);
		const found = await labels();
		ok(found.includes("worker-3") && !found.includes("worker-1"), "the filter leaves what matches", found);
		await press(page, "Escape");
		ok((await labels()).includes("worker-1"), "Escape ends the filter");
		await page.locator("#row-filter").click();
		await page.keyboard.type("4072");
		await still(page);
		ok((await labels()).includes("worker-4") && !(await labels()).includes("worker-1"), "a number is an id");
		await press(page, "Escape", "g");
		is(await state(page, "group"), "cpu", "g groups by CPU");
		await settled(page);
		const names = await labels();
		ok(names.indexOf("worker-1") > names.indexOf("CPU 0") && names.indexOf("worker-1") >= 0,
			"threads stand below CPUs", names);
		await press(page, "g");
		ok(!(await page.locator("#labels .head .name").allTextContents()).includes("web"), "not grouped: no processes");
		await press(page, "g");
		is(await state(page, "group"), "process", "and by process again");
	},
	async undo_goes_back_step_by_step()
	{
		await fresh(page);
		await press(page, "w", "w");
		const zoomed = await shown(page);
		const [first] = await items(page, "logd", "syscalls", 2);
		const { x, y } = await placeOf(page, { ...first, from: zoomed.from, to: zoomed.to });
		await page.mouse.click(x, y);
		await wait(page, "something is selected", async () => (await import("/store.js")).state.selected);
		await press(page, "z");
		is(await state(page, "selected"), null, "z undoes the selection");
		is(await shown(page), zoomed, "and nothing else");
		await press(page, "z");
		is(await shown(page), all, "z again undoes the zoom");
		await press(page, "Shift+Z", "Control+Shift+Z");
		ok(await state(page, "selected"), "redo brings both back");
	},
	async a_link_shows_the_same()
	{
		await fresh(page);
		const [, second] = await items(page, "worker-2", "spans", 3);
		await selects(page, second);
		await press(page, "f", "w", "p", "m");
		await label("logd").first().click();
		await press(page, "h");
		await wait(page, "the address holds the state", () => location.hash.includes("hidden"));
		const keys = ["from", "to", "selected", "marks", "pinned", "hidden", "group", "panel"];
		const wanted = await state(page, ...keys);
		const other = await server.open({}, new URL(page.url()).hash);
		is(await state(other, ...keys), { ...wanted, from: Math.round(wanted.from), to: Math.round(wanted.to) },
			"the state is the same");
		await other.context().close();
		await page.goBack();
		await still(page);
		ok((await page.locator("#labels .name").allTextContents()).includes("logd"), "the browser's back is a step back");
	},
	async the_theme_is_chosen()
	{
		const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const system = await background();
		await page.locator("[data-command='theme.next']").click();
		await still(page);
		const seen = new Set([system, await background()]);
		await page.locator("[data-command='theme.next']").click();
		await still(page);
		seen.add(await background());
		is(seen.size, 2, "there are two themes");
		await page.locator("[data-command='theme.next']").click();
		await still(page);
		is(await background(), system, "and that of the system again");
	},
});
