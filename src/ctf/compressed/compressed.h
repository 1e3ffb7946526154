/* SPDX-License-Identifier: MIT */
/*
 * ctf/compressed/compressed.h - compressed files of a trace: NAME.zst instead of NAME.
 *
 * A file consists of Zstandard frames (RFC 8878), each with its size, so that `zstd -d` restores
 * the plain file.  Each packet of a stream is two frames, one with its header and context and one
 * with its events.  So a reader lists packets and seeks without decompressing events.
 * Specification: docs/formats/compressed.md.
 *
 * A reader sees the plain file as memory: an address range of the same size.  It requests the
 * parts that it needs and releases those that it has read.  The data before a damaged frame can be
 * read.  Frames with other borders are read too, but then more data is decompressed.
 *
 * One thread at a time may use a struct compressed_file; compressed_share() makes another one for
 * another thread.
 */
#ifndef CTF_COMPRESSED_COMPRESSED_H
#define CTF_COMPRESSED_COMPRESSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct compressed_file;

#define COMPRESSED_SUFFIX ".zst"

/* compressed_is_name - whether a file of this name is compressed. */
bool compressed_is_name(const char *name);

/*
 * compressed_open - read the list of frames of such a file: @size bytes at @bytes, lent.
 *
 * Returns 0; -ENOTSUP if duet was built without libzstd; or -errno.  A file that is cut, or
 * damaged between frames, ends there: the reason is in @d although 0 is returned.
 */
int compressed_open(struct compressed_file **p, const uint8_t *bytes, uint64_t size,
		    struct diag *d);
void compressed_close(struct compressed_file *p); /* accepts NULL */
/* compressed_share - another view of the same file; close it before @p.  NULL without memory. */
struct compressed_file *compressed_share(const struct compressed_file *p);

/* The address range of the plain file, and its size in bytes. */
const uint8_t *compressed_bytes(const struct compressed_file *p);
uint64_t compressed_size(const struct compressed_file *p);

/* compressed_frame - decompress the frame that contains the byte at @offset.  Returns the number
 * of bytes from @offset to the frame's end; 0 if the frame is damaged. */
uint64_t compressed_frame(struct compressed_file *p, uint64_t offset);
/* compressed_need - decompress the frames that contain [@offset, @offset + @size).  Returns how
 * many of these bytes are valid. */
uint64_t compressed_need(struct compressed_file *p, uint64_t offset, uint64_t size);
/* compressed_let_go - the bytes before @offset are not needed now: give their frames back, except
 * the one that contains @offset. */
void compressed_let_go(struct compressed_file *p, uint64_t offset);

/* compressed_read - decompress a file completely into new memory, at most @most bytes, with a NUL
 * after it. */
int compressed_read(const char *path, uint64_t most, char **bytes, uint64_t *size, struct diag *d);

/* compressed_is_supported - whether duet was built with libzstd. */
bool compressed_is_supported(void);

/*
 * compressed_write - compress the file @from of the directory @dir into @to, a new file.  Packets
 * that duet wrote become frames as above; other data becomes frames of 1 MiB.
 *
 * @level: 1 .. 19, higher is smaller and slower.  @out: bytes written.  Returns 0 or -errno, and
 *         then leaves no file.
 */
int compressed_write(int dir, const char *from, const char *to, int level, uint64_t *out,
		     struct diag *d);

/* compressed_restore - decompress the file @from below @from_dir into the new file @to below
 * @to_dir. */
int compressed_restore(int from_dir, const char *from, int to_dir, const char *to, struct diag *d);

#endif
