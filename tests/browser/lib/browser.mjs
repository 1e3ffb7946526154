/* SPDX-License-Identifier: MIT */
/*
 * browser.mjs - `duet ui` and a Chromium that opens it.
 *
 * serve() starts the server on a port of the kernel's choice; its open() gives a page of playwright that watches
 * itself (page.problems).  One Chromium serves a whole test; every page has cookies and storage of its own.
 */
import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import { atEnd, keepPicture, patience, until, wait } from "./test.mjs";

const require = createRequire(`${process.env.NODE_PACKAGES}/`);
const { chromium } = require("playwright-core");

let browser = null;

async function theBrowser()
{
	if (!browser) {
		browser = await chromium.launch({
			executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, timeout: patience,
			args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
				"--disable-background-networking", "--disable-component-update", "--disable-sync",
				"--force-color-profile=srgb", "--font-render-hinting=none"],
		});
		atEnd(() => browser.close());
	}
	return browser;
}

/* duet - what a command of duet prints on its standard output. */
export function duet(...args)
{
	return execFileSync(process.env.DUET, args.map(String), { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] })
		.toString();
}

export const report = (...args) => JSON.parse(duet("report", "--json", ...args));

/* Problems of a page, gathered as they come; allow(regexp) leaves out those that a case provokes. */
function watch(page, origin)
{
	const found = [], allowed = [];
	const add = (text) => found.push(text);

	page.on("console", (m) => {
		if (m.type() === "error" || m.type() === "warning")
			add(`console ${m.type()}: ${m.text()} ${m.location().url || ""}`);
	});
	page.on("pageerror", (e) => add(`error of the page: ${e.stack || e}`));
	page.on("dialog", (d) => {
		add(`a dialog: ${d.message()}`);
		d.dismiss().catch(() => {});
	});
	page.on("request", (r) => {
		if (!/^(data|blob|about):/.test(r.url()) && !(origin && r.url().startsWith(origin)))
			add(`a request to elsewhere: ${r.url().slice(0, 200)}`);
		if (r.url().includes("pwned") && !r.url().includes("/api/"))
			add(`a string of the recording was loaded: ${r.url().slice(0, 200)}`);
	});
	page.inFlight = new Set();
	page.on("request", (r) => page.inFlight.add(r));
	page.on("framenavigated", () => page.inFlight.clear()); /* those of the page before have no end */
	for (const end of ["requestfinished", "requestfailed"])
		page.on(end, (r) => page.inFlight.delete(r));
	page.problems = {
		allow: (regexp) => allowed.push(regexp),
		async take() {
			const violations = await page.evaluate(() => window.violations?.splice(0) || []).catch(() => []);
			return [...found.splice(0), ...violations.map((v) => `against the content security policy: ${v}`)]
				.filter((text) => !allowed.some((a) => a.test(text)));
		},
	};
}

function rememberViolations()
{
	window.violations = [];
	document.addEventListener("securitypolicyviolation", (e) =>
		window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
}

/*
 * Timers of at most a second that run, in window.shortTimers.  The page asks for much a moment after the last key or
 * click (soon() of its panels); on a busy machine that moment is longer than any time to wait for.
 */
function rememberTimers()
{
	const { setTimeout: set, clearTimeout: clear } = window;

	window.shortTimers = new Set();
	window.setTimeout = (fn, ms, ...rest) => {
		const timer = set.call(window, () => {
			window.shortTimers.delete(timer);
			fn(...rest);
		}, ms);
		if (!(ms > 1000))
			window.shortTimers.add(timer);
		return timer;
	};
	window.clearTimeout = (timer) => {
		window.shortTimers.delete(timer);
		clear.call(window, timer);
	};
}

/* Two pictures, and the timers that run then: until they ran.  Not those that they set: some page polls. */
async function timersRan()
{
	const picture = () => new Promise((done) => requestAnimationFrame(done));

	await picture();
	await picture();
	const running = [...window.shortTimers || []];
	while (running.some((timer) => window.shortTimers.has(timer)))
		await picture();
	return true;
}

/* blank - a page of a context of its own; @options: for playwright's newContext(), and `origin`. */
export async function blank({ origin, ...options } = {})
{
	const context = await (await theBrowser()).newContext({
		viewport: { width: 1600, height: 1000 }, colorScheme: "dark", reducedMotion: "reduce", timezoneId: "UTC",
		locale: "en-US", acceptDownloads: true, ...options,
	});
	const page = await context.newPage();
	page.setDefaultTimeout(patience);
	await page.addInitScript(rememberViolations);
	await page.addInitScript(rememberTimers);
	watch(page, origin);
	return page;
}

/* settled - until the page shows rows (or sessions), and has waited for no answer for some time. */
export async function settled(page, ms = 150)
{
	await wait(page, "the page shows rows", () => document.querySelector("[role=treeitem], #sessions, [data-sessions]"));
	await wait(page, "delayed work is done", timersRan);
	let quietSince = 0;
	await until(() => {
		if (page.inFlight.size)
			quietSince = 0;
		else
			quietSince ||= Date.now();
		return quietSince && Date.now() - quietSince >= ms;
	}, "the page has all answers");
	await wait(page, "work that the answers delayed is done", timersRan);
}

/*
 * serve - `duet ui` on recordings (none: the sessions).  Options may follow: serve(recording, "--idle-end", "0").
 *
 * Returns { address, origin, open(options, hash), end(), process, output() }.
 */
export async function serve(...args)
{
	const child = spawn(process.env.DUET, ["ui", "--no-browser", ...args.map(String)], { stdio: ["ignore", "pipe", "pipe"] });
	let text = "";
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (d) => text += d);
	const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal || code)));
	let hasEnded = false;
	ended.then(() => hasEnded = true);
	const address = await until(() => {
		if (hasEnded)
			throw new Error(`duet ui ended: ${text}`);
		return text.match(/https?:\/\/\S+/)?.[0];
	}, () => `duet ui prints its address: ${text}`);
	const origin = new URL(address).origin;
	const end = async (signal = "SIGTERM") => {
		if (!hasEnded)
			child.kill(signal);
		return ended;
	};
	atEnd(end);
	return {
		address, origin, end, ended, process: child, output: () => text,
		async open(options = {}, hash = "") {
			const page = await blank({ origin, ...options });
			try {
				await page.goto(address + hash);
				await settled(page);
			} catch (e) {
				console.log(`not ok ${address} opens: ${(await page.problems.take()).join("\n  ")}\n${text}`);
				await keepPicture(page, "open");
				throw e;
			}
			return page;
		},
	};
}

/* fresh - a directory of this test's own for downloads and copies. */
export function fresh(name)
{
	const path = `${process.env.WORK}/${name}`;
	fs.mkdirSync(path, { recursive: true });
	return path;
}
