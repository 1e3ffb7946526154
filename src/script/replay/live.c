/* SPDX-License-Identifier: MIT */
/*
 * script/replay/live.c - a session that records what a script's probes need, and is followed.
 *
 * The recorder is a child process (collect/child).  It records into a directory that the user keeps;
 * or into memory, as trace chunks, each of which is removed once it was read.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/public.h"
#include "script/replay/internal.h"

enum { CAPTURE_BYTES = 32, UNWRITTEN_NS = 100000000 };

/* ---------------------------------------------------------------- the child */

struct request {
	const struct replay_live *live;
	struct replay_needs needs;
};

static int record(void *arg, const char *path, struct recorder_child_ready *ready, struct diag *d)
{
	const struct request *q = arg;
	struct recorder_event *events = calloc((size_t)q->needs.n_apps + 1, sizeof *events);
	struct recorder_channel channel = { .channel = { .name = "default",
							 .contexts = q->needs.app_contexts } };
	struct recorder_options o = { .path = path, .no_default_events = true };
	struct recorder_result result = { .n_collectors = 0 };
	struct recorder *r;
	char session[64];
	int err;

	if (!events)
		return 1;
	for (int i = 0; i < q->needs.n_apps; i++)
		events[i] = (struct recorder_event){
			.pattern = q->needs.apps[i].name,
			.filter = q->needs.apps[i].is_whole ? NULL : q->needs.apps[i].filter.bytes,
		};
	snprintf(session, sizeof session, "script-%d", (int)getpid());
	o.session = session;
	o.events = events;
	o.n_events = q->needs.n_apps;
	o.channels = &channel;
	o.n_channels = 1;
	o.wants_kernel = q->needs.n_kernel > 0;
	o.kernel.backend = KERNEL_BACKEND_AUTO;
	o.kernel.patterns = q->needs.kernel;
	o.kernel.n_patterns = q->needs.n_kernel;
	o.kernel.whole_machine = q->needs.n_kernel > 0;
	o.kernel.contexts = q->needs.n_kernel ? q->needs.kernel_contexts : 0;
	o.kernel.capture_bytes = CAPTURE_BYTES;
	o.on_ready = recorder_child_report;
	o.on_ready_arg = ready;
	o.command_umask = umask(0077);
	o.unwritten_ns = UNWRITTEN_NS;
	if (!q->live->o.save)
		recorder_child_pass(&q->live->child, &o.trace_chunks);
	err = recorder_open(&r, &o, d);
	if (!err)
		err = recorder_run(r, d);
	recorder_finish(r, &result, err ? NULL : d);
	free(events);
	return err ? 1 : 0;
}

/* ---------------------------------------------------------------- ours */

int replay_live_start(struct replay *r, const struct script_program *program, struct script_vm *vm,
		      struct diag *d)
{
	struct trace_options o = { .warn = r->o.warn, .context = r->o.context, .follows = true };
	struct replay_live *live = r->live;
	struct request q = { .live = live };
	int err;

	err = replay_needs_find(&q.needs, r, program, vm, d);
	if (!err) {
		live->child = (struct recorder_child){ .keep = live->o.save,
						       .is_passing = !live->o.save,
						       .verb = "script" };
		err = recorder_child_start(&live->child, record, &q, d);
	}
	replay_needs_fini(&q.needs);
	if (err)
		return err;
	live->is_recording = true;
	live->path = live->child.path;
	r->o.paths = &live->path;
	r->o.n_paths = 1;
	err = trace_open(&r->trace, r->o.paths, 1, &o, d);
	return err ? err : replay_learn(r) ? diag_fail(d, -ENOMEM, "no memory for events") : 0;
}

void replay_live_was_read(struct replay *r)
{
	if (r->live && r->live->is_recording)
		recorder_child_was_read(&r->live->child,
					trace_chunks_read(r->trace, r->live->path));
}

void replay_live_stop(struct replay *r)
{
	if (r->live->is_recording && !r->live->is_stopped)
		kill(r->live->child.recorder, SIGTERM);
	r->live->is_stopped = true;
}

void replay_live_close(struct replay *r)
{
	if (r->live && r->live->is_recording)
		recorder_child_end(&r->live->child, true);
	free(r->live);
	r->live = NULL;
}
