/* SPDX-License-Identifier: MIT */
/*
 * The figures that the page shows are those that `duet report` prints of the same recording, to the nanosecond: CPU
 * time, states of threads, system calls, latency, and why.  Of the recording made by hand, or of one of this machine's
 * kernel: there without CPU time, which `duet report cpu` counts in another way where threads of other programs were
 * not recorded.
 */
import { report, serve, settled } from "./lib/browser.mjs";
import { cases, is, near, ok, recording } from "./lib/test.mjs";
import { fresh, items, press, rowId, selects, state } from "./lib/steer.mjs";

const made = recording("web", "machine"), isByHand = made.endsWith("/web");
const server = await serve(made);
const page = await server.open();
const side = page.locator("#side");

/* ask - an answer of the server, as the page gets it. */
const ask = (path) => page.evaluate(async (path) => (await fetch(path)).json(), path);
const rows = await page.evaluate(async () => (await import("/recording.js")).recording.rows);
const { begin, end } = await page.evaluate(async () => (await import("/recording.js")).recording);

/* asShown - numbers of nanoseconds as the page writes them. */
const asShown = (numbers) => page.evaluate(async (numbers) => {
	const { duration } = await import("/format.js");
	return numbers.map((n) => n ? duration(n) : "");
}, numbers);

/* tableOf - the table of a panel: by the first cell, the cells below the titles. */
const tableOf = (panel) => page.locator(`#panel-${panel} table`).evaluate((table) => {
	const titles = [...table.querySelectorAll("thead th")].map((th) => th.textContent);
	return Object.fromEntries([...table.querySelectorAll("tbody tr")].map((tr) =>
		[tr.children[0].textContent, Object.fromEntries([...tr.children].map((td, i) => [titles[i], td.textContent]))]));
});

async function statistics(of)
{
	await fresh(page);
	await press(page, "2");
	await settled(page, 300);
	await page.getByRole("button", { name: new RegExp(`^${of}`) }).click();
	return tableOf("statistics");
}

/* Cases for the recording made by hand alone. */
const byHand = (all) => isByHand ? all : {};

const clock = (ns) => {
	const at = BigInt(begin) + BigInt(Math.round(ns));
	return `${at / 1000000000n}.${String(at % 1000000000n).padStart(9, "0")}`;
};
const stateNames = ["unknown", "user", "kernel", "irq", "preempted", "runnable", "blocked"];

await cases(page, {
	async states_of_threads_are_those_of_report_why()
	{
		const shown = await statistics("Threads");
		const wanted = report("why", "--limit", "1000", made).threads;
		ok(wanted.length > 3, "there are threads", wanted.length);
		const columns = { user: "user", kernel: "kernel", irq: "interrupted", runnable: "waiting", preempted: "preempted",
				  blocked: "blocked", unknown: "unknown" };
		for (const t of wanted) {
			const name = t.thread.replace(/:(\d+)$/, " $1");
			if (!ok(shown[name], `${name} is listed`, Object.keys(shown)))
				continue;
			const keys = Object.keys(columns);
			is(keys.map((k) => shown[name][columns[k]]), await asShown(keys.map((k) => t[`${k}_ns`])), `states of ${name}`);
		}
	},
	async states_are_equal_to_the_nanosecond()
	{
		const area = await ask(`/api/area?from=0&to=${end}&limit=1000`);
		for (const t of report("why", "--limit", "1000", made).threads) {
			const row = rows.find((r) => r.kind === "thread" && r.tid === t.tid)?.id;
			const found = area.threads.list.find((l) => l.row === row);
			is(stateNames.map((s) => found?.[s]), stateNames.map((s) => t[`${s}_ns`]), `states of ${t.thread}`);
		}
	},
	...byHand({
		async cpus_are_busy_as_report_cpu_says()
		{
			const shown = await statistics("CPUs");
			for (const c of report("cpu", made).cpus)
				is([shown[`CPU ${c.cpu}`]?.busy], await asShown([c.busy_ns + c.others_ns]), `CPU ${c.cpu}`);
			const threads = await ask(`/api/area?from=0&to=${end}&limit=1000`);
			for (const t of report("cpu", "--by", "thread", "--limit", "1000", made).threads) {
				const row = rows.find((r) => r.kind === "thread" && r.tid === t.tid)?.id;
				const found = threads.threads.list.find((l) => l.row === row);
				if (t.tid > 0)
					is(found && found.user + found.kernel + found.irq, t.cpu_ns, `CPU time of ${t.thread}`);
			}
		},
		async system_calls_are_those_of_report_syscalls()
		{
			const shown = await statistics("System calls");
			for (const c of report("syscalls", "--limit", "1000", made).syscalls) {
				const cells = shown[c.call];
				if (!c.n || c.n === c.n_open || !ok(cells, `${c.call} is listed`, Object.keys(shown)))
					continue;
				is(Number(cells.number.replace(/\D/g, "")), c.n, `calls of ${c.call}`);
				is([cells.sum, cells.mean, cells.least, cells.p50, cells.p99, cells.greatest],
					await asShown([c.total_ns, c.mean_ns, c.min_ns, c.p50_ns, c.p99_ns, c.max_ns]), `times of ${c.call}`);
				is(Number(cells.errors || 0), c.n_errors, `errors of ${c.call}`);
			}
		},
	}),
	async latency_is_that_of_report_latency()
	{
		const wanted = report("latency", "web:request_begin", "web:request_end", "--slowest", "10", made);
		const [times] = wanted.times;
		const [first] = await items(page, "worker-1", "spans", 2);
		const { name } = first;
		await fresh(page);
		await selects(page, first);
		await press(page, "3");
		await settled(page, 300);
		const figures = await page.locator("#panel-latency dl.figures > div").evaluateAll((divs) =>
			Object.fromEntries(divs.map((d) => [d.querySelector("dt").textContent, d.querySelector("dd").textContent])));
		is(Number(figures.number), times.n, `instances of ${name}`);
		is([figures.mean, figures.least, figures.p50, figures.p90, figures.p99, figures.greatest],
			await asShown([times.mean_ns, times.min_ns, times.p50_ns, times.p90_ns, times.p99_ns, times.max_ns]), "mean and percentiles");
		const answer = await ask(`/api/latency?name=${encodeURIComponent(name)}&from=0&to=${end}&limit=10`);
		is(answer.slowest.map((s) => [s.to - s.from, rows[s.row].tid]),
			wanted.slowest.map((s) => [s.duration_ns, s.tid]), "the slowest ones");
		is(answer.bins.reduce((n, [, , count]) => n + count, 0), times.n, "the histogram has them all");
	},
	async why_is_that_of_report_why()
	{
		for (const thread of ["worker-1", "worker-3", "worker-4"]) {
			const spans = await items(page, thread, "spans", 40);
			const slowest = spans.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);
			const { tid } = rows[slowest.row];
			const wanted = report("why", "-t", tid, "--from", clock(slowest.from), "--to", clock(slowest.to), made);
			const answer = await ask(`/api/why?row=${slowest.row}&from=${slowest.from}&to=${slowest.to}`);
			const ns = Object.fromEntries(wanted.states.map((s) => [s.state, s.ns]));
			is(answer.states, stateNames.map((s) => ns[s] || 0), `${thread}: states of its slowest request`);
			const blocked = answer.reasons.filter((r) => r.state === 6).reduce((sum, r) => sum + r.ns, 0);
			is(blocked, ns.blocked || 0, `${thread}: the reasons add up to the blocked time`);
			const [longest] = wanted.parts.filter((p) => p.state === "blocked");
			const [reason] = answer.reasons.filter((r) => r.state === 6);
			is([reason?.ns, reason?.n], [longest?.ns, longest?.n], `${thread}: the longest is the same`);
			ok(!longest || reason.text.includes(longest.where.split("(")[0]), `${thread}: in the same call`, reason?.text);
			/* Steps of less than 1/8000 of the span are left out. */
			near(answer.path.reduce((sum, [, from, to]) => sum + to - from, 0), slowest.to - slowest.from,
				(slowest.to - slowest.from) / 200, `${thread}: its path has no hole`);

			await fresh(page);
			await selects(page, slowest);
			const text = await side.innerText();
			for (const shown of await asShown(Object.values(ns).filter((n) => n)))
				ok(text.includes(shown), `${thread}: the side panel has ${shown}`, text.slice(0, 600));
		}
	},
	async the_numbers_beside_a_bar_add_up()
	{
		const spans = await items(page, "worker-2", "spans", 40);
		for (const span of spans.slice(0, 8)) {
			const item = await ask(`/api/item?id=${span.id}`);
			is(Object.values(item.sums).reduce((a, b) => a + b, 0), span.to - span.from, `the states of span ${span.id}`);
			is(item.fields.length > 0, true, "it has fields");
		}
		is(await state(page, "selected") !== undefined, true, "the page lives");
		ok(await rowId(page, "worker-2") >= 0, "rows have names");
	},
});
