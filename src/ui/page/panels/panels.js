/* SPDX-License-Identifier: MIT */
/*
 * panels/panels.js - everything around the timeline begins here.
 */

import { command } from "../commands.js";
import { set } from "../store.js";
import { recording } from "../recording.js";
import { startHelp } from "./help.js";
import { startLatency } from "./latency.js";
import { startLower } from "./lower.js";
import { startPalette } from "./palette.js";
import { startSave } from "./save.js";
import { startSide } from "./side.js";

/* Without a selection the side panel has the recording's facts. */
function showRecording()
{
	set({ selected: null, area: null }, { undo: true });
	document.getElementById("side").scrollTop = 0;
}

export function startPanels()
{
	startSide();
	startLower();
	startLatency();
	startPalette();
	startHelp();
	startSave();
	command({ id: "recording.show", title: "About this recording", group: "Page", keys: ["i"],
		when: () => recording.isOpen, run: showRecording });
}
