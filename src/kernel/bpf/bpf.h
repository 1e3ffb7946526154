/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/bpf.h - events recorded by BPF programs of ours, instead of by the tracefs instance.
 *
 * For the most frequent events: system calls, and the scheduler's switches and wake-ups.  It is
 * cheaper, and tells texts that system calls point to.  Records have the format that tracefs tells
 * for the event, so that all that happens to them afterwards is the same.  Each event comes from
 * one of the two.
 *
 *   (1) nothing of it outlives the processes that have its descriptors
 *   (2) a stream's times never go back; what is lost is counted in its next packet
 *
 * Where it cannot be had (no BPF, no BTF, no right to it), kernel_bpf_open says why.
 */
#ifndef KERNEL_BPF_BPF_H
#define KERNEL_BPF_BPF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "kernel/convert/capture.h"
#include "kernel/convert/cpu.h"
#include "kernel/tracefs/format.h"

struct kernel_bpf;

struct kernel_bpf_options {
	const struct abi_clock *clock; /* of the session; copied */
	uint64_t ring_bytes;	       /* of each CPU; less is taken: a power of two */
	bool follows;		       /* only threads that are added, and their children */
	bool keeps_newest; /* kernel_bpf_keep() is called several times a second, and nothing is
			      drained until the end */
};

/* kernel_bpf_open - memory, and what keeps track of children.  0 or -errno. */
int kernel_bpf_open(struct kernel_bpf **b, const struct kernel_bpf_options *o, struct diag *d);
void kernel_bpf_close(
	struct kernel_bpf *b); /* accepts NULL, as do all from kernel_bpf_add_thread on */

/* What a call must pass: an expression about its result (then @call is NULL) or its arguments,
 * whose names the format of its own tracepoint tells. */
struct kernel_bpf_filter {
	const char *expression;
	const struct kernel_format *call;
};
enum { KERNEL_BPF_FILTERS_MAX = 15 };

/* kernel_bpf_calls - record entries, or exits, of system calls that kernel_bpf_call chooses.  @f:
 * the format of raw_syscalls:sys_enter or sys_exit.  @filters: @n_filters of them, to be told from
 * 1 on in kernel_bpf_filter.  *@bit: for kernel_bpf_switch; 0 on error.  -EOPNOTSUPP, without a
 * word, if a filter cannot be said. */
int kernel_bpf_calls(struct kernel_bpf *b, bool is_entry, const struct kernel_format *f,
		     const struct kernel_bpf_filter *filters, int n_filters, uint32_t *bit,
		     struct diag *d);
/* Which filter the entries, or ends, of call @nr must pass; 0: none. */
void kernel_bpf_filter(struct kernel_bpf *b, bool is_entry, int nr, int filter);
/* @nr: KERNEL_SYSCALLS_MAX for those that have no name.  @texts: arguments that are texts,
 * kernel/convert/layout.h; of an end: of its entry, which it has if they were not in memory there.
 * @also: what else is read, NULL: nothing; of buffers
 * @buffer_bytes. */
void kernel_bpf_call(struct kernel_bpf *b, bool is_entry, int nr, unsigned texts,
		     const struct kernel_captures *also, uint32_t buffer_bytes);

/* kernel_bpf_event - record the event of @system that @f describes, if it passes @filter (NULL:
 * always).  -EOPNOTSUPP if that is none of ours, or no filter that our programs can ask. */
int kernel_bpf_event(struct kernel_bpf *b, const char *system, const struct kernel_format *f,
		     const char *filter, uint32_t *bit, struct diag *d);

/* kernel_bpf_has_events - whether it records any. */
bool kernel_bpf_has_events(const struct kernel_bpf *b);

void kernel_bpf_add_thread(struct kernel_bpf *b, pid_t tid);
/* kernel_bpf_switch - the programs with these bits record, the others do not. */
void kernel_bpf_switch(struct kernel_bpf *b, uint32_t bits);
/* kernel_bpf_stop - no program runs any more, and none will. */
void kernel_bpf_stop(struct kernel_bpf *b);

/* As those of kernel/convert/cpu.h, for all CPUs. */
int kernel_bpf_drain(struct kernel_bpf *b, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d);
void kernel_bpf_restart(struct kernel_bpf *b);
uint64_t kernel_bpf_lost(const struct kernel_bpf *b);
/* kernel_bpf_missed - of these, runs of programs that the kernel left out, when it was last asked:
 * at most so many of whoever is recorded. */
uint64_t kernel_bpf_missed(const struct kernel_bpf *b);

/*
 * A flight recorder's.
 *
 * kernel_bpf_keep - what came is told to who waits; the oldest makes room.
 * kernel_bpf_each_kept - as kernel_each_held(), of what was there at the last kernel_bpf_keep().
 * kernel_bpf_write_kept - append what is kept of CPU @i, from @from_ns on, to a stream in k->sink;
 **@lost grows.  It stays kept.
 */
void kernel_bpf_keep(struct kernel_bpf *b, struct kernel_drain *k);
void kernel_bpf_each_kept(struct kernel_bpf *b, struct kernel_drain *k,
			  void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			  void *arg);
int kernel_bpf_n_cpus(const struct kernel_bpf *b);
int kernel_bpf_write_kept(struct kernel_bpf *b, int i, struct kernel_drain *k, uint64_t from_ns,
			  uint64_t *lost, struct diag *d);

#endif
