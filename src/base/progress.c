/* SPDX-License-Identifier: MIT */
/*
 * base/progress.c - read .duet/clock, .duet/relay and the index of a recording that another process
 * may be writing.
 */
#include "base/progress.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"

enum { TAIL = 512, PARENTS_MAX = 6 };

static int open_below(const char *dir, int length, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof path, "%.*s%s%s", length, dir, length ? "/" : "", name) >=
	    (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = io_open_file(AT_FDCWD, path);
	errno = fd < 0 ? -fd : errno;
	return fd < 0 ? -1 : fd;
}

/* Reads the last @size - 1 bytes at most, from the start of a line; "" if that fails. */
static void read_tail(int fd, char *text, size_t size)
{
	struct stat st;
	ssize_t n;
	off_t from;
	char *line;

	assert(size > 1);
	*text = 0;
	if (fstat(fd, &st))
		return;
	from = st.st_size > (off_t)size - 1 ? st.st_size - (off_t)size + 1 : 0;
	n = pread(fd, text, size - 1, from);
	text[n > 0 ? n : 0] = 0;
	line = from ? strchr(text, '\n') : NULL;
	if (line)
		memmove(text, line + 1, strlen(line));
}

/* A line has five numbers, then perhaps a time up to which the files are complete, or "end". */
static void read_line(const char *line, struct progress *p)
{
	unsigned long long ns;
	char word[8] = "";
	int n = 0;

	sscanf(line, "%*u %*u %*u %*u %*u%n", &n);
	if (!n)
		return;
	if (sscanf(line + n, " %llu", &ns) == 1)
		p->written_ns = ns;
	else if (sscanf(line + n, " %7[a-z]", word) == 1 && !strcmp(word, "end"))
		p->state = PROGRESS_ENDED;
}

/* Reads the complete lines. */
static void read_lines(int fd, struct progress *p)
{
	char text[TAIL], *line = text, *end;

	read_tail(fd, text, sizeof text);
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		read_line(line, p);
	}
}

static bool is_locked(int fd)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &l) || l.l_type != F_UNLCK;
}

/* Reads the file that a relay writes. */
static void read_relay(const char *path, struct progress *p)
{
	char text[TAIL] = "";
	int fd = open_below(path, (int)strlen(path), ".duet/relay");

	if (fd < 0)
		return;
	p->is_relayed = true;
	read_tail(fd, text, sizeof text);
	close(fd);
	if (p->state == PROGRESS_GROWS && strstr(text, "complete\n"))
		p->state = PROGRESS_CUT; /* else its last line would be "end" */
}

static bool is_finished(const char *path)
{
	int fd = open_below(path, (int)strlen(path), ".duet/finished");

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void progress_read(const char *path, struct progress *p)
{
	int fd = open_below(path, (int)strlen(path), ".duet/clock"), sent;
	char text[TAIL];
	bool is_written;

	*p = (struct progress){ PROGRESS_UNKNOWN };
	if (fd < 0)
		return;
	is_written = is_locked(
		fd); /* before the lines: a writer that ends in between is not taken for dead */
	p->state = PROGRESS_GROWS; /* also before its first line */
	read_relay(path, p);
	read_lines(fd, p);
	if (p->state == PROGRESS_GROWS && !is_written && !p->is_relayed &&
	    lseek(fd, 0, SEEK_END) > 0)
		p->state = PROGRESS_CUT;
	close(fd);
	assert(p->state != PROGRESS_UNKNOWN);
	p->is_finished = is_finished(path);
	sent = open_below(path, (int)strlen(path), ".duet/stream");
	if (sent >= 0) {
		read_tail(sent, text, sizeof text);
		p->is_sent = !strstr(text, " kept\n");
		close(sent);
	}
}

int progress_find(const char *path)
{
	int length = (int)strlen(path);

	for (int i = 0; i < PARENTS_MAX; i++) {
		int fd = open_below(path, length, ".duet/clock");

		if (fd >= 0) {
			close(fd);
			return length;
		}
		if (!length || (length == 1 && *path == '/'))
			return -1;
		while (length > 0 && path[--length] != '/')
			;
	}
	return -1;
}

int64_t progress_index_end(const char *dir, const char *stream)
{
	const off_t head = sizeof(struct abi_ctf_index_header),
		    each = sizeof(struct abi_ctf_index_entry);
	struct abi_ctf_index_entry e;
	char name[NAME_MAX + 16];
	struct stat st;
	int64_t end = 0;
	uint64_t from, bits;
	int fd;

	snprintf(name, sizeof name, "index/%s.idx", stream);
	fd = open_below(dir, (int)strlen(dir), name);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		end = -1;
	else if (st.st_size >= head + each &&
		 pread(fd, &e, sizeof e, head + ((st.st_size - head) / each - 1) * each) ==
			 (ssize_t)sizeof e) {
		from = be64toh(e.offset);
		bits = be64toh(e.packet_bits);
		end = from < INT64_MAX / 2 && bits / 8 < INT64_MAX / 2 ? (int64_t)(from + bits / 8)
								       : 0;
	}
	close(fd);
	return end;
}
