/* SPDX-License-Identifier: MIT */
/* cmd/export/internal.h - the options of `duet export`, and the functions its formats use. */
#ifndef CMD_EXPORT_INTERNAL_H
#define CMD_EXPORT_INTERNAL_H

#include "analysis/timeline/timeline.h"
#include "cmd/selection.h"
#include "cmd/view/calls.h"
#include "trace/text/public.h"
#include "trace/filter/match.h"

enum { EXPORT_CHOICES_MAX = 64 };

struct export
{
	struct out out;
	const char *const *paths;
	int n_paths;
	struct trace *trace;
	/* options */
	const char *patterns[EXPORT_CHOICES_MAX];
	int n_patterns;
	bool is_strict;	    /* a finding makes the exit status 1 */
	const char *filter; /* NULL: none */
	struct moment from, to;
	bool *is_wanted;     /* by class number */
	struct match *match; /* NULL: all */
	struct timeline_pair pairs[EXPORT_CHOICES_MAX];
	struct timeline_counter counters[EXPORT_CHOICES_MAX];
	uint32_t n_pairs, n_counters;
	const char *weight; /* of stacks: NULL counts samples; "time", "off-cpu", or a field */
	const char *title;  /* svg; or NULL */
	const char *drawn;  /* of several kinds of call stacks, the one that is shown; or NULL */
	uint64_t n_events;  /* exported */
	bool has_calls;	    /* see export_has_calls() */
};

struct repair_target;
/* repair_confine - the sandbox of a verb that writes @t.  Returns 0, or CMD_FAILED after a message. */
int repair_confine(const char *verb, const struct repair_target *t);

/* Formats.  Each returns 0, or a negative errno with the reason in @d. */
int export_perfetto(struct export *x, struct diag *d);
int export_chrome(struct export *x, struct diag *d);
int export_csv(struct export *x, struct diag *d);

/* export_ctf - copy the recording @path to the new directory @to, uncompressed.  0 or -errno. */
int export_ctf(const char *path, const char *to, const struct moment *from,
	       const struct moment *until, struct diag *d);
int export_speedscope(struct export *x, struct diag *d);
int export_firefox(struct export *x, struct diag *d);
int export_folded(struct export *x, struct diag *d);
int export_svg(struct export *x, struct diag *d);

/* export_from_ns, export_to_ns - the range of times, both included. */
int64_t export_from_ns(const struct export *x);
int64_t export_to_ns(const struct export *x);

/* export_ignore_warning - a trace_options.warn for one more reading of the same recording. */
void export_ignore_warning(void *context, const char *text);

/* export_timeline - read the recording twice and pass its items to @take with @context.  @t is open
 * from the first @take on, for formats that look up threads. */
int export_timeline(struct export *x, struct timeline *t, timeline_take *take, void *context,
		    struct diag *d);

/* export_has_calls - whether calls of programs were recorded, and no -e or -f leaves them out. */
bool export_has_calls(const struct export *x);
/* export_each - read the recording once and call @on_event for each selected event.  @on_event
 * returns 0, 1 to stop, or -errno. */
typedef int export_on_event(void *context, const struct trace_event *e,
			    const struct thread_identity *w);
/* Called for each call of a program, at its end, unless NULL.  With -e and -f there are none. */
typedef int export_on_call(void *context, const struct view_call_item *c);
int export_each(struct export *x, export_on_event *on_event, export_on_call *on_call, void *context,
		struct diag *d);

#endif
