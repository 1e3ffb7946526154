/* SPDX-License-Identifier: MIT */
/*
 * kernel/select/select.h - resolves patterns to events.
 *
 * Pure: works on the text of tracefs' `available_events`. System calls are numbers here: they are
 * not recorded through their own tracepoints (one each) but through the two of raw_syscalls with a
 * filter on numbers.
 */
#ifndef KERNEL_SELECT_SELECT_H
#define KERNEL_SELECT_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/perf/sampled.h"
#include "kernel/select/candidates.h"
#include "kernel/tracefs/syscalls.h"

struct kernel_pattern {
	char system[64];
	char event[64];
	char name[96];
	const char *filter; /* NULL: none; not owned */
	uint32_t extras;    /* KERNEL_PERF_*: data that perf records with it */
	bool is_waited_for; /* kernel/watch/selected.h */
	uint32_t bpf;	    /* its program's bit, kernel/bpf/bpf.h; 0: the instance records it */
};

struct kernel_selection {
	struct kernel_pattern *events;
	int n_events;
	bool entry[KERNEL_SYSCALLS_MAX]; /* by number */
	bool exit[KERNEL_SYSCALLS_MAX];
	const char *exit_filter[KERNEL_SYSCALLS_MAX];
	const char *entry_filter[KERNEL_SYSCALLS_MAX]; /* from patterns without exits: about
						        * arguments */
	uint32_t entry_extras[KERNEL_SYSCALLS_MAX], exit_extras[KERNEL_SYSCALLS_MAX];
	int n_entry, n_exit;
	uint32_t extras; /* for the events chosen next */
	struct kernel_sampled sampled[KERNEL_SAMPLED_MAX];
	int n_sampled;
	struct kernel_selection *by_perf; /* events with call stacks or counters, which perf
					   * records instead; NULL: none */
	struct kernel_sampled
		counters[KERNEL_SAMPLED_MAX]; /* those used as fields, numbered as in `extras` */
	int n_counters;
	const char **functions; /* patterns of function:PATTERN, not owned */
	int n_functions;
	bool waits_for_entry, waits_for_exit; /* some of them are watched */
	uint32_t entry_bpf, exit_bpf;	      /* as kernel_pattern.bpf */
};

/* kernel_select - resolve @patterns (kernel.h), with their @filters or NULL. -ENOENT if one matches
 * nothing. */
int kernel_select(struct kernel_selection *s, const char *available, const char *const *patterns,
		  const char *const *filters, int n_patterns, struct diag *d);
/* kernel_selection_add - choose an event that is no system call; @filter is not owned. 0 or
 * -ENOMEM. */
int kernel_selection_add(struct kernel_selection *s, const struct kernel_candidate *c,
			 const char *filter);
void kernel_selection_fini(struct kernel_selection *s);

/* kernel_selection_is_all - whether all named system calls are chosen, with one filter or none. */
bool kernel_selection_is_all(const struct kernel_selection *s, bool is_entry);

/*
 * kernel_selection_filter - the filter for raw_syscalls that lets the chosen numbers pass, or "0"
 * (none needed) if all are chosen.
 *
 * @translate: appends an expression of exit_filter in the kernel's syntax; returns 0 or -errno,
 * which is passed on.
 */
typedef int kernel_translate(void *arg, const char *expression, struct text *t);
int kernel_selection_filter(const struct kernel_selection *s, bool is_entry,
			    kernel_translate *translate, void *arg, struct text *t);

#endif
