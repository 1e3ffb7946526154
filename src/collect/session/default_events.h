/* SPDX-License-Identifier: MIT */
/*
 * collect/session/default_events.h - the events that a recording is started with: as rules for
 * future programs, and enabled in running ones.
 *
 * One thread.
 */
#ifndef COLLECT_SESSION_DEFAULT_EVENTS_H
#define COLLECT_SESSION_DEFAULT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/text.h"
#include "collect/session/filters.h"
#include "collect/options/options.h"
#include "collect/session/session.h"

struct default_events {
	const struct recorder_options *options; /* these three are borrowed */
	struct session *session;
	struct filters *filters;
	struct recorder_event *events;
	int n_events;
	bool all;		  /* the default of all events, not a request by name */
	uint32_t *filter_of;	  /* for each event: the filter's number, 0 for none */
	struct text *selector_of; /* for each event: its conditions, rules/selector.h */
};

/* default_events_open - 0 or -ENOMEM. */
int default_events_open(struct default_events *w, const struct recorder_options *o,
			struct session *s, struct filters *f, struct diag *d);
void default_events_close(struct default_events *w);

/*
 * default_events_rules - add filters and rules to the session, once, before it is published.  0 or
 * -errno.
 */
int default_events_rules(struct default_events *w, struct diag *d);

/*
 * default_events_enable - enable the events in running program @pid; 0: in all programs.
 *
 * @has_kernel: kernel events or calls of @pid are recorded, so an absence of other events is no error.
 *   Returns 0; for one program, -ENOENT, -EPERM or -EBUSY if nothing of it would be recorded.
 */
int default_events_enable(const struct default_events *w, pid_t pid, bool has_kernel,
			  struct diag *d);

#endif
