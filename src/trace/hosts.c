/* SPDX-License-Identifier: MIT */
/*
 * trace/hosts.c - see hosts.h.
 *
 * Of one exchange - sent, received there, answered there, received here - the offset is the mean of
 * both ways' differences, and wrong by at most half of what the ways took (Mills, RFC 5905, section
 * 8).  The exchange with the smallest such error is taken.  If others contradict it, clocks have
 * drifted meanwhile: by how much they do is added to the error.
 */
#include "trace/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARENTS_MAX = 6 };
#define TIME_MIN (1000000000ull * 1000000000) /* 2001: before is no wall clock */
#define TIME_MAX (1ull << 62)		      /* more is no time of ours, and sums would overflow */

#define ADD_MAX (1ll << 60)

/* What the recorder read at one moment: to add to the trace's times to get the host's wall clock.
 */
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

	if (asprintf(&path, "%.*s%s.duet/%s", length, dir, length ? "/" : "", name) < 0)
		return NULL;
	f = fopen(path, "re");
	free(path);
	return f;
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

	while (f && fgets(line, sizeof line, f)) {
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

/* As it was nearest to @at_ns; nothing read: the trace began with the wall clock, and it is taken
 * to go on so. */
static int64_t add_at(const struct readings *r, size_t *i, int64_t at_ns)
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
	s->error_ns = there / 2 - back / 2 + 2; /* and what the halves rounded away */
	*at_ns = (int64_t)t[0];
	return s->error_ns > 0 && s->shift_ns < ADD_MAX && s->shift_ns > -ADD_MAX;
}

/* Twice through the file: for the best exchange, and for what contradicts it. */
static bool select_events(FILE *f, const struct readings *r, struct hosts_shift *best)
{
	struct hosts_shift x;
	int64_t at_ns, apart, drift = 0;
	bool found = false;
	char line[200];

	for (int pass = 0; pass < 2; pass++) {
		size_t i = 0;

		rewind(f);
		while (fgets(line, sizeof line, f)) {
			if (!parse_exchange(line, &x, &at_ns))
				continue;
			x.shift_ns += add_at(r, &i, at_ns);
			apart = llabs(x.shift_ns - best->shift_ns) - x.error_ns;
			if (pass)
				drift = apart > drift ? apart : drift;
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
	found = select_events(f, &r, s);
	if (clock)
		fclose(clock);
	fclose(f);
	free(r.at);
	return found;
}
