/* SPDX-License-Identifier: MIT */
/*
 * tests/live/tenants/programs/crowd.c - one user who makes very many of something; then it prints "ready" and stays until
 * its input ends.
 *
 * usage: crowd names N                  files in /dev/shm
 *        crowd directories FIRST N      runtime directories of the uids FIRST.., of no running program
 *        crowd uids FIRST N             the same, each with a running program; with CAP_SETUID where it runs
 *        crowd mounts N                 processes, each in a user and a mount namespace of its own with its own /dev/shm
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* In a child: @run, report, stay. */
static int child(int (*run)(unsigned), unsigned n)
{
	char byte;
	int told[2];
	pid_t pid;

	if (pipe(told))
		return fail("pipe");
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (!pid) {
		close(told[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!run(n) && write(told[1], "", 1) == 1) {
			close(told[1]);
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* another uid takes it away */
			pause();
		}
		_exit(1);
	}
	close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		return fail("a child");
	close(told[0]);
	return 0;
}

static int directory_of(unsigned uid, int owner)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/duet-%u", uid);
	if (mkdir(path, 0700) || (owner && chown(path, uid, uid)))
		return fail(path);
	return 0;
}

static int names(unsigned n)
{
	char path[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof path, "/dev/shm/%u", i);
		int fd = open(path, O_CREAT | O_WRONLY, 0600);

		if (fd < 0)
			return fail(path);
		close(fd);
	}
	return 0;
}

static int as_uid(unsigned uid)
{
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return fail("setresuid");
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

static unsigned outside; /* what uid 0 of this user namespace is outside */

static int program_of(unsigned uid)
{
	char path[64];

	if (as_uid(uid))
		return 1;
	snprintf(path, sizeof path, "/dev/shm/duet-%u", outside + uid);
	return mkdir(path, 0700) ? fail(path) : 0;
}

static int own_mounts(unsigned n)
{
	(void)n;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return fail("unshare");
	return mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") ? fail("mount") : 0;
}

int main(int argc, char **argv)
{
	unsigned first, n;
	int err = 0;

	if (argc < 3)
		return 2;
	first = (unsigned)atoi(argv[2]);
	n = argc > 3 ? (unsigned)atoi(argv[3]) : first;
	if (!strcmp(argv[1], "names"))
		err = names(n);
	for (unsigned i = 0; !err && i < n; i++) {
		if (!strcmp(argv[1], "directories"))
			err = directory_of(first + i, 1);
		else if (!strcmp(argv[1], "uids")) {
			outside = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
			err = child(program_of, first + i);
		} else if (!strcmp(argv[1], "mounts"))
			err = child(own_mounts, i);
	}
	if (err)
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
