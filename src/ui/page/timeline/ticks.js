/* SPDX-License-Identifier: MIT */
/*
 * timeline/ticks.js - round times for an axis, and their texts.
 */

import { clock, moment } from "../format.js";

/* step - the least round number of nanoseconds that is at least @ns. */
function stepOf(ns)
{
	if (ns > 6e10) {
		for (const s of [60, 120, 300, 600, 1200, 3600, 7200, 21600, 43200, 86400])
			if (s * 1e9 >= ns)
				return s * 1e9;
		return Math.ceil(ns / 864e11) * 864e11;
	}
	const power = 10 ** Math.floor(Math.log10(Math.max(1, ns)));
	for (const m of [1, 2, 5, 10])
		if (m * power >= ns)
			return Math.max(1, m * power);
	return power * 10;
}

const digitsOf = (step) => step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;

/* absoluteText - the clock's time of @ns, with the digits that @step needs. */
function absoluteText(ns, step)
{
	const digits = digitsOf(step);
	if (!digits)
		return clock(ns);
	return `${clock(ns)}.${String(moment(ns).ns).padStart(9, "0").slice(0, digits)}`;
}

const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/* relativeText - a signed distance in the unit of @span, with the digits that @step needs. */
function relativeText(ns, step, span)
{
	const [unit, name] = units.find(([u]) => span >= u) || units[3];
	const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
	const sign = ns < -step / 2 ? "−" : "+";
	return `${sign}${(Math.abs(ns) / unit).toFixed(digits)} ${name}`;
}

/*
 * ticks - of [@from, @to) over @width pixels: [{ at, text }].  @zero: times are distances from it; null: the
 * clock's.
 */
export function ticks(from, to, width, zero)
{
	const span = to - from;
	const guess = zero === null ? (span > 2e10 ? 90 : 130) : 100;
	const step = stepOf(span / Math.max(1, width) * guess);
	const list = [];
	/* The clock's ticks are round in the clock, not from the recording's begin. */
	const origin = zero === null ? -Number((BigInt(moment(0).date.getTime()) * 1000000n +
		BigInt(moment(0).ns)) % BigInt(Math.round(step))) : zero;
	const reach = Math.max(Math.abs(from - zero), Math.abs(to - zero), step);
	for (let i = Math.ceil((from - origin) / step); origin + i * step < to && list.length < 200; i++) {
		const at = origin + i * step;
		list.push({ at, text: zero === null ? absoluteText(at, step) : relativeText(at - zero, step, reach) });
	}
	return list;
}
