/* SPDX-License-Identifier: MIT */
/*
 * panels/events/chart.js - beside the event table: where the selected span or call lies among all of its name.
 *
 * It is there only where there is room for it, and if the name has at least two instances.
 */

import { get } from "../../api.js";
import { count } from "../../format.js";
import { histogram } from "../parts/chart.js";
import { button, el } from "../parts/dom.js";
import { currentItem, onItem } from "../parts/item.js";
import { openLatency } from "../open.js";

const leastWidth = 1300;
const kinds = ["spans", "syscalls", "calls", "busy"];

/* Of more than these a histogram would keep the server busy at every click. */
const mostInstances = 5e6;

/* eventChart - {node, update()}: the node shows and hides itself; update() when its panel is shown. */
export function eventChart()
{
	const chart = histogram();
	const title = button("", () => {
		const item = currentItem();
		if (item)
			openLatency(item.name, item.kind);
	}, { class: "link dim", title: "Its latency in full" });
	const node = el("div", { class: "event-chart", hidden: true }, title, chart.node);

	let drawn = null;

	async function draw(item)
	{
		const isOne = item && kinds.includes(item.kind) && item.rank && item.rank.of > 1 &&
			item.rank.of <= mostInstances;
		if (!isOne) {
			node.hidden = true;
			drawn = null;
			return;
		}
		const hasRoom = node.parentElement?.clientWidth > leastWidth;
		if (!hasRoom || drawn === item)
			return;
		drawn = item;
		const a = await get("/api/latency", { name: item.name, kind: item.kind, item: item.id, limit: 1 },
			{ key: "event-chart", quiet: true });
		if (!a || a.error || currentItem() !== item)
			return;
		title.textContent = `latency of ${a.name} (${count(a.n)}), log scale`;
		node.hidden = a.n < 2;
		chart.show(a.bins, a.item ? a.item.bin : -1);
	}
	onItem(draw);
	return { node, update: () => draw(currentItem()) };
}
