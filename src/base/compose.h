/* SPDX-License-Identifier: MIT */
/*
 * base/compose.h - short texts put together in memory of a fixed size.  Header only: libduet uses
 * it.
 *
 * snprintf would do, but it is not async-signal-safe, which a program's first event may have to be;
 * and it brings pages of libc and of the stack into a program that may never print anything.
 */
#ifndef BASE_COMPOSE_H
#define BASE_COMPOSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DECIMAL_BYTES = 24 };

/* @v in decimal, in @digits, as a string; where it begins. */
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
 * compose - the strings, up to a NULL, one behind the other in @to, which has room for @size > 0
 * bytes.
 *
 * What does not fit is cut, and then the result is false.  Async-signal-safe.
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
