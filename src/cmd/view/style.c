/* SPDX-License-Identifier: MIT */
/* cmd/view/style.c - parses --time, --columns and --color, and runs the pager. */
#include "cmd/view/style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/pager.h"

bool view_style_time(struct view_style *l, const char *name)
{
	static const char *const names[] = {
		[VIEW_CLOCK] = "clock", [VIEW_DATE] = "date",	      [VIEW_UTC] = "utc",
		[VIEW_EPOCH] = "epoch", [VIEW_RELATIVE] = "relative",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]))
			continue;
		l->time = (enum view_time)i;
		return true;
	}
	cmd_error("view", "--time %s: it is clock, date, utc, epoch or relative", name);
	return false;
}

bool view_style_columns(struct view_style *l, const char *names)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} columns[] = {
		{ "time", VIEW_COLUMN_TIME },	  { "delta", VIEW_COLUMN_DELTA },
		{ "host", VIEW_COLUMN_HOST },	  { "cpu", VIEW_COLUMN_CPU },
		{ "thread", VIEW_COLUMN_THREAD }, { "event", 0 },
		{ "fields", VIEW_COLUMN_FIELDS },
	};

	l->columns = 0;
	l->has_columns = true;
	for (const char *at = names;; at++) {
		size_t n = strcspn(at, ","), i = 0;

		while (i < sizeof columns / sizeof *columns &&
		       (strncmp(at, columns[i].name, n) || columns[i].name[n]))
			i++;
		if (!n || i == sizeof columns / sizeof *columns) {
			cmd_error("view",
				  "--columns %s: no column \"%.*s\"\n"
				  "  there are time, delta, host, cpu, thread, event, fields",
				  names, (int)n, at);
			return false;
		}
		l->columns |= columns[i].bit;
		at += n;
		if (!*at)
			return true;
	}
}

static bool is_colorful(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return terminal_is_shown_to() && term && strcmp(term, "dumb") && !(no && *no);
}

bool view_style_color(struct view_style *l, const char *when)
{
	bool is_auto = !strcmp(when, "auto"), is_on = !strcmp(when, "always");

	if (!is_auto && !is_on && strcmp(when, "never")) {
		cmd_error("view", "--color %s: it is auto, always or never", when);
		return false;
	}
	if (is_auto)
		is_on = is_colorful();
	l->dim = is_on ? "\033[2m" : "";
	l->thread = is_on ? "\033[36m" : "";
	l->name = is_on ? "\033[1m" : "";
	l->lost = is_on ? "\033[31m" : "";
	l->plain = is_on ? "\033[m" : "";
	return true;
}
