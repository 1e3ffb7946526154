/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/print.h - prints complete system calls as lines, and their summary.
 *
 * A call is one line, printed when it returns, with the time of its beginning.  Calls of other
 * threads do not split it, and each line can be searched.  Live, a call that lasts is also printed
 * after a second as "<unfinished ...>", and as "<... resumed>" when it returns.
 */
#ifndef CMD_STRACE_PRINT_H
#define CMD_STRACE_PRINT_H

#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "analysis/public.h"
#include "cmd/strace/filter.h"
#include "cmd/strace/style.h"
#include "trace/text/public.h"

enum strace_time {
	STRACE_NO_TIME,
	STRACE_TIME,
	STRACE_MICROSECONDS,
	STRACE_EPOCH,
	STRACE_RELATIVE
};

struct strace_count { /* of one system call */
	const char *call;
	uint64_t n, n_errors;
	struct samples time;
};

struct strace_printer {
	struct strace_filter filter;
	enum strace_time time;
	bool has_durations;  /* -T */
	int quiet;	     /* -q; -qq: no deaths */
	bool counts, prints; /* -c: only the first; -C: both */
	bool names_all;	     /* print the thread even while there is only one */
	uint64_t column;     /* -a: where results begin */
	struct strace_style style;
	uint64_t limit, n_lines;
	const char *sort; /* -S */
	struct out out;
	const struct threads *threads;
	uint32_t thread; /* of the first line, plus 1 */
	int64_t last_ns;
	bool has_last;
	uint64_t lost_events, lost_packets;
	struct strace_count *rows;
	uint32_t n_rows, capacity;
};

/* strace_print_item, strace_on_call - for pairing_options.give and `wants`; the context is the
 * printer. */
int strace_print_item(void *context, const struct pairing_item *item);
bool strace_on_call(void *context, const char *call);
/* strace_on_data - for pairing_options.dumps. */
bool strace_on_data(void *context, int32_t fd, bool is_write);
/* strace_summary - print the table of -c. */
void strace_summary(struct strace_printer *p, uint32_t width);
void strace_printer_fini(struct strace_printer *p);
/* strace_print_in_progress - print the call that each thread of @pid is in now. */
void strace_print_in_progress(struct strace_printer *p, pid_t pid);

#endif
