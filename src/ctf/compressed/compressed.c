/* SPDX-License-Identifier: MIT */
/* ctf/compressed/compressed.c - reads compressed files: a list of frames, decompressed on demand.
 */
#include "ctf/compressed/compressed.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#ifdef DUET_ZSTD
#include <zstd.h>
#endif

/* A packet of duet is at most a sub-buffer of 1 MiB.  The limit bounds the memory that a frame's
 * size field can make duet use. */
enum { FRAME_MAX = 64 << 20 };
#define PLAIN_MAX (1ull << 45) /* bytes of address space */

struct frame {
	uint64_t at, plain; /* offsets: in the compressed file, in the plain file */
};

struct compressed_file {
	const uint8_t *bytes;
	struct frame *frames; /* one more than n_frames: the last is the end */
	uint32_t n_frames;
	uint8_t *plain;
	uint64_t plain_size;
	uint64_t released;	     /* bytes at the beginning that were given back */
	uint32_t have_from, have_to; /* frames that are decompressed, and not given back */
	void *context;
	bool is_shared;
};

bool compressed_is_name(const char *name)
{
	size_t n = strlen(name), k = sizeof COMPRESSED_SUFFIX - 1;

	return n > k && !strcmp(name + n - k, COMPRESSED_SUFFIX);
}

bool compressed_is_supported(void)
{
#ifdef DUET_ZSTD
	return true;
#else
	return false;
#endif
}

#ifdef DUET_ZSTD

static int add_frame(struct compressed_file *p, uint32_t *capacity, uint64_t at, uint64_t plain)
{
	if (p->n_frames == *capacity) {
		uint32_t bigger = *capacity ? 2 * *capacity : 64;
		struct frame *f =
			bigger > *capacity ? realloc(p->frames, bigger * sizeof *f) : NULL;

		if (!f)
			return -ENOMEM;
		p->frames = f;
		*capacity = bigger;
	}
	p->frames[p->n_frames++] = (struct frame){ at, plain };
	return 0;
}

/* Lists the frames by their headers, up to the first byte that begins no valid frame. */
static int list_frames(struct compressed_file *p, uint64_t size, struct diag *d)
{
	uint64_t at = 0, plain = 0;
	uint32_t capacity = 0;
	int err;

	for (;;) {
		unsigned long long frame_size;
		size_t n;

		err = add_frame(p, &capacity, at, plain);
		if (err)
			return diag_fail(d, err, "no memory for the frames of a packed file");
		if (at == size)
			break;
		n = ZSTD_findFrameCompressedSize(p->bytes + at, size - at);
		frame_size = ZSTD_getFrameContentSize(p->bytes + at, size - at);
		if (ZSTD_isError(n) || frame_size > FRAME_MAX || plain + frame_size > PLAIN_MAX) {
			diag_fail(d, -EINVAL,
				  "no complete compressed frame at byte %llu\n"
				  "  all before it is shown",
				  (unsigned long long)at);
			break;
		}
		at += n;
		plain += frame_size;
	}
	p->n_frames--;
	p->plain_size = plain;
	return 0;
}

static int map_plain(struct compressed_file *p, struct diag *d)
{
	p->context = ZSTD_createDCtx();
	if (!p->context)
		return diag_fail(d, -ENOMEM, "no memory to decompress");
	if (!p->plain_size)
		return 0;
	p->plain = mmap(NULL, p->plain_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->plain != MAP_FAILED)
		return 0;
	p->plain = NULL;
	return diag_errno(d, "cannot map %llu bytes to decompress into",
			  (unsigned long long)p->plain_size);
}

int compressed_open(struct compressed_file **result, const uint8_t *bytes, uint64_t size,
		    struct diag *d)
{
	struct compressed_file *p = calloc(1, sizeof *p);
	int err;

	*result = NULL;
	if (!p)
		return diag_fail(d, -ENOMEM, "no memory to decompress");
	p->bytes = bytes;
	err = list_frames(p, size, d);
	if (!err)
		err = map_plain(p, d);
	if (err)
		compressed_close(p);
	else
		*result = p;
	return err;
}

struct compressed_file *compressed_share(const struct compressed_file *p)
{
	struct compressed_file *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct compressed_file){ .bytes = p->bytes,
				       .frames = p->frames,
				       .n_frames = p->n_frames,
				       .plain_size = p->plain_size,
				       .is_shared = true };
	if (!map_plain(s, NULL))
		return s;
	compressed_close(s);
	return NULL;
}

void compressed_close(struct compressed_file *p)
{
	if (!p)
		return;
	ZSTD_freeDCtx(p->context);
	if (p->plain)
		munmap(p->plain, p->plain_size);
	if (!p->is_shared)
		free(p->frames);
	free(p);
}

/* The frame that contains the plain byte at @offset, which is below the end. */
static uint32_t find_frame(const struct compressed_file *p, uint64_t offset)
{
	uint32_t low = 0, high = p->n_frames;

	assert(offset < p->plain_size && p->n_frames);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (p->frames[middle].plain <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Decompresses frame @i, if necessary.  Returns whether it is valid. */
static bool decompress(struct compressed_file *p, uint32_t i)
{
	const struct frame *f = &p->frames[i];
	size_t size = f[1].plain - f->plain;

	if (i >= p->have_from && i < p->have_to)
		return true;
	if (ZSTD_decompressDCtx(p->context, p->plain + f->plain, size, p->bytes + f->at,
				f[1].at - f->at) != size)
		return false;
	if (i != p->have_to)
		p->have_from = i;
	p->have_to = i + 1;
	assert(p->have_from < p->have_to && p->have_to <= p->n_frames);
	if (f->plain < p->released)
		p->released = f->plain & ~(uint64_t)0xffff;
	return true;
}

uint64_t compressed_need(struct compressed_file *p, uint64_t offset, uint64_t size)
{
	uint64_t end;

	if (offset >= p->plain_size)
		return 0;
	end = size < p->plain_size - offset ? offset + size : p->plain_size;
	for (uint32_t i = find_frame(p, offset); i < p->n_frames && p->frames[i].plain < end; i++)
		if (!decompress(p, i))
			return p->frames[i].plain > offset ? p->frames[i].plain - offset : 0;
	return end - offset;
}

uint64_t compressed_frame(struct compressed_file *p, uint64_t offset)
{
	uint32_t i;

	if (offset >= p->plain_size)
		return 0;
	i = find_frame(p, offset);
	return decompress(p, i) ? p->frames[i + 1].plain - offset : 0;
}

/* Releases whole frames only: a partly read frame would have to be decompressed again for its
 * next packet.  The steps are multiples of the page size of every machine. */
void compressed_let_go(struct compressed_file *p, uint64_t offset)
{
	uint64_t end;

	while (p->have_from < p->have_to && p->frames[p->have_from + 1].plain <= offset)
		p->have_from++;
	end = p->frames[p->have_from].plain & ~(uint64_t)0xffff;
	if (end <= p->released)
		return;
	madvise(p->plain + p->released, end - p->released, MADV_DONTNEED);
	assert(end <= p->plain_size);
	p->released = end;
}

#else /* without libzstd */

int compressed_open(struct compressed_file **p, const uint8_t *bytes, uint64_t size, struct diag *d)
{
	(void)bytes;
	(void)size;
	*p = NULL;
	return diag_fail(
		d, -ENOTSUP,
		"the file is compressed, and this duet was built without libzstd: `zstd -d` first");
}

void compressed_close(struct compressed_file *p)
{
	(void)p;
}

struct compressed_file *compressed_share(const struct compressed_file *p)
{
	(void)p;
	return NULL;
}

uint64_t compressed_need(struct compressed_file *p, uint64_t offset, uint64_t size)
{
	(void)p;
	(void)offset;
	(void)size;
	return 0;
}

uint64_t compressed_frame(struct compressed_file *p, uint64_t offset)
{
	(void)p;
	(void)offset;
	return 0;
}

void compressed_let_go(struct compressed_file *p, uint64_t offset)
{
	(void)p;
	(void)offset;
}

#endif

const uint8_t *compressed_bytes(const struct compressed_file *p)
{
	return p->plain;
}

uint64_t compressed_size(const struct compressed_file *p)
{
	return p->plain_size;
}

/* ---------------------------------------------------------------- complete files */

static int map_file(int dir, const char *name, void **bytes, uint64_t *size, struct diag *d)
{
	int fd = io_open_file(dir, name), err = 0;
	struct stat st;

	*bytes = NULL;
	*size = 0;
	if (fd < 0)
		return diag_fail(d, fd, "cannot open %s: %s", name, strerror(-fd));
	if (fstat(fd, &st))
		err = diag_errno(d, "cannot read %s", name);
	else if (st.st_size)
		*bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*bytes == MAP_FAILED)
		err = diag_errno(d, "cannot map %s", name);
	close(fd);
	*size = err ? 0 : (uint64_t)st.st_size;
	return err;
}

int compressed_read(const char *path, uint64_t most, char **bytes, uint64_t *size, struct diag *d)
{
	struct diag why = { "" };
	struct compressed_file *p = NULL;
	uint64_t compressed_bytes_size;
	void *map;
	int err = map_file(AT_FDCWD, path, &map, &compressed_bytes_size, d);

	*bytes = NULL;
	if (err)
		return err;
	err = compressed_open(&p, map, compressed_bytes_size, &why);
	*size = p ? compressed_size(p) : 0;
	if (!err && *size <= most)
		*bytes = malloc(*size + 1);
	if (!err && !*bytes)
		err = diag_fail(&why, *size > most ? -EFBIG : -ENOMEM, "%llu bytes are too many",
				(unsigned long long)*size);
	if (!err) {
		*size = compressed_need(p, 0, *size);
		if (*size)
			memcpy(*bytes, compressed_bytes(p), *size);
		(*bytes)[*size] = 0;
	}
	compressed_close(p);
	if (map)
		munmap(map, compressed_bytes_size);
	return err ? diag_fail(d, err, "%s: %s", path, why.text) : 0;
}

static int write_plain(struct compressed_file *p, int fd, struct diag *why)
{
	enum { STEP = 1 << 20 };
	uint64_t at = 0, n;
	int err = 0;

	while (at < compressed_size(p) && !err) {
		n = compressed_need(p, at, STEP);
		if (!n)
			return diag_fail(why, -EINVAL, "compressed bytes are damaged");
		err = io_write(fd, compressed_bytes(p) + at, n);
		at += n;
		compressed_let_go(p, at);
	}
	return err ? diag_fail(why, err, "%s", strerror(-err)) : 0;
}

int compressed_restore(int from_dir, const char *from, int to_dir, const char *to, struct diag *d)
{
	struct compressed_file *p = NULL;
	struct diag why = { "" };
	uint64_t size;
	void *map;
	int err = map_file(from_dir, from, &map, &size, d), fd;

	if (err)
		return err;
	err = compressed_open(&p, map, size, &why);
	if (!err && *why.text)
		err = -EINVAL; /* the file is cut: make no copy that looks complete */
	fd = err ? -1 : openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (!err && fd < 0)
		err = diag_errno(&why, "cannot write it plain");
	if (!err)
		err = write_plain(p, fd, &why);
	if (fd >= 0)
		close(fd);
	compressed_close(p);
	if (map)
		munmap(map, size);
	return err ? diag_fail(d, err, "%s: %s", from, why.text) : 0;
}
