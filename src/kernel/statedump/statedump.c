/* SPDX-License-Identifier: MIT */
/* kernel/statedump/statedump.c - reads threads, files and mappings from /proc into events.
 *
 * Costs about 20 us for a thread and 4 us for a file. */
#include "kernel/statedump/statedump.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "kernel/statedump/internal.h"
#include "kernel/threads/host_pids.h"

enum {
	EVENT_MAX = KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + 32 + PATH_MAX,
	NAME_SIZE = 16
};

/* As in lttng-modules; its other values never occur here. */
enum { USER_THREAD = 0, KERNEL_THREAD = 1 };
enum { MODE_UNKNOWN = 5, SUBMODE_UNKNOWN = 1 };
enum { WAIT_CPU = 2, ZOMBIE = 4, WAIT = 5, DEAD = 7 };
enum { KERNEL_THREAD_FLAG = 0x00200000 };

static const char process_fields[] =
	"\t\tint32_t _tid;\n\t\tint32_t _pid;\n\t\tint32_t _ppid;\n"
	"\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; } _name[16];\n"
	"\t\tint32_t _type;\n\t\tint32_t _mode;\n\t\tint32_t _submode;\n\t\tint32_t _status;\n"
	"\t\tuint32_t _cpu;\n";

static const char map_fields[] =
	"\t\tint32_t _pid;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _start;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _end;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _flags;\n"
	"\t\tuint64_t _inode;\n\t\tuint64_t _pgoff;\n";

static const char file_fields[] = "\t\tint32_t _pid;\n\t\tint32_t _fd;\n\t\tuint32_t _flags;\n"
				  "\t\tuint32_t _fmode;\n\t\tuint32_t _mode;\n\t\tuint64_t _rdev;\n"
				  "\t\tstring _filename;\n";

struct process_state {
	int32_t tid, pid, ppid;
	char name[NAME_SIZE];
	uint32_t type, mode, submode, status, cpu;
} __attribute__((packed));

struct map_state {
	int32_t pid;
	uint64_t start, end, flags, inode, pgoff;
} __attribute__((packed));

struct file_state {
	int32_t pid, fd;
	uint32_t flags, fmode;
	uint32_t mode; /* of stat(2), 0: unknown */
	uint64_t rdev;
} __attribute__((packed));

static void flush(struct kernel_dump *p)
{
	struct iovec body = { p->body, p->packet.size };
	struct ctf_packet packet = {
		.begin_ns = p->packet.begin_ns,
		.end_ns = p->packet.end_ns,
		.sequence = p->stream.sequence,
		.n_events = p->packet.n_events,
		.births = kernel_births(p->drain, &p->packet),
		.cpu = p->cpu,
		.n_body = 1,
		.body = &body,
	};

	if (p->err || !p->packet.n_events)
		return;
	p->err = kernel_drain_describe(p->drain, p->d);
	if (!p->err)
		p->err = ctf_stream_append(&p->stream, &packet, p->d);
	if (!p->err)
		p->drain->n_events += p->packet.n_events;
	p->packet = (struct kernel_packet){ 0 };
}

void kernel_dump_put(struct kernel_dump *p, uint16_t id, const void *a, size_t a_size,
		     const void *b, size_t b_size)
{
	uint64_t ns = clock_now_ns(&p->drain->clock);
	uint32_t time = (uint32_t)ns;
	int32_t tid = gettid();
	uint8_t *to;

	if (p->packet.size + KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + a_size + b_size >
	    KERNEL_DUMP_BODY)
		flush(p);
	to = p->body + p->packet.size;
	assert(p->packet.size + KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + a_size + b_size <=
	       KERNEL_DUMP_BODY);
	memcpy(to, &time, 4);
	memcpy(to + 4, &id, 2);
	memset(to + 6, 0, 2);
	memcpy(to + 8, &tid, 4);
	to += KERNEL_EVENT_HEADER;
	if (a_size)
		memcpy(to, a, a_size);
	if (b_size)
		memcpy(to + a_size, b, b_size);
	p->packet.size += kernel_contexts_put(p->drain->contexts, to - KERNEL_EVENT_HEADER,
					      KERNEL_EVENT_HEADER + a_size + b_size, ns);
	p->packet.has_births |= id == p->process;
	if (!p->packet.n_events++)
		p->packet.begin_ns = ns;
	p->packet.end_ns = ns;
}

static uint32_t status_of(char state)
{
	switch (state) {
	case 'R':
		return WAIT_CPU;
	case 'Z':
		return ZOMBIE;
	case 'X':
	case 'x':
		return DEAD;
	default:
		return WAIT;
	}
}

/* /proc/<pid>/task/<tid>/stat: "tid (name) state ppid ... flags(9) ... processor(39) ..." */
static bool read_stat(struct process_state *s, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), state;
	unsigned flags, cpu;
	int ppid;

	if (!open || !close || close < open)
		return false;
	*close = 0;
	if (sscanf(close + 1,
		   " %c %d %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
		   " %*s %*s %*s %u",
		   &state, &ppid, &flags, &cpu) != 4)
		return false;
	s->ppid = ppid;
	memccpy(s->name, open + 1, 0, NAME_SIZE - 1); /* the rest stays 0 */
	s->type = flags & KERNEL_THREAD_FLAG ? KERNEL_THREAD : USER_THREAD;
	s->status = status_of(state);
	s->cpu = cpu;
	return true;
}

static void dump_thread(struct kernel_dump *p, int pid, int tid)
{
	struct process_state s = {
		.tid = tid, .pid = pid, .mode = MODE_UNKNOWN, .submode = SUBMODE_UNKNOWN
	};
	char path[64], text[1024];

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	/* A thread that has ended meanwhile needs no state. */
	if (io_read_file(path, text, sizeof text) > 0 && read_stat(&s, text))
		kernel_dump_put(p, p->process, &s, sizeof s, NULL, 0);
}

static uint32_t flags_of(int pid, int fd)
{
	char path[64], text[512];
	const char *flags;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, fd);
	if (io_read_file(path, text, sizeof text) <= 0)
		return 0;
	flags = strstr(text, "flags:");
	return flags ? (uint32_t)strtoul(flags + strlen("flags:"), NULL, 8) : 0;
}

/* Users can mount a file system on a file elsewhere, and let stat(2) wait as long as they like. */
static bool is_of_devtmpfs(const char *name)
{
	static const char *const others[] = { "/dev/shm/", "/dev/mqueue/", "/dev/hugepages/" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return !strncmp(name, "/dev/", 5);
}

/* The attributes that the kernel has in memory: no request to the server of a file system. */
static void device_of(const char *path, struct file_state *s)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE, &x))
		return;
	s->mode = x.stx_mode;
	s->rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor);
}

static void dump_file(struct kernel_dump *p, int pid, int fd)
{
	struct file_state s = { .pid = pid, .fd = fd, .flags = flags_of(pid, fd) };
	char path[64], name[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, name, sizeof name - 1);
	if (n < 0)
		return;
	name[n] = 0;
	/* FMODE_READ is 1, FMODE_WRITE 2: the access mode plus one. */
	s.fmode = (s.flags & O_ACCMODE) + 1;
	if (is_of_devtmpfs(name))
		device_of(path, &s);
	kernel_dump_socket(p, pid, fd, name); /* first: a call in between has all of it */
	kernel_dump_put(p, p->file, &s, sizeof s, name, (size_t)n + 1);
}

/* In the kernel's bits: VM_READ, ... */
static uint64_t map_flags(const char *rights)
{
	return (rights[0] == 'r') | (uint64_t)(rights[1] == 'w') << 1 |
	       (uint64_t)(rights[2] == 'x') << 2 | (uint64_t)(rights[3] == 's') << 3;
}

static void dump_maps(struct kernel_dump *p, int pid)
{
	struct map_state s = { .pid = pid };
	char path[64], line[512], rights[5];
	long page = sysconf(_SC_PAGESIZE);
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !p->err && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64, &s.start,
			   &s.end, rights, &s.pgoff, &s.inode) != 5)
			continue; /* the rest of a long name */
		s.flags = map_flags(rights);
		s.pgoff /= (uint64_t)page;
		kernel_dump_put(p, p->map, &s, sizeof s, NULL, 0);
	}
	if (f)
		fclose(f);
}

/* Calls @each for the numeric entries of /proc/<pid>/NAME, or of /proc if the name is NULL. */
static void each_number(struct kernel_dump *p, int pid, const char *what,
			void (*each)(struct kernel_dump *, int pid, int number))
{
	char path[64] = "/proc";
	struct dirent *e;
	DIR *dir;

	if (what)
		snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	dir = opendir(path);
	if (!dir)
		return; /* it has ended */
	while (!p->err && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			each(p, pid, atoi(e->d_name));
	closedir(dir);
}

static void dump_threads(struct kernel_dump *p, int ignored, int pid)
{
	(void)ignored;
	each_number(p, pid, "task", dump_thread);
}

static void dump_files(struct kernel_dump *p, int ignored, int pid)
{
	(void)ignored;
	each_number(p, pid, "fd", dump_file);
	dump_maps(p, pid);
}

static void dump_processes(struct kernel_dump *p, const pid_t *pids, int n_pids, bool only_followed)
{
	if (n_pids < 0 || !only_followed)
		each_number(p, 0, NULL, dump_threads);
	for (int i = 0; only_followed && i < n_pids; i++)
		dump_threads(p, 0, pids[i]);
	if (n_pids < 0)
		each_number(p, 0, NULL, dump_files);
	for (int i = 0; i < n_pids; i++)
		dump_files(p, 0, pids[i]);
}

/* The processes that /proc shows in a pid namespace would give their names to others of the machine. */
static void dump_all(struct kernel_dump *p, const pid_t *pids, int n_pids, bool only_followed)
{
	kernel_dump_put(p, p->start, NULL, 0, NULL, 0);
	if (n_pids >= 0 || host_pids_are_in_proc())
		dump_processes(p, pids, n_pids, only_followed);
	if (n_pids < 0 || !only_followed)
		kernel_dump_machine(p);
	kernel_dump_put(p, p->end, NULL, 0, NULL, 0);
	flush(p);
}

int kernel_statedump(struct kernel_drain *k, const pid_t *pids, int n_pids, bool only_followed,
		     bool sockets, struct diag *d)
{
	struct kernel_dump *p = calloc(1, sizeof *p);
	int cpu = sched_getcpu(), err;

	_Static_assert((int)EVENT_MAX <= (int)KERNEL_DUMP_BODY, "a packet holds any event");
	if (!p)
		return diag_fail(d, -ENOMEM, "no memory for the state dump");
	p->drain = k;
	p->sockets.is_wanted = sockets;
	p->d = d;
	/* Readers create a CPU for every number they see, so this number must be an existing
	 * one. */
	p->cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	err = ctf_stream_open(&p->stream, &k->sink, "statedump", d);
	if (!err) {
		/* A snapshot's state is read last, but holds for all of it. */
		if (!p->stream.begin_ns)
			p->stream.begin_ns = k->sink.first_ns;
		p->start = kernel_classes_describe(&k->classes, "lttng_statedump_start", NULL);
		p->process = kernel_classes_describe(&k->classes, "lttng_statedump_process_state",
						     process_fields);
		p->file = kernel_classes_describe(&k->classes, "lttng_statedump_file_descriptor",
						  file_fields);
		p->map = kernel_classes_describe(&k->classes, "lttng_statedump_vm_map", map_fields);
		p->end = kernel_classes_describe(&k->classes, "lttng_statedump_end", NULL);
		dump_all(p, pids, n_pids, only_followed);
		err = p->err;
		ctf_stream_close(&p->stream);
	}
	free(p->sockets.at);
	free(p);
	return err;
}
