/* SPDX-License-Identifier: MIT */
/*
 * timeline/titles.js - the object of a span or system call, in a word or two: "audit.log", "412 /checkout".
 *
 * Titles are asked for when the view has stood still for a moment, of what is wide enough to show them, the widest
 * first.  They are kept, also those that are empty, so what has a title has it in the next frame too.
 */

import { get } from "../api.js";
import { onRecording } from "../recording.js";
import { clean, firstItem } from "./paint.js";
import { pictureOf } from "./pictures.js";
import { draw, view, visible, visibleEntries } from "./view.js";

const stillMs = 150;
const leastWidth = 90;
const mostAsked = 64;
const mostKept = 6000;
const pauseMs = 10000; /* after an error */

const kept = new Map(); /* key: title; the last seen at the end */
const kinds = new Set(["spans", "syscalls"]);
let shown = "", movedAt = 0, timer = 0, pausedUntil = 0;
let flight = null;  /* the request under way: { shown, pointed } */
let pointed = null; /* [track, index] below the pointer, wide or not */
let recorded = "";
let onAnswer = () => {};

const keyOf = (track, index) => track * 2 ** 32 + index;

/* titleOf - the title of item @index of @track; "" if it has none, or none yet. */
export function titleOf(track, index)
{
	return kept.get(keyOf(track, index)) || "";
}

function keep(key, title)
{
	kept.delete(key);
	kept.set(key, title);
	if (kept.size > mostKept)
		kept.delete(kept.keys().next().value);
}

/* eachWide - call @fn(width, index) for the items of @track that have room for a title. */
function eachWide({ items }, { from, to }, fn)
{
	const perNs = view.width / (to - from);
	for (let i = firstItem(items, from); i < items.begin.length && items.begin[i] < to; i++) {
		const width = (Math.min(items.end[i], to) - Math.max(items.begin[i], from)) * perNs;
		if (width >= leastWidth)
			fn(width, items.index[i]);
	}
}

/* wanted - [track, index] of items without a title yet, the widest first. */
function wanted()
{
	const found = [], now = visible();
	for (const entry of visibleEntries())
		for (const lane of entry.lanes.filter((l) => kinds.has(l.kind))) {
			const { fine, wide } = pictureOf(entry.id);
			const track = (fine || wide)?.tracks.get(lane.track);
			if (!track?.items)
				continue;
			eachWide(track, now, (width, index) => {
				const key = keyOf(lane.track, index), title = kept.get(key);
				if (title === undefined)
					found.push({ width, id: [lane.track, index] });
				else
					keep(key, title);
			});
		}
	found.sort((a, b) => b.width - a.width);
	const ids = found.slice(0, mostAsked).map((f) => f.id);
	return pointed ? [pointed, ...ids.slice(0, mostAsked - 1)] : ids;
}

function take(ids, titles)
{
	const got = ids.filter(([track, index]) => typeof titles[`${track}.${index}`] === "string");
	for (const [track, index] of got)
		keep(keyOf(track, index), clean(titles[`${track}.${index}`]));
	if (!got.length) /* never the same again */
		ids.forEach(([track, index]) => keep(keyOf(track, index), ""));
}

async function ask()
{
	const isSame = flight && flight.shown === shown && flight.pointed === pointed;
	const ids = isSame || performance.now() < pausedUntil ? [] : wanted();
	if (!ids.length)
		return;
	const mine = flight = { shown, pointed };
	const answer = await get("/api/titles", { ids: ids.map((id) => id.join(".")) }, { key: "titles", quiet: true });
	if (flight !== mine)
		return;
	flight = null;
	if (mine.pointed === pointed)
		pointed = null;
	if (!answer?.titles) {
		pausedUntil = performance.now() + pauseMs;
		return;
	}
	take(ids, answer.titles);
	draw();
	onAnswer();
	if (mine.shown === shown)
		ask();
}

function look()
{
	const left = movedAt + stillMs - performance.now();
	timer = 0;
	if (left > 0)
		timer = setTimeout(look, left);
	else
		ask();
}

/* titlesLater - to be called in every frame: asks for missing titles once the view stands still. */
export function titlesLater()
{
	const { from, to } = visible();
	const now = `${from} ${to} ${view.scroll} ${view.width}`;
	if (now !== shown) {
		shown = now;
		movedAt = performance.now();
	}
	timer ||= setTimeout(look, stillMs);
}

/* pointAt - @item (as of hit.js) is below the pointer: its title is wanted, wide or not. */
export function pointAt(item)
{
	const [track, index] = item.id.split(".").map(Number);
	if (!kinds.has(item.kind) || kept.has(keyOf(track, index)))
		return;
	if (pointed?.[0] !== track || pointed[1] !== index)
		pointed = [track, index];
	timer ||= setTimeout(look, stillMs);
}

/* startTitles - @fn runs after an answer came. */
export function startTitles(fn)
{
	onAnswer = fn;
	onRecording(({ begin, paths }) => {
		const now = [begin, ...paths].join("\n");
		if (now !== recorded)
			kept.clear();
		recorded = now;
	});
}
