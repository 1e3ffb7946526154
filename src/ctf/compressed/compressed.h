/* SPDX-License-Identifier: MIT */
/*
 * ctf/compressed/compressed.h - a file of a trace in less room: NAME.zst instead of NAME.
 *
 * Zstandard frames one after the other (RFC 8878), each stating its size: what `zstd -d` makes the
 * plain file of again.  Of a stream each packet is two frames, its header with its context and its
 * events, so that a reader lists packets and seeks without decompressing events.  Specification:
 * docs/formats/packed.md.
 *
 * A reader sees the plain file as memory: an address range as large as it, of which it asks for
 * what it needs and gives back what it has read.  What comes before a damaged frame can be read.
 * Frames of any other cut are read too; only more is decompressed then.
 *
 * One thread at a time may use a struct compressed_file; compressed_share makes another one for the
 * next thread.
 */
#ifndef CTF_COMPRESSED_COMPRESSED_H
#define CTF_COMPRESSED_COMPRESSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct compressed_file;

#define COMPRESSED_SUFFIX ".zst"

/* Whether a file of this name is one. */
bool compressed_is_name(const char *name);

/*
 * compressed_open - @bytes, @size of them, lent, are such a file.
 *
 * Returns 0; -ENOTSUP if duet was built without libzstd; or -errno.  A file that is cut, or damaged
 * between frames, ends there: the reason is left in @d although 0 is returned.
 */
int compressed_open(struct compressed_file **p, const uint8_t *bytes, uint64_t size,
		    struct diag *d);
void compressed_close(struct compressed_file *p); /* accepts NULL */
/* compressed_share - another view of the same file; close it before @p.  NULL without memory. */
struct compressed_file *compressed_share(const struct compressed_file *p);

/* The plain file: where it is, and how long. */
const uint8_t *compressed_bytes(const struct compressed_file *p);
uint64_t compressed_size(const struct compressed_file *p);

/* compressed_frame - decompress the frame that holds the byte at @offset.  Returns how many bytes
 * are there from @offset to the frame's end; 0 if the frame is damaged. */
uint64_t compressed_frame(struct compressed_file *p, uint64_t offset);
/* compressed_need - decompress what holds [@offset, @offset + @size).  Returns how many of them are
 * there. */
uint64_t compressed_need(struct compressed_file *p, uint64_t offset, uint64_t size);
/* compressed_let_go - what lies before @offset is not needed now: its frames, but the one that
 * holds @offset, are given back. */
void compressed_let_go(struct compressed_file *p, uint64_t offset);

/* compressed_read - the whole plain file in new memory, with a NUL behind it; at most @most bytes.
 */
int compressed_read(const char *path, uint64_t most, char **bytes, uint64_t *size, struct diag *d);

/* Whether this duet can compress. */
bool compressed_is_supported(void);

/*
 * compressed_write - compress the file @from of the directory @dir into @to, a new one.  Packets of
 * ours are cut as above; anything else into pieces of 1 MiB.
 *
 * @level: 1 .. 19, higher is smaller and slower.  @out: bytes written.  Returns 0 or -errno, and
 * then leaves no file.
 */
int compressed_write(int dir, const char *from, const char *to, int level, uint64_t *out,
		     struct diag *d);

/* compressed_restore - the plain file @to of the packed one @from, both below @from_dir and
 * @to_dir. */
int compressed_restore(int from_dir, const char *from, int to_dir, const char *to, struct diag *d);

#endif
