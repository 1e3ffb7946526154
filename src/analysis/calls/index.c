/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/index.c - opens the calls of a recording: position and thread of each batch.
 *
 * Only heads of batches are read.  A batch of some 2500 calls costs 96 bytes here.  Then batches can
 * be read in any order: one thread after another, or all threads side by side.
 *
 * A thread is named by process and tid, and a tid may be used again: if sequences begin anew later,
 * that is another thread.  A batch that is there twice (two snapshots of one flight recorder) counts
 * once.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/calls/internal.h"

enum { NUMBERS = 6 };

/* The fields of a batch's payload, in their order. */
struct fields {
	const struct ctf_op *pid, *tid;
};

/* ---------------------------------------------------------------- bytes */

bool batch_bytes(struct batch_ref *ref)
{
	struct stream *s = ref->stream;

	return !s || !s->packed ||
	       compressed_need(s->packed, ref->offset, ref->n_bytes) == ref->n_bytes;
}

void batch_release(const struct batch_ref *ref)
{
	enum { STEP = 4 << 20 };
	struct stream *s = ref->stream;
	uint64_t before = ref->offset & ~(uint64_t)(STEP - 1);

	if (!s)
		return;
	if (s->packed && ref->offset > 4 * STEP)
		compressed_let_go(s->packed, ref->offset - 4 * STEP);
	else if (!s->packed && before != s->released && before >= STEP) {
		madvise((void *)(s->bytes + before - STEP), STEP, MADV_DONTNEED);
		s->released = before;
	}
}

/* ---------------------------------------------------------------- events */

static void find_batches(struct fcalls *c, const struct trace_source *s,
			 const struct ctf_event_class *e)
{
	static const char *const kernel[] = { "sched_switch", "syscall_", "irq_",
					      "x86_irq_vectors_", "funcgraph_" };

	if (s->domain != TRACE_KERNEL) {
		c->is_batch[e->number] = !strcmp(e->name, "duet_calls:batch");
		for (const struct ctf_event_class *o = s->meta->events; o && c->is_batch[e->number];
		     o = o->next)
			c->has_batch[o->number] |= o->stream_id == e->stream_id;
		return;
	}
	for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
		c->has_kernel |= !strncmp(e->name, kernel[i], strlen(kernel[i]));
}

/* Within a hundred years of the Epoch: sums with durations do not overflow. */
static bool is_time(int64_t ns)
{
	return ns > -(1ll << 61) && ns < 1ll << 62;
}

/* Reads the payload's head; the records follow it.  Returns false if it is no batch. */
static bool read_head(const struct trace_event *e, struct batch_ref *ref, struct stream *s)
{
	uint64_t numbers[NUMBERS];
	struct ctf_walk w;
	struct ctf_value v;
	enum ctf_found found;
	int n = 0;

	ctf_walk_event(&w, e->ctf, CTF_PAYLOAD);
	while ((found = ctf_walk_next(&w, &v)) == CTF_UINT || found == CTF_INT) {
		if (v.is_hidden)
			continue;
		if (n == NUMBERS)
			return false;
		numbers[n++] = v.u;
	}
	if (found != CTF_OPEN_ARRAY || n != NUMBERS || w.element_at & 7 ||
	    v.u > FCALLS_BATCH_BYTES_MAX || numbers[2] >> 62)
		return false;
	ref->sequence = (uint32_t)numbers[0];
	ref->lost = (uint32_t)numbers[1];
	ref->base_ns = (int64_t)(numbers[2] + ((uint64_t)e->time_ns - e->clock));
	ref->mult = numbers[3];
	ref->flags = (uint32_t)numbers[5];
	ref->n_bytes = (uint32_t)v.u;
	ref->bytes = e->ctf->packet + w.element_at / 8;
	ref->offset = (uint64_t)(ref->bytes - s->bytes);
	ref->stream = s;
	ref->event_ns = e->time_ns;
	return is_time(ref->base_ns);
}

static int add_ref(struct fcalls *c, const struct batch_ref *ref)
{
	if (pass_grow(&c->refs, &c->n_ref_rooms, c->n_refs, sizeof *c->refs))
		return -ENOMEM;
	c->refs[c->n_refs++] = *ref;
	return 0;
}

/* @ref's process is the number of the source, until all processes are known. */
static int take_event(struct fcalls *c, const struct trace_event *e, struct stream *s)
{
	const struct ctf_op *pid = ctf_class_find(e->ctf->class, CTF_CONTEXT, "vpid");
	const struct ctf_op *tid = ctf_class_find(e->ctf->class, CTF_CONTEXT, "vtid");
	struct batch_ref ref = { .process = e->stream->source->number };

	if (!read_head(e, &ref, s)) {
		c->losses.n_damaged++;
		return 0;
	}
	ref.tid = pass_number(e, tid, -1);
	ref.pid = pass_number(e, pid, -1);
	return add_ref(c, &ref);
}

static int read_stream(struct fcalls *c, uint32_t number, struct diag *d)
{
	struct trace *part;
	struct trace_event e;
	bool has = false;
	uint32_t first = c->n_refs;
	int item, err = trace_part(c->trace, number, NULL, NULL, &part);

	if (err)
		return err;
	while (!err && (item = trace_next(part, &e, d)) != TRACE_END) {
		if (item < 0)
			err = item;
		if (item != TRACE_EVENT)
			continue;
		/* a stream file has events of one channel only */
		if (!has && !c->has_batch[e.ctf->class->number])
			break;
		has = true;
		if (c->is_batch[e.ctf->class->number])
			err = take_event(c, &e, trace_stream_file(part, 0));
	}
	if (err || c->n_refs == first ||
	    pass_grow(&c->parts, &c->n_part_rooms, c->n_parts, sizeof *c->parts))
		trace_close(part);
	else
		c->parts[c->n_parts++] = part;
	return err;
}

/* ---------------------------------------------------------------- threads */

static int by_time(const void *a, const void *b)
{
	const struct batch_ref *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->base_ns != y->base_ns)
		return x->base_ns < y->base_ns ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int by_sequence(const void *a, const void *b)
{
	const struct batch_ref *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int add_thread(struct fcalls *c, uint32_t process, int64_t tid)
{
	if (pass_grow(&c->threads, &c->n_thread_rooms, c->n_threads, sizeof *c->threads))
		return -ENOMEM;
	c->threads[c->n_threads++] = (struct thread_ref){
		.public = { .process = process, .tid = tid },
	};
	return 0;
}

/* Splits the batches of one tid into threads; drops batches that are there twice. */
static int number_threads(struct fcalls *c)
{
	const struct batch_ref *last = NULL;
	uint32_t n = 0;

	if (c->n_refs)
		qsort(c->refs, c->n_refs, sizeof *c->refs, by_time);
	for (uint32_t i = 0; i < c->n_refs; i++) {
		struct batch_ref *ref = &c->refs[i];
		bool is_other = !last || last->process != ref->process || last->tid != ref->tid;

		if (!is_other && ref->sequence == last->sequence && ref->base_ns == last->base_ns)
			continue;
		if ((is_other || ref->sequence <= last->sequence) &&
		    add_thread(c, ref->process, ref->tid))
			return -ENOMEM;
		ref->thread = c->n_threads - 1;
		c->refs[n] = *ref;
		last = &c->refs[n++];
	}
	c->n_refs = n;
	return 0;
}

static void place_batches(struct fcalls *c)
{
	if (c->n_refs)
		qsort(c->refs, c->n_refs, sizeof *c->refs, by_sequence);
	for (uint32_t i = 0; i < c->n_threads; i++)
		c->threads[i].n = 0;
	for (uint32_t i = 0; i < c->n_refs; i++) {
		struct thread_ref *t = &c->threads[c->refs[i].thread];

		if (!t->n++)
			t->first = i;
	}
}

/* ---------------------------------------------------------------- unfinished batches */

/* The last thread with this tid; batches of an earlier one with the same tid have sequences that
 * began anew since. */
static int thread_of_area(struct fcalls *c, uint32_t process, const struct abi_calls_thread *area,
			  uint32_t *thread)
{
	uint32_t n = c->n_threads;

	while (n && (c->threads[n - 1].public.process != process ||
		     c->threads[n - 1].public.tid != area->tid))
		n--;
	if (n && c->threads[n - 1].n) {
		const struct thread_ref *t = &c->threads[n - 1];

		if (c->refs[t->first + t->n - 1].sequence > area->sequence)
			return 1; /* the copy is older than the batches */
	}
	*thread = n ? n - 1 : c->n_threads;
	return n ? 0 : add_thread(c, process, area->tid);
}

static bool is_recorded(const struct fcalls *c, uint32_t thread, uint32_t sequence)
{
	const struct thread_ref *t = &c->threads[thread];

	for (uint32_t i = t->n; i--;)
		if (c->refs[t->first + i].sequence <= sequence)
			return c->refs[t->first + i].sequence == sequence;
	return false;
}

static int add_unfinished(struct fcalls *c, uint32_t process, uint32_t thread,
			  const struct abi_calls_thread *area)
{
	const struct process *p = &c->processes[process];

	for (int i = 0; i < 2; i++) {
		const struct abi_calls_batch *b = &area->batches[i];
		uint32_t n = (uint32_t)(b->word & 0xffff), sequence = b->header.sequence;
		bool is_current = (area->current & 1) == (uint32_t)i;
		struct batch_ref ref = {
			.bytes = b->bytes,
			.n_bytes = n,
			.sequence = is_current ? area->sequence : sequence,
			.lost = b->header.lost,
			.flags = b->header.flags,
			.process = process,
			.thread = thread,
			.tid = area->tid,
			.pid = p->public.pid,
			.base_ns = (int64_t)(b->header.base_ns + (uint64_t)p->epoch_ns),
			.event_ns = INT64_MAX,
			.mult = b->header.mult,
		};

		/* the other one counts if it was full, and its event was not written */
		if (!n || n > sizeof b->bytes || !is_time(ref.base_ns) ||
		    (!is_current && (uint32_t)(sequence + 1) != area->sequence) ||
		    is_recorded(c, thread, ref.sequence))
			continue;
		if (add_ref(c, &ref))
			return -ENOMEM;
	}
	return 0;
}

static int read_areas(struct fcalls *c)
{
	for (uint32_t i = 0; i < c->n_processes; i++) {
		const struct calls_file *f = c->processes[i].file;

		for (uint32_t k = 0; f && k < f->n_threads; k++) {
			const struct abi_calls_thread *area = calls_file_thread(f, k);
			uint32_t thread;
			int err = area->tid ? thread_of_area(c, i, area, &thread) : 1;

			if (err > 0)
				continue;
			if (err || add_unfinished(c, i, thread, area))
				return -ENOMEM;
			c->threads[thread].area = area;
			c->threads[thread].public.n_nodes =
				area->n_paths < ABI_CALLS_PATHS ? area->n_paths : ABI_CALLS_PATHS;
		}
	}
	return 0;
}

static void count_gaps(struct fcalls *c)
{
	for (uint32_t i = 0; i < c->n_threads; i++) {
		struct thread_ref *t = &c->threads[i];
		const struct batch_ref *refs = c->refs + t->first;

		t->public.n_batches = t->n;
		if (!t->n)
			continue;
		t->public.n_before = refs[0].sequence;
		for (uint32_t k = 0; k < t->n; k++) {
			t->public.lost += refs[k].lost;
			if (k)
				t->public.n_lost_batches +=
					refs[k].sequence - refs[k - 1].sequence - 1;
		}
		t->is_last = refs[t->n - 1].flags & ABI_BATCH_LAST;
		c->losses.lost_batches += t->public.n_lost_batches;
		c->losses.lost_calls += t->public.lost;
	}
}

/* ---------------------------------------------------------------- the whole */

static int index_all(struct fcalls *c, struct diag *d)
{
	int err = processes_find(c);

	for (uint32_t i = 0; i < trace_n_streams(c->trace) && !err; i++) {
		const struct trace_stream_info *info = trace_stream(c->trace, i);

		if (info->end_ns > c->end_ns && is_time(info->end_ns))
			c->end_ns = info->end_ns;
		if (info->source->domain != TRACE_KERNEL)
			err = read_stream(c, i, d);
	}
	for (uint32_t i = 0; i < c->n_refs && !err; i++)
		err = processes_set(c, &c->refs[i]);
	if (!err)
		err = number_threads(c);
	if (err)
		return err;
	place_batches(c);
	err = read_areas(c);
	place_batches(c);
	for (uint32_t i = 0; i < c->n_processes; i++)
		c->processes[i].public.program = c->processes[i].program;
	count_gaps(c);
	for (uint32_t i = 0; i < c->n_processes; i++)
		c->losses.lost_calls += c->processes[i].public.lost;
	return err;
}

int fcalls_open(struct fcalls **result, struct trace *t, struct diag *d)
{
	struct fcalls *c = calloc(1, sizeof *c);
	size_t n = trace_n_classes(t) + (size_t)1;
	int err;

	*result = c;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for calls");
	c->trace = t;
	c->end_ns = INT64_MIN;
	c->is_batch = calloc(n, sizeof *c->is_batch);
	c->has_batch = calloc(n, sizeof *c->has_batch);
	err = c->is_batch && c->has_batch ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < trace_n_sources(t) && !err; i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *e = s->meta->events; e; e = e->next)
			find_batches(c, s, e);
	}
	if (!err)
		err = index_all(c, d);
	if (!err)
		return 0;
	fcalls_close(c);
	*result = NULL;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

void fcalls_close(struct fcalls *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_parts; i++)
		trace_close(c->parts[i]);
	for (uint32_t i = 0; i < c->n_processes; i++)
		free(c->processes[i].numbers);
	functions_fini(c);
	calls_files_fini(&c->files);
	free(c->parts);
	free(c->processes);
	free(c->threads);
	free(c->refs);
	free(c->is_batch);
	free(c->has_batch);
	free(c);
}
