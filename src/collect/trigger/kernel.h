/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/kernel.h - kernel events as conditions of triggers: "kernel:PATTERN".
 *
 * The collector decides on records as it reads them (kernel/watch/watch.h); the kernel does not.
 * So the event that fires is already in the recording, and rates and pairs need no BPF map.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_KERNEL_H
#define COLLECT_TRIGGER_KERNEL_H

#include "collect/trigger/watch.h"

/*
 * Interval, in ms, between reads of the kernel's buffers while a trigger waits for kernel events.
 */
enum { TRIGGER_KERNEL_MS = 20 };

/* trigger_kernel_follow - pass changed triggers on to kernel/watch/watch.h.  0 or -errno. */
int trigger_kernel_follow(struct trigger_watch *w, struct diag *d);
/* trigger_kernel_poll - if the interval has passed, read all kernel events recorded so far. */
void trigger_kernel_poll(struct trigger_watch *w);

#endif
