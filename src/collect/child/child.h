/* SPDX-License-Identifier: MIT */
/*
 * collect/child/child.h - a recorder in a child process, for a command that follows its recording.
 *
 * The recorder is our child, so what it records with is not in our process; a traced command is the
 * recorder's child.  If we die, however it happens, the recorder gets a signal, stops, and removes a
 * directory that is not kept.
 */
#ifndef COLLECT_CHILD_CHILD_H
#define COLLECT_CHILD_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/options/options.h"

/* recorder_end_early - a signal handler, in a process that records, for a signal that arrives before the
 * recorder reads them: it then does not begin.  recorder_ends_early - whether one has arrived. */
void recorder_end_early(int signal);
bool recorder_ends_early(void);

struct recorder_child {
	/* set by the caller: */
	const char *keep;   /* the recording stays in this directory; NULL: it is removed */
	const char *within; /* else: where to make one; NULL: $TMPDIR or /tmp */
	const char *verb;   /* part of its name: "strace" */
	bool has_command;   /* `run` starts a command */
	bool is_passing;    /* it is removed as it is read, and lies in memory if it can; not with
			     * `keep` */

	char path[PATH_MAX];
	pid_t recorder, program; /* our child, and its child; program: -1 without a command */
	int status;		 /* exit status of the recorder, which is that of the command */
	bool has_ended;
	uint32_t *n_read; /* is_passing: trace chunks up to this one were read; shared with it */
};

/* For the options of the recording, in the child: on_ready is recorder_child_report, its argument
 * this, and command_pid points to `program`. */
struct recorder_child_ready {
	pid_t program;
	int pipe;
};
int recorder_child_report(void *ready, struct diag *d);

/*
 * recorder_child_run - what the child does: record into @path.
 *
 * Returns its exit status; a reason in @d is passed on if the parent still waits.
 */
typedef int recorder_child_run(void *arg, const char *path, struct recorder_child_ready *ready,
			       struct diag *d);

/*
 * recorder_child_start - make the directory, start the child, and return when it records.
 *
 * Returns 0; -errno with the reason in @d, "" if the child has none, and its exit status in `status`.
 */
int recorder_child_start(struct recorder_child *c, recorder_child_run *run, void *arg,
			 struct diag *d);
/* recorder_child_pass - for the options of the recording, in the child, if it is passing. */
void recorder_child_pass(const struct recorder_child *c, struct trace_chunks_options *o);
/* recorder_child_was_read - its trace chunks up to @n were read (trace_chunks_read), and can go. */
void recorder_child_was_read(struct recorder_child *c, uint32_t n);
/* recorder_child_interrupt - pass on the @n-th Ctrl-C, or stop at once (@n is 0). */
void recorder_child_interrupt(struct recorder_child *c, int n);
/* recorder_child_end - stop the recorder if @at_once, wait for it and the command, and remove the
 * recording.  Returns the exit status. */
int recorder_child_end(struct recorder_child *c, bool at_once);

#endif
