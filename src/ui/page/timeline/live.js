/* SPDX-License-Identifier: MIT */
/*
 * timeline/live.js - following a session: the view moves with the end of the index, at an even pace.
 *
 * The end that is shown is some time behind the newest event, so that answers that come in steps look like a
 * movement.  Zooming goes on to follow; whatever else moves the view ends it.
 */

import { command } from "../commands.js";
import { announce } from "../notice.js";
import { onRecording, recording } from "../recording.js";
import { on, set, state } from "../store.js";
import { view, visible } from "./view.js";

const behindMs = 900;
const firstSpan = 5e9;
let isRunning = false, shown = 0, last = 0;

function frame(now)
{
	if (!state.following || !recording.live) {
		isRunning = false;
		view.isMoving = false;
		return;
	}
	const goal = recording.ready + Math.min(0, now - recording.heardAt - behindMs) * 1e6;
	const passed = Math.min(100, now - last) * 1e6;
	last = now;
	if (Math.abs(goal - shown) > 3e9)
		shown = goal;
	else
		shown = Math.max(shown, Math.min(shown + passed + (goal - shown - passed) * 0.05, recording.ready));
	const span = visible().to - visible().from;
	const end = Math.max(shown, Math.min(span, recording.ready));
	set({ from: end - span, to: end });
	requestAnimationFrame(frame);
}

function follow()
{
	if (isRunning || !state.following || !recording.live)
		return;
	isRunning = true;
	last = performance.now();
	shown = recording.ready;
	const { from, to } = visible();
	if (state.to <= state.from)
		set({ from: Math.max(0, recording.ready - firstSpan), to: Math.max(recording.ready, 1) });
	else
		set({ from: recording.ready - (to - from), to: recording.ready });
	requestAnimationFrame(frame);
}

export function startLive()
{
	let isFirst = true;
	command({
		id: "view.follow", title: "Follow the end of a live session, or stop", group: "View", keys: ["l"],
		when: () => recording.live,
		run() {
			set({ following: !state.following });
			announce(state.following ? "Following the end" : "Following stopped");
		},
	});
	onRecording(() => {
		if (isFirst && recording.live && state.to <= state.from)
			set({ following: true });
		isFirst = false;
		follow();
	});
	on("following", follow);
}
