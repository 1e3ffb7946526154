/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/latency.h - the time from an event like A to the next event like B.
 *
 * Of the same thread, or with an equal value of a field, whoever's that is: a request may be begun
 *by one process and ended by another.  Numbers are equal to numbers, texts to texts; a field of the
 * payload is taken before a context of the name.  The latest A counts: an A whose B has not come
 * when the next A does was `abandoned`.  An event like both ends one time and begins the next. What
 * lies on two sides of a loss is not joined.
 *
 *	n A = times + abandoned + pending at the end;  n B = times + without A
 */
#ifndef ANALYSIS_REPORT_LATENCY_H
#define ANALYSIS_REPORT_LATENCY_H

#include "analysis/pass.h"
#include "analysis/samples.h"

enum { LATENCY_TEXT_MAX = 48 };

struct latency_key { /* what both have in common */
	bool is_text;
	int64_t number;
	uint32_t thread;	     /* if no field was asked for: the key is this */
	char text[LATENCY_TEXT_MAX]; /* the beginning of it */
};

struct latency {
	struct pass run;
	struct samples time;
	struct slowest slowest; /* what: index of keys; thread: that of A; detail: thread of B */
	struct latency_key *keys;
	uint32_t n_keys;
	struct samples *times; /* by key, if asked for */
	uint32_t n_times;
	uint64_t n_a, n_b;
	uint64_t n_abandoned, n_pending, n_without_a;
	uint64_t n_no_field;		   /* events like A or B, without the field */
	uint64_t n_cut;			   /* of the abandoned: because something was lost */
	bool is_hex;			   /* numbers of the field are shown so */
	uint32_t n_classes_a, n_classes_b; /* kinds of events that the patterns mean */
};

/*
 * latency_init - read what of @t lies in @range (NULL: all); @t must outlive the result.
 *
 * @a, @b: patterns (rules/pattern.h).
 * @field: NULL for threads.
 * @wants_keys: `times` are wanted, which costs memory for each key.
 *
 * Returns 0, also if nothing is like A or B; or -errno.
 */
int latency_init(struct latency *l, struct trace *t, const struct pass_range *range, const char *a,
		 const char *b, const char *field, uint32_t n_slowest, bool wants_keys,
		 struct diag *d);
void latency_fini(struct latency *l);

#endif
