/* SPDX-License-Identifier: MIT */
/*
 * cmd/top/source.c - the recording that `duet top` shows.
 *
 * A session that runs is followed by its files: it records nothing more because of us.  Without one we
 * record in a child: the kernel's scheduler and system calls, and the application events that were asked
 * for.  That recording is removed as it is read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/record/recording.h"
#include "cmd/top/top.h"
#include "cmd/view/live.h"
#include "trace/public.h"

enum { SKIP_BYTES_MIN = 1 << 20, UNWRITTEN_NS = 100000000, CLASSES_MOST = 100000 };
static const char *const kernel_events[] = { "sched", "syscalls" };

static void warn(void *context, const char *text)
{
	(void)context;
	(void)text; /* damage of a recording is counted; a line would break the screen */
}

/* ---------------------------------------------------------------- our own recording */

struct request {
	const struct top_options *o;
	const struct recorder_child *child;
};

static int add_events(struct recording *a, const struct cmd_strings *events)
{
	a->events = cmd_grow(NULL, events->n, sizeof *a->events);
	for (int i = 0; i < events->n; i++)
		a->events[i] = (struct recorder_event){ .pattern = events->at[i] };
	a->n_events = events->n;
	return 0;
}

/* In the child; it prints its own errors. */
static int record(void *arg, const char *path, struct recorder_child_ready *ready, struct diag *d)
{
	const struct request *q = arg;
	struct recording a;

	(void)d;
	recording_begin(&a, "top");
	snprintf(a.session, sizeof a.session, "top-%d", (int)getpid());
	a.quiet = true;
	a.o.path = path;
	a.o.wants_kernel = true;
	a.o.kernel.whole_machine = !q->o->command && !q->o->pids.n;
	a.o.no_default_events = !q->o->events.n;
	a.o.command = q->o->command;
	a.o.unwritten_ns = UNWRITTEN_NS;
	a.pids = q->o->pids;
	a.o.ends_with_pids = true;
	if (q->o->events.n)
		add_events(&a, &q->o->events);
	for (int i = 0; i < q->o->kernel.n; i++)
		cmd_add_string(&a.kernel_events, q->o->kernel.at[i]);
	for (size_t i = 0; i < 2 && !q->o->kernel.n; i++)
		cmd_add_string(&a.kernel_events, kernel_events[i]);
	for (int i = 0; i < a.kernel_events.n; i++)
		cmd_add_string(&a.kernel_filters, NULL);
	a.o.on_ready = recorder_child_report;
	a.o.on_ready_arg = ready;
	a.o.command_pid = &ready->program;
	if (recording_resolve(&a))
		return CMD_FAILED;
	recorder_child_pass(q->child, &a.o.trace_chunks);
	return recording_run(&a);
}

static int start_own(struct top_source *s, const struct top_options *o)
{
	struct request q = { o, &s->child };
	struct diag d = { "" };

	s->child = (struct recorder_child){ .verb = "top",
					    .is_passing = true,
					    .has_command = o->command != NULL };
	if (recorder_child_start(&s->child, record, &q, &d)) {
		if (*d.text)
			cmd_error("top", "%s", d.text);
		return s->child.has_ended && s->child.status ? s->child.status : CMD_FAILED;
	}
	s->is_own = true;
	snprintf(s->path, sizeof s->path, "%s", s->child.path);
	return 0;
}

/* ---------------------------------------------------------------- a session */

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Whether a session records that was not named. */
static bool has_session(void)
{
	int dir = runtime_dir_open(false);
	struct cmd_strings names = { 0 };

	if (dir < 0)
		return false;
	cmd_list_sessions(dir, &names);
	close(dir);
	return names.n > 0;
}

static int find(struct top_source *s, const struct top_options *o)
{
	if (o->session && is_directory(o->session)) {
		snprintf(s->path, sizeof s->path, "%s", o->session);
		return 0;
	}
	if (o->session ||
	    (!o->command && !o->pids.n && !o->events.n && !o->kernel.n && has_session()))
		return live_session("top", o->session, s->path);
	return start_own(s, o);
}

/* ---------------------------------------------------------------- reading */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Opens the recording; earlier events are not counted. */
static int open_trace(struct top_source *s)
{
	const struct trace_options o = { .warn = warn, .follows = true };
	struct diag d = { "" };
	int64_t from_ns = now_ns();
	int err;

	s->paths = s->path;
	err = trace_open(&s->trace, &s->paths, 1, &o, &d);

	if (!err && !s->is_own) {
		if (trace_refresh(s->trace, &d) > 0 &&
		    trace_following(s->trace)->known_ns > INT64_MIN)
			from_ns = trace_following(s->trace)->known_ns;
		trace_skip_to(s->trace, from_ns, SKIP_BYTES_MIN);
	}
	if (!err)
		err = activity_open(&s->activity, s->trace, &s->paths, 1, from_ns, &d);
	s->activity.is_stopped = top_is_stopped;
	s->is_open = !err;
	return err ? cmd_error("top", "%s", d.text) : 0;
}

static void close_trace(struct top_source *s)
{
	activity_close(&s->activity);
	trace_close(s->trace);
	s->trace = NULL;
	s->is_open = false;
}

int top_source_open(struct top_source *s, const struct top_options *o)
{
	int status;

	*s = (struct top_source){ .is_open = false };
	status = find(s, o);
	if (!status)
		status = open_trace(s);
	if (status)
		top_source_close(s);
	return status;
}

int top_source_read(struct top_source *s)
{
	struct diag d = { "" };
	int64_t to_ns;
	int grows, err;

	/* Each trace chunk describes its event classes anew. */
	if (trace_n_classes(s->trace) > CLASSES_MOST) {
		close_trace(s);
		if (open_trace(s))
			return CMD_FAILED;
	}
	grows = trace_refresh(s->trace, &d);
	err = grows < 0 ? grows : activity_read(&s->activity, &d);
	if (err)
		return cmd_error("top", "%s", d.text);
	s->has_ended = !grows;
	if (s->is_own)
		recorder_child_was_read(&s->child, trace_chunks_read(s->trace, s->path));
	to_ns = trace_following(s->trace)->known_ns;
	if (to_ns == INT64_MIN || s->has_ended)
		to_ns = s->activity.pass->last_ns;
	return activity_end(&s->activity, to_ns) ? cmd_error("top", "no memory for threads") : 0;
}

int top_source_close(struct top_source *s)
{
	if (s->is_open)
		close_trace(s);
	else
		trace_close(s->trace);
	return s->is_own ? recorder_child_end(&s->child, !s->has_ended) : 0;
}
