/* SPDX-License-Identifier: MIT */
/*
 * test.mjs - the cases of one test of the page, and their checks.
 *
 * A file of tests is started by run.py, which made its recordings:
 *
 *	import { cases, is, ok, recording, serve, until } from "./lib/test.mjs";
 *	const server = await serve(recording("web"));
 *	const page = await server.open();
 *	await cases(page, { async the_rows_are_shown() { ... } });
 *
 * cases() runs the functions in their order and exits.  A case is named by the sentence it proves.  TEST_CASES=one
 * runs that alone.
 *
 * What always holds:
 *   - every wait has a limit, far beyond what a busy machine needs, and says what did not come;
 *   - a page that reports an error, opens a dialog, breaks its own content security policy, or asks for an
 *     address outside its server fails the case that runs;
 *   - a failed case leaves a screenshot in meson-logs/ and shows what the page said.
 */
import fs from "node:fs";

export const patience = Number(process.env.TEST_PATIENCE || 120) * 1000;
const mostThrown = 3; /* cases that waited in vain; then the test ends */
const failures = [];

export const ok = (condition, what, more = "") => {
	if (!condition)
		failures.push(`${what} ${typeof more === "string" ? more : JSON.stringify(more)}`.slice(0, 2000).trim());
	return Boolean(condition);
};

export const is = (got, wanted, what) =>
	ok(JSON.stringify(got) === JSON.stringify(wanted), what,
		`: got ${JSON.stringify(got)?.slice(0, 700)}, wanted ${JSON.stringify(wanted)?.slice(0, 700)}`);

/* near - @got differs from @wanted by at most @most. */
export const near = (got, wanted, most, what) =>
	ok(Math.abs(got - wanted) <= most, what, `: got ${got}, wanted ${wanted} +- ${most}`);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/* until - the value of @condition once it is true. */
export async function until(condition, what, ms = patience)
{
	const begin = Date.now();
	for (let pause = 5;; pause = Math.min(pause * 1.5, 100)) {
		const value = await condition();
		if (value)
			return value;
		if (Date.now() - begin > ms)
			throw new Error(`${what}: not within ${ms / 1000} s`);
		await sleep(pause);
	}
}

/* wait - until a function that runs in @page, with @argument, gives a true value: that.  It may be async, which
 * waitForFunction of playwright takes for true at once; a page that goes elsewhere is asked again. */
export async function wait(page, what, fn, argument)
{
	return until(() => page.evaluate(fn, argument).catch((e) => {
		if (page.isClosed() || !/context was destroyed|navigation/.test(e.message))
			throw e;
		return false;
	}), what, patience);
}

/* recording - the path of the first of @names that run.py made. */
export function recording(...names)
{
	const all = JSON.parse(process.env.RECORDINGS);
	const name = names.find((n) => all[n]);
	if (!name)
		throw new Error(`run.py was not asked for the recording "${names[0]}"`);
	return all[name];
}

/* keepPicture - a screenshot in meson-logs/, named in the output. */
export async function keepPicture(page, name)
{
	const directory = fs.existsSync("meson-logs") ? "meson-logs" : ".";
	const file = `${directory}/browser-${name}.png`;
	try {
		await page.screenshot({ path: file, timeout: 10000 });
		console.log(`  | screenshot: ${file}`);
	} catch (e) {
		console.log(`  | no screenshot: ${e.message.split("\n")[0]}`);
	}
}

async function runOne(page, name, fn)
{
	const begin = Date.now(), before = failures.length;
	let goesOn = true;

	try {
		await fn();
		for (const problem of await page.problems.take())
			ok(false, problem);
	} catch (e) {
		goesOn = false;
		failures.push(String(e.stack).split("\n").filter((l) => !l.includes("node:")).slice(0, 4).join("\n    "));
		failures.push(...await page.problems.take().catch(() => []));
	}
	const failed = failures.slice(before);
	console.log(`${failed.length ? "not ok" : "ok"} ${name.replaceAll("_", " ")} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
	for (const what of new Set(failed))
		console.log(`  ${what}`);
	if (failed.length)
		await keepPicture(page, name);
	return goesOn;
}

/* cases - run the functions of @all with @page, end every server and browser, exit. */
export async function cases(page, all, end = async () => {})
{
	const wanted = (process.env.TEST_CASES || "").split(",").filter(Boolean);

	let thrown = 0;
	for (const [name, fn] of Object.entries(all))
		if ((!wanted.length || wanted.includes(name)) && !await runOne(page, name, fn) && ++thrown === mostThrown)
			break;
	await end();
	await Promise.all(endings.splice(0).map((f) => f()));
	if (failures.length)
		console.log(`FAILED: ${failures.length} checks`);
	process.exit(failures.length ? 1 : 0);
}

/* atEnd - @fn is awaited before the test exits. */
const endings = [];
export const atEnd = (fn) => endings.push(fn);
