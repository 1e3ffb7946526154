/* SPDX-License-Identifier: MIT */
/*
 * ui/sessions/body.h - the body of a request: a JSON object of strings, true, false and arrays of
 * strings, as pairs of a name and a value.
 */
#ifndef UI_SESSIONS_BODY_H
#define UI_SESSIONS_BODY_H

#include <stddef.h>

#include "base/diag.h"

enum { BODY_PAIRS_MAX = 256 };

struct body {
	struct body_pair {
		const char *name, *value; /* UTF-8; "true" and "false" as texts */
	} pairs[BODY_PAIRS_MAX];	  /* an array has a pair for each of its elements */
	int n;
	char *texts; /* the pairs point into it */
};

/* body_parse - returns 0 or -errno, reason in @d.  @text is untrusted. */
int body_parse(struct body *b, const char *text, size_t size, struct diag *d);
void body_fini(struct body *b);
/* body_value - the value of @name; NULL if there is none. */
const char *body_value(const struct body *b, const char *name);

#endif
