/* SPDX-License-Identifier: MIT */
/*
 * elf/probe_points.h - the markers of sys/sdt.h (USDT) in a program or library on disk, where a probe
 * may be set.  They lie in notes of the section .note.stapsdt.
 *
 * The file is untrusted: libelf and the code here check its bounds.
 */
#ifndef ELF_PROBE_POINTS_H
#define ELF_PROBE_POINTS_H

#include <stdint.h>

#include "base/diag.h"

struct elf_marker {
	const char *provider, *name;
	const char *arguments; /* "-4@%edi 8@-16(%rbp)" */
	uint64_t offset;
	uint64_t semaphore; /* offset of its counter; 0: none */
};

/*
 * elf_markers - call @visit for each of @path; a result other than 0 ends the scan and is returned.
 *
 * 0; -ENOEXEC if it is no ELF file; another negative errno.  Texts are valid during the visit.
 */
int elf_markers(const char *path, int (*visit)(void *arg, const struct elf_marker *m), void *arg,
		struct diag *d);

#endif
