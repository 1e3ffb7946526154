/* SPDX-License-Identifier: MIT */
/*
 * alive.js - the server learns that the page is open, and the user that the server has ended.
 *
 * The server ends some minutes after the last page was closed: docs/formats/ui.md.  Browsers slow
 * timers of hidden pages to one a minute, which is often enough.
 */

import { get } from "./api.js";
import { notice } from "./notice.js";

const everyMs = 30000;

let isAnswered = true;

async function ask()
{
	const answer = await get("/api/ping", {}, { quiet: true });
	const was = isAnswered;

	isAnswered = Boolean(answer && answer.ok);
	if (was && !isAnswered)
		notice("The server does not answer; `duet ui` may have ended", "error");
	if (!was && isAnswered)
		notice("The server answers again");
}

export function stayAlive()
{
	if (!document.getElementById("duet-data"))
		setInterval(ask, everyMs);
}
