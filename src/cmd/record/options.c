/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/options.c - the table of options of duet record, start and collect, and the functions
 * that take a value which is more than one field.
 *
 * The rows are in .def files, in the order of the help and of the manual pages:
 *
 *	OPTION(name, letter, argument, verbs, target, help, MANUAL(arguments, text))
 *	ALIAS(name, verbs, help)	another name for the option above
 *
 * The target is a field - FLAG, TEXT, SIZE, TIME or STRINGS(part, struct, member) - or a function:
 * TAKE(part, function, detail).  MANUAL has, as mdoc(7), the arguments that follow the option's names in
 * the manual, and the text below them.  manual.c reads the same files, so duet does not contain it.
 */
#include "cmd/record/options.h"

#include <assert.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "abi/capture.h"
#include "abi/clock.h"
#include "base/cgroup.h"
#include "cmd/record/recording.h"
#include "cmd/repeat/repeat.h"
#include "collect/calls/public.h"
#include "kernel/kernel.h"
#include "kernel/threads/event_contexts.h"

/* ---------------------------------------------------------------- events of applications */

static int add_event(struct recording *a, const char *pattern)
{
	if (!*pattern || !strcmp(pattern, "!"))
		return cmd_usage(a->verb, "-e: empty pattern");
	a->last = LAST_EVENT;
	a->events = cmd_grow(a->events, a->n_events, sizeof *a->events);
	a->events[a->n_events++] = (struct recorder_event){ .pattern = pattern };
	return 0;
}

/* "shop:order,shop:item".  The argument is cut into patterns in argv. */
static int take_event(const struct option_value *v)
{
	struct recording *a = v->part;
	char *rest = v->text;
	int status = 0;

	if (a->early)
		return cmd_error(a->verb,
				 "%s: stands before -e %s: put it behind the -e that it is for",
				 a->early, v->text);
	a->last_event = a->n_events;
	for (char *p; !status && (p = strsep(&rest, ","));)
		status = add_event(a, p);
	return status;
}

/* Finds the -e before an option; without one, all events are meant. */
static void find_event(struct recording *a, const char *option)
{
	if (!a->n_events) {
		a->early = option;
		add_event(a, "*");
	}
	assert(a->last_event < a->n_events);
}

static int refuse_excluded(const struct recording *a, const char *filter, const char *pattern)
{
	return cmd_error(a->verb, "-f %s: follows \"%s\", which records no event", filter, pattern);
}

static int refuse_second_filter(const struct recording *a, const char *filter, const char *of)
{
	return cmd_error(a->verb, "-f %s: \"%s\" has a filter: join both by &&", filter, of);
}

static int add_event_filter(struct recording *a, const char *filter)
{
	find_event(a, "-f");
	for (int i = a->last_event; i < a->n_events; i++) {
		struct recorder_event *e = &a->events[i];

		if (*e->pattern == '!')
			return refuse_excluded(a, filter, e->pattern);
		if (e->filter)
			return refuse_second_filter(a, filter, e->pattern);
		e->filter = filter;
	}
	return 0;
}

/* For all patterns of the last -k. */
static int add_kernel_filter(struct recording *a, const char *filter)
{
	assert(a->kernel_filters.n == a->kernel_events.n);
	for (int i = a->last_kernel; i < a->kernel_events.n; i++) {
		if (*a->kernel_events.at[i] == '!')
			return refuse_excluded(a, filter, a->kernel_events.at[i]);
		if (a->kernel_filters.at[i])
			return refuse_second_filter(a, filter, a->kernel_events.at[i]);
		a->kernel_filters.at[i] = filter;
	}
	return 0;
}

static int add_probe_filter(struct recording *a, const char *filter)
{
	struct kernel_uprobe *u = &a->uprobes[a->n_uprobes - 1];

	assert(a->n_uprobes > 0);
	if (u->filter)
		return refuse_second_filter(a, filter, u->text);
	u->filter = filter;
	return 0;
}

/* -f belongs to the -e, -k or probe before it; without one, to all events. */
static int take_filter(const struct option_value *v)
{
	struct recording *a = v->part;

	switch (a->last) {
	case LAST_PROBE:
		return add_probe_filter(a, v->text);
	case LAST_KERNEL:
		return add_kernel_filter(a, v->text);
	case LAST_EVENT:
		break;
	}
	return add_event_filter(a, v->text);
}

/* --level belongs to the -e before it; without one, to all events. */
static int take_level(const struct option_value *v)
{
	struct recording *a = v->part;
	struct text unused = { 0 };
	struct diag d = { "" };
	int err = selector_add(&unused, SELECTOR_LEVEL, v->text, &d);

	text_fini(&unused);
	if (err)
		return cmd_error(a->verb, "%s", d.text);
	find_event(a, "--level");
	for (int i = a->last_event; i < a->n_events; i++) {
		struct recorder_event *e = &a->events[i];

		if (e->level)
			return cmd_error(a->verb, "--level %s: \"%s\" has a level", v->text,
					 e->pattern);
		e->level = v->text;
	}
	return 0;
}

static int take_selector(const struct option_value *v)
{
	const struct selector_target *to = v->part;

	return to->add(to->arg, (enum selector_kind)v->detail, v->text);
}

/* The kernel can record the events of some cgroups; it cannot leave out those of others. */
static void add_cgroups(struct recording *a, const char *list)
{
	char *items = strdup(list), *rest = items, *item;
	struct cgroup *c = malloc(sizeof *c);

	while (items && c && (item = strsep(&rest, ",")))
		if (*item != '!' && !cgroup_find(c, item, NULL))
			cmd_add_string(&a->cgroups, strdup(c->dir));
	free(items);
	free(c);
}

int recording_add_selector(void *recording, enum selector_kind kind, const char *list)
{
	struct recording *a = recording;
	struct diag d = { "" };

	assert(kind != SELECTOR_LEVEL);
	if (selector_add(&a->selector, kind, list, &d))
		return cmd_error(a->verb, "%s", d.text);
	if (kind == SELECTOR_CGROUP)
		add_cgroups(a, list);
	if (kind == SELECTOR_PROGRAM)
		a->programs = list;
	return 0;
}

static int take_context(const struct option_value *v)
{
	struct recording *a = v->part;

	return cmd_add_contexts(v->verb, v->text, &a->contexts) ? 0 : CMD_FAILED;
}

static int take_channel(const struct option_value *v)
{
	struct recording *a = v->part;

	return cmd_channels_add(v->verb, &a->channels, v->text) ? 0 : CMD_FAILED;
}

static int take_clock(const struct option_value *v)
{
	struct recording *a = v->part;
	bool is_tsc = !strcmp(v->text, "tsc");

	if (!is_tsc && strcmp(v->text, "mono"))
		return cmd_error(v->verb, "--clock %s: clocks are \"tsc\" and \"mono\"", v->text);
	a->o.clock_kind = is_tsc ? ABI_CLOCK_TSC : ABI_CLOCK_MONOTONIC;
	return 0;
}

/* ---------------------------------------------------------------- events of the kernel */

/* "sched,block".  The argument is cut into patterns in argv. */
static int take_kernel(const struct option_value *v)
{
	struct recording *a = v->part;
	char *rest = v->text;

	a->o.wants_kernel = true;
	a->last = LAST_KERNEL;
	a->last_kernel = a->kernel_events.n;
	for (char *p; (p = strsep(&rest, ","));) {
		if (!*p || !strcmp(p, "!"))
			return cmd_usage(a->verb, "-k: empty pattern");
		cmd_add_string(&a->kernel_events, p);
		cmd_add_string(&a->kernel_filters, NULL);
	}
	return 0;
}

/* @detail: enum kernel_probe_kind. */
static int take_probe(const struct option_value *v)
{
	const enum kernel_probe_kind kind = (enum kernel_probe_kind)v->detail;
	struct recording *a = v->part;

	if (kind < KERNEL_KPROBE && !strchr(v->text, ':'))
		return kind == KERNEL_USDT ? cmd_error(a->verb,
						       "--usdt %s: FILE:PROVIDER:NAME expected: "
						       "`duet list --usdt FILE` lists them",
						       v->text)
					   : cmd_error(a->verb,
						       "-u %s: FILE:FUNCTION expected: "
						       "`duet list -u FILE` lists them",
						       v->text);
	a->o.wants_kernel = true;
	a->last = LAST_PROBE;
	a->uprobes = cmd_grow(a->uprobes, a->n_uprobes, sizeof *a->uprobes);
	a->uprobes[a->n_uprobes++] = (struct kernel_uprobe){ .text = v->text, .kind = kind };
	return 0;
}

static int take_usdt_by(const struct option_value *v)
{
	struct recording *a = v->part;

	if (strcmp(v->text, "program") != 0 && strcmp(v->text, "kernel") != 0)
		return cmd_error(v->verb, "--usdt-by %s: \"program\" or \"kernel\" expected",
				 v->text);
	a->usdt_by = v->text;
	return 0;
}

/* "ext4_*,mod:xfs,lua5.4:luaV_*" */
static int take_graph(const struct option_value *v)
{
	struct recording *a = v->part;
	char *rest = v->text;

	for (char *p; (p = calls_next_pattern(&rest));) {
		if (!*p || !strcmp(p, "!"))
			return cmd_usage(a->verb, "--graph: empty pattern");
		if (calls_pattern_is_program(p) && !calls_pattern_is_whole(p))
			return cmd_error(
				a->verb,
				"--graph %s: FILE:FUNCTION expected, both with a name or a glob",
				p);
		if (calls_pattern_is_program(p)) {
			cmd_add_string(&a->calls, p);
		} else {
			a->o.wants_kernel = true;
			cmd_add_string(&a->graph, p);
		}
	}
	return 0;
}

static int take_graph_over(const struct option_value *v)
{
	struct recording *a = v->part;

	if (!cmd_parse_time(v->verb, v->text, &a->o.kernel.graph.over_ns))
		return CMD_FAILED;
	a->o.calls.threshold_ns = a->o.kernel.graph.over_ns;
	return 0;
}

static int take_graph_mode(const struct option_value *v)
{
	struct recording *a = v->part;

	return recording_graph_mode(v->verb, v->text, &a->graph_mode) ? 0 : CMD_FAILED;
}

static int take_graph_within(const struct option_value *v)
{
	struct recording *a = v->part;

	if (!calls_pattern_is_program(v->text) || !calls_pattern_is_whole(v->text) ||
	    *v->text == '!')
		return cmd_error(v->verb, "--graph-within %s: FILE:FUNCTION of a program expected",
				 v->text);
	a->o.calls.within = v->text;
	return 0;
}

bool recording_graph_mode(const char *verb, const char *name, const char **mode)
{
	static const char *const names[] = { "governed", "exact", "profile" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			*mode = names[i];
			return true;
		}
	cmd_error(verb, "--graph-mode %s: modes are \"governed\", \"exact\" and \"profile\"", name);
	return false;
}

static int take_graph_depth(const struct option_value *v)
{
	struct recording *a = v->part;
	char *end;
	unsigned long depth = strtoul(v->text, &end, 10);

	if (*v->text < '0' || *v->text > '9' || *end || !depth || depth > CALLS_DEPTH_MAX)
		return cmd_error(a->verb, "--graph-depth %s: 1 to %d levels", v->text,
				 CALLS_DEPTH_MAX);
	a->o.kernel.graph.depth = a->o.calls.depth = (uint32_t)depth;
	return 0;
}

static int take_no_kernel(const struct option_value *v)
{
	struct recording *a = v->part;

	a->o.wants_kernel = false;
	return 0;
}

static int take_all_kernel(const struct option_value *v)
{
	struct recording *a = v->part;

	a->o.wants_kernel = a->o.kernel.whole_machine = true;
	return 0;
}

static int take_kernel_buffer(const struct option_value *v)
{
	struct recording *a = v->part;
	uint64_t bytes;

	if (!cmd_parse_size(v->verb, v->text, &bytes))
		return CMD_FAILED;
	if (bytes < 64 << 10 || bytes > 4ull << 30)
		return cmd_error(v->verb, "--kernel-buffer %s: it may be 64K to 4G", v->text);
	a->o.kernel.buffer_kib = (uint32_t)(bytes >> 10);
	return 0;
}

bool recording_backend(const char *verb, const char *name, enum kernel_backend *backend)
{
	static const char *const names[] = { [KERNEL_BACKEND_AUTO] = "auto",
					     [KERNEL_BACKEND_FTRACE] = "ftrace",
					     [KERNEL_BACKEND_BPF] = "bpf" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			*backend = (enum kernel_backend)i;
			return true;
		}
	cmd_error(verb, "--kernel-backend %s: backends are \"auto\", \"bpf\" and \"ftrace\"", name);
	return false;
}

static int take_kernel_backend(const struct option_value *v)
{
	struct recording *a = v->part;

	return recording_backend(v->verb, v->text, &a->o.kernel.backend) ? 0 : CMD_FAILED;
}

static int take_kernel_context(const struct option_value *v)
{
	struct recording *a = v->part;
	struct diag d = { "" };

	return kernel_contexts_parse(v->text, &a->o.kernel.contexts, &d)
		       ? cmd_error(a->verb, "--kernel-context: %s", d.text)
		       : 0;
}

static int take_capture(const struct option_value *v)
{
	const bool only_names = !strcmp(v->text, "names");
	struct recording *a = v->part;
	uint64_t bytes = 0;

	if (!only_names && !cmd_parse_size(v->verb, v->text, &bytes))
		return CMD_FAILED;
	if (bytes > ABI_CAPTURE_BUFFER_MAX || (!bytes && !only_names))
		return cmd_error(v->verb,
				 "--capture %s: it may be names, or 1 to %d bytes of each buffer",
				 v->text, ABI_CAPTURE_BUFFER_MAX);
	a->o.kernel.capture_bytes = (uint32_t)bytes;
	return 0;
}

/* ---------------------------------------------------------------- the recording */

static int take_pid(const struct option_value *v)
{
	struct recording *a = v->part;

	return cmd_add_pid(v->verb, &a->pids, v->text) ? 0 : CMD_FAILED;
}

static int take_session(const struct option_value *v)
{
	return recording_name(v->part, "-s ", v->text) ? 0 : CMD_FAILED;
}

static int take_group(const struct option_value *v)
{
	struct recording *a = v->part;
	const struct group *g = getgrnam(v->text);

	if (!g)
		return cmd_error(a->verb, "--group %s: no such group (groupadd -r %s)", v->text,
				 v->text);
	a->o.has_group = true;
	a->o.group = g->gr_gid;
	return 0;
}

/* ---------------------------------------------------------------- the table */

#define OPTION(NAME, LETTER, ARGUMENT, VERBS, TARGET, HELP, MAN)                                   \
	{ .name = NAME,                                                                            \
	  .letter = LETTER,                                                                        \
	  .argument = ARGUMENT,                                                                    \
	  .verbs = VERBS,                                                                          \
	  .help = HELP,                                                                            \
	  TARGET },
#define ALIAS(NAME, VERBS, HELP)                                                                   \
	{ .name = NAME, .verbs = VERBS, .help = HELP, .kind = OPTION_ALIAS },
#define FLAG(part, tag, member) OPTION_FIELD(OPTION_FLAG, PART_##part, bool, tag, member)
#define TEXT(part, tag, member) OPTION_FIELD(OPTION_TEXT, PART_##part, const char *, tag, member)
#define SIZE(part, tag, member) OPTION_FIELD(OPTION_SIZE, PART_##part, uint64_t, tag, member)
#define TIME(part, tag, member) OPTION_FIELD(OPTION_TIME, PART_##part, uint64_t, tag, member)
#define STRINGS(part, tag, member)                                                                 \
	OPTION_FIELD(OPTION_STRINGS, PART_##part, struct cmd_strings, tag, member)
#define TAKE(part, function, detail) OPTION_CALL(PART_##part, function, detail)

static const struct option_row rows[] = {
#include "cmd/record/options_all.def"
};

/* Each verb that records accepts the rows named here. */
static const struct option_heading headings[] = {
	{ "output", "What is recorded of applications" },
	{ "program", "Which programs" },
	{ "kernel", "Events of the kernel" },
	{ "uprobe", "Functions, of programs without trace sites too" },
	{ "no-kernel", "How it is recorded: buffers, contexts, triggers" },
	{ "pid", "The session, and the recording on disk" },
	{ "session", "The session, and the recording on disk" },
	{ "all-users", "Other users, containers" },
	{ "to", "To another host" },
	{ "progress", "Messages" },
	{ "quiet", "Messages" },
};

const struct option_table recording_options = { rows, sizeof rows / sizeof *rows, headings,
						sizeof headings / sizeof *headings };
