/* SPDX-License-Identifier: MIT */
/*
 * panels/open.js - which panel is shown, and its height.  Other modules change the tabs only here.
 */

import { set, state } from "../store.js";

const foldedHeight = 34;
let unfoldedHeight = 210;

export const isFolded = () => state.panelHeight <= foldedHeight;

/* Which kind of track a name is of, if several kinds have it: a function may be called as a system call. */
let latencyOf = { name: "", kind: undefined };

export function latencyKind(name)
{
	return latencyOf.name === name ? latencyOf.kind : undefined;
}

/* openLatency - the latency of `name`, of tracks of `kind` if that is given. */
export function openLatency(name, kind)
{
	latencyOf = { name, kind };
	set({ latencyName: name });
	openPanel("latency");
}

/* openPanel - panel `id` is shown, whether the panels are folded or not. */
export function openPanel(id)
{
	set(isFolded() ? { panel: id, panelHeight: unfoldedHeight } : { panel: id });
}

export function togglePanels()
{
	if (isFolded()) {
		set({ panelHeight: unfoldedHeight });
	} else {
		unfoldedHeight = state.panelHeight;
		set({ panelHeight: foldedHeight });
	}
}
