/* SPDX-License-Identifier: MIT */
/*
 * tests/live/tenants/programs/rights.c - tries system calls, and writes for each a line "NAME: the
 * error", or "NAME: done".
 *
 * usage: rights OUT ROOTS_PID TENANTS_PID ROOTS_FILE DIRECTORY...
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static FILE *out;

static void report(const char *what, int failed)
{
	fprintf(out, "%s: %s\n", what, failed ? strerrorname_np(errno) : "done");
}

int main(int argc, char **argv)
{
	char fresh[4096], path[64];

	if (argc < 5 || snprintf(fresh, sizeof fresh, "%s.new", argv[1]) >= (int)sizeof fresh)
		return 2;
	out = fopen(fresh, "we");
	if (!out)
		return 2;
	report("signal root's process", kill(atoi(argv[2]), 0));
	report("signal the tenant's", kill(atoi(argv[3]), 0));
	snprintf(path, sizeof path, "/proc/%d/mem", atoi(argv[2]));
	report("root's memory", open(path, O_RDWR) < 0);
	report("root's file", open(argv[4], O_RDONLY) < 0);
	for (int i = 5; i < argc; i++)
		report(argv[i], open(argv[i], O_RDONLY | O_DIRECTORY) < 0 || chdir(argv[i]));
	report("mount", mount("none", "/mnt", "tmpfs", 0, NULL));
	report("name the host", sethostname("x", 1));
	report("be root", setresuid(0, 0, 0));
	fclose(out);
	return rename(fresh, argv[1]) ? 1 : 0;
}
