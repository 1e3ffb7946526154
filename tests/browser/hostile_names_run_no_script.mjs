/* SPDX-License-Identifier: MIT */
/*
 * 1000 strings that would run as markup, style, script or address are names of events, fields, processes, files,
 * spans, the host and the recording, and values of fields.  They are shown as text, everywhere, and nothing runs.
 */
import { blank, fresh as directory, serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording, wait } from "./lib/test.mjs";
import { press, still } from "./lib/steer.mjs";

const server = await serve(recording("hostile"));
const page = await server.open();

/* Elements that the page never makes, and attributes that run; and what each string would have set. */
const harm = () => page.evaluate(() => {
	const found = [...document.querySelectorAll("script:not([src='/main.js']), iframe, object, embed, base, meta[http-equiv], form, " +
		"link:not([rel='stylesheet']):not([rel='icon']), math, style, a[href^='javascript'], a[href^='data']")]
		.map((e) => e.outerHTML.slice(0, 100));
	for (const e of document.querySelectorAll("*"))
		for (const a of e.attributes)
			if (/^on/i.test(a.name) || (a.name === "src" && !["/main.js"].includes(a.value) && !a.value.startsWith("blob:")))
				found.push(`${e.tagName} ${a.name}`);
	if ("pwned" in window)
		found.push("a string ran");
	if (Object.prototype.pwned !== undefined || Object.keys(Object.prototype).length)
		found.push("Object.prototype was changed");
	return found;
});
const unharmed = async (what) => is(await harm(), [], `${what}: nothing of it is an element or ran`);

await cases(page, {
	async rows_have_hostile_names()
	{
		const title = await page.title();
		ok(title.includes("<img src=x onerror=window.pwned=1>"), "the recording's name is text of the title", title);
		const n = await page.evaluate(async () => (await import("/recording.js")).recording.rows.length);
		ok(n > 1000, "more than 1000 rows", n);
		for (let i = 0; i < 12; i++) {
			await page.mouse.move(600, 500);
			await page.mouse.wheel(0, 0);
			await page.evaluate(() => document.getElementById("timeline").scrollBy(0, 3000));
			await still(page);
		}
		await settled(page);
		await unharmed("rows");
	},
	async pictures_and_tooltips_have_hostile_names()
	{
		for (const share of [0.1, 0.3, 0.5]) {
			await page.evaluate(async (share) => {
				const { recording } = await import("/recording.js");
				(await import("/timeline/view.js")).zoomTo(recording.end * share, recording.end * (share + 0.002));
				document.getElementById("timeline").scrollTo(0, share * 20000);
			}, share);
			await settled(page);
			const box = await page.locator("#canvas").boundingBox();
			for (let y = 40; y < box.height - 20; y += 60)
				await page.mouse.move(box.x + box.width / 2 + y % 7, box.y + y);
			await still(page);
		}
		await unharmed("pictures");
	},
	async the_side_panel_has_hostile_names()
	{
		const n = await page.evaluate(async () => {
			const { recording } = await import("/recording.js");
			const { set } = await import("/store.js");
			const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
			const tracks = [...recording.tracks.values()].filter((t) => ["events", "spans", "syscalls", "states"].includes(t.kind));
			let n = 0;
			for (let i = 0; i < tracks.length; i += Math.ceil(tracks.length / 60)) {
				const t = tracks[i];
				const item = await (await fetch(`/api/next?track=${t.id}&at=-1&direction=1`)).json();
				if (!item.id)
					continue;
				set({ selected: { id: item.id, row: t.row, from: item.from, to: item.to } });
				await pause(60);
				n++;
			}
			return n;
		});
		ok(n > 30, "many items were selected", n);
		await settled(page);
		ok((await page.locator("#side").innerText()).length > 20, "the last one is shown");
		await unharmed("side panel");
	},
	async panels_have_hostile_names()
	{
		await page.evaluate(async () => {
			(await import("/store.js")).set({ from: 0, to: 0, selected: null });
			document.getElementById("canvas").focus();
		});
		for (const key of ["1", "2", "3", "4", "5"]) {
			await press(page, key);
			await settled(page, 250);
			if (key === "1")
				for (let i = 0; i < 10; i++) {
					await page.locator("[role=grid]").focus();
					await page.keyboard.press("PageDown");
				}
			if (key === "2")
				for (const name of ["Threads", "Processes", "System calls", "Spans", "Events", "CPUs"]) {
					const button = page.locator("#panel-statistics .choice button").filter({ hasText: name });
					if (await button.isVisible())
						await button.click();
				}
			if (key === "3") {
				const input = page.getByRole("combobox", { name: "name of spans or calls" });
				await input.fill("<img");
				await settled(page, 250);
				await input.press("Enter");
			}
			await settled(page);
			await unharmed(`panel ${key}`);
			await page.locator("#canvas").focus();
		}
	},
	async a_script_s_output_is_text()
	{
		await press(page, "5");
		const text = page.getByRole("textbox", { name: "script" });
		await text.fill("global n\nprobe syscall.openat { n[execname()]++ ; if (pid() < 2100) printf(\"%s <img src=x onerror=window.pwned=1>\\n\", execname()) }");
		await text.press("Control+Enter");
		await wait(page, "it printed", () => document.querySelector(".results")?.textContent.includes("onerror"));
		await unharmed("the script's output");
		await page.locator("#canvas").focus();
	},
	async search_offers_hostile_names_as_text()
	{
		await press(page, "/");
		for (const text of ["<img", "script", "javascript:", "__proto__", "constructor", "\u202e"]) {
			await page.locator("#palette input").fill(text);
			await settled(page, 150);
			ok(await page.locator("#palette [role=option]").count() > 0, `something is found for ${text}`);
			await unharmed(`search for ${text}`);
		}
		await page.keyboard.press("Escape");
	},
	async names_of_prototypes_are_names()
	{
		for (const name of ["__proto__", "constructor", "toString"]) {
			await page.evaluate(async (name) => (await import("/store.js")).set({ latencyName: name, panel: "latency", rowFilter: name }), name);
			await settled(page, 250);
		}
		await page.evaluate(async () => (await import("/store.js")).set({ rowFilter: "", filter: "$name == \"</script>\"", panel: "events" }));
		await settled(page, 250);
		await unharmed("names of prototypes");
	},
	async a_hostile_address_is_only_text()
	{
		const other = await server.open({}, "#filter=%3Cimg+src%3Dx+onerror%3Dwindow.pwned%3D1%3E&marks=5~%253Cimg%2520src%253Dx%253E&" +
			"script=%3C%2Ftextarea%3E%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E&" +
			"selected=__proto__&group=__proto__&panel=constructor&theme=javascript:1&from=NaN&to=-1&pinned=x.y");
		other.problems.allow(/400 \(Bad Request\)/);
		await settled(other, 250);
		const pwned = await other.evaluate(() => "pwned" in window || document.querySelectorAll("script:not([src='/main.js']), img").length > 0);
		is(pwned, false, "nothing of it ran");
		is((await other.problems.take()), [], "and nothing is wrong");
		await other.context().close();
	},
	async files_that_are_saved_run_nothing()
	{
		const [file] = await Promise.all([page.waitForEvent("download"), page.evaluate(async () =>
			(await import("/commands.js")).runCommand("save.svg"))]);
		const path = `${directory("hostile-saved")}/view.svg`;
		await file.saveAs(path);
		const viewer = await blank({ origin: "file://" });
		await viewer.goto(`file://${path}`);
		is(await viewer.evaluate(() => [...document.querySelectorAll("*")].filter((e) => /^(script|foreignObject|image|a|style)$/i.test(e.tagName) ||
			[...e.attributes].some((a) => /^on|href/i.test(a.name))).length), 0, "the SVG has no element that runs");
		is(await viewer.evaluate(() => "pwned" in window), false, "and nothing ran");
		const [html] = await Promise.all([page.waitForEvent("download"), page.evaluate(async () => {
			const { commands } = await import("/commands.js");
			commands().find((c) => c.id === "save.html").run();
		})]);
		const page2 = `${directory("hostile-saved")}/one.html`;
		await html.saveAs(page2);
		const alone = await blank({ offline: true, origin: "file://" });
		await alone.goto(`file://${page2}`);
		await settled(alone);
		await alone.mouse.move(600, 300);
		await still(alone);
		is(await alone.evaluate(() => "pwned" in window), false, "nothing of the one file ran");
		is(await alone.problems.take(), [], "and nothing is wrong with it");
		await alone.context().close();
	},
});
