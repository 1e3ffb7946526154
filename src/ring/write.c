/* SPDX-License-Identifier: MIT */
/*
 * ring/write.c - the W path: the whole event inside one restartable sequence.
 *
 * Each CPU has one open chunk, shared by all programs of the pool.  The sequence reads the CPU, its
 * chunk and the clock, stores header and payload, and ends with one store of the commit word.  What
 * interrupts it before that store - preemption, migration, a signal - sends it back to its start:
 *
 *   (1) on one CPU at most one sequence is between its start and its commit
 *   (2) so position and time of an open chunk have one writer at a time, and only grow
 *   (3) below the word there are whole events only, whoever dies where
 *   (4) a chunk that was replaced in its slot is final: the replacing store is itself such a
 *       sequence, and it has sent every other one on this CPU back
 *
 * There is no LOCK prefix, and nothing between reserving and committing that could be left open.
 * After MAX_ABORTS (a debugger stepping, a storm of signals) the X path takes the event.
 *
 * The idea of per-CPU commits by restartable sequences: Turner and Hunter, "Restartable sequences"
 * (2013), and Desnoyers' rseq(2).  Design and figures: docs/design/ring.md.
 */
#include "ring/write.h"

#include <string.h>

#include "clock/clock.h"
#include "ring/rseq.h"
#include "ring/write_internal.h"

#if RSEQ_HAVE_SEQUENCES

enum { MAX_ABORTS = 20 };
enum outcome { DONE, ABORTED, SLOW };

_Static_assert(offsetof(struct pool, chunks) == 0 && offsetof(struct pool, slots) == 8 &&
		       offsetof(struct pool, mult) == 16 && offsetof(struct pool, offset_ns) == 24 &&
		       offsetof(struct pool, chunk_mask) == 32 &&
		       offsetof(struct pool, n_cpus) == 40,
	       "the sequence below reads them by these numbers");
_Static_assert(offsetof(struct abi_chunk, word) == 0 && offsetof(struct abi_chunk, begin_ns) == 8,
	       "likewise");

/*
 * The common case: an open chunk with room, a short time since its last event.  @limit is the last
 * position at which the event fits with its payload rounded up to words.
 */
static inline enum outcome try_fast(struct pool *p, uint64_t id, ring_context context,
				    const void *payload, uint64_t size, uint64_t limit)
{
	__asm__ goto volatile(
		RSEQ_BEGIN
		"movl " RSEQ_CPU ", %%eax\n\t"
		"cmpl 40(%[pool]), %%eax\n\t" /* unsigned: unregistered is too large as well */
		"jae %l[slow]\n\t"
		"shll $7, %%eax\n\t"
		"addq 8(%[pool]), %%rax\n\t"
		"movq (%%rax), %%rcx\n\t" /* reference to the open chunk */
		"testb $1, %%cl\n\t"
		"jz %l[slow]\n\t"
		"andq 32(%[pool]), %%rcx\n\t"
		"addq (%[pool]), %%rcx\n\t" /* rcx: the chunk */
		"rdtsc\n\t"
		"shlq $32, %%rdx\n\t"
		"orq %%rdx, %%rax\n\t"
		"mulq 16(%[pool])\n\t"
		"shrdq $32, %%rdx, %%rax\n\t"
		"addq 24(%[pool]), %%rax\n\t" /* rax: now, ns */
		"movq (%%rcx), %%rdx\n\t"
		"movq %%rax, %%r8\n\t"
		"subq 8(%%rcx), %%r8\n\t" /* r8: ns since the chunk began */
		"movl %%edx, %%edi\n\t"
		"andl $0xffffff, %%edi\n\t" /* rdi: position */
		"shrq $24, %%rdx\n\t" /* rdx: time of the last event */
		"cmpq %[limit], %%rdi\n\t"
		"ja %l[slow]\n\t"
		"negq %%rdx\n\t"
		"addq %%r8, %%rdx\n\t"
		"shrq $32, %%rdx\n\t"
		"jnz %l[slow]\n\t" /* too long ago for a short header, or in the future */
		"btq $40, %%r8\n\t"
		"jc %l[slow]\n\t" /* the chunk is too old */
		"shlq $24, %%r8\n\t"
		"addq %%rdi, %%r8\n\t" /* r8: the new word, but for the length */
		"addq %%rcx, %%rdi\n\t" /* rdi: where the event goes */
		"shlq $16, %%rax\n\t"
		"orq %[id], %%rax\n\t"
		"movq %%rax, (%%rdi)\n\t" /* id, time; the rest is overwritten: */
		"movq %[context], 6(%%rdi)\n\t"
		"leaq 7(%[size]), %%rdx\n\t"
		"shrq $3, %%rdx\n\t"
		"jz 82f\n"
		"81:\tmovq -8(%[payload],%%rdx,8), %%rax\n\t"
		"movq %%rax, 6(%%rdi,%%rdx,8)\n\t"
		"decq %%rdx\n\t"
		"jnz 81b\n"
		"82:\tleaq 14(%%r8,%[size]), %%r8\n\t"
		"movq %%r8, (%%rcx)\n\t" /* [A] the commit; x86 keeps stores in order */
		RSEQ_END("aborted")
		:
		: [rseq] "r"(rseq_offset), [pool] "r"(p), [id] "r"(id), [context] "r"(context),
		  [payload] "r"(payload), [size] "r"(size), [limit] "r"(limit)
		: "rax", "rcx", "rdx", "rdi", "r8", "memory", "cc"
		: aborted, slow);
	return DONE;
aborted:
	return ABORTED;
slow:
	return SLOW;
}

/* What the slow path saw of a CPU's chunk; its sequences commit only if it still is so. */
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

static bool look(const struct pool *p, struct seen *s)
{
	s->cpu = load(&rseq_self()->cpu_id);
	if (s->cpu >= p->n_cpus)
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

/* Makes @fresh the open chunk of seen->cpu, if nothing happened there since. */
static enum outcome install(const struct seen *s, uint64_t fresh)
{
	__asm__ goto volatile(
		RSEQ_BEGIN
		"movq 0(%[seen]), %%rax\n\t"
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
		"82:\tmovq %[fresh], (%%rcx)\n\t"
		RSEQ_END("aborted")
		:
		: [rseq] "r"(rseq_offset), [seen] "r"(s), [fresh] "r"(fresh)
		: "rax", "rcx", "rdx", "memory", "cc"
		: aborted);
	return DONE;
aborted:
	return ABORTED;
}

/* An event built by us, to be copied behind what was seen. */
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

static enum outcome append(const struct prepared *e)
{
	__asm__ goto volatile(
		RSEQ_BEGIN
		"movq 0(%[e]), %%rax\n\t"
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
		: [rseq] "r"(rseq_offset), [e] "r"(e)
		: "rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc"
		: aborted);
	return DONE;
aborted:
	return ABORTED;
}

/*
 * The clock is read after the word: if the word is unchanged at the commit, no later time was
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
	       p->chunk_size - pos >= RING_EXTENDED_BYTES + size &&
	       t_ns - s->begin_ns < ABI_SINCE_MAX;
}

/* Replaces the CPU's chunk by *fresh, claiming it first if needed.  SLOW: there is none to have. */
static enum outcome replace(struct pool *p, const struct seen *s, uint64_t t_ns,
			    struct abi_chunk **fresh)
{
	struct abi_chunk *c = *fresh ? *fresh : pool_claim(p);

	if (!c)
		return SLOW;
	*fresh = c;
	c->begin_ns = t_ns;
	c->sequence = s->chunk ? load(&s->chunk->sequence) + 1 : 0;
	c->cpu = (uint32_t)s->cpu;
	c->path = ABI_PATH_W;
	if (install(s, pool_ref(p, c)) != DONE)
		return ABORTED;
	*fresh = NULL;
	if (s->chunk)
		pool_close(p, s->chunk, s->state);
	return DONE;
}

static enum outcome append_slowly(const struct seen *s, uint32_t id, ring_context context,
				  const void *payload, uint32_t size, uint64_t t_ns)
{
	char header[RING_EXTENDED_BYTES];
	struct prepared e = { .seen = *s, .header = header, .payload = payload };

	e.header_size = ring_put_header(header, id, context, t_ns, s->last_ns);
	e.payload_size = size;
	e.new_word = ABI_WORD(t_ns - s->begin_ns,
			      ABI_POS_OF(s->word) + (uint32_t)e.header_size + size);
	return append(&e);
}

static __attribute__((noinline, cold)) bool write_slow(struct pool *p, uint32_t id,
						       ring_context context, const void *payload,
						       uint32_t size, int aborts)
{
	struct abi_chunk *fresh = NULL;
	struct seen s = { 0 };
	enum outcome r = ABORTED;

	for (; r == ABORTED && aborts <= MAX_ABORTS && look(p, &s); aborts++) {
		uint64_t t_ns = now_after(p, &s);

		if (fits(p, &s, t_ns, size))
			r = append_slowly(&s, id, context, payload, size, t_ns);
		else if (replace(p, &s, t_ns, &fresh) == SLOW)
			r = SLOW;
	}
	if (fresh)
		pool_unclaim(p, fresh);
	if (r == SLOW)
		fetch_add(&pool_slot(p, (uint32_t)s.cpu)->lost, 1);
	if (r != ABORTED)
		return r == DONE;
	return ring_write_exclusive(p, id, context, payload, size);
}

bool ring_write(struct pool *p, uint32_t id, ring_context context, const void *payload,
		uint32_t size)
{
	enum outcome r;

	if (unlikely(!rseq_offset || p->clock.kind != ABI_CLOCK_TSC || size > p->chunk_size / 4))
		return ring_write_exclusive(p, id, context, payload, size);
	for (int aborts = 0; aborts <= MAX_ABORTS; aborts++) {
		r = try_fast(p, id, context, payload, size,
			     p->chunk_size - RING_HEADER_BYTES - ((size + 7) & ~7u));
		if (likely(r == DONE))
			return true;
		if (r == SLOW)
			return write_slow(p, id, context, payload, size, aborts);
	}
	return ring_write_exclusive(p, id, context, payload, size);
}

#else

bool ring_write(struct pool *p, uint32_t id, ring_context context, const void *payload,
		uint32_t size)
{
	return ring_write_exclusive(p, id, context, payload, size);
}

#endif
