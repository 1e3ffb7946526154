/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/streams.h - the application data of a recording: one CTF trace with a stream class,
 * a drain and files for each channel, and the stream of program names.
 *
 * Channels that discard or block are drained while they are recorded.  Channels in overwrite mode
 * are copied on request and at the end.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_STREAMS_H
#define COLLECT_DRAIN_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "collect/drain/drain.h"
#include "collect/drain/procnames.h"

struct streams;

struct streams_channel {
	struct pool *pool; /* borrowed */
	const char *name;  /* prefix of its file names; "": none */
	uint64_t contexts;
};

struct streams_options {
	const char *path; /* of the CTF trace; created */
	const struct streams_channel *channels;
	uint32_t n_channels;	  /* 1..ABI_CHANNELS */
	uint64_t clock_offset_ns; /* from the Epoch to the clock's zero */
	uint64_t begin_ns;	  /* nothing is older; 0: not known */
	bool is_of_command;	  /* begins and ends with a command */
	bool resume; /* the pools were drained into another trace before: collect/resume.h,
		      * collect/rotate.h */
	uint64_t bytes_before,
		lost_before;	   /* of earlier traces: bytes; losses that they reported */
	struct ctf_ledger *ledger; /* enters each packet; lent; NULL: none */
	struct bounds *bounds;	   /* of the pools; borrowed; NULL: nothing is bounded */
};

/* streams_open - 0 or -errno. */
int streams_open(struct streams **s, const struct streams_options *o, struct diag *d);
void streams_close(struct streams *s);

/* streams_limit - write packets only while both, borrowed, have space.  NULL: no limit. */
void streams_limit(struct streams *s, struct quota *quota, struct disk_budget *disk);

/*
 * streams_process - record the name of a program that joins, before it can record: process @pid,
 * which sees itself as @vpid.
 *
 * @at_ns: session time.
 */
void streams_process(struct streams *s, uint64_t at_ns, uint32_t vpid, pid_t pid,
		     const char *program);
/* streams_fired - record a trigger's firing at @at_ns. */
void streams_fired(struct streams *s, uint64_t at_ns, const struct procnames_firing *f);
/* streams_impossible - record the findings of bounds_next(): event duet:impossible, at @at_ns. */
void streams_impossible(struct streams *s, uint64_t at_ns);
/* streams_names - copy the names that @other has not written, dated @from_ns or later. */
void streams_names(struct streams *s, const struct streams *other, uint64_t from_ns);

/*
 * streams_scan - begin a pass: list complete chunks; with @partial also the data of open ones.
 *
 * Returns 0 or -errno.
 */
int streams_scan(struct streams *s, bool partial, struct diag *d);
/*
 * streams_write - write what the scan listed, until @until_ns of monotonic_ns: see
 * drain_write.
 *
 * Returns 1 if there is more, 0 at the end of the pass, or -errno.  A channel that fails does not
 * stop the others: @d has the error also if 1 is returned.
 */
int streams_write(struct streams *s, uint64_t until_ns, struct diag *d);
/* streams_pass - streams_scan and streams_write to the end.  Returns 0 or -errno. */
int streams_pass(struct streams *s, bool partial, struct diag *d);
/*
 * streams_poll_interval - after a pass: milliseconds until the next one; UINT32_MAX if all channels
 * are in overwrite mode.
 *
 * streams_expect - a program joined that may begin to write.
 *
 * streams_look - drain_look() of all channels, within a pass; streams_scan() includes it.
 */
uint32_t streams_poll_interval(struct streams *s, uint64_t now_ns);
void streams_expect(struct streams *s, uint64_t now_ns);
void streams_look(struct streams *s);
/*
 * streams_coarse_error_ns - how early the times of a coarse channel are at most, if the collector looks
 * in time.
 *
 * streams_coarse_worst_ns - the longest time between two looks at channel @i in which events were
 * written, in this session.
 */
uint64_t streams_coarse_error_ns(void);
uint64_t streams_coarse_worst_ns(const struct streams *s, uint32_t i);

/*
 * streams_complete_ns - the time up to which a pass with @partial that begins now will have written
 * everything, if it succeeds and leaves nothing unwritten.  At most @now_ns; 0 if all channels are
 * in overwrite mode, which are written at the end.
 *
 * A writer in the middle of an event may give it any timestamp since the last one in its chunk.  A
 * writer that takes longer than STREAMS_SLOW_NS is not waited for: its event arrives late.
 */
#define STREAMS_SLOW_NS 500000000u
uint64_t streams_complete_ns(const struct streams *s, uint64_t now_ns);
/*
 * streams_flush - write everything committed before the call, except in overwrite mode.  0 or
 * -errno.
 */
int streams_flush(struct streams *s, struct diag *d);
/* streams_reclaim - for channels in overwrite mode, regularly: see drain_reclaim. */
void streams_reclaim(struct streams *s);

/*
 * streams_copy, streams_each_copied, streams_write_copied - as in drain.h, for all channels in
 * overwrite mode.
 *
 * streams_write_overwrite - copy and write all of them.
 */
int streams_copy(struct streams *s, const struct drain_limits *l, uint64_t *cut_ns, struct diag *d);
void streams_each_copied(const struct streams *s,
			 void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			 void *arg);
int streams_write_copied(struct streams *s, uint64_t from_ns, uint64_t about_bytes, struct diag *d);
int streams_write_overwrite(struct streams *s, struct diag *d);

/*
 * streams_end - let all streams end now, for readers of the time that they have in common.  Nothing
 * is written afterwards.
 *
 * streams_finish - write last packets for losses not reported yet; @lost_outside: events that never
 * reached a pool.  Then streams_end.
 *
 * streams_finish_cpus may be followed by more events.  streams_finish_names may not: its packets
 * are dated now.
 */
void streams_end(struct streams *s);
int streams_finish(struct streams *s, uint64_t lost_outside, struct diag *d);
int streams_finish_names(struct streams *s, uint64_t lost_outside, struct diag *d);
int streams_finish_cpus(struct streams *s, struct diag *d);

/*
 * streams_reported - @s, trace @number, is finished and about to be closed.  The losses that it
 * reported are not reported again by its continuation @next: neither those of CPUs nor, by
 * *@reported (DRAIN_REPORTED), those outside of any stream.
 */
void streams_reported(struct streams *s, struct streams *next, uint32_t number, uint64_t *reported);
/* streams_refuse - write nothing more: @why, a constant.  Events stay in the pools. */
void streams_refuse(struct streams *s, const char *why);
/* Whether a channel is in overwrite mode. */
bool streams_any_overwrite(const struct streams *s);

/* Bytes in the files so far, including those of earlier traces. */
uint64_t streams_bytes(const struct streams *s);
/* Bytes that the last pass, or streams_write_overwrite, found and failed to write. */
uint64_t streams_unwritten(const struct streams *s);
/* streams_drop_rest - give that up: its events count as lost (drain_drop_rest). */
void streams_drop_rest(struct streams *s);
/* Events refused so far by the pool of channel @i. */
uint64_t streams_lost(const struct streams *s, uint32_t i);
/* The part of them that was larger than a sub-buffer. */
uint64_t streams_too_large(const struct streams *s, uint32_t i);
/* Events that had to wait for a chunk of channel @i. */
uint64_t streams_waited(const struct streams *s, uint32_t i);

#endif
