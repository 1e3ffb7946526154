/* SPDX-License-Identifier: MIT */
/*
 * unit/ctf/full_test.c - a disk that becomes full while packets are written, a small tmpfs of our own.
 *
 * A reader that follows may look at any moment.  So an index that had to be cut back was wrong before:
 * ftruncate() here counts that.
 */
#include "ctf/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "test.h"

enum { PAGE = 4096, PAGES = 400, BODY = PAGE - sizeof(struct abi_ctf_packet) };

static char directory[] = "/tmp/duet-full-XXXXXX";
static struct ctf_writer sink;
static struct ctf_stream stream;
static char body[BODY];

static int n_cuts; /* of the index, to less than it had */

/* In place of libc's. */
int ftruncate(int fd, off_t size)
{
	struct stat st;

	if (fd == stream.index && !fstat(fd, &st) && st.st_size > size)
		n_cuts++;
	return (int)syscall(SYS_ftruncate, fd, size);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* In a mount namespace, so that nothing is left behind. */
static void mount_small_disk(void)
{
	char map[64], options[32];
	unsigned uid = getuid();

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
		skip("no mount namespace");
	if (uid) {
		snprintf(map, sizeof map, "0 %u 1", uid);
		put("/proc/self/uid_map", map);
	}
	snprintf(options, sizeof options, "size=%d", PAGES * PAGE);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", directory, "tmpfs", 0, options))
		skip("no tmpfs can be mounted");
}

static uint64_t pages_free(void)
{
	struct statvfs s;

	ok(!statvfs(directory, &s));
	return s.f_bavail * s.f_bsize / PAGE;
}

/* Leaves @n free pages. */
static int fill(uint64_t n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/filler", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(fd >= 0 && !posix_fallocate(fd, 0, (off_t)(pages_free() - n) * PAGE));
	is(pages_free(), n);
	return fd;
}

static int append(int n)
{
	struct iovec part = { body, BODY };
	struct ctf_packet p[CTF_PACKETS_MOST];

	for (int i = 0; i < n; i++)
		p[i] = (struct ctf_packet){ .begin_ns = 1,
					    .end_ns = 1,
					    .sequence = stream.sequence + (uint64_t)i,
					    .n_body = 1,
					    .body = &part };
	return ctf_stream_append_all(&stream, p, n, NULL);
}

static struct stat state_of(int fd)
{
	struct stat st;

	ok(!fstat(fd, &st));
	return st;
}

/* The packets fit, and the first of their entries, but not all: @left bytes of the index's page are free. */
static void entries_that_do_not_fit_are_not_begun(void)
{
	int filler, n = 0;
	off_t before;

	is(ctf_stream_open(&stream, &sink, "s", NULL), 0);
	while (PAGE - stream.n_index >= 3 * sizeof(struct abi_ctf_index_entry) && ++n < 100)
		is(append(1), 0);
	filler = fill(4);
	before = state_of(stream.index).st_size;
	is(append(4), -ENOSPC);
	is(n_cuts, 0);
	is(state_of(stream.index).st_size, before);
	is(state_of(stream.fd).st_size, (off_t)stream.offset);
	is(append(1), 0); /* one fits still */
	ok(!ftruncate(filler, 0));
	is(append(4), 0);
	is(state_of(stream.index).st_size, (off_t)stream.n_index);
	is(state_of(stream.fd).st_size, (off_t)stream.offset);
	close(filler);
	ctf_stream_close(&stream);
}

/* The reserved part is not seen, and is no more than a page. */
static void what_is_reserved_is_no_part_of_the_file(void)
{
	is(ctf_stream_open(&stream, &sink, "r", NULL), 0);
	for (int i = 0; i < 70; i++) {
		struct stat st;

		is(append(1), 0);
		st = state_of(stream.index);
		is(st.st_size, (off_t)stream.n_index);
		is(st.st_blocks, (st.st_size + PAGE - 1) / PAGE * (PAGE / 512));
	}
	ctf_stream_close(&stream);
}

int main(void)
{
	struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	char path[64];
	struct ctf_writer_options o = { .path = path, .domain = "ust", .clock = &clock };

	if (!mkdtemp(directory))
		skip("no temporary directory");
	mount_small_disk();
	snprintf(path, sizeof path, "%s/trace", directory);
	is(ctf_writer_open(&sink, &o, NULL), 0);
	run(entries_that_do_not_fit_are_not_begun);
	run(what_is_reserved_is_no_part_of_the_file);
	ctf_writer_close(&sink);
	umount(directory);
	rmdir(directory);
	return test_status();
}
