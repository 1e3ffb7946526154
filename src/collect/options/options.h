/* SPDX-License-Identifier: MIT */
/*
 * collect/options/options.h - what the caller asks of a recording.
 *
 * Plain data that every room of collect may read, so that no room needs the recorder for it.
 * Everything is borrowed: it stays valid and unchanged until recorder_finish.
 */
#ifndef COLLECT_OPTIONS_OPTIONS_H
#define COLLECT_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/session.h"
#include "base/diag.h"
#include "disk/disk.h"
#include "kernel/kernel.h"

struct handover;
struct quota;
struct sender;
struct sender_options;
struct tenant;

struct session_channel {
	char name[ABI_CHANNEL_NAME_BYTES];
	uint64_t bytes;		   /* of all its chunks, at most; 0: a default */
	uint32_t chunk_bytes;	   /* 4 KiB..1 MiB, a power of two; 0: 64 KiB */
	uint32_t block_timeout_us; /* how long a writer waits for a free chunk before the event
				    * is lost; 0: it does not */
	bool flight_recorder;
	bool without_ids;  /* its events have no vpid and vtid */
	bool is_coarse;	   /* their times may be early: ring/write_coarse.h */
	uint64_t contexts; /* abi/context.h */
};

/* Trace chunks (collect/chunks/chunks.h), from the command line; zero means no. */
struct trace_chunks_options {
	bool rotate; /* divide the recording; without limits below only on request */
	uint64_t rotate_bytes,
		rotate_ns;	      /* begin a new trace chunk at this size or after this time */
	uint64_t keep_bytes, keep_ns; /* remove finished trace chunks beyond these limits, the
				       * oldest first */
	uint32_t keep_count;
	bool remove_all; /* remove them as soon as possible */
	/* of the whole recording, with or without trace chunks: disk/disk.h */
	struct disk_size disk, disk_free;
	int pack_level;		   /* compress finished trace chunks: 1 .. 19 */
	bool sync_trace_chunks;	   /* sync finished trace chunks */
	uint64_t sync_ns;	   /* sync the whole recording at this interval */
	const uint32_t *n_arrived; /* trace chunks up to this number have been sent; NULL: none
				    * are sent */
};

/* trace_chunks_are_removed - whether the user has said that old ones may go. */
static inline bool trace_chunks_are_removed(const struct trace_chunks_options *o)
{
	return o->keep_bytes || o->keep_ns || o->keep_count;
}

/* Calls of functions of programs: collect/calls/calls.h.  Without patterns, none are recorded. */
/* A USDT mark that programs record themselves. */
struct calls_mark {
	const char *pattern; /* FILE:PROVIDER:NAME, globs */
	const char *names;   /* of its fields, divided by blanks or commas; NAME:str is text */
	const char *filter;  /* of its event; NULL: none */
};

struct calls_options {
	const char *const *patterns; /* FILE:FUNCTION; "!" before it excludes */
	int n_patterns;
	uint32_t mode;		 /* enum abi_calls_mode */
	uint32_t depth;		 /* 0: all */
	uint64_t threshold_ns;	 /* for ABI_CALLS_OVER */
	uint64_t elide_under_ns; /* for ABI_CALLS_GOVERNED */
	bool has_arguments;
	const char *within; /* FILE:FUNCTION: only while it runs; or NULL */
	const struct calls_mark *marks;
	int n_marks;
};

/* calls_wanted - whether programs are patched at all. */
static inline bool calls_wanted(const struct calls_options *o)
{
	return o->n_patterns || o->n_marks;
}

/* The recording so far, for on_second. */
struct recorder_counts {
	uint64_t events, bytes, lost; /* of applications and of the kernel, written to files */
	uint64_t duration_ns;
};

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
	bool no_default_events;	 /* an empty list means none */
	bool leaves_environment; /* the command does not join: its environment is ours */
	const char *selector;	 /* conditions for all events: rules/selector.h; or NULL */
	const pid_t *pids;	 /* only these programs */
	int n_pids;
	bool ends_with_pids; /* recording ends when the last of `pids` has */
	/* How long an event may stay outside of the files; 0: a second.  Less is for a reader that
	 * follows, and costs a look at every open chunk as often. */
	uint64_t unwritten_ns;
	bool has_group; /* `group` may read the recording; else only its owner may */
	gid_t group;
	mode_t command_umask; /* of the command; the recorder's own keeps others out */
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
	struct calls_options calls;
	struct quota *quota; /* packets are written only while it has space; borrowed; NULL: no
			      * limit */
	bool limits_disk;    /* by trace_chunks.disk and .disk_free, or their defaults */
	struct disk_rule
		disk; /* made of trace_chunks.disk by the recorder; tenants get it from it */

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
	/*
	 * Called once a second while the collector records, in its process and thread: it must not
	 * wait.  Or NULL: then nothing is counted for it.
	 */
	void (*on_second)(void *arg, const struct recorder_counts *);
	void *on_second_arg;
	bool *kernel_records; /* receives, before on_ready, whether the kernel is recorded; or NULL */
	pid_t *command_pid;   /* receives the command's pid before on_ready is called; or NULL */
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
	int directory; /* of a tenant's part; `path` is /proc/self/fd/<directory>, above 3 */
	const struct recorder_clock *clock;   /* of the whole recording; NULL: our own */
	const struct handover *main_handover; /* of the main collector, valid until on_ready:
					     * collect/catch_up.h; NULL: this is the main
					     * collector */

	bool keep; /* a second process continues if this one is killed: collect/handover/handover.h */
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

#endif
