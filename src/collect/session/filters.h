/* SPDX-License-Identifier: MIT */
/*
 * collect/session/filters.h - the filters of a session, and whether they fit the events they are
 * for.
 *
 * One thread.
 */
#ifndef COLLECT_SESSION_FILTERS_H
#define COLLECT_SESSION_FILTERS_H

#include <sys/types.h>

#include "base/diag.h"
#include "collect/session/session.h"

enum { FILTER_TEXT_BYTES = 4096 };

/* What the next collector, and the parts of the session that begin later, are to know. */
struct filters_saved {
	uint32_t n; /* released when the text is there */
	char text[ABI_FILTERS]
		 [FILTER_TEXT_BYTES]; /* of filter n at n - 1, and nothing of it is ever changed */
};

struct filters {
	struct filters_one *at; /* filter n is at n - 1 */
	uint32_t n;
	struct filters_saved *handover; /* lent */
};

/* filters_add - compile @text and give it to the programs.  Its number, 1.., or -errno.  One that
 * is there already keeps its number. */
int filters_add(struct filters *f, struct session *s, const char *text, struct diag *d);

/*
 * filters_check - whether a program's events that are recorded through a filter can pass it at all.
 *
 * @pid: the program; 0: all.  @number: of the only filter to look at; 0: all.  Returns 0, or
 * -EINVAL: what does not fit and why is in @d.
 */
int filters_check(const struct filters *f, const struct session *s, pid_t pid, uint32_t number,
		  struct diag *d);

/* filters_resume - the session has @n filters: their texts are those that a collector before us
 * kept. */
int filters_resume(struct filters *f, uint32_t n, struct diag *d);

void filters_fini(struct filters *f);

#endif
