/* SPDX-License-Identifier: MIT */
/* The process names that a flight recorder keeps. */
#include <string.h>
#include <unistd.h>

#include "collect/drain/procnames.h"
#include "test.h"

enum { NOBODY = 0x7ffffff0 }; /* no system has so many processes */

static unsigned names_of(const struct procnames *n, const char *program)
{
	unsigned found = 0;

	for (size_t at = 0; at + strlen(program) <= n->text.size; at++)
		found += !memcmp(n->text.bytes + at, program, strlen(program));
	return found;
}

static void names_of_dead_processes_go_and_others_stay(void)
{
	struct procnames n = { 0 };

	procnames_add(&n, 10, 1, getpid(), "living");
	procnames_add(&n, 11, 2, NOBODY, "dead");
	procnames_add(&n, 30, 3, NOBODY, "recent");
	procnames_forget_dead(&n, 20);
	is(names_of(&n, "living"), 1);
	is(names_of(&n, "dead"), 0);
	is(names_of(&n, "recent"), 1);
	procnames_close(&n);
}

/* The name that later events have, and the names after it. */
static void the_last_old_name_of_a_program_that_joined_again_stays(void)
{
	struct procnames n = { 0 };

	procnames_add(&n, 10, 1, getpid(), "first");
	procnames_add(&n, 11, 1, getppid(), "other");
	procnames_add(&n, 12, 1, getpid(), "second");
	procnames_add(&n, 30, 1, getpid(), "third");
	procnames_forget_dead(&n, 20);
	is(names_of(&n, "first"), 0);
	is(names_of(&n, "other"), 1);
	is(names_of(&n, "second"), 1);
	is(names_of(&n, "third"), 1);
	procnames_close(&n);
}

static void an_invisible_process_is_identified_by_the_pid_it_sends(void)
{
	struct procnames n = { 0 };

	procnames_add(&n, 10, 1, 0, "first");
	procnames_add(&n, 11, 2, 0, "second");
	procnames_add(&n, 12, 2, 0, "third");
	procnames_forget_dead(&n, 20);
	is(names_of(&n, "first"), 1);
	is(names_of(&n, "second"), 0);
	is(names_of(&n, "third"), 1);
	procnames_close(&n);
}

/* The process lives, the pools reach back to the beginning, and it joins again and again. */
static void endless_joins_take_bounded_memory(void)
{
	struct procnames n = { 0 };
	size_t most = 0;

	procnames_add(&n, 1, 1, getppid(), "honest");
	for (uint64_t i = 2; i < 300000; i++) {
		if (procnames_many(&n))
			procnames_forget_dead(&n, 0);
		procnames_add(&n, i, (uint32_t)i, getpid(), "liar");
		most = n.text.size > most ? n.text.size : most;
	}
	ok(most < (size_t)3 << 20);
	is(names_of(&n, "honest"), 1);
	procnames_close(&n);
}

int main(void)
{
	run(names_of_dead_processes_go_and_others_stay);
	run(the_last_old_name_of_a_program_that_joined_again_stays);
	run(an_invisible_process_is_identified_by_the_pid_it_sends);
	run(endless_joins_take_bounded_memory);
	return test_status();
}
