/* SPDX-License-Identifier: MIT */
/*
 * offline/find.js - items by id, time and name; wakeups; the event table.
 *
 * What is known of an item is what tracks and the event table of this file have: no names of files.
 */
import { below, events, find, hasEnd, isCut, isPoints, nameOf, names, place, rows, stateNames, statesIn, track, tracksOf,
	 tracksOfKind, wakes } from "./data.js";

/* ---------------------------------------------------------------- the event table */

/* The first event at or after @at. */
function eventIndex(at)
{
	let low = 0, high = events.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (events[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const indexOfPosition = new Map();

function positionIndex(pos)
{
	if (!indexOfPosition.size)
		events.forEach((e, i) => indexOfPosition.set(e.pos, i));
	return indexOfPosition.get(pos) ?? eventIndex(parseInt(pos, 10) || 0);
}

function chooser(ids, filter)
{
	const chosen = below(ids), text = (filter || "").trim().toLowerCase();
	const cpus = new Set(rows.filter((r) => r.kind === "cpu" && chosen?.has(r.id)).map((r) => r.cpu));
	return (e) => e.lost !== undefined ||
		((!chosen || chosen.has(e.row) || cpus.has(e.cpu)) &&
		 (!text || `${e.name} ${e.thread} ${e.fields}`.toLowerCase().includes(text)));
}

/* eventPage - as /api/events; the filter is a text that an event has. */
export function eventPage({ from, to, rows: ids, filter, after, at, direction, limit })
{
	const wants = chooser(ids, filter), most = limit || 200, step = direction < 0 ? -1 : 1;
	const first = eventIndex(from), last = eventIndex(to + 1) - 1;
	let i = step > 0 ? first : last;
	if (after !== undefined && after !== "")
		i = positionIndex(after) + step;
	else if (at !== undefined)
		i = step > 0 ? eventIndex(at) : eventIndex(at) - 1;
	i = step > 0 ? Math.max(i, first) : Math.min(i, last);
	const found = [], begun = i;
	for (; i >= first && i <= last && found.length < most; i += step)
		if (wants(events[i]))
			found.push(events[i]);
	const isOver = i < first || i > last;
	const begunAt = step > 0 ? (begun <= first) : (begun >= last);
	if (step < 0)
		found.reverse();
	const head = found[0]?.pos ?? null, tail = found[found.length - 1]?.pos ?? null;
	const ahead = isOver ? null : step > 0 ? tail : head;
	const back = begunAt ? null : step > 0 ? head ?? events[begun]?.pos ?? null : tail ?? events[begun]?.pos ?? null;
	return { events: found, earlier: step > 0 ? back : ahead, later: step > 0 ? ahead : back,
		 searched: [found[0]?.at ?? from, found[found.length - 1]?.at ?? to], is_whole: true,
		 n: last - first + 1, before: found.length ? positionIndex(head) - first : 0,
		 is_exact: begunAt && isOver };
}

/* The fields of the event at @at of a row whose name fits: "{ fd = 4, buf = "a, b" }" as pairs. */
function fieldsOf(row, at, fits)
{
	for (let i = eventIndex(at); i < events.length && events[i].at === at; i++) {
		if (events[i].row !== row || !fits(events[i].name))
			continue;
		const inner = events[i].fields.replace(/^\{ ?| ?\}$/g, "");
		return { event: events[i].name, cpu: events[i].cpu, fields: split(inner) };
	}
	return null;
}

/* At commas that are in no quotes and no brackets. */
function split(text)
{
	const parts = [];
	let depth = 0, quoted = false, from = 0;
	for (let i = 0; i <= text.length; i++) {
		const c = text[i];
		if (c === "\\" && quoted)
			i++;
		else if (c === "\"")
			quoted = !quoted;
		else if (!quoted && "[{(".includes(c ?? " "))
			depth++;
		else if (!quoted && c !== undefined && "]})".includes(c))
			depth--;
		else if ((c === undefined || (c === "," && !quoted && depth <= 0)) && i > from) {
			parts.push(text.slice(from, i).trim());
			from = i + 1;
		}
	}
	return parts.map((part) => {
		const at = part.indexOf(" = ");
		return at > 0 ? [part.slice(0, at), part.slice(at + 3)] : ["", part];
	});
}

/* ---------------------------------------------------------------- items */

function rankOf(t, i)
{
	const duration = t.end[i] - t.begin[i], all = [];
	for (const other of tracksOfKind([t.kind]))
		for (let k = 0; k < other.n; k++)
			if (other.what[k] === t.what[i] && hasEnd(other, k))
				all.push(other.end[k] - other.begin[k]);
	const sorted = Float64Array.from(all).sort(), at = (p) => sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)];
	return { n: all.filter((ns) => ns > duration).length + 1, of: sorted.length, p50: at(0.5), p99: at(0.99),
		 least: sorted[0], greatest: sorted[sorted.length - 1] };
}

/* Calls, spans and functions of the same thread that enclose it, the innermost first. */
function around(t, i)
{
	const found = [];
	for (const other of tracksOf(t.row)) {
		if (other === t || !["spans", "calls", "syscalls"].includes(other.kind))
			continue;
		const k = other.find(t.begin[i]);
		if (k < other.n && other.begin[k] <= t.begin[i] && other.end[k] >= t.end[i] &&
		    (other.end[k] - other.begin[k] > t.end[i] - t.begin[i] || other.depth < t.depth))
			found.push(place(other, k));
	}
	return found.sort((a, b) => a.to - a.from - (b.to - b.from));
}

function waits(t, i)
{
	const states = tracksOf(t.row).find((one) => one.kind === "states"), found = [];
	if (!states)
		return found;
	for (let k = states.find(t.begin[i]); k < states.n && states.begin[k] < t.end[i]; k++)
		if (stateNames[states.what[k]] === "blocked") {
			const { id, from, to } = place(states, k);
			const wake = wakes.find((w) => w.woken === t.row && w.at === to);
			const call = tracksOf(t.row).find((one) => one.kind === "syscalls");
			const at = call ? call.find(from) : 0;
			found.push({ id, from, to, waker: wake ? wake.waker : -1,
				     ...(call && at < call.n && call.begin[at] <= from
					     ? { call: nameOf(call, at), call_id: place(call, at).id } : {}) });
		}
	return found.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 8);
}

/* Call stacks are fields of an event: "[ 0x55d0 (work), 0x7f1e ]", innermost first, the kernel's first. */
function addStack(item)
{
	const stack = [];
	for (const name of ["callstack_kernel", "callstack_user"]) {
		const text = item.fields.find(([key]) => key === name)?.[1] || "";
		for (const [, address, known] of text.matchAll(/(0x[0-9a-f]+)(?: \((.*?)\)(?=[, ]))?/g))
			stack.push({ function: known || address, address });
	}
	item.fields = item.fields.filter(([key]) => !key.startsWith("callstack_"));
	if (stack.length)
		item.stack = stack;
}

function addFields(item, t, i)
{
	const begun = fieldsOf(t.row, t.begin[i], (name) => t.kind !== "syscalls" ? !name.startsWith("sched_")
		: name.endsWith(`syscall_entry_${item.name}`));
	const ended = t.kind === "syscalls" ? fieldsOf(t.row, t.end[i],
		(name) => name.endsWith(`syscall_exit_${item.name}`)) : null;
	if (begun && t.kind !== "states" && t.kind !== "running")
		addStack(Object.assign(item, { event: begun.event, cpu: begun.cpu, fields: begun.fields }));
	if (ended)
		item.end_fields = ended.fields;
	if (t.kind === "syscalls")
		item.result = String(t.aux[i]);
}

/* item - as /api/item, as far as this file goes. */
export function item({ id })
{
	const found = find(id);
	if (!found)
		throw new Error(`Item ${id} is not in this file: it needs duet and the recording`);
	const { track: t, i } = found, answer = { ...place(t, i), depth: t.depth, open: Boolean(t.isOpen) && i === t.n - 1,
						    cut: isCut(t, i) };
	const isThread = rows[t.row].kind === "thread";
	if (t.kind === "states")
		answer.state = nameOf(t, i);
	if (t.kind === "counter")
		answer.value = t.aux[i];
	if (t.kind === "running")
		answer.thread = t.what[i];
	if (isThread)
		answer.thread = t.row;
	addFields(answer, t, i);
	if (!isPoints(t.kind) && isThread) {
		const got = statesIn(t.row, t.begin[i], t.end[i]);
		if (got)
			answer.sums = Object.fromEntries(stateNames.map((name, k) => [name, got.sums[k]]));
		answer.waits = waits(t, i);
	}
	if (["spans", "syscalls", "calls"].includes(t.kind) && hasEnd(t, i))
		answer.rank = rankOf(t, i);
	if (isThread)
		answer.around = around(t, i);
	if (i > 0)
		answer.previous = place(t, i - 1);
	if (i + 1 < t.n)
		answer.next = place(t, i + 1);
	answer.notes = ["Files and locks by their names need duet and the recording."];
	return answer;
}

/* ---------------------------------------------------------------- titles */

/* Fields behind those of contexts, which are in braces of their own: "{ a = 1 }, { b = 2 }". */
function payload(fields)
{
	const at = fields.findLastIndex(([name]) => name.startsWith("{ "));
	return fields.slice(Math.max(0, at)).map(([name, value]) => [name.replace(/^\{ /, ""), value]);
}

const plain = (value) => value.replace(/^"|"$/g, "");

function titleOf(id)
{
	const { track: t, i } = find(id) || {};
	const name = t ? nameOf(t, i) : "", isCall = t?.kind === "syscalls";
	if (!isCall && t?.kind !== "spans")
		return "";
	const event = fieldsOf(t.row, t.begin[i], (e) => isCall ? e.endsWith(`syscall_entry_${name}`) : e.startsWith(name));
	const fields = payload(event?.fields || []);
	if (!isCall)
		return fields.map(([, value]) => plain(value)).filter(Boolean).join(" ").slice(0, 80);
	const path = fields.find(([key, value]) => /^(file|path|old|new)name$/.test(key) && value.startsWith("\""));
	const [first, number] = fields[0] || [];
	if (path)
		return plain(path[1]).replace(/^\/.*\/(?=.)/, "");
	return first === "uaddr" ? number : /^(fd|epfd|out_fd|fd_in)$/.test(first) ? `fd ${number}` : "";
}

/* titles - as /api/titles, but files have no names. */
export function titles({ ids })
{
	const list = Array.isArray(ids) ? ids : String(ids || "").split(",").filter(Boolean);
	return { titles: Object.fromEntries(list.map((id) => [id, titleOf(id)])) };
}

/* ---------------------------------------------------------------- next */

function nextInTrack(t, at, direction)
{
	let i = t.find(at);
	if (direction > 0) {
		while (i < t.n && t.begin[i] <= at)
			i++;
		return i < t.n ? i : -1;
	}
	while (i > 0 && (i >= t.n || t.begin[i] >= at))
		i--;
	return i < t.n && t.begin[i] < at ? i : -1;
}

/* The interval of @t that covers @at; of points, the nearest. */
function covering(t, at)
{
	const i = t.find(at);
	if (!isPoints(t.kind))
		return i < t.n && t.begin[i] <= at ? i : -1;
	if (i === 0 || i >= t.n)
		return Math.min(i, t.n - 1);
	return at - t.begin[i - 1] < t.begin[i] - at ? i - 1 : i;
}

/* next - as /api/next. */
export function next({ row, track: id, at, direction, id: from })
{
	const known = from ? find(from) : null;
	const lanes = id !== undefined ? [track(id)].filter(Boolean)
		: tracksOf(row ?? known?.track.row ?? 0).filter((t) => t.kind !== "states");
	const time = known ? known.track.begin[known.i] : at;
	let best = null;
	for (const t of lanes) {
		const i = direction === 0 ? covering(t, time) : nextInTrack(t, time, direction);
		if (i < 0)
			continue;
		const one = place(t, i);
		if (!best || (direction >= 0 ? one.from < best.from : one.from > best.from))
			best = one;
	}
	return best || {};
}

/* ---------------------------------------------------------------- search */

/* Equal, begins with it, a word begins with it, contains it; 0: none. */
function quality(name, wanted)
{
	const text = name.toLowerCase();
	if (text === wanted)
		return 4;
	if (text.startsWith(wanted))
		return 3;
	const at = text.indexOf(wanted);
	return at < 0 ? 0 : /[^a-z0-9]/.test(text[at - 1]) ? 2 : 1;
}

function nearest(kindsOf, wantedNames, at, limit)
{
	const found = [];
	for (const t of tracksOfKind(["spans", "syscalls", "calls", "busy", "events"]))
		for (let i = 0; i < t.n; i++)
			if (wantedNames.has(t.what[i])) {
				kindsOf.set(t.what[i], (kindsOf.get(t.what[i]) || 0) + 1);
				found.push([Math.abs(t.begin[i] - at), t, i]);
			}
	found.sort((a, b) => a[0] - b[0]);
	return found.slice(0, limit).map(([, t, i]) => ({ ...place(t, i), name: t.what[i] }))
		.sort((a, b) => a.from - b.from);
}

/* search - as /api/search. */
export function search({ text, at, limit })
{
	const wanted = (text || "").trim().toLowerCase(), most = limit || 20, counts = new Map();
	if (!wanted)
		return { rows: [], names: [], items: [], more: false };
	const byQuality = (a, b) => b[0] - a[0];
	const foundRows = rows.map((r) => [r.tid === Number(wanted) || r.pid === Number(wanted) ? 4
		: quality(r.name, wanted), r]).filter(([q]) => q).sort(byQuality);
	const foundNames = names.map((name, i) => [name ? quality(name, wanted) : 0, i]).filter(([q]) => q).sort(byQuality);
	const items = nearest(counts, new Set(foundNames.map(([, i]) => i)), at || 0, most);
	return { rows: foundRows.slice(0, most).map(([, r]) => ({ row: r.id, name: r.name, kind: r.kind })),
		 names: foundNames.slice(0, most).map(([, i]) => ({ name: i, text: names[i], n: counts.get(i) || 0 })),
		 items, more: foundRows.length > most || foundNames.length > most };
}

/* wakesOf - as /api/wakes. */
export function wakesOf({ row, from, to, limit })
{
	const inTime = (w) => w.at >= from && w.at < to, most = limit || 200;
	const of = wakes.filter((w) => w.woken === row && inTime(w));
	const by = wakes.filter((w) => w.waker === row && inTime(w));
	return { of: of.slice(0, most), by: by.slice(0, most), more: of.length > most || by.length > most };
}

