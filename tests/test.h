/* SPDX-License-Identifier: MIT */
/*
 * tests/test.h - the least a test in C needs.
 *
 *	static void glob_star_matches_nothing_too(void)
 *	{
 *		is(count("a*"), 1);
 *	}
 *
 *	int main(void)
 *	{
 *		run(glob_star_matches_nothing_too);
 *		return test_status();
 *	}
 *
 * A test's name is the sentence it proves; it is printed with the result.  A check that fails says
 * where and what, and the test goes on.  The program's status is 0, 1 if a check failed, or 77
 * after skip(), which prints the reason and ends it.
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_n_failed; /* checks, in all tests */

#define ok(condition) test_ok(!!(condition), #condition, __FILE__, __LINE__)
#define is(got, want) test_is((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define is_text(got, want) test_is_text(got, want, #got, __FILE__, __LINE__)
#define run(test) test_run(test, #test)

static inline int test_ok(int good, const char *what, const char *file, int line)
{
	if (!good) {
		test_n_failed++;
		printf("# %s:%d: not so: %s\n", file, line, what);
	}
	return good;
}

static inline int test_is(long long got, long long want, const char *what, const char *file,
			  int line)
{
	if (got != want) {
		test_n_failed++;
		printf("# %s:%d: %s is %lld (%#llx), not %lld (%#llx)\n", file, line, what, got,
		       (unsigned long long)got, want, (unsigned long long)want);
	}
	return got == want;
}

static inline int test_is_text(const char *got, const char *want, const char *what,
			       const char *file, int line)
{
	int good = got && want ? !strcmp(got, want) : got == want;

	if (!good) {
		test_n_failed++;
		printf("# %s:%d: %s is\n#   \"%s\", not\n#   \"%s\"\n", file, line, what,
		       got ? got : "(null)", want ? want : "(null)");
	}
	return good;
}

static inline void test_run(void (*test)(void), const char *name)
{
	int before = test_n_failed;

	test();
	printf("%s ", test_n_failed == before ? "ok" : "not ok");
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
	putchar('\n');
	fflush(stdout);
}

static inline int test_status(void)
{
	return test_n_failed ? 1 : 0;
}

static inline void __attribute__((noreturn, unused)) skip(const char *reason)
{
	printf("skipped: %s\n", reason);
	exit(test_n_failed ? 1 : 77);
}

#endif
