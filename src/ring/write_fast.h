/* SPDX-License-Identifier: MIT */
/*
 * ring/write_fast.h - the one sequence that nearly every event takes; inlined into its caller.
 *
 * Why it is right: ring/write.c.  Everything before the last store may be thrown away at any
 * instruction; nothing here is seen by anybody until then.
 */
#ifndef RING_WRITE_FAST_H
#define RING_WRITE_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/pool.h"
#include "ring/rseq.h"

typedef uint64_t ring_context;
enum ring_outcome { RING_DONE, RING_ABORTED, RING_SLOW };

#if RSEQ_HAVE_SEQUENCES

/* Whether this process, with this pool, can use restartable sequences for an event of @size bytes. */
static inline bool ring_may_restart(const struct pool *p, uint32_t size)
{
	return rseq_offset && p->clock.kind == ABI_CLOCK_TSC && size <= p->chunk_size / 4;
}

_Static_assert(offsetof(struct pool, chunks) == 0 && offsetof(struct pool, slots) == 8 &&
		       offsetof(struct pool, mult) == 16 && offsetof(struct pool, offset_ns) == 24 &&
		       offsetof(struct pool, chunk_mask) == 32 &&
		       offsetof(struct pool, n_cpus) == 40 &&
		       offsetof(struct pool, chunk_size) == 44,
	       "the sequence below reads them by these numbers");
_Static_assert(offsetof(struct abi_chunk, word) == 0 && offsetof(struct abi_chunk, begin_ns) == 8,
	       "likewise");

/*
 * ring_try - the common case: an open chunk with room, a short time since its last event.
 *
 * Only if ring_may_restart(p, size).  RING_SLOW: something else must be done first.
 */
static inline enum ring_outcome ring_try(struct pool *p, uint64_t id, ring_context context,
					 const void *payload, uint64_t size)
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
		"negq %%rdx\n\t"
		"addq %%r8, %%rdx\n\t"
		"shrq $32, %%rdx\n\t"
		"jnz %l[slow]\n\t" /* too long ago for a short header, or in the future */
		"leaq 21(%%rdi,%[size]), %%rdx\n\t" /* header and payload, rounded up to words */
		"cmpl 44(%[pool]), %%edx\n\t"
		"ja %l[slow]\n\t" /* no room */
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
		: [rseq] "m"(rseq_offset), [pool] "r"(p), [id] "r"(id), [context] "r"(context),
		  [payload] "r"(payload), [size] "r"(size)
		: "rax", "rcx", "rdx", "rdi", "r8", "memory", "cc"
		: aborted, slow);
	return RING_DONE;
aborted:
	return RING_ABORTED;
slow:
	return RING_SLOW;
}

#else

static inline bool ring_may_restart(const struct pool *p, uint32_t size)
{
	(void)p;
	(void)size;
	return false;
}

static inline enum ring_outcome ring_try(struct pool *p, uint64_t id, ring_context context,
					 const void *payload, uint64_t size)
{
	(void)p;
	(void)id;
	(void)context;
	(void)payload;
	(void)size;
	return RING_SLOW;
}

#endif
#endif
