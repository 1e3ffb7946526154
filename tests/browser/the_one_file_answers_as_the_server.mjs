/* SPDX-License-Identifier: MIT */
/*
 * `duet ui --html` writes a page that opens from file:// without duet and without network, and whose answers are
 * those of the server: pictures, statistics, latencies, events, items.
 *
 * Its answers are asked for in a page without a policy (the test's own scripts have no nonce); everything else
 * happens under the policy.
 */
import fs from "node:fs";
import { blank, duet, fresh, serve, settled } from "./lib/browser.mjs";
import { cases, is, near, ok, recording } from "./lib/test.mjs";
import { press } from "./lib/steer.mjs";

const hostile = recording("hostile"), web = recording("web");
const files = fresh("one-file");
const write = (name, ...args) => {
	const said = duet("ui", "--no-cache", "--html", `${files}/${name}`, ...args);
	return { path: `${files}/${name}`, said, size: fs.statSync(`${files}/${name}`).size };
};
const open = async (file, options = {}) => {
	const page = await blank({ offline: true, origin: "file://", ...options });
	await page.goto(`file://${file.path}`);
	await settled(page);
	return page;
};

const all = write("all.html", web);
const server = await serve("--no-cache", web);
const online = await server.open();
const page = await open(all), bare = await open(all, { bypassCSP: true });

/* [of the server, of the file] */
const ask = async (path, params) => [
	await online.evaluate(async ([path, params]) => (await fetch(`${path}?${new URLSearchParams(params)}`)).json(), [path, params]),
	await bare.evaluate(async ([path, params]) => (await import("duet/offline.js")).answer(path, params), [path, params]),
];
const known = (await ask("/api/recording", {}))[0], end = known.end;
const spans = [[0, end], [Math.floor(end * 0.3), Math.floor(end * 0.6)], [Math.floor(end * 0.41), Math.floor(end * 0.4101)]];
const thread = known.rows.find((r) => r.name === "worker-1" && r.kind === "thread");
const without = (list, ...keys) => list.map((e) => Object.fromEntries(Object.entries(e).filter(([k]) => !keys.includes(k))));
const inOrder = (e) => (e && typeof e === "object" && !Array.isArray(e)
	? Object.fromEntries(Object.keys(e).sort().map((key) => [key, inOrder(e[key])])) : e);
const byKey = (list, key) => [...list].sort((a, b) => a[key] - b[key]).map(inOrder);

/* Shares of a picture's states, pixel by pixel. */
const decode = (answer) => bare.evaluate(async (answer) => {
	const { decodeRow } = await import("duet/timeline/decode.js");
	return answer.rows.map((row) => [...decodeRow(row, answer.from).values()].map((t) => {
		const out = { track: t.track, kind: t.kind };
		if (t.runs) {
			out.shares = [];
			t.runs.x.forEach((x, i) => {
				for (let n = 0; n < t.runs.n[i]; n++)
					out.shares.push(Array.from(t.runs.shares.slice(7 * i, 7 * i + 7)).join(" "));
			});
		} else if (t.items) {
			out.items = Array.from(t.items.index, (index, i) => [index, t.items.begin[i], t.items.end[i], t.items.what[i]].join(" "));
			out.count = t.density.count.reduce((a, b) => a + b, 0);
		} else {
			out.points = Array.from(t.points.x, (x, i) => [x, t.points.least[i], t.points.greatest[i], t.points.last[i]].join(" "));
		}
		return out;
	}));
}, answer);

await cases(page, {
	async it_opens_without_a_request()
	{
		is(await page.title(), "duet - web", "the recording's name");
		ok(await page.locator("[role=treeitem]").count() > 5, "rows are shown");
		ok(/any browser opens it/.test(all.said), "the command says so", all.said);
		await press(page, "1");
		ok(await page.locator("[role=grid] [role=row]").count() > 5, "events are listed");
	},
	async items_are_selected_by_keyboard()
	{
		await page.evaluate((row) => window.duet.set({ selected: null, area: null, from: 0, to: 0, pinned: [row] }), thread.id);
		await page.evaluate(([id, item]) => window.duet.set({ selected: { id: item.id, row: id, from: item.from, to: item.to } }),
			[thread.id, (await ask("/api/next", { row: thread.id, at: 0, direction: 1 }))[0]]);
		await settled(page);
		const before = await page.evaluate(() => window.duet.state.selected.id);
		await press(page, ".");
		await settled(page);
		const after = await page.evaluate(() => window.duet.state.selected.id);
		ok(after && after !== before, "the full stop goes to the next item", `${before} ${after}`);
		ok((await page.locator("#side").innerText()).length > 50, "the side panel describes it");
	},
	async every_panel_has_an_answer_or_a_sentence()
	{
		for (const key of ["2", "3", "4", "5"]) {
			await press(page, key);
			await settled(page, 200);
		}
		const said = await bare.evaluate(async () => (await import("duet/offline.js")).answer("/api/script", {}).catch((e) => e.message));
		ok(/need duet/.test(said), "what needs duet says so", said);
	},
	async rows_and_counts_are_the_same()
	{
		const [a, b] = await ask("/api/recording", {});
		is(b.rows.map((r) => [r.id, r.kind, r.parent, r.name, r.pid, r.tid, r.cpu]),
			a.rows.map((r) => [r.id, r.kind, r.parent, r.name, r.pid, r.tid, r.cpu]), "rows");
		is([b.begin, b.end, b.events, b.lost], [a.begin, a.end, a.events, a.lost], "begin, end, events, losses");
	},
	async statistics_are_the_same()
	{
		for (const [from, to] of spans) {
			const [a, b] = await ask("/api/area", { from, to, limit: 1000 });
			for (const list of ["threads", "processes", "cpus", "devices"])
				is(byKey(b[list].list, "row"), byKey(a[list].list, "row"), `${list} from ${from} to ${to}`);
			for (const list of ["syscalls", "spans", "calls"])
				is(byKey(without(b[list].list, "max_id"), "name"), byKey(without(a[list].list, "max_id"), "name"), list);
			is(byKey(without(b.events.list, "rate"), "name"), byKey(without(a.events.list, "rate"), "name"), "events");
		}
	},
	async pictures_are_the_same()
	{
		const rows = known.rows.map((r) => r.id).join(",");
		for (const [from, to] of spans) {
			const [a, b] = await ask("/api/picture", { rows, from, to, width: 700 });
			is(b.width, a.width, "pixels");
			const [x, y] = [await decode(a), await decode(b)];
			x.forEach((tracks, i) => tracks.filter((t) => t.items?.length || t.shares?.length || t.points?.length).forEach((t) =>
				is(y[i].find((other) => other.track === t.track), t, `track ${t.track}, ${t.kind}, from ${from} to ${to}`)));
		}
		const [a, b] = await ask("/api/overview", { width: 200 });
		is(b.events, a.events, "events of the overview");
		b.cpu.forEach((use, x) => near(use, a.cpu[x], 1, `use of CPUs in pixel ${x}`));
	},
	async items_latencies_and_wakeups_are_the_same()
	{
		const [first] = await ask("/api/next", { row: thread.id, at: 0, direction: 1 });
		for (const direction of [1, -1]) {
			const [a, b] = await ask("/api/next", { row: thread.id, at: Math.floor(end / 2), direction });
			is(inOrder(b), inOrder(a), `the next item, direction ${direction}`);
		}
		const [a, b] = await ask("/api/item", { id: first.id });
		for (const key of ["id", "row", "kind", "name", "from", "to", "open", "event", "fields", "end_fields", "sums", "around", "next"])
			is(inOrder(b[key]), inOrder(a[key]), `${key} of an item`);
		for (const name of ["fsync", "web:request", "web:lock"]) {
			const [c, d] = await ask("/api/latency", { name });
			is(inOrder({ ...d, slowest: [] }), inOrder({ ...c, slowest: [] }), `latency of ${name}`);
			is(d.slowest.map((e) => e.to - e.from), c.slowest.map((e) => e.to - e.from), `the slowest of ${name}`);
		}
		const [e, f] = await ask("/api/wakes", { row: thread.id, from: 0, to: end, limit: 500 });
		is(f, e, "wakeups");
	},
	async the_event_table_is_the_same()
	{
		const [a, b] = await ask("/api/events", { from: 0, to: end, limit: 1000 });
		is(b.events, a.events, "all events");
		const [c, d] = await ask("/api/events", { from: 0, to: end, at: Math.floor(end / 2), direction: -1, limit: 50 });
		is(d.events, c.events, "the 50 events before the middle");
		const [g, h] = await ask("/api/events", { from: 0, to: end, after: d.earlier, direction: -1, limit: 50 });
		is(h.events, g.events, "and the 50 before those");
		const [, plain] = await ask("/api/events", { from: 0, to: end, filter: "fsync", limit: 1000 });
		ok(plain.events.length > 0 && plain.events.every((e) => `${e.name} ${e.fields}`.includes("fsync")), "a plain text filters");
	},
	async times_of_flame_graphs_add_up_with_the_statistics()
	{
		const sum = (list, ...states) => list.reduce((total, e) => total + states.reduce((t, s) => t + e[s], 0), 0);
		for (const [from, to] of spans) {
			const [area] = await ask("/api/area", { from, to, limit: 1000 });
			for (const [kind, ...states] of [["on", "user", "kernel", "irq"], ["off", "blocked", "runnable", "preempted"]]) {
				const graph = await online.evaluate(async (query) => (await fetch(`/api/flame?${query}`)).json(),
					`kind=${kind}&from=${from}&to=${to}`);
				is(graph.total, sum(area.threads.list, ...states), `${kind} CPU, from ${from} to ${to}`);
				const inside = graph.nodes.map((n) => n[3]);
				graph.nodes.slice(1).forEach((n) => inside[n[0]] += n[2]);
				is(inside, graph.nodes.map((n) => n[2]), "each node has its own time and that of its children");
			}
		}
		const [a, b] = await ask("/api/flame", { kind: "off" });
		is([b.total, b.nodes.length, b.names.length], [a.total, a.nodes.length, a.names.length], "the file has the whole graph");
	},
	async a_part_is_smaller_and_has_only_its_rows()
	{
		const part = write("part.html", "--from", "+10ms", "--to", "+10ms", "--rows", "web", web);
		ok(part.size < all.size, "it is smaller", `${part.size} ${all.size}`);
		const other = await open(part);
		const names = await other.locator("[role=treeitem]").allInnerTexts();
		ok(names.some((n) => n.includes("worker-1")) && !names.some((n) => n.includes("logd")), "rows", names);
		ok(/from=1\d{7}&to=2\d{7}/.test(await other.evaluate(() => location.hash)), "it begins at its part", other.url());
		is(await other.problems.take(), [], "and nothing is wrong with it");
		await other.context().close();
	},
	async a_size_is_kept_and_what_is_missing_is_named()
	{
		const small = write("small.html", "--size", "2M", hostile);
		ok(small.size <= 2 << 20, "at most 2 MiB", small.size);
		ok(/left out|ends at/.test(small.said) && /--size/.test(small.said), "what is missing, and what to do", small.said);
		const other = await open(small);
		ok((await other.locator("#notices").innerText()).includes("--size"), "the page says it too");
		await other.context().close();
	},
	async hostile_names_run_nothing()
	{
		const other = await open(write("hostile.html", "--size", "60M", hostile));
		for (const key of ["1", "2", "3", "4"]) {
			await press(other, key);
			await settled(other, 200);
		}
		const found = await other.evaluate(() => ["pwned" in window, document.querySelectorAll("img, iframe, object, embed, base").length,
			[...document.querySelectorAll("script")].filter((s) => !s.nonce && s.id !== "duet-data").length,
			[...document.querySelectorAll("*")].some((e) => [...e.attributes].some((a) => /^on/i.test(a.name)))]);
		is(found, [false, 0, 0, false], "no script of a name, no element, no handler");
		is(await other.problems.take(), [], "and nothing is wrong");
		await other.context().close();
	},
});
