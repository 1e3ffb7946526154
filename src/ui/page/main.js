/* SPDX-License-Identifier: MIT */
/*
 * main.js - starts the page: its regions, the recording, the timeline, the panels.
 */

import { stayAlive } from "./alive.js";
import { commands, runCommand } from "./commands.js";
import { clock, count } from "./format.js";
import { onRecording, startRecording } from "./recording.js";
import { startPanels } from "./panels/panels.js";
import { startSessionsPage } from "./panels/sessions/sessions.js";
import { startRegions } from "./regions.js";
import { on, set, state } from "./store.js";
import { startTheme } from "./theme.js";
import { startTimeline } from "./timeline/view.js";

/* Buttons of index.html name the command they run. */
document.addEventListener("click", (event) => {
	const button = event.target.closest?.("[data-command]");
	if (button)
		runCommand(button.dataset.command);
});

for (const link of document.querySelectorAll("[data-focus]"))
	link.addEventListener("click", (event) => {
		event.preventDefault();
		document.getElementById(link.dataset.focus).querySelector("[tabindex='0']")?.focus();
	});

function showRecording(recording)
{
	const cpus = recording.rows.filter((r) => r.kind === "cpu").length;
	document.title = `duet - ${recording.name}`;
	document.getElementById("top-recording").textContent = `${recording.name} · ${clock(0)}`;
	const box = document.getElementById("top-counts");
	const lost = document.createElement("span");
	lost.className = recording.lost ? "lost" : "";
	lost.textContent = recording.lost ? `${count(recording.lost)} lost` : "none lost";
	box.replaceChildren(`${count(recording.events)} events · `, lost,
		cpus ? ` · ${cpus} CPU${cpus > 1 ? "s" : ""}` : "");
	const live = document.getElementById("top-live");
	live.hidden = !recording.live;
}

on("following", () => document.getElementById("top-live").classList.toggle("on", state.following));

startTheme();
stayAlive();
startRegions();
onRecording(showRecording);
startTimeline();
startPanels();
startRecording().then((answer) => {
	if (answer?.status === 404)
		startSessionsPage();
});

/* For tests and the console: the page's modules. */
window.duet = { state, set, commands, runCommand };
