/* SPDX-License-Identifier: MIT */
/*
 * ui/export/export.h - a part of a recording and the page that shows it, as one file.
 *
 * The file opens from file://, without duet and without network:
 *
 *   (1) its policy (CSP) forbids every request; scripts run only with a random word (nonce) that
 *       this file alone has, so no string of a recording can be one
 *   (2) data is one JSON text without `<`, `>` and `&`; page/offline.js reads it
 *   (3) it has at most size_bytes; tracks and events beyond are left out, and named in words
 */
#ifndef UI_EXPORT_EXPORT_H
#define UI_EXPORT_EXPORT_H

#include "ui/query/query.h"

enum { HTML_SIZE_LEAST = 1 << 20, HTML_SIZE_USUAL = 20 << 20 };

struct html_options {
	int64_t from, to;
	const uint32_t *rows; /* with those below and above; none: all */
	int n_rows;
	uint64_t size_bytes;
	const uint32_t *is_cancelled; /* atomic, or NULL */
};

struct html_result {
	uint64_t bytes;
	char left_out[1024]; /* sentences, a line each; or "" */
};

/* html_write - write the file to @fd, when the index of @s is complete.  Returns 0, -ECANCELED, or
 * another -errno, with the reason in @d. */
int html_write(const struct ui_subject *s, const struct html_options *o, int fd,
	       struct html_result *result, struct diag *d);

#endif
