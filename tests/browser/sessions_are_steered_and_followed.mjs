/* SPDX-License-Identifier: MIT */
/*
 * Without a recording the page lists sessions: one is started, opened and followed while a program runs, events are
 * enabled and disabled, it is rotated and asked for a snapshot, and stopped.  Only applications are recorded, so no
 * right is needed.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import { duet, fresh as directory, serve, settled } from "./lib/browser.mjs";
import { atEnd, cases, is, ok, until, wait } from "./lib/test.mjs";
import { press, state, still } from "./lib/steer.mjs";

const where = directory("sessions");
const server = await serve();
const page = await server.open();
const dialog = page.locator("#session-dialog");
const row = (name) => page.locator("#session-rows tr").filter({ hasText: name });
let program = null;

/* duet status fails where nothing records. */
function isRecording()
{
	try {
		return duet("status").includes("web");
	} catch {
		return false;
	}
}

/* newest - the events that a flight recorder has now. */
let snapshots = 0;
function newest(session)
{
	const to = `${where}/newest-${snapshots++}`;
	duet("snapshot", "-s", session, "-o", to);
	return duet("view", to);
}

/* begin - run the server that is recorded, until the end of the test. */
function begin()
{
	program = spawn(process.env.PROGRAM, ["0"], { cwd: where, stdio: "ignore" });
	atEnd(() => program.kill("SIGTERM"));
}

async function fill(fields)
{
	for (const [label, value] of Object.entries(fields))
		await dialog.getByLabel(label, { exact: true }).fill(value);
}

await cases(page, {
	async without_sessions_the_page_says_how_to_begin()
	{
		page.problems.allow(/404 .*api\/recording/); /* nothing is open */
		await page.getByText("No session records now.").waitFor();
		is(await page.title(), "duet - sessions", "the title");
	},
	async a_session_is_started_by_the_form()
	{
		await page.locator("body").click({ position: { x: 5, y: 500 } });
		await press(page, "n");
		ok(await dialog.isVisible(), "n opens the form");
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "Start a session" }).click();
		await fill({ name: "web", directory: `${where}/web`, "events of applications": "web:*", rotate: "request" });
		await dialog.getByRole("button", { name: "Start" }).click();
		await row("web").waitFor();
		await dialog.waitFor({ state: "hidden" });
		begin();
		await until(async () => /[1-9]/.test((await row("web").locator("td").nth(3).innerText())), "the program is counted");
		await until(async () => /[1-9]/.test((await row("web").locator("td").nth(4).innerText())), "events have a rate");
	},
	async what_is_wrong_is_said_in_the_form()
	{
		page.problems.allow(/409/);
		await page.getByRole("button", { name: "Start a session" }).click();
		await fill({ name: "web", directory: `${where}/other` });
		await dialog.getByRole("button", { name: "Start" }).click();
		await dialog.getByRole("alert").waitFor();
		ok((await dialog.getByRole("alert").innerText()).length > 10, "a second session of this name is refused");
		await dialog.getByRole("button", { name: "Cancel" }).click();
	},
	async a_second_session_is_a_flight_recorder()
	{
		await page.getByRole("button", { name: "Start a session" }).click();
		await fill({ name: "flight", directory: `${where}/flight`, "events of applications": "web:request_begin" });
		await dialog.getByLabel("flight recorder").check();
		await dialog.getByRole("button", { name: "Start" }).click();
		await row("flight").waitFor();
		await until(async () => /[1-9]/.test((await row("flight").locator("td").nth(3).innerText())), "it has the program");
		await until(() => newest("flight").includes("web:request_begin"), "it has events");
		await row("flight").getByRole("button", { name: "Snapshot…" }).click();
		await fill({ directory: `${where}/snap` });
		await dialog.getByRole("button", { name: "Take it" }).click();
		await dialog.waitFor({ state: "hidden" });
		await until(() => fs.existsSync(`${where}/snap`), "a snapshot is written");
		ok(duet("view", `${where}/snap`).includes("web:request_begin"), "with the newest events");
	},
	async events_are_enabled_and_disabled()
	{
		await row("flight").getByRole("button", { name: "Enable…" }).click();
		await fill({ events: "web:cache_miss" });
		await dialog.getByRole("button", { name: "Enable" }).click();
		await dialog.waitFor({ state: "hidden" });
		await until(() => newest("flight").includes("web:cache_miss"), "an enabled event is recorded");
		await row("flight").getByRole("button", { name: "Disable…" }).click();
		await fill({ events: "web:cache_miss" });
		await dialog.getByRole("button", { name: "Disable" }).click();
		await dialog.waitFor({ state: "hidden" });
	},
	async a_session_is_rotated_and_its_dashboard_shown()
	{
		await row("web").getByRole("button", { name: "Rotate" }).click();
		await until(() => fs.readdirSync(`${where}/web`).some((f) => f.includes("000001")) ||
			fs.readdirSync(`${where}/web`).filter((f) => f.startsWith("piece")).length, "a trace chunk is finished");
		await row("web").getByRole("button", { name: "web", exact: true }).click();
		await wait(page, "the dashboard has its programs", () => document.getElementById("sessions").innerText.includes("browser_server"));
		is(isRecording(), true, "duet status has it, too");
	},
	async an_open_session_is_followed()
	{
		await Promise.all([page.waitForNavigation(), row("flight").count().then(() => row("web").getByRole("button", { name: "Open" }).click())]);
		await page.locator("[role=treeitem]").first().waitFor();
		const end = () => page.evaluate(async () => (await import("/recording.js")).recording.end);
		const live = () => page.evaluate(async () => (await import("/recording.js")).recording.live);
		ok(await live(), "the recording is live");
		await page.locator("#top-live").waitFor();
		const first = await end();
		await until(async () => await end() > first + 5e8, "its end moves on");
		await page.locator("#canvas").focus();
		if (!await state(page, "following"))
			await press(page, "l");
		const shownEnd = () => page.evaluate(async () => (await import("/timeline/view.js")).visible().to);
		const before = await shownEnd();
		await until(async () => await shownEnd() > before + 3e8, "the view follows");
		await press(page, "l");
		await still(page);
		is(await state(page, "following"), false, "l stops following");
		const names = await page.locator("#labels .name").allTextContents();
		ok(names.filter((n) => n === "browser_server").length > 4, "its threads are rows", names);
	},
	async a_session_is_stopped()
	{
		await press(page, "Shift+S");
		await row("web").waitFor();
		for (const name of ["flight", "web"]) {
			await row(name).getByRole("button", { name: "Stop", exact: true }).click();
			await row(name).waitFor({ state: "detached" });
		}
		await page.getByText("No session records now.").waitFor();
		await until(() => !isRecording(), "duet status lists none");
		await press(page, "Shift+S");
		await until(async () => page.evaluate(async () => !(await import("/recording.js")).recording.live), "what was followed is finished");
		await settled(page);
		ok((await page.locator("#labels .name").allTextContents()).includes("browser_server"), "and stays on the screen");
	},
});
