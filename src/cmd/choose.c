/* SPDX-License-Identifier: MIT */
/* cmd/choose.c - see choose.h. */
#include "cmd/choose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/run.h"

/* ".5" is 500000000 ns; false if there is something else. */
static bool parse_fraction(const char *s, int64_t *ns)
{
	int64_t unit = 100000000;

	*ns = 0;
	if (!*s)
		return true;
	if (*s++ != '.')
		return false;
	for (; *s >= '0' && *s <= '9'; s++, unit /= 10)
		*ns += (*s - '0') * unit;
	return !*s;
}

bool moment_parse(const char *s, struct moment *m)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *rest;
	int64_t fraction;
	char *end;

	m->is_given = true;
	rest = strptime(s, "%H:%M:%S", &tm);
	if (rest) {
		m->is_of_day = true;
		m->ns = (tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * 1000000000ll;
	} else if ((rest = strptime(s, "%Y-%m-%d%n%H:%M:%S", &tm)) ||
		   (rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm))) {
		m->ns = (int64_t)mktime(&tm) * 1000000000;
	} else {
		errno = 0;
		m->ns = strtoll(s, &end, 10);
		if (end == s || errno || m->ns < 0 || m->ns > INT64_MAX / 1000000000 - 1)
			return false;
		m->ns *= 1000000000;
		rest = end;
	}
	if (!parse_fraction(rest, &fraction))
		return false;
	m->ns += fraction;
	return true;
}

/* Midnight, local time, of the day on which the first packet begins. */
static int64_t midnight_ns(const struct trace *t)
{
	int64_t begin_ns = INT64_MAX;
	struct tm tm;
	time_t s;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *st = trace_stream(t, i);

		if (st->n_packets && st->begin_ns < begin_ns)
			begin_ns = st->begin_ns;
	}
	s = begin_ns == INT64_MAX ? 0 : (time_t)(begin_ns / 1000000000);
	localtime_r(&s, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * 1000000000;
}

void moment_settle(struct moment *m, const struct trace *t)
{
	if (m->is_of_day)
		m->ns += midnight_ns(t);
}

bool choose_like(const struct trace *t, const char *pattern, bool *is_wanted)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (run_is_like(pattern, s, c->name))
				found = is_wanted[c->number] = true;
	}
	return found;
}

bool choose_is_state(const char *event)
{
	return !strncmp(event, "lttng_statedump_", 16) || !strncmp(event, "lttng_ust_statedump:", 20);
}
