/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/findings.c - print patterns and filters of a recording that matched nothing.
 *
 * The collector reports what programs had (collect/findings/seen.h).  Patterns of -k are compared
 * with the kernel's classes in the recording: a class is described when its first event happens.
 */
#include "cmd/record/findings.h"

#include <stdio.h>
#include <string.h>

#include "cmd/finding.h"
#include "kernel/kernel.h"
#include "kernel/select/candidates.h"
#include "rules/pattern.h"
#include "trace/public.h"

/* ---------------------------------------------------------------- events of the kernel for -e */

struct search {
	const char *pattern;
	bool found;
};

static void try_kernel_event(void *arg, const char *event, const char *tracefs_name)
{
	struct search *s = arg;
	const char *end = s->pattern + strlen(s->pattern);

	s->found |=
		pattern_glob(s->pattern, end, event, event + strlen(event)) ||
		pattern_glob(s->pattern, end, tracefs_name, tracefs_name + strlen(tracefs_name));
}

/* Without the rights to list the kernel's events, their usual names count. */
static bool is_of_kernel(const char *pattern)
{
	struct search s = { .pattern = pattern };

	if (!kernel_list(try_kernel_event, &s, NULL))
		return s.found;
	return !strncmp(pattern, "sched_", 6) || !strncmp(pattern, "syscall_", 8) ||
	       !strncmp(pattern, "sched:", 6);
}

static void print_one(const char *verb, const struct finding *f)
{
	if (f->kind == FINDING_EVENT && is_of_kernel(f->subject))
		cmd_finding(verb,
			    "-e %s: no such event was recorded: it is an event of the kernel: "
			    "-k %s",
			    f->subject, f->subject);
	else
		cmd_finding(verb, "%s", f->text);
}

/* ---------------------------------------------------------------- patterns of -k */

struct comparison {
	const char *pattern;
	const struct trace *trace;
	bool has_happened;
};

static bool is_recorded(const struct trace *t, const char *name)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		if (s->domain != TRACE_KERNEL)
			continue;
		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (!strcmp(c->name, name))
				return true;
	}
	return false;
}

static void compare(void *arg, const char *event, const char *tracefs_name)
{
	struct comparison *c = arg;

	if (!c->has_happened && kernel_pattern_has(c->pattern, tracefs_name, event))
		c->has_happened = is_recorded(c->trace, event);
}

/* Clocks, counters and functions are not in the list of events. */
static bool is_sampled(const char *pattern)
{
	static const char *const words[] = { "profile",
					     "counter:", "stack:", "with:", "function:" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strncmp(pattern, words[i], strlen(words[i])))
			return true;
	return false;
}

static void print_kernel(const struct recording_summary *a)
{
	struct trace *t;

	/* Pieces that were removed or sent may have held the events. */
	if (!a->kernel_patterns.n || !a->result.kernel_recorded || a->is_gone ||
	    a->result.archiver.n_removed || trace_open(&t, &a->path, 1, NULL, NULL))
		return;
	for (int i = 0; i < a->kernel_patterns.n; i++) {
		const char *pattern = a->kernel_patterns.at[i];
		struct comparison c = { .pattern = pattern, .trace = t };

		if (*pattern == '!' || is_sampled(pattern) || is_recorded(t, pattern) ||
		    kernel_list(compare, &c, NULL) || c.has_happened)
			continue;
		cmd_finding(a->verb, "-k %s: no such event happened while it recorded", pattern);
	}
	trace_close(t);
}

/* The lines are the collector's own sentences. */
static void print_impossible(const char *verb, const struct impossible *p)
{
	char text[sizeof p->text], *rest = text, *line;

	snprintf(text, sizeof text, "%s", p->text);
	while ((line = strsep(&rest, "\n")))
		if (*line)
			cmd_finding(verb, "%s: see duet-status(1), IMPOSSIBLE", line);
}

void findings_print(const struct recording_summary *a, bool is_quiet)
{
	const struct findings *f = &a->result.findings;

	if (!is_quiet)
		print_impossible(a->verb, &a->result.impossible);
	for (uint32_t i = 0; i < f->n && i < FINDINGS_MAX; i++)
		if (!is_quiet || f->at[i].kind == FINDING_FILTER)
			print_one(a->verb, &f->at[i]);
	if (is_quiet)
		return;
	if (f->more)
		cmd_finding(a->verb, "%u more patterns were not found", f->more);
	print_kernel(a);
}
