/* SPDX-License-Identifier: MIT */
/*
 * collect/findings/running.c - the processes that run on after the command of a recording.
 *
 * Its children inherit the name of its private session, which no other process has: so their
 * environment shows them, with trace sites or without.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/findings/seen.h"
#include "rules/membership.h"

enum { ENVIRONMENT_BYTES = 128 << 10, NAMED = 3 };

static ssize_t read_proc(const char *pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%.20s/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = io_read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

/* In clock ticks since the system started; 0: unknown. */
static uint64_t start_of(const char *pid)
{
	char text[1024];
	const char *p = read_proc(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* The name of a session holds a pid: in another pid namespace, or before us, it was another's. */
static bool may_be_ours(const char *pid)
{
	char theirs[64], ours[64], path[64];
	ssize_t n, k;

	snprintf(path, sizeof path, "/proc/%.20s/ns/pid", pid);
	n = readlink(path, theirs, sizeof theirs);
	k = readlink("/proc/self/ns/pid", ours, sizeof ours);
	return n > 0 && n == k && !memcmp(theirs, ours, (size_t)n) &&
	       start_of(pid) >= start_of("self");
}

/* A zombie has no environment, so it does not count. */
static bool is_of_session(const char *pid, const char *session, char *environment)
{
	static const char key[] = "DUET_SESSION=";
	ssize_t n = read_proc(pid, "environ", environment, ENVIRONMENT_BYTES);

	for (const char *p = environment; n > 0 && p < environment + n; p += strlen(p) + 1)
		if (!strncmp(p, key, sizeof key - 1))
			return member_is_named(p + sizeof key - 1, session) && may_be_ours(pid);
	return false;
}

static void add_name(char *names, size_t size, const char *pid)
{
	size_t used = strlen(names);
	char name[32];

	if (read_proc(pid, "comm", name, sizeof name) < 0)
		return;
	name[strcspn(name, "\n")] = 0;
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	snprintf(names + used, size - used, "%s%s %.10s", used ? ", " : "", name, pid);
}

void findings_add_running(struct findings *to, const char *session, const char *command)
{
	char *environment = malloc(ENVIRONMENT_BYTES), names[128] = "";
	DIR *proc = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while (environment && proc && (e = readdir(proc)))
		if (isdigit((unsigned char)*e->d_name) && atoi(e->d_name) != (int)getpid() &&
		    is_of_session(e->d_name, session, environment) && n++ < NAMED)
			add_name(names, sizeof names, e->d_name);
	if (proc)
		closedir(proc);
	free(environment);
	if (n)
		findings_add(to, FINDING_RUNNING, command,
			     "%u process%s of %s still run%s (%s%s): %s not recorded from here on",
			     n, n == 1 ? "" : "es", command, n == 1 ? "s" : "", names,
			     n > NAMED ? ", ..." : "", n == 1 ? "it is" : "they are");
}
