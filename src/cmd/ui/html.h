/* SPDX-License-Identifier: MIT */
/* cmd/ui/html.h - `duet ui --html FILE`: the page and its data as one file. */
#ifndef CMD_UI_HTML_H
#define CMD_UI_HTML_H

#include <stdbool.h>
#include <stdint.h>

struct html_command {
	const char *file; /* NULL: serve instead */
	const char *from, *to, *rows, *size;
	bool no_cache;
	const char *self;
	const char *const *paths;
	int n_paths;
};

/* html_command_run - write it.  The exit status. */
int html_command_run(const struct html_command *c);

#endif
