/* SPDX-License-Identifier: MIT */
/*
 * ring/write_coarse.h - the sequence of a coarse pool: most events take the time of the one before.
 *
 * Reading the clock is the most expensive part of an event.  In a coarse pool it is read by
 *
 *   (1) the first event of a chunk, and the first that begins at coarse_end or beyond
 *   (2) the first event of a thread after it was interrupted: preempted, asleep, moved, or in a signal
 *       handler
 *   (3) the first event of a thread after one of its events went to another pool, or the exclusive
 *       path: so the times of a thread's events never run back, even in several streams
 *   (4) the first event after the collector looked: it sets coarse_end to 0, each COARSE_MS
 *       (collect/drain/interval.h)
 *
 * So an event is never stamped late, and it is early by at most the time since one of these.  By (1)
 * that is short in a steady stream: the next stretch is at most twice as long as the last one, if that
 * took COARSE_DENSE_NS or less, and there is none otherwise.  By (2) an event that a thread writes
 * after it was woken is not before the events that led to it.  (4) bounds the rest; without a collector
 * that lives, COARSE_BYTES per CPU remain.
 *
 * (2) needs no further shared word: the kernel sets rseq_cs to NULL when it interrupts a thread outside of
 * a sequence (rseq(2)).  So if rseq_cs still is one of ours, nothing has interrupted the thread since.
 *
 * Order within a chunk: an event's time is at least that of the event before.  The commit is the same
 * as in all other sequences, ring/write.c.  Design and figures: docs/design/coarse-clock.md.
 */
#ifndef RING_WRITE_COARSE_H
#define RING_WRITE_COARSE_H

#include "ring/write.h"

/* ring_coarse_chunk - the chunk of this thread's last event, if a sequence below has read the clock for it and
 * no event went elsewhere since; else NULL or another. */
extern __thread const struct abi_chunk *ring_coarse_chunk
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

#if RSEQ_HAVE_SEQUENCES

/* Whether the sequences here can write an event of @size bytes. */
static inline bool ring_may_be_coarse(const struct pool *p, uint32_t size)
{
	return rseq_offset && size < p->coarse_bytes;
}

_Static_assert(offsetof(struct abi_chunk, coarse_begin) == 32 &&
		       offsetof(struct abi_chunk, coarse_end) == 36,
	       "the sequences read them by these numbers");

/* Descriptors of the sequences here alone: see (2).  The linker defines both ends. */
#define RING_COARSE_SECTION "duet_coarse_cs"
extern const char __start_duet_coarse_cs[] __attribute__((visibility("hidden")));
extern const char __stop_duet_coarse_cs[] __attribute__((visibility("hidden")));

/*
 * The beginning, in place of RING_OPEN_EVENT; the same parameters.  If the thread is interrupted
 * between the look at rseq_cs and the store there, and stays on its CPU, that is as if the event had
 * come before.  If it moves, it finds another chunk than its last one.
 */
#define RING_OPEN_COARSE(get, size, room, header)                                                  \
	"movq %[rseq], %%rdi\n\t"                                                                  \
	"movq %%fs:8(%%rdi), %%rdx\n\t"                                                            \
	"leaq %[cs], %%rax\n\t"                                                                    \
	"leaq %[cs_end], %%r9\n\t"                                                                 \
	"subq %%rax, %%rdx\n\t"                                                                    \
	"subq %%rax, %%r9\n\t"                                                                     \
	"cmpq %%r9, %%rdx\n\t"                                                                     \
	"jae %l[slow]\n\t" /* interrupted */                                                       \
		RSEQ_BEGIN_IN(RING_COARSE_SECTION) RING_FIND_CHUNK                                 \
		"cmpq %[last], %%rcx\n\t"                                                          \
		"jne %l[slow]\n\t"	 /* moved, or an event went elsewhere */                   \
		"movq (%%rcx), %%r9\n\t" /* the commit word */                                     \
		"movl %%r9d, %%edi\n\t"                                                            \
		"andl $0xffffff, %%edi\n\t" /* rdi: the position */                                \
		"cmpl 36(%%rcx), %%edi\n\t"                                                        \
		"jae %l[slow]\n\t" /* the clock has to be read */                                  \
		"movq %%r9, %%rax\n\t"                                                             \
		"shrq $24, %%rax\n\t"                                                              \
		"addq 8(%%rcx), %%rax\n\t"	      /* rax: the time of the last event */        \
		get "leaq 4(%%r9," size "), %%r8\n\t" /* its time stays in the new word */         \
		"leaq " room "(%%rdi," size "), %%rdx\n\t"                                         \
		"cmpl 44(%[pool]), %%edx\n\t"                                                      \
		"ja %l[slow]\n\t" /* no room */                                                    \
		"shll $5, %%eax\n\t"                                                               \
		"xorl %%r9d, %%r9d\n\t" /* the header adds to it */                                \
		"prefetchw 256(%%rcx,%%rdi)\n\t" header "movq %[context], 4(%%rcx,%%rdi)\n\t"      \
		"addq 56(%[pool]), %%rdi\n\t"                                                      \
		"addq 56(%[pool]), %%r8\n\t"                                                       \
		"addq %%r9, %%r8\n\t"

#define RING_COARSE_WORDS(header)                                                                  \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_COARSE("movl %[size], %%edx\n\t", "%%rdx", "44", header) RING_PUT_WORDS  \
		"82:\t" RING_COMMIT_EVENT                                                          \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [size] "m"(*size), [w0] "x"(w0),           \
		  [w1] "x"(w1), [w2] "x"(w2), [w3] "x"(w3), [last] "m"(ring_coarse_chunk),         \
		  [cs] "m"(*__start_duet_coarse_cs), [cs_end] "m"(*__stop_duet_coarse_cs)          \
		: RING_EVENT_CLOBBERS                                                              \
		: aborted, slow)

#define RING_COARSE_TEXT(header)                                                                   \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_COARSE("movl %[size], %%edx\n\t", "%%rdx", "44", header)                 \
			RING_PUT_TEXT RING_COMMIT_EVENT                                            \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [size] "m"(*size), [w0] "x"(w0),           \
		  [w1] "x"(w1), [text] "r"(text), [last] "m"(ring_coarse_chunk),                   \
		  [cs] "m"(*__start_duet_coarse_cs), [cs_end] "m"(*__stop_duet_coarse_cs)          \
		: RING_EVENT_CLOBBERS, "r10", "xmm5", "xmm6", "xmm7"                               \
		: aborted, slow)

#define RING_COARSE_PREFIXED(header)                                                               \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_COARSE("movl %[size], %%edx\n\t", "%%rdx", "100", header)                \
			RING_PUT_PREFIX RING_PUT_WORDS "82:\t" RING_COMMIT_EVENT                   \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [prefix] "r"(prefix), [what] "rm"(what),   \
		  [w] "x"(w), [w_bytes] "m"(w_bytes), [size] "m"(*size), [w0] "x"(w0),             \
		  [w1] "x"(w1), [w2] "x"(w2), [w3] "x"(w3), [last] "m"(ring_coarse_chunk),         \
		  [cs] "m"(*__start_duet_coarse_cs), [cs_end] "m"(*__stop_duet_coarse_cs)          \
		: RING_EVENT_CLOBBERS, "xmm5", "xmm6"                                              \
		: aborted, slow)

#define RING_COARSE_PREFIXED_TEXT(header)                                                          \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_COARSE("movl %[size], %%edx\n\t", "%%rdx", "100", header)                \
			RING_PUT_PREFIX RING_PUT_TEXT RING_COMMIT_EVENT                            \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [prefix] "r"(prefix), [what] "rm"(what),   \
		  [w] "x"(w), [w_bytes] "m"(w_bytes), [size] "m"(*size), [w0] "x"(w0),             \
		  [w1] "x"(w1), [text] "r"(text), [last] "m"(ring_coarse_chunk),                   \
		  [cs] "m"(*__start_duet_coarse_cs), [cs_end] "m"(*__stop_duet_coarse_cs)          \
		: RING_EVENT_CLOBBERS, "r10", "xmm5", "xmm6", "xmm7"                               \
		: aborted, slow)

/*
 * ring_try_coarse_words - ring_try_words() without a look at the clock.
 *
 * Only if ring_may_be_coarse(p, size).  RING_SLOW: ring_write_slow() has to read the clock.
 */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_coarse_words(struct pool *p, uint32_t id, ring_context context, const uint32_t *size,
		      uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	RING_TRY(id, RING_COARSE_WORDS);
}

/* ring_try_coarse_text - ring_try_text() in the same way. */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_coarse_text(struct pool *p, uint32_t id, ring_context context, const uint32_t *size,
		     uint64_t w0, uint64_t w1, const char *text)
{
	RING_TRY(id, RING_COARSE_TEXT);
}

/* ring_try_coarse_prefixed, ring_try_coarse_prefixed_text - ring_try_prefixed() and
 * ring_try_prefixed_text() in the same way. */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_coarse_prefixed(struct pool *p, uint32_t id, ring_context context,
			 const struct ring_prefix *prefix, uint64_t what, uint64_t w,
			 uint64_t w_bytes, const uint32_t *size, uint64_t w0, uint64_t w1,
			 uint64_t w2, uint64_t w3)
{
	RING_TRY(id, RING_COARSE_PREFIXED);
}

static inline __attribute__((always_inline)) enum ring_outcome
ring_try_coarse_prefixed_text(struct pool *p, uint32_t id, ring_context context,
			      const struct ring_prefix *prefix, uint64_t what, uint64_t w,
			      uint64_t w_bytes, const uint32_t *size, uint64_t w0, uint64_t w1,
			      const char *text)
{
	RING_TRY(id, RING_COARSE_PREFIXED_TEXT);
}

/* ring_try_coarse - ring_try() in a coarse pool; reads the clock if it has to.  RING_SLOW: as there. */
enum ring_outcome ring_try_coarse(struct pool *p, uint32_t id, ring_context context,
				  const void *payload, uint64_t size);

#else

static inline bool ring_may_be_coarse(const struct pool *p, uint32_t size)
{
	(void)p;
	(void)size;
	return false;
}

static inline enum ring_outcome ring_try_coarse_words(struct pool *p, uint32_t id,
						      ring_context context, const uint32_t *size,
						      uint64_t w0, uint64_t w1, uint64_t w2,
						      uint64_t w3)
{
	return ring_try_words(p, id, context, size, w0, w1, w2, w3);
}

static inline enum ring_outcome ring_try_coarse_text(struct pool *p, uint32_t id,
						     ring_context context, const uint32_t *size,
						     uint64_t w0, uint64_t w1, const char *text)
{
	return ring_try_text(p, id, context, size, w0, w1, text);
}

static inline enum ring_outcome
ring_try_coarse_prefixed(struct pool *p, uint32_t id, ring_context context,
			 const struct ring_prefix *prefix, uint64_t what, uint64_t w,
			 uint64_t w_bytes, const uint32_t *size, uint64_t w0, uint64_t w1,
			 uint64_t w2, uint64_t w3)
{
	return ring_try_prefixed(p, id, context, prefix, what, w, w_bytes, size, w0, w1, w2, w3);
}

static inline enum ring_outcome
ring_try_coarse_prefixed_text(struct pool *p, uint32_t id, ring_context context,
			      const struct ring_prefix *prefix, uint64_t what, uint64_t w,
			      uint64_t w_bytes, const uint32_t *size, uint64_t w0, uint64_t w1,
			      const char *text)
{
	return ring_try_prefixed_text(p, id, context, prefix, what, w, w_bytes, size, w0, w1, text);
}

#endif
#endif
