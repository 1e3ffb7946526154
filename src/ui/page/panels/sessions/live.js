/* SPDX-License-Identifier: MIT */
/*
 * panels/sessions/live.js - the tab Live: dashboard of the followed session, and actions on it.
 */

import { recording } from "../../recording.js";
import { fill } from "../parts/dom.js";
import { dashboard } from "./dashboard.js";
import { sessionButtons } from "./forms.js";
import { startSessions, sessionsNow } from "./list.js";

let board, buttons, named = "";

function update()
{
	const { open, list } = sessionsNow();
	const session = list.find((s) => s.session === open) || list.find((s) => s.path === recording.paths[0]);
	const name = session ? session.session : "";
	if (name !== named) {
		named = name;
		fill(buttons, session ? sessionButtons(session) : null);
	}
	board.show(session || null);
}

export const live = {
	id: "live",
	title: "Live",
	keys: [],
	when: () => recording.live,
	build(body, bar)
	{
		buttons = bar;
		board = dashboard();
		body.append(board.node);
		startSessions(() => live.when() && update());
	},
	update: () => update(),
};
