/* SPDX-License-Identifier: MIT */
/*
 * ring/rseq.h - restartable sequences (rseq(2)).
 *
 * The kernel sends the code back to its abort address if the thread is preempted, migrated or gets
 * a signal before the last instruction.
 *
 * glibc (2.35 and later) registers each thread.  `rseq_offset` is the offset of the area from the
 * thread pointer.  It is 0 if there is none: older libc, valgrind, qemu-user, a tunable.  Tests set
 * it to an area of their own and take the kernel's part.
 */
#ifndef RING_RSEQ_H
#define RING_RSEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's layout; <linux/rseq.h> of older systems lacks the later fields. */
struct rseq_area {
	uint32_t cpu_id_start;
	uint32_t cpu_id; /* negative: not registered */
	uint64_t rseq_cs;
	uint32_t flags;
};
_Static_assert(offsetof(struct rseq_area, cpu_id) == 4 && offsetof(struct rseq_area, rseq_cs) == 8,
	       "the sequences read them by these numbers");

extern ptrdiff_t rseq_offset __attribute__((visibility("hidden")));

/*
 * Whether RDPID can be compared with the area.  A child of vfork, or of a clone that shares memory
 * and thread pointer, sees its parent's area; but the kernel neither updates it nor restarts that
 * child.  Most of the time the child runs on another CPU than the area states.  This check detects
 * that, and the child keeps off the rseq path.
 */
extern uint32_t rseq_knows_cpu __attribute__((visibility("hidden")));

/* rseq_init - find the area that libc registered.  Cheap; may be called repeatedly. */
void rseq_init(void);

static inline struct rseq_area *rseq_self(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset);
}

#if defined __x86_64__
#define RSEQ_HAVE_SEQUENCES 1
/*
 * A sequence in asm goto: RSEQ_BEGIN ... one committing store, RSEQ_END(label).  The operand [rseq]
 * is rseq_offset in memory; rax is clobbered, and rdi holds the offset for RSEQ_CPU.  An abort
 * jumps to the C label.
 */
#define RSEQ_BEGIN RSEQ_BEGIN_IN("__rseq_cs")
/* The same with the descriptor in @section. */
#define RSEQ_BEGIN_IN(section)                                                                     \
	".pushsection " section ", \"aw\"\n\t"                                                     \
	".balign 32\n"                                                                             \
	"93:\t.long 0, 0\n\t"		/* version, flags */                                       \
	".quad 91f, 92f - 91f, 94f\n\t" /* start, length, abort address */                         \
	".popsection\n\t"                                                                          \
	"movq %[rseq], %%rdi\n\t"                                                                  \
	"leaq 93b(%%rip), %%rax\n\t"                                                               \
	"movq %%rax, %%fs:8(%%rdi)\n"                                                              \
	"91:\n\t"
#define RSEQ_CPU "%%fs:4(%%rdi)"
/* rdpid %rdx, for assemblers that do not know it: the CPU, the node above 12 bits. */
#define RSEQ_RDPID ".byte 0xf3, 0x0f, 0xc7, 0xfa\n\t"
#define RSEQ_END(label)                                                                            \
	"92:\n\t"                                                                                  \
	".pushsection .text.rseq_abort, \"ax\"\n\t"                                                \
	".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1: no code runs into the signature */                    \
	".long 0x53053053\n" /* the signature that the kernel checks before the abort address */   \
	"94:\tjmp %l[" label "]\n\t"                                                               \
	".popsection\n\t"

static inline bool rseq_cpu_is(uint32_t cpu)
{
	uint64_t own = cpu;

	if (rseq_knows_cpu)
		__asm__ volatile(RSEQ_RDPID : "=d"(own));
	return !((own ^ cpu) & 0xfff);
}
#else
#define RSEQ_HAVE_SEQUENCES 0
#endif

#endif
