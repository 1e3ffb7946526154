/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/bpf.h - events recorded by BPF programs instead of the tracefs instance.
 *
 * It serves the most frequent events: system calls, and the scheduler's switches and wake-ups. It
 * is cheaper, and records the texts that system calls point to. Where it makes the instance
 * unnecessary, it serves births, names and ends of threads too (lives.c). Records have the event's tracefs
 * format, so that all later steps are the same. Each event comes from exactly one of the two.
 *
 *   (1) nothing outlives the processes that have its descriptors
 *   (2) a stream's times never go back; losses are counted in its next packet
 *
 * If it is not available (no BPF, no BTF, no right), kernel_bpf_open reports the reason.
 */
#ifndef KERNEL_BPF_BPF_H
#define KERNEL_BPF_BPF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "abi/capture.h"
#include "kernel/convert/cpu.h"
#include "kernel/tracefs/format.h"

struct kernel_bpf;

struct kernel_bpf_options {
	uint64_t ring_bytes; /* per CPU; rounded down to a power of two */
	bool follows;	     /* only added threads, and their children */
	bool captures_extra; /* of calls: kernel_bpf_call() may be given any capture */
	bool captures_files; /* the kernel's files of descriptors as well */
	bool captures_environment;
	bool keeps_newest; /* kernel_bpf_keep() is called several times a second, and nothing is
			    * drained until the end */
};

/* kernel_bpf_open - allocate memory, and attach the programs that follow children. 0 or -errno. */
int kernel_bpf_open(struct kernel_bpf **b, const struct kernel_bpf_options *o, struct diag *d);
void kernel_bpf_close(
	struct kernel_bpf *b); /* accepts NULL, as do all functions from kernel_bpf_add_thread on */

/* kernel_bpf_keep_for_lives - births, names and ends of threads are recorded too, and a part of each
 * ring is kept for them. Before the first program that records. */
void kernel_bpf_keep_for_lives(struct kernel_bpf *b);

/* kernel_bpf_clock - the session's, before the first event. */
void kernel_bpf_clock(struct kernel_bpf *b, const struct abi_clock *clock);

/* A filter on a call: an expression about its result (then @call is NULL) or about its arguments,
 * whose names are in @call, the format of its own tracepoint. */
struct kernel_bpf_filter {
	const char *expression;
	const struct kernel_format *call;
};
enum { KERNEL_BPF_FILTERS_MAX = 15 };

/* kernel_bpf_calls - record entries, or exits, of the system calls that kernel_bpf_call chooses.
 *
 * @f: the format of raw_syscalls:sys_enter or sys_exit.
 * @filters: @n_filters of them, numbered from 1 for kernel_bpf_filter.
 * *@bit: for kernel_bpf_switch; 0 on error.
 * -EOPNOTSUPP, with @d unchanged, if a filter cannot be compiled. One thread may do so for entries and
 * another one for exits at the same time. */
int kernel_bpf_calls(struct kernel_bpf *b, bool is_entry, const struct kernel_format *f,
		     const struct kernel_bpf_filter *filters, int n_filters, uint32_t *bit,
		     struct diag *d);
/* Sets the filter for the entries, or exits, of call @nr; 0: none. */
void kernel_bpf_filter(struct kernel_bpf *b, bool is_entry, int nr, int filter);
/* @nr: KERNEL_SYSCALLS_MAX for calls without a name.
 * @texts: the arguments that are texts, kernel/convert/layout.h; at an exit those of its entry,
 * recorded if they were not in memory there.
 * @also: the other captures, NULL: none; @buffer_bytes of each buffer. */
void kernel_bpf_call(struct kernel_bpf *b, bool is_entry, int nr, unsigned texts,
		     const struct abi_captures *also, uint32_t buffer_bytes);

/* kernel_bpf_hide - until it is undone (@hides is false), the child of a fork does not get the mappings
 * of the maps: to copy and remove 32 MiB of them takes some milliseconds. */
int kernel_bpf_hide(struct kernel_bpf *b, bool hides, struct diag *d);

/* kernel_bpf_can - whether kernel_bpf_event() knows the event, with all options and without a
 * filter; it may refuse a format all the same. */
bool kernel_bpf_can(const char *system, const char *event, bool captures_extra);
/* kernel_bpf_is_life - whether it is a birth, a name or an end of a thread. */
bool kernel_bpf_is_life(const char *system, const char *event);
/* kernel_bpf_event - record the event of @system with format @f, if it passes @filter (NULL:
 * always). -EOPNOTSUPP if there is no program for it, or if its filter cannot be compiled. */
int kernel_bpf_event(struct kernel_bpf *b, const char *system, const struct kernel_format *f,
		     const char *filter, uint32_t *bit, struct diag *d);

/* kernel_bpf_signal - kernel_bpf_event() for a signal, if extra captures are requested: with the
 * kernel's siginfo, a field that is added to @f at kernel_bpf_siginfo_at(). False for other events,
 * and if the program is refused. */
bool kernel_bpf_signal(struct kernel_bpf *b, const char *system, struct kernel_format *f,
		       const char *filter, uint32_t *bit, struct diag *d);
enum { KERNEL_BPF_SIGINFO = 48 };
#define KERNEL_BPF_SIGINFO_FIELD "siginfo_bytes"
uint16_t kernel_bpf_siginfo_at(const struct kernel_format *f);

/* kernel_bpf_has_events - whether it records any event. */
bool kernel_bpf_has_events(const struct kernel_bpf *b);

void kernel_bpf_add_thread(struct kernel_bpf *b, pid_t tid);
/* kernel_bpf_each_thread - report the threads that are followed now. */
void kernel_bpf_each_thread(const struct kernel_bpf *b, void (*each)(void *arg, pid_t tid),
			    void *arg);
/* kernel_bpf_switch - programs with these bits record, the others do not. */
void kernel_bpf_switch(struct kernel_bpf *b, uint32_t bits);
/* kernel_bpf_stop - stop all programs for good. */
void kernel_bpf_stop(struct kernel_bpf *b);

/* Like the functions of kernel/convert/cpu.h, for all CPUs. */
int kernel_bpf_drain(struct kernel_bpf *b, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d);
void kernel_bpf_restart(struct kernel_bpf *b);
uint64_t kernel_bpf_lost(const struct kernel_bpf *b);
/* kernel_bpf_missed - the part of these losses from program runs that the kernel skipped, at the
 * last count. They may belong to any process. */
uint64_t kernel_bpf_missed(const struct kernel_bpf *b);

/*
 * For a flight recorder.
 *
 * kernel_bpf_keep - report new watched events and drop the oldest records.
 * kernel_bpf_each_kept - like kernel_each_held(), for the records at the last kernel_bpf_keep().
 * kernel_bpf_write_kept - append the kept records of CPU @i, from @from_ns on, to a stream in
 * k->sink; adds losses to *@lost. The records stay.
 */
void kernel_bpf_keep(struct kernel_bpf *b, struct kernel_drain *k);
void kernel_bpf_each_kept(struct kernel_bpf *b, struct kernel_drain *k,
			  void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			  void *arg);
int kernel_bpf_n_cpus(const struct kernel_bpf *b);
int kernel_bpf_write_kept(struct kernel_bpf *b, int i, struct kernel_drain *k, uint64_t from_ns,
			  uint64_t *lost, struct diag *d);

#endif
