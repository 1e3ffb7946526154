/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/aliases_test.c - what threads of a pid namespace are called on their host, by whom the
 * kernel told to have run; also where it did not tell all.
 */
#include "trace/aliases.h"

#include "test.h"

enum { SOURCE = 3, VPID = 1, PID = 500 };

static struct aliases *with_a_process(void)
{
	struct aliases *a = aliases_open();

	if (!a)
		exit(1);
	aliases_process(a, SOURCE, VPID, PID);
	return a;
}

static void a_thread_is_who_ran_when_it_recorded_first(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, VPID, PID, 0), PID);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 777), 501);
	aliases_close(a);
}

static void a_thread_that_was_not_told_has_a_number_of_its_own_until_it_is(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, 2, PID, 0), ALIASES_FIRST_UNKNOWN);
	is(aliases_tid(a, SOURCE, VPID, 3, PID, 0), ALIASES_FIRST_UNKNOWN + 1);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	aliases_close(a);
}

static void no_other_thread_is_called_as_the_first(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, 2, PID, PID), ALIASES_FIRST_UNKNOWN);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	aliases_close(a);
}

int main(void)
{
	run(a_thread_is_who_ran_when_it_recorded_first);
	run(a_thread_that_was_not_told_has_a_number_of_its_own_until_it_is);
	run(no_other_thread_is_called_as_the_first);
	return test_status();
}
