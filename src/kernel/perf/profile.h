/* SPDX-License-Identifier: MIT */
/*
 * kernel/perf/profile.h - records call stacks with perf: at a steady rate, with every n-th event of
 * a counter, and with events of the kernel; also values of counters with events.
 *
 * Samples become events of the kernel's trace, in a stream per CPU: `profile`,
 * `counter_page_faults`, or the name of the same event without stacks. Invariants:
 *
 *   (1) in every stream time never goes back; samples lost for lack of room are counted in the
 *       next packet
 *   (2) all samples of followed processes are written, and no others: perf reports forks in the
 *       same buffers, and they are read before the samples that may depend on them
 *   (3) when the last process that holds the descriptors has died, sampling stops
 *
 * In a flight recorder samples stay in the rings: profile_overwrite.c.
 *
 * perf's timestamps are CLOCK_MONOTONIC; clock/track.h converts them.
 */
#ifndef KERNEL_PERF_PROFILE_H
#define KERNEL_PERF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/perf/mapped.h"
#include "kernel/convert/cpu.h"
#include "kernel/perf/perf.h"
#include "kernel/perf/sampled.h"

struct kernel_profile;

enum kernel_profile_target {
	KERNEL_PROFILE_FOLLOWED,
	KERNEL_PROFILE_WHOLE_MACHINE,
	KERNEL_PROFILE_ATTACHED, /* the user's own threads, without the right to see others':
				  * kernel_profile_attach() */
	KERNEL_PROFILE_SAMPLED,	 /* the same beside an instance, which records their births, names
				  * and switches */
};

/* kernel_profile_open - does not sample yet. @ring_bytes: on each CPU; 0: enough for a steady rate.
 * 0 or -errno. */
int kernel_profile_open(struct kernel_profile **p, enum kernel_profile_target target,
			size_t ring_bytes, const struct abi_clock *clock, struct diag *d);

/* kernel_profile_sample - add a clock or a counter on each CPU, disabled. 0 or -errno. */
int kernel_profile_sample(struct kernel_profile *p, const struct kernel_sampled *what,
			  struct diag *d);

/* kernel_profile_count - add a counter on each CPU for events that have its value as a field. Call
 * it before adding those. 0 or -errno. */
int kernel_profile_count(struct kernel_profile *p, const struct kernel_sampled *what,
			 struct diag *d);

/*
 * kernel_profile_event - add the event @f of @system with @extras (KERNEL_PERF_*), disabled.
 *
 * The drain must have a class for it, with its extras: kernel_classes_add_extras().
 * @filter: in the kernel's syntax, or NULL. 0 or -errno.
 */
int kernel_profile_event(struct kernel_profile *p, const struct kernel_format *f,
			 const char *system, uint32_t extras, const char *filter, struct diag *d);

/* kernel_profile_set_callbacks - call @on_sampled when a process is sampled for the first time, and
 * again after an exec, with the sample's time @at_ns. Call @mapped for the code that such a process
 * maps. */
void kernel_profile_set_callbacks(struct kernel_profile *p,
				  void (*on_sampled)(void *arg, pid_t pid, uint64_t at_ns),
				  void (*mapped)(void *arg, const struct kernel_mapped *m),
				  void *arg);
void kernel_profile_close(struct kernel_profile *p); /* accepts NULL, as all functions here do */

/* kernel_profile_add - sample process @pid, and its children from now on. 0 or -ENOMEM. */
int kernel_profile_add(struct kernel_profile *p, pid_t pid);
/* kernel_profile_add_thread - record events about thread @tid too, whichever thread runs. 0 or
 * -ENOMEM. */
int kernel_profile_add_thread(struct kernel_profile *p, pid_t tid);

/* kernel_profile_switches - for threads attached later: record when they run, their names and
 * ends. */
void kernel_profile_switches(struct kernel_profile *p);
/* kernel_profile_attach - sample thread @tid, and the threads it makes from now on. 0 or -errno;
 * -ESRCH: no such thread. */
int kernel_profile_attach(struct kernel_profile *p, pid_t tid, struct diag *d);

/*
 * For a flight recorder. kernel_profile_keep_newest() selects that mode, before
 * kernel_profile_run(). 0 or -errno.
 *
 * kernel_profile_keep - call it often: it stamps new samples and gives back the oldest. Samples
 * from before @until_ns of the session's clock (0: no promise) can be written afterwards. 0 or
 * -errno.
 * kernel_profile_each_kept - report begin, end and size of pieces of the wanted samples.
 * kernel_profile_write_kept - write those of the @i-th of kernel_profile_n_rings(), from @from_ns
 * on, to a stream of their own. Losses between them are added to *@lost. 0 or -errno.
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

/* kernel_profile_run - start or pause sampling. 0 or -errno. */
int kernel_profile_run(struct kernel_profile *p, bool runs, struct diag *d);

/* kernel_profile_drain - write the available samples; with @is_last, when sampling is paused, also
 * the youngest. After a fork the first call maps the buffers again: a child does not inherit perf's
 * mappings. */
int kernel_profile_drain(struct kernel_profile *p, struct kernel_drain *k, bool is_last,
			 struct diag *d);

/* kernel_profile_restart - start the streams again, in another trace. */
void kernel_profile_restart(struct kernel_profile *p);

uint64_t kernel_profile_lost(const struct kernel_profile *p);

#endif
