/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/profile_overwrite.c - the perf rings of a flight recorder: they hold the newest
 * samples, which a snapshot copies.
 *
 * perf could overwrite the oldest data itself (write_backward). But then it must be stopped for
 * reading, and nothing reports the forks and mappings that it overwrites. So the rings are normal
 * ones, which refuse data when they are full. The collector drops the oldest data several times a
 * second if a ring is more than three quarters full. If it is late, the newest data is lost, and
 * counted.
 *
 * Meanwhile it stamps new records. It applies forks, names and mappings. It gives each sample a
 * mark, the session time and whether the sample is wanted, because later the process may be
 * unknown. perf's rings are read-only, so the marks lie beside them in memory that a successor
 * inherits, together with the position reached so far (struct profile_shared).
 */
#include <assert.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "kernel/perf/internal.h"

#define IS_WANTED (1ull << 63)
#define TIME_MASK (IS_WANTED - 1)

enum {
	BLOCK_BYTES = 65536,
	MARK_EACH = 32, /* bytes of ring for each mark: at most one sample begins in them */
};
_Static_assert(MARK_EACH < sizeof(struct kernel_perf_sample), "each has a mark of its own");

int kernel_profile_keep_newest(struct kernel_profile *p, struct diag *d)
{
	size_t n = p->n_rings ? p->rings[0].perf.data_bytes / MARK_EACH : 0,
	       bytes = n * (size_t)p->n_rings * sizeof *p->marks;
	void *marks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (marks == MAP_FAILED)
		return diag_errno(d, "no memory for a flight recorder of samples");
	p->marks = marks;
	p->marks_bytes = bytes;
	for (int i = 0; i < p->n_rings; i++)
		p->rings[i].marks = p->marks + n * (size_t)i;
	return 0;
}

static uint64_t *mark_at(const struct profile_ring *r, uint64_t at)
{
	assert(r->marks);
	return &r->marks[(at & (r->perf.data_bytes - 1)) / MARK_EACH];
}

/* NULL: not a sample. */
static const struct kernel_perf_sample *sample_of(const struct perf_event_header *h)
{
	const struct kernel_perf_sample *s = (const struct kernel_perf_sample *)h;

	return h->type == PERF_RECORD_SAMPLE && h->size >= sizeof *s ? s : NULL;
}

static uint64_t lost_in(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_LOST && h->size >= sizeof(struct kernel_perf_lost)
		       ? ((const struct kernel_perf_lost *)h)->n
		       : 0;
}

/* A malformed sample is not wanted. */
static void stamp_sample(struct kernel_profile *p, struct profile_ring *r,
			 const struct kernel_perf_sample *s, struct kernel_drain *k)
{
	struct profile_taken t;
	uint64_t ns, mark = 0;

	if (!profile_take_apart(p, r, s, &t)) {
		r->shared_state->losses.here++;
	} else if (profile_is_wanted(p, &t)) {
		ns = profile_sample_ns(p, &t, k) & TIME_MASK;
		r->stamped_ns = ns > r->stamped_ns ? ns : r->stamped_ns;
		mark = IS_WANTED;
	}
	store(mark_at(r, r->shared_state->stamped_at), r->stamped_ns | mark);
}

static void stamp_ring(struct kernel_profile *p, struct profile_ring *r, uint64_t until_ns,
		       struct kernel_drain *k)
{
	uint64_t end = kernel_perf_end(&r->perf), *at = &r->shared_state->stamped_at;
	const struct perf_event_header *h;

	for (; (h = kernel_perf_record(&r->perf, *at, end, p->record));
	     store_release(at, *at + h->size)) {
		const struct kernel_perf_sample *s = sample_of(h);

		if (!s)
			profile_apply(p, h);
		else if (profile_is_young(r, s, until_ns))
			break;
		else
			stamp_sample(p, r, s, k);
	}
	if (h || *at == end)
		return;
	profile_skip(r, end, k); /* with the kept data: the start of the next record is unknown */
	profile_give_back(r, 0);
	store(at, end);
}

/* Overwritten wanted samples count as lost, as in tracefs. */
static void make_room(struct kernel_profile *p, struct profile_ring *r)
{
	uint64_t end = kernel_perf_end(&r->perf), most = r->perf.data_bytes / 4 * 3;
	const struct perf_event_header *h;

	for (; end - r->perf.at > most && r->perf.at < r->shared_state->stamped_at;
	     r->perf.at += h->size) {
		h = kernel_perf_record(&r->perf, r->perf.at, end, p->record);
		if (!h)
			break;
		r->lost += lost_in(h) + (sample_of(h) && *mark_at(r, r->perf.at) & IS_WANTED);
	}
	profile_give_back(r, 0);
}

static int stamp_all(struct kernel_profile *p, struct kernel_drain *k, uint64_t promised_ns,
		     bool is_last, struct diag *d)
{
	uint64_t until_ns;
	int err = profile_prepare(p, k, promised_ns, &until_ns, d);

	for (struct profile_ring *r = p->rings; !err && r < p->rings + p->n_rings; r++)
		stamp_ring(p, r, is_last ? UINT64_MAX : until_ns, k);
	return err;
}

int kernel_profile_keep(struct kernel_profile *p, struct kernel_drain *k, uint64_t until_ns,
			struct diag *d)
{
	int err = p ? stamp_all(p, k, until_ns, false, d) : 0;

	for (int i = 0; p && !err && i < p->n_rings; i++)
		make_room(p, &p->rings[i]);
	return err;
}

int kernel_profile_n_rings(const struct kernel_profile *p)
{
	return p ? p->n_rings : 0;
}

static void each_block_kept(struct kernel_profile *p, const struct profile_ring *r,
			    void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns,
					 size_t bytes),
			    void *arg)
{
	uint64_t begin_ns = 0, end_ns = 0;
	const struct perf_event_header *h;
	size_t bytes = 0;

	for (uint64_t at = r->perf.at;
	     (h = kernel_perf_record(&r->perf, at, r->shared_state->stamped_at, p->record));
	     at += h->size) {
		uint64_t mark = sample_of(h) ? *mark_at(r, at) : 0;

		if (!(mark & IS_WANTED))
			continue;
		end_ns = mark & TIME_MASK;
		begin_ns = bytes ? begin_ns : end_ns;
		bytes += h->size;
		if (bytes >= BLOCK_BYTES) {
			each(arg, begin_ns, end_ns, bytes);
			bytes = 0;
		}
	}
	if (bytes)
		each(arg, begin_ns, end_ns, bytes);
}

void kernel_profile_each_kept(struct kernel_profile *p,
			      void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns,
					   size_t bytes),
			      void *arg)
{
	for (int i = 0; p && i < p->n_rings && p->rings[i].perf.map; i++)
		each_block_kept(p, &p->rings[i], each, arg);
}

/* Writes the kept samples up to @end to its stream. A loss counts if the sample after it is
 * wanted. */
static int write_kept(struct kernel_profile *p, struct profile_ring *r, uint64_t end,
		      uint64_t from_ns, struct kernel_drain *k, struct diag *d)
{
	int first = profile_open_stream(r, k, d), err;
	const struct perf_event_header *h;
	uint64_t lost = 0;

	if (first)
		return first;
	for (; (h = kernel_perf_record(&r->perf, r->perf.at, end, p->record));
	     r->perf.at += h->size) {
		const struct kernel_perf_sample *s = sample_of(h);
		uint64_t mark = s ? *mark_at(r, r->perf.at) : 0, ns = mark & TIME_MASK;
		struct profile_taken t;

		lost += lost_in(h);
		if (!s)
			continue;
		r->lost += ns < from_ns ? 0 : lost;
		lost = 0;
		if (!(mark & IS_WANTED) || ns < from_ns || !profile_take_apart(p, r, s, &t))
			continue;
		err = profile_write_sample(p, r, t.source, s, &t.parts, ns, k, d);
		first = first ? first : err;
	}
	r->lost += lost;
	err = profile_flush(p, r, k, d);
	return first ? first : err;
}

int kernel_profile_write_kept(struct kernel_profile *p, int i, struct kernel_drain *k,
			      uint64_t from_ns, uint64_t *lost, struct diag *d)
{
	const struct profile_ring *r = &p->rings[i];
	struct profile_shared_ring shared_state = { 0 };
	struct profile_ring to = { .perf = r->perf,
				   .marks = r->marks,
				   .shared_state = &shared_state,
				   .is_copy = true,
				   .stream = { .fd = -1, .index = -1 } };
	int err = r->perf.map ? write_kept(p, &to, r->shared_state->stamped_at, from_ns, k, d) : 0;

	*lost += shared_state.losses.here + to.lost;
	if (to.has_stream)
		ctf_stream_close(&to.stream);
	return err;
}

int profile_drain_kept(struct kernel_profile *p, struct kernel_drain *k, struct diag *d)
{
	int first = stamp_all(p, k, 0, true, d), err;

	for (struct profile_ring *r = p->rings; r < p->rings + p->n_rings && r->perf.map; r++) {
		err = write_kept(p, r, r->shared_state->stamped_at, 0, k, d);
		first = first ? first : err;
	}
	return first;
}
