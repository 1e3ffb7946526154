/* SPDX-License-Identifier: MIT */
/* base/diag.c - format a reason into a struct diag; cut, never refused. */
#include "base/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int diag_fail(struct diag *d, int err, const char *format, ...)
{
	va_list ap;

	if (!d)
		return err;
	va_start(ap, format);
	vsnprintf(d->text, sizeof d->text, format, ap);
	va_end(ap);
	return err;
}

int diag_errno(struct diag *d, const char *format, ...)
{
	int e = errno ? errno : EIO;
	va_list ap;
	size_t n;

	if (!d)
		return -e;
	va_start(ap, format);
	vsnprintf(d->text, sizeof d->text, format, ap);
	va_end(ap);
	n = strlen(d->text);
	snprintf(d->text + n, sizeof d->text - n, ": %s", strerror(e));
	return -e;
}
