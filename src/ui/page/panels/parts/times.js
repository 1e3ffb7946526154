/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/times.js - times of the clock within a text, as links to the timeline.
 *
 * A time is as `duet view` and format.js write it: 18:30:43.339090256.  Its day is that of the recording
 * at which it lies within the recording; one that does not stays text.
 */

import { moment } from "../../format.js";
import { recording } from "../../recording.js";
import { set, state } from "../../store.js";
import { zoomTo } from "../../timeline/view.js";
import { link } from "./dom.js";

const pattern = /\b([01]\d|2[0-3]):([0-5]\d):([0-5]\d)\.(\d{9})\b/g;

/* since - nanoseconds from the recording's begin to the clock's time; null: not within it. */
function since(hours, minutes, seconds, ns)
{
	const { date, ns: beginNs } = moment(0);
	const begin = date.getHours() * 3600 + date.getMinutes() * 60 + date.getSeconds();
	let whole = hours * 3600 + minutes * 60 + seconds - begin;
	if (whole < -1)
		whole += 86400;
	const at = whole * 1e9 + ns - beginNs;
	return at >= 0 && at <= recording.end ? at : null;
}

/* sinceBegin - a number that is a time of the recording, in nanoseconds from the Epoch, as nanoseconds since
 * its begin; else null.  Of such a number a double has about the last 256 nanoseconds wrong. */
export function sinceBegin(ns)
{
	if (ns < 1e18 || !Number.isFinite(ns))
		return null;
	const at = Number(BigInt(Math.round(ns)) - BigInt(recording.begin));
	return at >= -256 && at <= recording.end + 256 ? Math.max(0, at) : null;
}

/* goTo - `at` is visible, with the cursor on it. */
export function goTo(at)
{
	const to = state.to || recording.end;
	const half = Math.max(500, (to - state.from) / 2);
	if (at < state.from || at > to)
		zoomTo(at - half, at + half);
	set({ cursor: at });
}

/* withTimes - `text` as a list of texts and links. */
export function withTimes(text)
{
	const parts = [];
	let end = 0;
	for (const m of text.matchAll(pattern)) {
		const at = since(Number(m[1]), Number(m[2]), Number(m[3]), Number(m[4]));
		if (at === null)
			continue;
		parts.push(text.slice(end, m.index), link(m[0], () => goTo(at), "Show this time"));
		end = m.index + m[0].length;
	}
	parts.push(text.slice(end));
	return parts;
}
