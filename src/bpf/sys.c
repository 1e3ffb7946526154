/* SPDX-License-Identifier: MIT */
/* bpf/sys.c - the bpf(2) calls behind maps and programs.
 *
 * A program is loaded without a verifier log first, because the log costs memory and time. Only a
 * refused program is loaded again with a log, to put the verifier's last line into the message. */
#include "bpf/sys.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/functions.h"

enum { LOG_SIZE = 1 << 20 };

/* The kernel offers tracing helpers to programs with a GPL-compatible license only. */
static const char license[] = "Dual MIT/GPL";

static int bpf(int command, union bpf_attr *a)
{
	int result = (int)syscall(SYS_bpf, command, a, sizeof *a);

	return result < 0 ? -errno : result;
}

/* Before Linux 5.11 maps and programs count as locked memory of the process that makes them. Root
 * may raise the limit, so it is raised for this one call. */
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

int bpf_map_make(const char *name, uint32_t element_size, uint32_t n, struct diag *d)
{
	union bpf_attr a;
	int fd;

	assert(element_size && n);
	memset(&a, 0, sizeof a);
	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = 4;
	a.value_size = element_size;
	a.max_entries = n;
	a.map_flags = BPF_F_MMAPABLE;
	snprintf(a.map_name, sizeof a.map_name, "%s", name);
	fd = bpf_unlimited(BPF_MAP_CREATE, &a);
	return fd < 0 ? diag_fail(d, fd, "cannot make a BPF map of %u times %u bytes: %s", n,
				  element_size, strerror(-fd))
		      : fd;
}

/* Returns a descriptor or -errno. */
static int load_types(const struct bpf_function_types *t)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.btf = (uintptr_t)t->btf;
	a.btf_size = t->size;
	return bpf_unlimited(BPF_BTF_LOAD, &a);
}

/* Without types the kernel accepts functions, but may refuse their sum of instructions. */
static int add_types(union bpf_attr *a, struct bpf_function_types *t, const struct bpf_code *c)
{
	int types = bpf_functions_describe(t, c) ? load_types(t) : -1;

	if (types < 0)
		return types;
	a->prog_btf_fd = (uint32_t)types;
	a->func_info_rec_size = sizeof *t->info;
	a->func_info = (uintptr_t)t->info;
	a->func_info_cnt = t->n;
	return types;
}

static int load(const char *name, const struct bpf_code *c, int btf_id, char *log,
		uint32_t log_size)
{
	struct bpf_function_types functions;
	union bpf_attr a;
	int program, types;

	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_TRACING;
	a.expected_attach_type = BPF_TRACE_RAW_TP;
	a.attach_btf_id = (uint32_t)btf_id;
	a.insns = (uintptr_t)c->insns;
	a.insn_cnt = (uint32_t)c->n;
	a.license = (uintptr_t)license;
	a.log_buf = (uintptr_t)log;
	a.log_size = log_size;
	a.log_level = log ? 1 : 0;
	snprintf(a.prog_name, sizeof a.prog_name, "%s", name);
	types = add_types(&a, &functions, c);
	program = bpf_unlimited(BPF_PROG_LOAD, &a);
	if (types >= 0)
		close(types); /* the program holds them */
	return program;
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

/* Loads the program again, with a log that gives the reason. */
static int report_refused(const char *name, const struct bpf_code *c, int btf_id, int err,
			  struct diag *d)
{
	char *log = d ? calloc(1, LOG_SIZE) : NULL;

	if (log)
		load(name, c, btf_id, log, LOG_SIZE);
	diag_fail(d, err, "cannot load the BPF program %s: %s%s%.200s", name, strerror(-err),
		  log && *log ? ": " : "", log ? last_line(log) : "");
	free(log);
	return err;
}

static int attach(int program)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &a);
}

int bpf_attach(struct bpf_link *l, const char *name, const struct bpf_code *c, int btf_id,
	       struct diag *d)
{
	int err;

	assert(c->n && !c->failed && btf_id > 0);
	*l = (struct bpf_link){ -1, -1 };
	l->program = load(name, c, btf_id, NULL, 0);
	if (l->program < 0) {
		err = l->program;
		l->program = -1;
		return report_refused(name, c, btf_id, err, d);
	}
	l->link = attach(l->program);
	if (l->link >= 0)
		return 0;
	err = l->link;
	bpf_release(l);
	return diag_fail(d, err, "cannot attach the BPF program %s: %s", name, strerror(-err));
}

void bpf_detach(struct bpf_link *l)
{
	if (l->link >= 0)
		close(l->link);
	l->link = -1;
}

void bpf_release(struct bpf_link *l)
{
	bpf_detach(l);
	if (l->program >= 0)
		close(l->program);
	l->program = -1;
}

uint64_t bpf_misses(const struct bpf_link *l)
{
	struct bpf_prog_info info;
	union bpf_attr a;

	if (l->program < 0)
		return 0;
	memset(&info, 0, sizeof info);
	memset(&a, 0, sizeof a);
	a.info.bpf_fd = (uint32_t)l->program;
	a.info.info_len = sizeof info;
	a.info.info = (uintptr_t)&info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &a) < 0 ? 0 : info.recursion_misses;
}
