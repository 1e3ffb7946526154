/* SPDX-License-Identifier: MIT */
/*
 * collect/start.c - open and start a collector, or resume the work of a killed one: see
 * collector.h.
 *
 * The order matters.  Programs may find the session only when their messages will be answered at
 * once. The kernel records before a command is released.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/collector.h"
#include "collect/drain/files.h"
#include "collect/catch_up.h"
#include "collect/resume.h"
#include "collect/rotate.h"
#include "collect/tenant/discover.h"
#include "collect/trigger/lifecycle.h"
#include "kernel/statedump/kallsyms.h"

enum { FIRST_PERIOD_MS = 20, FIRST_LOOK_MS = 2 };

/* ---------------------------------------------------------------- opening */

/* A process with recorded code addresses that has not joined. */
static void on_sampled(void *arg, pid_t pid, uint64_t at_ns)
{
	struct collector *c = arg;

	maps_join(c->maps, pid, at_ns);
}

static void on_mapped(void *arg, const struct kernel_mapped *m)
{
	struct collector *c = arg;

	maps_add(c->maps, m);
}

/* A process entered a recorded cgroup: evaluate the rules for it again. */
static void on_entered(void *arg, pid_t pid)
{
	struct collector *c = arg;

	if (!c->handover->triggers.is_paused)
		programs_follow(c->session.dir, pid, &c->session.file, true);
}

static struct kernel_options kernel_options_of(struct collector *c)
{
	struct kernel_options k = c->o->kernel;

	k.clock = &c->session.clock;
	k.clock_offset_ns = c->output.clock_offset_ns;
	k.is_of_command = c->o->command != NULL;
	k.n_cgroups = k.whole_machine ? 0 : k.n_cgroups;
	k.overwrite = c->o->flight_recorder;
	k.quota = c->o->quota;
	k.disk = &c->handover->disk;
	k.ledger = &c->handover->kernel.ledger;
	k.entered = on_entered;
	k.on_sampled = on_sampled;
	k.mapped = on_mapped;
	k.callback_arg = c;
	return k;
}

/* The kernel's half is prepared while the session is opened, whose clock has yet to be measured. */
static void begin_kernel(struct collector *c)
{
	struct kernel_options k = kernel_options_of(c);
	struct abi_clock clock;

	clock_choose(&clock, c->o->clock_kind);
	k.clock = c->o->clock ? &c->o->clock->map : &clock;
	c->kernel_opening = kernel_open_begin(&k);
}

static int open_kernel(struct collector *c)
{
	char path[512];
	struct kernel_options k = kernel_options_of(c);
	struct kernel_opening *opening = c->kernel_opening;
	struct diag d = { "" };
	const char *why;
	int err;

	if (snprintf(path, sizeof path, "%s/kernel", c->output.traces) >= (int)sizeof path)
		return diag_fail(&c->result.kernel_reason, -ENAMETOOLONG, "the path is too long");
	k.path = path;
	c->kernel_opening = NULL;
	counts_begin(&c->handover->kernel, c->rotation.trace_chunk ? c->rotation.trace_chunk : 1);
	err = kernel_open_end(opening, &c->kernel, &k, &c->result.kernel_reason);
	if (!err && c->result.kernel_reason.text[0]) { /* it was reported by another way */
		collector_note(c, &c->result.kernel_reason);
		c->result.kernel_reason.text[0] = 0;
	}
	if (!err) {
		snprintf(c->result.kernel_recorder, sizeof c->result.kernel_recorder, "%s",
			 kernel_recorder(c->kernel, &why));
		snprintf(c->result.kernel_no_bpf.text, sizeof c->result.kernel_no_bpf.text, "%s",
			 why);
	}
	if (!err && kernel_has_addresses(c->kernel)) {
		kernel_kallsyms_again(NULL, &c->output.kernel_modules);
		if (files_add_kallsyms(c->output.recording, &d))
			collector_note(c, &d);
		files_share_kallsyms(c->output.recording, c->output.traces);
	}
	return err;
}

/* A missing kernel is an error if the user asked for kernel data by name, otherwise a note. */
static int open_kernel_if_possible(struct collector *c, struct diag *d)
{
	const struct kernel_options *k = &c->o->kernel;
	int err = open_kernel(c);

	if (err && (k->n_patterns || k->n_uprobes || k->graph.n_patterns || k->whole_machine ||
		    k->contexts || k->backend == KERNEL_BACKEND_BPF))
		return diag_fail(d, err, "%s", c->result.kernel_reason.text);
	return 0;
}

/*
 * Notes a filter that no event of a program can pass.  A program that joins is checked before it
 * continues: it may end within a millisecond, and its page with it.
 */
static void check_filters(void *arg, pid_t pid)
{
	struct collector *c = arg;
	struct diag d = { "" };

	if (filters_check(&c->filters, &c->session, pid, 0, &d))
		findings_add(&c->handover->seen.noted, FINDING_FILTER, d.text, "%s", d.text);
}

static int open_session(struct collector *c, struct diag *d)
{
	struct session_channel channels[ABI_CHANNELS];
	struct session_options so = { .name = c->o->session,
				      .is_private = c->o->command, /* it belongs to the command
								    * alone */
				      .has_calls = calls_wanted(&c->o->calls),
				      .begins_empty = !c->default_events.n_events &&
						      !c->o->n_triggers && !c->o->tenant,
				      .channels = channels,
				      .n_channels = (uint32_t)c->o->n_channels,
				      .clock_kind = c->o->clock_kind,
				      .clock = c->o->clock ? &c->o->clock->map : NULL,
				      .tenant = c->o->tenant };
	struct clock_reading now;
	int err;

	for (int i = 0; i < c->o->n_channels; i++)
		channels[i] = c->o->channels[i].channel;
	err = session_open(&c->session, &so, d);
	if (!err)
		err = default_events_rules(&c->default_events, d);
	if (err)
		return err;
	c->bounds = bounds_open(&c->session.clock, c->session.n_channels, c->session.pools->n_cpus,
				c->session.uid);
	if (!c->bounds)
		return diag_fail(d, -ENOMEM, "no memory for the collector");
	c->session.on_join = check_filters;
	c->session.on_join_arg = c;
	clock_read(&c->session.clock, &now);
	c->output.clock_offset_ns =
		c->o->clock ? c->o->clock->offset_ns
			    : now.realtime_ns - clock_ns(&c->session.clock, now.ticks);
	return 0;
}

/*
 * Opens the application traces of collector number @incarnation, from 1.  Each trace chunk has its
 * own.
 */
static int open_streams(struct collector *c, uint32_t incarnation, struct diag *d)
{
	const struct streams_options more = { .clock_offset_ns = c->output.clock_offset_ns,
					      .begin_ns = incarnation > 1 ? 0 : collector_now_ns(c),
					      .is_of_command = c->o->command != NULL,
					      .resume = incarnation > 1,
					      .bounds = c->bounds,
					      .ledger = &c->handover->apps.ledger,
					      .lost_before =
						      DRAIN_REPORTED_LOST(c->handover->reported) };
	uint32_t number = c->rotation.trace_chunk ? c->rotation.trace_chunk : incarnation;
	int err = files_open_application(&c->streams, &c->session, c->output.traces,
					 c->rotation.trace_chunk ? 1 : incarnation, &more, d);

	counts_begin(&c->handover->apps, number);
	c->snapshot.names = c->streams;
	if (!err)
		streams_limit(c->streams, c->o->quota, &c->handover->disk);
	return err;
}

static void note(void *arg, const struct diag *d)
{
	collector_note(arg, d);
}

static int rotate(void *arg, struct diag *d)
{
	return rotate_now(arg, d);
}

static void end(void *arg)
{
	struct collector *c = arg;

	c->stop = true;
}

static const struct trigger_ops trigger_ops = { .note = note, .rotate = rotate, .end = end };

static int open_triggers(struct collector *c, struct diag *d)
{
	int err;

	c->triggers = (struct trigger_watch){ .ops = &trigger_ops,
					      .ops_arg = c,
					      .o = c->o,
					      .saved = &c->handover->triggers,
					      .session = &c->session,
					      .filters = &c->filters,
					      .default_events = &c->default_events,
					      .enable_batch = &c->enable_batch,
					      .snapshot = &c->snapshot,
					      .streams = &c->streams,
					      .kernel = c->kernel,
					      .lost_outside = &c->handover->lost_outside };
	err = trigger_watch_open(&c->triggers, d);
	if (err)
		return err;
	return c->o->main_handover ? catch_up_run(c, d)
				   : trigger_watch_add_options(&c->triggers, d);
}

/* For a snapshot. */
static void keep_calls(void *arg, const char *path)
{
	struct collector *c = arg;
	struct diag d = { "" };

	if (calls_keep(&c->calls, path, CALLS_ALL, &d) < 0)
		collector_note(c, &d);
}

int collector_open(struct collector *c, struct diag *d)
{
	const struct recorder_options *o = c->o;
	int err;

	assert(c->o && c->handover && c->session.dir < 0);
	c->schedule.pass_ms = FIRST_PERIOD_MS;
	c->filters.saved = &c->handover->filters;
	c->enable_batch.session = &c->session;
	c->enable_batch.filters = &c->filters;
	err = default_events_open(&c->default_events, o, &c->session, &c->filters, d);
	if (!err && o->wants_kernel)
		begin_kernel(c);
	if (!err)
		err = open_session(c, d);
	if (err)
		return err;
	if (calls_wanted(&o->calls))
		err = calls_open(&c->calls, &c->session, o, d);
	c->calls.disk = &c->handover->disk;
	if (err)
		return err;
	if (!o->tenant)
		tenants_sweep(c->session.dir);
	err = rotate_first(c, d);
	if (err)
		return err;
	place_open(&c->output.place, c->output.recording);
	c->output.clock_file = files_open_clock(c->output.recording, &c->session.clock);
	c->maps = maps_open(c->output.traces, o->tenant);
	err = open_streams(c, 1, d);
	if (!err && o->wants_kernel)
		err = open_kernel_if_possible(c, d);
	if (!err)
		err = open_triggers(c, d);
	c->snapshot = (struct snapshot_maker){ .session = &c->session,
					       .names = c->streams,
					       .maps = c->maps,
					       .kernel = o->flight_recorder ? c->kernel : NULL,
					       .lost_outside = &c->handover->lost_outside,
					       .bounds = c->bounds,
					       .clock_offset_ns = c->output.clock_offset_ns,
					       .keep = keep_calls,
					       .keep_arg = c,
					       .output = o->path,
					       .disk = &c->handover->disk };
	return err;
}

/* ---------------------------------------------------------------- starting */

static int start_kernel(struct collector *c, pid_t command, struct diag *d)
{
	int err = 0;

	if (!c->kernel)
		return 0;
	if (command > 0)
		err = kernel_add_pid(c->kernel, command, d);
	for (int i = 0; i < c->o->n_pids && !err; i++)
		err = kernel_add_pid(c->kernel, c->o->pids[i], d);
	if (!err && c->handover->triggers.is_paused)
		err = kernel_pause(c->kernel, true, d);
	if (!err)
		err = kernel_start(c->kernel, d);
	c->result.kernel_recorded = !err;
	return err;
}

/* Enables events in running programs. */
static int enable_default_events(struct collector *c, struct diag *d)
{
	int err = 0;

	if (c->o->main_handover) { /* a tenant collector follows its rules, not the recording's options */
		programs_follow(c->session.dir, 0, &c->session.file, true);
		return 0;
	}
	for (int i = 0; i < c->o->n_pids && !err; i++)
		err = default_events_enable(&c->default_events, c->o->pids[i],
					    c->kernel || c->calls.plans >= 0, d);
	if (!err && !c->o->command && !c->o->n_pids)
		err = default_events_enable(&c->default_events, 0, c->kernel, d);
	return err;
}

/* A program that runs now removes its page itself when it ends. */
static int see_program(void *arg, struct program *a)
{
	collector_see_page(arg, a);
	return 0;
}

int collector_start(struct collector *c, pid_t command, struct diag *d)
{
	int err;

	assert(c->session.listen_fd >= 0);
	collector_count_disk(c, true); /* before the first packet */
	err = start_kernel(c, command, d);
	/* From here on programs request the session memory and do not wait long for it. */
	if (!err)
		err = session_publish(c->session.dir, &c->session.file, d);
	if (!err && !c->handover->triggers.is_paused)
		err = enable_default_events(c, d);
	if (!err)
		err = session_announce(&c->session, d);
	if (err)
		return err;
	c->begin_ns = c->pass.open_chunks_read_ns = c->pass.periodic_ns = collector_now_ns(c);
	if (c->kernel && kernel_records_calls(c->kernel))
		c->schedule.pass_ms = FIRST_LOOK_MS; /* collector_look_at_mappings() */
	c->triggers.has_started = true;
	if (c->o->main_handover)
		err = catch_up_run(c, d); /* once more, now that requests can reach this
					   * collector */
	calls_attach(&c->calls);
	programs_each(c->session.dir, 0, see_program, c);
	check_filters(c, 0);
	collector_record_clocks(c, 0);
	return err ? err : trigger_watch_start(&c->triggers, d);
}

/* ---------------------------------------------------------------- resuming */

/*
 * Records the names of live programs in the new trace, including those whose join was not written.
 */
static int note_program(void *arg, struct program *a)
{
	struct collector *c = arg;

	if (program_is_of(a, &c->session.file))
		streams_process(c->streams, collector_now_ns(c), a->page.pid, program_pid(a),
				a->page.program);
	return 0;
}

void collector_note_programs(struct collector *c)
{
	programs_each(c->session.dir, 0, note_program, c);
}

static int resume_kernel(struct collector *c, uint32_t incarnation, struct diag *d)
{
	char path[PATH_MAX];
	int err;

	if (!c->kernel)
		return 0;
	err = files_kernel_path(path, sizeof path, c->output.traces,
				c->rotation.trace_chunk ? 1 : incarnation, d);
	if (!err)
		counts_begin(&c->handover->kernel,
			     c->rotation.trace_chunk ? c->rotation.trace_chunk : incarnation);
	if (!err)
		err = kernel_resume(c->kernel, path, d);
	return !err && c->rotation.trace_chunk ? kernel_state(c->kernel, d) : err;
}

/*
 * This process has the state of the supervisor, from before the first worker.  All later state is
 * in shared memory, and in the files of the killed collector.
 */
int collector_resume(struct collector *c, struct diag *d)
{
	uint32_t incarnation = c->handover->supervision.n;
	int err;

	streams_close(c->streams);
	c->streams = NULL;
	c->session.n_joined = c->handover->n_joined;
	c->stop = c->handover->supervision.is_stopping;
	if (c->handover->is_over)
		return 0;
	err = resume_session(&c->session, c->stop, d);
	if (!err)
		err = filters_resume(&c->filters, c->session.n_filters, d);
	if (!err)
		err = c->rotation.trace_chunk ? rotate_resume(c, d)
					      : resume_files(&c->session, c->handover, c->bounds,
							     c->o->path, incarnation, d);
	if (!err)
		quota_resume(c->o->quota);
	if (!err)
		err = open_streams(c, incarnation, d);
	if (!err)
		collector_count_disk(c, true); /* a predecessor's count may be wrong */
	if (!err)
		collector_note_programs(c);
	if (!err)
		err = trigger_watch_resume(&c->triggers, d);
	return err ? err : resume_kernel(c, incarnation, d);
}
