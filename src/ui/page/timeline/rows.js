/* SPDX-License-Identifier: MIT */
/*
 * timeline/rows.js - commands on rows: choose, fold, pin, hide, group.
 */

import { get } from "../api.js";
import { command } from "../commands.js";
import { announce } from "../notice.js";
import { ended, onRecording, others, recording, rowName } from "../recording.js";
import { on, set, state } from "../store.js";
import { filterChanged, focusRow, hasFocus } from "./labels.js";
import { draw, planChanged, showRow, view, visible } from "./view.js";

const without = (list, id) => list.filter((x) => x !== id);

/* toggle - add the row @id to the list @key of the state, or take it out. */
export function toggle(key, id)
{
	const is = state[key].includes(id);
	set({ [key]: is ? without(state[key], id) : [...state[key], id] }, { undo: true });
	const done = { pinned: is ? "unpinned" : "pinned", hidden: is ? "shown" : "hidden",
		       folded: is ? "unfolded" : "folded" }[key];
	announce(`${rowName(id)} ${done}`);
}

export function toggleFold(entry)
{
	if (entry.hasChildren)
		toggle("folded", entry.id);
}

/* choose - make @id the row that keys are about.  @keeps: a selection in another row stays. */
export function choose(id, { keeps = false } = {})
{
	view.current = id;
	if (!keeps && state.selected && state.selected.row !== id)
		set({ selected: null }, { undo: true });
	draw();
}

/* order - ids of all rows of the layout from top to bottom. */
const order = () => [...view.plan.pinned, ...view.plan.rows].map((e) => e.id);

/* step - go @by rows down. */
function step(by)
{
	const ids = order();
	const at = ids.indexOf(view.current);
	const next = ids[at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + by))];
	if (next === undefined)
		return;
	const inLabels = hasFocus();
	view.current = next;
	showRow(next);
	announce(rowName(next));
	if (inLabels)
		requestAnimationFrame(() => requestAnimationFrame(() => focusRow(next)));
}

const entry = () => view.plan.byId.get(view.current);

/* fold - fold (or unfold) the current row; folded already: go to its parent. */
export function fold(isFolded)
{
	const e = entry();
	if (!e)
		return false;
	if (e.hasChildren && e.isFolded !== isFolded) {
		toggle("folded", e.id);
		return true;
	}
	if (!isFolded || !hasFocus())
		return false;
	const { rows } = view.plan;
	for (let i = rows.indexOf(e) - 1; i >= 0; i--)
		if (rows[i].level < e.level) {
			step(i - rows.indexOf(e));
			return true;
		}
	return false;
}

const canFold = (isFolded) => () => {
	const e = entry();
	return Boolean(e) && (hasFocus() || (e.hasChildren && e.isFolded !== isFolded && !state.selected));
};

function foldAll()
{
	const parents = recording.rows.filter((r) => r.children.length && r.kind !== "host").map((r) => r.id);
	set({ folded: [...parents, ...[others, ended].filter((id) => recording.rows[id])] }, { undo: true });
}

/* hideAbsent - hide threads that had ended before the visible time, or began after it. */
function hideAbsent()
{
	const { from, to } = visible();
	const absent = recording.rows.filter((r) => r.tracks.length && r.tid >= 0 && (r.last < from || r.first > to))
		.map((r) => r.id);
	set({ hidden: [...new Set([...state.hidden, ...absent])] }, { undo: true });
	announce(`${absent.length} rows hidden`);
}

async function homes()
{
	if (state.group !== "cpu" || (view.homes && recording.done))
		return;
	const answer = await get("/api/area", { from: 0, to: recording.end, limit: 1000 }, { key: "homes", quiet: true });
	if (!answer?.cpus)
		return;
	const most = new Map();
	view.homes = new Map();
	for (const { row, threads } of answer.cpus.list)
		for (const [thread, ns] of threads || [])
			if (ns > (most.get(thread) || 0)) {
				most.set(thread, ns);
				view.homes.set(thread, recording.rows[row].cpu);
			}
	planChanged();
}

/* showHidden - below the rows, how many are hidden. */
function showHidden()
{
	const button = document.getElementById("hidden-rows");
	const n = state.hidden.filter((id) => recording.rows[id]).length;
	button.hidden = n === 0;
	button.textContent = n === 1 ? "1 row is hidden: show it" : `${n} rows are hidden: show them`;
}

const groups = { process: "cpu", cpu: "none", none: "process" };
const groupNames = { process: "by process", cpu: "by the CPU they ran on most", none: "not grouped" };

export function startRows()
{
	const add = (id, title, keys, run, when) => command({ id, title, keys, run, when, group: "Rows" });
	add("rows.down", "Next row", ["ArrowDown"], () => step(1));
	add("rows.up", "Previous row", ["ArrowUp"], () => step(-1));
	add("rows.page-down", "Rows: one page down", ["PageDown"], () => step(10));
	add("rows.page-up", "Rows: one page up", ["PageUp"], () => step(-10));
	add("rows.fold", "Fold the row, or go to its parent", ["ArrowLeft"], () => fold(true), canFold(true));
	add("rows.unfold", "Unfold the row", ["ArrowRight"], () => fold(false), canFold(false));
	add("rows.fold-all", "Fold all rows", ["["], foldAll);
	add("rows.unfold-all", "Unfold all rows", ["]"], () => set({ folded: [] }, { undo: true }));
	add("rows.pin", "Pin the row at the top, or back", ["p"], () => toggle("pinned", view.current),
	    () => view.current >= 0);
	add("rows.hide", "Hide the row", ["h"], () => {
		const ids = order(), id = view.current;
		const next = ids[ids.indexOf(id) + 1] ?? -1;
		toggle("hidden", id);
		view.current = next;
	}, () => view.current >= 0);
	add("rows.hide-absent", "Hide threads that were not there in the visible time", ["shift+e"], hideAbsent);
	add("rows.show-all", "Show hidden rows again", ["shift+h"], () => set({ hidden: [] }, { undo: true }),
	    () => state.hidden.length > 0);
	add("rows.group", "Group threads by process, by CPU, or not", ["g"], () => {
		set({ group: groups[state.group] }, { undo: true });
		announce(`Threads ${groupNames[state.group]}`);
	});
	on("group", homes);
	on("hidden", showHidden);
	onRecording((_, hasNewRows) => {
		if (!hasNewRows)
			return;
		showHidden();
		homes();
	});
	on("rowFilter", filterChanged);
	on("selected", () => {
		if (state.selected)
			view.current = state.selected.row;
	});
}
