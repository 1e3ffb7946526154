/* SPDX-License-Identifier: MIT */
/*
 * collect/handover/handover.c - allocate and release the memory that collectors of one recording
 * share.
 */
#include "collect/handover/handover.h"

#include <sys/mman.h>

struct handover *handover_memory(void)
{
	void *p = mmap(NULL, sizeof(struct handover), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void handover_forget(struct handover *k)
{
	if (k)
		munmap(k, sizeof *k);
}
