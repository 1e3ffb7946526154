/* SPDX-License-Identifier: MIT */
/* find/system/limits.c - limits of processes that recordings meet: ulimit(1). */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi/control.h"
#include "find/system/internal.h"

static const char *limit_text(rlim_t v, char text[32])
{
	if (v == RLIM_INFINITY)
		snprintf(text, 32, "unlimited");
	else
		check_size(v, text);
	return text;
}

/* Each CPU has a stream and an index in each channel, and some files of the kernel. */
static void check_files(const struct checking *c)
{
	unsigned long long wanted = 64 + 16ull * (unsigned long long)sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	if (l.rlim_max < wanted)
		check_bad(c, "open files", FIND_FINDING, "raise the hard limit: ulimit -Hn",
			  "%llu at most, recordings on this machine take up to %llu",
			  (unsigned long long)l.rlim_max, wanted);
	else
		check_fine(c, "open files", "%llu at most", (unsigned long long)l.rlim_max);
}

static void check_size_limit(const struct checking *c, const char *name, int which, uint64_t least,
			     const char *effect, const char *remedy)
{
	struct rlimit l;
	char text[32];

	if (getrlimit(which, &l))
		return;
	limit_text(l.rlim_cur, text);
	if (l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= least)
		check_fine(c, name, "%s", text);
	else
		check_bad(c, name, FIND_FINDING, remedy, "%s: %s", text, effect);
}

static void check_locked(const struct checking *c)
{
	struct rlimit l;
	char text[32];

	if (!getrlimit(RLIMIT_MEMLOCK, &l))
		check_fine(c, "locked memory", "%s%s", limit_text(l.rlim_cur, text),
			   c->by->uid ? ": bounds the buffers of -k profile" : "");
}

void check_limits(struct checking *c)
{
	check_files(c);
	check_size_limit(c, "file size", RLIMIT_FSIZE, 64ull << 20,
			 "recordings end there, and programs that start here may stay dormant",
			 "ulimit -f unlimited");
	check_size_limit(c, "address space", RLIMIT_AS, 4ull << 30,
			 "programs map the whole buffers of a session",
			 "ulimit -v unlimited, or "
			 "smaller buffers: -b");
	check_locked(c);
}
