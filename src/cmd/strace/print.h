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
#include "cmd/strace/stacks.h"
#include "cmd/strace/style.h"
#include "trace/text/public.h"

enum strace_time {
	STRACE_NO_TIME,
	STRACE_TIME,
	STRACE_MICROSECONDS,
	STRACE_EPOCH,
	STRACE_RELATIVE
};

enum strace_prefix { /* the begin of a line */
		     STRACE_NO_PIDS,
		     STRACE_PIDS,     /* "[pid  4711] " while there are several threads */
		     STRACE_ALL_PIDS, /* "4711  " */
		     STRACE_NAMES,    /* "[name:4711] " */
};

struct strace_count { /* of one system call */
	const char *call;
	uint64_t n, n_errors;
	struct samples time;
};

struct strace_printer {
	struct strace_filter filter;
	enum strace_time time;
	bool has_durations; /* -T */
	int quiet;	    /* -q; -qq: no deaths */
	bool hides_superseded;
	bool counts, prints; /* -c: only the first; -C: both */
	enum strace_prefix prefix;
	bool names_pids;	      /* -Y */
	bool numbers;		      /* -n: of calls */
	uint64_t column;	      /* -a: where results begin */
	struct strace_stacks *stacks; /* -k; NULL: none are shown */
	struct strace_style style;
	uint64_t limit, n_lines;
	const char *sort;     /* -S */
	struct out out, *to;  /* @to: of the line in hand */
	const char *separate; /* -ff: the threads' files begin with this; NULL: all write to @out */
	bool appends;
	struct out *outs; /* by thread; zeroed: not open */
	uint32_t n_outs;
	const struct threads *threads;
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
/* outputs.c. strace_output - the output of @thread, opened by its first line; NULL: it cannot be
 * opened, and an error was printed. strace_output_end - after its last line. */
struct out *strace_output(struct strace_printer *p, uint32_t thread);
void strace_output_end(struct strace_printer *p, uint32_t thread);
void strace_outputs_flush(struct strace_printer *p);
void strace_outputs_fini(struct strace_printer *p);
void strace_printer_fini(struct strace_printer *p);
/* strace_print_in_progress - print the call that each thread of @pid is in now; @is_alone: only
 * the thread with that number. @n: all threads that are shown. */
void strace_print_in_progress(struct strace_printer *p, pid_t pid, bool is_alone, uint32_t n);
/* strace_count_threads - how many threads the process @pid has now; at least 1. */
uint32_t strace_count_threads(pid_t pid);

#endif
