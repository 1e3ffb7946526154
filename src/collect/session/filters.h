/* SPDX-License-Identifier: MIT */
/*
 * collect/session/filters.h - the filters of a session, and whether events can pass them.
 *
 * One thread.
 */
#ifndef COLLECT_SESSION_FILTERS_H
#define COLLECT_SESSION_FILTERS_H

#include <sys/types.h>

#include "base/diag.h"
#include "collect/session/session.h"

enum { FILTER_TEXT_BYTES = 4096 };

/* Read by the next collector, and by tenant collectors that start later. */
struct filters_saved {
	uint32_t n;				   /* incremented after the text is stored */
	char text[ABI_FILTERS][FILTER_TEXT_BYTES]; /* filter n is at n - 1; a text never changes */
};

struct filters {
	struct filters_one *at; /* filter n is at n - 1 */
	uint32_t n;
	struct filters_saved *saved; /* borrowed */
};

/*
 * filters_add - compile @text and give it to the programs.  Returns its number, from 1, or -errno.
 * An existing filter keeps its number.
 */
int filters_add(struct filters *f, struct session *s, const char *text, struct diag *d);

/*
 * filters_check - whether the events that programs record through a filter can pass it at all.
 *
 * @pid: the program; 0: all.  @number: the only filter to check; 0: all.  Returns 0, or -EINVAL
 *   with filter, event and reason in @d.
 */
int filters_check(const struct filters *f, const struct session *s, pid_t pid, uint32_t number,
		  struct diag *d);

/*
 * filters_resume - take over the @n filters of the session; their texts were stored by an earlier
 * collector.
 */
int filters_resume(struct filters *f, uint32_t n, struct diag *d);

void filters_fini(struct filters *f);

#endif
