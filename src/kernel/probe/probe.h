/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/probe.h - entries in the kernel's lists of probes: uprobe_events, kprobe_events,
 * dynamic_events.
 *
 * The lists are global, not per instance. duet's entries have a group with the name of its instance
 * (duet_<pid>_<start time>_<n>), and only that instance enables them. They are removed after the
 * instance; if the recorder is killed, by the next recorder. Lines are only appended, because
 * several recorders may do so at once.
 */
#ifndef KERNEL_PROBE_PROBE_H
#define KERNEL_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/select/select.h"

enum { KERNEL_PROBES_MAX = 512, KERNEL_REFUSED_NAMED = 3 };

enum kernel_probe_kind {
	KERNEL_UPROBE,	    /* in a program, at a function */
	KERNEL_USDT,	    /* at a marker in a program */
	KERNEL_KPROBE,	    /* in the kernel, anywhere */
	KERNEL_FPROBE,	    /* at a function of the kernel, called by the function tracer */
	KERNEL_GRAPH_PROBE, /* a kprobe with the name of a graph's event:
			     * kernel/probe/functions.h */
};

/* The user's request: kernel/probe/uprobe.h, kernel/probe/kprobe.h. */
struct kernel_uprobe {
	const char *text;
	enum kernel_probe_kind kind;
	const char *filter; /* evaluated by the kernel; NULL: none */
};

/* kernel_probe_option - the command line option for it. */
const char *kernel_probe_option(enum kernel_probe_kind kind);

/* State while all requested probes are made. */
struct kernel_probes {
	int root; /* of tracefs */
	char group[64];
	struct kernel_selection *selection; /* the probes' events join it */
	const struct kernel_uprobe *probe;  /* the current request */
	int n_others;			    /* events in the selection before the first probe */
	int first;			    /* index of its events in the selection */
	int n_left_out;			    /* arguments that the kernel cannot fetch */
	bool was_refused;		    /* the kernel refused the last one */
	int n_refused; /* functions that match a pattern but cannot have a probe; some of their
		        * names */
	struct text refused;
	struct text added; /* functions of the current request, one in each line */
	struct diag *d;
};

/* kernel_probes_begin - for the instance named @instance. kernel_probes_fini is called in any
 * case. */
void kernel_probes_begin(struct kernel_probes *p, int root, const char *instance,
			 struct kernel_selection *s, struct diag *d);
void kernel_probes_fini(struct kernel_probes *p);
/* kernel_probes_next - continue with the request @probe. */
void kernel_probes_next(struct kernel_probes *p, const struct kernel_uprobe *probe);
/*
 * kernel_probe_add - add one probe.
 *
 * @type: p, r or f.
 * @kind, @name: its event is KIND_NAME in the trace; @name has @name_size bytes.
 * @place, @fetch: in the kernel's syntax; @fetch begins with a blank. 0 or -errno.
 */
int kernel_probe_add(struct kernel_probes *p, const char *type, const char *kind, const char *name,
		     size_t name_size, const char *place, const char *fetch);

/* kernel_probe_word - the size of the word at @p, up to a blank that no parenthesis encloses. */
size_t kernel_probe_word(const char *p);
/* kernel_probe_fetch - translate the arguments "NAME=EXPRESSION..." into the kernel's syntax. 0 or
 * -errno. */
int kernel_probe_fetch(const char *arguments, bool in_kernel, struct text *t, struct diag *d);

/* kernel_probes_missed - how many calls and returns the kprobes of @instance missed so far, in all
 * processes: too many were in progress, or one interrupted another. The kernel does not count this
 * for fprobes. */
uint64_t kernel_probes_missed(int root, const char *instance);

/* kernel_probes_remove - remove all probes of @instance, which no longer records. */
void kernel_probes_remove(int root, const char *instance);
/* kernel_probes_reap - remove probes whose owner is dead; call it after kernel_instance_reap(). */
void kernel_probes_reap(int root);

#endif
