/* SPDX-License-Identifier: MIT */
/* bpf/object.c - bpf(2), one function for each command that scripts need. */
#include "bpf/object.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

enum { LOG_SIZE = 1 << 20 };

/* The kernel offers tracing helpers to programs with a GPL-compatible license only. */
static const char license[] = "Dual MIT/GPL";

/* Later than the headers of some systems. */
enum { ATTACH_UPROBE_MULTI = 48, UPROBE_MULTI_RETURN = 1 };
struct link_uprobes { /* of union bpf_attr, for BPF_LINK_CREATE */
	uint32_t program, target, attach, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, uprobe_flags, pid, unused;
};

static int call(int command, void *attr, size_t size)
{
	int result = (int)syscall(SYS_bpf, command, attr, size);

	return result < 0 ? -errno : result;
}

static int bpf(int command, union bpf_attr *a)
{
	return call(command, a, sizeof *a);
}

/* Before Linux 5.11 maps and programs count as locked memory.  A limit that cannot be raised is no
 * error of its own: later kernels do not use it. */
static int bpf_unlimited(int command, union bpf_attr *a)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY }, old;
	int result = bpf(command, a);

	if (result != -EPERM || getrlimit(RLIMIT_MEMLOCK, &old) || setrlimit(RLIMIT_MEMLOCK, &none))
		return result;
	result = bpf(command, a);
	setrlimit(RLIMIT_MEMLOCK, &old);
	return result;
}

/* ---------------------------------------------------------------- maps */

int bpf_map_create(const struct bpf_map_spec *s, struct diag *d)
{
	union bpf_attr a;
	int fd;

	memset(&a, 0, sizeof a);
	a.map_type = s->type;
	a.key_size = s->key_size;
	a.value_size = s->value_size;
	a.max_entries = s->n;
	a.map_flags = s->flags;
	a.inner_map_fd = (uint32_t)s->inner;
	snprintf(a.map_name, sizeof a.map_name, "%s", s->name);
	fd = bpf_unlimited(BPF_MAP_CREATE, &a);
	return fd < 0 ? diag_fail(d, fd, "cannot make the BPF map %s of %u times %u bytes: %s",
				  s->name, s->n, s->key_size + s->value_size, strerror(-fd))
		      : fd;
}

static int element(int command, int map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)map;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value;
	a.flags = flags;
	return bpf(command, &a);
}

int bpf_map_get(int map, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

int bpf_map_put(int map, const void *key, const void *value, uint64_t flags)
{
	return element(BPF_MAP_UPDATE_ELEM, map, key, value, flags);
}

int bpf_map_remove(int map, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, map, key, NULL, 0);
}

int bpf_map_next(int map, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, map, key, next, 0);
}

int bpf_map_take(int map, const void *from, void *to, void *keys, void *values, uint32_t *n)
{
	union bpf_attr a;
	int err;

	memset(&a, 0, sizeof a);
	a.batch.in_batch = (uintptr_t)from;
	a.batch.out_batch = (uintptr_t)to;
	a.batch.keys = (uintptr_t)keys;
	a.batch.values = (uintptr_t)values;
	a.batch.count = *n;
	a.batch.map_fd = (uint32_t)map;
	err = bpf(BPF_MAP_LOOKUP_AND_DELETE_BATCH, &a);
	*n = err && err != -ENOENT ? 0 : a.batch.count;
	return err;
}

/* ---------------------------------------------------------------- programs */

static int load(const struct bpf_program_spec *s, char *log, uint32_t log_size)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.prog_type = s->type;
	a.expected_attach_type = s->attach;
	a.attach_btf_id = s->btf_id;
	a.prog_flags = s->flags;
	a.insns = (uintptr_t)s->insns;
	a.insn_cnt = s->n;
	a.license = (uintptr_t)license;
	a.log_buf = (uintptr_t)log;
	a.log_size = log_size;
	a.log_level = log ? 1 : 0;
	snprintf(a.prog_name, sizeof a.prog_name, "%s", s->name);
	return bpf_unlimited(BPF_PROG_LOAD, &a);
}

/* The line before the one with the instruction count. */
static const char *last_line(char *log)
{
	char *counts = strstr(log, "\nprocessed "), *line;

	if (counts)
		*counts = 0;
	line = strrchr(log, '\n');
	return line ? line + 1 : log;
}

int bpf_program_load(const struct bpf_program_spec *s, bool log, struct diag *d)
{
	int fd = load(s, NULL, 0);
	char *text;

	if (fd >= 0)
		return fd;
	text = log && d ? calloc(1, LOG_SIZE) : NULL;
	if (text)
		load(s, text, LOG_SIZE);
	diag_fail(d, fd, "cannot load the BPF program %s: %s%s%.400s", s->name, strerror(-fd),
		  text && *text ? ": " : "", text ? last_line(text) : "");
	free(text);
	return fd;
}

int bpf_program_explain(const struct bpf_program_spec *s, char *log, size_t size)
{
	return load(s, log, (uint32_t)size);
}

/* ---------------------------------------------------------------- attachments */

int bpf_attach_raw(const char *tracepoint, int program)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.raw_tracepoint.name = (uintptr_t)tracepoint;
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &a);
}

int bpf_attach_perf(int event, int program, uint64_t cookie)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.link_create.prog_fd = (uint32_t)program;
	a.link_create.target_fd = (uint32_t)event;
	a.link_create.attach_type = 41; /* BPF_PERF_EVENT: Linux 5.15 */
	a.link_create.perf_event.bpf_cookie = cookie;
	return bpf(BPF_LINK_CREATE, &a);
}

int bpf_attach_uprobes(const struct bpf_uprobes *u, int program)
{
	struct link_uprobes a;

	memset(&a, 0, sizeof a);
	a.program = (uint32_t)program;
	a.attach = ATTACH_UPROBE_MULTI;
	a.path = (uintptr_t)u->path;
	a.offsets = (uintptr_t)u->offsets;
	a.semaphores = (uintptr_t)u->semaphores;
	a.cookies = (uintptr_t)u->cookies;
	a.n = u->n;
	a.uprobe_flags = u->is_return ? UPROBE_MULTI_RETURN : 0;
	a.pid = (uint32_t)u->pid;
	return call(BPF_LINK_CREATE, &a, sizeof a);
}

/* ---------------------------------------------------------------- statistics */

/* Fills @info, @size bytes, about the object @fd; zeros stand behind the part that the kernel knows.
 * Returns the size of that part, or -errno. */
static int get_info(int fd, void *info, uint32_t size)
{
	union bpf_attr a;
	int err;

	memset(info, 0, size);
	memset(&a, 0, sizeof a);
	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = size;
	a.info.info = (uintptr_t)info;
	err = bpf(BPF_OBJ_GET_INFO_BY_FD, &a);
	return err ? err : (int)a.info.info_len;
}

int bpf_program_usage(int program, struct bpf_usage *u)
{
	struct bpf_prog_info info;
	int n = get_info(program, &info, sizeof info);

	*u = (struct bpf_usage){ info.run_time_ns, info.run_cnt, info.recursion_misses };
	return n < 0 ? n : 0;
}

/* struct bpf_link_info of a perf event, as of Linux 6.7. */
struct kprobe_info {
	uint32_t type, id, program, hole;
	uint32_t event, hole_of_union;
	uint64_t name;
	uint32_t name_size, offset;
	uint64_t address, missed;
};

int bpf_kprobe_missed(int link, uint64_t *n)
{
	enum { EVENT_KPROBE = 3, EVENT_KRETPROBE = 4 };
	struct kprobe_info info;
	int n_known = get_info(link, &info, sizeof info);

	*n = info.missed;
	if (n_known < 0)
		return n_known;
	return n_known >= (int)sizeof info &&
			       (info.event == EVENT_KPROBE || info.event == EVENT_KRETPROBE)
		       ? 0
		       : -EOPNOTSUPP;
}

int bpf_statistics_on(void)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.enable_stats.type = BPF_STATS_RUN_TIME;
	return bpf(BPF_ENABLE_STATS, &a);
}

int bpf_possible_cpus(void)
{
	char text[256]; /* "0-3", "0", "0-3,8-11" */
	ssize_t n = io_read_file("/sys/devices/system/cpu/possible", text, sizeof text);
	const char *last = text;
	int number;

	if (n <= 0)
		return -EIO;
	for (const char *p = text; *p; p++)
		if (*p == '-' || *p == ',')
			last = p + 1;
	return sscanf(last, "%d", &number) == 1 && number >= 0 && number < 65536 ? number + 1
										 : -EIO;
}
