/* SPDX-License-Identifier: MIT */
/*
 * kernel/profile.h - where the time goes: at a steady rate each CPU's call stack is sampled, by perf's CPU clock.
 *
 * The samples are events of the kernel's trace, `profile`, in a stream per CPU.  Idle CPUs are not sampled.
 * What always holds:
 *
 *   (1) in every stream time never goes back; samples perf had no room for are counted in the next packet
 *   (2) of followed processes, all samples are written and no others': which process is a child of which, perf
 *       tells in the same buffers, and is asked for before the samples that may depend on it
 *   (3) when the last process that holds the descriptors has died, sampling stops
 *
 * perf stamps with CLOCK_MONOTONIC; clock/follow.h carries that over.
 */
#ifndef KERNEL_PROFILE_H
#define KERNEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cpu.h"

struct kernel_profile;

/* kernel_profile_open - a perf event on each CPU, not yet counting; @hz: 1 to KERNEL_PROFILE_HZ_MAX (select.h).
 * Returns 0 or -errno. */
int kernel_profile_open(struct kernel_profile **p, int hz, bool whole_machine, const struct abi_clock *clock,
			struct diag *d);

/* kernel_profile_tell - call @see when a process is sampled for the first time, and again after an exec:
 * @at_ns is the sample's. */
void kernel_profile_tell(struct kernel_profile *p, void (*see)(void *arg, pid_t pid, uint64_t at_ns), void *arg);
void kernel_profile_close(struct kernel_profile *p); /* accepts NULL, as do all */

/* kernel_profile_add - sample process @pid, and its children from now on.  0 or -ENOMEM. */
int kernel_profile_add(struct kernel_profile *p, pid_t pid);

/* kernel_profile_run - sample, or pause.  0 or -errno. */
int kernel_profile_run(struct kernel_profile *p, bool runs, struct diag *d);

/* kernel_profile_drain - write the samples there are; those of the last moment too if @is_last, when it is paused.
 * After fork, the first call maps the buffers anew: perf's do not pass to a child. */
int kernel_profile_drain(struct kernel_profile *p, struct kernel_drain *k, bool is_last, struct diag *d);

/* kernel_profile_restart - its streams are to begin anew, in another trace. */
void kernel_profile_restart(struct kernel_profile *p);

uint64_t kernel_profile_lost(const struct kernel_profile *p);

#endif
