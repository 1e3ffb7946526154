/* SPDX-License-Identifier: MIT */
/* ring/coarse.c - an event of a coarse pool, with a payload in memory: see ring/write_coarse.h. */
#include "ring/write_coarse.h"

__thread const struct abi_chunk *ring_coarse_chunk;

#if RSEQ_HAVE_SEQUENCES

#define COARSE_DENSE_NS "32768"
#define COARSE_HALF_BYTES "512" /* half of the longest stretch: 1 KiB, 73 ints */

/* Takes the time of the event before. */
#define TAKE_TIME(header)                                                                          \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_COARSE("", "%[size]", "19", header) RING_PUT_BYTES RING_COMMIT_EVENT     \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "r"(context), [payload] "r"(payload), [size] "r"(size),  \
		  [last] "m"(ring_coarse_chunk), [cs] "m"(*__start_duet_coarse_cs),                \
		  [cs_end] "m"(*__stop_duet_coarse_cs)                                             \
		: RING_EVENT_CLOBBERS                                                              \
		: aborted, slow)

/*
 * Reads the clock, and sets the next stretch: r10 bytes were written since the clock was read last, r8
 * ns ago.  coarse_begin and coarse_end are overwritten before the commit; a sequence that is aborted
 * between leaves a stretch behind an event that is at most COARSE_DENSE_NS old.  Both accept any
 * value.
 */
#define READ_TIME(header)                                                                          \
	__asm__ goto volatile(                                                                     \
		RSEQ_BEGIN_IN(RING_COARSE_SECTION) RING_FIND_CHUNK RING_READ_CLOCK                 \
		"movl %%edi, %%r10d\n\t"                                                           \
		"subl 32(%%rcx), %%r10d\n\t"                                                       \
		"cmpq $" COARSE_DENSE_NS ", %%r8\n\t"                                              \
		"jbe 84f\n\t"                                                                      \
		"xorl %%r10d, %%r10d\n"                                                            \
		"84:\tcmpl $" COARSE_HALF_BYTES ", %%r10d\n\t"                                     \
		"jbe 85f\n\t"                                                                      \
		"movl $" COARSE_HALF_BYTES ", %%r10d\n"                                            \
		"85:\tleal (%%rdi,%%r10,2), %%r10d\n\t"                                            \
		"movl %%edi, 32(%%rcx)\n\t"                                                        \
		"movl %%r10d, 36(%%rcx)\n\t" RING_STORE_HEADER("", "%[size]", "19", header)        \
			RING_PUT_BYTES "movq %%rcx, %[last]\n\t" RING_COMMIT_EVENT                 \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "r"(context), [payload] "r"(payload), [size] "r"(size),  \
		  [last] "m"(ring_coarse_chunk)                                                    \
		: RING_EVENT_CLOBBERS, "r10"                                                       \
		: aborted, slow)

static enum ring_outcome take_time(struct pool *p, uint32_t id, ring_context context,
				   const void *payload, uint64_t size)
{
	RING_TRY(id, TAKE_TIME);
}

static enum ring_outcome read_time(struct pool *p, uint32_t id, ring_context context,
				   const void *payload, uint64_t size)
{
	RING_TRY(id, READ_TIME);
}

enum ring_outcome ring_try_coarse(struct pool *p, uint32_t id, ring_context context,
				  const void *payload, uint64_t size)
{
	enum ring_outcome r = take_time(p, id, context, payload, size);

	if (r == RING_SLOW) {
		store(&ring_coarse_chunk, NULL); /* if this fails, rseq_cs is ours all the same */
		r = read_time(p, id, context, payload, size);
	}
	return r;
}

#endif
