/* SPDX-License-Identifier: MIT */
/* cmd/record/recording.c - resolve the options of a recording, run it, report its result. */
#include "cmd/record/recording.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/plan.h"
#include "cmd/finding.h"
#include "cmd/progress.h"
#include "cmd/record/findings.h"
#include "cmd/record/options.h"
#include "cmd/record/summary.h"
#include "cmd/doctor/unseen.h"
#include "collect/child/child.h"

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

int recording_take_name(struct recording *a, int n, char *const *args)
{
	if (n > 1)
		return cmd_usage(a->verb, "one name for the session, and no command");
	if (n && *a->session && strcmp(a->session, args[0]) != 0)
		return cmd_error(a->verb, "%s: the session is %s by -s: give one name", args[0],
				 a->session);
	if (n && !recording_name(a, "", args[0]))
		return CMD_FAILED;
	if (!*a->session)
		snprintf(a->session, sizeof a->session, "default");
	return 0;
}

void recording_begin(struct recording *a, const char *verb)
{
	*a = (struct recording){ .verb = verb, .o.kernel.backend = KERNEL_BACKEND_AUTO };
	cmd_channels_begin(&a->channels);
	send_begin(&a->send);
}

void recording_begin_defaults(struct recording *a, const char *verb)
{
	recording_begin(a, verb);
	a->o.wants_kernel = true;
}

void recording_choose_defaults(struct recording *a)
{
	const bool has_subject = a->o.command || a->pids.n || a->cgroups.n;
	const bool is_none = a->n_events == 1 && !strcmp(a->events[0].pattern, "!*");

	/* -e '!*': but programs may ask by DUET_EVENTS, and `duet enable` later. */
	if (is_none) {
		a->n_events = a->o.n_events = 0;
		a->o.no_default_events = true;
	}
	if (recording_names_kernel(a))
		a->o.kernel.whole_machine |= a->o.wants_kernel && !has_subject;
	else if (!has_subject || calls_wanted(&a->o.calls)) /* functions need no kernel */
		a->o.wants_kernel = false;
}

int recording_options_parse(struct recording *a, struct options *o, int argc, char **argv)
{
	struct selector_target selectors = { recording_add_selector, a };

	assert(o->bit & RECORDING_VERBS && !(o->bit & (o->bit - 1)));
	o->tables[0] = &recording_options;
	o->parts[PART_RECORDING] = a;
	o->parts[PART_SEND] = &a->send;
	o->parts[PART_CHUNKS] = &a->o.trace_chunks;
	o->parts[PART_SELECTOR] = &selectors;
	return options_parse(o, argc, argv);
}

bool recording_names_kernel(const struct recording *a)
{
	return a->kernel_events.n || a->n_uprobes || a->graph.n || a->o.kernel.whole_machine;
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

/* A threshold is a mode of its own: calls are measured, and the short ones are not written. */
static int set_calls_mode(struct recording *a)
{
	struct calls_options *c = &a->o.calls;
	bool is_profile = a->graph_mode && !strcmp(a->graph_mode, "profile"),
	     is_exact = a->graph_mode && !strcmp(a->graph_mode, "exact");

	if (is_profile && c->threshold_ns)
		return cmd_error(a->verb, "--graph-over: a profile counts all calls, it has no "
					  "threshold");
	if (c->elide_under_ns && (is_profile || is_exact || c->threshold_ns))
		return cmd_error(a->verb, "--graph-elide-under is about --graph-mode governed, "
					  "without --graph-over");
	c->mode = is_profile	    ? ABI_CALLS_PROFILE
		  : c->threshold_ns ? ABI_CALLS_OVER
		  : is_exact	    ? ABI_CALLS_EXACT
				    : ABI_CALLS_GOVERNED;
	c->has_arguments = a->o.kernel.graph.has_arguments;
	return 0;
}

/* Options that say how functions are recorded need functions; some are for one half alone. */
static int check_graph(struct recording *a)
{
	struct calls_options *c = &a->o.calls;

	if (!a->graph.n && !a->calls.n && (c->threshold_ns || c->depth))
		return cmd_error(a->verb,
				 "--graph-over and --graph-depth are about --graph FUNCTIONS");
	if (!a->graph.n && !a->calls.n && !a->kernel_events.n && a->o.kernel.graph.has_arguments)
		return cmd_error(
			a->verb,
			"--graph-args is about --graph FUNCTIONS and -k function:FUNCTIONS");
	if (a->graph.n && c->depth > KERNEL_GRAPH_DEPTH_MAX)
		return cmd_error(a->verb, "--graph-depth %u: of the kernel's functions, 1 to %d",
				 c->depth, KERNEL_GRAPH_DEPTH_MAX);
	if (!a->calls.n && (a->graph_mode || c->within || c->elide_under_ns))
		return cmd_error(a->verb,
				 "--graph-mode, --graph-within and --graph-elide-under are about "
				 "--graph FILE:FUNCTION");
	return set_calls_mode(a);
}

/* -k '!*' is none of the kernel's events, as -e '!*' is none of the applications'. */
static int drop_kernel_if_none(struct recording *a)
{
	const bool is_none = a->kernel_events.n == 1 && !strcmp(a->kernel_events.at[0], "!*");
	const bool has_no_event = a->n_events == 1 && !strcmp(a->events[0].pattern, "!*");

	if (is_none)
		a->kernel_events.n = a->kernel_filters.n = 0;
	if (is_none && !a->n_uprobes && !a->graph.n)
		a->o.wants_kernel = a->o.kernel.whole_machine = false;
	if (has_no_event && !a->o.wants_kernel && !a->calls.n && a->o.command)
		return cmd_error(a->verb,
				 "-e '!*' without kernel events: nothing is left to record");
	return 0;
}

static int resolve(struct recording *a)
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
	assert(a->o.path && *a->session);
	assert(a->kernel_filters.n == a->kernel_events.n);
	if (drop_kernel_if_none(a))
		return CMD_FAILED;
	if (a->calls.n && !cmd_channels_add_calls(a->verb, &a->channels))
		return CMD_FAILED;
	a->o.session = a->session;
	a->o.events = a->events;
	a->o.selector = a->selector.bytes;
	a->o.n_events = a->n_events;
	a->o.channels = a->channels.at;
	a->o.n_channels = a->channels.n;
	a->o.kernel.patterns = a->kernel_events.at;
	a->o.kernel.filters = a->kernel_filters.at;
	a->o.kernel.n_patterns = a->kernel_events.n;
	a->o.kernel.uprobes = a->uprobes;
	a->o.kernel.n_uprobes = a->n_uprobes;
	a->o.kernel.graph.patterns = a->graph.at;
	a->o.kernel.graph.n_patterns = a->graph.n;
	a->o.calls.patterns = a->calls.at;
	a->o.calls.n_patterns = a->calls.n;
	a->o.kernel.cgroups = a->cgroups.at;
	a->o.kernel.n_cgroups = a->cgroups.n;
	a->o.triggers = a->triggers.at;
	a->o.n_triggers = a->triggers.n;
	if (a->cgroups.n && (a->o.command || a->pids.n))
		return cmd_error(a->verb,
				 "--cgroup: it chooses the processes, so neither a command "
				 "nor -p is possible");
	a->o.pids = a->pids.at;
	a->o.n_pids = a->pids.n;
	if (check_graph(a))
		return CMD_FAILED;
	a->o.library = cmd_find_library("libduet.so.0", a->library, sizeof a->library);
	if (!cmd_channels_end(a->verb, &a->channels, a->buffer_bytes, a->o.flight_recorder,
			      a->contexts))
		return CMD_FAILED;
	if (check_tenants(a) || send_check(a->verb, &a->send) ||
	    trace_chunks_check(a->verb, &a->o, &a->send))
		return CMD_FAILED;
	return 0;
}

int recording_resolve(struct recording *a)
{
	/* An empty variable of a shell, as in -o "$OUT". */
	if (a->o.path && !*a->o.path)
		return cmd_error(a->verb, "-o '': the path is empty: name a directory");
	return resolve(a);
}

/* Quiet is not silent: the user who asked for the kernel, or is root, gets a message if it is missing. */
static bool is_half_missing(const struct recording *a, const struct recorder_result *result)
{
	return a->o.wants_kernel && !result->kernel_recorded &&
	       (recording_names_kernel(a) || !geteuid());
}

static void print_summary(const struct recording *a, const struct recorder_result *result)
{
	struct recording_summary r = { .verb = a->verb,
				       .path = a->o.path,
				       .n_channels = a->channels.n,
				       .wants_kernel = a->o.wants_kernel,
				       .is_verbose = a->verbose,
				       .is_brief = a->n_repeats != 0,
				       .is_gone = a->o.leaves,
				       .kernel_patterns = a->kernel_events,
				       .result = *result };

	for (int i = 0; i < a->channels.n; i++)
		r.channels[i] = a->channels.at[i].channel.name;
	if (!a->quiet)
		summary_print(&r);
	else if (is_half_missing(a, result))
		cmd_error(a->verb, "the kernel is not in %s: %s", a->o.path,
			  result->kernel_reason.text);
	findings_print(&r, a->quiet && !a->is_strict);
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The umask that keeps other users out of all files of the recording. */
static mode_t private_umask(const struct recording *a)
{
	return a->o.has_group ? 0027 : 0077;
}

static int run_privately(struct recording *a);

int recording_run(struct recording *a)
{
	int status;

	a->o.command_umask = umask(private_umask(a));
	status = run_privately(a);
	umask(a->o.command_umask);
	return status;
}

/*
 * Ctrl-C reaches the keeper, which passes it on, and the worker: it comes twice.  And a recording may
 * end by itself just when the user ends it.  The signal that comes too late does nothing, another one
 * ends the summary; one that comes too early ends the recording before it begins.  In between the
 * recorder reads signals by itself, and an ignored one stays ignored.
 */
static void take_early_and_late_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM };
	const struct sigaction once = { .sa_handler = recorder_end_early,
					.sa_flags = (int)SA_RESETHAND | SA_RESTART };
	struct sigaction now;

	for (int i = 0; i < 2; i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(signals[i], &once, NULL);
}

static int run_privately(struct recording *a)
{
	struct recorder_result result = { .n_collectors = 0 };
	struct recorder_sending sending;
	struct recorder *r;
	struct diag d = { "" }, end = { "" };
	int err, end_err, sent;

	if (a->o.kernel.contexts && !a->o.wants_kernel)
		return cmd_error(a->verb,
				 "--kernel-context is about kernel events: -k chooses some");
	a->o.limits_disk = true;
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
	take_early_and_late_signals();
	a->o.kernel.ends_soon = !a->o.keep;
	a->o.kernel_records = &a->kernel_records;
	err = recorder_open(&r, &a->o, &d);
	if (!err && send_follow(a->verb, &a->send)) {
		recorder_finish(r, NULL, NULL);
		return CMD_FAILED;
	}
	if (!err)
		err = recorder_run(r, &d);
	progress_hide();
	if (a->send.to)
		sender_lift(&a->send.sender, recorder_may_write_anew(&a->o));
	end_err = recorder_finish(r, &result, &end);
	signal(SIGPIPE, SIG_IGN); /* a summary without a reader: see recorder.c */
	if (err) {
		stopping_answer(&result.stopping, &a->o, &result, d.text);
		sender_fini(&a->send.sender);
		return cmd_error(a->verb, "%s", d.text);
	}
	print_summary(a, &result);
	if (!a->quiet || a->is_strict)
		unseen_report_command(a, &result);
	sent = send_finish(a->verb, &a->send, a->quiet);
	stopping_answer(&result.stopping, &a->o, &result,
			sent && !*end.text ? "not all of it was sent: `duet send` goes on"
					   : end.text);
	if (result.refused.most)
		cmd_finding(a->verb,
			    "%" PRIu32 " users or containers were not recorded, for lack of room; "
			    "most of %s",
			    result.refused.most, result.refused.of);
	if (result.trouble.text[0] && strcmp(result.trouble.text, end.text) != 0)
		cmd_finding(a->verb, "%s", result.trouble.text);
	if (result.calls.text[0])
		cmd_finding(a->verb, "--graph %s", result.calls.text);
	if (end_err)
		cmd_error(a->verb, "%s", end.text);
	if (result.is_not_whole || end_err)
		return result.is_not_whole ? CMD_NOT_WHOLE : CMD_FAILED;
	if (sent)
		return sent;
	return cmd_findings_status(a->is_strict, exit_status(result.status));
}
