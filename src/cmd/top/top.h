/* SPDX-License-Identifier: MIT */
/*
 * cmd/top/top.h - `duet top`: what runs and waits now, shared by its files:
 *
 *   top.c      options, and the loop: read, end the interval, show
 *   source.c   the recording: a session that runs, or one of our own that is not kept
 *   rows.c     threads, processes or events of an interval as rows, chosen and sorted
 *   screen.c   the terminal: ncurses and keys
 *   text.c     tables or JSON, an interval after the other
 */
#ifndef CMD_TOP_TOP_H
#define CMD_TOP_TOP_H

#include <limits.h>

#include "analysis/activity/activity.h"
#include "cmd/cmd.h"
#include "collect/child/child.h"

enum top_by { TOP_THREADS, TOP_PROCESSES, TOP_EVENTS, TOP_VIEWS };
enum top_sort { TOP_CPU, TOP_WAIT, TOP_BLOCKED, TOP_CALLS, TOP_SWITCHES, TOP_RATE, TOP_SORTS };

struct top_options {
	bool is_batch, is_json;
	uint64_t interval_ns, n_intervals; /* 0: without end */
	enum top_by by;
	enum top_sort sort;
	uint64_t limit;
	const char *filter; /* part of a name; NULL: all */
	struct cmd_pids pids;
	struct cmd_strings events, kernel; /* of our own recording */
	char *const *command;
	const char *session; /* or directory; NULL: the only one, or our own */
};

/* The recording that is shown: source.c. */
struct top_source {
	struct recorder_child child; /* of our own recording */
	bool is_own;
	char path[PATH_MAX];
	const char *paths; /* an array of one: path */
	struct trace *trace;
	struct activity activity;
	bool is_open, has_ended;
};
/* top_source_open - find or start the recording, and open it.  Returns 0, or the exit status after a
 * message. */
int top_source_open(struct top_source *s, const struct top_options *o);
/* top_source_read - read what is new, and end the interval at what is known.  0, or CMD_FAILED after a
 * message. */
int top_source_read(struct top_source *s);
/* top_source_close - end our own recording.  Returns the exit status of its command, or 0. */
int top_source_close(struct top_source *s);

struct top_row {
	uint32_t thread; /* of a process: its leader; of an event: the class */
	uint32_t n_threads;
	struct activity_thread sum; /* of a process; events: n_events */
};
struct top_rows {
	struct top_row *at;
	uint32_t n, n_rooms;
	uint32_t *of_process; /* by leader: its row, plus 1 */
	uint32_t n_processes;
	/* of all threads: */
	uint64_t ns[WAIT_STATES];
	uint32_t n_running, n_runnable, n_blocked;
};
/* top_rows_make - the rows of the interval that @a has ended.  0 or -ENOMEM. */
int top_rows_make(struct top_rows *r, const struct activity *a, const struct top_options *o);
void top_rows_fini(struct top_rows *r);
/* top_row_cpu_ns - the time on a CPU. */
uint64_t top_row_cpu_ns(const struct activity_thread *t);
/* The present state of a thread: "running", "blocked in futex 0x7f.., 12.5 ms". */
enum { TOP_NOW_BYTES = 160 };
void top_now_text(const struct activity *a, const struct activity_thread *t,
		  char text[TOP_NOW_BYTES]);
/* A name of the recording, without control characters. */
void top_name_text(const struct activity *a, const struct top_row *row, enum top_by by,
		   char text[64]);
const char *top_sort_name(enum top_sort sort);

/* Each shows intervals until the end, and returns the exit status. */
int top_screen(struct top_source *s, struct top_options *o);
int top_text(struct top_source *s, const struct top_options *o);

/* top_is_stopped - a signal asked to end. */
bool top_is_stopped(void);

#endif
