/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/aliases_test.c - the numbers that threads of a pid namespace have on their host,
 * from the kernel's records of running threads; also where records are missing.
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

static void a_thread_is_the_one_that_ran_at_its_first_event(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, VPID, PID, 0), PID);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 777), 501);
	aliases_close(a);
}

static void an_unreported_thread_has_a_provisional_number(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, 2, PID, 0), ALIASES_FIRST_UNKNOWN);
	is(aliases_tid(a, SOURCE, VPID, 3, PID, 0), ALIASES_FIRST_UNKNOWN + 1);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	aliases_close(a);
}

static void no_other_thread_gets_the_number_of_the_first(void)
{
	struct aliases *a = with_a_process();

	is(aliases_tid(a, SOURCE, VPID, 2, PID, PID), ALIASES_FIRST_UNKNOWN);
	is(aliases_tid(a, SOURCE, VPID, 2, PID, 501), 501);
	aliases_close(a);
}

int main(void)
{
	run(a_thread_is_the_one_that_ran_at_its_first_event);
	run(an_unreported_thread_has_a_provisional_number);
	run(no_other_thread_gets_the_number_of_the_first);
	return test_status();
}
