/* SPDX-License-Identifier: MIT */
/*
 * timeline/hit.js - the item at a point of the canvas, and the place of an item.
 */

import { get } from "../api.js";
import { recording } from "../recording.js";
import { isPoints, states } from "./decode.js";
import { firstItem, itemName } from "./paint.js";
import { pictureOf } from "./pictures.js";
import { titleOf } from "./titles.js";

const near = 5; /* pixels beside something short that still hit it */

/* laneAt - the lane of @entry at @y, or the nearest one within some pixels. */
export function laneAt(entry, y)
{
	let best = null, distance = 5;
	for (const lane of entry.lanes) {
		const d = y < lane.y ? lane.y - y : y >= lane.y + lane.height ? y - lane.y - lane.height + 1 : 0;
		if (d < distance) {
			best = lane;
			distance = d;
		}
	}
	return best;
}

function trackOf(entry, lane, at)
{
	const { fine, wide } = pictureOf(entry.id);
	const picture = fine && at >= fine.from && at < fine.to ? fine : wide || fine;
	return { picture, track: picture?.tracks.get(lane.track) };
}

/* itemAt - the item of @entry's @lane at the time @at, as { id, row, from, to, kind, name, title }; undefined if the
 * picture does not hold it.  @reach: nanoseconds beside it. */
export function itemAt(entry, lane, at, reach)
{
	const { track } = trackOf(entry, lane, at);
	const items = track?.items;
	if (!items)
		return undefined;
	let best = -1, distance = reach;
	for (let i = firstItem(items, at - reach); i < items.begin.length && items.begin[i] <= at + reach; i++) {
		const d = at < items.begin[i] ? items.begin[i] - at : at > items.end[i] ? at - items.end[i] : 0;
		if (d < distance || (d === 0 && best < 0)) {
			best = i;
			distance = d;
		}
	}
	if (best < 0)
		return undefined;
	return { id: `${lane.track}.${items.index[best]}`, row: entry.id, from: items.begin[best], to: items.end[best],
		 kind: track.kind, name: itemName(track, best), title: titleOf(lane.track, items.index[best]) };
}

export const reachOf = (perPixel) => near * perPixel;

/* findAt - as itemAt, and where the picture holds sums only, the server is asked.  Resolves to undefined if
 * there is nothing. */
export async function findAt(entry, lane, at, perPixel)
{
	const here = itemAt(entry, lane, at, isPoints(lane.kind) ? reachOf(perPixel) : perPixel * 2);
	if (here)
		return here;
	const item = await get("/api/next", { track: lane.track, at, direction: 0 }, { key: "find", quiet: true });
	if (!item?.id)
		return undefined;
	const isOff = at < item.from - reachOf(perPixel) || at > item.to + reachOf(perPixel);
	return isOff ? undefined : { id: item.id, row: entry.id, from: item.from, to: item.to, kind: item.kind,
				     name: item.name };
}

/* sharesOf - where the time of the thread @row went in [@from, @to), as its picture says: { state: share of 1 };
 * null if no picture has it. */
export function sharesOf(row, from, to)
{
	const info = recording.rows[row]?.tracks.find((t) => t.kind === "states");
	const { fine, wide } = pictureOf(row);
	const picture = [fine, wide].find((p) => p && p.from <= from && p.to >= to);
	const runs = info && picture?.tracks.get(info.id)?.runs;
	if (!runs || to <= from)
		return null;
	const perPixel = (picture.to - picture.from) / picture.width;
	if ((to - from) < 4 * perPixel)
		return null;
	const sums = new Array(states.length).fill(0);
	let all = 0;
	for (let i = 0; i < runs.x.length; i++) {
		const begin = picture.from + runs.x[i] * perPixel, end = begin + runs.n[i] * perPixel;
		const covered = Math.min(end, to) - Math.max(begin, from);
		if (covered <= 0)
			continue;
		for (let s = 0; s < states.length; s++) {
			sums[s] += covered * runs.shares[i * 7 + s];
			all += covered * runs.shares[i * 7 + s];
		}
	}
	return all ? Object.fromEntries(states.map((name, s) => [name, sums[s] / all])) : null;
}

/* stretch - y, height and corners of the outline of @selected in @entry; null if its track is not shown. */
export function stretch(entry, selected)
{
	const track = Number(selected.id.split(".")[0]);
	const lane = entry.lanes.find((l) => l.track === track);
	return lane ? { y: lane.y, height: lane.height, radius: lane.kind === "spans" ? 3 : 0 } : null;
}
