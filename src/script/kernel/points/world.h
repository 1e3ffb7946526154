/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/world.h - the running kernel and un-instrumented programs as a world: which
 * points there are, and which values they have.
 *
 * Nothing is loaded here, and no right is needed but that to read tracefs for some values.
 */
#ifndef SCRIPT_KERNEL_POINTS_WORLD_H
#define SCRIPT_KERNEL_POINTS_WORLD_H

#include <sys/types.h>

#include "script/check/program.h"

struct script_kernel;

struct script_kernel_options {
	pid_t target;	     /* the process of -c or -x, for process probes without a path; 0 */
	const char *command; /* of -c: its program, for process probes; or NULL */
	uint64_t ring_bytes; /* per CPU, rounded down to a power of two; 0: 4 MiB */
	int64_t epoch_ns;    /* wall-clock time of CLOCK_MONOTONIC's 0; 0: as it is now */
	uint32_t overload_percent; /* of the CPUs' time in our programs: more ends the session; 0:
				      50; 100: not checked */
	void (*warn)(void *context, const char *text); /* something is left out; may be NULL */
	void *context;
	bool folds_nothing; /* every handler runs in the machine: to compare */
	bool is_verbose;    /* messages have the kernel's own words on a refused program */
	bool records_own;   /* also events of this process; they may feed back */
};

/* script_kernel_open - a world.  Nothing is loaded and no right is needed.  0 or -ENOMEM. */
int script_kernel_open(struct script_kernel **k, struct script_arena *arena,
		       const struct script_kernel_options *o);
void script_kernel_close(struct script_kernel *k); /* accepts NULL; after its sources */
/* script_kernel_world - valid until script_kernel_close(). */
struct script_world *script_kernel_world(struct script_kernel *k);
/* script_kernel_target - the target is known now. */
void script_kernel_target(struct script_kernel *k, pid_t target);

/* script_kernel_has - whether @p is a point of this world; of another one, `data` differs. */
bool script_kernel_has(const struct script_kernel *k, const struct script_world_point *p);

#endif
