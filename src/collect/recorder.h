/* SPDX-License-Identifier: MIT */
/*
 * collect/recorder.h - one recording: session, pool, kernel, command, files.
 *
 * The collector moves bytes and does not interpret events.  One thread; a loop over descriptors and
 * a timer.  Whatever ends it - the command's end, a signal, a full disk - goes through
 * recorder_finish, which leaves a readable trace and puts the kernel back.
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
#include "kernel/probe/functions.h"
#include "kernel/probe/uprobe.h"

struct recorder;
struct sender;
struct sender_options;
struct handover;

struct recorder_event {
	const char *pattern; /* "!pattern" excludes */
	const char *filter;  /* an expression over its fields, or NULL */
	const char *level;   /* at least as important, collect/session/selectors.h; or NULL */
};

struct recorder_channel {
	struct session_channel channel;
	const char *const *patterns; /* of the events that go there */
	int n_patterns;
};

struct recorder_options {
	const char *path;		     /* of the recording; made; must not hold one yet */
	const char *session;		     /* name programs join by */
	const struct recorder_event *events; /* none: all */
	int n_events;
	bool no_default_events; /* none: none */
	const char *selector;	/* conditions for all events: rules/selector.h; or NULL */
	const pid_t *pids;	/* only these programs */
	int n_pids;
	char *const *command; /* NULL-terminated; only it and its children; or NULL */
	const char *library;  /* libduet, for the command's programs; or NULL */
	const char *preload;  /* a library to preload into the command; or NULL */
	const struct recorder_channel *channels; /* the first takes what no other wants */
	int n_channels;				 /* 1..ABI_CHANNELS */
	bool flight_recorder; /* the kernel's events: those of applications go by their channel */
	uint32_t clock_kind;  /* ABI_CLOCK_...; 0: the best one */
	struct trace_chunks_options
		trace_chunks;	     /* a recording in pieces: collect/chunks/chunks.h */
	const char *const *triggers; /* collect/trigger/trigger.h */
	int n_triggers;
	struct quota *quota; /* packets are written only while it has room; lent; NULL: no limit */

	const struct recorder_sending *sends_tenants; /* each part of other users is sent by a
							 sender of its own; or NULL */
	const struct sender *sent;		      /* to another host; lent; NULL: it is not */
	const char *sent_to;			      /* which, as the user called it */
	bool leaves; /* what is recorded is taken away as it is sent: nothing is left to read here
		      */
	/* Told once, when all is ready and it records, before the keeper is one; not 0: it is to
	 * end.  Or NULL. */
	int (*on_ready)(void *arg, struct diag *d);
	void *on_ready_arg;
	pid_t *command_pid; /* where its number is left before on_ready is told; or NULL */
	/* Other users' programs, each user's in a memory of his own: collect/tenant/supervisor.h.
	 * Root only. */
	bool all_users;
	bool containers;
	/* One of them; then all that follows is another process's.  Lent. */
	const struct tenant *tenant;
	const struct recorder_clock
		*clock;		      /* of the recording that we are a part of; NULL: our own */
	const struct handover *whole; /* of that recording, lent until on_ready:
					 collect/tenant/catch_up.h; NULL: we are no part */

	bool keep;   /* a second process goes on if this one is killed: collect/handover.h */
	bool kernel; /* record it if we may */
	bool kernel_whole_machine;
	uint32_t kernel_backend; /* enum kernel_backend, kernel/kernel.h */
	const char *const
		*cgroups; /* directories: of the kernel's events only those of processes in them */
	int n_cgroups;
	uint32_t kernel_contexts;   /* kernel/threads/contexts.h */
	uint32_t kernel_buffer_kib; /* of each CPU; 0: the default */
	uint32_t capture_bytes;	    /* kernel/kernel.h */
	const char *const *kernel_events;
	const char *const *kernel_filters; /* of each, or NULL */
	int n_kernel_events;
	const struct kernel_uprobe *uprobes;
	int n_uprobes;
	struct kernel_graph graph;
};

/* Where the parts of a recording go.  Lent. */
struct recorder_sending {
	const struct sender_options *options; /* for all; path and session are each part's own */
	uint64_t spool_bytes;		      /* of each */
};

/* What all parts of a recording have in common. */
struct recorder_clock {
	struct abi_clock map;
	uint64_t offset_ns; /* from the Epoch to the clock's zero */
};

struct recorder_result {
	uint64_t duration_ns;
	uint64_t app_bytes, app_lost;
	uint64_t channel_lost[ABI_CHANNELS]; /* part of app_lost */
	uint64_t app_unwritten;		     /* bytes of events that the disk did not take */
	uint64_t kernel_events, kernel_bytes, kernel_lost;
	uint32_t programs;	 /* that joined */
	uint32_t tenants;	 /* other users, and those in containers, that had some */
	uint32_t n_incarnations; /* collectors that it took: all but the last were killed */
	int status;		 /* of the command, as waitpid gives it; 0 without one */
	bool kernel_recorded;
	char kernel_recorder[16];	 /* "bpf" or "ftrace": kernel/kernel.h */
	struct diag kernel_no_bpf;	 /* why not, where it might be, or "" */
	struct diag kernel_reason;	 /* why not, if it was wanted */
	uint32_t trace_chunks;		 /* finished, also those removed since; 0: not in pieces */
	struct archiver_status archiver; /* what was done with them */
	struct diag trouble;		 /* the first thing that went wrong on the way, or "" */
	struct stopping stopping;	 /* who asked for the end: the caller answers them */
};

/* recorder_may_write_anew - whether, should its collector be killed at the end, the next one writes
 * again what it had written: of a flight recorder all. */
bool recorder_may_write_anew(const struct recorder_options *o);

/* recorder_open - make everything ready; nothing runs yet.  Until recorder_finish the process may
 * have as many files as it may ask for, and survives RLIMIT_FSIZE.  Returns 0 or -errno. */
int recorder_open(struct recorder **r, const struct recorder_options *o, struct diag *d);

/*
 * recorder_run - record until the command ends, or a SIGINT, SIGTERM or SIGHUP comes.
 *
 * With the option `keep` it returns in a child: the caller's process then waits for it, and exits
 * as it does. Blocks these signals and SIGCHLD in the calling thread and takes them through a
 * descriptor.  With a command the first SIGINT is left to it (a terminal sends it to both); the
 * second ends the recording.
 */
int recorder_run(struct recorder *r, struct diag *d);

/* recorder_finish - write what remains, put everything back, free.  Accepts NULL. */
int recorder_finish(struct recorder *r, struct recorder_result *result, struct diag *d);

#endif
