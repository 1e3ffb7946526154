/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/print.h - joined system calls as lines, and summed up.
 *
 * A call is one line, printed when it returns, with the time at which it began: what other threads
 * do meanwhile tears nothing apart, and each line can be searched for.  Who looks on while it
 * happens also sees calls that last: as "<unfinished ...>" after a second, and as "<... resumed>"
 * when they return.
 */
#ifndef CMD_STRACE_PRINT_H
#define CMD_STRACE_PRINT_H

#include "analysis/syscalls/pairing.h"
#include "analysis/samples.h"
#include "cmd/strace/selection.h"
#include "cmd/view/output.h"

enum strace_time {
	STRACE_NO_TIME,
	STRACE_TIME,
	STRACE_MICROSECONDS,
	STRACE_EPOCH,
	STRACE_RELATIVE
};

struct strace_count { /* of a call */
	const char *call;
	uint64_t n, n_errors;
	struct samples time;
};

struct strace_page {
	struct strace_selection choice;
	enum strace_time time;
	bool has_durations;  /* -T */
	int quiet;	     /* -q; -qq: no deaths */
	bool counts, prints; /* -c: only the first; -C: both */
	bool names_all;	     /* whose it is, also while there is only one thread */
	uint64_t column;     /* -a: where results begin */
	uint64_t limit, n_lines;
	const char *sort; /* -S */
	struct out out;
	const struct threads *threads;
	uint32_t thread; /* of the first line, plus 1 */
	int64_t last_ns;
	bool has_last;
	uint64_t lost_events, lost_packets;
	struct strace_count *rows;
	uint32_t n_rows, n_rooms;
};

/* strace_give - for pairing_options.give, and `wants`; the context is the page. */
int strace_give(void *context, const struct pairing_item *item);
bool strace_wants_call(void *context, const char *call);
/* strace_summary - the table of -c. */
void strace_summary(struct strace_page *p, uint32_t width);
void strace_page_fini(struct strace_page *p);
/* strace_show_now - the calls that the threads of @pid are in. */
void strace_show_now(struct strace_page *p, pid_t pid);

#endif
