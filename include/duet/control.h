/* SPDX-License-Identifier: MIT */
/*
 * duet/control.h - programs steer recordings: others', and the one they are recorded by themselves.
 *
 *	#include <duet/control.h>			link with -lduet-control
 *
 *	if (request_took > LIMIT)
 *		duet_snapshot(NULL, NULL, NULL, 0);	what led to it, out of the flight recorder
 *that records us
 *
 * Each call is one question to a collector over its socket, and its answer:
 *docs/formats/control.md.  No thread, signal handler or descriptor stays in the program.  What
 *holds of all calls, unless they say otherwise:
 *
 *   result    0, or a negative errno:
 *		  -ENOENT     no such session; with no name, nothing records
 *		  -ETIMEDOUT  no answer within the limit; what was asked may happen yet
 *		  -EBUSY      not now: ask again
 *		  -EREMOTEIO  the collector refused; `why` has its reason
 *		  -EINVAL     the arguments make no sense, or are too long
 *		  -EPERM      the socket or the directory is neither ours nor root's
 *		  -EPROTO     what came is no answer, or has no room
 *		  others      of the system: EMFILE, EPIPE when the collector dies, ...
 *   limit     they return within limit_ns, 1 s by default, whatever the collector does
 *   threads   any, concurrently; each with a struct duet_control of its own
 *   signals   may be called from a signal handler: no lock, no memory, at most 24 KiB of stack,
 *errno is kept.  A program under seccomp must allow itself socket, connect, sendto, recvfrom
 *
 * In C (C99 and later) and C++ (C++11 and later).  Manual: duet_control(3).
 */
#ifndef DUET_CONTROL_H
#define DUET_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	DUET_SESSION_BYTES = 64, /* a session's name, with its NUL */
	DUET_WHY_BYTES = 512,
	DUET_PATH_BYTES = 4096
};

/*
 * Whom a call means, and how long it may take.  Zeroes but for `size` are the defaults, and so is
 *NULL in place of the whole:
 *
 *	struct duet_control c = { .size = sizeof c };
 */
struct duet_control {
	size_t size;	       /* sizeof *this, so that later versions may add members */
	const char *session;   /* its name; NULL: the last that $DUET_SESSION named when the program
				  started, else   the first that records this process, else "default" */
	const char *directory; /* the runtime directory; NULL: $DUET_RUNTIME_DIR as it was then,
				  else /dev/shm/duet-<uid> */
	uint64_t limit_ns;     /* how long a call may take; 0: 1 s */
	char why[DUET_WHY_BYTES]; /* after an error: the reason, for people; else "" */
};

/*
 * duet_flush - what was recorded before the call is in the files when it returns.
 *
 * That is: with the kernel, as after write(2).  When it is forced onto the disk, --sync of duet
 * record(1) says. What a flight recorder holds stays in its memory: take a snapshot.  Since 0.1.
 */
int duet_flush(struct duet_control *c);

struct duet_snapshot_options {
	size_t size;	    /* sizeof *this */
	uint64_t last_ns;   /* of the last so many nanoseconds; 0: all there is */
	uint64_t max_bytes; /* the newest that fit; 0: all */
};

/*
 * duet_snapshot - have written what a flight recorder holds now, while it goes on.
 *
 * @o: NULL for the defaults.
 * @path: room of @path_bytes for where it is, which is below the recorder's own output; or NULL.
 *
 * Returns when it is written, some milliseconds per 10 MB.  After -ETIMEDOUT it is still being
 * written. Since 0.1.
 */
int duet_snapshot(struct duet_control *c, const struct duet_snapshot_options *o, char *path,
		  size_t path_bytes);

/* duet_rotate - finish a piece of a recording begun with --rotate, and go on in the next.  Since
 * 0.1. */
int duet_rotate(struct duet_control *c);

struct duet_events {
	size_t size;	     /* sizeof *this */
	const char *pattern; /* as duet enable's; at most 511 bytes */
	const char *filter;  /* duet_enable: an expression, duet-filter(7), at most 4095 bytes; or
				NULL */
	const char *channel; /* duet_enable: of the session; NULL: as its rules say */
	int32_t pid;	     /* only in this process; 0: in all, and in those that start later */
};

struct duet_switched {
	uint64_t events,
		programs;    /* that match and are switched, whether or not they were so already */
	uint64_t left_alone; /* programs: they belong to other sessions only, or an event would kill
				them */
};

/* duet_enable, duet_disable - switch events on, or off.  @done: may be NULL.  Since 0.1. */
int duet_enable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done);
int duet_disable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done);

struct duet_session_status {
	size_t size; /* sizeof *this; set it before the call */
	char session[DUET_SESSION_BYTES];
	int32_t pid;	      /* the collector */
	int32_t has_kernel;   /* whether the kernel is recorded, too */
	uint64_t duration_ns; /* since it began */
	uint64_t programs;    /* that have joined */
	uint64_t channels;    /* it has */
	uint64_t app_bytes;   /* in the files */
	uint64_t
		app_lost; /* events of programs that found no way to the memory; see duet_request */
	uint64_t kernel_events, kernel_bytes, kernel_lost;
	char path[DUET_PATH_BYTES]; /* the recording, as its collector was told */
};

/* duet_status - what a session has done so far.  Since 0.1. */
int duet_status(struct duet_control *c, struct duet_session_status *s);

struct duet_start_options {
	size_t size;		      /* sizeof *this */
	const char *output;	      /* the recording's directory; NULL: as duet start says */
	const char *const *events;    /* patterns, up to a NULL; NULL: all */
	const char *filter;	      /* for them; or NULL */
	const char *const *arguments; /* more arguments of duet-start(1), up to a NULL; or NULL */
	int32_t flight_recorder;      /* not 0: keep the newest in memory, for duet_snapshot */
	int32_t only_this_process;    /* not 0: record this process alone; else all of this user */
};

/*
 * duet_start - begin a session, in a process of its own: what `duet start` does, by running it.
 *
 * @c: its `session` names the new one; NULL: "default", or for this process alone "self-<pid>".
 * @o: NULL for the defaults.
 *
 * The program `duet` is looked for in $PATH.  The child that begins the session sends no SIGCHLD,
 * and is waited for here.  -EEXIST if there is such a session; -ENOENT if `duet` is not installed.
 * Not from a signal handler.  At most 10 s by default: programs are looked for.  Since 0.1.
 */
int duet_start(struct duet_control *c, const struct duet_start_options *o);

/* duet_stop - end a session; returns when its recording is whole.  After -ETIMEDOUT it is being
 * written. Since 0.1. */
int duet_stop(struct duet_control *c);

/*
 * duet_sessions - tell each session that records now.
 *
 * @each: returns 0 to go on, else duet_sessions returns its value.
 *
 * Returns 0 when all are told.  Not from a signal handler.  The limit is for each of them.  Since
 * 0.1.
 */
int duet_sessions(struct duet_control *c, int (*each)(void *arg, const char *session), void *arg);

/*
 * duet_request - ask whatever docs/formats/control.md has.
 *
 * @line: one object of JSON on one line, at most 8191 bytes: {"verb":"status","channel":0}
 * @answer: room of @size bytes for the answer, a line of JSON, terminated.
 *
 * Returns the length of the answer, of which what does not fit is cut; or a negative errno.  That
 * the collector refused is for the caller to read.  Since 0.1.
 */
int duet_request(struct duet_control *c, const char *line, char *answer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
