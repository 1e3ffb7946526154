/* SPDX-License-Identifier: MIT */
/* kernel/watch/selected.h - watches (kernel/watch/watch.h) on the events that an instance
 * records. */
#ifndef KERNEL_WATCH_SELECTED_H
#define KERNEL_WATCH_SELECTED_H

#include "kernel/select/select.h"
#include "kernel/watch/watch.h"

/* kernel_wait - watch the events of @s that match. 0; -ENOENT if none matches; -EINVAL if the
 * filter or the field fits none of them; or another -errno. */
int kernel_wait(struct kernel_watch *w, struct kernel_selection *s, int instance,
		const struct kernel_watch_request *request, struct diag *d);

/* kernel_wait_only - enable only the watched events of the instance, or all again. kernel_wait_bpf
 * - the same for BPF programs: returns the bits of those to enable. */
int kernel_wait_only(const struct kernel_selection *s, int instance, bool only, struct diag *d);
uint32_t kernel_wait_bpf(const struct kernel_selection *s, bool only);

#endif
