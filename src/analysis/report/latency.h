/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/latency.h - the time from an event that matches A to the next event that matches
 * B.
 *
 * Both are of the same thread, or have the same value of a field in any thread: one process may
 * begin a request and another end it. Numbers equal numbers and texts equal texts; a field of the
 * payload has precedence over a context of the same name. The latest A counts: an A without a B
 * before the next A is `abandoned`. An event that matches both ends one time and begins the next.
 * Events on two sides of a loss are not joined.
 *
 *   n A = times + abandoned + pending at the end;  n B = times + without A
 */
#ifndef ANALYSIS_REPORT_LATENCY_H
#define ANALYSIS_REPORT_LATENCY_H

#include "analysis/pass.h"
#include "analysis/samples.h"

enum { LATENCY_TEXT_MAX = 48 };

struct latency_key { /* the value that both events have */
	bool is_text;
	int64_t number;
	uint32_t thread;	     /* the key if no field was requested */
	char text[LATENCY_TEXT_MAX]; /* the beginning of the text */
};

struct latency {
	struct pass run;
	struct samples time;
	struct slowest
		slowest; /* subject: index of `keys`; thread: that of A; detail: thread of B */
	struct latency_key *keys;
	uint32_t n_keys;
	struct samples *times; /* by key, if requested */
	uint32_t n_times;
	uint64_t n_a, n_b;
	uint64_t n_abandoned, n_pending, n_without_a;
	uint64_t n_no_field;		   /* events that match A or B but lack the field */
	uint64_t n_cut;			   /* abandoned because of a loss */
	bool is_hex;			   /* the field's numbers are shown in hexadecimal */
	uint32_t n_classes_a, n_classes_b; /* number of event classes that match the patterns */
};

/*
 * latency_init - read the events of @t in @range (NULL: all); @t must outlive the result.
 *
 * @a, @b: patterns (rules/pattern.h).
 * @field: NULL: match by thread.
 * @wants_keys: fill `times`, which costs memory for each key.
 *
 * Returns 0, also if no event matches A or B; or -errno.
 */
int latency_init(struct latency *l, struct trace *t, const struct pass_range *range, const char *a,
		 const char *b, const char *field, uint32_t n_slowest, bool wants_keys,
		 struct diag *d);
void latency_fini(struct latency *l);

#endif
