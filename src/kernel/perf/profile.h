/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/profile.h - what perf records: call stacks at a steady rate, with every n-th event
 * that a counter counts, and with events of the kernel; and with these what counters say.
 *
 * They are events of the kernel's trace, in a stream per CPU: `profile`, `counter_page_faults`, or
 * called as the same events without stacks are.  What always holds:
 *
 *   (1) in every stream time never goes back; samples perf had no room for are counted in the next
 * packet (2) of followed processes, all samples are written and no others': which process is a
 * child of which, perf tells in the same buffers, and is asked for before the samples that may
 * depend on it (3) when the last process that holds the descriptors has died, sampling stops
 *
 * In a flight recorder they stay in the rings: profile_overwrite.c.
 *
 * perf stamps with CLOCK_MONOTONIC; clock/track.h carries that over.
 */
#ifndef KERNEL_PERF_PROFILE_H
#define KERNEL_PERF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/convert/cpu.h"
#include "kernel/perf/perf.h"
#include "kernel/perf/sampled.h"

struct kernel_profile;

enum kernel_profile_target {
	KERNEL_PROFILE_FOLLOWED,
	KERNEL_PROFILE_WHOLE_MACHINE,
	KERNEL_PROFILE_ATTACHED, /* threads of our own, with no right to see others':
				    kernel_profile_attach() */
};

/* kernel_profile_open - nothing is sampled yet.  @ring_bytes: on each CPU; 0: enough for a steady
 * rate.  0 or -errno. */
int kernel_profile_open(struct kernel_profile **p, enum kernel_profile_target target,
			size_t ring_bytes, const struct abi_clock *clock, struct diag *d);

/* kernel_profile_sample - a clock or a counter on each CPU, off.  0 or -errno. */
int kernel_profile_sample(struct kernel_profile *p, const struct kernel_sampled *what,
			  struct diag *d);

/* kernel_profile_count - a counter on each CPU, whose value events may have as a field.  Before any
 * of those.  0 or -errno. */
int kernel_profile_count(struct kernel_profile *p, const struct kernel_sampled *what,
			 struct diag *d);

/*
 * kernel_profile_event - the event @f of @system with @extras (KERNEL_PERF_*), off.
 *
 * Its class must be among those of the drain, and have been told so: kernel_classes_add_extras().
 * @filter: in the kernel's words, or NULL.  0 or -errno.
 */
int kernel_profile_event(struct kernel_profile *p, const struct kernel_format *f,
			 const char *system, uint32_t extras, const char *filter, struct diag *d);

/* kernel_profile_report - call @see when a process is sampled for the first time, and again after
 * an exec:
 * @at_ns is the sample's. */
void kernel_profile_report(struct kernel_profile *p,
			   void (*on_event)(void *arg, pid_t pid, uint64_t at_ns),
			   void (*mapped)(void *arg, const struct kernel_mapped *m), void *arg);
void kernel_profile_close(struct kernel_profile *p); /* accepts NULL, as do all */

/* kernel_profile_add - sample process @pid, and its children from now on.  0 or -ENOMEM. */
int kernel_profile_add(struct kernel_profile *p, pid_t pid);
/* kernel_profile_add_thread - events about thread @tid are wanted too, whoever runs.  0 or -ENOMEM.
 */
int kernel_profile_add_thread(struct kernel_profile *p, pid_t tid);

/* kernel_profile_switches - of threads that will be attached: when they run, what they are called,
 * when they end. */
void kernel_profile_switches(struct kernel_profile *p);
/* kernel_profile_attach - thread @tid, and what it makes from now on.  0 or -errno; -ESRCH: there
 * is none. */
int kernel_profile_attach(struct kernel_profile *p, pid_t tid, struct diag *d);

/*
 * A flight recorder's: kernel_profile_keep_newest() says so, before kernel_profile_run().  0 or
 *-errno.
 *
 * kernel_profile_keep - call it often: learns from what is new, and gives back the oldest.  0 or
 *-errno. What was recorded before @until_ns of the session's clock (0: no promise) can be written
 *then: kernel_profile_each_kept - tell begin, end and size of pieces of what is wanted.
 * kernel_profile_write_kept - that of the @i-th of kernel_profile_n_rings(), up from @from_ns, to a
 *stream of its own; what is lost in between is added to *@lost.  0 or -errno.
 */
int kernel_profile_keep_newest(struct kernel_profile *p, struct diag *d);
int kernel_profile_keep(struct kernel_profile *p, struct kernel_drain *k, uint64_t until_ns,
			struct diag *d);
void kernel_profile_each_kept(struct kernel_profile *p,
			      void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns,
					   size_t bytes),
			      void *arg);
int kernel_profile_n_rings(const struct kernel_profile *p);
int kernel_profile_write_kept(struct kernel_profile *p, int i, struct kernel_drain *k,
			      uint64_t from_ns, uint64_t *lost, struct diag *d);

/* kernel_profile_run - sample, or pause.  0 or -errno. */
int kernel_profile_run(struct kernel_profile *p, bool runs, struct diag *d);

/* kernel_profile_drain - write the samples there are; those of the last moment too if @is_last,
 * when it is paused. After fork, the first call maps the buffers anew: perf's do not pass to a
 * child. */
int kernel_profile_drain(struct kernel_profile *p, struct kernel_drain *k, bool is_last,
			 struct diag *d);

/* kernel_profile_restart - its streams are to begin anew, in another trace. */
void kernel_profile_restart(struct kernel_profile *p);

uint64_t kernel_profile_lost(const struct kernel_profile *p);

#endif
