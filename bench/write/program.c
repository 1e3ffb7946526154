/* SPDX-License-Identifier: MIT */
/*
 * bench/write/program.c - a program with one site, or none: built plain, for duet and for
 * LTTng-UST.
 *
 * It passes its site once and ends.  With an argument it first prints its resources: threads,
 * descriptors, then Rss, Pss and Private_Dirty in KiB.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#if defined WITH_DUET
#include <duet/duet.h>
DUET_EVENT(bench, int1, (int, a));
#define SITE(a) trace_bench_int1(a)
#elif defined WITH_LTTNG
#include "lttng_tp.h"
#define SITE(a) lttng_ust_tracepoint(bench, int1, a)
#else
#define SITE(a) (void)(a)
#endif

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return -1;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static long value_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[256];
	long v = -1;

	while (f && v < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), "%ld", &v);
	if (f)
		fclose(f);
	return v;
}

int main(int argc, char **argv)
{
	(void)argv;
	SITE(argc);
	if (argc > 1)
		printf("%d %d %ld %ld %ld\n", count_entries("/proc/self/task"),
		       count_entries("/proc/self/fd") - 1,
		       value_of("/proc/self/smaps_rollup", "Rss:"),
		       value_of("/proc/self/smaps_rollup", "Pss:"),
		       value_of("/proc/self/smaps_rollup", "Private_Dirty:"));
	return 0;
}
