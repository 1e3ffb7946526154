/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/end.c - lets all streams of a trace end together: see writer.h.
 *
 * A stream's last packet is read from its index, since most streams have been closed by then, and
 * their owners differ.  The packet that is added takes its losses, so it reports none.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "ctf/write/writer.h"

static const char suffix[] = ".idx";

/* The place of the index's end, and the last entry. -ENODATA if there is none. */
static int read_last(int index, uint64_t *end, struct abi_ctf_index_entry *e)
{
	off_t size = lseek(index, 0, SEEK_END), at = size - (off_t)sizeof *e;

	if (size < 0)
		return -errno;
	if (at < (off_t)sizeof(struct abi_ctf_index_header))
		return -ENODATA;
	*end = (uint64_t)size;
	return pread(index, e, sizeof *e, at) == (ssize_t)sizeof *e ? 0 : -EIO;
}

/* The CPU of the packet at @offset. */
static int read_cpu(int fd, uint64_t offset, uint32_t *cpu)
{
	off_t at = (off_t)(offset + offsetof(struct abi_ctf_packet, cpu));

	return pread(fd, cpu, sizeof *cpu, at) == (ssize_t)sizeof *cpu ? 0 : -EIO;
}

static int end_stream(struct ctf_stream *st, uint64_t end_ns, struct diag *d)
{
	struct abi_ctf_index_entry e;
	struct ctf_packet p = { .begin_ns = end_ns, .end_ns = end_ns, .is_report = true };
	int err = read_last(st->index, &st->n_index, &e);

	if (err == -ENODATA || (!err && be64toh(e.end_ns) >= end_ns))
		return 0;
	if (!err)
		err = read_cpu(st->fd, be64toh(e.offset), &p.cpu);
	st->offset = err ? 0 : be64toh(e.offset) + be64toh(e.packet_bits) / 8;
	if (!err && lseek(st->fd, (off_t)st->offset, SEEK_SET) < 0)
		err = -errno;
	if (err)
		return diag_fail(d, err, "%s/%s: %s", st->writer->path, st->name, strerror(-err));
	st->instance = be64toh(e.stream_instance_id) & ABI_CTF_INDEX_INSTANCE;
	p.births = be64toh(e.stream_instance_id) & ~ABI_CTF_INDEX_INSTANCE ? CTF_BIRTHS_NONE
									   : CTF_BIRTHS_UNKNOWN;
	st->class_id = (uint32_t)be64toh(e.stream_id);
	p.discarded = be64toh(e.discarded);
	p.sequence = be64toh(e.sequence) + 1;
	return ctf_stream_append(st, &p, d);
}

static int end_file(struct ctf_writer *s, const char *index, uint64_t end_ns, struct diag *d)
{
	struct ctf_stream st = { .writer = s };
	int err;

	snprintf(st.name, sizeof st.name, "%.*s", (int)(strlen(index) - strlen(suffix)), index);
	st.index = openat(s->index_dir, index, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	st.fd = openat(s->dir, st.name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	err = st.index < 0 || st.fd < 0
		      ? diag_errno(d, "cannot open %s/%s to end it", s->path, st.name)
		      : end_stream(&st, end_ns, d);
	ctf_stream_close(&st);
	return err;
}

static bool is_index(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(suffix) && n < sizeof((struct ctf_stream *)0)->name &&
	       !strcmp(name + n - strlen(suffix), suffix);
}

int ctf_writer_end(struct ctf_writer *s, uint64_t end_ns, struct diag *d)
{
	int fd = openat(s->index_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), first = 0, err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		err = diag_errno(d, "cannot list the streams of %s", s->path);
		if (fd >= 0)
			close(fd);
		return err;
	}
	end_ns = end_ns > s->last_ns ? end_ns : s->last_ns;
	while ((e = readdir(dir))) {
		if (!is_index(e->d_name))
			continue;
		err = end_file(s, e->d_name, end_ns, first ? NULL : d);
		first = first ? first : err;
	}
	closedir(dir);
	return first;
}
