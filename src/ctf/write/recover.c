/* SPDX-License-Identifier: MIT */
/* ctf/write/recover.c - cuts indexes to whole entries, streams to the packets of their indexes,
 * and metadata to whole blocks. */
#include "ctf/write/recover.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"

enum {
	BLOCK_MAX_BYTES = 1 << 20
}; /* of metadata: one write of ctf_writer_describe() is much smaller */

static const char block_end[] = "\n};\n\n";

/* The end of the last complete block in @size bytes of text. */
static size_t size_of_blocks(const char *text, size_t size)
{
	for (size_t n = sizeof block_end - 1; size >= n; size--)
		if (!memcmp(text + size - n, block_end, n))
			return size;
	return 0;
}

uint64_t ctf_recover_metadata(int fd, uint64_t size)
{
	static char tail[BLOCK_MAX_BYTES];
	uint64_t from = size > sizeof tail ? size - sizeof tail : 0;
	ssize_t n = pread(fd, tail, size - from, (off_t)from);

	return n > 0 ? from + size_of_blocks(tail, (size_t)n) : 0;
}

static int recover_metadata(int dir)
{
	int fd = openat(dir, "metadata", O_RDWR | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) ||
	    ftruncate(fd, (off_t)ctf_recover_metadata(fd, (uint64_t)st.st_size)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Reads the last entries of the index, and cuts the index to whole entries. */
static int read_last_entries(int fd, struct ctf_recovered *s)
{
	const off_t head = sizeof(struct abi_ctf_index_header),
		    each = sizeof(struct abi_ctf_index_entry);
	struct abi_ctf_index_entry e;
	struct stat st;
	off_t n;

	if (fstat(fd, &st))
		return -errno;
	n = st.st_size < head ? 0 : (st.st_size - head) / each;
	if (st.st_size >= head && ftruncate(fd, head + n * each))
		return -errno;
	for (s->n = 0; s->n < CTF_PACKETS_MOST && s->n < n; s->n++) {
		if (pread(fd, &e, sizeof e, head + (n - 1 - s->n) * each) != (ssize_t)sizeof e)
			return -EIO;
		s->packets[s->n] = (struct ctf_recovered_packet){
			.offset = be64toh(e.offset),
			.content = be64toh(e.content_bits) / 8,
			.end_ns = be64toh(e.end_ns),
		};
		if (s->n)
			continue;
		s->bytes = be64toh(e.offset) + be64toh(e.packet_bits) / 8;
		s->discarded = be64toh(e.discarded);
	}
	return 0;
}

static int recover_stream(int dir, int index_dir, const char *index, struct ctf_recovered *s)
{
	int fd = openat(index_dir, index, O_RDWR | O_NOFOLLOW | O_CLOEXEC), data, err;

	*s = (struct ctf_recovered){ .bytes = 0 };
	snprintf(s->name, sizeof s->name, "%.*s", (int)(strlen(index) - 4), index);
	if (fd < 0)
		return -errno;
	err = read_last_entries(fd, s);
	close(fd);
	if (err)
		return err;
	data = openat(dir, s->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (data < 0)
		return -errno;
	if (ftruncate(data, (off_t)s->bytes))
		err = -errno;
	close(data);
	return err;
}

static bool is_index(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && n < sizeof((struct ctf_recovered *)0)->name &&
	       !strcmp(name + n - 4, ".idx");
}

int ctf_recover(const char *path, void (*each)(void *arg, const struct ctf_recovered *s), void *arg,
		struct diag *d)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int index_dir = dir < 0 ? -1 : openat(dir, "index", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    err, one;
	DIR *list = index_dir < 0 ? NULL : fdopendir(dup(index_dir));
	struct ctf_recovered s;
	struct dirent *e;

	err = list ? recover_metadata(dir) : -errno;
	while (list && (e = readdir(list))) {
		if (!is_index(e->d_name))
			continue;
		one = recover_stream(dir, index_dir, e->d_name, &s);
		if (!one)
			each(arg, &s);
		err = err ? err : one;
	}
	if (list)
		closedir(list);
	if (index_dir >= 0)
		close(index_dir);
	if (dir >= 0)
		close(dir);
	return err ? diag_fail(d, err, "%s: cannot remove incomplete data: %s", path,
			       strerror(-err))
		   : 0;
}
