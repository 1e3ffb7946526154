/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/recover.h - a trace of ours whose writer was killed: what is half-written goes.
 *
 * A packet is there when the index names it (ctf/write/writer.c), a class when its block is whole.
 * Afterwards nothing but that is in the files, and readers find nothing to complain of.
 */
#ifndef CTF_WRITE_RECOVER_H
#define CTF_WRITE_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* ctf_recover_metadata - how much of @fd, metadata of @size bytes that is being written, is whole
 * blocks. */
uint64_t ctf_recover_metadata(int fd, uint64_t size);

/* The last packet of one stream file. */
struct ctf_recovered {
	char name[64];		/* of the file */
	uint64_t offset, bytes; /* its packet; 0 bytes: it has none */
	uint64_t end_ns;
	uint64_t discarded;
};

/*
 * ctf_recover - cut the files of the trace at @path to what is whole.
 *
 * @each: is told of every stream file.  Nobody may be writing.  Returns 0 or -errno; what could be
 * settled is.
 */
int ctf_recover(const char *path, void (*each)(void *arg, const struct ctf_recovered *s), void *arg,
		struct diag *d);

#endif
