/* SPDX-License-Identifier: MIT */
/*
 * A program with a context and no site: libduet is found, or is not, and nothing is registered.
 *
 *	context_alone LIBDUET
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "duet/context.h"
#include "test.h"

static char directory[] = "/tmp/duet-context-XXXXXX";

/* In the child: its environment holds the path of libduet. */
static int use(int is_there)
{
	static const unsigned char id[16] = { 1, 2, 3 };

	is(duet_i_has_context(), is_there);
	errno = ENOTTY;
	duet_context_set(id);
	duet_context_refresh();
	duet_context_clear();
	is(errno, ENOTTY);
	return test_status();
}

static void run_again(const char *library, const char *is_there)
{
	int status;
	pid_t child = fork();

	if (!child) {
		setenv("DUET_LIBRARY", library, 1);
		setenv("DUET_RUNTIME_DIR", directory, 1);
		execl("/proc/self/exe", "context_alone", library, is_there, NULL);
		_exit(1);
	}
	is(waitpid(child, &status, 0), child);
	is(status, 0);
}

static const char *libduet;

static void libduet_is_found_without_a_site(void)
{
	run_again(libduet, "1");
}

static void without_libduet_nothing_happens(void)
{
	run_again("/nonexistent", "0");
}

static void nothing_is_registered(void)
{
	is(rmdir(directory), 0); /* is empty */
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return use(atoi(argv[2]));
	libduet = argv[1];
	if (argc != 2 || !mkdtemp(directory))
		return 2;
	run(libduet_is_found_without_a_site);
	run(without_libduet_nothing_happens);
	run(nothing_is_registered);
	return test_status();
}
