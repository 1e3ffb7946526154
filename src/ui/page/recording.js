/* SPDX-License-Identifier: MIT */
/*
 * recording.js - the open recording: rows, tracks and names, kept up to date.
 *
 * `recording` is one object for the life of the page.  It is asked for again while it is not indexed to
 * its end, or live; whoever depends on it registers with onRecording().
 */

import { get } from "./api.js";
import { setBegin } from "./format.js";
import { state } from "./store.js";

export const recording = {
	isOpen: false, /* false too where only sessions are listed */
	name: "", paths: [], begin: "0", end: 0, ready: 0, done: false, version: -1, events: 0, lost: 0,
	lost_packets: 0, damage: "", failure: "", live: false,
	rows: [],	   /* by id: { id, kind, parent, name, pid, tid, cpu, first, last, tracks, children } */
	roots: [],	   /* ids of rows without parent */
	names: [],	   /* by id */
	tracks: new Map(), /* id: { id, kind, depth, row } */
	heardAt: 0,	   /* performance.now() of the answer that changed `ready` last */
};

const listeners = [];
const pollMs = { indexing: 200, live: 400 };

/* onRecording - @fn(recording, hasNewRows) runs after each answer, and at once if there was one. */
export function onRecording(fn)
{
	listeners.push(fn);
	if (recording.isOpen)
		fn(recording, true);
}

const kindOrder = ["host", "cpu", "process", "thread", "irq", "disk", "counter"];
const isRecorded = (row) => row.tracks.some((t) => t.kind !== "states");

function rankOf(row)
{
	const kind = row.kind === "group" ? recording.rows[row.children[0]]?.kind : row.kind;
	const isOther = kind === "process" && !isRecorded(row) && !row.children.some((id) => isRecorded(recording.rows[id]));
	return kindOrder.indexOf(kind) + (isOther ? 0.5 : 0);
}

/* inOrder - CPUs come first, then processes (first those of which more than states was recorded), then devices and
 * counters; else the order in which they appeared, so a row stays where it is while more are found. */
function inOrder(ids)
{
	return ids.map((id) => ({ id, rank: rankOf(recording.rows[id]), cpu: recording.rows[id].cpu }))
		.sort((a, b) => (a.id < 0) - (b.id < 0) || a.rank - b.rank || a.cpu - b.cpu || a.id - b.id)
		.map((r) => r.id);
}

/* The row of "others" below @parent: no index, so that the ids of the server stay those of `rows`. */
const othersOf = (parent) => -3 - parent;
export const others = othersOf(-1);

/* A process that was not followed shows up where a followed one met it on a CPU: what is known of it are
 * fragments.  Such processes lie in a row of their own, which is folded at first. */
function moveFragments()
{
	const whole = new Set();
	for (const row of recording.rows)
		if (row.kind === "thread" && !(row.partial && row.tracks.every((t) => t.kind === "states" || t.kind === "syscalls")))
			whole.add(row.parent);
	for (const row of recording.rows) {
		if (row.kind !== "process" || row.parent < -1 || whole.has(row.id))
			continue;
		const id = othersOf(row.parent);
		recording.rows[id] ||= {
			id, kind: "group", parent: row.parent, name: "Others, seen in part", pid: -1, tid: -1, cpu: -1,
			first: 0, last: 0, tracks: [], children: [],
		};
		row.home = row.parent;
		row.parent = id;
	}
}

/* The row of "ended before" below @parent, for live recordings: its id is below all of othersOf(). */
const endedOf = (parent) => -(2 ** 21) - 2 - parent;
export const ended = endedOf(-1);
const endedNs = 5e9;
let nEnded = 0;

/* gone - processes of a live recording that ended before what is visible, and some time ago: a session meets
 * thousands that end soon, and they would push what runs now out of sight.  A process that waits is not among
 * them: its `last` is the end. */
function gone()
{
	if (!recording.live)
		return [];
	const before = Math.min(state.to > state.from ? state.from : 0, recording.ready - endedNs);
	const alive = new Set();
	for (const row of recording.rows) {
		const isAlive = row.last >= before;
		if (isAlive && row.kind === "process")
			alive.add(row.id);
		if (isAlive && row.kind === "thread")
			alive.add(row.parent);
	}
	return recording.rows.filter((row) => row.kind === "process" && !alive.has(row.id));
}

function moveEnded()
{
	const rows = gone();
	for (const row of rows) {
		row.home ??= row.parent;
		row.parent = endedOf(row.home);
		recording.rows[row.parent] ||= {
			id: row.parent, kind: "group", parent: row.home, name: "Ended before", pid: -1, tid: -1, cpu: -1,
			first: 0, last: 0, tracks: [], children: [],
		};
	}
	nEnded = rows.length;
}

function link()
{
	recording.roots = [];
	recording.tracks = new Map();
	for (const id of Object.keys(recording.rows))
		recording.rows[id].children = [];
	for (const row of recording.rows)
		row.parent = row.home ?? row.parent;
	moveFragments();
	moveEnded();
	for (const id of Object.keys(recording.rows).filter((i) => i < 0)) {
		const row = recording.rows[id];
		(recording.rows[row.parent]?.children || recording.roots).push(row.id);
	}
	for (const row of recording.rows) {
		const parent = recording.rows[row.parent];
		if (parent && parent !== row)
			parent.children.push(row.id);
		else
			recording.roots.push(row.id);
		for (const track of row.tracks)
			recording.tracks.set(track.id, { ...track, row: row.id });
	}
	for (const id of Object.keys(recording.rows))
		recording.rows[id].children = inOrder(recording.rows[id].children);
	recording.roots = inOrder(recording.roots);
}

function merge(answer)
{
	const { rows, names, ...status } = answer;
	if (status.ready !== recording.ready)
		recording.heardAt = performance.now();
	Object.assign(recording, status);
	recording.isOpen = true;
	setBegin(recording.begin);
	for (const row of rows || [])
		recording.rows[row.id] = row;
	const hasNewRows = rows !== undefined || gone().length !== nEnded;
	if (hasNewRows)
		link();
	if (names)
		recording.names = names;
	for (const fn of listeners)
		fn(recording, hasNewRows);
}

async function poll()
{
	const since = recording.version >= 0 ? recording.version : undefined;
	const answer = await get("/api/recording", { since }, { key: "recording", quiet: true });
	if (answer && !answer.error)
		merge(answer);
	if (answer?.status === 404 && !recording.isOpen)
		return answer;
	if (!recording.done || recording.live)
		setTimeout(poll, answer?.error ? 2000 : pollMs[recording.live ? "live" : "indexing"]);
	return answer;
}

/* startRecording - ask for the first time, and go on.  Resolves to the first answer, or { error }. */
export function startRecording()
{
	return poll();
}

/* rowName - a row for people: its name, and its id if it has one. */
export function rowName(id)
{
	const row = recording.rows[id];
	if (!row)
		return `row ${id}`;
	return row.tid >= 0 ? `${row.name} ${row.tid}` : row.pid >= 0 ? `${row.name} ${row.pid}` : row.name;
}
