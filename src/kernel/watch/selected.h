/* SPDX-License-Identifier: MIT */
/* kernel/watch/selected.h - which of the events that an instance records are waited for
 * (kernel/watch/watch.h). */
#ifndef KERNEL_WATCH_SELECTED_H
#define KERNEL_WATCH_SELECTED_H

#include "kernel/select.h"
#include "kernel/watch/watch.h"

/* kernel_wait - wait for the events of @s that match.  0; -ENOENT if none does; -EINVAL if filter
 * or field fit none of them; or another -errno. */
int kernel_wait(struct kernel_watch *w, struct kernel_selection *s, int instance,
		const struct kernel_watch_request *request, struct diag *d);

/* kernel_wait_only - switch all but what is waited for off, or on again: of what the instance
 * records. kernel_wait_bpf - of what BPF programs record: the bits of those that are to be on. */
int kernel_wait_only(const struct kernel_selection *s, int instance, bool only, struct diag *d);
uint32_t kernel_wait_bpf(const struct kernel_selection *s, bool only);

#endif
