/* SPDX-License-Identifier: MIT */
/*
 * Spans and system calls say on the timeline what they are about: titles come when the view stands still, stay while
 * it moves, are in tooltips and saved pictures, and are text, whatever they are.
 */
import { blank, duet, fresh as directory, serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording, wait } from "./lib/test.mjs";
import { fresh, items, placeOf, press, still } from "./lib/steer.mjs";

const server = await serve(recording("web"));
const page = await server.open();
const spans = await items(page, "worker-1", "spans", 30), calls = await items(page, "worker-1", "syscalls", 60);
const longest = (list) => list.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);
const request = longest(spans), fsync = longest(calls.filter((c) => c.name === "fsync"));

const show = (of, item, room) => of.evaluate(async ([item, room]) => {
	const view = await import("/timeline/view.js");
	view.zoomTo(item.from - (item.to - item.from) * room, item.to + (item.to - item.from) * room);
	view.showRow(item.row);
}, [item, room]);
const titleOf = (of, item) => of.evaluate(async ([track, index]) =>
	(await import("/timeline/titles.js")).titleOf(track, index), item.id.split(".").map(Number));
const hasTitle = (of, item) => wait(of, `${item.name} has a title`, async ([track, index]) =>
	(await import("/timeline/titles.js")).titleOf(track, index), item.id.split(".").map(Number));
const texts = (of) => of.evaluate(async () => {
	const svg = (await import("/timeline/svg.js")).svgOfView();
	return [...new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll("text")].map((t) => t.textContent);
});

await cases(page, {
	async a_span_has_the_values_of_its_fields()
	{
		await show(page, request, 1);
		const title = await hasTitle(page, request);
		const item = await page.evaluate(async (id) => (await fetch(`/api/item?id=${id}`)).json(), request.id);
		is(title, item.fields.map(([, value]) => value.replace(/^"|"$/g, "")).join(" "), "the title");
		await still(page);
		ok((await texts(page)).includes(title), "the picture has it as a text of its own", await texts(page));
	},
	async a_call_has_its_file()
	{
		await show(page, fsync, 1);
		is(await hasTitle(page, fsync), "audit.log", "the title of fsync");
		await still(page);
		ok((await texts(page)).includes("audit.log"), "the picture has it");
	},
	async titles_stay_while_the_view_moves()
	{
		await show(page, fsync, 1);
		await hasTitle(page, fsync);
		for (let i = 0; i < 8; i++) {
			await press(page, i % 2 ? "s" : "w");
			ok((await texts(page)).includes("audit.log"), `after step ${i} of zooming`);
		}
	},
	async a_tooltip_has_the_title_of_what_is_too_short_for_it()
	{
		const other = await server.open();
		await fresh(other);
		const { x, y } = await placeOf(other, fsync);
		is(await titleOf(other, fsync), "", "it is too short to be asked for");
		await other.mouse.move(x, y);
		await wait(other, "the tooltip has the title", () => {
			const tip = document.getElementById("tooltip");
			return !tip.hidden && tip.querySelector("b").textContent === "fsync" && tip.querySelector(".title")?.textContent === "audit.log";
		});
		is(await other.problems.take(), [], "nothing is wrong");
		await other.context().close();
	},
	async hostile_titles_are_text()
	{
		const hostile = await serve(recording("hostile"));
		const other = await hostile.open();
		const row = await other.evaluate(async () => {
			const { recording } = await import("/recording.js");
			const tracks = [...recording.tracks.values()].filter((t) => t.kind === "syscalls");
			for (const t of tracks.slice(0, 40)) {
				const item = await (await fetch(`/api/next?track=${t.id}&at=-1&direction=1`)).json();
				const { titles } = item.id ? await (await fetch(`/api/titles?ids=${item.id}`)).json() : { titles: {} };
				if (titles[item.id]?.includes("<"))
					return item;
			}
			return null;
		});
		if (!ok(row, "there is a hostile title"))
			return;
		await show(other, row, 2);
		const title = await hasTitle(other, row);
		ok(title.includes("<"), "it is kept as it is", title);
		const { x, y } = await placeOf(other, row);
		await other.mouse.move(x, y);
		await wait(other, "the tooltip says it", (title) =>
			document.querySelector("#tooltip .title")?.textContent === title, title);
		is(await other.evaluate(() => [document.querySelector("#tooltip .title").children.length, "pwned" in window]),
			[0, false], "it is text, and nothing ran");
		ok((await texts(other)).some((t) => t.includes("<")), "and text of the picture");
		is(await other.problems.take(), [], "nothing is wrong");
		await other.context().close();
	},
	async the_one_file_has_titles_of_what_it_knows()
	{
		const path = `${directory("titles")}/one.html`;
		duet("ui", "--no-cache", "--html", path, recording("web"));
		const alone = await blank({ offline: true, origin: "file://", bypassCSP: true });
		await alone.goto(`file://${path}`);
		await settled(alone);
		const got = await alone.evaluate(async (ids) => (await import("duet/offline.js")).answer("/api/titles", { ids }),
			[request.id, fsync.id, "9999.1"]);
		is(got.titles, { [request.id]: await titleOf(page, request), [fsync.id]: "fd 5", "9999.1": "" }, "titles");
		await alone.context().close();
	},
});
