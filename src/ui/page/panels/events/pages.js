/* SPDX-License-Identifier: MIT */
/*
 * panels/events/pages.js - the part of the event table that is in the page: a window of rows that grows
 * at both ends and is cut at the far one.
 *
 * What always holds:
 *   (1) `rows` is one run of events without a hole, ascending, at most `most` of them
 *   (2) an answer to a question that is not asked any more changes nothing
 *   (3) at most one request goes on at a time
 * So the page's memory and work do not depend on how many events the recording has.
 */

import { get } from "../../api.js";

const most = 3000, page = 300;

/* eventPages - `onChange(shift)` after each change: how many rows were added before the first. */
export function eventPages(onChange)
{
	const w = {
		rows: [], earlier: null, later: null, searched: null, n: 0, isExact: false,
		isPart: { earlier: false, later: false }, isStopped: false, loading: false, error: null, query: null,
	};
	let generation = 0;

	async function ask(more) {
		const mine = generation;
		w.loading = true;
		onChange(0);
		const answer = await get("/api/events", { ...w.query, limit: page, ...more },
			{ key: "events", quiet: true });
		if (mine !== generation)
			return null;
		w.loading = false;
		if (answer && !answer.error)
			return answer;
		if (answer)
			Object.assign(w, { error: answer, rows: [], n: 0, earlier: null, later: null });
		onChange(0);
		return null;
	}

	/* note - the time that was searched; isPart: the search can go on at that end. */
	function note(answer, direction) {
		const [from, to] = answer.searched;
		w.searched = w.searched ? [Math.min(w.searched[0], from), Math.max(w.searched[1], to)] :
			[from, to];
		w.n = answer.n;
		w.isExact = answer.is_exact;
		const end = direction > 0 ? "later" : "earlier";
		w[end] = answer[end];
		w.isPart[end] = !answer.is_whole;
	}

	/* cut - rows beyond the limit, at the end that was not asked for. */
	function cut(direction) {
		const over = w.rows.length - most;
		if (over <= 0)
			return 0;
		if (direction > 0) {
			w.rows.splice(0, over);
			w.earlier = w.rows[0].pos;
			return -over;
		}
		w.rows.length = most;
		w.later = w.rows[most - 1].pos;
		return 0;
	}

	/* open - the events of `query` ({from, to, rows, filter}) from time `at` on. */
	w.open = async (query, at) => {
		generation++;
		Object.assign(w, { query, error: null, searched: null, isStopped: false,
			isPart: { earlier: false, later: false } });
		const first = await ask({ at, direction: 1 });
		if (!first)
			return;
		Object.assign(w, { rows: first.events, searched: null, earlier: first.earlier });
		note(first, 1);
		onChange(0);
		if (w.earlier !== null)
			await w.more(-1);
	};

	/* more - the next page in `direction`. */
	w.more = async (direction) => {
		const after = direction > 0 ? w.later : w.earlier;
		if (w.loading || after === null)
			return;
		const answer = await ask({ after, direction });
		if (!answer)
			return;
		note(answer, direction);
		const had = w.rows.length;
		w.rows = direction > 0 ? w.rows.concat(answer.events) : answer.events.concat(w.rows);
		const added = w.rows.length - had;
		const removed = cut(direction);
		onChange(direction > 0 ? removed : added);
	};

	/* indexAt - the first row at or after `at`; rows.length: none here. */
	w.indexAt = (at) => {
		let low = 0, high = w.rows.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (w.rows[middle].at < at)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	};

	/* covers - whether every event at `at` is here already. */
	w.covers = (at) => w.rows.length > 0 &&
		(w.earlier === null || w.rows[0].at < at) &&
		(w.later === null || w.rows[w.rows.length - 1].at > at);
	return w;
}
