/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/streams.h - the applications' half of a recording: one CTF trace, in it for each
 * channel a stream class, a drain and its files, and the programs' names.
 *
 * Channels that discard are drained while they are recorded; flight recorders are copied when
 * somebody asks, or at the end.
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
	struct pool *pool; /* lent */
	const char *name;  /* before the names of its files; "": none */
	uint64_t contexts;
};

struct streams_options {
	const char *path; /* of the CTF trace; made */
	const struct streams_channel *channels;
	uint32_t n_channels;	  /* 1..ABI_CHANNELS */
	uint64_t clock_offset_ns; /* from the Epoch to the clock's zero */
	bool resume; /* the pools were drained into another trace before: collect/resume.h,
			collect/chunks/rotate.h */
	uint64_t bytes_before,
		lost_before; /* in the traces before: bytes; what their streams_finish told */
};

/* streams_open - 0 or -errno. */
int streams_open(struct streams **s, const struct streams_options *o, struct diag *d);
void streams_close(struct streams *s);

/* streams_limit - packets are written only while @quota, lent, has room. */
void streams_limit(struct streams *s, struct quota *quota);

/* streams_process - note who joined, before it could record: @pid, which calls itself @vpid.
 * @at_ns: session time. */
void streams_process(struct streams *s, uint64_t at_ns, uint32_t vpid, pid_t pid,
		     const char *program);
/* streams_fired - note a firing, at @at_ns. */
void streams_fired(struct streams *s, uint64_t at_ns, const struct procnames_firing *f);
/* streams_names - note those that @other noted and has not written, as of @from_ns or later. */
void streams_names(struct streams *s, const struct streams *other, uint64_t from_ns);

/* streams_begin - begin a pass: see what is complete; with @partial also what open chunks hold so
 * far. Returns 0 or -errno. */
int streams_begin(struct streams *s, bool partial, struct diag *d);
/* streams_write - write it, until @until_ns of monotonic_ns: see drain_write.  Returns 1 if
 * there is more, 0 at the pass's end, or -errno.  A channel that fails does not keep the others
 * from their turn: @d tells of it also where 1 is returned. */
int streams_write(struct streams *s, uint64_t until_ns, struct diag *d);
/* streams_pass - both, to the end.  Returns 0 or -errno. */
int streams_pass(struct streams *s, bool partial, struct diag *d);
/* streams_poll_interval - after a pass: for how many milliseconds the pools may be left alone;
 * UINT32_MAX: all are flight recorders.  streams_expect - somebody may begin to write. */
uint32_t streams_poll_interval(struct streams *s, uint64_t now_ns);
void streams_expect(struct streams *s, uint64_t now_ns);

/*
 * streams_complete_ns - up to when a pass with @partial that begins now will have written
 * everything, if it succeeds and leaves nothing unwritten; at most @now_ns.  0 if all channels are
 * flight recorders: what these hold comes at the end.
 *
 * Who writes at this moment may stamp his event with any time since the last one in his chunk.  Who
 * takes more than STREAMS_SLOW_NS for that is not waited for: his event comes late.
 */
#define STREAMS_SLOW_NS 500000000u
uint64_t streams_complete_ns(const struct streams *s, uint64_t now_ns);
/* streams_flush - write all that was committed before the call, but for flight recorders.  0 or
 * -errno. */
int streams_flush(struct streams *s, struct diag *d);
/* streams_reclaim - in flight recorders, now and then: see drain_reclaim. */
void streams_reclaim(struct streams *s);

/* streams_copy, streams_each_copied, streams_write_copied, streams_is_overwrite: see drain.h; of
 * all flight recorders. */
int streams_copy(struct streams *s, const struct drain_limits *l, uint64_t *cut_ns, struct diag *d);
void streams_each_copied(const struct streams *s,
			 void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			 void *arg);
int streams_write_copied(struct streams *s, uint64_t from_ns, uint64_t about_bytes, struct diag *d);
int streams_is_overwrite(struct streams *s, struct diag *d);

/* streams_finish - last packets, for losses nothing else has told; @lost_outside are events that
 * never found a pool.  Of the two halves the first may be followed by more events, the second not:
 * its packets are of now. */
int streams_finish(struct streams *s, uint64_t lost_outside, struct diag *d);
int streams_finish_names(struct streams *s, uint64_t lost_outside, struct diag *d);
int streams_finish_cpus(struct streams *s, struct diag *d);

/* streams_reported - @s is finished, and to be closed; its number is @number: what it tells as lost
 * @next, which goes on, does not tell again: neither of CPUs nor, by *@told (ABI_REPORTED), of what
 * happened outside. */
void streams_reported(struct streams *s, struct streams *next, uint32_t number, uint64_t *reported);
/* Whether one of the channels is a flight recorder. */
bool streams_any_overwrite(const struct streams *s);

/* Bytes in the files so far; with those of the traces before. */
uint64_t streams_bytes_here(const struct streams *s);
uint64_t streams_bytes(const struct streams *s);
/* Bytes of events that the last pass, or streams_is_overwrite, found and failed to write. */
uint64_t streams_unwritten(const struct streams *s);
/* Events refused so far by the pool of channel @i. */
uint64_t streams_lost(const struct streams *s, uint32_t i);

#endif
