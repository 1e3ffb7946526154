/* SPDX-License-Identifier: MIT */
/* Search and commands, the event table, statistics, latency, flame graph, scripts, why, saving: by mouse and keyboard. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { blank, duet, fresh as directory, serve, settled } from "./lib/browser.mjs";
import { cases, is, near, ok, recording, until, wait } from "./lib/test.mjs";
import { canvasBox, fresh, items, press, rowId, selects, shown, state, still } from "./lib/steer.mjs";

const made = recording("web");
const server = await serve(made);
const page = await server.open();
const all = await shown(page);
const events = duet("view", "--json", made).trim().split("\n").map(JSON.parse)
	.filter((e) => !e.event?.startsWith("lttng_statedump_")); /* as `duet view` shows it */

const side = page.locator("#side");
const tab = (name) => page.getByRole("tab", { name });
const option = (text) => page.locator("#palette [role=option]").filter({ hasText: text });
const gridRows = () => page.locator(".grid-row:visible").evaluateAll((rows) => rows.map((r) =>
	[...r.children].map((c) => c.textContent)));

/* download - the file that @action makes the page save. */
async function download(action)
{
	const [file] = await Promise.all([page.waitForEvent("download"), action()]);
	const path = `${directory("saved")}/${file.suggestedFilename()}`;
	await file.saveAs(path);
	return path;
}

/* saved - by the menu Save, its entry @title. */
const saved = (title) => download(async () => {
	await page.locator("#top-save").click();
	await page.getByRole("menuitem", { name: new RegExp(`^${title}`) }).click();
});

await cases(page, {
	async search_finds_rows_names_and_items()
	{
		await fresh(page);
		await press(page, "/");
		await page.keyboard.type("fsync");
		await option("fsync").first().waitFor();
		await wait(page, "the nearest are offered", () => [...document.querySelectorAll("#palette .palette-group")]
			.some((g) => g.textContent === "Nearest"));
		const n = await page.evaluate(() => [...document.querySelectorAll("#palette [role=option]")]
			.findIndex((o) => o.textContent.includes("fsync") && o.textContent.includes("worker-")));
		for (let i = 0; i < n; i++)
			await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await wait(page, "Enter selects it", async () => (await import("/store.js")).state.selected);
		await side.getByRole("heading", { name: /^fsync/ }).waitFor();
		await press(page, "Escape");
		await page.locator("#top-search").click();
		await page.keyboard.type("worker-4");
		await option(/^worker-4 \d+thread$/).first().click(); /* not an item of it, as the search before had */
		await wait(page, "a click on a row goes there", async (id) => (await import("/timeline/view.js")).view.current === id,
			await rowId(page, "worker-4"));
		await press(page, "Control+k");
		ok(await page.locator("#palette").isVisible(), "Ctrl K opens it");
		await page.keyboard.press("Escape");
		ok(await page.locator("#palette").isHidden(), "Escape closes it");
	},
	async every_command_is_found_by_its_name()
	{
		await fresh(page);
		const titles = await page.evaluate(async () => {
			const { canRun, commands } = await import("/commands.js");
			return commands().filter((c) => canRun(c) && c.id !== "palette.open").map((c) => c.title);
		});
		ok(titles.length > 40, "there are many", titles.length);
		await press(page, "Control+Shift+P");
		const missing = [];
		for (const title of titles) {
			await page.locator("#palette input").fill(title);
			const texts = await page.locator("#palette .option-text").allTextContents();
			if (!texts.includes(title))
				missing.push(title);
		}
		is(missing, [], "the palette has them all");
		await page.keyboard.press("Escape");
	},
	async help_lists_every_command()
	{
		await fresh(page);
		await press(page, "?");
		const dialog = page.locator("#help-dialog");
		const text = await dialog.innerText();
		const titles = await page.evaluate(async () => (await import("/commands.js")).commands().map((c) => c.title));
		is(titles.filter((t) => !text.includes(t)), [], "all commands are listed");
		await page.keyboard.press("Escape");
		ok(await dialog.isHidden(), "Escape closes it");
		await page.locator("[data-command='help.open']").click();
		ok(await dialog.isVisible(), "the button opens it");
		await dialog.getByRole("button", { name: "Close" }).click();
		ok(await dialog.isHidden(), "and its button closes it");
	},
	async the_event_table_has_all_events()
	{
		await fresh(page);
		await press(page, "1");
		await settled(page);
		const first = await gridRows();
		is(first.slice(0, 5).map((r) => r[4]), events.slice(0, 5).map((e) => e.event), "the first events are those of duet view");
		is(first.slice(0, 5).map((r) => Number(r[2])), events.slice(0, 5).map((e) => e.cpu), "and their CPUs");
		await page.locator("[role=grid]").focus();
		await page.keyboard.press("End");
		await settled(page);
		await still(page);
		const last = (await gridRows()).at(-1);
		is([last[4], Number(last[2])], [events.at(-1).event, events.at(-1).cpu], "End shows the last one");
		await page.keyboard.press("Home");
		await settled(page);
	},
	async table_and_timeline_go_together()
	{
		await fresh(page);
		const [, second] = await items(page, "worker-2", "spans", 3);
		await selects(page, second);
		await settled(page);
		await wait(page, "the table shows its begin", () =>
			[...document.querySelectorAll(".grid-row.current")].some((r) => r.textContent.includes("web:request_begin")));
		const row = page.locator(".grid-row:visible").filter({ hasText: "worker-" }).first();
		await row.click();
		await wait(page, "a click in the table selects there", async (id) => {
			const { selected } = (await import("/store.js")).state;
			return selected && selected.id !== id;
		}, second.id);
		await page.locator("[role=grid]").focus();
		const current = () => document.querySelector("[role=grid] [aria-selected=true], .grid-row.current")?.textContent || "";
		const before = await page.evaluate(current);
		await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
		await wait(page, "the arrow keys do too", (old) => {
			const now = document.querySelector("[role=grid] [aria-selected=true], .grid-row.current")?.textContent;
			return now && now !== old;
		}, before);
		await press(page, "Enter");
		await settled(page);
	},
	async the_table_is_filtered()
	{
		await fresh(page);
		await press(page, "Shift+F");
		await wait(page, "the filter has the focus", () => document.activeElement.matches("#lower input"));
		await page.keyboard.type("id == 203");
		await page.keyboard.press("Enter");
		await wait(page, "only those are shown", () => [...document.querySelectorAll(".grid-row:not([hidden])")]
			.every((r) => r.textContent.includes("id = 203")));
		await settled(page);
		const wanted = events.filter((e) => e.fields?.id === 203 || e.payload?.id === 203).length;
		const rows = await gridRows();
		ok(rows.length >= 2 && (!wanted || rows.length === wanted), "the events with this field", { n: rows.length, wanted });
		page.problems.allow(/400 \(Bad Request\)/);
		const input = page.getByRole("searchbox", { name: "filter of the event table" });
		await input.fill("id == = 4");
		await input.press("Enter");
		const problem = page.locator(".filter-problem");
		await problem.waitFor();
		ok((await problem.innerText()).split("\n")[1].indexOf("^") > 0, "a wrong filter is pointed at", await problem.innerText());
		await input.fill("");
		await input.press("Enter");
		await problem.waitFor({ state: "hidden" });
	},
	async statistics_are_of_the_visible_time_or_an_area()
	{
		await fresh(page);
		await press(page, "2");
		const table = page.locator("#panel-statistics table");
		await table.waitFor();
		await page.getByRole("button", { name: /^System calls/ }).click();
		const calls = await table.locator("tbody tr").evaluateAll((rows) => rows.map((r) => r.children[0].textContent));
		for (const call of ["fsync", "futex", "clock_nanosleep", "epoll_wait"])
			ok(calls.includes(call), `there is ${call}`, calls);
		const [, second] = await items(page, "worker-3", "spans", 3);
		await selects(page, second);
		await press(page, "Shift+A");
		await settled(page);
		await page.getByRole("button", { name: /^Threads/ }).click();
		is(await table.locator("tbody tr").evaluateAll((rows) => rows.map((r) => r.children[0].textContent)),
			["worker-3 4071"], "of an area: its thread alone");
		ok((await side.innerText()).length > 40, "the side panel sums the area up");
		await press(page, "Escape");
	},
	async latency_shows_the_slowest()
	{
		await fresh(page);
		const [, second] = await items(page, "worker-1", "spans", 3);
		await selects(page, second);
		await side.getByRole("button", { name: "Their latency" }).click();
		const rows = page.locator("#panel-latency tbody tr");
		await rows.first().waitFor();
		is(await rows.count(), 56, "all 56 requests are listed");
		await press(page, "Escape");
		await rows.first().getByRole("button").or(rows.first().getByRole("link")).first().click();
		await wait(page, "a click selects the slowest", async () => (await import("/store.js")).state.selected);
		await settled(page);
		ok((await side.innerText()).includes("no. 1 of 56"), "it is the first by length", await side.innerText());
		const input = page.getByRole("combobox", { name: "name of spans or calls" });
		await input.fill("fsync");
		await input.press("Enter");
		await settled(page, 400);
		await wait(page, "another name has another list", () =>
			document.querySelector("#panel-latency dl")?.textContent.includes("number17") || undefined);
	},
	async the_flame_graph_is_of_time_on_or_off_a_cpu()
	{
		await fresh(page);
		await press(page, "4");
		await settled(page, 400);
		const summary = () => page.locator("#panel-flame").evaluate(() => document.querySelector(".tabs .panel-bar:not([hidden])").textContent);
		ok((await summary()).includes("on CPUs"), "on CPUs", await summary());
		await page.getByRole("button", { name: "off CPU" }).click();
		await settled(page, 400);
		ok((await summary()).includes("off CPUs"), "off CPUs");
		await page.locator("#panel-flame canvas").focus();
		await press(page, "ArrowDown", "ArrowDown", "Enter");
		const told = await page.locator("#announcement").innerText();
		ok(told.includes("of all"), "the keys walk through it", told);
		const canvas = await page.locator("#panel-flame canvas").boundingBox();
		await press(page, "Backspace");
		await page.mouse.click(canvas.x + 40, canvas.y + 30);
		await page.getByRole("button", { name: "Zoom out" }).click();
	},
	async a_script_runs_over_the_recording()
	{
		await fresh(page);
		await press(page, "5");
		const text = page.getByRole("textbox", { name: "script" });
		await text.fill("global n\nprobe syscall.fsync { n[execname()] <<< 1 }\nprobe end { foreach (p in n) printf(\"%s %d\\n\", p, @count(n[p])) }");
		await text.press("Control+Enter");
		const results = page.locator(".results");
		await wait(page, "it printed", () => document.querySelector(".results")?.textContent.includes("worker-1"));
		await text.fill("probe syscall.fsync {\n\tprintf(\"%d\\n\", nothing_known())\n}");
		await page.getByRole("button", { name: "Run", exact: true }).click();
		await results.getByRole("alert").waitFor();
		ok((await results.innerText()).includes("nothing_known"), "an error names its place", await results.innerText());
	},
	async why_is_answered_and_its_path_drawn()
	{
		await fresh(page);
		const spans = await items(page, "worker-4", "spans", 30);
		const slowest = spans.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);
		await selects(page, slowest);
		await side.locator("ul.why").first().waitFor();
		const words = await side.locator("ul.why").first().innerText();
		ok(/blocked in (futex|fsync)/.test(words), "the reasons are sentences", words);
		await side.getByRole("button", { name: "Show the critical path" }).click();
		const path = await state(page, "path");
		ok(path?.length > 1, "the path is drawn", path);
		await page.locator("#canvas").focus();
		await press(page, "c");
		is(await state(page, "path"), null, "c hides it");
		await press(page, "c");
		ok(await state(page, "path"), "c shows it");
		await press(page, "f", "d", "d", "d", "d");
		await side.locator("ul.why button").first().click();
		await still(page);
		const now = await shown(page), time = await state(page, "cursor");
		ok(now.from <= time && time <= now.to && time >= slowest.from && time <= slowest.to, "a sentence leads to its time", { now, time });
	},
	async fields_and_causes_of_what_is_selected_are_shown()
	{
		await fresh(page);
		const calls = (await items(page, "worker-1", "syscalls", 30)).filter((i) => i.name === "fsync");
		await selects(page, calls[0]);
		const text = await side.innerText();
		ok(text.includes("audit.log"), "the object of a system call", text);
		ok(/fd/.test(text), "its fields", text);
		const waits = (await items(page, "worker-1", "states", 60));
		let woken = null;
		for (const s of waits.slice(5, 25)) {
			await selects(page, s);
			if ((await side.innerText()).toUpperCase().includes("WHAT WOKE IT"))
				woken = s;
			if (woken)
				break;
		}
		ok(woken, "what woke a blocked state");
	},
	async the_regions_are_moved()
	{
		await fresh(page);
		const height = async () => (await page.locator("#lower").boundingBox()).height;
		const width = async () => (await page.locator("#side").boundingBox()).width;
		const before = [await height(), await width()];
		await page.locator("#lower-split").focus();
		await press(page, "ArrowUp", "ArrowUp");
		ok(await height() > before[0], "up makes the lower panel higher");
		const split = await page.locator("#side-split").boundingBox();
		await page.mouse.move(split.x + 1, split.y + 200);
		await page.mouse.down();
		await page.mouse.move(split.x - 80, split.y + 200, { steps: 4 });
		await page.mouse.up();
		await still(page);
		near(await width(), before[1] + 80, 6, "a drag makes the side panel wider");
		await page.locator("#canvas").focus();
		await press(page, "\\");
		ok(await height() < 60, "the lower panel folds");
		await press(page, "\\");
		ok(await height() > before[0], "and unfolds");
		for (const id of ["lower", "side"]) {
			const b = await page.locator(`#${id}-split`).boundingBox();
			await page.mouse.dblclick(b.x + b.width / 2, b.y + b.height / 2);
		}
		await still(page);
		near(await height(), before[0], 1, "a double click takes the height back");
		await tab("Events").click();
		await still(page);
	},
	async pictures_of_the_view_are_saved()
	{
		await fresh(page);
		const png = fs.readFileSync(await saved("PNG"));
		is(png.subarray(1, 4).toString(), "PNG", "a PNG");
		const box = await canvasBox(page);
		ok(png.readUInt32BE(16) >= box.width, "as wide as the view");
		const svg = fs.readFileSync(await saved("SVG"), "utf8");
		ok(svg.startsWith("<?xml") || svg.startsWith("<svg"), "an SVG");
		ok(svg.includes("worker-1") && svg.includes("CPU 0"), "with its rows as text");
		const viewer = await blank();
		await viewer.setContent(`<img src="data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}">`);
		ok(await viewer.evaluate(async () => {
			const image = document.querySelector("img");
			await image.decode();
			return image.naturalWidth > 200;
		}), "which browsers show");
		await viewer.context().close();
	},
	async the_selection_is_exported_for_other_tools()
	{
		await fresh(page);
		const csv = fs.readFileSync(await saved("CSV"), "utf8").trim().split("\n");
		near(csv.length, events.length + 1, 9, "CSV has all events");
		ok(fs.statSync(await saved("Perfetto")).size > 4000, "Perfetto has data");
		const tar = await saved("CTF");
		const to = directory("ctf");
		execFileSync("tar", ["-xf", tar, "-C", to]);
		const view = duet("view", to).trim().split("\n").length;
		near(view, events.length, 12, "the CTF recording has the same events");
		await page.keyboard.press("Control+s");
		await page.keyboard.press("ArrowDown");
		ok(await page.locator("#save-menu").isVisible(), "Ctrl S opens the menu");
		await page.keyboard.press("Escape");
		ok(await page.locator("#save-menu").isHidden(), "Escape closes it");
	},
	async one_file_opens_without_duet()
	{
		await fresh(page);
		const file = await saved("One HTML file");
		const alone = await blank({ offline: true, origin: "file://" });
		await alone.goto(`file://${file}`);
		await settled(alone);
		const names = await alone.locator("#labels .name").allTextContents();
		ok(names.includes("worker-1") && names.includes("CPU 0"), "it has the rows", names);
		await alone.locator("#labels [role=treeitem]").filter({ hasText: "worker-1" }).click();
		await alone.locator("#canvas").focus();
		await alone.keyboard.press(".");
		await wait(alone, "full stop selects", () => window.duet.state.selected);
		await settled(alone);
		ok((await alone.locator("#side").innerText()).includes("worker-1"), "a selection is described");
		for (const key of ["1", "2", "3", "4"]) {
			await alone.locator("#canvas").focus();
			await press(alone, key);
			await settled(alone, 250);
		}
		is(await alone.locator("#notices .error").count(), 0, "and no panel fails");
		is(await alone.problems.take(), [], "nothing is reported as wrong");
		await alone.context().close();
	},
});
