/* SPDX-License-Identifier: MIT */
/*
 * base/diag.h - the reason of a failure, as text that a user can act on.
 *
 * A function whose failure needs a reason takes a `struct diag *` last; it may be NULL.  It returns
 * a negative errno and leaves one line; a second, indented line may state the remedy.  Nothing here
 * prints: only src/cmd does.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

struct diag {
	char text[1024];
};

/*
 * diag_fail - record a reason and return its error.
 *
 * @err: a negative errno; 0 if the text is a note and nothing failed.
 *
 * Returns @err, so that a caller can write `return diag_fail(d, -EINVAL, ...)`.
 */
int diag_fail(struct diag *d, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* diag_errno - record a reason with the text of errno after it.  Returns -errno; -EIO if errno is
 * 0. */
int diag_errno(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
