/* SPDX-License-Identifier: MIT */
/*
 * cmd/confine/output_file.h - a file that a verb writes from inside its sandbox.
 *
 * It is opened before the sandbox, and keeps its old content until the verb begins to write: so an
 * unreadable recording costs the user nothing.  If the verb fails, a file that it made or began to
 * write is removed (cmd/confine/errand.h).
 */
#ifndef CMD_CONFINE_OUTPUT_FILE_H
#define CMD_CONFINE_OUTPUT_FILE_H

#include <stdbool.h>

#include "base/diag.h"
#include "cmd/confine/errand.h"

struct output_file {
	const char *path; /* lent; NULL: standard output */
	int fd;
	bool is_new, has_begun;
	struct errand removal;
};

/* output_file_open - @path NULL: standard output.  Returns 0 or -errno. */
int output_file_open(struct output_file *f, const char *path, struct diag *d);
/* output_file_begin - drop the old content. */
int output_file_begin(struct output_file *f, struct diag *d);
/* output_file_close - @failed: the verb failed.  Returns 0 or -errno. */
int output_file_close(struct output_file *f, bool failed, struct diag *d);

#endif
