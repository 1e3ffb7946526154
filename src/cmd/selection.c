/* SPDX-License-Identifier: MIT */
/* cmd/selection.c - parse --from, --to and -e of the verbs that read recordings. */
#include "cmd/selection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/public.h"
#include "cmd/nearest.h"

/* Parse ".5" as 500000000 ns.  False if it is something else. */
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

/* Parse "2.5s". */
static bool parse_duration(const char *s, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 },   { "s", 1e9 },
		      { "", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	double v = *s >= '0' && *s <= '9' ? strtod(s, &end) : -1;

	for (size_t i = 0; v >= 0 && v < 1e9 && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].name)) {
			*ns = (int64_t)(v * units[i].ns + 0.5);
			return v * units[i].ns < 1e18;
		}
	return false;
}

bool moment_parse(const char *s, struct moment *m)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *rest;
	int64_t fraction;
	char *end;

	*m = (struct moment){ .is_given = true, .is_behind = *s == '+' };
	if (m->is_behind)
		return parse_duration(s + 1, &m->ns);
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

/* The time of the first packet; 0 if there is none. */
static int64_t first_ns(const struct trace *t)
{
	int64_t begin_ns = INT64_MAX;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *st = trace_stream(t, i);

		if (st->n_packets && st->begin_ns < begin_ns)
			begin_ns = st->begin_ns;
	}
	return begin_ns == INT64_MAX ? 0 : begin_ns;
}

/* The midnight before it, in local time. */
static int64_t midnight_ns(const struct trace *t)
{
	time_t s = (time_t)(first_ns(t) / 1000000000);
	struct tm tm;

	localtime_r(&s, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * 1000000000;
}

static void resolve_moment(struct moment *m, const struct moment *behind, const struct trace *t)
{
	if (m->is_of_day)
		m->ns += midnight_ns(t);
	if (m->is_behind)
		m->ns += behind && behind->is_given ? behind->ns : first_ns(t);
	m->is_of_day = m->is_behind = false;
}

void moments_resolve(struct moment *from, struct moment *to, const struct trace *t)
{
	resolve_moment(from, NULL, t);
	resolve_moment(to, from, t);
	assert(!from->is_of_day && !from->is_behind && !to->is_of_day && !to->is_behind);
}

bool selection_mark(const struct trace *t, const char *pattern, bool *is_wanted)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (pass_is_like(pattern, s, c->name))
				found = is_wanted[c->number] = true;
	}
	return found;
}

int selection_refuse(const struct trace *t, const char *pattern, struct diag *d)
{
	struct nearest near = { .wanted = pattern };
	char text[NEAREST_MAX + 32];

	nearest_try_events(&near, t);
	return diag_fail(d, -ENOENT, "-e %s: nothing recorded is called so%s", pattern,
			 nearest_text(&near, text));
}

bool selection_is_state_event(const char *event)
{
	return !strncmp(event, "lttng_statedump_", 16) ||
	       !strncmp(event, "lttng_ust_statedump:", 20);
}

bool selection_is_batch(const char *event)
{
	return !strcmp(event, "duet_calls:batch");
}

void selection_mark_default(const struct trace *t, bool *is_wanted)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next)
			is_wanted[c->number] =
				!selection_is_state_event(c->name) && !selection_is_batch(c->name);
}
