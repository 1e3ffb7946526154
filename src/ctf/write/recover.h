/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/recover.h - repair of a trace whose writer was killed: removes incomplete parts.
 *
 * A packet counts as written if the index names it (ctf/write/writer.c); an event class, if its
 * block is complete.  Afterwards the files contain nothing else, and readers report no damage.
 */
#ifndef CTF_WRITE_RECOVER_H
#define CTF_WRITE_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "ctf/write/ledger.h"

/* ctf_recover_metadata - the size of the complete blocks in @fd, metadata of @size bytes that is
 * being written. */
uint64_t ctf_recover_metadata(int fd, uint64_t size);

/* A stream file, and its last packets: as many as one write may have added. */
struct ctf_recovered {
	char name[64];	    /* of the stream file */
	uint64_t bytes;	    /* in the file; 0: it has no packet */
	uint64_t discarded; /* of the last packet */
	uint32_t n;
	struct ctf_recovered_packet {
		uint64_t offset;
		uint64_t content; /* bytes of it without the padding */
		uint64_t end_ns;
	} packets[CTF_PACKETS_MOST]; /* the last one first */
};

/*
 * ctf_recover - cut the files of the trace at @path to their complete parts.
 *
 * @each: called for every stream file.  No process may be writing to the trace.  Returns 0 or
 *        -errno; on an error the rest is still repaired.
 */
int ctf_recover(const char *path, void (*each)(void *arg, const struct ctf_recovered *s), void *arg,
		struct diag *d);

#endif
