/* SPDX-License-Identifier: MIT */
/*
 * timeline/pictures.js - pictures of rows: asked for when needed, kept while they are of use.
 *
 * A picture of a row is what /api/picture answered for it: a time and a width in pixels, wider than what is
 * visible by a margin at both sides.  Of each row two are kept: `fine`, the newest, and `wide`, one of the
 * whole recording.  What is drawn is the fine one stretched to the view of the moment, and the wide one where
 * the fine one does not reach; so there is always something, and nothing blinks.
 *
 * At most `mostFlights` requests run at once, each for some rows.  While the view changes, answers still come
 * in at the pace of the server.  A request that is of no use any more is dropped.
 */

import { cancel, get } from "../api.js";
import { recording } from "../recording.js";
import { decodeRow } from "./decode.js";
import { prepare } from "./textures.js";

const mostFlights = 3;
const mostWidth = 16000;
const margin = 0.35;   /* of the visible time, at each side */
const spare = 0.12;    /* ask again when less than this of it is left */
const wideWidth = 1200;
const mostKept = 250;  /* rows */
const againMs = 1000;
const movingMs = 90;    /* the view changed so short ago: it moves, and less is asked for */
const patienceMs = 150; /* before a request of another time is dropped */

const kept = new Map();	   /* row: { fine, wide }, the last used at the end */
const arrived = [];	   /* rows of answers that are not decoded yet: { shared, raw, wide } */
const flights = new Map(); /* key: { rows: Set, from, to, isWide, since } */
const asked = new Map();   /* row: { what, at }, the last request */
let batch = 24;		   /* rows of a request; fewer if answers had to be merged */
let gaps = [];
let nextKey = 0;
let movedAt = 0, askedAt = 0, timer = 0;
let onAnswer = () => {};
let wanted = null;

/* startPictures - @fn runs after an answer came. */
export function startPictures(fn)
{
	onAnswer = fn;
}

/* pictureOf - { fine, wide } of a row, either may be missing. */
export function pictureOf(row)
{
	return kept.get(row) || {};
}

/* knownGaps - losses of the time last asked for: [[from, to, lost, cpu]]. */
export function knownGaps()
{
	return gaps;
}

function keep(row, picture, isWide)
{
	const had = kept.get(row) || {};
	kept.delete(row);
	const now = isWide ? { ...had, wide: picture } : { ...had, fine: picture };
	kept.set(row, now);
	if (kept.size > mostKept)
		kept.delete(kept.keys().next().value);
}

/*
 * unpack - take what arrived into the pictures, for @ms at most (one row at least): decoding many rows at once
 * would hold up a frame.  Returns whether more is waiting.
 */
export function unpack(ms)
{
	const end = performance.now() + ms;
	while (arrived.length) {
		const { shared, raw, wide } = arrived.shift();
		const picture = { ...shared, row: raw.row, tracks: decodeRow(raw, shared.from) };
		if (recording.rows[raw.row]?.kind === "disk")
			for (const track of picture.tracks.values())
				track.kind = track.kind === "busy" ? "disk" : track.kind;
		prepare(picture);
		keep(raw.row, picture, wide);
		if (performance.now() >= end)
			break;
	}
	return arrived.length > 0;
}

/* Whether @p shows what it would if asked for now: nothing was indexed since, or only outside it. */
function isCurrent(p)
{
	return p.ready >= Math.min(p.to, recording.end) || p.ready >= recording.ready;
}

function isFine(p, w)
{
	if (!p || !isCurrent(p))
		return false;
	const zoom = (p.to - p.from) / p.width / w.nsPerPixel;
	if (zoom > 1.01 || zoom < 0.5)
		return false;
	const room = (w.to - w.from) * spare;
	return p.from <= Math.max(w.from - room, w.least) && p.to >= Math.min(w.to + room, w.most);
}

function isWide(p)
{
	return p && isCurrent(p) && p.from <= 0 && p.to >= recording.end * 0.98;
}

function inFlight(row, wide)
{
	for (const f of flights.values())
		if (f.isWide === wide && f.rows.has(row))
			return true;
	return arrived.some((a) => a.raw.row === row && a.wide === wide);
}

/* wasAsked - whether the same was asked for the row a moment ago: an answer that does not satisfy would be asked
 * for again and again. */
function wasAsked(row, what)
{
	const last = asked.get(row);
	return last && last.what === what && performance.now() - last.at < againMs;
}

async function ask(rows, from, to, width, wide)
{
	const key = `picture${nextKey++}`;
	for (const row of rows)
		asked.set(row, { what: [from, to, width].join(), at: performance.now() });
	flights.set(key, { rows: new Set(rows), from, to, isWide: wide, since: performance.now() });
	const answer = await get("/api/picture", { rows, from, to, width }, { key });
	flights.delete(key);
	if (answer && answer.rows) {
		if (answer.merged && batch > 4 && !wide)
			batch = Math.max(4, batch >> 1);
		const shared = { from: answer.from, to: answer.to, width: answer.width, ready: answer.ready };
		for (const raw of answer.rows)
			arrived.push({ shared, raw, wide });
		if (!wide)
			gaps = answer.gaps || [];
		onAnswer();
	}
	if (answer)
		pump();
}

/* Flights whose time is not that which is visible now are dropped once newer rows wait for their place. */
function dropStale(w)
{
	const now = performance.now();
	for (const [key, f] of flights) {
		if (f.isWide)
			continue;
		const zoom = (f.to - f.from) / (w.to - w.from) / (1 + 2 * margin);
		const isOff = f.from > w.to || f.to < w.from || zoom > 4 || zoom < 0.25;
		if (isOff && now - f.since > patienceMs) {
			flights.delete(key);
			cancel(key);
		}
	}
}

function spanOf(w)
{
	const room = (w.to - w.from) * margin;
	const from = Math.floor(Math.max(w.least, w.from - room));
	const to = Math.max(Math.ceil(Math.min(w.most, w.to + room)), from + 1);
	return { from, to, width: Math.min(mostWidth, Math.max(1, Math.ceil((to - from) / w.nsPerPixel))) };
}

function pump()
{
	const w = wanted;
	if (!w)
		return;
	dropStale(w);
	const now = performance.now();
	const moves = now - movedAt < movingMs;
	if (moves && (flights.size || now - askedAt < movingMs)) {
		timer ||= setTimeout(() => {
			timer = 0;
			pump();
		}, movingMs);
		return;
	}
	/* While it moves, rows beside the visible ones can wait. */
	const { from, to, width } = spanOf(w);
	const what = [from, to, width].join();
	const stale = (moves ? w.rows.slice(0, w.nVisible) : w.rows).filter((id) =>
		!isFine(pictureOf(id).fine, w) && !inFlight(id, false) && !wasAsked(id, what));
	/* Rows that show nothing first. */
	stale.sort((a, b) => Boolean(pictureOf(a).fine) - Boolean(pictureOf(b).fine));
	if (stale.length)
		askedAt = now;
	while (stale.length && flights.size < mostFlights && to > from)
		ask(stale.splice(0, batch), from, to, width, false);
	if (flights.size || moves)
		return;
	const all = [0, recording.end, wideWidth].join();
	const rows = w.rows.filter((id) => !isWide(pictureOf(id).wide) && !inFlight(id, true) && !wasAsked(id, all));
	if (rows.length && recording.end > 0)
		ask(rows.slice(0, 40), 0, recording.end, wideWidth, true);
}

/*
 * want - the first @nVisible of @rows are visible now, @from to @to at @width device pixels; the others lie
 * beside them.
 */
export function want(rows, nVisible, from, to, width)
{
	if (wanted && (wanted.from !== from || wanted.to !== to))
		movedAt = performance.now();
	wanted = {
		rows, nVisible, from, to,
		nsPerPixel: (to - from) / width,
		least: 0,
		most: Math.max(1, recording.end),
	};
	pump();
}
