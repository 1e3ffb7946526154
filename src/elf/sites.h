/* SPDX-License-Identifier: MIT */
/*
 * elf/sites.h - the trace sites in a program or library on disk, without running it.
 *
 * Their records (duet/site.h) hold addresses that the loader fills in, so relocations are applied
 * as it would.  The file may be anything: every offset is checked by libelf or here.
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
 * elf_sites - visit the sites of @path.
 *
 * Returns how many there are; -ENOEXEC if it is not an ELF file of this machine's width; another
 * negative errno.  Strings are valid during the visit.
 */
int elf_sites(const char *path, void (*visit)(void *arg, const struct elf_site *s), void *arg,
	      struct diag *d);

#endif
