/* SPDX-License-Identifier: MIT */
/* cmd/selection.c - parse --from, --to and -e of the verbs that read recordings. */
#include "cmd/selection.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
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
enum { NAMES_SHOWN = 5 };

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

/* The time from the first packet to the last; false if there is none. */
static bool find_span(const struct trace *t, int64_t *begin_ns, int64_t *end_ns)
{
	*begin_ns = INT64_MAX;
	*end_ns = INT64_MIN;
	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *st = trace_stream(t, i);

		if (!st->n_packets)
			continue;
		*begin_ns = st->begin_ns < *begin_ns ? st->begin_ns : *begin_ns;
		*end_ns = st->end_ns > *end_ns ? st->end_ns : *end_ns;
	}
	return *begin_ns <= *end_ns;
}

static const char *clock_text(int64_t ns, char text[32])
{
	time_t s = (time_t)(ns / 1000000000);
	struct tm tm;
	size_t n;

	localtime_r(&s, &tm);
	n = strftime(text, 32, "%H:%M:%S", &tm);
	snprintf(text + n, 32 - n, ".%06d", (int)(ns / 1000 % 1000000));
	return text;
}

/* "it is from 10:00:01.000000 to 10:00:02.000000". */
static void add_span(const struct trace *t, char *text, size_t size)
{
	char begin[32], end[32];
	int64_t begin_ns, end_ns;

	if (find_span(t, &begin_ns, &end_ns))
		snprintf(text, size, "the recording is from %s to %s", clock_text(begin_ns, begin),
			 clock_text(end_ns, end));
	else
		snprintf(text, size, "the recording is empty");
}

int moments_check(const struct moment *from, const struct moment *to, const struct trace *t,
		  struct diag *d)
{
	int64_t begin_ns, end_ns;
	char span[128], a[32], b[32];

	if (from->is_given && to->is_given && from->ns > to->ns)
		return diag_fail(d, -EINVAL, "--from %s is later than --to %s",
				 clock_text(from->ns, a), clock_text(to->ns, b));
	if (!find_span(t, &begin_ns, &end_ns) ||
	    ((!from->is_given || from->ns <= end_ns) && (!to->is_given || to->ns >= begin_ns)))
		return 0;
	add_span(t, span, sizeof span);
	return diag_fail(d, -ENODATA, "--%s %s: nothing was recorded in that time: %s",
			 from->is_given && from->ns > end_ns ? "from" : "to",
			 clock_text(from->is_given && from->ns > end_ns ? from->ns : to->ns, a),
			 span);
}

void selection_explain_none(const struct trace *t, const struct moment *from,
			    const struct moment *to, const char *const *patterns, int n_patterns,
			    const char *filter, struct diag *text)
{
	char span[128];

	if (moments_check(from, to, t, text))
		return;
	if (filter)
		diag_fail(text, 0, "-f '%s': no event%s passes it", filter,
			  from->is_given || to->is_given ? " of that time" : "");
	else if (n_patterns)
		diag_fail(text, 0, "-e %s%s: the recording has no such event%s", patterns[0],
			  n_patterns > 1 ? " and others" : "",
			  from->is_given || to->is_given ? " in that time" : "");
	else if (from->is_given || to->is_given) {
		add_span(t, span, sizeof span);
		diag_fail(text, 0, "no event lies in that time: %s", span);
	} else {
		diag_fail(text, 0, "the recording has no events");
	}
}

static bool unmark(const struct trace *t, const char *pattern, bool *is_wanted)
{
	bool found = false;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (pass_is_like(pattern, s, c->name)) {
				is_wanted[c->number] = false;
				found = true;
			}
	}
	return found;
}

const char *selection_mark_all(const struct trace *t, const char *const *patterns, int n,
			       bool *is_wanted)
{
	const char *missing = NULL;

	if (n && *patterns[0] == '!')
		selection_mark_default(t, is_wanted);
	for (int i = 0; i < n; i++) {
		bool found = *patterns[i] == '!' ? unmark(t, patterns[i] + 1, is_wanted)
						 : selection_mark(t, patterns[i], is_wanted);

		if (!found && !missing)
			missing = patterns[i];
	}
	return missing;
}

int selection_add(const char **patterns, int n, int most, char *list)
{
	for (char *p; (p = strsep(&list, ","));) {
		if (!*p || !strcmp(p, "!"))
			return -EINVAL;
		if (n == most)
			return -E2BIG;
		patterns[n++] = p;
	}
	return n;
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

/* ": it has shop:order, sched_switch and 12 more". */
static void list_names(const struct trace *t, char *text, size_t size)
{
	size_t n = 0;
	int shown = 0, more = 0;

	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next) {
			if (trace_is_state_event(c->name) || trace_is_batch(c->name) ||
			    !strncmp(c->name, "duet:", 5))
				continue;
			if (shown == NAMES_SHOWN || n + strlen(c->name) + 32 >= size) {
				more++;
				continue;
			}
			n += (size_t)snprintf(text + n, size - n, "%s%s",
					      shown++ ? ", " : ": it has ", c->name);
		}
	if (more)
		snprintf(text + n, size - n, " and %d more", more);
	else if (!shown)
		snprintf(text, size, ": it has no events");
}

int selection_refuse(const struct trace *t, const char *pattern, struct diag *d)
{
	struct nearest near = { .wanted = pattern + (*pattern == '!') };
	char text[NEAREST_MAX + 32], held[256] = "";

	nearest_try_events(&near, t);
	if (!*near.best)
		list_names(t, held, sizeof held);
	return diag_fail(d, -ENOENT, "-e %s: nothing recorded is called so%s", pattern,
			 *near.best ? nearest_text(&near, text) : held);
}

void selection_mark_default(const struct trace *t, bool *is_wanted)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next)
			is_wanted[c->number] =
				!trace_is_state_event(c->name) && !trace_is_batch(c->name);
}
