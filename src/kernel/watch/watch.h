/* SPDX-License-Identifier: MIT */
/*
 * kernel/watch/watch.h - kernel events that somebody waits for, seen as their pages are read.
 *
 * A page is walked once more before it is converted: what is waited for is looked up by the
 * kernel's number of the event, its fields by the event's `format`.  To look while converting would
 * be one walk less, but a test in the loop that all recordings pay for, and a flight recorder does
 * not convert at all.  Without a watch nothing is walked.
 *
 * Records are believed in nothing: lengths and places are checked against the page.
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
#include "kernel/select.h"

/* What somebody waits for, of the events that are recorded. */
struct kernel_watch_request {
	const char *pattern; /* as those of kernel/kernel.h, without sets and ! */
	const struct filter_code
		*filter; /* NULL: none.  Fields as they are shown; $vtid, $cpu_id */
	const char *by;	 /* a field whose value is the key; NULL: the thread */
	unsigned tag;	 /* the asker's own */
};

struct kernel_seen {
	uint64_t time_ns; /* of the session */
	uint64_t key; /* equal values have equal keys: numbers as they are, texts by base/hash.h */
	uint32_t tid;
	uint32_t cpu;
	unsigned tag;
	const char *name; /* "kernel:sched_switch"; lent as long as the watch */
};

typedef void kernel_event_callback(void *arg, const struct kernel_seen *seen);

struct kernel_watch;

/* kernel_watch_make - one that waits for nothing yet; NULL without memory.  @clock: lent. */
struct kernel_watch *kernel_watch_make(const struct abi_clock *clock,
				       kernel_event_callback *reported, void *arg);
void kernel_watch_free(struct kernel_watch *w);

/* kernel_watch_event - wait for the events of format @f, which are shown as @name.
 * kernel_watch_syscall - for the system call @nr alone: @raw is the format of what records it, @f
 *that which names the arguments, NULL of an end. 0; -EINVAL if filter or field do not fit this
 *event; -ENOMEM. */
int kernel_watch_event(struct kernel_watch *w, const struct kernel_watch_request *request,
		       const struct kernel_format *f, const char *system, const char *name,
		       struct diag *d);
int kernel_watch_syscall(struct kernel_watch *w, const struct kernel_watch_request *request,
			 const struct kernel_format *raw, int nr, const struct kernel_format *f,
			 const char *name, struct diag *d);

/* kernel_watch_record - look at one record, from its common fields on. */
void kernel_watch_record(struct kernel_watch *w, uint32_t cpu, const uint8_t *bytes, size_t size,
			 uint64_t time_ns);

/* kernel_watch_page - look through a page as it was read. */
void kernel_watch_page(struct kernel_watch *w, uint32_t cpu, const uint8_t *page, size_t size);

#endif
