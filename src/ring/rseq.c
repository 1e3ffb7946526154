/* SPDX-License-Identifier: MIT */
/* ring/rseq.c - find the rseq area that glibc registered, and check RDPID against it. */
#include "ring/rseq.h"

#include "base/atomic.h"

#if defined __x86_64__
#include <cpuid.h>
#endif

ptrdiff_t rseq_offset;
uint32_t rseq_knows_cpu;

/* glibc's, since 2.35.  Without these symbols the exclusive path remains, which needs nothing. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

#if defined __x86_64__
/*
 * Bits of ECX of CPUID's leaf 7.  glibc 2.33 and later reads them at program start and offers them
 * here.  In a virtual machine each CPUID is an exit to the hypervisor: two of them were a tenth of
 * libduet's cost in a starting program.
 */
struct cpuid_feature {
	unsigned cpuid[4], active[4]; /* EAX ... EDX */
};
extern const struct cpuid_feature *__x86_get_cpuid_feature_leaf(unsigned index)
	__attribute__((weak));
enum { INDEX_OF_LEAF_7 = 1 };

static unsigned features(void)
{
	const struct cpuid_feature *f;
	unsigned a, b, c = 0, d;

	if (&__x86_get_cpuid_feature_leaf) {
		f = __x86_get_cpuid_feature_leaf(INDEX_OF_LEAF_7);
		return f->cpuid[2];
	}
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? c : 0;
}
#endif

/* Whether RDPID exists and agrees with the kernel's rseq area: other kernels may not have set it
 * up. */
static bool can_know_cpu(void)
{
#if defined __x86_64__
	if (!(features() & 1u << 22))
		return false;
	for (int i = 0; i < 3; i++) {
		uint32_t cpu = load(&rseq_self()->cpu_id);
		uint64_t own;

		__asm__ volatile(RSEQ_RDPID : "=d"(own));
		if (load(&rseq_self()->cpu_id) == cpu)
			return !((own ^ cpu) & 0xfff);
	}
#endif
	return false;
}

void rseq_init(void)
{
	if (!&__rseq_offset || !&__rseq_size || !__rseq_size)
		return;
	rseq_offset = __rseq_offset;
	rseq_knows_cpu = can_know_cpu();
}
