/* SPDX-License-Identifier: MIT */
#include "base/compose.h"

#include <limits.h>
#include <stdio.h>

#include "test.h"

static void numbers_are_written_as_printf_does(void)
{
	static const unsigned long numbers[] = { 0, 1, 9, 10, 4711, UINT_MAX, ULONG_MAX };
	char digits[DECIMAL_BYTES], wanted[32];

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(wanted, sizeof wanted, "%lu", numbers[i]);
		is_text(decimal(digits, numbers[i]), wanted);
	}
}

static void strings_follow_each_other(void)
{
	char to[32];

	ok(compose(to, sizeof to, "app-", "", "12", "/x", NULL));
	is_text(to, "app-12/x");
	ok(compose(to, sizeof to, NULL));
	is_text(to, "");
}

static void a_too_long_value_is_cut_and_nothing_is_written_behind_it(void)
{
	char to[8] = "....,,,";

	ok(compose(to, 5, "ab", "cd", NULL));
	is_text(to, "abcd");
	ok(!compose(to, 5, "ab", "cde", "fg", NULL));
	is_text(to, "abcd");
	ok(!memcmp(to + 5, ",,", 3));
	ok(!compose(to, 1, "a", NULL));
	is_text(to, "");
}

int main(void)
{
	run(numbers_are_written_as_printf_does);
	run(strings_follow_each_other);
	run(a_too_long_value_is_cut_and_nothing_is_written_behind_it);
	return test_status();
}
