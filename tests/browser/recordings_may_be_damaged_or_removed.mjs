/* SPDX-License-Identifier: MIT */
/*
 * What the page shows of a damaged recording, of several at once, while a recording is indexed, after it was removed,
 * and after the server ended.
 */
import fs from "node:fs";
import { duet, fresh as directory, serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording, sleep, until, wait } from "./lib/test.mjs";
import { items, press, selects, state, still } from "./lib/steer.mjs";

const server = await serve(recording("damaged"));
const page = await server.open();
const labels = (p) => p.locator("#labels .name").allTextContents();

await cases(page, {
	async a_damaged_recording_shows_its_good_part_and_names_the_rest()
	{
		const names = await labels(page);
		for (const name of ["CPU 0", "CPU 1", "worker-1", "logd"])
			ok(names.includes(name), `the row ${name} is there`, names);
		const text = await page.locator("#side").innerText();
		ok(/damage/i.test(text) && text.includes("kernel/cpu_1"), "the damaged file is named", text);
		const { events } = await page.evaluate(async () => (await import("/recording.js")).recording);
		const counted = Number(duet("stats", recording("damaged")).match(/^(\d+) events/)[1]);
		is(events, counted, "as many events as duet stats reads");
		ok((await items(page, "worker-1", "syscalls")).length > 10, "the good part has its calls");
	},
	async losses_are_shown_at_the_top()
	{
		const lossy = await serve(recording("lossy"));
		const other = await lossy.open();
		ok((await other.locator("#top-counts").innerText()).includes("57 lost"), "their number");
		is(await other.locator("#top-counts .lost").count(), 1, "in the colour of losses");
		await other.context().close();
		is(await lossy.end(), 0, "the server ends well");
	},
	async several_recordings_share_one_axis()
	{
		const copy = `${directory("second")}/backend`;
		fs.cpSync(recording("lossy"), copy, { recursive: true });
		for (const half of ["kernel", "ust"]) {
			const file = `${copy}/${half}/metadata`;
			fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace('hostname = "host"', 'hostname = "other"'));
		}
		const both = await serve(recording("damaged"), copy);
		const other = await both.open();
		const rows = await other.evaluate(async () => (await import("/recording.js")).recording.rows
			.map((r) => [r.kind, r.name]));
		is(rows.filter(([kind]) => kind === "host").map(([, name]) => name).sort(), ["host", "other"], "two hosts");
		is(rows.filter(([kind]) => kind === "cpu").length, 4, "each has its CPUs");
		is(await other.problems.take(), [], "nothing is wrong");
		await other.context().close();
		await both.end();
	},
	async a_page_may_be_reloaded_at_any_time()
	{
		const copy = `${directory("reload")}/web`;
		fs.cpSync(recording("lossy"), copy, { recursive: true });
		const fresh = await serve(copy, "--no-cache");
		const other = await fresh.open();
		const before = await labels(other);
		await press(other, "w", "w");
		await wait(other, "the address has it", () => location.hash.length > 3);
		const { from, to } = await state(other, "from", "to");
		for (let i = 0; i < 4; i++)
			await other.reload({ waitUntil: "commit" });
		await settled(other);
		is(await labels(other), before, "the same rows");
		is(await state(other, "from", "to"), { from: Math.round(from), to: Math.round(to) }, "the same time");
		ok(!fs.readdirSync(copy).some((f) => /index|\.duet/.test(f)), "no index was kept");
		is(await other.problems.take(), [], "nothing is wrong");
		await other.context().close();
		await fresh.end();
	},
	async a_removed_recording_stays_on_the_screen()
	{
		const copy = `${directory("removed")}/web`;
		fs.cpSync(recording("lossy"), copy, { recursive: true });
		const fresh = await serve(copy, "--no-cache");
		const other = await fresh.open();
		const spans = await items(other, "worker-1", "spans", 4);
		fs.rmSync(copy, { recursive: true });
		other.problems.allow(/status of [45]\d\d/);
		await press(other, "w", "s");
		await selects(other, spans[1]);
		await press(other, "2");
		await settled(other);
		ok((await labels(other)).includes("worker-1"), "rows and picture are still there");
		ok((await other.locator("#side").innerText()).length > 20, "a selection is still shown");
		is(await other.problems.take(), [], "nothing else is wrong");
		await other.context().close();
		is(await fresh.end(), 0, "the server ends well");
	},
	async a_page_outlives_its_server()
	{
		const fresh = await serve(recording("lossy"));
		const other = await fresh.open();
		other.problems.allow(/ERR_CONNECTION_REFUSED|Failed to fetch|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE/);
		await fresh.end("SIGKILL");
		await press(other, "2", "w", "w");
		await until(async () => (await other.locator("#notices").innerText()).length > 10, "the page says so");
		ok((await labels(other)).includes("worker-1"), "the rows stay");
		await sleep(300);
		is(await other.problems.take(), [], "no error of the page");
		await still(other);
		await other.context().close();
	},
});
