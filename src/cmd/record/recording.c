/* SPDX-License-Identifier: MIT */
/* cmd/record/recording.c - see recording.h. */
#include "cmd/record/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/clock.h"
#include "base/cgroup.h"
#include "cmd/record/summary.h"
#include "abi/capture.h"
#include "kernel/threads/contexts.h"
#include "kernel/kernel.h"

static bool is_session_name(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n && !name[n] && n < 64 && *name != '.';
}

bool recording_name(struct recording *a, const char *option, const char *name)
{
	if (!is_session_name(name)) {
		cmd_error(a->verb, "%s%s: a name of letters, digits, . _ - (at most 63)", option,
			  name);
		return false;
	}
	snprintf(a->session, sizeof a->session, "%s", name);
	return true;
}

static int take_clock(struct recording *a, const char *name)
{
	bool is_tsc = !strcmp(name, "tsc");

	if (!is_tsc && strcmp(name, "mono"))
		return cmd_error(a->verb, "--clock %s: clocks are \"tsc\" and \"mono\"", name);
	a->o.clock_kind = is_tsc ? ABI_CLOCK_TSC : ABI_CLOCK_MONOTONIC;
	return -1;
}

static int add_event(struct recording *a, const char *pattern)
{
	if (!*pattern || !strcmp(pattern, "!"))
		return cmd_usage(a->verb, "-e: empty pattern");
	a->last_kernel = -1;
	a->last_uprobe = false;
	a->events = cmd_grow(a->events, a->n_events, sizeof *a->events);
	a->events[a->n_events++] = (struct recorder_event){ .pattern = pattern };
	return -1;
}

static int add_kernel_filter(struct recording *a, const char *expression)
{
	for (int i = a->last_kernel; i < a->kernel_events.n; i++) {
		if (*a->kernel_events.at[i] == '!')
			return cmd_error(a->verb,
					 "-f %s: follows \"%s\", of which nothing is recorded",
					 expression, a->kernel_events.at[i]);
		if (a->kernel_filters.at[i])
			return cmd_error(a->verb, "-f %s: \"%s\" has a filter: join both by &&",
					 expression, a->kernel_events.at[i]);
		a->kernel_filters.at[i] = expression;
	}
	return -1;
}

static int add_uprobe(struct recording *a, const char *text, enum kernel_probe_kind kind)
{
	if (kind < KERNEL_KPROBE && !strchr(text, ':'))
		return cmd_usage(a->verb, kind == KERNEL_USDT
						  ? "--usdt: FILE:PROVIDER:NAME expected"
						  : "-u: FILE:FUNCTION expected");
	a->last_kernel = -1;
	a->last_uprobe = true;
	a->o.kernel = true;
	a->uprobes = cmd_grow(a->uprobes, a->n_uprobes, sizeof *a->uprobes);
	a->uprobes[a->n_uprobes++] = (struct kernel_uprobe){ .text = text, .kind = kind };
	return -1;
}

static int add_uprobe_filter(struct recording *a, const char *expression)
{
	struct kernel_uprobe *u = &a->uprobes[a->n_uprobes - 1];

	if (u->filter)
		return cmd_error(a->verb, "-f %s: \"%s\" has a filter: join both by &&", expression,
				 u->text);
	u->filter = expression;
	return -1;
}

/* Belongs to the -e, -k or probe before it; without one, to all events. */
static int add_filter(struct recording *a, const char *expression)
{
	struct recorder_event *e;

	if (a->last_uprobe)
		return add_uprobe_filter(a, expression);
	if (a->last_kernel >= 0)
		return add_kernel_filter(a, expression);
	if (!a->n_events)
		add_event(a, "*");
	e = &a->events[a->n_events - 1];
	if (*e->pattern == '!')
		return cmd_error(a->verb, "-f %s: follows \"%s\", of which nothing is recorded",
				 expression, e->pattern);
	if (e->filter)
		return cmd_error(a->verb, "-f %s: \"%s\" has a filter: join both by &&", expression,
				 e->pattern);
	e->filter = expression;
	return -1;
}

void recording_begin(struct recording *a, const char *verb)
{
	*a = (struct recording){ .verb = verb,
				 .last_kernel = -1,
				 .o = { .kernel_backend = KERNEL_BACKEND_AUTO } };
	cmd_channels_begin(&a->channels);
	send_begin(&a->send);
	opterr = 0;
}

/* Belongs to the -e before it; without one, to all events. */
static int add_level(struct recording *a, const char *level)
{
	struct recorder_event *e;

	if (!a->n_events)
		add_event(a, "*");
	e = &a->events[a->n_events - 1];
	if (e->level)
		return cmd_error(a->verb, "--level %s: \"%s\" has a level", level, e->pattern);
	e->level = level;
	return -1;
}

/* The kernel records those of some, and cannot leave out those of others. */
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

static int add_selector_option(struct recording *a, enum selector_kind what, const char *list)
{
	struct text unused = { 0 };
	struct diag d = { "" };
	int err = selector_add(what == SELECTOR_LEVEL ? &unused : &a->selector, what, list, &d);

	text_fini(&unused);
	if (err)
		return cmd_error(a->verb, "%s", d.text);
	if (what == SELECTOR_CGROUP)
		add_cgroups(a, list);
	return what == SELECTOR_LEVEL ? add_level(a, list) : -1;
}

static int add_kernel_buffer(struct recording *a, const char *size)
{
	uint64_t bytes;

	if (!cmd_parse_size(a->verb, size, &bytes))
		return CMD_FAILED;
	if (bytes < 64 << 10 || bytes > 4ull << 30)
		return cmd_error(a->verb, "--kernel-buffer %s: it may be 64K to 4G", size);
	a->o.kernel_buffer_kib = (uint32_t)(bytes >> 10);
	return -1;
}

bool recording_backend(const char *verb, const char *name, uint32_t *backend)
{
	static const char *const names[] = { [KERNEL_BACKEND_AUTO] = "auto",
					     [KERNEL_BACKEND_FTRACE] = "ftrace",
					     [KERNEL_BACKEND_BPF] = "bpf" };

	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			*backend = i;
			return true;
		}
	cmd_error(verb, "--kernel-backend %s: backends are \"auto\", \"bpf\" and \"ftrace\"", name);
	return false;
}

static int add_kernel_contexts(struct recording *a, const char *names)
{
	struct diag d = { "" };

	return kernel_contexts_parse(names, &a->o.kernel_contexts, &d)
		       ? cmd_error(a->verb, "--kernel-context: %s", d.text)
		       : -1;
}

static int take_capture(struct recording *a, const char *size)
{
	uint64_t bytes = 0;

	if (strcmp(size, "names") != 0 && !cmd_parse_size(a->verb, size, &bytes))
		return CMD_FAILED;
	if (bytes > ABI_CAPTURE_BUFFER_MAX || (!bytes && strcmp(size, "names") != 0))
		return cmd_error(a->verb,
				 "--capture %s: it may be names, or 1 to %d bytes of each buffer",
				 size, ABI_CAPTURE_BUFFER_MAX);
	a->o.capture_bytes = (uint32_t)bytes;
	return -1;
}

/* "sched,block": the argument is taken apart where it lies. */
static int add_kernel(struct recording *a, char *patterns)
{
	a->last_kernel = a->kernel_events.n;
	a->last_uprobe = false;
	for (char *p; (p = strsep(&patterns, ","));) {
		if (!*p || !strcmp(p, "!"))
			return cmd_usage(a->verb, "-k: empty pattern");
		cmd_add_string(&a->kernel_events, p);
		cmd_add_string(&a->kernel_filters, NULL);
	}
	return -1;
}

/* "ext4_*,mod:xfs" */
static int add_graph(struct recording *a, char *patterns)
{
	a->o.kernel = true;
	for (char *p; (p = strsep(&patterns, ","));) {
		if (!*p)
			return cmd_usage(a->verb, "--graph: empty pattern");
		cmd_add_string(&a->graph, p);
	}
	return -1;
}

static int take_graph_depth(struct recording *a, const char *text)
{
	char *end;
	unsigned long depth = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !depth || depth > KERNEL_GRAPH_DEPTH_MAX)
		return cmd_error(a->verb, "--graph-depth %s: 1 to %d levels", text,
				 KERNEL_GRAPH_DEPTH_MAX);
	a->o.graph.depth = (uint32_t)depth;
	return -1;
}

int recording_take(struct recording *a, int c, const char *help)
{
	int status = send_take(a->verb, &a->send, c);

	if (status == -2)
		status = trace_chunks_take(a->verb, &a->o.trace_chunks, c);
	if (status != -2)
		return status;
	if (c >= WHOM_FIRST && c < WHOM_END)
		return add_selector_option(a, (enum selector_kind)(c - WHOM_FIRST), optarg);
	switch (c) {
	case 'o':
		a->o.path = optarg;
		return -1;
	case 'e':
		return add_event(a, optarg);
	case 'f':
		return add_filter(a, optarg);
	case 'c':
		return cmd_add_contexts(a->verb, optarg, &a->contexts) ? -1 : CMD_FAILED;
	case RECORDING_CHANNEL:
		return cmd_channels_add(a->verb, &a->channels, optarg) ? -1 : CMD_FAILED;
	case RECORDING_TRIGGER:
		cmd_add_string(&a->triggers, optarg);
		return -1;
	case 'k':
		a->o.kernel = true;
		return add_kernel(a, optarg);
	case 'u':
		return add_uprobe(a, optarg, KERNEL_UPROBE);
	case RECORDING_USDT:
		return add_uprobe(a, optarg, KERNEL_USDT);
	case RECORDING_KPROBE:
		return add_uprobe(a, optarg, KERNEL_KPROBE);
	case RECORDING_FPROBE:
		return add_uprobe(a, optarg, KERNEL_FPROBE);
	case RECORDING_GRAPH:
		return add_graph(a, optarg);
	case RECORDING_GRAPH_OVER:
		return cmd_parse_time(a->verb, optarg, &a->o.graph.over_ns) ? -1 : CMD_FAILED;
	case RECORDING_GRAPH_DEPTH:
		return take_graph_depth(a, optarg);
	case RECORDING_GRAPH_ARGS:
		a->o.graph.has_arguments = true;
		return -1;
	case 'b':
		return cmd_parse_size(a->verb, optarg, &a->buffer_bytes) ? -1 : CMD_FAILED;
	case RECORDING_KERNEL_BUFFER:
		return add_kernel_buffer(a, optarg);
	case RECORDING_CAPTURE:
		return take_capture(a, optarg);
	case RECORDING_KERNEL_BACKEND:
		return recording_backend(a->verb, optarg, &a->o.kernel_backend) ? -1 : CMD_FAILED;
	case RECORDING_KERNEL_CONTEXT:
		return add_kernel_contexts(a, optarg);
	case 'p':
		return cmd_add_pid(a->verb, &a->pids, optarg) ? -1 : CMD_FAILED;
	case 's':
		return recording_name(a, "-s ", optarg) ? -1 : CMD_FAILED;
	case 'q':
		a->quiet = true;
		return -1;
	case 'v':
		a->verbose = true;
		return -1;
	case RECORDING_NO_KERNEL:
		a->o.kernel = false;
		return -1;
	case RECORDING_ALL_KERNEL:
		a->o.kernel = a->o.kernel_whole_machine = true;
		return -1;
	case RECORDING_CLOCK:
		return take_clock(a, optarg);
	case RECORDING_OVERWRITE:
		a->o.flight_recorder = true;
		return -1;
	case RECORDING_ALL_USERS:
		a->o.all_users = true;
		return -1;
	case RECORDING_CONTAINERS:
		a->o.containers = true;
		return -1;
	case RECORDING_HELP:
		fputs(help, stdout);
		return 0;
	}
	return cmd_usage(a->verb, c == ':' ? "an option lacks its value" : "no such option");
}

static int check_tenants(const struct recording *a)
{
	const char *option = a->o.all_users ? "--all-users" : "--containers";

	if (!a->o.all_users && !a->o.containers)
		return 0;
	if (a->o.command || a->pids.n)
		return cmd_error(a->verb, "%s: it is for all programs, not for a command or -p",
				 option);
	if (geteuid())
		return cmd_error(a->verb, "%s: only root may", option);
	return 0;
}

int recording_resolve(struct recording *a)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[40];

	if (!a->o.path) {
		localtime_r(&now, &tm);
		strftime(date, sizeof date, "duet-%Y%m%d-%H%M%S", &tm);
		snprintf(a->default_path, sizeof a->default_path, "%s", date);
		for (int i = 2; !access(a->default_path, F_OK); i++)
			snprintf(a->default_path, sizeof a->default_path, "%s-%d", date, i);
		a->o.path = a->default_path;
	}
	a->o.session = a->session;
	a->o.events = a->events;
	a->o.selector = a->selector.bytes;
	a->o.n_events = a->n_events;
	a->o.channels = a->channels.at;
	a->o.n_channels = a->channels.n;
	a->o.kernel_events = a->kernel_events.at;
	a->o.kernel_filters = a->kernel_filters.at;
	a->o.n_kernel_events = a->kernel_events.n;
	a->o.uprobes = a->uprobes;
	a->o.n_uprobes = a->n_uprobes;
	a->o.graph.patterns = a->graph.at;
	a->o.graph.n_patterns = a->graph.n;
	a->o.triggers = a->triggers.at;
	a->o.n_triggers = a->triggers.n;
	a->o.cgroups = a->cgroups.at;
	a->o.n_cgroups = a->cgroups.n;
	if (a->cgroups.n && (a->o.command || a->pids.n))
		return cmd_error(a->verb, "--cgroup: without a command and -p; whose events are to "
					  "be recorded is in the cgroup");
	a->o.pids = a->pids.at;
	a->o.n_pids = a->pids.n;
	if (!a->graph.n && (a->o.graph.over_ns || a->o.graph.depth))
		return cmd_error(a->verb,
				 "--graph-over and --graph-depth are about --graph FUNCTIONS");
	if (!a->graph.n && !a->kernel_events.n && a->o.graph.has_arguments)
		return cmd_error(
			a->verb,
			"--graph-args is about --graph FUNCTIONS and -k function:FUNCTIONS");
	a->o.library = cmd_find_library("libduet.so.0", a->library, sizeof a->library);
	if (!cmd_channels_end(a->verb, &a->channels, a->buffer_bytes, a->o.flight_recorder,
			      a->contexts))
		return CMD_FAILED;
	if (check_tenants(a) || send_check(a->verb, &a->send) ||
	    trace_chunks_check(a->verb, &a->o, &a->send))
		return CMD_FAILED;
	return 0;
}

static void print_summary(const struct recording *a, const struct recorder_result *result)
{
	struct recording_summary r = { .verb = a->verb,
				       .path = a->o.path,
				       .n_channels = a->channels.n,
				       .wants_kernel = a->o.kernel,
				       .is_verbose = a->verbose,
				       .is_gone = a->o.leaves,
				       .result = *result };

	for (int i = 0; i < a->channels.n; i++)
		r.channels[i] = a->channels.at[i].channel.name;
	summary_print(&r);
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int recording_run(struct recording *a)
{
	struct recorder_result result = { .n_incarnations = 0 };
	struct recorder_sending sending;
	struct recorder *r;
	struct diag d = { "" }, end = { "" };
	int err, end_err, sent;

	if (a->o.kernel_contexts && !a->o.kernel)
		return cmd_error(a->verb,
				 "--kernel-context is about kernel events: -k chooses some");
	if (send_start(a->verb, &a->send, a->o.path, a->session))
		return CMD_FAILED;
	if (a->send.to)
		a->o.quota = &a->send.sender.status->quota;
	if (a->send.to)
		a->o.trace_chunks.n_arrived = &a->send.sender.status->n_trace_chunks;
	a->o.sent = a->send.to ? &a->send.sender : NULL;
	a->o.sent_to = a->send.to;
	sending = (struct recorder_sending){ &a->send.o, a->send.spool_bytes };
	a->o.sends_tenants = a->send.to ? &sending : NULL;
	a->o.leaves = a->send.to && !a->send.keeps;
	err = recorder_open(&r, &a->o, &d);
	if (!err && send_follow(a->verb, &a->send)) {
		recorder_finish(r, NULL, NULL);
		return CMD_FAILED;
	}
	if (!err)
		err = recorder_run(r, &d);
	if (a->send.to)
		sender_lift(&a->send.sender, recorder_may_write_anew(&a->o));
	end_err = recorder_finish(r, &result, &end);
	if (err) {
		stopping_answer(&result.stopping, &a->o, &result, d.text);
		sender_fini(&a->send.sender);
		return cmd_error(a->verb, "%s", d.text);
	}
	if (!a->quiet)
		print_summary(a, &result);
	sent = send_finish(a->verb, &a->send, a->quiet);
	stopping_answer(&result.stopping, &a->o, &result,
			sent && !*end.text ? "not all of it was sent: `duet send` goes on"
					   : end.text);
	if (result.trouble.text[0] && strcmp(result.trouble.text, end.text) != 0)
		cmd_error(a->verb, "%s", result.trouble.text);
	if (end_err)
		return cmd_error(a->verb, "%s", end.text);
	if (sent)
		return sent;
	return exit_status(result.status);
}
