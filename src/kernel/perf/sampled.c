/* SPDX-License-Identifier: MIT */
/* kernel/perf/sampled.c - parses the patterns for clocks and counters.
 *
 * The names are those of perf list; each has a default period. */
#include "kernel/perf/sampled.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernel/perf/perf.h"
#include "kernel/tracefs/rights.h"

/* Default periods: each 100 000th cycle gives some thousand samples a second; the other for rarer
 * events. */
enum { OFTEN = 100000, SELDOM = 1000 };
#define TICK_NS 1000000

static const struct counter {
	const char *name;
	uint32_t type;
	uint64_t config, period;
} known[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1 },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1 },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1 },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, TICK_NS },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, TICK_NS },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, OFTEN },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, OFTEN },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, OFTEN },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, OFTEN },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, SELDOM },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, SELDOM },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, SELDOM },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	  OFTEN },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	  OFTEN },
};

/* The part of @pattern after @prefix and a colon; "" if there is none; NULL for another prefix. */
static const char *after_prefix(const char *pattern, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(pattern, prefix, n) || (pattern[n] && pattern[n] != ':'))
		return NULL;
	return pattern + n + (pattern[n] == ':');
}

static bool take_number(const char *text, uint64_t max, uint64_t *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return !*end && !errno && *n >= 1 && *n <= max;
}

/* 99 Hz by default, to avoid lockstep with programs that act every hundredth of a second. */
static int parse_profile(struct kernel_sampled *s, const char *rate, struct diag *d)
{
	uint64_t hz = 99;

	if (*rate && !take_number(rate, KERNEL_PROFILE_HZ_MAX, &hz))
		return diag_fail(
			d, -EINVAL,
			"%s: a rate from 1 to %d samples per second is expected, as in profile:99",
			s->name, KERNEL_PROFILE_HZ_MAX);
	snprintf(s->event, sizeof s->event, "profile");
	s->attr = (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_CPU_CLOCK,
					    .sample_period = 1000000000 / hz,
					    .exclude_idle = 1 };
	return 1;
}

static const struct counter *find_counter(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == size && !memcmp(known[i].name, name, size))
			return &known[i];
	return NULL;
}

static int complain(const char *name, struct diag *d)
{
	struct text all = { 0 };
	int err;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		text_addf(&all, "%s%s", i ? ", " : "", known[i].name);
	err = diag_fail(d, -EINVAL, "%s: no such counter\n  there are %s%s", name,
			all.failed ? "?" : all.bytes,
			after_prefix(name, "with") ? "; and stack, kernel-stack, user-stack" : "");
	text_fini(&all);
	return err;
}

static void name_after(struct kernel_sampled *s, const char *prefix, const struct counter *c)
{
	snprintf(s->event, sizeof s->event, "%s%s", prefix, c->name);
	for (char *p = s->event; *p; p++)
		*p = *p == '-' ? '_' : *p;
}

static int parse_counter(struct kernel_sampled *s, const char *name, struct diag *d)
{
	size_t size = strcspn(name, ":");
	const struct counter *c = find_counter(name, size);
	uint64_t period = c ? c->period : 0;

	if (!c)
		return complain(s->name, d);
	if (name[size] && !take_number(name + size + 1, INT64_MAX, &period))
		return diag_fail(d, -EINVAL,
				 "%s: a number is expected after the name: the period, as in "
				 "counter:page-faults:100",
				 s->name);
	name_after(s, "counter_", c);
	s->is_counter = true;
	s->attr = (struct perf_event_attr){ .type = c->type,
					    .config = c->config,
					    .sample_period = period };
	return 1;
}

int kernel_sampled_parse(struct kernel_sampled *s, const char *pattern, struct diag *d)
{
	const char *rest = after_prefix(pattern, "profile");

	*s = (struct kernel_sampled){ .is_counter = false };
	snprintf(s->name, sizeof s->name, "%s", pattern);
	if (rest)
		return parse_profile(s, rest, d);
	rest = after_prefix(pattern, "counter");
	return rest ? parse_counter(s, rest, d) : 0;
}

/* The index of this counter among @counters; it is added if it is new. Or -EINVAL. */
static int place_counter(const char *pattern, const char *name, size_t size,
			 struct kernel_sampled *counters, int *n, struct diag *d)
{
	const struct counter *c = find_counter(name, size);

	if (!c)
		return complain(pattern, d);
	for (int i = 0; i < *n; i++)
		if (counters[i].attr.type == c->type && counters[i].attr.config == c->config)
			return i;
	if (*n == KERNEL_SAMPLED_MAX)
		return diag_fail(d, -EINVAL, "%s: more than %d counters", pattern,
				 KERNEL_SAMPLED_MAX);
	counters[*n] = (struct kernel_sampled){ .is_counter = true,
						.attr = { .type = c->type, .config = c->config } };
	snprintf(counters[*n].name, sizeof counters[*n].name, "%s", c->name);
	name_after(&counters[*n], "perf_cpu_", c);
	return (*n)++;
}

/* Parses one NAME of with:. */
static int take_extra(const char *pattern, const char *name, size_t size,
		      struct kernel_sampled *counters, int *n, uint32_t *extras, struct diag *d)
{
	static const struct {
		const char *name;
		uint32_t extras;
	} stacks[] = { { "stack", KERNEL_PERF_STACKS },
		       { "kernel-stack", KERNEL_PERF_KERNEL_STACK },
		       { "user-stack", KERNEL_PERF_USER_STACK } };
	int place;

	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
		if (strlen(stacks[i].name) == size && !memcmp(stacks[i].name, name, size)) {
			*extras |= stacks[i].extras;
			return 0;
		}
	place = place_counter(pattern, name, size, counters, n, d);
	if (place >= 0)
		*extras |= (uint32_t)KERNEL_PERF_VALUE << place;
	return place < 0 ? place : 0;
}

int kernel_sampled_extras(const char *pattern, struct kernel_sampled counters[KERNEL_SAMPLED_MAX],
			  int *n, uint32_t *extras, const char **rest, struct diag *d)
{
	const char *names = after_prefix(pattern, "with"), *end;
	int err = 0;

	*extras = KERNEL_PERF_STACKS;
	*rest = after_prefix(pattern, "stack");
	if (*rest)
		return 1;
	end = names ? strchr(names, ':') : NULL;
	if (!end)
		return names ? diag_fail(d, -EINVAL,
					 "%s: values and a pattern are expected, as in "
					 "with:page-faults+user-stack:sched_switch",
					 pattern)
			     : 0;
	*rest = end + 1;
	*extras = 0;
	for (size_t size; !err && names <= end; names += size + 1) {
		size = strcspn(names, "+:");
		err = take_extra(pattern, names, size, counters, n, extras, d);
	}
	return err ? err : 1;
}

int kernel_sampled_explain(const char *what, int err, struct diag *d)
{
	if (err == -EACCES || err == -EPERM)
		return kernel_rights_perf(what, err, d);
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		return diag_fail(
			d, err,
			"%s: this machine has no such counter (no PMU, or its hypervisor does not "
			"show it)\n  the kernel's own counters exist on every machine: "
			"page-faults, context-switches, cpu-migrations, cpu-clock, ...",
			what);
	return diag_fail(d, err, "%s: perf_event_open: %s", what, strerror(-err));
}
