/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/chunks.c - names, list and removal of trace chunks on disk; used by the collector,
 * the archiver and relays.
 */
#include "collect/chunks/chunks.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/chunks/age.h"
#include "collect/drain/files.h"
#include "ctf/compressed/compressed.h"

#define PREFIX "piece-"

int trace_chunks_path(char *to, size_t size, const char *path, uint32_t n, struct diag *d)
{
	assert(n > 0);
	return snprintf(to, size, "%s/" PREFIX "%06u", path, n) < (int)size
		       ? 0
		       : diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", path);
}

uint32_t trace_chunks_number(const char *name)
{
	const char *digits = name + sizeof PREFIX - 1;
	unsigned long n;

	if (strncmp(name, PREFIX, sizeof PREFIX - 1) ||
	    strspn(digits, "0123456789") != strlen(digits) || strlen(digits) < 6 ||
	    strlen(digits) > 10)
		return 0;
	n = strtoul(digits, NULL, 10);
	return n < UINT32_MAX ? (uint32_t)n : 0;
}

/* PATH/piece-N/NAME */
static bool name_inside(char to[PATH_MAX], const char *path, uint32_t n, const char *name)
{
	return snprintf(to, PATH_MAX, "%s/" PREFIX "%06u/%s", path, n, name) < PATH_MAX;
}

int trace_chunks_finish(const char *path, uint32_t n, const struct trace_chunk_content *content,
			struct diag *d)
{
	char file[PATH_MAX], fresh[PATH_MAX];
	int err = 0;
	FILE *f;

	assert(n > 0);
	if (!name_inside(file, path, n, ".duet/finished") ||
	    !name_inside(fresh, path, n, ".duet/.finished"))
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", path);
	f = fopen(fresh, "we");
	if (!f || fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", content->begin_ns,
			  content->end_ns, content->sum.events, content->sum.bytes) < 0)
		err = -errno;
	if (f && fclose(f) && !err)
		err = -errno;
	if (!err && rename(fresh, file))
		err = -errno;
	if (err)
		unlink(fresh);
	return err ? diag_fail(d, err, "%s: %s", file, strerror(-err)) : 0;
}

bool trace_chunks_is_finished(const char *path, uint32_t n)
{
	char file[PATH_MAX];

	return name_inside(file, path, n, ".duet/finished") && io_exists(file);
}

/* ---------------------------------------------------------------- listing */

/* For nftw, which has no context argument. */
static struct {
	size_t base; /* length of the trace chunk's path */
	uint64_t bytes;
	bool any_plain;
} totals;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *inside = path + totals.base;

	(void)at;
	totals.bytes += (uint64_t)st->st_blocks * 512;
	if (type == FTW_F && !compressed_is_name(path) && !strstr(inside, "/.duet/") &&
	    !strstr(inside, "/index/"))
		totals.any_plain = true;
	return 0;
}

static bool read_trace_chunk(const char *path, uint32_t n, struct trace_chunk *p)
{
	char file[PATH_MAX], text[128];
	uint64_t begin_ns;

	*p = (struct trace_chunk){ .number = n };
	if (!name_inside(file, path, n, ".duet/finished") ||
	    io_read_file(file, text, sizeof text) < 0)
		return false;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &begin_ns, &p->end_ns,
		   &p->sum.events, &p->sum.bytes) < 2)
		p->end_ns = 0; /* corrupted: counts as old */
	trace_chunks_path(file, sizeof file, path, n, NULL);
	totals.base = strlen(file);
	totals.bytes = 0;
	totals.any_plain = false;
	nftw(file, add_file, 16, FTW_PHYS);
	p->bytes = totals.bytes;
	p->is_packed = !totals.any_plain;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct trace_chunk *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int trace_chunks_list(const char *path, struct trace_chunk **trace_chunks)
{
	DIR *dir = opendir(path);
	struct trace_chunk *list = NULL, *grown;
	struct dirent *e;
	int n = 0, err = 0;

	*trace_chunks = NULL;
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		uint32_t number = trace_chunks_number(e->d_name);

		if (!number)
			continue;
		grown = realloc(list, (size_t)(n + 1) * sizeof *list);
		if (!grown)
			err = -ENOMEM;
		else
			list = grown;
		if (!err)
			n += read_trace_chunk(path, number, &list[n]);
	}
	closedir(dir);
	if (err) {
		free(list);
		return err;
	}
	if (n)
		qsort(list, (size_t)n, sizeof *list, by_number);
	*trace_chunks = list;
	return n;
}

void trace_chunks_kept(const char *path, struct recorder_kept *kept)
{
	struct trace_chunk *p;
	int n = trace_chunks_list(path, &p);

	for (int i = 0; i < n; i++) {
		kept->n++;
		kept->events += p[i].sum.events;
		kept->bytes += p[i].sum.bytes;
	}
	free(p);
}

/* ---------------------------------------------------------------- removal */

static uint64_t clock_now_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One process looks at one set of trace chunks: the archiver's recording, or all of a relay. */
static struct chunk_ages ages;

int trace_chunks_count_old(const struct trace_chunks_options *o, const struct trace_chunk *p, int n)
{
	uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME), bytes = 0;
	int old = o->remove_all ? n : 0;
	bool has_ages =
		o->keep_ns && chunk_ages_update(&ages, p, n, clock_now_ns(CLOCK_REALTIME), boot_ns);

	assert(n >= 0);
	for (int i = n; i-- > 0 && !old;) {
		bytes += p[i].bytes;
		if ((o->keep_bytes && bytes > o->keep_bytes) ||
		    (o->keep_count && (uint32_t)(n - i) > o->keep_count) ||
		    (has_ages && (int64_t)boot_ns - ages.at[i].ended_ns > (int64_t)o->keep_ns))
			old = i + 1;
	}
	return old;
}

bool trace_chunks_is_archived(const void *archived, const char *name)
{
	const struct disk_archived *a = archived;
	uint32_t number = trace_chunks_number(*name == '.' ? name + 1 : name);

	return (number && number <= a->number) || !strncmp(name, "tenant-", 7);
}

int trace_chunks_remove(const char *path, uint32_t n)
{
	char from[PATH_MAX], to[PATH_MAX];

	assert(n > 0);
	if (trace_chunks_path(from, sizeof from, path, n, NULL) ||
	    snprintf(to, sizeof to, "%s/." PREFIX "%06u", path, n) >= (int)sizeof to)
		return -ENAMETOOLONG;
	if (rename(from, to))
		return -errno;
	files_remove_trace(to);
	return 0;
}

void trace_chunks_sweep(const char *path)
{
	DIR *dir = opendir(path);
	char whole[PATH_MAX];
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (*e->d_name == '.' && trace_chunks_number(e->d_name + 1) &&
		    snprintf(whole, sizeof whole, "%s/%s", path, e->d_name) < (int)sizeof whole)
			files_remove_trace(whole);
	if (dir)
		closedir(dir);
}
