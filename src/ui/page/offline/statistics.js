/* SPDX-License-Identifier: MIT */
/*
 * offline/statistics.js - sums of an area, latencies of a name, and why a thread did not run.
 *
 * Percentiles are exact: nearest rank, as the server's.
 */
import { below, flames, from as fileFrom, hasEnd, names, place, rows, stateNames, statesIn, to as fileTo, tracksOf,
	 tracksOfKind } from "./data.js";

const descending = (key) => (a, b) => b[key] - a[key];

function rank(sorted, percent)
{
	return sorted.length ? sorted[Math.max(0, Math.ceil(percent / 100 * sorted.length) - 1)] : 0;
}

function cut(list, limit)
{
	return { n: list.length, list: list.slice(0, limit) };
}

/* Whether interval @i of @t begins in the time and has an end. */
function counts(t, i, from, to)
{
	return t.begin[i] >= from && t.begin[i] < to && hasEnd(t, i);
}

/* ---------------------------------------------------------------- an area */

function threads(chosen, from, to)
{
	const list = [];
	for (const t of tracksOfKind(["states"], chosen)) {
		const { sums, n } = statesIn(t.row, from, to);
		const entry = { row: t.row, n };
		stateNames.forEach((name, i) => {
			entry[name] = sums[i];
		});
		if (sums.some((ns) => ns > 0))
			list.push(entry);
	}
	const used = (e) => e.user + e.kernel + e.irq;
	return list.sort((a, b) => used(b) - used(a) || b.blocked - a.blocked);
}

function processes(list)
{
	const found = new Map();
	for (const entry of list) {
		const row = rows[entry.row].parent;
		if (row < 0)
			continue;
		const sum = found.get(row) || { row, n: 0, threads: 0 };
		for (const name of [...stateNames, "n"])
			sum[name] = (sum[name] || 0) + entry[name];
		sum.threads++;
		found.set(row, sum);
	}
	return [...found.values()].sort((a, b) => b.user + b.kernel - a.user - a.kernel);
}

/* Covered time and number of the tracks of @kind, by row; @each(t, i, ns, entry) may add more. */
function covered(kind, chosen, from, to, each = () => {})
{
	const found = new Map();
	for (const t of tracksOfKind([kind], chosen)) {
		const entry = found.get(t.row) || { row: t.row, busy: 0, n: 0 };
		found.set(t.row, entry);
		for (let i = t.find(from); i < t.n && t.begin[i] < to; i++) {
			const ns = Math.min(t.end[i], to) - Math.max(t.begin[i], from);
			entry.busy += ns;
			entry.n += t.begin[i] >= from;
			each(t, i, ns, entry);
		}
	}
	return [...found.values()].sort(descending("busy"));
}

function cpus(chosen, from, to)
{
	const ran = new Map();
	const list = covered("running", chosen, from, to, (t, i, ns, entry) => {
		const by = ran.get(entry) || new Map();
		const one = by.get(t.what[i]) || [t.what[i], 0, 0];
		one[1] += ns;
		one[2]++;
		ran.set(entry, by.set(t.what[i], one));
	});
	for (const entry of list)
		entry.threads = [...(ran.get(entry)?.values() || [])].filter((x) => rows[x[0]]).sort((a, b) => b[1] - a[1]);
	return list;
}

function byName(kind, chosen, from, to)
{
	const found = new Map();
	for (const t of tracksOfKind([kind], chosen))
		for (let i = t.find(from); i < t.n && t.begin[i] < to; i++) {
			if (!counts(t, i, from, to))
				continue;
			const e = found.get(t.what[i]) || { name: t.what[i], n: 0, errors: 0, sum: 0, all: [], max: -1 };
			const ns = t.end[i] - t.begin[i];
			e.n++;
			e.sum += ns;
			e.all.push(ns);
			e.errors += kind === "syscalls" && t.aux[i] < 0 && t.aux[i] > -4096 ? 1 : 0;
			if (ns > e.max) {
				e.max = ns;
				e.max_id = `${t.id}.${t.first + i}`;
			}
			found.set(t.what[i], e);
		}
	return [...found.values()].sort(descending("sum")).map(({ all, ...e }) => {
		const sorted = Float64Array.from(all).sort();
		if (kind !== "syscalls")
			delete e.errors;
		return { ...e, mean: Math.floor(e.sum / e.n), min: sorted[0], p50: rank(sorted, 50), p99: rank(sorted, 99),
			 is_exact: true };
	});
}

function points(chosen, from, to)
{
	const found = new Map(), end = to >= fileTo ? to + 1 : to;
	for (const t of tracksOfKind(["events"], chosen))
		for (let i = t.find(from); i < t.n && t.begin[i] < end; i++)
			found.set(t.what[i], (found.get(t.what[i]) || 0) + 1);
	return [...found].map(([name, n]) => ({ name, n, rate: n * 1e9 / Math.max(1, to - from) }))
		.sort(descending("n"));
}

/* area - as /api/area. */
export function area({ from, to, rows: ids, limit })
{
	const chosen = below(ids), most = limit || 100, list = threads(chosen, from, to);
	const answer = { from, to, threads: cut(list, most), processes: cut(processes(list), most),
			 cpus: cut(cpus(chosen, from, to), most),
			 devices: cut(covered("busy", chosen, from, to), most) };
	for (const kind of ["syscalls", "spans", "calls"])
		answer[kind] = cut(byName(kind, chosen, from, to), most);
	answer.events = cut(points(chosen, from, to), most);
	return answer;
}

/* ---------------------------------------------------------------- latency */

/* Four bins of the same width to a doubling; below 4 ns one for each. */
function binOf(ns)
{
	if (ns < 4)
		return Math.max(0, ns);
	let power = Math.floor(Math.log2(ns));
	power += 2 ** (power + 1) <= ns ? 1 : 2 ** power > ns ? -1 : 0;
	return 4 * (power - 1) + Math.floor(ns / 2 ** (power - 2)) - 4;
}
const binFrom = (bin) => (bin < 4 ? bin : (4 + bin % 4) * 2 ** (Math.floor(bin / 4) - 1));

function histogram(sorted)
{
	const bins = [], first = binOf(sorted[0]), last = binOf(sorted[sorted.length - 1]);
	for (let bin = first; bin <= last; bin++)
		bins.push([binFrom(bin), binFrom(bin + 1), 0]);
	for (const ns of sorted)
		bins[binOf(ns) - first][2]++;
	return bins;
}

function instances(kind, name, chosen, from, to)
{
	const found = [];
	for (const t of tracksOfKind([kind], chosen))
		for (let i = t.find(from); i < t.n && t.begin[i] < to; i++)
			if (names[t.what[i]] === name && counts(t, i, from, to)) {
				const { id, row } = place(t, i);
				found.push({ id, row, from: t.begin[i], to: t.end[i] });
			}
	return found.sort((a, b) => b.to - b.from - (a.to - a.from));
}

/* latency - as /api/latency. */
export function latency({ name, kind, from, to, rows: ids, limit, item })
{
	const kinds = kind ? [kind] : ["spans", "syscalls", "calls", "busy"], chosen = below(ids);
	let found = [], used = kinds[0];
	for (const one of kinds) {
		found = instances(one, name, chosen, from, to);
		used = one;
		if (found.length)
			break;
	}
	if (!found.length)
		return { name, kind: used, n: 0, bins: [], slowest: [] };
	const sorted = Float64Array.from(found, (f) => f.to - f.from).sort();
	const sum = sorted.reduce((a, b) => a + b, 0), bins = histogram(sorted);
	const answer = { name, kind: used, n: sorted.length, sum, mean: Math.floor(sum / sorted.length), min: sorted[0],
			 p50: rank(sorted, 50), p90: rank(sorted, 90), p99: rank(sorted, 99),
			 max: sorted[sorted.length - 1], is_exact: true, bins, slowest: found.slice(0, limit || 20) };
	const at = found.findIndex((f) => f.id === item);
	if (at >= 0) {
		const duration = found[at].to - found[at].from;
		answer.item = { id: item, duration, rank: found.findIndex((f) => f.to - f.from === duration) + 1,
				bin: bins.findIndex(([a, b]) => duration >= a && duration < b) };
	}
	return answer;
}

/* ---------------------------------------------------------------- why, and flame graphs */

const words = { preempted: "was preempted", runnable: "waited for a CPU", blocked: "was blocked",
		unknown: "is not known", irq: "was interrupted" };

/* The system call around a moment, of a thread's tracks. */
function callAt(tracks, at)
{
	for (const t of tracks) {
		const i = t.kind === "syscalls" ? t.find(at) : t.n;
		if (i < t.n && t.begin[i] <= at)
			return names[t.what[i]];
	}
	return "";
}

/* why - the thread's own states, as /api/why; causes of waits are not in this file. */
export function why({ row, from, to, limit })
{
	const got = statesIn(row, from, to), reasons = new Map();
	if (!got)
		throw new Error("This row has no states: they need switches in the recording (-k sched)");
	const tracks = tracksOf(row), t = tracks.find((one) => one.kind === "states");
	for (let i = t.find(from); i < t.n && t.begin[i] < to; i++) {
		const name = stateNames[t.what[i]];
		if (name === "user" || name === "kernel")
			continue;
		const begin = Math.max(t.begin[i], from), end = Math.min(t.end[i], to);
		const call = name === "blocked" ? callAt(tracks, begin) : "";
		const text = words[name] + (call ? ` in ${call}` : "");
		const r = reasons.get(text) || { ns: 0, n: 0, state: t.what[i], text, row, from: begin, to: begin, causes: [] };
		r.ns += end - begin;
		r.n++;
		if (end - begin > r.to - r.from)
			Object.assign(r, { from: begin, to: end });
		reasons.set(text, r);
	}
	const all = Math.max(1, to - from), s = got.sums;
	const percent = (ns) => `${(100 * ns / all).toFixed(1)} %`;
	return { row, from, to, states: s, path: [], n_waits: 0, n_followed: 0, is_whole: true,
		 summary: `on a CPU ${percent(s[1] + s[2] + s[3])}, waiting for one ${percent(s[4] + s[5])}, ` +
			`blocked ${percent(s[6])}, unknown ${percent(s[0])}`,
		 reasons: [...reasons.values()].sort(descending("ns")).slice(0, limit || 12),
		 missing: ["whom it waited for is not in this file: that needs duet and the recording"] };
}

/* flame - the prepared graph of all of the file's time. */
export function flame({ kind, source, from, to, rows: ids })
{
	const found = flames.filter((f) => f.kind === (kind || "on"));
	const graph = found.find((f) => f.source === source) || found[0];
	if (!graph)
		throw new Error("There is no flame graph of this kind in this file: it needs duet and the recording");
	const isAll = from <= fileFrom && to >= fileTo && !ids.length;
	const note = isAll ? graph.note
		: `${graph.note} This is all of the time in this file; a part of it needs duet and the recording.`.trim();
	return { ...graph, sources: found.map((f) => f.source), note };
}

