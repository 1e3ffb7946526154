/* SPDX-License-Identifier: MIT */
/*
 * elf/sites.h - the trace sites in a program or library on disk, without running it.
 *
 * Their records (duet/site.h) contain addresses that the loader fills in.  This code applies the
 * relocations as the loader would.  The file is untrusted: libelf or the code here checks each
 * offset.
 */
#ifndef ELF_SITES_H
#define ELF_SITES_H

#include <stdint.h>

#include "base/diag.h"

struct elf_site {
	const char *name;   /* "channel:name" */
	const char *schema; /* typed: schema words; mark: printf format */
	uint32_t kind;	    /* enum duet_i_kind */
	uint32_t level;
};

/*
 * elf_sites - call @visit for each site of @path.
 *
 * Returns the number of sites; -ENOEXEC if it is not a 64-bit ELF file; another negative errno.
 * Strings are valid during the visit.
 */
int elf_sites(const char *path, void (*visit)(void *arg, const struct elf_site *s), void *arg,
	      struct diag *d);

#endif
