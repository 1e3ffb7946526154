/* SPDX-License-Identifier: MIT */
/*
 * base/diag.h - what went wrong, in words a person can act on.
 *
 * Functions that can fail for a reason worth telling take a `struct diag *` last; it may be NULL.
 * They return a negative errno and leave one line (a second, indented one may say what to do).
 * Nothing here prints: only src/cmd does.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

struct diag {
	char text[1024];
};

/*
 * diag_fail - record a reason and return its error.
 *
 * @err: a negative errno.
 *
 * Returns @err, so that a caller can write `return diag_fail(d, -EINVAL, ...)`.
 */
int diag_fail(struct diag *d, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* diag_errno - the same with errno, whose text is appended.  Returns -errno. */
int diag_errno(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
