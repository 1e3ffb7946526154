/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/overwrite.c - write the contents of a pool in overwrite mode, as of one moment,
 * into a trace.
 *
 * Writers continue, and nothing in the pool changes.  First a moment is fixed (the cut), then
 * chunks are copied, then the copies are written.  For each CPU the copies form a sequence without
 * gap that reaches at least to the cut, because
 *
 *   (1) only chunks that began before the cut are taken, and each is copied after it: all events
 *       before the cut are in the copy of their chunk, and a chunk that is not taken is younger
 *   (2) the newest are copied first, and writers reuse the oldest first: chunks overwritten
 *       meanwhile are those that would come last
 *   (3) a copy is valid only if the chunk's state was the same before and after: a seqlock, [D]
 *       with [C]
 *
 * Copying the oldest first would keep slightly more of a small pool.  But a collector that loses
 * its CPU halfway would then return to a pool without the newest chunks.  Design:
 * docs/design/snapshot.md.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "collect/drain/internal.h"

enum { COPY_TRIES = 4 };

static uint64_t end_ns(const struct drain_chunk *s)
{
	return s->begin_ns + s->since_ns;
}

static uint64_t size_in_file(const struct drain_chunk *s)
{
	return sizeof(struct abi_ctf_packet) + s->position - sizeof(struct abi_chunk);
}

static int compare_newest_first(const void *a, const void *b)
{
	uint64_t x = end_ns(a), y = end_ns(b);

	return x > y ? -1 : x < y;
}

/* A forged time makes no chunk newer than others are. */
static void bound_end(struct drain_chunk *s, uint64_t now_ns)
{
	uint64_t most_ns = now_ns > s->begin_ns ? now_ns - s->begin_ns : 0;

	s->since_ns = s->since_ns < most_ns ? s->since_ns : most_ns;
}

/* Finds the wanted chunks, newest first; returns their number. */
static uint32_t find_newest(struct drain *d, uint64_t cut_ns, const struct drain_limits *l)
{
	uint64_t from_ns = l->last_ns < cut_ns ? cut_ns - l->last_ns : 0, bytes = 0;
	uint32_t n = 0, wanted;

	for (uint32_t i = 0; i < d->pool->n_chunks; i++) {
		struct drain_chunk *s = &d->seen[n];

		if (!drain_inspect(d->pool, i, s) || s->begin_ns >= cut_ns ||
		    s->begin_ns < d->begin_ns)
			continue;
		bound_end(s, cut_ns);
		n += end_ns(s) >= from_ns;
	}
	qsort(d->seen, n, sizeof *d->seen, compare_newest_first);
	for (wanted = 0; wanted < n; wanted++) {
		bytes += size_in_file(&d->seen[wanted]);
		if (bytes > l->max_bytes)
			break;
	}
	return wanted;
}

/*
 * Copies a chunk if it is still in the generation that @s describes.  If it is closed meanwhile it
 * is copied once more.
 */
static bool copy_chunk(struct drain *d, struct drain_chunk *s, char *to)
{
	const struct drain_chunk was = *s;

	for (int tries = 0; tries < COPY_TRIES && drain_inspect(d->pool, was.index, s); tries++) {
		if (s->begin_ns != was.begin_ns || s->path != was.path || s->cpu != was.cpu)
			return false;
		s->read = sizeof(struct abi_chunk);
		memcpy(to, s->bytes, s->position);
		s->bytes = to;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load(&d->pool->states[s->index]) == s->state)
			return s->position > s->read;
	}
	return false;
}

/*
 * Copies the first @n of d->seen.  False if one that was open is gone: then the whole pool was
 * overwritten since the scan.
 */
static bool copy_all(struct drain *d, uint32_t n)
{
	bool is_complete = true;
	uint64_t now_ns;

	assert(d->copies && n <= d->pool->n_chunks);
	d->n_copied = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct drain_chunk s = d->seen[i];

		if (copy_chunk(d, &s, d->copies + (size_t)d->n_copied * d->pool->chunk_size))
			d->seen[d->n_copied++] = s;
		else
			is_complete &= d->seen[i].is_final;
	}
	now_ns = clock_now_ns(&d->pool->clock) + BOUNDS_AHEAD_NS;
	for (uint32_t i = 0; i < d->n_copied; i++)
		bound_end(&d->seen[i], now_ns);
	return is_complete;
}

/* Reserves address space for a copy of the whole pool, and memory for @n chunks before the cut. */
static int make_room(struct drain *d, uint32_t n, struct diag *diag)
{
	size_t size = d->pool->chunk_size, bytes = d->pool->n_chunks * size;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert(n <= d->pool->n_chunks);
	if (p == MAP_FAILED)
		return diag_errno(diag, "no memory for a copy of the buffers");
	d->copies = p;
#ifdef MADV_POPULATE_WRITE
	if (n)
		madvise(p, n * size, MADV_POPULATE_WRITE);
#else
	(void)n;
#endif
	return 0;
}

void drain_forget_copy(struct drain *d)
{
	if (d->copies)
		munmap(d->copies, (size_t)d->pool->n_chunks * d->pool->chunk_size);
	d->copies = NULL;
	d->n_copied = d->n_written = 0;
}

int drain_copy(struct drain *d, const struct drain_limits *limits, uint64_t *cut_ns,
	       struct diag *diag)
{
	bool is_complete = false;
	int err;

	assert(!d->copies);
	drain_reclaim(d); /* closes chunks that dead writers left open */
	err = make_room(d, find_newest(d, clock_now_ns(&d->pool->clock), limits), diag);
	for (int i = 0; i < COPY_TRIES && !err && !is_complete; i++) {
		*cut_ns = clock_now_ns(&d->pool->clock);
		drain_look(d); /* behind it: no event that the copy misses is older than the cut */
		is_complete = copy_all(d, find_newest(d, *cut_ns, limits));
	}
	return err;
}

void drain_each_copied(const struct drain *d,
		       void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		       void *arg)
{
	for (const struct drain_chunk *s = d->seen; s < d->seen + d->n_copied; s++)
		each(arg, s->begin_ns, end_ns(s), size_in_file(s));
}

/* ---------------------------------------------------------------- writing */

/* drain_finish reports refused events. */
static int append(struct drain *d, struct output *o, const struct drain_chunk *s, struct diag *diag)
{
	const struct drain_place at = drain_place_of(o);
	struct drain_packet k;
	int err = drain_check_packet(d, &at, s, 0, &k, diag);

	return err ? err : drain_put_packet(d, o, &k, diag);
}

static int append_exclusive(struct drain *d, const struct drain_chunk *s, struct output *o,
			    struct diag *diag)
{
	int err = append(d, o, s, diag);

	o->chunk = 0;
	d->marks[s->index] = (struct mark){ 0 };
	return err;
}

static int append_cpu(struct drain *d, const struct drain_chunk *s, struct diag *diag)
{
	struct output *cpu = &d->cpus[s->cpu], *o;
	int err = drain_open_stream(d, cpu, "cpu", s->cpu, diag);

	assert(s->cpu < d->pool->n_cpus);
	if (err)
		return err;
	/*
	 * A gap in the sequence numbers is overwritten data; what lies before the first is no loss.
	 */
	if (cpu->stream.offset && s->sequence > cpu->next)
		drain_skip(d, cpu, s);
	cpu->next = s->sequence + 1;
	o = drain_output_of(d, cpu, s, diag);
	return o == cpu ? append(d, cpu, s, diag) : append_exclusive(d, s, o, diag);
}

static int append_lane(struct drain *d, const struct drain_chunk *s, struct diag *diag)
{
	struct output *o = drain_exclusive_stream_of(d, s);
	int err =
		o ? drain_open_stream(d, o, "lane", (uint32_t)(o - d->exclusive_streams), diag) : 0;

	return !o || err ? err : append_exclusive(d, s, o, diag);
}

/* Runs before the first is written; afterwards the copies are in the order of their streams. */
static int begin_writing(struct drain *d, struct diag *diag)
{
	int err = drain_describe(d, diag);

	qsort(d->seen, d->n_copied, sizeof *d->seen, drain_compare);
	return err;
}

int drain_write_copied(struct drain *d, uint64_t from_ns, uint64_t until_bytes, struct diag *diag)
{
	int err = d->n_written ? 0 : begin_writing(d, diag);

	assert(d->n_written <= d->n_copied);
	while (!err && d->n_written < d->n_copied && d->sink->bytes < until_bytes) {
		const struct drain_chunk *s = &d->seen[d->n_written];

		if (end_ns(s) >= from_ns)
			err = s->path == ABI_PATH_RSEQ ? append_cpu(d, s, diag)
						       : append_lane(d, s, diag);
		d->n_written += !err;
	}
	return err ? err : d->n_written < d->n_copied;
}

void drain_count_uncopied(struct drain *d)
{
	for (uint32_t i = d->n_written; i < d->n_copied; i++)
		d->unwritten += d->seen[i].position - d->seen[i].read;
}
