/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/kernel.h - kernel events as conditions of triggers: "kernel:PATTERN".
 *
 * Their decision is made here, on records as they are read (kernel/watch/watch.h), not in the
 * kernel: so the event that fires is in the recording, and a rate or a pair needs no map in the
 * kernel.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_KERNEL_H
#define COLLECT_TRIGGER_KERNEL_H

#include "collect/collector.h"

/* How often the kernel's buffers are read while a trigger waits for it. */
enum { TRIGGER_KERNEL_MS = 20 };

/* trigger_kernel_follow - the triggers have changed: what is waited for is told to
 * kernel/watch/watch.h. 0 or -errno. */
int trigger_kernel_follow(struct collector *c, struct diag *d);
/* trigger_kernel_poll - if it is time, read what the kernel recorded up to now. */
void trigger_kernel_poll(struct collector *c);

#endif
