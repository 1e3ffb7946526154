/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/probe.h - lines in the kernel's lists of probes: uprobe_events, kprobe_events,
 * dynamic_events.
 *
 * The lists are the kernel's, not an instance's.  What we put there is of a group with our
 * instance's name (duet_<pid>_<start time>_<n>); only our instance switches it on; it is removed
 * behind the instance, and if we are killed by the next recorder.  Lines are only appended: many
 * may do so at once.
 */
#ifndef KERNEL_PROBE_PROBE_H
#define KERNEL_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/select.h"

enum { KERNEL_PROBES_MAX = 512, KERNEL_REFUSED_NAMED = 3 };

enum kernel_probe_kind {
	KERNEL_UPROBE,	    /* in a program, at a function */
	KERNEL_USDT,	    /* at a marker */
	KERNEL_KPROBE,	    /* in the kernel, anywhere */
	KERNEL_FPROBE,	    /* at a function of the kernel, by the function tracer's call there */
	KERNEL_GRAPH_PROBE, /* as a kprobe, but named as a graph's events are:
			       kernel/probe/functions.h */
};

/* What a user asks for: kernel/probe/uprobe.h, kernel/probe/kprobe.h. */
struct kernel_uprobe {
	const char *text;
	enum kernel_probe_kind kind;
	const char *filter; /* asked by the kernel; NULL: none */
};

/* kernel_probe_option - by which option. */
const char *kernel_probe_option(enum kernel_probe_kind kind);

/* On the way through all that are asked for. */
struct kernel_probes {
	int root; /* of tracefs */
	char group[64];
	struct kernel_selection *selection; /* which their events join */
	const struct kernel_uprobe *wanted; /* the one in hand */
	int n_others;			    /* events in the selection before the first probe */
	int first;			    /* of its events in the selection */
	int n_left_out;			    /* arguments that the kernel cannot fetch */
	bool was_refused;		    /* the last one, by the kernel */
	int n_refused; /* functions that a pattern fits and no probe can be in; some of their names
			*/
	struct text refused;
	struct text added; /* functions of the one in hand, each in a line */
	struct diag *d;
};

/* kernel_probes_begin - for the instance named @instance.  kernel_probes_fini - in any case. */
void kernel_probes_begin(struct kernel_probes *p, int root, const char *instance,
			 struct kernel_selection *s, struct diag *d);
void kernel_probes_fini(struct kernel_probes *p);
/* kernel_probes_next - go on with @wanted. */
void kernel_probes_next(struct kernel_probes *p, const struct kernel_uprobe *wanted);
/*
 * kernel_probe_add - one more.
 *
 * @type: p, r or f.  @kind and @name, @name_size bytes of it: its event is called KIND_NAME, in the
 * trace.
 * @place, @fetch: in the kernel's words, of which the latter begin with a blank.  0 or -errno.
 */
int kernel_probe_add(struct kernel_probes *p, const char *type, const char *kind, const char *name,
		     size_t name_size, const char *place, const char *fetch);

/* kernel_probe_word - the size of the word at @p, up to a blank that no parenthesis encloses. */
size_t kernel_probe_word(const char *p);
/* kernel_probe_fetch - the arguments "NAME=EXPRESSION..." in the kernel's words.  0 or -errno. */
int kernel_probe_fetch(const char *arguments, bool in_kernel, struct text *t, struct diag *d);

/* kernel_probes_missed - how many calls and returns the kprobes of @instance did not see so far,
 * whosever they were: too many were under way, or one interrupted another.  Of fprobes the kernel
 * tells nothing. */
uint64_t kernel_probes_missed(int root, const char *instance);

/* kernel_probes_remove - all of @instance, which records no more. */
void kernel_probes_remove(int root, const char *instance);
/* kernel_probes_reap - those whose owner is dead, after kernel_instance_reap. */
void kernel_probes_reap(int root);
/* kernel_probe_is_ours - whether a tracefs system is made by a recorder. */
bool kernel_probe_is_ours(const char *system);

#endif
