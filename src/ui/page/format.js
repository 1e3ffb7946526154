/* SPDX-License-Identifier: MIT */
/*
 * format.js - numbers and times as people read them.
 *
 * Times of the page are nanoseconds since the recording's begin, as Numbers: exact up to 104 days.  The
 * clock's time needs more digits than a Number has, so it is put together from a BigInt.
 */

let begin = 0n; /* the recording's begin, nanoseconds from the Epoch */

/* setBegin - @text is `begin` of /api/recording. */
export function setBegin(text)
{
	begin = BigInt(text || 0);
}

const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/* duration - three significant digits and a unit: "2.84 ms". */
export function duration(ns)
{
	const size = Math.abs(ns);
	if (size >= 120e9) {
		const s = Math.round(size / 1e9);
		const text = s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`
				       : `${Math.floor(s / 60)} min ${s % 60} s`;
		return ns < 0 ? `−${text}` : text;
	}
	for (const [unit, name] of units) {
		if (size < unit * 0.9995 && unit > 1)
			continue;
		const n = size / unit;
		const digits = unit === 1 ? 0 : n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
		return `${ns < 0 ? "−" : ""}${n.toFixed(digits)} ${name}`;
	}
	return "0 ns";
}

/* since - a signed distance: "+1.234 567 ms", exact. */
export function since(ns)
{
	const size = Math.abs(Math.round(ns));
	const sign = ns < 0 ? "−" : "+";
	if (size < 1000)
		return `${sign}${size} ns`;
	if (size < 1e6)
		return `${sign}${(size / 1e3).toFixed(3)} µs`;
	if (size < 1e9)
		return `${sign}${group((size / 1e6).toFixed(6))} ms`;
	return `${sign}${group((size / 1e9).toFixed(9))} s`;
}

function group(text)
{
	const [whole, part] = text.split(".");
	return `${whole}.${part.replace(/(\d{3})(?=\d)/g, "$1\u202f")}`;
}

/* moment - @ns as { date, ns }: the Date of its second, and the nanoseconds within it. */
export function moment(ns)
{
	const at = begin + BigInt(Math.round(ns));
	const second = at / 1000000000n;
	return { date: new Date(Number(second) * 1000), ns: Number(at - second * 1000000000n) };
}

const two = (n) => String(n).padStart(2, "0");

/* clock - hours, minutes and seconds of @ns. */
export function clock(ns)
{
	const d = moment(ns).date;
	return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/* time - the clock's time with nanoseconds: "18:30:43.339090256". */
export function time(ns)
{
	return `${clock(ns)}.${String(moment(ns).ns).padStart(9, "0")}`;
}

/* day - "2026-11-22". */
export function day(ns)
{
	const d = moment(ns).date;
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/* count - digits in groups of three: "1 770". */
export function count(n)
{
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/* percent - @share of 1: "16 %", "0.4 %", "< 0.1 %". */
export function percent(share)
{
	const n = 100 * share;
	return n > 0 && n < 0.05 ? "< 0.1 %" : `${n > 0 && n < 0.95 ? n.toFixed(1) : Math.round(n)} %`;
}
