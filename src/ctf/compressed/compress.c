/* SPDX-License-Identifier: MIT */
/* ctf/compressed/compress.c - writing packed files: see compressed.h. */
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

struct compressing {
	ZSTD_CCtx *context;
	char *frame; /* compressed */
	size_t room;
	int fd;
	uint64_t out;
};

static int add_frame(struct compressing *g, const uint8_t *bytes, size_t size)
{
	size_t bound = ZSTD_compressBound(size), n;
	char *bigger;
	int err;

	if (bound > g->room) {
		bigger = realloc(g->frame, bound);
		if (!bigger)
			return -ENOMEM;
		g->frame = bigger;
		g->room = bound;
	}
	n = ZSTD_compress2(g->context, g->frame, g->room, bytes, size);
	if (ZSTD_isError(n))
		return -ENOMEM;
	err = io_write(g->fd, g->frame, n);
	g->out += n;
	return err;
}

/* The size of the packet of ours that begins here; 0 if none does. */
static uint64_t packet_at(const uint8_t *bytes, uint64_t room)
{
	struct abi_ctf_packet h;

	if (room < sizeof h)
		return 0;
	memcpy(&h, bytes, sizeof h);
	return h.magic == ABI_CTF_MAGIC && h.packet_bits / 8 >= sizeof h &&
			       h.packet_bits / 8 <= room
		       ? h.packet_bits / 8
		       : 0;
}

static int add_packet(struct compressing *g, const uint8_t *bytes, uint64_t size)
{
	const size_t head = sizeof(struct abi_ctf_packet);
	int err = add_frame(g, bytes, head);

	for (uint64_t at = head; at < size && !err; at += BLOCK_BYTES)
		err = add_frame(g, bytes + at, size - at < BLOCK_BYTES ? size - at : BLOCK_BYTES);
	return err;
}

static int pack_bytes(struct compressing *g, const uint8_t *bytes, uint64_t size)
{
	uint64_t n;
	int err = 0;

	for (uint64_t at = 0; at < size && !err; at += n) {
		n = packet_at(bytes + at, size - at);
		if (n) {
			err = add_packet(g, bytes + at, n);
		} else {
			n = size - at < BLOCK_BYTES ? size - at : BLOCK_BYTES;
			err = add_frame(g, bytes + at, n);
		}
	}
	return err;
}

static int pack_file(struct compressing *g, int from, int level)
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
	g->context = ZSTD_createCCtx();
	if (g->context) {
		ZSTD_CCtx_setParameter(g->context, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(g->context, ZSTD_c_checksumFlag, 1);
	}
	err = g->context ? pack_bytes(g, bytes, (uint64_t)st.st_size) : -ENOMEM;
	ZSTD_freeCCtx(g->context);
	free(g->frame);
	munmap(bytes, (size_t)st.st_size);
	return err;
}

int compressed_write(int dir, const char *from, const char *to, int level, uint64_t *out,
		     struct diag *d)
{
	struct compressing g = { .fd = -1 };
	int fd = openat(dir, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), err;

	*out = 0;
	if (fd < 0)
		return diag_errno(d, "cannot open %s", from);
	g.fd = openat(dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	err = g.fd < 0 ? -errno : pack_file(&g, fd, level);
	close(fd);
	if (g.fd >= 0)
		close(g.fd);
	*out = g.out;
	if (err && g.fd >= 0)
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
