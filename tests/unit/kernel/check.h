/* SPDX-License-Identifier: MIT */
/* The least a test of src/kernel needs: checks that count, and a table to run. */
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H

#include <stdio.h>
#include <string.h>

static int n_failed;

#define ok(condition) check_ok(!!(condition), #condition, __func__, __LINE__)
#define is(a, b)      check_is((long long)(a), (long long)(b), #a, __func__, __LINE__)
#define is_text(a, b) check_text(a, b, #a, __func__, __LINE__)

static inline void check_ok(int good, const char *what, const char *test, int line)
{
	if (good)
		return;
	n_failed++;
	fprintf(stderr, "%s:%d: not so: %s\n", test, line, what);
}

static inline void check_is(long long a, long long b, const char *what, const char *test, int line)
{
	if (a == b)
		return;
	n_failed++;
	fprintf(stderr, "%s:%d: %s is %lld (%#llx), not %lld (%#llx)\n", test, line, what, a,
		(unsigned long long)a, b, (unsigned long long)b);
}

static inline void check_text(const char *a, const char *b, const char *what, const char *test,
			      int line)
{
	if (a && b && !strcmp(a, b))
		return;
	n_failed++;
	fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", test, line, what, a ? a : "(null)",
		b ? b : "(null)");
}

#define run(test) (test(), n_failed ? fprintf(stderr, "after %s\n", #test) : 0)

#endif
