/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/kernel.h - probes of the running kernel and of un-instrumented programs, by BPF
 * programs made from a script.
 *
 * A struct script_kernel is a world (points, values) while a script is checked, and makes a source
 * of events when it runs.  Most handlers run in the machine: the BPF program at the probe only
 * records the values that the handler needs.  A handler that filters and counts runs whole in the
 * kernel ("folded"), if no other streamed handler touches its targets.
 *
 *	(1) nothing is in the kernel that a descriptor of this process does not hold: however the
 *	    process ends, the kernel is as before
 *	(2) a record is lost only when a ring is full, and then counted, by probe
 *	(3) a count that was folded is merged exactly once
 *
 * One thread.  All of a world lies in the arena given; the source has memory of its own.
 */
#ifndef SCRIPT_KERNEL_KERNEL_H
#define SCRIPT_KERNEL_KERNEL_H

#include "script/engine/source.h"
#include "script/kernel/points/world.h"

/*
 * script_kernel_source - a source for those probes of @program that are points of @k.
 *
 * Decides which handlers are folded.  @program and @vm (with the program's unit) stay the caller's
 * and outlive the source.  Nothing is loaded before start().
 * Returns 0; -ENOENT: no probe of @program is of this world; -ENOMEM.
 */
int script_kernel_source(struct script_source_of **s, struct script_kernel *k,
			 const struct script_program *program, struct script_vm *vm,
			 struct diag *d);

/* script_kernel_rights - whether this process may load programs: 0, or -EPERM with one clear
 * message in @d. */
int script_kernel_rights(struct diag *d);

#endif
