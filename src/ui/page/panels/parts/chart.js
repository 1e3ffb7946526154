/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/chart.js - charts by uPlot: a histogram, and lines over time.
 *
 * uPlot may be left out of a build: its module has null then, and a chart is a sentence.  Every chart has its
 * numbers as text too, for readers of screens: in a table or list beside it.
 */

import uPlot from "../../uplot.js";
import { count, duration } from "../../format.js";
import { colours, onTheme } from "../../theme.js";
import { el } from "./dom.js";

const font = () => `11px ${colours.sans}`;

/* frame - a place of a chart that `make`(width, height) fills, again for each size and theme. */
function frame(make, label)
{
	const node = el("div", { class: "chart", role: "img", "aria-label": label });
	let plot = null;
	if (!uPlot)
		node.append(el("p", { class: "dim", text:
			"Charts were left out of this build: uPlot was missing when it was made." }));
	const draw = () => {
		plot?.destroy();
		plot = null;
		if (uPlot && node.clientWidth > 60 && node.clientHeight > 40)
			plot = make(node, node.clientWidth, node.clientHeight);
	};
	new ResizeObserver(draw).observe(node);
	onTheme(draw);
	return { node, draw };
}

const axis = (more) => ({
	stroke: colours.dim, font: font(), grid: { stroke: colours.line, width: 1 },
	ticks: { stroke: colours.line, width: 1, size: 4 }, ...more,
});

/* decades - the round durations 1, 3, 10, .. between two logarithms. */
function decades(low, high)
{
	const all = [];
	for (let k = Math.floor(low); k <= Math.ceil(high); k++)
		for (const m of high - low > 4 ? [1] : high - low > 1 ? [1, 3] : [1, 2, 3, 5, 7])
			all.push(k + Math.log10(m));
	return all.filter((v) => v >= low && v <= high);
}

/* histogram - {node, show(bins, chosen)}: bins [[from, to, count], ..] on a logarithmic axis. */
export function histogram()
{
	let bins = [], chosen = -1;
	const chart = frame(make, "histogram of durations, logarithmic");

	function make(node, width, height)
	{
		if (bins.length === 0)
			return null;
		const log = (v) => Math.log10(Math.max(1, v));
		const xs = bins.map(([a, b]) => (log(a) + log(b)) / 2);
		const bars = uPlot.paths.bars({ size: [0.86, 60], gap: 1 });
		const few = xs.length === 1;
		/* A single slow instance matters: its bar is at least some pixels high. */
		const least = 3 * Math.max(...bins.map((b) => b[2])) / height;
		const seen = (n) => n > 0 ? Math.max(n, least) : 0;
		return new uPlot({
			width, height,
			legend: { show: false },
			cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
			padding: [10, 16, 0, 0],
			scales: {
				x: { time: false, range: () => few ? [xs[0] - 0.5, xs[0] + 0.5]
					: [log(bins[0][0]) - 0.05, log(bins.at(-1)[1]) + 0.05] },
				y: { range: (_, least, greatest) => [0, Math.max(1, greatest * 1.05)] },
			},
			axes: [
				axis({ splits: (_, __, low, high) => decades(low, high),
					values: (_, v) => v.map((s) => duration(10 ** s)), size: 26 }),
				axis({ values: (_, v) => v.map(count), incrs: whole, size: 46 }),
			],
			series: [
				{},
				{ fill: colours.spanb, stroke: colours.spanb, width: 0, paths: bars, points: { show: false } },
				{ fill: colours.sel, stroke: colours.sel, width: 0, paths: bars, points: { show: false } },
			],
			hooks: { setCursor: [(u) => say(u, node)], draw: [(u) => point(u, xs[chosen])] },
		}, [
			xs,
			bins.map((b, i) => i === chosen ? null : seen(b[2])),
			bins.map((b, i) => i === chosen ? seen(b[2]) : null),
		], node);
	}
	/* A line through the bar of the selected one, which may be low among others. */
	function point(u, x)
	{
		if (x === undefined)
			return;
		const at = Math.round(u.valToPos(x, "x", true)) + 0.5, c = u.ctx;
		c.save();
		c.strokeStyle = colours.sel;
		c.lineWidth = devicePixelRatio;
		c.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
		c.beginPath();
		c.moveTo(at, u.bbox.top);
		c.lineTo(at, u.bbox.top + u.bbox.height);
		c.stroke();
		c.restore();
	}
	function say(u, node)
	{
		const b = bins[u.cursor.idx];
		node.title = b && u.cursor.left >= 0
			? `${duration(b[0])} to ${duration(b[1])}: ${count(b[2])}` : "";
	}
	return {
		node: chart.node,
		show(newBins, newChosen)
		{
			bins = newBins;
			chosen = newChosen;
			chart.node.setAttribute("aria-label", bins.length === 0 ? "no histogram"
				: `histogram: ${bins.filter((b) => b[2]).map((b) =>
					`${duration(b[0])} to ${duration(b[1])} ${count(b[2])}`).join(", ")}`);
			chart.draw();
		},
	};
}

/* Steps of an axis that counts. */
const whole = [1, 2, 5].flatMap((m) => Array.from({ length: 13 }, (_, k) => m * 10 ** k)).sort((a, b) => a - b);

/* lines - {node, show(times, values)}: one chart of several series over time.  `series`: [{title,
 * colour}], the name of a colour of the theme. */
export function lines(label, series, format)
{
	let times = [], values = series.map(() => []);
	const chart = frame((node, width, height) => times.length < 2 ? null : new uPlot({
		width, height, legend: { show: false },
		cursor: { drag: { x: false, y: false } }, padding: [8, 12, 0, 0],
		scales: { x: { time: true }, y: { range: (_, least, greatest) => [0, Math.max(1, greatest * 1.1)] } },
		axes: [axis({ size: 26 }), axis({ size: 64, incrs: whole, values: (_, v) => v.map(format) })],
		series: [{}, ...series.map((s) => ({
			label: s.title, stroke: colours[s.colour], width: 1.5, points: { show: false },
			fill: series.length === 1 ? `color-mix(in srgb, ${colours[s.colour]} 18%, transparent)` : undefined,
		}))],
	}, [times, ...values], node), label);
	return {
		node: chart.node,
		show(newTimes, newValues)
		{
			times = newTimes;
			values = newValues;
			const latest = series.map((s, i) => `${s.title} ${format(values[i].at(-1) ?? 0)}`);
			chart.node.setAttribute("aria-label", `${label}: ${latest.join(", ")}`);
			chart.draw();
		},
	};
}
