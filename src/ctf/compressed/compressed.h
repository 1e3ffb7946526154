/* SPDX-License-Identifier: MIT */
/*
 * ctf/compressed/compressed.h - a file of a trace in less room: NAME.zst instead of NAME.
 *
 * Zstandard frames one after the other (RFC 8878), each stating its size: what `zstd -d` makes the plain file
 * of again.  Of a stream each packet is two frames, its header with its context and its events, so that a
 * reader lists packets and seeks without decompressing events.  Specification: docs/formats/packed.md.
 *
 * A reader sees the plain file as memory: an address range as large as it, of which it asks for what it
 * needs and gives back what it has read.  What comes before a damaged frame can be read.  Frames of any
 * other cut are read too; only more is decompressed then.
 *
 * One thread at a time may use a struct packed; packed_share makes another one for the next thread.
 */
#ifndef CTF_COMPRESSED_COMPRESSED_H
#define CTF_COMPRESSED_COMPRESSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct packed;

#define PACKED_SUFFIX ".zst"

/* Whether a file of this name is one. */
bool packed_is_name(const char *name);

/*
 * packed_open - @bytes, @size of them, lent, are such a file.
 *
 * Returns 0; -ENOTSUP if duet was built without libzstd; or -errno.  A file that is cut, or damaged between frames,
 * ends there: the reason is left in @d although 0 is returned.
 */
int packed_open(struct packed **p, const uint8_t *bytes, uint64_t size, struct diag *d);
void packed_close(struct packed *p); /* accepts NULL */
/* packed_share - another view of the same file; close it before @p.  NULL without memory. */
struct packed *packed_share(const struct packed *p);

/* The plain file: where it is, and how long. */
const uint8_t *packed_bytes(const struct packed *p);
uint64_t packed_size(const struct packed *p);

/* packed_frame - decompress the frame that holds the byte at @offset.  Returns how many bytes are there from @offset
 * to the frame's end; 0 if the frame is damaged. */
uint64_t packed_frame(struct packed *p, uint64_t offset);
/* packed_need - decompress what holds [@offset, @offset + @size).  Returns how many of them are there. */
uint64_t packed_need(struct packed *p, uint64_t offset, uint64_t size);
/* packed_let_go - what lies before @offset is not needed now: its frames, but the one that holds @offset, are given back. */
void packed_let_go(struct packed *p, uint64_t offset);

/* packed_read - the whole plain file in new memory, with a NUL behind it; at most @most bytes. */
int packed_read(const char *path, uint64_t most, char **bytes, uint64_t *size, struct diag *d);

/* Whether this duet can compress. */
bool packed_is_supported(void);

/*
 * packed_write - compress the file @from of the directory @dir into @to, a new one.  Packets of ours are cut
 * as above; anything else into pieces of 1 MiB.
 *
 * @level: 1 .. 19, higher is smaller and slower.  @out: bytes written.  Returns 0 or -errno, and then leaves no file.
 */
int packed_write(int dir, const char *from, const char *to, int level, uint64_t *out, struct diag *d);

/* packed_restore - the plain file @to of the packed one @from, both below @from_dir and @to_dir. */
int packed_restore(int from_dir, const char *from, int to_dir, const char *to, struct diag *d);

#endif
