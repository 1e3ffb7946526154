/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/selection.h - which functions a session records, and how: the file
 * calls-<session>/selection.
 *
 * A line is a word and its value: "mode 0", "depth 5", "over 10000", "elide 1000" (ns), "arguments 1", "within
 * FILE:FUNCTION", "+FILE:FUNCTION", "+!FILE:FUNCTION",
 * "mark FILE:PROVIDER:NAME [NAMES]".  The last pattern that matches a function
 * decides.
 */
#ifndef COLLECT_CALLS_SELECTION_H
#define COLLECT_CALLS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_line.h"
#include "collect/calls/calls.h"
#include "patch/patch.h"

enum { SELECTION_WITHIN = 8, SELECTION_MARKS = 256, SELECTION_BYTES = 32 << 10 };

struct selection {
	const char *patterns[CALLS_PATTERNS], *within[SELECTION_WITHIN]; /* in `text` */
	uint32_t n_patterns, n_within, n_marks;
	struct patch_wanted_mark marks[SELECTION_MARKS]; /* in `text` */
	enum abi_calls_mode mode;
	uint32_t depth;
	uint64_t threshold_ns, elide_under_ns;
	bool has_arguments;
	uint64_t generation;
	uint32_t used; /* bytes of `text` */
	char text[SELECTION_BYTES];
};

/* selection_begin - as the options say; generation 1.  -E2BIG: too many patterns. */
int selection_begin(struct selection *s, const struct calls_options *o, struct diag *d);

/* selection_write - write it into directory @dir; selection_read - read it.  0 or -errno. */
int selection_write(const struct selection *s, int dir);
int selection_read(struct selection *s, int dir);

/*
 * selection_change - take over an `enable` or `disable` request: docs/formats/requests.md.
 *
 * The generation grows.  -EINVAL, -E2BIG: nothing of it has changed.
 */
int selection_change(struct selection *s, const struct json_line *request, struct diag *d);

/* selection_has_file - whether a pattern may match functions of file @path. */
bool selection_has_file(const struct selection *s, const char *path, const char *soname);

/* selection_request - the same for src/patch; points into @s. */
struct patch_request selection_request(const struct selection *s);

#endif
