/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/functions.h - records calls of the kernel's own functions: each call, or each call's
 * begin, end and duration.
 *
 * The instance's tracer does it, `function` or `function_graph`: its records lie between the
 * events' in the same pages. The set of functions belongs to the instance. The depth of a graph and
 * the minimal duration of calls are global in the kernel (max_graph_depth, set_graph_function,
 * tracing_thresh). duet sets these only if they are unset. So restoring them means clearing them,
 * which needs no stored state: the next recorder does it for one that was killed.
 *
 *   PATTERN   a glob on functions' names; mod:MODULE; GLOB:mod:MODULE; or @FILE, with a pattern
 *             in each line
 */
#ifndef KERNEL_PROBE_FUNCTIONS_H
#define KERNEL_PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "kernel/tracefs/format.h"
#include "kernel/select/select.h"

struct kernel_graph {
	const char *const *patterns;
	int n_patterns;	    /* 0: none */
	uint64_t over_ns;   /* only calls that last longer; 0: all */
	uint32_t depth;	    /* levels of called functions; 0 and 1: only the functions themselves */
	bool has_arguments; /* also for -k function: */
};

enum { KERNEL_GRAPH_DEPTH_MAX = 50 }; /* the kernel's limit */

struct kernel_functions {
	int root;  /* of tracefs, not owned */
	int guard; /* lock on the kernel's global limits; -1: not held */
	bool is_on;
};

#define KERNEL_NO_FUNCTIONS ((struct kernel_functions){ .root = -1, .guard = -1 })

/*
 * kernel_functions_set_up - set up the tracer to record while tracing is on; its events join @s.
 *
 * @root: of tracefs, -1 if @instance is borrowed.
 * @s->functions: patterns of calls.
 * Returns 0, or -errno: then call kernel_functions_release() before the instance is removed. Does
 * nothing if neither @s nor @g has patterns.
 */
int kernel_functions_set_up(struct kernel_functions *f, int root, int instance,
			    struct kernel_selection *s, const struct kernel_graph *g,
			    struct diag *d);
/* kernel_functions_release - restore the kernel's global limits. Call it after recording has
 * stopped and before @instance is removed. If the recorder is killed in between, the next one
 * restores them; a mark in the instance shows that it must. */
void kernel_functions_release(struct kernel_functions *f, int instance);
/* kernel_functions_pause - stop or resume recording calls. tracing_on is not used because it would
 * empty the buffers. 0 or -errno. */
int kernel_functions_pause(const struct kernel_functions *f, int instance, bool pause);

/* kernel_functions_complete - add the arguments to @f, the format of such an event. -ENODATA: it
 * has none. */
int kernel_functions_complete(struct kernel_format *f);

#endif
