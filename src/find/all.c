/* SPDX-License-Identifier: MIT */
/* find/all.c - a walk over the processes that /proc shows: those made for a tracer. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "find/internal.h"
#include "rules/pattern.h"

static bool is_wanted(int proc, const char *name, uid_t uid)
{
	struct stat st;

	if (*name < '1' || *name > '9' || atoi(name) == (int)getpid())
		return false;
	return uid == FIND_ALL_USERS ||
	       (!fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_uid == uid);
}

/* Whether one of the globs between commas matches; those with ! exclude, and are not for us. */
static bool is_named(const char *names, const char *name)
{
	for (const char *p = names; *p; p += *p == ',') {
		const char *end = strchrnul(p, ',');

		if (*p != '!' && pattern_glob(p, end, name, name + strlen(name)))
			return true;
		p = end;
	}
	return false;
}

static bool has_name(const char *pid, const char *names)
{
	char path[64], name[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
	n = io_read_file(path, name, sizeof name);
	name[n > 0 ? n - 1 : 0] = 0;
	return is_named(names, name);
}

/* Time of the processor, so that a busy machine has the same answer. */
static uint64_t cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int find_each(const struct find_by *by, uid_t uid, const char *names,
	      int (*visit)(void *arg, const struct find_process *p), void *arg)
{
	struct find_cache *cache = find_cache_new();
	DIR *proc = opendir("/proc");
	uint64_t begin_ns = cpu_ns();
	struct find_process p;
	struct dirent *e;
	int result = 0;

	while (proc && !result && (!by->most_cpu_ns || cpu_ns() - begin_ns < by->most_cpu_ns) &&
	       (e = readdir(proc))) {
		if (!is_wanted(dirfd(proc), e->d_name, uid) ||
		    (names && !has_name(e->d_name, names)))
			continue;
		find_process(&p, (pid_t)atoi(e->d_name), by, cache);
		if (names || p.program.n_sites || *p.library || p.state == FIND_ONLY_LTTNG)
			result = visit(arg, &p);
		find_process_fini(&p);
	}
	if (proc)
		closedir(proc);
	find_cache_free(cache);
	return result;
}
