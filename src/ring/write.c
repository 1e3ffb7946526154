/* SPDX-License-Identifier: MIT */
/*
 * ring/write.c - the rseq path: one event is one restartable sequence.
 *
 * This file has the rare cases; the common case is ring_try(), ring/write_fast.h, in a coarse pool
 * ring_try_coarse(), ring/write_coarse.h.
 *
 * Each CPU has one open chunk, shared by all programs of the pool.  The sequence reads the CPU, its
 * chunk and the clock, stores header and payload, and ends with one store of the commit word.  Any
 * interruption before that store - preemption, migration, a signal - sends it back to its start:
 *
 *   (1) on one CPU at most one sequence is between its start and its commit
 *   (2) so position and time of an open chunk have one writer at a time, and only grow
 *   (3) below the word there are only whole events, whichever process dies and wherever
 *   (4) a chunk that was replaced in its slot is final: the replacing store is itself such a
 *       sequence, and it has sent every other one on this CPU back
 *   (5) only a chunk that holds an event is replaced, so an empty chunk outside was never in one.
 *       An empty chunk that has become too old gets a new start time instead
 *
 * There is no LOCK prefix, and no state between reserve and commit that a death could leave open.
 * After MAX_ABORTS (a debugger stepping, a storm of signals) the exclusive path takes the event.
 *
 * Source of per-CPU commits by restartable sequences: Turner and Hunter, "Restartable sequences"
 * (2013), and Desnoyers' rseq(2).  Design and figures: docs/design/ring.md.
 */
#include "ring/write.h"

#include <string.h>

#include "clock/clock.h"
#include "ring/rseq.h"
#include "ring/internal.h"
#include "ring/write_coarse.h"

#if RSEQ_HAVE_SEQUENCES

enum { MAX_ABORTS = 20 };

/* The state of a CPU's chunk as the slow path read it; its sequences commit only if it is
 * unchanged. */
struct seen {
	uint64_t cpu;
	uint64_t *ref_at; /* the slot's reference */
	uint64_t ref;
	struct abi_chunk *chunk; /* NULL: none open */
	uint64_t word;
	uint64_t begin_ns;
	uint64_t last_ns;
	uint64_t state; /* of the chunk, read before the word */
};

static bool read_cpu(const struct pool *p, struct seen *s)
{
	s->cpu = load(&rseq_self()->cpu_id);
	if (s->cpu >= p->n_cpus || !rseq_cpu_is((uint32_t)s->cpu))
		return false;
	s->ref_at = &pool_slot(p, (uint32_t)s->cpu)->chunk;
	s->ref = load(s->ref_at);
	s->chunk = pool_chunk(p, s->ref);
	if (s->chunk) {
		s->state = load(pool_state(p, s->chunk));
		s->word = load(&s->chunk->word);
		s->begin_ns = load(&s->chunk->begin_ns);
		s->last_ns = s->begin_ns + ABI_SINCE_OF(s->word);
	}
	return true;
}

/* Stores @value at @at, both of seen->cpu, if the state is still as seen. */
static enum ring_outcome set(const struct seen *s, uint64_t *at, uint64_t value)
{
	__asm__ goto volatile(
		RSEQ_BEGIN "movq 0(%[seen]), %%rax\n\t"
			   "cmpl %%eax, " RSEQ_CPU "\n\t"
			   "jne %l[aborted]\n\t"
			   "movq 8(%[seen]), %%rcx\n\t"
			   "movq 16(%[seen]), %%rax\n\t"
			   "cmpq %%rax, (%%rcx)\n\t"
			   "jne %l[aborted]\n\t"
			   "movq 24(%[seen]), %%rdx\n\t"
			   "testq %%rdx, %%rdx\n\t"
			   "jz 82f\n\t"
			   "movq 32(%[seen]), %%rax\n\t"
			   "cmpq %%rax, (%%rdx)\n\t"
			   "jne %l[aborted]\n\t"
			   "movq 40(%[seen]), %%rax\n\t"
			   "cmpq %%rax, 8(%%rdx)\n\t"
			   "jne %l[aborted]\n"
			   "82:\tmovq %[value], (%[at])\n\t" RSEQ_END("aborted")
		:
		: [rseq] "m"(rseq_offset), [seen] "r"(s), [at] "r"(at), [value] "r"(value)
		: "rax", "rcx", "rdx", "rdi", "memory", "cc"
		: aborted);
	return RING_DONE;
aborted:
	return RING_ABORTED;
}

/* A prepared event, to be copied to the end of the chunk as seen. */
struct prepared {
	struct seen seen;
	uint64_t new_word;
	const void *header;
	uint64_t header_size;
	const void *payload;
	uint64_t payload_size;
};
_Static_assert(offsetof(struct seen, ref_at) == 8 && offsetof(struct seen, ref) == 16 &&
		       offsetof(struct seen, chunk) == 24 && offsetof(struct seen, word) == 32 &&
		       offsetof(struct seen, begin_ns) == 40 &&
		       offsetof(struct prepared, new_word) == 64 &&
		       offsetof(struct prepared, payload_size) == 96,
	       "the sequences read them by these numbers");

static enum ring_outcome append(const struct prepared *e)
{
	__asm__ goto volatile(RSEQ_BEGIN "movq 0(%[e]), %%rax\n\t"
					 "cmpl %%eax, " RSEQ_CPU "\n\t"
					 "jne %l[aborted]\n\t"
					 "movq 8(%[e]), %%rax\n\t"
					 "movq 16(%[e]), %%rcx\n\t"
					 "cmpq %%rcx, (%%rax)\n\t"
					 "jne %l[aborted]\n\t"
					 "movq 24(%[e]), %%rdx\n\t"
					 "movq 32(%[e]), %%rdi\n\t"
					 "cmpq %%rdi, (%%rdx)\n\t"
					 "jne %l[aborted]\n\t"
					 "movq 40(%[e]), %%rax\n\t"
					 "cmpq %%rax, 8(%%rdx)\n\t"
					 "jne %l[aborted]\n\t"
					 "andl $0xffffff, %%edi\n\t"
					 "addq %%rdx, %%rdi\n\t"
					 "movq 72(%[e]), %%rsi\n\t"
					 "movq 80(%[e]), %%rcx\n\t"
					 "rep movsb\n\t"
					 "movq 88(%[e]), %%rsi\n\t"
					 "movq 96(%[e]), %%rcx\n\t"
					 "rep movsb\n\t"
					 "movq 64(%[e]), %%rax\n\t"
					 "movq %%rax, (%%rdx)\n\t" /* [A] the commit */
			      RSEQ_END("aborted")
			      :
			      : [rseq] "m"(rseq_offset), [e] "r"(e)
			      : "rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc"
			      : aborted);
	return RING_DONE;
aborted:
	return RING_ABORTED;
}

/*
 * The clock is read after the word: if the word is unchanged at the commit, no later timestamp was
 * published before ours.
 */
static uint64_t now_after(const struct pool *p, const struct seen *s)
{
	uint64_t t = clock_now_ns(&p->clock);

	return s->chunk && (int64_t)(t - s->last_ns) < 0 ? s->last_ns : t;
}

static bool fits(const struct pool *p, const struct seen *s, uint64_t t_ns, uint32_t size)
{
	uint32_t pos = ABI_POS_OF(s->word);

	return s->chunk && pos >= sizeof *s->chunk && pos <= p->chunk_size &&
	       p->chunk_size - pos >= RING_HEADER_BYTES_MAX + size &&
	       t_ns - s->begin_ns < ABI_SINCE_MAX;
}

/* Replaces the CPU's chunk by *fresh, and claims that first if needed.  RING_SLOW: there is no free
 * chunk. */
static enum ring_outcome replace(struct pool *p, const struct seen *s, uint64_t t_ns,
				 struct abi_chunk **fresh)
{
	struct abi_chunk *c = *fresh;

	if (!c && pool_is_ours(p))
		c = pool_claim(p, (uint32_t)s->cpu);
	if (!c)
		return RING_SLOW;
	*fresh = c;
	store(&c->begin_ns, t_ns);
	store(&c->sequence, s->chunk ? load(&s->chunk->sequence) + 1 : 0);
	store(&c->cpu, (uint32_t)s->cpu);
	store(&c->path, ABI_PATH_RSEQ);
	if (set(s, s->ref_at, pool_ref(p, c)) != RING_DONE)
		return RING_ABORTED;
	*fresh = NULL;
	if (s->chunk)
		pool_close(p, s->chunk, s->state);
	return RING_DONE;
}

static enum ring_outcome append_event(const struct pool *p, const struct seen *s, uint32_t id,
				      ring_context context, const void *payload, uint32_t size,
				      uint64_t t_ns)
{
	char header[RING_HEADER_BYTES_MAX];
	struct prepared e = { .seen = *s, .header = header, .payload = payload };

	e.header_size = ring_put_header(p, header, id, context, t_ns, s->last_ns);
	e.payload_size = size;
	e.new_word =
		ABI_WORD(t_ns - s->begin_ns, ABI_POS_OF(s->word) + (uint32_t)e.header_size + size);
	return append(&e);
}

static bool write_slow(struct pool *p, uint32_t id, ring_context context, const void *payload,
		       uint32_t size, int aborts)
{
	struct abi_chunk *fresh = NULL;
	struct seen s = { 0 };
	enum ring_outcome r = RING_ABORTED;

	for (; r == RING_ABORTED && aborts <= MAX_ABORTS && read_cpu(p, &s); aborts++) {
		uint64_t t_ns = now_after(p, &s);

		if (fits(p, &s, t_ns, size))
			r = append_event(p, &s, id, context, payload, size, t_ns);
		else if (s.chunk && ABI_POS_OF(s.word) == sizeof *s.chunk)
			set(&s, &s.chunk->begin_ns, t_ns); /* then it fits */
		else if (replace(p, &s, t_ns, &fresh) == RING_SLOW)
			r = RING_SLOW;
	}
	if (fresh)
		pool_unclaim(p, fresh);
	if (r == RING_SLOW)
		fetch_add(&pool_slot(p, (uint32_t)s.cpu)->lost, 1);
	if (r != RING_ABORTED)
		return r == RING_DONE;
	return ring_write_exclusive(p, id, context, payload, size);
}

bool ring_write_slow(struct pool *p, uint32_t id, ring_context context, const void *payload,
		     uint32_t size)
{
	bool is_coarse = ring_may_be_coarse(p, size);

	if (!is_coarse && !ring_may_restart(p, size))
		return ring_write_exclusive(p, id, context, payload, size);
	for (int aborts = 0; aborts <= MAX_ABORTS; aborts++) {
		enum ring_outcome r = is_coarse ? ring_try_coarse(p, id, context, payload, size)
						: ring_try(p, id, context, payload, size);

		if (r == RING_DONE)
			return true;
		if (r == RING_SLOW)
			return write_slow(p, id, context, payload, size, aborts);
	}
	return ring_write_exclusive(p, id, context, payload, size);
}

#else

bool ring_write_slow(struct pool *p, uint32_t id, ring_context context, const void *payload,
		     uint32_t size)
{
	return ring_write_exclusive(p, id, context, payload, size);
}

#endif
