/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/graph_limits.h - the limits of a function graph, which are global in the kernel.
 *
 * These are max_graph_depth, tracing_thresh and set_graph_function. One recorder at a time may set
 * them. It holds a lock, and sets them only if they are unset. So restoring them means clearing
 * them, which needs no stored state. A mark in the recorder's instance survives the recorder, so the
 * next one can restore them.
 */
#ifndef KERNEL_TRACEFS_GRAPH_LIMITS_H
#define KERNEL_TRACEFS_GRAPH_LIMITS_H

#include "base/diag.h"

/* kernel_graph_limits_lock - become the one recorder that may set the limits.
 * @root: of tracefs, -1 if the instance is borrowed.
 * Returns a descriptor that holds the lock, or -errno. */
int kernel_graph_limits_lock(int root, int instance, struct diag *d);
/* kernel_graph_limits_release - stop the instance's tracer and clear the limits. Takes @guard. */
void kernel_graph_limits_release(int root, int instance, int guard);
/* kernel_graph_limits_reap - clear the limits that the dead owner of @instance set, if any. */
void kernel_graph_limits_reap(int root, int instance);

#endif
