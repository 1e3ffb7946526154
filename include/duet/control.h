/* SPDX-License-Identifier: MIT */
/*
 * duet/control.h - control recordings from a program: its own recording or another one.
 *
 *	#include <duet/control.h>			link with -lduet-control
 *
 *	if (request_took > LIMIT)
 *		duet_snapshot(NULL, NULL, NULL, 0);	save the events that led to it
 *
 * Each call sends one request to a collector over its socket and reads one answer; see
 * docs/formats/control.md.  No thread, signal handler or descriptor remains in the program.  All
 * calls share these rules, unless one states another:
 *
 *   result    0, or a negative errno:
 *               -ENOENT     no such session; without a name: no session records
 *               -ETIMEDOUT  no answer within the limit; the request may still be carried out
 *               -EBUSY      the collector is busy: try again
 *               -EREMOTEIO  the collector refused; `why` has its reason
 *               -EINVAL     the arguments are not valid, or are too long
 *               -EPERM      neither this user nor root owns the socket or the directory
 *               -EPROTO     the answer is not valid, or does not fit
 *               others      from the system: EMFILE, EPIPE if the collector dies, ...
 *   limit     a call returns within limit_ns, 1 s by default, whatever the collector does
 *   threads   any, concurrently; each with its own struct duet_control
 *   signals   async-signal-safe: no lock, no allocation, at most 24 KiB of stack; errno is kept
 *   seccomp   a filter must allow socket, connect, sendto and recvfrom
 *
 * C99 and later, C++11 and later.  Manual: duet_control(3).
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
 * The session that a call addresses, and its time limit.  Members that are zero, except `size`,
 * mean their defaults; NULL in place of the struct means all defaults:
 *
 *	struct duet_control c = { .size = sizeof c };
 */
struct duet_control {
	size_t size;		  /* sizeof *this, so that later versions may add members */
	const char *session;	  /* its name; NULL: the last name in $DUET_SESSION when the program
				  started, else the first session that records this process, else
				  "default" */
	const char *directory;	  /* the runtime directory; NULL: $DUET_RUNTIME_DIR when the program
				  started, else /dev/shm/duet-<uid> */
	uint64_t limit_ns;	  /* time limit of a call; 0: 1 s */
	char why[DUET_WHY_BYTES]; /* after an error: the reason as text; else "" */
};

/*
 * duet_flush - write the events recorded before the call into the recording's files.
 *
 * After it returns the kernel has the bytes, as after write(2).  Option --sync of duet-record(1)
 * decides when they reach the disk.  The events in a flight recorder stay in its memory; use
 * duet_snapshot() for them.  Since 0.1.
 */
int duet_flush(struct duet_control *c);

struct duet_snapshot_options {
	size_t size;	    /* sizeof *this */
	uint64_t last_ns;   /* only the last so many nanoseconds; 0: everything */
	uint64_t max_bytes; /* only the newest packets that fit; 0: everything */
};

/*
 * duet_snapshot - write the content of a flight recorder to files while it continues.
 *
 * @o: NULL for the defaults.
 * @path: receives the snapshot's directory, which lies below the recorder's output; room for
 * @path_bytes bytes.  May be NULL.
 *
 * Returns when the snapshot is written, after some milliseconds per 10 MB.  After -ETIMEDOUT the
 * collector is still writing it.  Since 0.1.
 */
int duet_snapshot(struct duet_control *c, const struct duet_snapshot_options *o, char *path,
		  size_t path_bytes);

/* duet_rotate - finish the current trace chunk of a recording made with --rotate, and begin the
 * next.  Since 0.1. */
int duet_rotate(struct duet_control *c);

struct duet_events {
	size_t size;	     /* sizeof *this */
	const char *pattern; /* as for duet-enable(1); at most 511 bytes */
	const char *filter;  /* duet_enable: an expression, duet-filter(7), at most 4095 bytes;
				or NULL */
	const char *channel; /* duet_enable: a channel of the session; NULL: as its rules decide */
	int32_t pid;	     /* only in this process; 0: in all, and in those that start later */
};

struct duet_switched {
	uint64_t events, programs; /* affected, also those that already had this state */
	uint64_t left_alone; /* programs skipped: they belong to other sessions only, or an event
				would kill them */
};

/*
 * duet_enable, duet_disable - enable or disable events while a session records.
 *
 * @e: the events; `filter` and `channel` are for duet_enable().
 * @done: receives the numbers of events and programs affected; may be NULL.
 *
 * Since 0.1.
 */
int duet_enable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done);
int duet_disable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done);

struct duet_session_status {
	size_t size; /* sizeof *this; set it before the call */
	char session[DUET_SESSION_BYTES];
	int32_t pid;	      /* the collector */
	int32_t has_kernel;   /* not 0: the kernel is recorded too */
	uint64_t duration_ns; /* since the session began */
	uint64_t programs;    /* that have attached */
	uint64_t channels;    /* number of channels */
	uint64_t app_bytes;   /* written to files */
	uint64_t app_lost;    /* events of programs that could not attach to the memory;
			     duet_request() has more */
	uint64_t kernel_events, kernel_bytes, kernel_lost;
	char path[DUET_PATH_BYTES]; /* the recording, as given to its collector */
};

/* duet_status - read the state and the counters of a session.  Since 0.1. */
int duet_status(struct duet_control *c, struct duet_session_status *s);

struct duet_start_options {
	size_t size;		      /* sizeof *this */
	const char *output;	      /* the recording's directory; NULL: the default of
					 duet-start(1) */
	const char *const *events;    /* patterns, ended by NULL; NULL: all events */
	const char *filter;	      /* for these events; or NULL */
	const char *const *arguments; /* more arguments of duet-start(1), ended by NULL; or NULL */
	int32_t flight_recorder;      /* not 0: keep the newest events in memory, for
					 duet_snapshot() */
	int32_t only_this_process;    /* not 0: record this process alone; 0: all processes of
					 this user */
};

/*
 * duet_start - begin a session in a process of its own, by running `duet start`.
 *
 * @c: its `session` names the new session; NULL: "default", or "self-<pid>" for this process alone.
 * @o: NULL for the defaults.
 *
 * The program `duet` is found through $PATH.  The child that starts it sends no SIGCHLD and is
 * reaped here.  -EEXIST: the session exists; -ENOENT: `duet` is not installed.  The limit is 10 s
 * by default, because the new session scans for programs.  Any thread; not from a signal handler.
 * Since 0.1.
 */
int duet_start(struct duet_control *c, const struct duet_start_options *o);

/*
 * duet_stop - end a session; return when its recording is complete.
 *
 * After -ETIMEDOUT the collector is still writing.  Since 0.1.
 */
int duet_stop(struct duet_control *c);

/*
 * duet_sessions - list the sessions that record now.
 *
 * @each: called for each session with its name, which is valid during the call.  It returns 0 to
 * continue; another value ends the list, and duet_sessions() returns it.
 *
 * Returns 0 after the last one.  The limit applies to each session.  Not from a signal handler.
 * Since 0.1.
 */
int duet_sessions(struct duet_control *c, int (*each)(void *arg, const char *session), void *arg);

/*
 * duet_request - send any request of docs/formats/control.md.
 *
 * @line: one JSON object on one line, at most 8191 bytes: {"verb":"status","channel":0}
 * @answer: receives one line of JSON, NUL-terminated and cut to @size bytes.
 *
 * Returns the length of the whole answer, also if it was cut; or a negative errno.  A refusal by
 * the collector is an answer too: the caller reads it there.  Since 0.1.
 */
int duet_request(struct duet_control *c, const char *line, char *answer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
