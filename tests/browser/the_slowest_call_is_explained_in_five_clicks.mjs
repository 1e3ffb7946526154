/* SPDX-License-Identifier: MIT */
/*
 * As a new user would: the recording of tools/try is opened, and five clicks later the reason of its slowest system call
 * is on the screen.  The call is the one that `duet report syscalls` names.  docs/tour has the same five.
 */
import { report, serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording, wait } from "./lib/test.mjs";
import { state } from "./lib/steer.mjs";

const made = recording("try");
const server = await serve(made);
const page = await server.open();
const side = page.locator("#side");
let clicks = 0, waited = true;

async function click(locator)
{
	clicks++;
	await locator.click();
	await settled(page, 250);
}

await cases(page, {
	async five_clicks_lead_to_the_reason()
	{
		const calls = report("syscalls", "--slowest", "1", "--limit", "1000", made);
		const [slowest] = calls.slowest;
		await wait(page, "it is indexed", async () => (await import("/recording.js")).recording.done);
		await click(page.getByRole("tab", { name: "Statistics" }));
		await click(page.getByRole("button", { name: /^System calls/ }));
		await click(page.getByRole("button", { name: "greatest" }));
		const first = page.locator("#panel-statistics tbody tr").first();
		is(await first.locator("td").first().innerText(), slowest.call, "the call with the slowest instance is the first");
		await click(first.getByRole("button"));
		const row = page.locator("#panel-latency tbody tr").first();
		await row.waitFor();
		await click(row.getByRole("button"));
		is(clicks, 5, "clicks");

		const { from, to } = await state(page, "selected");
		is(to - from, slowest.duration_ns, "the slowest call is selected");
		const text = await side.innerText();
		ok((await side.getByRole("heading").first().innerText()).startsWith(slowest.call), "the side panel names it", text);
		const { n } = calls.syscalls.find(({ call }) => call === slowest.call);
		is(/no\. 1 of /.test(text), n > 1, "as the first of its like, if there are others", text);
		/* Without a wait, the table of its states is the reason. */
		waited = await side.getByRole("heading", { name: "Why it was not running" }).count() > 0;
		const words = waited ? await side.locator("ul.why").first().innerText()
			: (await side.locator("section", { has: page.getByRole("heading", { name: "Where its time went" }) }).innerText())
				.replace(/(running, \w+|interrupted)\s+([\d.]+ \S+)/g, "$2 $1");
		ok(/\d (ns|µs|ms|s)\s+(blocked|waiting|preempted|running|interrupted)/.test(words), "and why it took so long, in words", words);
		console.log(`  ${slowest.call}, ${(to - from) / 1e6} ms: ${words.split("\n")[0]}`);
	},
	async its_path_is_drawn()
	{
		const there = await page.getByRole("button", { name: "Show the critical path" }).count();
		is(there, Number(waited), "a path, if it waited");
		if (!waited)
			return;
		await page.getByRole("button", { name: "Show the critical path" }).click();
		const path = await state(page, "path");
		const { from, to } = await state(page, "selected");
		const sum = path.reduce((ns, [, begin, end]) => ns + end - begin, 0);
		ok(sum > 0.95 * (to - from) && sum <= to - from, "it covers the call", { sum, of: to - from });
	},
});
