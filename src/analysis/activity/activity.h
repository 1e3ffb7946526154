/* SPDX-License-Identifier: MIT */
/*
 * analysis/activity/activity.h - what each thread did in the last interval, from a recording that is
 * followed.
 *
 * The caller reads all available events, ends the interval, uses the results, and begins the next one.
 *
 *   (1) the states of a thread (analysis/wait) add up to at most the interval; the rest was before
 *       its birth or after its death
 *   (2) time before a thread was first seen is WAIT_UNKNOWN
 *   (3) nothing is counted twice: an event or a part of a state belongs to one interval
 */
#ifndef ANALYSIS_ACTIVITY_ACTIVITY_H
#define ANALYSIS_ACTIVITY_ACTIVITY_H

#include "analysis/wait/public.h"

struct activity_thread {
	uint64_t ns[WAIT_STATES];
	uint64_t n_events; /* of applications */
	uint64_t n_calls;  /* system calls that began */
	uint64_t n_switches;
	/* at the end of the interval: */
	bool is_complete; /* all its switches are recorded: else its states mean nothing */
	uint8_t state;	  /* enum wait_state */
	int64_t since_ns;
	const char *call; /* the system call that it is in; NULL: none */
	uint32_t object;  /* of the call: activity_object() */
};

struct activity_class { /* an event class; recordings of several trace chunks have it several times */
	const char *name;
	bool is_kernel, is_switch;
	uint64_t n;
};

struct activity {
	struct trace *trace; /* borrowed */
	struct wait_follow *follow;
	struct pass *pass;
	int64_t from_ns, to_ns;		 /* the interval */
	struct activity_thread *threads; /* by number, as threads_at() has them */
	uint32_t n_threads, n_thread_rooms;
	struct activity_class *classes; /* by class number */
	uint32_t n_classes, n_class_rooms;
	uint64_t n_events, lost_events, lost_packets; /* in the interval */
	bool has_switches;
	/* Set it after activity_open(): activity_read() ends early once it says so.  NULL: it does not. */
	bool (*is_stopped)(void);
	bool was_stopped; /* it did: the interval lacks events */
};

/* activity_open - begin with events after @from_ns; earlier ones name threads and set their states.
 * @paths: the recordings, borrowed, for names of objects.  @t is open with `follows`, and outlives the result.  Returns 0 or -errno, reason in @d. */
int activity_open(struct activity *a, struct trace *t, const char *const *paths, int n_paths,
		  int64_t from_ns, struct diag *d);
void activity_close(struct activity *a);

/* activity_read - read all that is there, unless is_stopped() says so.  Call it after trace_refresh(). */
int activity_read(struct activity *a, struct diag *d);
/* activity_end - the interval ends at @to_ns: the results are whole.  0 or -ENOMEM. */
int activity_end(struct activity *a, int64_t to_ns);
/* activity_begin - the next interval begins where the last one ended. */
void activity_begin(struct activity *a);

/* activity_object - append the words of a thread's `object`: "fd 7 = /var/log/audit.log". */
void activity_object(const struct activity *a, uint32_t object, struct text *t);

#endif
