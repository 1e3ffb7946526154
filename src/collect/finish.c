/* SPDX-License-Identifier: MIT */
/*
 * collect/finish.c - end a recording: see collector.h.
 *
 * Whatever ended it, the trace is readable, programs are disabled and the kernel is restored.  Also
 * releases what a failed collector_open left.
 */
#include <assert.h>
#include <stdlib.h>

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

static int finish_apps(struct collector *c, struct diag *d)
{
	struct recorder_result *result = &c->result;
	int err, overwrite_err, finish_err;

	calls_flush(&c->calls);
	calls_release(&c->calls);
	session_withdraw(&c->session);
	c->handover->lost_outside += programs_release(c->session.dir, &c->session.file);
	keep_calls(c);
	if (!c->streams)
		return 0; /* it could not be resumed; that error was reported already */
	err = streams_flush(c->streams, d);
	overwrite_err = streams_write_overwrite(c->streams, err ? NULL : d);
	err = err ? err : overwrite_err;
	finish_err = streams_finish(c->streams, c->handover->lost_outside, err ? NULL : d);
	result->app_unwritten = streams_unwritten(c->streams);
	result->app_bytes = streams_bytes(c->streams);
	result->app_lost = c->handover->lost_outside;
	for (uint32_t i = 0; i < c->session.n_channels; i++) {
		result->channel_lost[i] = streams_lost(c->streams, i);
		result->app_lost += result->channel_lost[i];
	}
	return err ? err : finish_err;
}

static int finish_kernel(struct collector *c, struct diag *d)
{
	struct diag reported = { "" };
	int err = kernel_stop(c->kernel, &reported);
	struct kernel_counts n;

	if (err)
		diag_fail(d, err, "%s", reported.text);
	else if (reported.text[0])
		collector_note(c, &reported);
	kernel_counts(c->kernel, &n);
	c->result.kernel_events = n.events;
	c->result.kernel_bytes = n.bytes;
	c->result.kernel_lost = n.lost;
	return err;
}

static int end_recording(struct collector *c, struct diag *d)
{
	int err, kernel_err = 0;

	c->result.duration_ns = collector_now_ns(c) - c->begin_ns;
	maps_again(c->maps, collector_now_ns(c));
	collector_record_modules(c);
	if (c->kernel)
		kernel_err = finish_kernel(c, d);
	err = finish_apps(c, d);
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
	kernel_close(c->kernel);
	streams_close(c->streams);
	calls_close(&c->calls);
	session_close(&c->session);
	if (c->output.clock_file)
		fclose(c->output.clock_file);
	if (c->output.trace_chunk_clock)
		fclose(c->output.trace_chunk_clock);
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
		programs_release(c->session.dir, &c->session.file);
	}
	c->result.n_collectors = c->handover->supervision.n;
	close_all(c);
	last_err = rotate_last(c, err ? NULL : d);
	c->result.trace_chunks = c->rotation.finished;
	return err ? err : last_err;
}
