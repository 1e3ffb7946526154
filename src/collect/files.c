/* SPDX-License-Identifier: MIT */
/* collect/files.c - see files.h. */
#include "collect/files.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock/clock.h"

bool files_are_none(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	if (!dir)
		return false;
	while ((e = readdir(dir)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return !n;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)!remove(path);
	return 0;
}

void files_remove(const char *path)
{
	static const char *const parts[] = { "ust", "kernel", ".duet" };
	char part[PATH_MAX];

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		if (snprintf(part, sizeof part, "%s/%s", path, parts[i]) < (int)sizeof part)
			nftw(part, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int files_open_application(struct drain **d, struct pool *pool, const char *path,
			   uint64_t clock_offset_ns, struct diag *diag)
{
	char trace[512];

	*d = NULL;
	if (snprintf(trace, sizeof trace, "%s/ust/uid/%u/%d-bit", path, (unsigned)geteuid(),
		     (int)sizeof(long) * 8) >= (int)sizeof trace)
		return diag_fail(diag, -ENAMETOOLONG, "%s: the path is too long", path);
	return drain_open(d, pool, trace, clock_offset_ns, diag);
}

FILE *files_open_clock(const char *path, const struct abi_clock *clock)
{
	char file[PATH_MAX];
	FILE *f;

	if (snprintf(file, sizeof file, "%s/.duet/clock", path) >= (int)sizeof file) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	*strrchr(file, '/') = 0;
	mkdir(file, 0777);
	file[strlen(file)] = '/';
	f = fopen(file, "we");
	if (f)
		fprintf(f, "# %s; ticks, trace, monotonic, boottime, realtime (ns)\n",
			clock_tracefs_name(clock));
	return f;
}

void files_add_clock(FILE *f, const struct abi_clock *clock)
{
	struct clock_reading c;

	clock_read(clock, &c);
	fprintf(f, "%llu %llu %llu %llu %llu\n", (unsigned long long)c.ticks,
		(unsigned long long)clock_ns(clock, c.ticks), (unsigned long long)c.monotonic_ns,
		(unsigned long long)c.boottime_ns, (unsigned long long)c.realtime_ns);
	fflush(f);
}
