/* SPDX-License-Identifier: MIT */
/* ctf/compressed/compress.c - writes compressed files: one frame for a packet's header, others
 * for its events. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "ctf/compressed/compressed.h"

#ifdef DUET_ZSTD
#include <zstd.h>

enum { BLOCK_BYTES = 1 << 20 };

struct compressor {
	ZSTD_CCtx *context;
	char *frame; /* one compressed frame */
	size_t capacity;
	int fd;
	uint64_t out;
};

static int add_frame(struct compressor *c, const uint8_t *bytes, size_t size)
{
	size_t bound = ZSTD_compressBound(size), n;
	char *bigger;
	int err;

	if (bound > c->capacity) {
		bigger = realloc(c->frame, bound);
		if (!bigger)
			return -ENOMEM;
		c->frame = bigger;
		c->capacity = bound;
	}
	n = ZSTD_compress2(c->context, c->frame, c->capacity, bytes, size);
	if (ZSTD_isError(n))
		return -ENOMEM;
	err = io_write(c->fd, c->frame, n);
	c->out += n;
	return err;
}

/* The size of the packet of duet's layout that begins here; 0 if there is none. */
static uint64_t packet_at(const uint8_t *bytes, uint64_t capacity)
{
	struct abi_ctf_packet h;

	if (capacity < sizeof h)
		return 0;
	memcpy(&h, bytes, sizeof h);
	return h.magic == ABI_CTF_MAGIC && h.packet_bits / 8 >= sizeof h &&
			       h.packet_bits / 8 <= capacity
		       ? h.packet_bits / 8
		       : 0;
}

static int add_packet(struct compressor *c, const uint8_t *bytes, uint64_t size)
{
	const size_t head = sizeof(struct abi_ctf_packet);
	int err = add_frame(c, bytes, head);

	for (uint64_t at = head; at < size && !err; at += BLOCK_BYTES)
		err = add_frame(c, bytes + at, size - at < BLOCK_BYTES ? size - at : BLOCK_BYTES);
	return err;
}

static int compress_bytes(struct compressor *c, const uint8_t *bytes, uint64_t size)
{
	uint64_t n;
	int err = 0;

	for (uint64_t at = 0; at < size && !err; at += n) {
		n = packet_at(bytes + at, size - at);
		if (n) {
			err = add_packet(c, bytes + at, n);
		} else {
			n = size - at < BLOCK_BYTES ? size - at : BLOCK_BYTES;
			err = add_frame(c, bytes + at, n);
		}
	}
	return err;
}

static int compress_file(struct compressor *c, int from, int level)
{
	struct stat st;
	void *bytes = NULL;
	int err;

	if (fstat(from, &st))
		return -errno;
	if (!st.st_size)
		return 0;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, from, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	madvise(bytes, (size_t)st.st_size, MADV_SEQUENTIAL);
	c->context = ZSTD_createCCtx();
	if (c->context) {
		ZSTD_CCtx_setParameter(c->context, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(c->context, ZSTD_c_checksumFlag, 1);
	}
	err = c->context ? compress_bytes(c, bytes, (uint64_t)st.st_size) : -ENOMEM;
	ZSTD_freeCCtx(c->context);
	free(c->frame);
	munmap(bytes, (size_t)st.st_size);
	return err;
}

int compressed_write(int dir, const char *from, const char *to, int level, uint64_t *out,
		     struct diag *d)
{
	struct compressor c = { .fd = -1 };
	int fd = io_open_file(dir, from), err;

	*out = 0;
	if (fd < 0)
		return diag_fail(d, fd, "cannot open %s: %s", from, strerror(-fd));
	c.fd = openat(dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	err = c.fd < 0 ? -errno : compress_file(&c, fd, level);
	close(fd);
	if (c.fd >= 0)
		close(c.fd);
	*out = c.out;
	if (err && c.fd >= 0)
		unlinkat(dir, to, 0);
	return err ? diag_fail(d, err, "cannot compress %s: %s", from, strerror(-err)) : 0;
}

#else

int compressed_write(int dir, const char *from, const char *to, int level, uint64_t *out,
		     struct diag *d)
{
	(void)dir;
	(void)to;
	(void)level;
	*out = 0;
	return diag_fail(d, -ENOTSUP, "cannot compress %s: this duet was built without libzstd",
			 from);
}

#endif
