/* SPDX-License-Identifier: MIT */
/*
 * timeline/scene.js - the whole canvas from back to front: backgrounds, grid, losses, rows, what lies over them.
 *
 * It draws on any surface: that of the screen, and those of pictures to keep (svg.js).
 */

import { recording } from "../recording.js";
import { state } from "../store.js";
import { colours } from "../theme.js";
import { stretch } from "./hit.js";
import { sizes } from "./layout.js";
import * as overlay from "./overlay.js";
import { paintRow } from "./paint.js";
import { knownGaps, pictureOf } from "./pictures.js";
import { roomForRows, topOf, view, visible, visibleEntries } from "./view.js";
import { wakes } from "./wakes.js";

/* yOfRow - where the row @id begins; undefined if the layout has it not. */
function yOfRow(id)
{
	const entry = view.plan.byId.get(id);
	return entry && topOf(entry);
}

function background(c, entry)
{
	if (entry.isHead)
		c.fillStyle = colours.head;
	else if (entry.id === (state.selected ? state.selected.row : view.current))
		c.fillStyle = colours.hover;
	else
		return;
	c.fillRect(0, topOf(entry), view.width, entry.height);
}

function clipped(c, top, height, fn)
{
	c.save();
	c.beginPath();
	c.rect(0, top, view.width, Math.max(0, height));
	c.clip();
	fn();
	c.restore();
}

function paint(surface, entries, window)
{
	const selected = recording.rows[state.selected?.row];
	const chosen = selected?.kind === "thread" ? selected.id : -1;
	for (const entry of entries)
		paintRow(surface, entry, topOf(entry), pictureOf(entry.id), window, chosen);
	surface.flush();
}

/* stuck - the head that stays at the top. */
function stuck(c, top)
{
	c.fillStyle = colours.head;
	c.fillRect(0, top, view.width, sizes.head);
	c.fillStyle = colours.line;
	c.fillRect(0, top + sizes.head - 1, view.width, 1);
}

function rows(surface, entries, window)
{
	const c = surface.context;
	const top = sizes.axis + view.plan.pinnedHeight;
	const pinned = entries.filter((e) => e.isPinned);
	clipped(c, top, roomForRows(), () => {
		paint(surface, entries.filter((e) => !e.isPinned), window);
		if (view.head)
			stuck(c, top);
	});
	if (!pinned.length)
		return;
	paint(surface, pinned, window);
	c.fillStyle = colours.line;
	c.fillRect(0, top - 1, view.width, 1);
}

function outlineSelected(c, v)
{
	const entry = state.selected && view.plan.byId.get(state.selected.row);
	const place = entry && stretch(entry, state.selected);
	if (place)
		overlay.outline(c, v, state.selected, topOf(entry) + place.y, place.height, place.radius);
}

/* bandsOf - y and height of the rows that an area is about. */
function bandsOf(area, v)
{
	if (!area.rows.length)
		return [[v.top, v.height - v.top]];
	return area.rows.map((id) => view.plan.byId.get(id)).filter(Boolean).map((e) => [topOf(e), e.height]);
}

function over(c, v)
{
	overlay.unread(c, v, recording.ready, recording.end);
	outlineSelected(c, v);
	if (state.path)
		overlay.path(c, v, state.path, yOfRow);
	if (state.selected)
		overlay.arrows(c, v, wakes(), yOfRow);
}

/* nothing - why there are no rows. */
function nothing(c)
{
	const text = state.rowFilter ? `No row has “${state.rowFilter}” in its name, nor as its id` :
		recording.done ? "Nothing was recorded that a row could show" : "being read…";
	c.font = `13px ${colours.sans}`;
	c.fillStyle = colours.dim;
	c.fillText(text, 24, sizes.axis + 40);
}

/* drawScene - draw the visible part on @surface. */
export function drawScene(surface)
{
	const c = surface.context;
	const now = visible();
	const v = { ...now, width: view.width, height: view.height, top: sizes.axis };
	const entries = visibleEntries();
	c.fillStyle = colours.bg;
	c.fillRect(0, 0, view.width, view.height);
	for (const entry of entries)
		background(c, entry);
	const ticks = overlay.grid(c, v, overlay.zeroOf(state));
	clipped(c, v.top, v.height - v.top, () => overlay.gaps(c, v, knownGaps()));
	rows(surface, entries, { ...now, width: view.width });
	clipped(c, v.top, v.height - v.top, () => over(c, v));
	if (!entries.length && recording.isOpen)
		nothing(c);
	overlay.axis(c, v, ticks);
	overlay.gapBars(c, v, knownGaps());
	if (state.area)
		overlay.area(c, v, state.area, bandsOf(state.area, v));
	if (state.selected)
		overlay.selection(c, v, state.selected);
	overlay.marks(c, v, state.marks);
}
