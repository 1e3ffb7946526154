/* SPDX-License-Identifier: MIT */
/* ring/rseq.c - see rseq.h. */
#include "ring/rseq.h"

ptrdiff_t rseq_offset;

/* glibc's, since 2.35; absent symbols leave the X path, which needs nothing. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

void rseq_init(void)
{
	if (&__rseq_offset && &__rseq_size && __rseq_size)
		rseq_offset = __rseq_offset;
}
