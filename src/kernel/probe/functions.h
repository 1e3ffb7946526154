/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/functions.h - calls of the kernel's own functions: each call, or each call's begin,
 *end and duration.
 *
 * The instance's tracer does it, `function` or `function_graph`: its records lie between the
 *events' in the same pages.  Which functions is the instance's own; how deep a graph goes and which
 *calls are long enough, the kernel has once for all (max_graph_depth, set_graph_function,
 *tracing_thresh).  These we set only if nobody has, so to put them back is to empty them, and needs
 *no memory: the next recorder does it for one that was killed.
 *
 *	PATTERN   a glob on functions' names; mod:MODULE; GLOB:mod:MODULE; or @FILE, with a pattern
 *in each line
 */
#ifndef KERNEL_PROBE_FUNCTIONS_H
#define KERNEL_PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "kernel/tracefs/format.h"
#include "kernel/select.h"

struct kernel_graph {
	const char *const *patterns;
	int n_patterns;	    /* 0: none */
	uint64_t over_ns;   /* only calls that last longer; 0: all */
	uint32_t depth;	    /* with what they call, to so many levels; 0 and 1: they alone */
	bool has_arguments; /* also of -k function: */
};

enum { KERNEL_GRAPH_DEPTH_MAX = 50 }; /* what the kernel follows */

struct kernel_functions {
	int root;  /* of tracefs, lent */
	int guard; /* of what the kernel has once: locked while it is ours; -1: it is not */
	bool is_on;
};

#define KERNEL_NO_FUNCTIONS ((struct kernel_functions){ .root = -1, .guard = -1 })

/*
 * kernel_functions_set_up - have the tracer record from when tracing is on; its events join @s.
 *
 * @root: of tracefs, -1 if @instance is borrowed.  @s->functions: patterns of calls.  0 or -errno:
 * then kernel_functions_release() before the instance is gone.  Does nothing if neither they nor @g
 * have patterns.
 */
int kernel_functions_set_up(struct kernel_functions *f, int root, int instance,
			    struct kernel_selection *s, const struct kernel_graph *g,
			    struct diag *d);
/* kernel_functions_release - what the kernel has once is as it was.  Before the @instance is gone,
 * which records no more: who kills us in between leaves it to the next recorder, and it says that
 * there is something to be put back. */
void kernel_functions_release(struct kernel_functions *f, int instance);
/* kernel_functions_pause - record no calls, or go on; tracing_on would empty the buffers.  0 or
 * -errno. */
int kernel_functions_pause(const struct kernel_functions *f, int instance, bool pause);
/* kernel_functions_reap - what the owner of @instance, who is dead, set for all. */
void kernel_functions_reap(int root, int instance);

/* kernel_functions_is - whether events of a tracefs system are a tracer's: they have no switch of
 * their own. */
bool kernel_functions_is(const char *system);
/* kernel_functions_complete - @f, a format of such an event, has the arguments too.  -ENODATA: it
 * has none. */
int kernel_functions_complete(struct kernel_format *f);

#endif
