/* SPDX-License-Identifier: MIT */
/*
 * panels/sessions/list.js - the sessions that record now, asked for every second while someone shows them;
 * and their last ten minutes of rates.
 */

import { get } from "../../api.js";

const everyMs = 1000, mostPoints = 600;
const now = { open: "", list: [], isKnown: false, error: "" };
const histories = new Map(); /* session: {times, events, bytes, lost, used, last, hasRates} */
const listeners = new Set();
let isRunning = false;

export const sessionsNow = () => now;

function number(v)
{
	return Number(v) || 0;
}

export function lostOf(s)
{
	return number(s.lost) + number(s.kernel_lost);
}

export function rateOf(s)
{
	return number(s.events_per_s) + number(s.kernel_events_per_s);
}

export function bytesOf(s)
{
	return number(s.bytes_per_s) + number(s.kernel_bytes_per_s);
}

export const channelsOf = (s) => Array.isArray(s.channel) ? s.channel : [];

function usedOf(s)
{
	const used = channelsOf(s).map((c) => number(c.used_bytes) / Math.max(1, number(c.memory_bytes)));
	return used.length ? 100 * Math.max(...used) : 0;
}

function remember(at, s)
{
	const h = histories.get(s.session) || { times: [], events: [], bytes: [], lost: [], used: [], last: null, hasRates: false };
	histories.set(s.session, h);
	if (h.times.length && at <= h.times.at(-1))
		return;
	h.hasRates ||= s.events_per_s !== undefined || s.kernel_events_per_s !== undefined;
	h.times.push(at);
	h.events.push(rateOf(s));
	h.bytes.push(bytesOf(s));
	h.lost.push(h.last === null ? 0 : Math.max(0, lostOf(s) - h.last));
	h.used.push(usedOf(s));
	h.last = lostOf(s);
	if (h.times.length > mostPoints)
		for (const key of ["times", "events", "bytes", "lost", "used"])
			h[key].shift();
}

export function historyOf(name)
{
	return histories.get(name) || { times: [], events: [], bytes: [], lost: [], used: [] };
}

export async function askSessions()
{
	const answer = await get("/api/sessions", {}, { key: "sessions", quiet: true });
	if (!answer)
		return;
	now.isKnown = true;
	now.error = answer.error || "";
	if (!answer.error) {
		now.open = answer.open;
		now.list = answer.sessions;
		const at = Number(BigInt(answer.time_ns) / 1000000n) / 1000;
		for (const s of now.list)
			remember(at, s);
	}
	for (const fn of listeners)
		fn(now);
}

async function poll()
{
	if (!document.hidden)
		await askSessions();
	setTimeout(poll, now.error ? 4 * everyMs : everyMs);
}

/* startSessions - `fn` runs after each answer. */
export function startSessions(fn)
{
	listeners.add(fn);
	if (!isRunning) {
		isRunning = true;
		poll();
	} else {
		fn(now);
	}
}
