/* SPDX-License-Identifier: MIT */
/* Walks over a runtime directory with very many names: each step reads some, and the walk has an end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/session/programs.h"
#include "test.h"

enum { STEPS_MOST = 1000 };

static char directory[] = "/tmp/duet-names-XXXXXX";
static int dir;
static const struct abi_session session = { .epoch = 1 };

/* Files without a meaning; and pages of programs that died while they made them, long ago. */
static void make_names(const char *format, int n)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char name[64];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, format, i + 1);
		if (mknodat(dir, name, S_IFREG | 0600, 0) || utimensat(dir, name, old, 0))
			exit(3);
	}
}

static void remove_names(const char *format, int n)
{
	char name[64];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, format, i + 1);
		unlinkat(dir, name, 0);
	}
}

/* Returns the number of steps of a whole walk; *most becomes the most names that one of them read. */
static int walk(struct reaping *b, uint32_t *most)
{
	int n = 0;

	*most = 0;
	do {
		uint32_t before = b->at ? b->n_names : 0;

		programs_reap(dir, &session, b, UINT32_MAX, NULL);
		if (b->at && b->n_names - before > *most)
			*most = b->n_names - before;
	} while (++n < STEPS_MOST && b->at);
	return n;
}

static void a_walk_over_few_names_is_one_step(void)
{
	struct reaping b = { 0 };
	uint32_t most;

	make_names("x-%d", 100);
	is(walk(&b, &most), 1);
	ok(!b.is_crowded && b.no_program_lives);
	remove_names("x-%d", 100);
}

static void a_walk_over_many_names_has_steps_and_an_end(void)
{
	struct reaping b = { 0 };
	uint32_t most;
	int n;

	make_names("x-%d", PROGRAMS_NAMES);
	make_names("app-%d-1", 10);
	n = walk(&b, &most);
	ok(n > 1 && n < STEPS_MOST);
	ok(most < PROGRAMS_NAMES);
	ok(b.is_crowded && b.no_program_lives);
	ok(faccessat(dir, "app-1-1", F_OK, 0) && faccessat(dir, "app-10-1", F_OK, 0));
	remove_names("x-%d", PROGRAMS_NAMES);
	walk(&b, &most);
	ok(!b.is_crowded);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 3;
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run(a_walk_over_few_names_is_one_step);
	run(a_walk_over_many_names_has_steps_and_an_end);
	close(dir);
	ok(!rmdir(directory));
	return test_status();
}
