/* SPDX-License-Identifier: MIT */
/*
 * bpf/object.h - maps, programs and attachments of all kinds, with bpf(2) alone.
 *
 * bpf/sys.h has the few that a recorder needs; this is the rest, for scripts.  All results are
 * close-on-exec descriptors, or a negative errno; nothing is pinned, so the kernel removes
 * everything when the last holder of the descriptors ends.
 */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "bpf/code.h"

struct bpf_map_spec {
	const char *name; /* at most 15 bytes are used */
	uint32_t type;	  /* BPF_MAP_TYPE_... */
	uint32_t key_size, value_size, n, flags;
	int inner; /* a map like those that are put into a map of maps; 0: none */
};
int bpf_map_create(const struct bpf_map_spec *s, struct diag *d);

/* Each returns 0 or -errno.  The value of a per-CPU map is one value, rounded up to 8 bytes, for
 * each possible CPU. */
int bpf_map_get(int map, const void *key, void *value);
int bpf_map_put(int map, const void *key, const void *value, uint64_t flags);
int bpf_map_remove(int map, const void *key);
/* @key: NULL begins; -ENOENT: there is no other. */
int bpf_map_next(int map, const void *key, void *next);
/*
 * bpf_map_take - removes up to *@n pairs of a hash; *@n becomes how many.
 *
 * @from: NULL begins; @to: where the next batch begins, at least 8 bytes and the key's size.
 * 0; -ENOENT: these were the last; another -errno (-ENOSPC: the bucket needs more room).
 */
int bpf_map_take(int map, const void *from, void *to, void *keys, void *values, uint32_t *n);

struct bpf_program_spec {
	const char *name;
	uint32_t type;	 /* BPF_PROG_TYPE_... */
	uint32_t attach; /* BPF_TRACE_RAW_TP, BPF_TRACE_UPROBE_MULTI, ...; 0: none */
	uint32_t btf_id; /* of tracing programs */
	uint32_t flags;
	const struct bpf_insn *insns;
	uint32_t n;
};
/* bpf_program_load - the reason of a refusal is the errno; with @log also the verifier's last line.
 */
int bpf_program_load(const struct bpf_program_spec *s, bool log, struct diag *d);
/* The whole log of the verifier, in @log of @size bytes.  Returns as bpf_program_load(). */
int bpf_program_explain(const struct bpf_program_spec *s, char *log, size_t size);

/* Attachments.  They last as long as the descriptor. */
int bpf_attach_raw(const char *tracepoint,
		   int program); /* NULL: the program's own, by its BTF id */
int bpf_attach_perf(int event, int program, uint64_t cookie);
struct bpf_uprobes {
	const char *path;
	const uint64_t *offsets;
	const uint64_t *semaphores; /* offsets of counters; NULL: none */
	const uint64_t *cookies;
	uint32_t n;
	bool is_return;
	pid_t pid; /* 0: all */
};
int bpf_attach_uprobes(const struct bpf_uprobes *u, int program); /* Linux 6.6 */

struct bpf_usage {
	uint64_t run_ns, runs; /* while statistics are on */
	uint64_t misses;       /* runs skipped because the program already ran on that CPU */
};
int bpf_program_usage(int program, struct bpf_usage *u);
/* bpf_kprobe_missed - calls that a kprobe, attached by @link, has not seen.  -EOPNOTSUPP: the kernel
 * does not count them (before Linux 6.7). */
int bpf_kprobe_missed(int link, uint64_t *n);
/* bpf_statistics_on - a descriptor: statistics are kept until it is closed; or -errno. */
int bpf_statistics_on(void);

/* bpf_possible_cpus - the number of values in a per-CPU map's element. */
int bpf_possible_cpus(void);

#endif
