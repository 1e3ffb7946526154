/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/style.h - the style of lines for people: columns, form of times, colours; and the pager.
 */
#ifndef CMD_VIEW_STYLE_H
#define CMD_VIEW_STYLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum view_time {
	VIEW_CLOCK,    /* HH:MM:SS.n */
	VIEW_DATE,     /* YYYY-MM-DD HH:MM:SS.n */
	VIEW_UTC,      /* YYYY-MM-DDTHH:MM:SS.nZ */
	VIEW_EPOCH,    /* seconds since 1970 */
	VIEW_RELATIVE, /* seconds since the first line */
};

enum view_column { /* bits; the event's name is always printed */
		   VIEW_COLUMN_TIME = 1,
		   VIEW_COLUMN_DELTA = 2,
		   VIEW_COLUMN_HOST = 4,
		   VIEW_COLUMN_CPU = 8,
		   VIEW_COLUMN_THREAD = 16,
		   VIEW_COLUMN_FIELDS = 32,
};

struct view_style {
	enum view_time time;
	uint32_t columns;
	bool has_columns; /* --columns was given; else the host column depends on the recordings */
	/* SGR sequences (ECMA-48), or "": before an item, and after any. */
	const char *dim, *thread, *name, *lost, *plain;
};

#define VIEW_STYLE_DEFAULT                                                                         \
	((struct view_style){ .columns = VIEW_COLUMN_TIME | VIEW_COLUMN_DELTA | VIEW_COLUMN_CPU |  \
					 VIEW_COLUMN_THREAD | VIEW_COLUMN_FIELDS,                  \
			      .dim = "",                                                           \
			      .thread = "",                                                        \
			      .name = "",                                                          \
			      .lost = "",                                                          \
			      .plain = "" })

/* These report errors on standard error, and return false then. */
bool view_style_time(struct view_style *l, const char *name);
bool view_style_columns(struct view_style *l, const char *names);
/* @when: "auto", "always" or "never".  auto: if it is a terminal that is not dumb, and NO_COLOR is
 * not set. */
bool view_style_color(struct view_style *l, const char *when);

#endif
