/* SPDX-License-Identifier: MIT */
/*
 * collect/recorder.h - one recording: session, pools, kernel, command, files.
 *
 * The collector moves bytes and does not interpret events.  One thread: a loop over descriptors and
 * timers.  However it ends (the command's end, a signal, a full disk), recorder_finish leaves a
 * readable trace and restores the kernel.
 */
#ifndef COLLECT_RECORDER_H
#define COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/chunks/chunks.h"
#include "collect/session/session.h"
#include "collect/request/stop.h"
#include "collect/chunks/archiver.h"
#include "kernel/kernel.h"

struct recorder;
struct sender;
struct sender_options;
struct handover;

struct recorder_event {
	const char *pattern; /* "!pattern" excludes */
	const char *filter;  /* an expression over its fields, or NULL */
	const char *level;   /* only events at least this important, collect/session/selectors.h;
			      * or NULL */
};

struct recorder_channel {
	struct session_channel channel;
	const char *const *patterns; /* of the events written to it */
	int n_patterns;
};

struct recorder_options {
	const char *path;		     /* of the recording; created; must not hold one yet */
	const char *session;		     /* the name by which programs join */
	const struct recorder_event *events; /* none: all */
	int n_events;
	bool no_default_events; /* an empty list means none */
	const char *selector;	/* conditions for all events: rules/selector.h; or NULL */
	const pid_t *pids;	/* only these programs */
	int n_pids;
	char *const *command; /* NULL-terminated; only this command and its children; or NULL */
	const char *library;  /* libduet, for the command's programs; or NULL */
	const char *preload;  /* a library to preload into the command; or NULL */
	const struct recorder_channel *channels; /* the first takes events that match no other */
	int n_channels;				 /* 1..ABI_CHANNELS */
	bool flight_recorder; /* overwrite mode for kernel events; application channels have
			       * their own mode */
	uint32_t clock_kind;  /* ABI_CLOCK_...; 0: the best one */
	struct trace_chunks_options
		trace_chunks;	     /* a recording in trace chunks: collect/chunks/chunks.h */
	const char *const *triggers; /* collect/trigger/trigger.h */
	int n_triggers;
	struct quota *quota; /* packets are written only while it has space; borrowed; NULL: no
			      * limit */

	const struct recorder_sending *sends_tenants; /* each tenant's trace is sent by its own
						       * sender; or NULL */
	const struct sender *sent;		      /* sends to another host; borrowed; NULL:
						       * none */
	const char *sent_to;			      /* the host, as the user named it */
	bool leaves; /* data is removed as it is sent: nothing remains to read here */
	/*
	 * Called once when recording has started, before the supervisor is forked; a result other
	 * than 0 ends the recording.  Or NULL.
	 */
	int (*on_ready)(void *arg, struct diag *d);
	void *on_ready_arg;
	pid_t *command_pid; /* receives the command's pid before on_ready is called; or NULL */
	/*
	 * Record other users' programs, each user in separate memory: collect/tenant/supervisor.h.
	 * Root only.
	 */
	bool all_users;
	bool containers;
	/*
	 * The tenant that this process records; NULL: not a tenant collector.  Borrowed, as the
	 * next two.
	 */
	const struct tenant *tenant;
	const struct recorder_clock *clock;   /* of the whole recording; NULL: our own */
	const struct handover *main_handover; /* of the main collector, valid until on_ready:
					     * collect/tenant/catch_up.h; NULL: this is the main
					     * collector */

	bool keep; /* a second process continues if this one is killed: collect/handover.h */
	bool wants_kernel; /* record the kernel if this process may */
	/* Which kernel events are recorded, and how.  The collector sets path, clock, quota,
	 * overwrite and callbacks. */
	struct kernel_options kernel;
};

/* Where the traces of tenants are sent.  Borrowed. */
struct recorder_sending {
	const struct sender_options *options; /* for all; path and session are set for each
					       * tenant */
	uint64_t spool_bytes;		      /* for each tenant */
};

/* The clock that all collectors of a recording share. */
struct recorder_clock {
	struct abi_clock map;
	uint64_t offset_ns; /* from the Epoch to the clock's zero */
};

struct recorder_result {
	uint64_t duration_ns;
	uint64_t app_bytes, app_lost;
	uint64_t channel_lost[ABI_CHANNELS]; /* part of app_lost */
	uint64_t app_unwritten;		     /* bytes of events that could not be written to disk */
	uint64_t kernel_events, kernel_bytes, kernel_lost;
	uint32_t programs;     /* programs that joined */
	uint32_t tenants;      /* other users and containers that had some */
	uint32_t n_collectors; /* collectors used: all but the last were killed */
	int status;	       /* of the command, as waitpid returns it; 0 without one */
	bool kernel_recorded;
	char kernel_recorder[16];	 /* "bpf" or "ftrace": kernel/kernel.h */
	struct diag kernel_no_bpf;	 /* why BPF is not used where it could be, or "" */
	struct diag kernel_reason;	 /* why the kernel is not recorded, if requested */
	uint32_t trace_chunks;		 /* finished, including those removed since; 0: no trace
					  * chunks */
	struct archiver_status archiver; /* work done on them */
	struct diag trouble;		 /* the first problem during the recording, or "" */
	struct stopping stopping;	 /* clients that requested the end: the caller answers
					  * them */
};

/*
 * recorder_may_write_anew - whether a successor of a collector killed at the end may write data
 * again that was written already: everything in overwrite mode.
 */
bool recorder_may_write_anew(const struct recorder_options *o);

/*
 * recorder_open - create everything; nothing runs yet.
 *
 * Until recorder_finish the process has its maximum number of descriptors and survives
 * RLIMIT_FSIZE. Returns 0 or -errno.
 */
int recorder_open(struct recorder **r, const struct recorder_options *o, struct diag *d);

/*
 * recorder_run - record until the command ends, or SIGINT, SIGTERM or SIGHUP arrives.
 *
 * With the option `keep` it returns in a child: the caller's process waits for it and exits with
 * its status.  Blocks these signals and SIGCHLD in the calling thread and receives them through a
 * descriptor.  With a command, the first SIGINT is left to the command (a terminal sends it to
 * both); the second one ends the recording.
 */
int recorder_run(struct recorder *r, struct diag *d);

/* recorder_finish - write what remains, restore the process, free.  Accepts NULL. */
int recorder_finish(struct recorder *r, struct recorder_result *result, struct diag *d);

#endif
