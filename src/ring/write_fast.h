/* SPDX-License-Identifier: MIT */
/*
 * ring/write_fast.h - the one sequence that nearly every event takes; inlined into its caller.
 *
 * The kernel may restart it at any instruction before the last store.  Until that store no other
 * thread or process can see the event.  Why it is correct: ring/write.c.
 */
#ifndef RING_WRITE_FAST_H
#define RING_WRITE_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/ctf.h"
#include "ring/pool.h"
#include "ring/rseq.h"

/* The threads of an event, in its low 48 bits: struct abi_ctf_ids.  Not stored in a pool whose
 * context_bytes are 0. */
typedef uint64_t ring_context;
enum ring_outcome { RING_DONE, RING_ABORTED, RING_SLOW };

/*
 * Bytes between header and payload that are the same for many events of a thread, such as its name.
 * They are copied in units of 16 bytes, so `bytes` is read behind `size` too.
 */
enum { RING_PREFIX_BYTES_MAX = 48 };
struct ring_prefix {
	uint64_t what; /* the caller's number for the content; 0: being changed */
	uint32_t size;
	uint32_t unused;
	char bytes[RING_PREFIX_BYTES_MAX];
};
_Static_assert(offsetof(struct ring_prefix, size) == 8 && offsetof(struct ring_prefix, bytes) == 16,
	       "ring_try_prefixed reads them by these numbers");

#if RSEQ_HAVE_SEQUENCES

/* Whether this process, with this pool, can use the sequences below for an event of @size bytes.  Not
 * in a coarse pool: ring/write_coarse.h. */
static inline bool ring_may_restart(const struct pool *p, uint32_t size)
{
	return rseq_offset && size < p->restart_bytes;
}

_Static_assert(offsetof(struct pool, chunks) == 0 && offsetof(struct pool, slots) == 8 &&
		       offsetof(struct pool, mult) == 16 &&
		       offsetof(struct pool, offset_ns) == 24 &&
		       offsetof(struct pool, chunk_mask) == 32 &&
		       offsetof(struct pool, n_cpus) == 40 &&
		       offsetof(struct pool, chunk_size) == 44 &&
		       offsetof(struct pool, gap_max_ns) == 48 &&
		       offsetof(struct pool, context_bytes) == 56,
	       "the sequence below reads them by these numbers");
_Static_assert(offsetof(struct abi_chunk, word) == 0 && offsetof(struct abi_chunk, begin_ns) == 8,
	       "likewise");
_Static_assert(ABI_CTF_ID_BITS == 5 && ABI_CTF_WIDE == 30 && sizeof(struct abi_ctf_ids) <= 8,
	       "likewise");

/*
 * The beginning of each sequence for an event of @size bytes; @get loads a register with that size.
 * It goes to `slow` unless @room more bytes lie before the chunk's end: the header, and all that
 * may be stored after the payload.  @header stores the header.  Afterwards the threads are stored as
 * well, rcx is the chunk, rdi the position 4 bytes before what follows them, and r8 is the new
 * commit word.
 *
 * RDTSC comes as soon as the chunk is known.  On Intel (Sapphire Rapids) it begins when all older
 * instructions are complete and nothing younger issues meanwhile, so the loads of the look-up are
 * hidden before it, not behind it; on Zen 4 this place is unmeasured.  On both the next RDTSC waits
 * for all that depends on this one, and for the addresses of all stores.  So both chains behind it
 * are short: lengths are added to the old word, not to the new one, and stores have the chunk as
 * base and the position as index.  ns = ticks * mult >> 32 is computed from the halves of the ticks,
 * which is exact as long as mult has 32 bits: ring_may_restart().
 *
 * The new word is the old one plus the time since the last event (27 bits, checked) in the word's
 * upper 40 bits: a carry out of the word means that the chunk is too old.
 */
#define RING_OPEN_EVENT(get, size, room, header)                                                   \
	RSEQ_BEGIN RING_FIND_CHUNK RING_READ_CLOCK RING_STORE_HEADER(get, size, room, header)

/* rcx: the open chunk of this CPU. */
#define RING_FIND_CHUNK                                                                            \
	"movl " RSEQ_CPU ", %%ecx\n\t"                                                             \
	"cmpl 40(%[pool]), %%ecx\n\t" /* unsigned: unregistered is too large as well */            \
	"jae %l[slow]\n\t"                                                                         \
	"cmpl $0, %[knows_cpu]\n\t"                                                                \
	"je 80f\n\t" RSEQ_RDPID "xorl %%ecx, %%edx\n\t"                                            \
	"testl $0xfff, %%edx\n\t"                                                                  \
	"jnz %l[slow]\n" /* the kernel does not restart us: a child of vfork */                    \
	"80:\tshll $7, %%ecx\n\t"                                                                  \
	"addq 8(%[pool]), %%rcx\n\t"                                                               \
	"movq (%%rcx), %%rcx\n\t" /* reference to the open chunk */                                \
	"testb $1, %%cl\n\t"                                                                       \
	"jz %l[slow]\n\t"                                                                          \
	"andq 32(%[pool]), %%rcx\n\t"                                                              \
	"addq (%[pool]), %%rcx\n\t"

/* rax: now, before the offset is added; rdi: the position; r8: ns since the last event; r9: the commit
 * word. */
#define RING_READ_CLOCK                                                                            \
	"rdtsc\n\t"                                                                                \
	"imulq 16(%[pool]), %%rdx\n\t"                                                             \
	"imulq 16(%[pool]), %%rax\n\t"                                                             \
	"shrq $32, %%rax\n\t"                                                                      \
	"addq %%rdx, %%rax\n\t"                                                                    \
	"movq (%%rcx), %%r9\n\t"                                                                   \
	"movq 24(%[pool]), %%r8\n\t"                                                               \
	"subq 8(%%rcx), %%r8\n\t" /* rax + r8: ns since the chunk began */                         \
	"movl %%r9d, %%edi\n\t"                                                                    \
	"andl $0xffffff, %%edi\n\t"                                                                \
	"movq %%r9, %%rdx\n\t"                                                                     \
	"shrq $24, %%rdx\n\t" /* rdx: time of the last event, since then too */                    \
	"subq %%rdx, %%r8\n\t"                                                                     \
	"addq %%rax, %%r8\n\t"                                                                     \
	"cmpq 48(%[pool]), %%r8\n\t"                                                               \
	"ja %l[slow]\n\t" /* too long ago for a short header, or in the future */

/* The rest; r8 becomes the new word. */
#define RING_STORE_HEADER(get, size, room, header)                                                  \
	get "leaq 4(%%r9," size "), %%r9\n\t"                                                       \
	    "leaq " room "(%%rdi," size "), %%rdx\n\t"                                              \
	    "cmpl 44(%[pool]), %%edx\n\t"                                                           \
	    "ja %l[slow]\n\t" /* no room */                                                         \
	    "addq 24(%[pool]), %%rax\n\t"                                                           \
	    "shll $5, %%eax\n\t" /* lines that the collector has read, perhaps on another CPU */    \
	    "prefetchw 256(%%rcx,%%rdi)\n\t" header                                                 \
	    "movq %[context], 4(%%rcx,%%rdi)\n\t" /* 6 or 0 bytes of it; the rest is overwritten */ \
	    "addq 56(%[pool]), %%rdi\n\t"                                                           \
	    "addq 56(%[pool]), %%r9\n\t"                                                            \
	    "shlq $24, %%r8\n\t"                                                                    \
	    "addq %%r9, %%r8\n\t"                                                                   \
	    "jc %l[slow]\n\t" /* the chunk is too old */

/* The header of a class below ABI_CTF_WIDE, and of all others; eax is the time, above 5 bits. */
#define RING_SHORT_HEADER                                                                          \
	"orl %[id], %%eax\n\t"                                                                     \
	"movl %%eax, (%%rcx,%%rdi)\n\t"
#define RING_WIDE_HEADER                                                                           \
	"orl $30, %%eax\n\t"                                                                       \
	"movl %%eax, (%%rcx,%%rdi)\n\t"                                                            \
	"movl %[id], %%eax\n\t"                                                                    \
	"movw %%ax, 4(%%rcx,%%rdi)\n\t"                                                            \
	"addq $2, %%rdi\n\t"                                                                       \
	"addq $2, %%r9\n\t"

/* The end, when r8 includes all lengths. */
#define RING_COMMIT_EVENT                                                                          \
	"movq %%r8, (%%rcx)\n\t" /* [A] the commit; x86 keeps stores in order */                   \
		RSEQ_END("aborted")

#define RING_EVENT_CLOBBERS "rax", "rcx", "rdx", "rdi", "r8", "r9", "memory", "cc"

/* Pieces of several sequences, between RING_OPEN_EVENT and RING_COMMIT_EVENT; rdi and r8 go on. */

/* *size bytes of w0 to w3; more bytes are stored, and ignored.  Goes to 82, which follows. */
#define RING_PUT_WORDS                                                                             \
	"movl %[size], %%edx\n\t"                                                                  \
	"movq %[w0], 4(%%rcx,%%rdi)\n\t"                                                           \
	"cmpl $8, %%edx\n\t"                                                                       \
	"jbe 82f\n\t"                                                                              \
	"movq %[w1], 12(%%rcx,%%rdi)\n\t"                                                          \
	"cmpl $16, %%edx\n\t"                                                                      \
	"jbe 82f\n\t"                                                                              \
	"movq %[w2], 20(%%rcx,%%rdi)\n\t"                                                          \
	"movq %[w3], 28(%%rcx,%%rdi)\n"

/* *size (up to 16) bytes of w0 and w1, then the string at text: 32 bytes at a time. */
#define RING_PUT_TEXT                                                                              \
	"addq %%rcx, %%rdi\n\t" /* from here on an address */                                      \
	"movl %[size], %%eax\n\t"                                                                  \
	"movq %[w0], 4(%%rdi)\n\t"                                                                 \
	"movq %[w1], 12(%%rdi)\n\t" /* overwritten, if there is less */                            \
	"leaq 4(%%rdi,%%rax), %%rdi\n\t"                                                           \
	"pxor %%xmm7, %%xmm7\n\t"                                                                  \
	"xorl %%edx, %%edx\n"                                                                      \
	"81:\tleal (%[text],%%rdx), %%eax\n\t"                                                     \
	"andl $4095, %%eax\n\t"                                                                    \
	"cmpl $4064, %%eax\n\t"                                                                    \
	"ja %l[slow]\n\t"                                                                          \
	"movdqu (%[text],%%rdx), %%xmm5\n\t"                                                       \
	"movdqu 16(%[text],%%rdx), %%xmm6\n\t"                                                     \
	"movdqu %%xmm5, (%%rdi,%%rdx)\n\t"                                                         \
	"movdqu %%xmm6, 16(%%rdi,%%rdx)\n\t"                                                       \
	"pcmpeqb %%xmm7, %%xmm5\n\t"                                                               \
	"pcmpeqb %%xmm7, %%xmm6\n\t"                                                               \
	"pmovmskb %%xmm6, %%eax\n\t"                                                               \
	"shll $16, %%eax\n\t"                                                                      \
	"pmovmskb %%xmm5, %%r10d\n\t"                                                              \
	"orl %%r10d, %%eax\n\t"                                                                    \
	"jnz 82f\n\t"                                                                              \
	"addl $32, %%edx\n\t"                                                                      \
	"testb %%dh, %%dh\n\t"                                                                     \
	"jnz %l[slow]\n\t"                                                                         \
	"leaq 32(%%rdi,%%rdx), %%rax\n\t"                                                          \
	"subq %%rcx, %%rax\n\t"                                                                    \
	"cmpl 44(%[pool]), %%eax\n\t"                                                              \
	"jbe 81b\n\t" /* the next piece fits */                                                    \
	"jmp %l[slow]\n"                                                                           \
	"82:\tbsfl %%eax, %%eax\n\t"                                                               \
	"addq %%rdx, %%r8\n\t"                                                                     \
	"leaq 1(%%r8,%%rax), %%r8\n\t" /* the NUL included */

/* The prefix, if it still is `what`, and w_bytes (8 or 0) of w. */
#define RING_PUT_PREFIX                                                                            \
	"movq %[what], %%rax\n\t"                                                                  \
	"cmpq %%rax, (%[prefix])\n\t"                                                              \
	"jne %l[slow]\n\t"                                                                         \
	"movl 8(%[prefix]), %%eax\n\t"                                                             \
	"movdqu 16(%[prefix]), %%xmm5\n\t"                                                         \
	"movdqu %%xmm5, 4(%%rcx,%%rdi)\n\t"                                                        \
	"cmpl $16, %%eax\n\t"                                                                      \
	"jbe 83f\n\t"                                                                              \
	"movdqu 32(%[prefix]), %%xmm5\n\t"                                                         \
	"movdqu 48(%[prefix]), %%xmm6\n\t"                                                         \
	"movdqu %%xmm5, 20(%%rcx,%%rdi)\n\t"                                                       \
	"movdqu %%xmm6, 36(%%rcx,%%rdi)\n"                                                         \
	"83:\taddq %%rax, %%rdi\n\t"                                                               \
	"addq %%rax, %%r8\n\t"                                                                     \
	"movq %[w], 4(%%rcx,%%rdi)\n\t" /* overwritten, if it is no part */                        \
	"addq %[w_bytes], %%rdi\n\t"                                                               \
	"addq %[w_bytes], %%r8\n\t"

/* Copies %[size] bytes, in whole words, from the end on. */
#define RING_PUT_BYTES                                                                             \
	"addq %%rcx, %%rdi\n\t"                                                                    \
	"leaq 7(%[size]), %%rdx\n\t"                                                               \
	"shrq $3, %%rdx\n\t"                                                                       \
	"jz 82f\n"                                                                                 \
	"81:\tmovq -8(%[payload],%%rdx,8), %%rax\n\t"                                              \
	"movq %%rax, -4(%%rdi,%%rdx,8)\n\t"                                                        \
	"decq %%rdx\n\t"                                                                           \
	"jnz 81b\n"                                                                                \
	"82:\t"

/* The five sequences, with one of the two headers. */
#define RING_BYTES(header)                                                                         \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_EVENT("", "%[size]", "19", header) RING_PUT_BYTES RING_COMMIT_EVENT      \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "r"(context), [payload] "r"(payload), [size] "r"(size)   \
		: RING_EVENT_CLOBBERS                                                              \
		: aborted, slow)

/* From here on the threads are in a vector register too: so no register of the caller is saved for words,
 * and the others suffice for builds with frame pointers and sanitizers. */
#define RING_WORDS(header)                                                                         \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_EVENT("movl %[size], %%edx\n\t", "%%rdx", "44", header) RING_PUT_WORDS   \
		"82:\t" RING_COMMIT_EVENT                                                          \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [size] "m"(*size), [w0] "x"(w0),           \
		  [w1] "x"(w1), [w2] "x"(w2), [w3] "x"(w3)                                         \
		: RING_EVENT_CLOBBERS                                                              \
		: aborted, slow)

#define RING_TEXT(header)                                                                          \
	__asm__ goto volatile(RING_OPEN_EVENT("movl %[size], %%edx\n\t", "%%rdx", "44", header)    \
				      RING_PUT_TEXT RING_COMMIT_EVENT                              \
			      :                                                                    \
			      : [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu),          \
				[pool] "r"(p), [id] "r"(id), [context] "x"(context),               \
				[size] "m"(*size), [w0] "x"(w0), [w1] "x"(w1), [text] "r"(text)    \
			      : RING_EVENT_CLOBBERS, "r10", "xmm5", "xmm6", "xmm7"                 \
			      : aborted, slow)

#define RING_PREFIXED(header)                                                                      \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_EVENT("movl %[size], %%edx\n\t", "%%rdx", "100", header)                 \
			RING_PUT_PREFIX RING_PUT_WORDS "82:\t" RING_COMMIT_EVENT                   \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [prefix] "r"(prefix), [what] "rm"(what),   \
		  [w] "x"(w), [w_bytes] "m"(w_bytes), [size] "m"(*size), [w0] "x"(w0),             \
		  [w1] "x"(w1), [w2] "x"(w2), [w3] "x"(w3)                                         \
		: RING_EVENT_CLOBBERS, "xmm5", "xmm6"                                              \
		: aborted, slow)

#define RING_PREFIXED_TEXT(header)                                                                 \
	__asm__ goto volatile(                                                                     \
		RING_OPEN_EVENT("movl %[size], %%edx\n\t", "%%rdx", "100", header)                 \
			RING_PUT_PREFIX RING_PUT_TEXT RING_COMMIT_EVENT                            \
		:                                                                                  \
		: [rseq] "m"(rseq_offset), [knows_cpu] "m"(rseq_knows_cpu), [pool] "r"(p),         \
		  [id] "r"(id), [context] "x"(context), [prefix] "r"(prefix), [what] "rm"(what),   \
		  [w] "x"(w), [w_bytes] "m"(w_bytes), [size] "m"(*size), [w0] "x"(w0),             \
		  [w1] "x"(w1), [text] "r"(text)                                                   \
		: RING_EVENT_CLOBBERS, "r10", "xmm5", "xmm6", "xmm7"                               \
		: aborted, slow)

/* Each function has its sequence twice.  A branch between the headers in one sequence would cost
 * every event a nanosecond, as it would stand behind RDTSC. */
#define RING_TRY(id, SEQUENCE)                                                                     \
	do {                                                                                       \
		if (likely((id) < ABI_CTF_WIDE))                                                   \
			SEQUENCE(RING_SHORT_HEADER);                                               \
		else                                                                               \
			SEQUENCE(RING_WIDE_HEADER);                                                \
		return RING_DONE;                                                                  \
	aborted:                                                                                   \
		return RING_ABORTED;                                                               \
	slow:                                                                                      \
		return RING_SLOW;                                                                  \
	} while (0)

/*
 * ring_try - the common case: an open chunk with room, a short time since its last event.
 *
 * Only if ring_may_restart(p, size).  RING_SLOW: the slow path has to run.
 */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try(struct pool *p, uint32_t id, ring_context context, const void *payload, uint64_t size)
{
	RING_TRY(id, RING_BYTES);
}

/*
 * ring_try_words - ring_try() with a payload of up to 32 bytes in registers; vector registers keep
 * the others free.  Bytes after *size are ignored.
 */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_words(struct pool *p, uint32_t id, ring_context context, const uint32_t *size, uint64_t w0,
	       uint64_t w1, uint64_t w2, uint64_t w3)
{
	RING_TRY(id, RING_WORDS);
}

/*
 * ring_try_text - ring_try() with a payload of *size (up to 16) bytes in registers, and @text after
 * it.
 *
 * The string is read once, 32 bytes at a time and never across a page's end.  So a string that
 * changes meanwhile still ends where the event states.  A fault at it is the caller's own, as in
 * any copy: the kernel restarts the sequence after it.  RING_SLOW also for a string of 256 bytes or
 * more, or near a page's end.
 */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_text(struct pool *p, uint32_t id, ring_context context, const uint32_t *size, uint64_t w0,
	      uint64_t w1, const char *text)
{
	RING_TRY(id, RING_TEXT);
}

/*
 * ring_try_prefixed - ring_try_words() behind @prefix, and behind the 8 bytes @w between both, if
 * @w_bytes is 8 and not 0.
 *
 * RING_SLOW if the prefix is not @what any more: a signal handler that changes it, before the
 * sequence or within, is noticed in any case.
 */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_prefixed(struct pool *p, uint32_t id, ring_context context,
		  const struct ring_prefix *prefix, uint64_t what, uint64_t w, uint64_t w_bytes,
		  const uint32_t *size, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	RING_TRY(id, RING_PREFIXED);
}

/* ring_try_prefixed_text - ring_try_text() behind a prefix, as in ring_try_prefixed(). */
static inline __attribute__((always_inline)) enum ring_outcome
ring_try_prefixed_text(struct pool *p, uint32_t id, ring_context context,
		       const struct ring_prefix *prefix, uint64_t what, uint64_t w,
		       uint64_t w_bytes, const uint32_t *size, uint64_t w0, uint64_t w1,
		       const char *text)
{
	RING_TRY(id, RING_PREFIXED_TEXT);
}

#else

static inline bool ring_may_restart(const struct pool *p, uint32_t size)
{
	(void)p;
	(void)size;
	return false;
}

static inline enum ring_outcome ring_try(struct pool *p, uint32_t id, ring_context context,
					 const void *payload, uint64_t size)
{
	(void)p;
	(void)id;
	(void)context;
	(void)payload;
	(void)size;
	return RING_SLOW;
}

static inline enum ring_outcome ring_try_words(struct pool *p, uint32_t id, ring_context context,
					       const uint32_t *size, uint64_t w0, uint64_t w1,
					       uint64_t w2, uint64_t w3)
{
	(void)w0;
	(void)w1;
	(void)w2;
	(void)w3;
	return ring_try(p, id, context, size, *size);
}

static inline enum ring_outcome ring_try_text(struct pool *p, uint32_t id, ring_context context,
					      const uint32_t *size, uint64_t w0, uint64_t w1,
					      const char *text)
{
	(void)text;
	return ring_try_words(p, id, context, size, w0, w1, 0, 0);
}

static inline enum ring_outcome ring_try_prefixed(struct pool *p, uint32_t id, ring_context context,
						  const struct ring_prefix *prefix, uint64_t what,
						  uint64_t w, uint64_t w_bytes,
						  const uint32_t *size, uint64_t w0, uint64_t w1,
						  uint64_t w2, uint64_t w3)
{
	(void)prefix;
	(void)what;
	(void)w;
	(void)w_bytes;
	return ring_try_words(p, id, context, size, w0, w1, w2, w3);
}

static inline enum ring_outcome ring_try_prefixed_text(struct pool *p, uint32_t id,
						       ring_context context,
						       const struct ring_prefix *prefix,
						       uint64_t what, uint64_t w, uint64_t w_bytes,
						       const uint32_t *size, uint64_t w0,
						       uint64_t w1, const char *text)
{
	(void)text;
	return ring_try_prefixed(p, id, context, prefix, what, w, w_bytes, size, w0, w1, 0, 0);
}

#endif
#endif
