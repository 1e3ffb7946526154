/* SPDX-License-Identifier: MIT */
/* kernel/bpf_internal.h - what kernel/bpf.c and kernel/bpf_drain.c share. */
#ifndef KERNEL_BPF_INTERNAL_H
#define KERNEL_BPF_INTERNAL_H

#include <stddef.h>

#include "bpf/sys.h"
#include "kernel/bpf.h"
#include "kernel/bpf_program.h"
#include "kernel/bpf_ring.h"

/* sys_enter, sys_exit, fork, free, and the scheduler's. */
enum { BPF_LINKS_MAX = 8, BPF_PACKET_SIZE = 65536 };

struct bpf_cpu {
	struct bpf_ring *ring;
	struct kernel_cpu cpu; /* its stream, and losses */
	struct clock_line line;
};

struct kernel_bpf {
	struct bpf_plan plan;
	struct btf btf; /* until it starts */
	struct bpf_control *control;
	uint8_t *rings;
	size_t ring_stride, rings_size;
	struct bpf_cpu *cpus;
	int n_cpus;
	struct bpf_link links[BPF_LINKS_MAX];
	int n_links;
	bool has_events;
	uint32_t n_drains;
	uint64_t misses; /* of all programs, when they were asked */
	uint8_t *out; /* BPF_PACKET_SIZE bytes */
};

#endif
