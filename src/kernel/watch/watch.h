/* SPDX-License-Identifier: MIT */
/*
 * kernel/watch/watch.h - reports matching kernel events while their pages are read.
 *
 * A page is scanned once before it is converted. Watched events are found by the kernel's event id,
 * fields by the event's `format`. Matching during conversion would save that scan. But it would add
 * a test to the loop of all recordings, and a flight recorder does not convert at all. Without a
 * watch no page is scanned.
 *
 * Records are not trusted: lengths and places are checked against the page.
 *
 * One thread.
 */
#ifndef KERNEL_WATCH_WATCH_H
#define KERNEL_WATCH_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "filter/compile.h"
#include "kernel/tracefs/format.h"

/* A request to watch some of the recorded events. */
struct kernel_watch_request {
	const char *pattern;		  /* a pattern as in kernel/kernel.h, without sets and ! */
	const struct filter_code *filter; /* NULL: none. Fields as recorded; $vtid, $cpu_id */
	const char *by;			  /* a field; its value is the key; NULL: the thread */
	unsigned tag;			  /* the caller's own value */
};

struct kernel_seen {
	uint64_t time_ns; /* session time */
	uint64_t key; /* equal values have equal keys: numbers unchanged, texts by base/hash.h */
	uint32_t tid;
	uint32_t cpu;
	unsigned tag;
	const char *name; /* "kernel:sched_switch"; valid as long as the watch */
};

typedef void kernel_event_callback(void *arg, const struct kernel_seen *seen);

struct kernel_watch;

/* kernel_watch_make - a watch without events; NULL without memory. @clock: not owned. */
struct kernel_watch *kernel_watch_make(const struct abi_clock *clock,
				       kernel_event_callback *on_match, void *arg);
void kernel_watch_free(struct kernel_watch *w);

/* kernel_watch_event - watch the events of format @f, which are recorded as @name.
 * kernel_watch_syscall - watch only the system call @nr. @raw is the format of the recorded event;
 * @f names the arguments, NULL for an exit.
 * Both return 0; -EINVAL if the filter or the field does not fit this event; -ENOMEM. */
int kernel_watch_event(struct kernel_watch *w, const struct kernel_watch_request *request,
		       const struct kernel_format *f, const char *system, const char *name,
		       struct diag *d);
int kernel_watch_syscall(struct kernel_watch *w, const struct kernel_watch_request *request,
			 const struct kernel_format *raw, int nr, const struct kernel_format *f,
			 const char *name, struct diag *d);

/* kernel_watch_record - examine one record, from its common fields on. */
void kernel_watch_record(struct kernel_watch *w, uint32_t cpu, const uint8_t *bytes, size_t size,
			 uint64_t time_ns);

/* kernel_watch_page - examine all records of a page. */
void kernel_watch_page(struct kernel_watch *w, uint32_t cpu, const uint8_t *page, size_t size);

#endif
