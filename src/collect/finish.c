/* SPDX-License-Identifier: MIT */
/*
 * collect/finish.c - end a recording: see collector.h.
 *
 * Whatever ended it, the trace is readable, programs are disabled and the kernel is restored.  Also
 * releases what a failed collector_open left.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "collect/session/programs.h"
#include "collect/collector.h"
#include "collect/rotate.h"
#include "collect/drain/files.h"
#include "collect/trigger/lifecycle.h"

/* What programs have not recorded as events is in their calls files. */
static void keep_calls(struct collector *c)
{
	struct diag d = { "" };

	if (calls_keep(&c->calls, c->output.traces, CALLS_ALL, &d) < 0)
		collector_note(c, &d);
	calls_report(&c->calls, 0, &c->result.calls);
	if (c->calls.found && *c->calls.found->trouble)
		diag_fail(&d, 0, "%s", c->calls.found->trouble);
	if (*d.text)
		collector_note(c, &d);
}

void collector_see_page(void *collector, const struct program *a)
{
	struct collector *c = collector;

	seen_page(&c->handover->seen, &c->session.file, a);
}

uint64_t collector_count_losses(void *collector, const struct program *a, uint64_t n)
{
	struct bounds *b = ((struct collector *)collector)->bounds;
	const struct bounds_kinds one = { .counters = 1 };

	if (n <= bounds_most(b))
		return n;
	if (!bounds_has_counter(b, a->page.program))
		bounds_note_program(b, 0, a->page.program, &one);
	return 0;
}

uint64_t collector_see_losses(void *collector, const struct program *a, uint64_t n)
{
	struct losses *l = &((struct collector *)collector)->handover->losses;
	uint32_t reason = a->page.loss < ABI_LOSSES ? a->page.loss : ABI_LOSS_UNKNOWN;

	n = collector_count_losses(collector, a, n);
	if (n && !*l->program)
		snprintf(l->program, sizeof l->program, "%.*s", (int)sizeof a->page.program - 1,
			 a->page.program);
	l->outside[reason] += n;
	return n;
}

static void explain_losses(struct collector *c)
{
	struct losses *l = &c->result.losses;

	memcpy(l->outside, c->handover->losses.outside, sizeof l->outside);
	memcpy(l->program, c->handover->losses.program, sizeof l->program);
	for (uint32_t i = 0; i < c->session.n_channels; i++) {
		const struct pool *p = &c->session.pools[i];

		l->channels[i] =
			(struct losses_channel){ .limit_bytes =
							 (uint64_t)p->n_chunks * p->chunk_size,
						 .too_large = streams_too_large(c->streams, i),
						 .chunk_bytes = p->chunk_size,
						 .wait_us = p->block_timeout_us,
						 .was_short = c->session.supplies[i].was_short,
						 .overwrites = p->flight_recorder };
	}
}

/* What the recording asked for and did not find.  Programs of tenants have pages and pools of their
 * own, which are not here: then nothing is concluded from ours. */
static void conclude(struct collector *c)
{
	if (!c->o->all_users && !c->o->containers && !c->o->tenant)
		seen_conclude(&c->handover->seen, &c->session, &c->result.findings);
	if (c->o->command)
		findings_add_running(&c->result.findings, c->o->session, c->o->command[0]);
}

/*
 * Events that are in the buffers at the end, and for which the disk budget has no room, are lost and
 * counted, as those before them: that is no failure.
 */
static int give_up_refused(struct collector *c, int err, struct diag *d)
{
	if (err != -EDQUOT || !c->handover->disk.n_refused)
		return err;
	streams_drop_rest(c->streams);
	*d->text = 0;
	return 0;
}

static int finish_apps(struct collector *c, struct diag *d)
{
	struct recorder_result *result = &c->result;
	int err, overwrite_err, finish_err;

	calls_flush(&c->calls);
	calls_release(&c->calls);
	session_withdraw(&c->session);
	c->handover->lost_outside += programs_release(
		c->session.dir, &c->session.file,
		&(const struct program_reader){ collector_see_page, collector_see_losses, c });
	conclude(c);
	keep_calls(c);
	if (!c->streams)
		return 0; /* it could not be resumed; that error was reported already */
	err = give_up_refused(c, streams_flush(c->streams, d), d);
	c->handover->before_copy = ctf_ledger_read(&c->handover->apps.ledger);
	store_release(&c->handover->is_copying, streams_any_overwrite(c->streams));
	overwrite_err = streams_write_overwrite(c->streams, err ? NULL : d);
	overwrite_err = give_up_refused(c, overwrite_err, d);
	err = err ? err : overwrite_err;
	streams_impossible(c->streams, collector_now_ns(c));
	finish_err = streams_finish(c->streams, c->handover->lost_outside, err ? NULL : d);
	result->app_unwritten = streams_unwritten(c->streams);
	streams_drop_rest(c->streams); /* nothing writes them any more */
	result->app_events = ctf_ledger_read(&c->handover->apps.ledger).events;
	result->app_bytes = ctf_ledger_read(&c->handover->apps.ledger).bytes;
	explain_losses(c);
	result->app_lost = c->handover->lost_outside;
	for (uint32_t i = 0; i < c->session.n_channels; i++) {
		result->channel_lost[i] = streams_lost(c->streams, i);
		result->app_lost += result->channel_lost[i];
	}
	bounds_describe(c->bounds, &result->impossible);
	return err ? err : finish_err;
}

static int finish_kernel(struct collector *c, struct diag *d)
{
	struct diag reported = { "" };
	int err = kernel_stop(c->kernel, &reported);
	struct kernel_counts n;

	if (err == -EDQUOT && c->handover->disk.n_refused)
		err = *reported.text = 0; /* those events are counted as lost */
	if (err)
		diag_fail(d, err, "%s", reported.text);
	else if (reported.text[0])
		collector_note(c, &reported);
	kernel_counts(c->kernel, &n);
	c->result.kernel_events = ctf_ledger_read(&c->handover->kernel.ledger).events;
	c->result.kernel_bytes = ctf_ledger_read(&c->handover->kernel.ledger).bytes;
	c->result.kernel_lost = n.lost;
	c->result.losses.kernel_elsewhere = n.lost_elsewhere;
	c->result.losses.kernel_buffer_kib = kernel_buffer_kib(&c->o->kernel);
	return err;
}

/* Whether the error is one of the disk: the recording is there, as far as there was room. */
static bool is_disks(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG || err == -EROFS || err == -EIO ||
	       err == -ENOENT;
}

static int end_recording(struct collector *c, struct diag *d)
{
	int err, kernel_err = 0;

	collector_look_at_place(c);
	c->result.duration_ns = collector_now_ns(c) - c->begin_ns;
	collector_look_at_mappings(c, collector_now_ns(c));
	collector_record_modules(c);
	if (c->kernel)
		kernel_err = finish_kernel(c, d);
	err = finish_apps(c, d);
	if (disk_is_limited(&c->handover->disk))
		disk_account(&c->handover->disk, collector_lost(c));
	c->result.is_not_whole |= is_disks(err) || is_disks(kernel_err);
	collector_record_clocks(c, FILES_END);
	return err ? err : kernel_err;
}

/*
 * If we are killed during this, the successor does it again; after it, the successor returns our
 * result.
 */
static int finish_begun(struct collector *c, struct diag *d)
{
	struct handover *k = c->handover;

	assert(c->begin_ns);
	k->supervision.is_stopping = true;
	if (k->is_over) {
		c->result = k->result;
	} else {
		k->error = end_recording(c, &k->why);
		c->result.programs = k->n_joined;
		k->result = c->result;
		k->result.stopping.n = 0;	  /* clients that wait were connected to us */
		store_release(&k->is_over, true); /* after the result */
	}
	return k->error ? diag_fail(d, k->error, "%s", k->why.text) : 0;
}

static void close_all(struct collector *c)
{
	kernel_open_abandon(c->kernel_opening);
	kernel_close(c->kernel);
	streams_close(c->streams);
	calls_close(&c->calls);
	session_close(&c->session);
	bounds_close(c->bounds);
	if (c->output.clock_file)
		fclose(c->output.clock_file);
	if (c->output.trace_chunk_clock)
		fclose(c->output.trace_chunk_clock);
	place_close(&c->output.place);
	maps_close(c->maps);
	free(c->output.kernel_modules);
	trigger_watch_close(&c->triggers);
	filters_fini(&c->filters);
	default_events_close(&c->default_events);
}

int collector_finish(struct collector *c, struct diag *d)
{
	int err = 0, last_err;

	while (collector_has_work(c))
		collector_work(c);
	if (c->begin_ns) {
		err = finish_begun(c, d);
	} else if (c->session.dir >= 0) {
		session_withdraw(&c->session);
		programs_release(c->session.dir, &c->session.file, NULL);
	}
	c->result.n_collectors = c->handover->supervision.n;
	close_all(c);
	last_err = rotate_last(c, err ? NULL : d);
	c->result.trace_chunks = c->rotation.finished;
	return err ? err : last_err;
}
