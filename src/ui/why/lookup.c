/* SPDX-License-Identifier: MIT */
/*
 * ui/why/lookup.c - what the index lacks, read from the recording: see internal.h.
 *
 * Which interrupt woke a thread is known from the events of its CPU just before, so a millisecond is
 * read for each, with the states of analysis/wait.  What lies between two such places is skipped, and
 * told to it as a loss.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ui/item/call.h"
#include "ui/why/internal.h"

enum {
	FIRST_MOST = 24,    /* the longest are looked up first, */
	OTHERS_MOST = 2048, /* then others in the order of time */
	BEFORE_NS = 1000000,
	FARTHEST_NS = 100000000,
	EVENTS_MOST = 200000, /* for one */
	CAUSES_NS = 60000000, /* for all; and more for the first: */
	FIRST_NS = 940000000,
};

static void fail(struct why *w, const char *why)
{
	if (!*w->note)
		snprintf(w->note, sizeof w->note,
			 "the recording cannot be read again, so interrupts and files are not "
			 "named: %.120s",
			 why);
}

/* The state dump has the names of interrupts and disks.  It is a stream of its own, and small. */
static void read_state_dump(struct why *w)
{
	enum { DUMP_BYTES_MOST = 8 << 20 };
	struct trace *t = w->reader->trace, *part;
	struct trace_event e;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *s = trace_stream(t, i);

		if (strncmp(s->name, "statedump", 9) != 0 || s->size_bytes > DUMP_BYTES_MOST ||
		    trace_part(t, i, NULL, w->reader, &part))
			continue;
		for (int got; (got = trace_next(part, &e, NULL)) > 0;)
			if (got == TRACE_EVENT && trace_is_state_event(e.ctf->class->name) &&
			    wait_follow_event(w->follow, &e, 0))
				break;
		trace_close(part);
	}
}

void lookup_open(struct why *w)
{
	struct diag d = { "" };

	snprintf(w->causes[1], sizeof w->causes[1], "an interrupt");
	snprintf(w->causes[2], sizeof w->causes[2], "its timer");
	w->n_causes = 3;
	w->reader = ui_reader_take(w->x, w->s->paths, w->s->n_paths, w->s->is_live,
				   w->q->is_cancelled, &d);
	if (!w->reader || wait_follow_open(&w->follow, w->reader->trace, NULL, &d))
		fail(w, d.text);
	else
		read_state_dump(w);
}

void lookup_close(struct why *w)
{
	free(w->busy);
	wait_follow_close(w->follow);
	ui_reader_give(w->reader);
}

/* ---------------------------------------------------------------- causes */

static uint8_t cause_number(struct why *w, const char *words)
{
	uint32_t i = 1;

	while (i < w->n_causes && strcmp(w->causes[i], words) != 0)
		i++;
	if (i == CAUSE_WORDS)
		return 1;
	if (i == w->n_causes)
		snprintf(w->causes[w->n_causes++], sizeof w->causes[0], "%s", words);
	return (uint8_t)i;
}

static bool is_kernel_stream(const struct trace *t, uint32_t i)
{
	return trace_stream(t, i)->source->domain == TRACE_KERNEL;
}

/* What was known before the gap does not hold behind it. */
static int forget(struct why *w, int64_t time_ns)
{
	struct trace_event e = { .time_ns = time_ns };

	for (uint32_t i = 0; i < trace_n_streams(w->reader->trace); i++) {
		if (!is_kernel_stream(w->reader->trace, i))
			continue;
		e.stream = trace_stream(w->reader->trace, i);
		return wait_follow_lost(w->follow, &e);
	}
	return 0;
}

/* The cause of the wakeup of thread @tid among those that the last event changed. */
static bool find_cause(struct why *w, int64_t tid, struct wait_cause *cause)
{
	uint32_t n;
	const uint32_t *changed = wait_follow_changed(w->follow, &n);
	const struct threads *threads = wait_follow_pass(w->follow)->threads;

	for (uint32_t i = 0; i < n; i++) {
		const struct wait_interval *reason = wait_follow_reason(w->follow, changed[i]);

		if (threads_at(threads, changed[i])->tid != tid || !reason || !reason->is_woken)
			continue;
		*cause = reason->cause;
		return true;
	}
	return false;
}

/* Begins to read at @from_ns, unless reading has come so far already and not beyond @at_ns. */
static int begin_at(struct why *w, int64_t from_ns, int64_t at_ns)
{
	if (from_ns <= w->read_ns && w->read_ns < at_ns)
		return 0;
	trace_seek(w->reader->trace, from_ns);
	return forget(w, from_ns);
}

/* When the interrupt began that may have woken a thread at @ns: the longest one that goes on then. */
static int64_t interrupt_before(struct why *w, int64_t ns)
{
	int64_t begin = ns - BEFORE_NS;

	for (int64_t i = 0; i < w->n_busy; i++) {
		struct ui_interval v;

		if (ui_track_get(w->x, w->busy[i], ui_track_find(w->x, w->busy[i], ns), &v) &&
		    v.begin_ns <= ns && v.begin_ns - 1 < begin && v.begin_ns > ns - FARTHEST_NS)
			begin = v.begin_ns - 1;
	}
	return begin;
}

static int look_up(struct why *w, const struct why_slice *s, struct wait_cause *cause)
{
	int64_t at_ns = w->reader->begin_ns + s->woken_ns;
	struct pass *pass = wait_follow_pass(w->follow);
	struct diag d = { "" };
	struct trace_event e;
	struct ui_row row;
	uint32_t thread;
	int err = begin_at(w, w->reader->begin_ns + interrupt_before(w, s->woken_ns), at_ns);

	if (!ui_index_row(w->x, s->thread - 1, &row))
		return 0;
	for (int n = 0; n < EVENTS_MOST && !err; n++) {
		int got = pass_next(pass, &e, &thread, &d);

		if (got < 0)
			fail(w, d.text);
		if (got <= 0)
			return got;
		err = got == TRACE_LOST ? wait_follow_lost(w->follow, &e)
					: wait_follow_event(w->follow, &e, thread);
		w->read_ns = e.time_ns;
		if (e.time_ns > at_ns ||
		    (e.time_ns == at_ns && got == TRACE_EVENT && find_cause(w, row.tid, cause)))
			return err;
	}
	w->has_failed |= err == -ENOMEM;
	return err;
}

static bool is_sleep(const char *call)
{
	return call && (!strcmp(call, "nanosleep") || !strcmp(call, "clock_nanosleep"));
}

static uint8_t words_of(struct why *w, const struct why_slice *s, struct wait_cause cause)
{
	char buffer[80];

	if (cause.kind == CAUSE_IRQ || cause.kind == CAUSE_BLOCK_IO)
		return cause_number(w,
				    wait_cause_words(wait_follow_known(w->follow), cause, buffer));
	return is_sleep(why_call_name(w, s->call)) ? 2 : 1;
}

static int by_length(const void *a, const void *b)
{
	const struct why_slice *const *x = a, *const *y = b;
	int64_t m = (*x)->end_ns - (*x)->begin_ns, n = (*y)->end_ns - (*y)->begin_ns;

	return m < n ? 1 : m > n ? -1 : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct why_slice *const *x = a, *const *y = b;

	return (*x)->woken_ns < (*y)->woken_ns ? -1 : (*x)->woken_ns > (*y)->woken_ns;
}

/* The slices that an interrupt ended, those that took longest first; at most @most. */
static uint32_t choose(struct why *w, struct why_slice **found, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_slices; i++) {
		struct why_slice *s = &w->slices[i];

		if (s->is_turn || !s->cause || s->state != UI_BLOCKED)
			continue;
		found[n++] = s;
		if (n == 2 * most) {
			qsort(found, n, sizeof(struct why_slice *), by_length);
			n = most;
		}
	}
	qsort(found, n, sizeof(struct why_slice *), by_length);
	return n < most ? n : most;
}

static void name_causes(struct why *w, struct why_slice **found, uint32_t n, int64_t until)
{
	qsort(found, n, sizeof(struct why_slice *), by_time);
	for (uint32_t i = 0; i < n && ui_clock_ns() < until; i++) {
		struct wait_cause cause = { .kind = CAUSE_NONE };

		if (i && found[i]->woken_ns == found[i - 1]->woken_ns &&
		    found[i]->thread == found[i - 1]->thread) {
			found[i]->cause = found[i - 1]->cause;
			continue;
		}
		if (look_up(w, found[i], &cause) || ui_is_cancelled(w->q))
			return;
		found[i]->cause = words_of(w, found[i], cause);
	}
}

void lookup_causes(struct why *w)
{
	const uint32_t most = FIRST_MOST + OTHERS_MOST;
	struct why_slice **found = malloc(2 * most * sizeof *found);
	uint32_t n = found ? choose(w, found, most) : 0;
	uint32_t n_first = n < FIRST_MOST ? n : FIRST_MOST;
	const struct ui_row_set all = { NULL, w->n_rows };
	int64_t until = ui_clock_ns() + CAUSES_NS;

	w->n_busy = n ? ui_tracks_of(w->x, &all, UI_TRACK_BUSY, &w->busy) : 0;
	w->has_failed |= !found || w->n_busy < 0;
	for (uint32_t i = 0; i < w->n_slices; i++)
		if (w->slices[i].cause)
			w->slices[i].cause = words_of(w, &w->slices[i], (struct wait_cause){ 0 });
	if (w->follow) {
		name_causes(w, found, n_first, until + FIRST_NS);
		name_causes(w, found + n_first, n - n_first, until);
	}
	free(found);
}

/* ---------------------------------------------------------------- objects */

const char *lookup_object(struct why *w, uint32_t thread, int64_t ns, char buffer[192])
{
	struct item_call c = { .number = 0 };
	struct text words = { .size = 0 };
	struct diag d = { "" };
	uint32_t index;

	*buffer = 0;
	if (!w->follow || !path_call_at(w, thread, ns, &index))
		return buffer;
	if (item_call_of(&c, w->reader, w->q, w->tracks[thread - 1].calls - 1, index, &d))
		fail(w, d.text);
	else
		item_call_object(&c, &words);
	if (words.size)
		snprintf(buffer, 192, " of %.180s", words.bytes);
	text_fini(&words);
	item_call_fini(&c);
	return buffer;
}
