/* SPDX-License-Identifier: MIT */
/*
 * collect/rotate.c - move a running collector from one trace chunk to the next, and keep
 * track of which are finished.
 */
#include "collect/rotate.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/drain/files.h"
#include "collect/chunks/chunks.h"
#include "collect/resume.h"
#include "collect/session/tenant.h"

#define AGAIN_NS 100000000ull /* next attempt after a failure */
#define ROTATE_LEAST 131072u  /* bytes, where the disk is the reason */

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t recording_bytes(const struct collector *c)
{
	return ctf_ledger_read(&c->handover->apps.ledger).bytes +
	       ctf_ledger_read(&c->handover->kernel.ledger).bytes;
}

/* Creates the next directory; its number was never used before, even by a killed collector. */
static int make_output_directory(struct collector *c, char place[PATH_MAX], struct diag *d)
{
	int err = trace_chunks_path(place, PATH_MAX, c->output.recording,
				    ++c->handover->trace_chunk, d);

	if (!err && (err = io_make_dirs(place)))
		diag_fail(d, err, "cannot make %s: %s", place, strerror(-err));
	return err;
}

static void enter_trace_chunk(struct collector *c, const char *place)
{
	assert(c->handover->trace_chunk > 0);
	snprintf(c->output.traces, sizeof c->output.traces, "%s", place);
	c->rotation.trace_chunk = c->handover->writing = c->handover->trace_chunk;
	c->rotation.begin_ns = collector_now_ns(c);
	c->handover->trace_chunk_begin_ns = realtime_ns();
}

int rotate_first(struct collector *c, struct diag *d)
{
	char place[PATH_MAX];
	int err;

	assert(!c->rotation.trace_chunk);
	if (snprintf(c->output.recording, sizeof c->output.recording, "%s", c->o->path) >=
	    (int)sizeof c->output.recording)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", c->o->path);
	if (!c->o->trace_chunks.rotate) {
		memcpy(c->output.traces, c->output.recording, sizeof c->output.traces);
		return 0;
	}
	err = make_output_directory(c, place, d);
	if (err)
		return err;
	enter_trace_chunk(c, place);
	c->output.trace_chunk_clock = files_open_clock(c->output.traces, &c->session.clock);
	return 0;
}

static void close_clock(struct collector *c)
{
	if (c->output.trace_chunk_clock) {
		files_add_clock(c->output.trace_chunk_clock, &c->session.clock, FILES_END);
		fclose(c->output.trace_chunk_clock);
	}
	c->output.trace_chunk_clock = NULL;
}

/* Clocks and mappings help readers; the trace is complete without them. */
static void begin_clock_and_maps(struct collector *c)
{
	c->output.trace_chunk_clock = files_open_clock(c->output.traces, &c->session.clock);
	collector_record_clocks(c, 0);
	maps_rotate(c->maps, c->output.traces, c->o->tenant, c->rotation.begin_ns);
	files_share_kallsyms(c->output.recording, c->output.traces);
}

/* Each trace chunk is a recording of its own: it gets the calls files of living programs too. */
static void keep_calls(struct collector *c, const char *place)
{
	struct diag d = { "" };

	if (calls_keep(&c->calls, place, CALLS_ALL, &d) < 0)
		collector_note(c, &d);
}

/* Of the trace chunk that a killed collector was writing. */
static void keep_calls_of_killed(struct collector *c)
{
	char place[PATH_MAX];

	if (!trace_chunks_path(place, sizeof place, c->output.recording, c->handover->writing,
			       NULL) &&
	    io_exists(place) &&
	    !trace_chunks_is_finished(c->output.recording, c->handover->writing))
		keep_calls(c, place);
}

int rotate_resume(struct collector *c, struct diag *d)
{
	char place[PATH_MAX];
	int err;

	keep_calls_of_killed(c);
	err = resume_trace_chunks(&c->session, c->handover, c->bounds, c->output.recording,
				  realtime_ns(), d);

	if (!err)
		err = make_output_directory(c, place, d);
	if (err)
		return err;
	enter_trace_chunk(c, place);
	if (c->output.trace_chunk_clock)
		fclose(c->output.trace_chunk_clock); /* of the first trace chunk, inherited from the
					       * supervisor */
	begin_clock_and_maps(c);
	c->rotation.bytes_before = recording_bytes(c);
	return 0;
}

/* ---------------------------------------------------------------- rotation */

static int finish_old(struct collector *c, struct streams *next, const char *place, struct diag *d)
{
	char kernel[PATH_MAX];
	struct diag note = { "" };
	int err;

	streams_names(next, c->streams, 0); /* in overwrite mode: before names are written */
	err = streams_finish_names(c->streams, c->handover->lost_outside, d);
	if (!err && c->kernel)
		err = files_kernel_path(kernel, sizeof kernel, place, 1, d);
	if (!err && c->kernel)
		err = kernel_rotate(c->kernel, kernel, d);
	if (!err && c->kernel)
		counts_begin(&c->handover->kernel, c->handover->trace_chunk);
	if (!err && streams_finish_cpus(c->streams, &note))
		collector_note(c, &note); /* the next trace chunk reports the losses */
	return err;
}

/*
 * Closes the old trace chunk; from here on errors do not lead back.  If it cannot be marked as
 * finished, that is retried.
 */
static void switch_to_next(struct collector *c, struct streams *next, const char *place)
{
	uint32_t old = c->rotation.trace_chunk;

	assert(next && next != c->streams);
	assert(!c->rotation.unmarked);
	streams_end(c->streams);
	streams_reported(c->streams, next, old, &c->handover->reported);
	streams_close(c->streams);
	c->streams = next;
	c->pass.is_open = false; /* it was carried through to its end */
	c->snapshot.names = next;
	streams_limit(c->streams, c->o->quota, &c->handover->disk);
	c->rotation.unmarked = old;
	c->rotation.unmarked_begin_ns = c->handover->trace_chunk_begin_ns;
	enter_trace_chunk(c, place);
	counts_begin(&c->handover->apps, c->rotation.trace_chunk);
}

static int mark_finished(struct collector *c, struct diag *d)
{
	const struct trace_chunk_content content = { .begin_ns = c->rotation.unmarked_begin_ns,
						     .end_ns = c->handover->trace_chunk_begin_ns,
						     .sum = handover_content(
							     c->handover, c->rotation.unmarked) };
	int err = trace_chunks_finish(c->output.recording, c->rotation.unmarked, &content, d);

	assert(c->rotation.unmarked > 0);
	if (!err) {
		c->rotation.finished = c->rotation.unmarked;
		c->rotation.unmarked = 0;
		archiver_wake(c->rotation.archiver);
	}
	return err;
}

static void begin_new(struct collector *c)
{
	struct diag d = { "" };

	assert(c->rotation.trace_chunk > 0);
	begin_clock_and_maps(c);
	if (!streams_any_overwrite(c->streams))
		collector_note_programs(c);
	if (c->kernel && kernel_state(c->kernel, &d))
		collector_note(c, &d);
	c->rotation.bytes_before = recording_bytes(c);
}

/* @since_ns: everything older is in the old trace chunk. */
static int rotate(struct collector *c, uint64_t since_ns, struct diag *d)
{
	struct streams_options more = { .clock_offset_ns = c->output.clock_offset_ns,
					.begin_ns = since_ns,
					.is_of_command = c->o->command != NULL,
					.ledger = &c->handover->apps.ledger,
					.bounds = c->bounds,
					.resume = true };
	struct streams *next = NULL;
	char place[PATH_MAX];
	int err = make_output_directory(c, place, d);

	if (!err)
		err = files_open_application(&next, &c->session, place, 1, &more, d);
	if (!err)
		err = finish_old(c, next, place, d);
	if (err) {
		streams_close(next);
		files_remove_trace(place);
		return err;
	}
	keep_calls(c, c->output.traces);
	close_clock(c);
	switch_to_next(c, next, place);
	err = mark_finished(c, d);
	if (err)
		collector_note(c, d);
	begin_new(c);
	return 0;
}

int rotate_now(struct collector *c, struct diag *d)
{
	uint64_t since_ns;
	int err;

	assert(c->o->trace_chunks.rotate);
	if (snapshot_is_open(&c->snapshot))
		return diag_fail(d, -EBUSY, "a snapshot is being written");
	err = c->rotation.unmarked ? mark_finished(c, d) : 0;
	if (err)
		return err;
	calls_ask_to_flush(&c->calls);
	since_ns = collector_now_ns(c);
	/* Earlier data goes into the old trace chunk, later data into the new one. */
	err = streams_pass(c->streams, true, d);
	if (err >= 0 && c->kernel && !c->o->flight_recorder)
		err = kernel_poll(c->kernel, collector_now_ns(c), d);
	return err < 0 ? err : rotate(c, since_ns, d);
}

/*
 * The size at which a new one begins; 0: none.  Old ones that make room on the disk must be small
 * beside it: archiver.c.
 */
static uint64_t most_bytes(const struct collector *c)
{
	const struct trace_chunks_options *o = &c->o->trace_chunks;
	uint64_t disk =
		trace_chunks_are_removed(o) ? disk_limit_now(&c->handover->disk) : UINT64_MAX;

	if (disk == UINT64_MAX)
		return o->rotate_bytes;
	if (disk_is_over(&c->handover->disk)) /* finished, it can go */
		return ROTATE_LEAST;
	if (o->rotate_bytes && o->rotate_bytes < disk / 8)
		return o->rotate_bytes;
	return disk / 8 > ROTATE_LEAST ? disk / 8 : ROTATE_LEAST;
}

bool rotate_has_size(const struct collector *c)
{
	const struct trace_chunks_options *o = &c->o->trace_chunks;
	const struct disk_rule *r = &c->handover->disk.rule;

	return o->rotate_bytes || (trace_chunks_are_removed(o) && (r->limit || r->shares));
}

/* The time limit alone does not produce empty trace chunks. */
static bool is_due(const struct collector *c, uint64_t now_ns)
{
	const struct trace_chunks_options *o = &c->o->trace_chunks;
	uint64_t bytes = recording_bytes(c) - c->rotation.bytes_before, limit = most_bytes(c);

	if (c->rotation.unmarked)
		return true;
	return (limit && bytes >= limit) ||
	       (o->rotate_ns && bytes && now_ns - c->rotation.begin_ns >= o->rotate_ns);
}

void rotate_if_due(struct collector *c)
{
	uint64_t now_ns = collector_now_ns(c);
	struct diag d = { "" };
	int err;

	if (!c->o->trace_chunks.rotate || now_ns < c->rotation.retry_ns || !is_due(c, now_ns))
		return;
	err = rotate_now(c, &d);
	if (err && err != -EBUSY)
		collector_note_write(c, &d);
	if (err)
		c->rotation.retry_ns = now_ns + AGAIN_NS;
}

uint32_t rotate_due_ms(const struct collector *c, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - c->rotation.begin_ns,
		 period_ns = c->o->trace_chunks.rotate_ns;

	if (c->rotation.unmarked || c->rotation.retry_ns > now_ns)
		return AGAIN_NS / 1000000;
	return passed_ns < period_ns && period_ns - passed_ns < UINT32_MAX * 1000000ull
		       ? (uint32_t)((period_ns - passed_ns) / 1000000) + 1
		       : UINT32_MAX;
}

int rotate_last(struct collector *c, struct diag *d)
{
	int err = 0, last_err;

	if (!c->o->trace_chunks.rotate || !c->begin_ns)
		return 0;
	if (c->rotation.unmarked)
		err = mark_finished(c, d);
	c->rotation.finished =
		c->handover->writing; /* a predecessor that died while it finished may have
					     * written the last one */
	if (c->handover->is_closed ||
	    trace_chunks_is_finished(c->output.recording, c->rotation.finished))
		return err;
	c->rotation.unmarked = c->rotation.finished;
	c->rotation.unmarked_begin_ns = c->handover->trace_chunk_begin_ns;
	c->handover->trace_chunk_begin_ns = realtime_ns();
	last_err = mark_finished(c, err ? NULL : d);
	c->handover->is_closed = !last_err;
	return err ? err : last_err;
}
