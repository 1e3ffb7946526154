/* SPDX-License-Identifier: MIT */
/*
 * store.js - the state of the page, in one object; the address and undo follow from it.
 *
 * Everything a link should show again is a key of `state`.  It changes by set() alone.  Listeners run
 * once per animation frame, after all changes of it.  Undo goes back in view and selection; the browser's
 * back and forward go through the same steps, by the address.
 */

export const state = {
	from: 0, to: 0, /* the visible time, ns since the recording's begin; to 0: all */
	selected: null, /* { id: "T.I", row, from, to } */
	area: null,	/* { from, to, rows }; rows []: all */
	cursor: null,	/* ns under the pointer */
	marks: [],	/* { at, text } */
	pinned: [], folded: [-2, -2097153], hidden: [], /* ids of rows; below 0: others, ended (recording.js) */
	scroll: 0, /* of the rows, pixels */
	rowFilter: "",
	group: "process",
	panel: "events",
	panelHeight: 210,
	sideWidth: 372,
	filter: "",
	latencyName: "",
	flameKind: "on",
	script: "",
	theme: "",
	following: false,
	path: null, /* the critical path that is drawn: as /api/why answers it */
};

const initial = structuredClone(state);
const undoKeys = ["from", "to", "selected", "area", "marks", "pinned", "folded", "hidden", "rowFilter", "group"];
const mostUndo = 200;
const listeners = []; /* { keys: Set, fn } */
const changed = new Set();
let frame = 0;

/* The address: a key's writer and reader; initial values are left out. */
const whole = { write: (n) => String(Math.round(n)), read: (s) => number(s) };
const words = { write: (s) => s, read: (s) => s };
const ids = {
	write: (a) => a.join("."),
	read: (s) => s === "" ? [] : s.split(".").map(number),
};
const oneOf = (...of) => ({ write: (s) => s, read: (s) => of.includes(s) ? s : of[0] });
const coded = {
	from: whole, to: whole,
	selected: {
		write: (v) => [v.id, v.row, Math.round(v.from), Math.round(v.to)].join("_"),
		read(s) {
			const [id, row, from, to] = s.split("_");
			if (!/^\d+\.\d+$/.test(id))
				throw new Error(id);
			return { id, row: number(row), from: number(from), to: number(to) };
		},
	},
	area: {
		write: (v) => [Math.round(v.from), Math.round(v.to), ...v.rows].join("_"),
		read(s) {
			const [from, to, ...rows] = s.split("_").map(number);
			return { from, to: number(to), rows };
		},
	},
	marks: {
		write: (a) => a.map((m) => `${Math.round(m.at)}~${encodeURIComponent(m.text)}`).join("_"),
		read: (s) => s.split("_").map((m) => {
			const i = m.indexOf("~");
			return { at: number(m.slice(0, i)), text: decodeURIComponent(m.slice(i + 1)) };
		}),
	},
	pinned: ids, folded: ids, hidden: ids,
	scroll: whole,
	rowFilter: words,
	group: oneOf("process", "cpu", "none"),
	panel: oneOf("events", "statistics", "latency", "flame", "query", "live"),
	panelHeight: whole, sideWidth: whole,
	filter: words, latencyName: words,
	flameKind: oneOf("on", "off"),
	script: words,
	theme: oneOf("", "light", "dark"),
	following: { write: () => "1", read: (s) => s === "1" },
};

function number(s)
{
	const n = Number(s);
	if (s === "" || !Number.isFinite(n))
		throw new Error(`"${s}" is no number`);
	return n;
}

function same(a, b)
{
	return a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/* hash - the state as the text after "#". */
export function hash()
{
	const query = new URLSearchParams();
	for (const [key, code] of Object.entries(coded))
		if (state[key] !== null && !same(state[key], initial[key]))
			query.set(key, code.write(state[key]));
	return query.toString();
}

function parse(text)
{
	const query = new URLSearchParams(text.replace(/^#/, ""));
	const values = {};
	for (const [key, code] of Object.entries(coded)) {
		values[key] = structuredClone(initial[key]);
		if (!query.has(key))
			continue;
		try {
			values[key] = code.read(query.get(key));
		} catch {
			/* an unreadable part of an address is ignored */
		}
	}
	return values;
}

function fire()
{
	frame = 0;
	const now = new Set(changed);
	changed.clear();
	for (const l of listeners)
		if (l.keys.some((k) => now.has(k)))
			l.fn(state, now);
}

/* on - @fn(state, changed keys) runs after any of @keys (a list, or one) changed. */
export function on(keys, fn)
{
	listeners.push({ keys: [].concat(keys), fn });
}

function assign(patch)
{
	let any = false;
	for (const [key, value] of Object.entries(patch)) {
		if (!(key in state))
			throw new Error(`store: no key "${key}"`);
		if (same(state[key], value))
			continue;
		state[key] = value;
		changed.add(key);
		any = true;
	}
	if (any && !frame)
		frame = requestAnimationFrame(fire);
	return any;
}

/* Undo.  A step is what undoKeys were before it; steps of the same name close in time are one. */
const past = [], future = [];
let lastStep = "", lastStepAt = 0;
const joinMs = 800;

const snapshot = () => Object.fromEntries(undoKeys.map((k) => [k, state[k]]));

function remember(name)
{
	const now = performance.now();
	const joins = typeof name === "string" && name === lastStep && now - lastStepAt < joinMs;
	lastStep = typeof name === "string" ? name : "";
	lastStepAt = now;
	if (joins)
		return false;
	past.push(snapshot());
	if (past.length > mostUndo)
		past.shift();
	future.length = 0;
	return true;
}

/*
 * set - change keys of the state.
 *
 * @undo: true makes a step that undo() takes back; a text makes one too, joined with the steps of the same
 * text just before (a zoom by wheel is one step); nothing makes none.
 */
export function set(patch, { undo: step } = {})
{
	const matters = Object.entries(patch).some(([key, value]) => !same(state[key], value));
	if (!matters)
		return;
	const isNew = step ? remember(step) : false;
	assign(patch);
	writeAddress(isNew);
}

function go(here, there)
{
	if (!here.length)
		return false;
	there.push(snapshot());
	assign(here.pop());
	lastStep = "";
	writeAddress(false);
	return true;
}

export const undo = () => go(past, future);
export const redo = () => go(future, past);

/* The address is written some time after the last change: browsers limit how often. */
let timer = 0, pushes = false;
const writeMs = 250;

function writeAddress(isNew)
{
	pushes ||= isNew;
	clearTimeout(timer);
	timer = setTimeout(() => {
		const text = `#${hash()}`;
		if (text !== (location.hash || "#"))
			history[pushes ? "pushState" : "replaceState"](null, "", text);
		pushes = false;
	}, writeMs);
}

addEventListener("popstate", () => assign(parse(location.hash)));
addEventListener("hashchange", () => assign(parse(location.hash)));
assign(parse(location.hash));
