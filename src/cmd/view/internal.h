/* SPDX-License-Identifier: MIT */
/* cmd/view/internal.h - the state of one `duet view`, shared by view.c and options.c. */
#ifndef CMD_VIEW_INTERNAL_H
#define CMD_VIEW_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/selection.h"
#include "cmd/view/calls.h"
#include "cmd/view/csv.h"
#include "trace/text/public.h"
#include "cmd/view/print.h"
#include "cmd/view/view.h"
#include "trace/marks/marks.h"

struct match;
struct names;
struct trace;

enum { VIEW_PATTERNS_MAX = 64 };

struct view {
	const char *verb;
	bool follows;
	bool is_from_now;
	enum { AS_TEXT, AS_JSON, AS_CSV, AS_SYSCALLS } form;
	bool shows_state;
	uint64_t limit;
	struct moment from, to;
	const char *patterns[VIEW_PATTERNS_MAX];
	int n_patterns;
	bool is_strict;	    /* a finding makes the exit status 1 */
	bool *is_wanted;    /* by class number */
	uint32_t n_classes; /* size of is_wanted */
	const char *filter; /* NULL: none */
	struct match *match;
	struct trace *trace;
	struct names *names;
	struct marks_file marks_file;
	struct marks marks;
	struct out out;
	struct view_texts texts;
	struct csv csv;
	const char *color; /* auto, always, never */
	bool has_no_pager;
	struct view_calls calls;
	enum view_calls_form calls_form;
	bool has_calls_form; /* --calls was given */
	/* if what was skipped is needed after all: items since --from, and how many of them to pass over */
	uint64_t n_done, n_again;
	struct diag note; /* why marks were not used, until that matters */
	uint64_t lost_events, lost_packets, n_hidden, n_batches, n_shown, n_seen;
	const char *silent;	      /* the recording reported as silent last */
	uint64_t n_rounds;	      /* of following */
	const struct view_hook *hook; /* NULL: none */
};

#define VIEW_NEW(name)                                                                             \
	((struct view){ .verb = (name),                                                            \
			.limit = UINT64_MAX,                                                       \
			.marks_file = MARKS_NO_FILE,                                               \
			.texts.style = VIEW_STYLE_DEFAULT,                                         \
			.color = "auto" })

/* view_options - parse the options of `duet view`; optind is then the first argument.  Returns 0, or
 * the exit status after an error was reported. */
int view_options(struct view *v, int argc, char **argv);

/* view_fail - print an error.  Returns the exit status. */
int view_fail(const struct view *v, const char *text);

#endif
