/* SPDX-License-Identifier: MIT */
/*
 * ui/index/functions.c - calls of functions, by depth: see analysis/calls.
 *
 * Calls come in the order of their ends, thread by thread.  Those of one depth do not overlap, so each
 * depth is a track.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/calls.h"
#include "ui/index/build.h"

enum { DEEPEST = 64, CALLS_AT_ONCE = 16384, UNKNOWN_THREAD = UINT32_MAX };

struct reading {
	struct builder *b;
	struct fcalls *calls;
	uint32_t thread, row;	  /* of the calls now */
	uint32_t tracks[DEEPEST]; /* plus 1 */
	uint32_t n;
};

/* The row of a thread of batches; of the process's first thread if it has no other event. */
static uint32_t row_of(const struct reading *r, const struct fcalls_thread *t)
{
	int64_t pid = fcalls_process(r->calls, t->process)->pid;
	uint32_t found = UNKNOWN_THREAD;

	for (uint32_t i = 0; i < r->b->x->n_rows; i++) {
		const struct ui_row *row = &r->b->x->rows[i].public;

		if (row->kind == UI_ROW_THREAD && row->tid == t->tid && row->pid == pid)
			return i;
		if (row->kind == UI_ROW_THREAD && row->tid == t->tid)
			found = i;
	}
	return found;
}

static uint32_t add_row(struct reading *r, const struct fcalls_thread *t)
{
	const struct fcalls_process *p = fcalls_process(r->calls, t->process);
	const char *slash = strrchr(p->program ? p->program : "", '/');
	struct ui_row row = { .kind = UI_ROW_PROCESS,
			      .name = slash	   ? slash + 1
				      : p->program ? p->program
						   : "",
			      .pid = p->pid,
			      .tid = -1,
			      .cpu = -1 };
	int64_t number = build_row(r->b, &row);

	row.kind = UI_ROW_THREAD;
	row.tid = t->tid;
	row.parent = (uint32_t)number + 1;
	if (number >= 0)
		number = build_row(r->b, &row);
	return number < 0 ? UNKNOWN_THREAD : (uint32_t)number;
}

static int add_call(struct reading *r, const struct fcalls_call *call)
{
	struct ui_index *x = r->b->x;
	int64_t begin = call->begin_ns - x->status.begin_ns,
		end = call->end_ns - x->status.begin_ns;
	const char *shown = fcalls_function(r->calls, call->function)->shown;
	int64_t name = build_text(r->b, shown, strlen(shown));
	int err;

	if (call->thread != r->thread) {
		const struct fcalls_thread *t = fcalls_thread(r->calls, call->thread);

		r->thread = call->thread;
		r->row = row_of(r, t);
		if (r->row == UNKNOWN_THREAD)
			r->row = add_row(r, t);
		memset(r->tracks, 0, sizeof r->tracks);
	}
	if (name < 0 || r->row == UNKNOWN_THREAD)
		return -ENOMEM;
	if (call->depth >= DEEPEST || begin < 0)
		return 0;
	err = build_track(r->b, &r->tracks[call->depth], r->row, UI_TRACK_CALLS,
			  (uint8_t)call->depth);
	if (!err)
		err = write_add(r->b, &r->b->writers[r->tracks[call->depth] - 1], begin, end,
				(uint32_t)name, 0);
	return err == -EFBIG ? 0 : err;
}

static int on_call(void *context, const struct fcalls_call *call)
{
	struct reading *r = context;
	int err;

	if (++r->n % CALLS_AT_ONCE == 0) {
		err = build_publish(r->b);
		if (err)
			return err;
		if (load(&r->b->x->stops) ||
		    index_count_bytes(r->b->x) > r->b->x->options.most_bytes)
			return -ECANCELED;
	}
	err = add_call(r, call);
	return err;
}

int build_functions(struct builder *b, struct diag *d)
{
	const struct fcalls_options all = { .range = { INT64_MIN, INT64_MAX },
					    .is_without_kernel = true };
	struct reading r = { .b = b, .thread = UNKNOWN_THREAD };
	struct trace *t;
	int err = trace_open(&t, b->x->options.paths, b->x->n_paths, NULL, d);

	if (err)
		return err;
	err = fcalls_open(&r.calls, t, d);
	if (!err) {
		err = build_sync_now(b);
		if (!err)
			err = fcalls_each(r.calls, &all, on_call, &r, d);
		fcalls_close(r.calls);
	}
	trace_close(t);
	if (err == -ECANCELED)
		return load(&b->x->stops)
			       ? 0
			       : diag_fail(d, -EFBIG, "the index is full: not all calls are shown");
	return err;
}
