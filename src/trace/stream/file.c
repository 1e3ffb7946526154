/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/file.c - maps a stream file, and follows it while it grows or is compressed.
 *
 * A file is never read into memory as a whole: it is mapped, and a compressed one is decompressed
 * frame by frame (ctf/compressed/compressed.h).  When the map moves, the pointers of the cursor
 * move with it, so that the current item stays valid.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/stream/internal.h"
#include "trace/stream/stream.h"

/* Traces with several clocks have not been seen in the field: the first clock is used. */
static void set_clock(struct stream *s)
{
	const struct ctf_clock *c = ctf_meta_clock(s->info.source->meta, NULL);
	unsigned __int128 offset;

	if (!c)
		return;
	s->freq = c->freq == 1000000000 ? 0 : c->freq;
	offset = (unsigned __int128)(uint64_t)(c->offset < 0 ? -(uint64_t)c->offset
							     : (uint64_t)c->offset);
	if (s->freq)
		offset = offset * 1000000000u / s->freq;
	s->base_ns = (uint64_t)c->offset_s * 1000000000u +
		     (c->offset < 0 ? -(uint64_t)offset : (uint64_t)offset);
}

static int unpack_file(struct stream *s, struct diag *d)
{
	struct diag why = { "" };
	int err;

	s->bytes = NULL;
	s->size = 0;
	err = compressed_open(&s->packed, s->map, s->map_size, &why);
	if (err)
		return diag_fail(d, err, "%s: %s", s->info.path, why.text);
	if (*why.text)
		stream_report_damage(s, "%s", why.text);
	s->bytes = compressed_bytes(s->packed);
	s->size = compressed_size(s->packed);
	return 0;
}

static void list_packets(struct stream *s)
{
	uint64_t released = s->released;

	if (!stream_list_by_index(s))
		stream_index_packets(s);
	if (s->packed)
		compressed_let_go(s->packed, s->size);
	else if (s->bytes && !s->reader.packet) /* no event is being read: the whole map can go */
		madvise((void *)s->bytes, s->map_size, MADV_DONTNEED);
	s->released = released; /* pages that were unmapped here are read again */
	s->info.n_packets = s->n_packets;
	s->info.size_bytes = s->packed ? s->map_size : s->size;
}

/*
 * The kernel's read-ahead, up to megabytes for each page that is missing, is right for a whole file
 * and wrong for headers and ends of many: the first line of a large recording would wait for all of
 * that.  So a map begins without it.
 */
enum { RUN_BYTES = 1 << 20 };

void stream_read_pages(struct stream *s)
{
	s->run_bytes = 0;
	s->is_read_ahead = false;
	if (s->bytes && !s->packed)
		madvise((void *)s->bytes, s->map_size, MADV_RANDOM);
}

void stream_read_ahead(struct stream *s, uint64_t offset, uint64_t size)
{
	uint64_t begin = offset & ~(uint64_t)(RUN_BYTES / 16 - 1); /* whole pages of any machine */

	if (s->is_read_ahead || s->packed || !s->bytes)
		return;
	s->run_bytes += size;
	if (s->run_bytes > RUN_BYTES) {
		s->is_read_ahead = true;
		madvise((void *)s->bytes, s->map_size, MADV_NORMAL);
	}
	madvise((void *)(s->bytes + begin),
		(size < RUN_BYTES ? size : RUN_BYTES) + (offset - begin), MADV_WILLNEED);
}

/* The beginning of a relayed or retained copy may be a hole.  Returns the offset of the first byte
 * that is not zero. */
static uint64_t skip_hole(int fd, const uint8_t *bytes, uint64_t size)
{
	off_t data = lseek(fd, 0, SEEK_DATA);
	uint64_t at = data > 0 ? (uint64_t)data : 0;

	while (data > 0 && at < size && !bytes[at])
		at++;
	return at < size ? at : size;
}

static int map_file(struct stream *s, const char *path, struct diag *d)
{
	int fd = io_open_file(AT_FDCWD, path);
	struct stat st = { .st_size = 0 };
	void *bytes = NULL;
	int err = 0;

	if (fd < 0)
		return diag_fail(d, fd, "cannot open %s: %s", path, strerror(-fd));
	if (fstat(fd, &st))
		err = diag_errno(d, "cannot read %s", path);
	else if (st.st_size)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err = diag_errno(d, "cannot map %s", path);
	if (!err && bytes && s->options->follows && !s->n_packets)
		s->indexed = skip_hole(fd, bytes, (uint64_t)st.st_size);
	close(fd);
	if (err)
		return err;
	s->is_sparse = (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size;
	s->bytes = bytes;
	s->map = bytes;
	s->size = s->map_size = (uint64_t)st.st_size;
	if (!compressed_is_name(path))
		stream_read_pages(s);
	return compressed_is_name(path) ? unpack_file(s, d) : 0;
}

int stream_open(struct stream *s, const struct trace_source *source, const char *path,
		const struct trace_options *o, bool grows, struct diag *d)
{
	const char *slash = strrchr(path, '/');
	int err;

	assert(source && o);
	*s = (struct stream){ .options = o,
			      .cpu = TRACE_CPU_UNKNOWN,
			      .grows = grows,
			      .keep_bytes = STREAM_KEEP_MAX };
	s->info.source = source;
	s->info.path = strdup(path);
	if (!s->info.path)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	s->info.name = s->info.path + (slash ? slash + 1 - path : 0);
	err = grows ? 0 : map_file(s, path, d);
	if (err) {
		stream_close(s);
		return err;
	}
	set_clock(s);
	list_packets(s);
	return 0;
}

/* The map may move; the pointers of the cursor move with it. */
static int extend_map(struct stream *s, uint64_t size)
{
	const uint8_t *old = s->bytes;
	uint8_t *bytes;

	if (size <= s->map_size)
		return 0;
	bytes = mremap((void *)old, s->map_size, size, MREMAP_MAYMOVE);
	if (bytes == MAP_FAILED)
		return -errno;
	s->bytes = s->map = bytes;
	s->map_size = size;
	if (s->reader.packet)
		s->reader.packet = bytes + (s->reader.packet - old);
	if (s->event.packet)
		s->event.packet = bytes + (s->event.packet - old);
	return 0;
}

/* Lists packets again; the current item stays valid. */
static void list_added_packets(struct stream *s, uint64_t at)
{
	list_packets(s); /* first: it unmaps the pages it read */
	if (s->packed && s->reader.packet) {
		compressed_need(s->packed, at, (s->reader.end + 7) / 8);
		s->reader.packet = s->event.packet = s->bytes + at;
	}
}

/* Returns where the open packet begins in the file. */
static uint64_t packet_offset(const struct stream *s)
{
	return s->bytes && s->reader.packet ? (uint64_t)(s->reader.packet - s->bytes) : 0;
}

/* The archiver compressed the file before all of it was read.  The plain bytes are the same; the
 * first @size of them may be read.  Returns 0; -ENOENT if there is no compressed file either; or
 * -errno. */
static int change_to_packed(struct stream *s, uint64_t size, struct diag *d)
{
	uint64_t at = packet_offset(s), old_size = s->map_size;
	const uint8_t *old = s->map;
	char *path;
	int err;

	if (asprintf(&path, "%s" COMPRESSED_SUFFIX, s->info.path) < 0)
		return -ENOMEM;
	err = map_file(s, path, d);
	free(path);
	if (err)
		return err;
	s->released = 0;
	s->size = size < s->size ? size : s->size;
	list_added_packets(s, at);
	if (old)
		munmap((void *)old, old_size);
	return 0;
}

static int grow_packed(struct stream *s, uint64_t size)
{
	uint64_t plain = compressed_size(s->packed);

	size = size < plain ? size : plain;
	if (size > s->size) {
		s->size = size;
		list_added_packets(s, packet_offset(s));
	}
	return 0;
}

int stream_grow(struct stream *s, uint64_t size, struct diag *d)
{
	struct stat st;
	int err;

	if (!s->grows)
		size = UINT64_MAX;
	else if (size <= s->size)
		return 0;
	if (s->packed)
		return grow_packed(s, size);
	if (stat(s->info.path, &st) || !S_ISREG(st.st_mode)) {
		err = change_to_packed(s, size, d);
		/* If it was removed, as retention does, the map stays valid. */
		s->was_removed = err == -ENOENT && !s->grows;
		return err == -ENOENT ? 0 : err;
	}
	if (s->grows && size > (uint64_t)st.st_size)
		return 0; /* the index names bytes that are not in the file */
	size = s->grows ? size : (uint64_t)st.st_size;
	err = s->bytes ? extend_map(s, size) : map_file(s, s->info.path, d);
	if (err)
		return diag_fail(d, err, "cannot map %s: %s", s->info.path, strerror(-err));
	s->size = size < s->map_size ? size : s->map_size;
	list_packets(s);
	return 0;
}

void stream_release(struct stream *s)
{
	compressed_close(s->packed);
	if (s->map && !s->is_part)
		munmap((void *)s->map, s->map_size);
	free(s->packets);
	s->packed = NULL;
	s->bytes = s->map = NULL;
	s->packets = NULL;
	s->size = s->map_size = 0;
	s->packet = s->n_packets = s->capacity = 0;
}

void stream_close(struct stream *s)
{
	free(s->back);
	free(s->batch);
	stream_release(s);
	if (!s->is_part)
		free((void *)s->info.path);
	*s = (struct stream){ 0 };
}
