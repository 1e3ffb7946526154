/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/style.h - how lines for people look: which columns, which time, colours; and the pager.
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

enum view_column { /* bits; the event's name is always there */
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
	bool has_columns; /* asked for: else host depends */
	/* SGR sequences (ECMA-48), or "": before an item, and after any. */
	const char *dim, *who, *name, *lost, *plain;
};

#define VIEW_LOOK_DEFAULT                                                                          \
	((struct view_style){ .columns = VIEW_COLUMN_TIME | VIEW_COLUMN_DELTA | VIEW_COLUMN_CPU |  \
					 VIEW_COLUMN_THREAD | VIEW_COLUMN_FIELDS,                  \
			      .dim = "",                                                           \
			      .who = "",                                                           \
			      .name = "",                                                          \
			      .lost = "",                                                          \
			      .plain = "" })

/* These say on standard error what is wrong, and return false. */
bool view_style_time(struct view_style *l, const char *name);
bool view_style_columns(struct view_style *l, const char *names);
/* @when: "auto", "always" or "never".  auto: a terminal that is not dumb, and no NO_COLOR in the
 * environment. */
bool view_style_color(struct view_style *l, const char *when);

/*
 * view_pager_open - if standard output is a terminal: $DUET_PAGER, $PAGER, or less(1), between it
 * and us.  Returns its process, or 0 without one; then everything stays as it was.
 */
pid_t view_pager_open(void);
/* view_pager_close - let it see the end, and wait until it was read.  Accepts 0. */
void view_pager_close(pid_t pager);

#endif
