/* SPDX-License-Identifier: MIT */
/* cmd/export/export.h - what `duet export` asks its formats for. */
#ifndef CMD_EXPORT_EXPORT_H
#define CMD_EXPORT_EXPORT_H

#include "analysis/timeline/timeline.h"
#include "cmd/selection.h"
#include "cmd/view/output.h"
#include "trace/filter/match.h"

enum { EXPORT_CHOICES_MAX = 64 };

struct export
{
	struct out out;
	const char *const *paths;
	int n_paths;
	struct trace *trace;
	/* what is wanted */
	const char *patterns[EXPORT_CHOICES_MAX];
	int n_patterns;
	const char *filter; /* NULL: none */
	struct moment from, to;
	bool *is_wanted;     /* by class number */
	struct match *match; /* NULL: all */
	struct timeline_pair pairs[EXPORT_CHOICES_MAX];
	struct timeline_counter counters[EXPORT_CHOICES_MAX];
	uint32_t n_pairs, n_counters;
	const char *weight; /* of stacks: NULL for 1 each, "time", or a field */
	const char *title;  /* svg; or NULL */
	uint64_t n_events;  /* exported */
};

/* Formats.  Each returns 0, or a negative errno with the reason in @d. */
int export_perfetto(struct export *x, struct diag *d);
int export_chrome(struct export *x, struct diag *d);
int export_csv(struct export *x, struct diag *d);

/* A copy of the recording @path in the new directory @to, with nothing compressed.  0 or -errno. */
int export_ctf(const char *path, const char *to, struct diag *d);
int export_speedscope(struct export *x, struct diag *d);
int export_firefox(struct export *x, struct diag *d);
int export_folded(struct export *x, struct diag *d);
int export_svg(struct export *x, struct diag *d);

/* export_from_ns, export_to_ns - the times wanted, both included. */
int64_t export_from_ns(const struct export *x);
int64_t export_to_ns(const struct export *x);

/* export_timeline - read the recording twice and give its items to @take, with @context.  @t is
 * open from the first @take on: for formats that ask it for threads. */
int export_timeline(struct export *x, struct timeline *t, timeline_take *take, void *context,
		    struct diag *d);

/* export_each - read once, and give each event wanted to @see.  Its result: as timeline_take's. */
typedef int export_on_event(void *context, const struct trace_event *e,
			    const struct thread_identity *w);
int export_each(struct export *x, export_on_event *on_event, void *context, struct diag *d);

#endif
