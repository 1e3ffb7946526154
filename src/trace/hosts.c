/* SPDX-License-Identifier: MIT */
/*
 * trace/hosts.c - computes the shift between a host's clock and its relay's from recorded
 * exchanges.
 *
 * An exchange has four times: sent, received there, answered there, received here.  The offset is
 * the mean of the differences of both directions; its error is at most half of the round trip
 * (Mills, RFC 5905, section 8).  The exchange with the smallest error is used.  If others
 * contradict it, the clocks have drifted in between: the contradiction is added to the error.
 */
#include "trace/hosts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { PARENTS_MAX = 6 };
#define TIME_MIN (1000000000ull * 1000000000) /* 2001: smaller values are no wall clock */
/* larger values are no time of ours, and sums would overflow */
#define TIME_MAX (1ull << 62)

#define ADD_MAX (1ll << 60)

/* One reading by the recorder: the number that turns the trace's times into the host's wall
 * clock. */
struct reading {
	int64_t at_ns; /* wall clock */
	int64_t add_ns;
};

struct readings {
	struct reading *at;
	size_t n, capacity;
};

static FILE *open_beside(const char *dir, int length, const char *name)
{
	char *path;
	FILE *f;
	int fd;

	if (asprintf(&path, "%.*s%s.duet/%s", length, dir, length ? "/" : "", name) < 0)
		return NULL;
	fd = io_open_file(AT_FDCWD, path);
	free(path);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* A file of weeks is long; one of zeros, whose size costs nothing, ends at its first line. */
static bool next_line(FILE *f, char *line, int size)
{
	return fgets(line, size, f) && strchr(line, '\n');
}

static bool add_reading(struct readings *r, struct reading x)
{
	if (r->n == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 64;
		struct reading *bigger = realloc(r->at, capacity * sizeof *bigger);

		if (!bigger)
			return false;
		r->at = bigger;
		r->capacity = capacity;
	}
	r->at[r->n++] = x;
	return true;
}

static void read_clock(struct readings *r, FILE *f, int64_t base_ns)
{
	unsigned long long v[5];
	char line[200];
	int64_t add_ns;

	while (f && next_line(f, line, sizeof line)) {
		if (sscanf(line, "%llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4]) !=
			    5 ||
		    v[1] > TIME_MAX || v[4] < TIME_MIN || v[4] > TIME_MAX)
			continue;
		add_ns = (int64_t)(v[4] - v[1] - (uint64_t)base_ns);
		if (add_ns < ADD_MAX && add_ns > -ADD_MAX &&
		    !add_reading(r, (struct reading){ (int64_t)v[4], add_ns }))
			return;
	}
}

/* Returns the reading nearest before @at_ns.  Without readings it is 0: the trace began with the
 * wall clock, and is assumed to follow it. */
static int64_t reading_at(const struct readings *r, size_t *i, int64_t at_ns)
{
	while (*i + 1 < r->n && r->at[*i + 1].at_ns <= at_ns)
		++*i;
	return r->n ? r->at[*i].add_ns : 0;
}

static bool parse_exchange(const char *line, struct hosts_shift *s, int64_t *at_ns)
{
	unsigned long long t[4];
	int64_t there, back;

	if (sscanf(line, "%llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++)
		if (t[i] < TIME_MIN || t[i] > TIME_MAX)
			return false;
	there = (int64_t)(t[1] - t[0]);
	back = (int64_t)(t[2] - t[3]);
	s->shift_ns = there / 2 + back / 2;
	s->error_ns = there / 2 - back / 2 + 2; /* and the rounding of both halves */
	*at_ns = (int64_t)t[0];
	return s->error_ns > 0 && s->shift_ns < ADD_MAX && s->shift_ns > -ADD_MAX;
}

/* Reads the file twice: for the best exchange, then for exchanges that contradict it. */
static bool find_best_exchange(FILE *f, const struct readings *r, struct hosts_shift *best)
{
	struct hosts_shift x;
	int64_t at_ns, contradiction_ns, drift = 0;
	bool found = false;
	char line[200];

	for (int pass = 0; pass < 2; pass++) {
		size_t i = 0;

		rewind(f);
		while (next_line(f, line, sizeof line)) {
			if (!parse_exchange(line, &x, &at_ns))
				continue;
			x.shift_ns += reading_at(r, &i, at_ns);
			contradiction_ns = llabs(x.shift_ns - best->shift_ns) - x.error_ns;
			if (pass)
				drift = contradiction_ns > drift ? contradiction_ns : drift;
			else if (!found || x.error_ns < best->error_ns)
				*best = x;
			found = true;
		}
	}
	best->error_ns += drift;
	return found;
}

bool hosts_read(const char *path, int64_t base_ns, struct hosts_shift *s)
{
	int length = (int)strlen(path);
	struct readings r = { 0 };
	FILE *f = NULL, *clock;
	bool found;

	*s = (struct hosts_shift){ 0 };
	for (int i = 0; i < PARENTS_MAX; i++) {
		f = open_beside(path, length, "clock-relay");
		if (f || !length)
			break;
		while (length > 0 && path[--length] != '/')
			;
		if (!length && *path == '/')
			break;
	}
	if (!f)
		return false;
	clock = open_beside(path, length, "clock");
	read_clock(&r, clock, base_ns);
	found = find_best_exchange(f, &r, s);
	if (clock)
		fclose(clock);
	fclose(f);
	free(r.at);
	return found;
}
