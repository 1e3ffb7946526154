/* SPDX-License-Identifier: MIT */
/*
 * base/compose.h - put short texts together in memory of a fixed size.  Header only: libduet uses
 * it.
 *
 * snprintf would do, but it is not async-signal-safe, and a program's first event may happen in a
 * signal handler.  It also brings pages of libc and of the stack into a program that may never
 * print.
 */
#ifndef BASE_COMPOSE_H
#define BASE_COMPOSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DECIMAL_BYTES = 24 };

/* decimal - write @v in decimal to the end of @digits.  Returns the start of the string. */
static inline char *decimal(char digits[DECIMAL_BYTES], unsigned long v)
{
	char *p = digits + DECIMAL_BYTES - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	return p;
}

/*
 * compose - write the strings, up to a NULL, one after the other to @to, which has @size > 0 bytes.
 *
 * Returns false if the text was cut to fit.  Async-signal-safe.
 */
__attribute__((sentinel)) static inline bool compose(char *to, size_t size, ...)
{
	const char *s;
	bool fits = true;
	va_list ap;

	va_start(ap, size);
	while ((s = va_arg(ap, const char *))) {
		size_t n = strlen(s);

		if (n >= size) {
			n = size - 1;
			fits = false;
		}
		memcpy(to, s, n);
		to += n;
		size -= n;
	}
	va_end(ap);
	*to = 0;
	return fits;
}

#endif
