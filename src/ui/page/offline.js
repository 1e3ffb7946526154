/* SPDX-License-Identifier: MIT */
/*
 * offline.js - the answers of a page that has its data inside (`duet ui --html`): what a server would
 * answer, as docs/formats/ui.md defines it, or an error that says what needs duet.
 */
import { about, from as fileFrom, leftOut, names, rows, to as fileTo } from "./offline/data.js";
import { eventPage, item, next, search, titles, wakesOf } from "./offline/find.js";
import { overview, picture } from "./offline/picture.js";
import { area, flame, latency, why } from "./offline/statistics.js";
import { notice } from "./notice.js";

const end = Math.max(fileTo, 1);

function recording()
{
	return { name: about.name || "", paths: [], begin: about.begin || "0", end, ready: end, done: true, version: 1,
		 events: about.events || 0, lost: about.lost || 0, lost_packets: about.lost_packets || 0,
		 damage: about.damage || "", failure: about.failure || "", live: false,
		 rows: rows.map((row) => ({ ...row })), names: [...names] }; /* the page's own */
}

const answers = {
	"/api/recording": recording,
	"/api/picture": picture,
	"/api/overview": (p) => overview({ ...p, end }),
	"/api/item": item,
	"/api/titles": titles,
	"/api/next": next,
	"/api/search": search,
	"/api/wakes": wakesOf,
	"/api/events": eventPage,
	"/api/area": area,
	"/api/latency": latency,
	"/api/flame": flame,
	"/api/why": why,
	"/api/ping": () => ({ ok: true }),
};

const whole = new Set(["from", "to", "width", "at", "direction", "limit", "row", "track"]);

/* Parameters as numbers, as the server reads them. */
function read(params)
{
	const p = { from: 0, to: end, width: 1000, rows: [], direction: 1 };
	for (const [name, value] of Object.entries(params || {}))
		if (value !== undefined && value !== null)
			p[name] = whole.has(name) ? Math.round(Number(value)) : value;
	if (!Array.isArray(p.rows))
		p.rows = String(p.rows).split(",").filter(Boolean);
	p.rows = p.rows.map(Number);
	return p;
}

/* answer - that of @path.  It fails with a sentence for people. */
export async function answer(path, params)
{
	const make = answers[path];
	if (!make)
		throw new Error("This page has its data inside: scripts, sessions and exports need duet and the recording");
	return make(read(params));
}

/* Only a part of the recording is here: it is shown, and a notice names the missing parts. */
if (!location.hash && fileFrom > 0)
	location.hash = `from=${fileFrom}&to=${fileTo}`;
for (const sentence of leftOut)
	notice(sentence, "warning");
