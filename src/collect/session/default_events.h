/* SPDX-License-Identifier: MIT */
/*
 * collect/session/default_events.h - the events a recording is started for: as rules for programs
 * that come, and switched on in those that run.
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
#include "collect/recorder.h"
#include "collect/session/session.h"

struct default_events {
	const struct recorder_options *options; /* these four are lent */
	const struct recorder_event *events;
	struct session *session;
	struct filters *filters;
	int n_events;
	bool all;		  /* by default, not by name */
	uint32_t *filter_of;	  /* an event's: its number, 0 for none */
	struct text *selector_of; /* an event's: its conditions, rules/selector.h */
};

/* default_events_open - 0 or -ENOMEM. */
int default_events_open(struct default_events *w, const struct recorder_options *o,
			struct session *s, struct filters *f, struct diag *d);
void default_events_close(struct default_events *w);

/* default_events_rules - give filters and rules to the session, before it is published; once.  0 or
 * -errno. */
int default_events_rules(struct default_events *w, struct diag *d);

/*
 * default_events_enable - switch on what is wanted in one running program; 0: in all.
 *
 * Returns 0, or, of one program, why nothing of it would be recorded: -ENOENT, -EPERM, -EBUSY.
 * @has_kernel: then at least its kernel events are.
 */
int default_events_enable(const struct default_events *w, pid_t pid, bool has_kernel,
			  struct diag *d);

#endif
