/* SPDX-License-Identifier: MIT */
/* Shared by the live tests of src/kernel: a recording of a function run in a child, into a
 * directory that goes away, and reading it back. */
#ifndef KERNEL_LIVE_H
#define KERNEL_LIVE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/tracefs.h"
#include "test.h"

static char directory[64];
static struct abi_clock session_clock;
static struct diag why;

/* For nftw. */
static int remove_entry(const char *path, const struct stat *s, int type, struct FTW *f)
{
	(void)s, (void)type, (void)f;
	return remove(path);
}

static void remove_directory(void)
{
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the directory and the clock; skips the test where the kernel cannot be recorded. */
static void live_begin(void)
{
	const char *tmp = getenv("TMPDIR");

	int root = kernel_tracefs_open(&why);

	if (root < 0 || kernel_reap(root, &why) < 0)
		skip(why.text);
	close(root);
	snprintf(directory, sizeof directory, "%s/duet-kernel-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(directory) || clock_init_kind(&session_clock, 0, &why)) {
		fprintf(stderr, "cannot begin\n");
		exit(1);
	}
	atexit(remove_directory);
}

static uint64_t epoch_offset_ns(void)
{
	struct clock_reading r;

	clock_read(&session_clock, &r);
	return r.realtime_ns - clock_ns(&session_clock, r.ticks);
}

/* Opens a recording in directory/NAME; a failure ends the test. */
static inline struct kernel *live_open(const char *name, struct kernel_options o)
{
	static char path[128];
	struct kernel *k;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	o.path = path;
	o.clock = &session_clock;
	o.clock_offset_ns = epoch_offset_ns();
	if (kernel_open(&k, &o, &why)) {
		fprintf(stderr, "cannot open: %s\n", why.text);
		exit(1);
	}
	return k;
}

/* A child that waits for a byte on its standard input before it runs @work. */
struct live_child {
	pid_t pid;
	int go;
};

static inline struct live_child live_fork(void (*work)(void))
{
	struct live_child c;
	int pipe_fd[2];
	char byte;

	if (pipe2(pipe_fd, O_CLOEXEC) || (c.pid = fork()) < 0)
		exit(1);
	if (!c.pid) {
		close(pipe_fd[1]);
		if (read(pipe_fd[0], &byte, 1) == 1)
			work();
		_exit(0);
	}
	close(pipe_fd[0]);
	c.go = pipe_fd[1];
	return c;
}

/* The expected message of kernel_stop, or a part of it; "": nothing. */
static const char *live_note = "";

/* Records @work in a child; polls unless @is_lazy.  Leaves @k stopped. */
static inline void live_record(struct kernel *k, void (*work)(void), bool is_lazy)
{
	struct live_child c = live_fork(work);

	why.text[0] = 0;
	is(kernel_add_pid(k, c.pid, &why), 0);
	is(kernel_start(k, &why), 0);
	is(write(c.go, "", 1), 1);
	close(c.go);
	while (waitpid(c.pid, NULL, is_lazy ? 0 : WNOHANG) == 0) {
		usleep(20000);
		is(kernel_poll(k, 0, &why), 0);
	}
	is(kernel_stop(k, &why), 0);
	ok(*live_note ? strstr(why.text, live_note) != NULL : !*why.text);
}

/* All of directory/NAME/FILE; the caller frees. */
static inline uint8_t *live_read(const char *name, const char *file, size_t *size)
{
	char path[192];
	struct stat s;
	uint8_t *bytes = NULL;
	int fd;

	*size = 0;
	snprintf(path, sizeof path, "%s/%s/%s", directory, name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &s) && (bytes = calloc(1, (size_t)s.st_size + 1)))
		*size = (size_t)read(fd, bytes, (size_t)s.st_size);
	close(fd);
	return bytes;
}

/* The id of an event in directory/NAME/metadata, or -1. */
static inline int live_event_id(const char *name, const char *event)
{
	size_t size;
	char *text = (char *)live_read(name, "metadata", &size), quoted[128], *p;
	int id = -1;

	snprintf(quoted, sizeof quoted, "name = \"%s\";", event);
	p = text ? strstr(text, quoted) : NULL;
	if (p)
		sscanf(p + strlen(quoted), " id = %d;", &id);
	free(text);
	return id;
}

typedef void live_packet(const struct abi_ctf_packet *, const uint8_t *, size_t);

/* Calls @each with the packets of a stream; they must follow one another in time. */
static inline void live_stream(const char *name, const char *file, live_packet *each)
{
	uint64_t last_ns = 0, last_discarded = 0;
	size_t size, at = 0;
	uint8_t *bytes = live_read(name, file, &size);

	while (bytes && size - at >= sizeof(struct abi_ctf_packet)) {
		struct abi_ctf_packet p;

		memcpy(&p, bytes + at, sizeof p);
		ok(p.begin_ns >= last_ns && p.end_ns >= p.begin_ns);
		ok(p.discarded >= last_discarded);
		last_ns = p.end_ns;
		last_discarded = p.discarded;
		each(&p, bytes + at + sizeof p, p.content_bits / 8 - sizeof p);
		at += p.packet_bits / 8;
	}
	is(at, size);
	free(bytes);
}

/* The same with every CPU's streams: those that tracefs recorded, and those of BPF programs. */
static inline void live_packets(const char *name, live_packet *each)
{
	char file[32];

	for (int cpu = 0; cpu < 1024; cpu++) {
		snprintf(file, sizeof file, "kernel_%d", cpu);
		live_stream(name, file, each);
		snprintf(file, sizeof file, "bpf_%d", cpu);
		live_stream(name, file, each);
	}
}

/* Whether BPF programs can record here; @reason: why not. */
static inline bool live_has_bpf(const char **reason)
{
	struct kernel_options o = { .whole_machine = true,
				    .clock = &session_clock,
				    .backend = KERNEL_BACKEND_BPF };
	char path[128];
	struct kernel *k;
	int err;

	snprintf(path, sizeof path, "%s/probe", directory);
	o.path = path;
	err = kernel_open(&k, &o, &why);
	kernel_close(k);
	*reason = why.text;
	return !err;
}

#endif
