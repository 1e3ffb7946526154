/* SPDX-License-Identifier: MIT */
/*
 * page.mjs - the page's modules that need no browser: encodings, layout, times, texts, the address.
 *
 *	node page.mjs src/ui/page
 */
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

/* What these modules need of a browser. */
const timers = [];
globalThis.location = { hash: "#from=100&to=2000&selected=4.17_5_120_180&marks=150~a%2520b&pinned=3.4&panel=nonsense&area=x" };
globalThis.addEventListener = () => {};
globalThis.requestAnimationFrame = (fn) => timers.push(fn);
globalThis.history = { pushState() {}, replaceState() {} };
globalThis.document = { addEventListener() {} };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });

const page = path.resolve(process.argv[2]);
const load = (name) => import(pathToFileURL(path.join(page, name)));
const { decodeRow } = await load("timeline/decode.js");
const { columnsOf } = await load("timeline/columns.js");
const { headOf, layout, within } = await load("timeline/layout.js");
const { ticks } = await load("timeline/ticks.js");
const { fit } = await load("timeline/surface.js");
const format = await load("format.js");
const store = await load("store.js");
const { keyOf, keyText } = await load("commands.js");

/* A live recording: two processes live, one ended before what is visible (from 100 on), one was met in part. */
const processRow = (id, last, partial) => [
	{ id, kind: "process", parent: -1, name: `p${id}`, pid: id, tid: -1, cpu: -1, first: 0, last, tracks: [] },
	{ id: id + 1, kind: "thread", parent: id, name: `p${id}`, pid: id, tid: id, cpu: -1, first: 0, last, partial,
	  tracks: [{ id, kind: "states", depth: 0 }] }];
globalThis.document.getElementById = () => null;
globalThis.fetch = async () => ({ ok: true, headers: { get: () => "application/json" }, json: async () => ({
	name: "r", paths: [], begin: "0", end: 2e10, ready: 2e10, done: false, live: true, version: 1, names: [],
	rows: [processRow(0, 2e10), processRow(2, 2e10), processRow(4, 50), processRow(6, 2e10, true)].flat() }) });
globalThis.setTimeout = () => 0; /* it is asked for once */
const { ended, others, recording, startRecording } = await load("recording.js");
await startRecording();

/* The encoding of docs/formats/ui.md, written a second time. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const number = (n) => n < 32 ? digits[n] : digits[(n % 32) + 32] + number(Math.floor(n / 32));

let failed = 0;

function test(name, fn)
{
	try {
		fn();
		console.log(`ok ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${name}\n${error.stack}`);
	}
}

const trackOf = (t, from = 0) => decodeRow({ row: 5, tracks: [{ track: 3, ...t }] }, from).get(3);

test("runs are lengths, sets of states and shares", () => {
	const { runs } = trackOf({ kind: "states", runs: number(1000) + number(0) + number(40) + number(1 | 8) + digits[63] + digits[2] });
	assert.deepEqual([...runs.x], [0, 1000]);
	assert.deepEqual([...runs.n], [1000, 40]);
	assert.deepEqual([...runs.shares.slice(7)], [63, 0, 0, 2, 0, 0, 0]);
});

test("processes that ended long ago are below what runs", () => {
	assert.deepEqual(recording.roots.slice(0, 2), [0, 2]);
	assert.deepEqual(new Set(recording.roots.slice(2)), new Set([others, ended]));
	assert.deepEqual(recording.rows[ended].children, [4]);
	assert.deepEqual(recording.rows[others].children, [6]);
	assert.ok(store.state.folded.includes(ended) && store.state.folded.includes(others));
});

test("items are differences to those before", () => {
	const { items } = trackOf({ kind: "spans", items: [7, 10, 5, 1, 2, 100, 50, 4] }, 1000);
	assert.deepEqual([...items.index], [7, 9]);
	assert.deepEqual([...items.begin], [1010, 1115]);
	assert.deepEqual([...items.end], [1015, 1165]);
	assert.deepEqual([...items.what], [1, 4]);
});

test("points have no length, and densities of them no share", () => {
	const t = trackOf({ kind: "events", items: [3, 20, 8, 1, 5, 9], density: number(10) + number(0) + number(2) + number(33) }, 0);
	assert.deepEqual([...t.items.begin], [20, 25]);
	assert.deepEqual([[...t.density.x], [...t.density.n], [...t.density.count]], [[10], [2], [33]]);
});

test("text that follows no encoding ends a track and no more", () => {
	for (const runs of ["", "\u1234", "____", "A", null, 12])
		assert.ok(trackOf({ kind: "states", runs }).runs.x.length <= 4);
	assert.equal(trackOf({ kind: "spans", items: [1, 2] }).items.begin.length, 0);
});

test("active states lie over the thinner blocked band", () => {
	const half = digits[32], rest = digits[31];
	const track = trackOf({ kind: "states", runs: number(4) + number(1 | 8) + half + rest });
	const columns = columnsOf(track);
	assert.equal(columns.n, 2);
	assert.deepEqual([...columns.end.slice(0, 2)], [5, 4]);
	assert.deepEqual(columns.range(0, 4), [0, 2]);
	assert.deepEqual(columns.range(4, 9), [2, 2]);
});

function recordingOf()
{
	const rows = [
		["group", -1, "CPUs"], ["cpu", 0, "CPU 1", 1, "running"], ["cpu", 0, "CPU 0", 0, "running"],
		["process", -1, "web"], ["thread", 3, "main", -1, "states"], ["thread", 3, "worker", -1, "states", "spans"],
		["process", -1, "cron"], ["thread", 6, "cron", -1, "states"],
	].map(([kind, parent, name, cpu = -1, ...tracks], id) => ({ id, kind, parent, name, cpu, pid: kind === "process" ? 100 + id : -1,
		tid: kind === "thread" ? 200 + id : -1, first: 0, last: 9, children: [],
		tracks: tracks.map((k, i) => ({ id: id * 10 + i, kind: k, depth: 0 })) }));
	rows.forEach((r) => rows[r.parent]?.children.push(r.id));
	return { rows, roots: [0, 3, 6] };
}
const plain = { pinned: [], folded: [], hidden: [], rowFilter: "", group: "process" };
const names = (plan) => plan.rows.map((e) => e.row.name);

test("CPUs come first by number, threads with spans before others, and a process with one thread is one row", () => {
	assert.deepEqual(names(layout(recordingOf(), plain)), ["CPUs", "CPU 0", "CPU 1", "web", "worker", "main", "cron"]);
});

test("rows lie below each other without a gap, their lanes inside", () => {
	const plan = layout(recordingOf(), plain);
	let y = 0;
	for (const e of plan.rows) {
		assert.equal(e.y, y);
		y += e.height;
		for (const lane of e.lanes)
			assert.ok(lane.y + lane.height <= e.height);
	}
	assert.equal(plan.height, y);
	assert.deepEqual(within(plan.rows, 21, 22).map((e) => e.row.name), ["CPU 0"]);
});

test("folded and hidden rows are not there, pinned ones above", () => {
	const plan = layout(recordingOf(), { ...plain, folded: [3], hidden: [1], pinned: [5] });
	assert.deepEqual(names(plan), ["CPUs", "CPU 0", "web", "cron"]);
	assert.deepEqual(plan.pinned.map((e) => e.row.name), ["worker"]);
});

test("a filter shows what matches with what it lies in, folded or not", () => {
	assert.deepEqual(names(layout(recordingOf(), { ...plain, folded: [3], rowFilter: "WORK" })), ["web", "worker"]);
	assert.deepEqual(names(layout(recordingOf(), { ...plain, rowFilter: "204" })), ["web", "main"]);
});

test("threads are grouped by the CPU they ran on", () => {
	const plan = layout(recordingOf(), { ...plain, group: "cpu" }, new Map([[5, 1], [7, 0]]));
	assert.deepEqual(names(plan), ["CPUs", "CPU 0", "cron", "CPU 1", "worker", "main"]);
});

test("the head of the first row that is seen stays at the top", () => {
	const { rows } = layout(recordingOf(), plain);
	assert.equal(headOf(rows, 0), undefined);
	assert.equal(headOf(rows, rows[2].y).row.name, "CPUs");
	assert.equal(headOf(rows, rows[5].y).row.name, "web");
});

test("ticks are round, ascend, and are as many as there is room for", () => {
	format.setBegin("1764000000123456789");
	for (const zero of [null, 0, 123456])
		for (const span of [20, 1e3, 12345, 1e6, 5e9, 3e12]) {
			const list = ticks(1000, 1000 + span, 900, zero);
			assert.ok(list.length >= 2 && list.length <= 12, `${list.length} ticks of ${span} ns`);
			list.forEach((t, i) => assert.ok(t.at >= 1000 && (!i || t.at > list[i - 1].at)));
			assert.equal(new Set(list.map((t) => t.text)).size, list.length);
		}
});

test("durations have three digits and a unit", () => {
	const texts = [0, 7, 999, 1000, 45678, 99949, 999600, 1500000, 2.84e6, 61e9, 125e9, 7260e9, -1500].map(format.duration);
	assert.deepEqual(texts, ["0 ns", "7 ns", "999 ns", "1.00 µs", "45.7 µs", "99.9 µs", "1.00 ms", "1.50 ms", "2.84 ms", "61.0 s",
				 "2 min 5 s", "2 h 1 min", "−1.50 µs"]);
});

test("the clock's time is exact to the nanosecond", () => {
	format.setBegin("1764000000123456789");
	assert.match(format.time(1), /^\d\d:\d\d:\d\d\.123456790$/);
	assert.match(format.time(876543211), /\.000000000$/);
});

test("names are cut to their room with an ellipsis", () => {
	assert.equal(fit("clock_nanosleep", 90, 100), "clock_nanosleep");
	assert.equal(fit("clock_nanosleep", 90, 50), "clock_n…");
	assert.equal(fit("clock_nanosleep", 90, 12), "");
});

test("an address gives the state, and what is wrong in it nothing", () => {
	const { state } = store;
	assert.deepEqual([state.from, state.to, state.selected], [100, 2000, { id: "4.17", row: 5, from: 120, to: 180 }]);
	assert.deepEqual([state.marks, state.pinned], [[{ at: 150, text: "a b" }], [3, 4]]);
	assert.deepEqual([state.panel, state.area], ["events", null]);
});

test("the address of a state has what differs from the beginning", () => {
	store.set({ rowFilter: "a&b", marks: [], pinned: [], selected: null });
	assert.equal(store.hash(), "from=100&to=2000&rowFilter=a%26b");
});

test("steps of the same name are undone at once, and done again", () => {
	store.set({ from: 10 }, { undo: "zoom" });
	store.set({ from: 20 }, { undo: "zoom" });
	store.set({ from: 30 }, { undo: true });
	store.undo();
	assert.equal(store.state.from, 20);
	store.undo();
	assert.equal(store.state.from, 100);
	store.redo();
	store.redo();
	assert.equal(store.state.from, 30);
	assert.equal(store.redo(), false);
});

test("listeners run once a frame, for their keys", () => {
	let calls = 0;
	store.on(["theme"], () => calls++);
	store.set({ theme: "dark" });
	store.set({ theme: "light" });
	timers.splice(0).forEach((fn) => fn());
	store.set({ cursor: 5 });
	timers.splice(0).forEach((fn) => fn());
	assert.equal(calls, 1);
});

test("keys have names without the layout's shift", () => {
	const key = (k, more = {}) => keyOf({ key: k, ...more });
	assert.deepEqual([key("w"), key("Z", { shiftKey: true }), key("?", { shiftKey: true }), key("k", { metaKey: true }),
			  key("Enter", { shiftKey: true }), key(" ")], ["w", "shift+z", "?", "ctrl+k", "shift+Enter", "Space"]);
	assert.deepEqual([keyText("ctrl+k"), keyText("shift+z"), keyText("ArrowUp"), keyText("+")], ["Ctrl K", "⇧ Z", "↑", "+"]);
});

process.exit(failed ? 1 : 0);
