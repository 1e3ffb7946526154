/* SPDX-License-Identifier: MIT */
/* kernel/perf/internal.h - the structures and functions that profile.c, profile_write.c,
 * profile_overwrite.c and profile_own.c share. */
#ifndef KERNEL_PERF_INTERNAL_H
#define KERNEL_PERF_INTERNAL_H

#include "clock/clock.h"
#include "clock/track.h"
#include "kernel/convert/page.h"
#include "kernel/threads/pids.h"
#include "kernel/perf/profile.h"

enum {
	CLOCK_RING = 256 << 10, /* bytes, for samples of the clock alone */
	RAW_MAX = 8192,		/* bytes of a tracepoint's record, perf's limit */
	BODY_SIZE = 65536,
	EVENT_MAX = KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + RAW_MAX + 4 + 2 * 8 +
		    KERNEL_SAMPLED_MAX * 8 + 2 * 2 + KERNEL_PERF_FRAMES_MAX * 8,
	/* Younger samples wait, unless the caller promised a time: a fork on another CPU must
	 * become visible first. */
	YOUNG_NS = 1000000,
	GAP_NS = 1 << 30, /* events further apart share no packet: they carry 32 bits of time */
	PROFILE_OWN_EVENTS = 4,
};

/* Part of a ring's state in memory that a successor inherits. */
struct profile_shared_ring {
	uint64_t stamped_at;   /* in a flight recorder: samples before it have marks */
	uint64_t unwritten;    /* events given back to perf that may be neither written nor counted
			      * yet .. */
	uint64_t unwritten_at; /* .. if the ring is given back to this position */
	struct kernel_losses losses; /* its `here` and `reported` */
};

struct profile_shared {
	struct clock_track clock; /* perf's clock converted to the session's */
	struct profile_shared_ring shared_state[];
};

struct profile_ring {
	struct kernel_perf_ring perf;
	struct profile_shared_ring *shared_state; /* in the shared memory */
	bool is_copy;				  /* for a snapshot: nothing is given back */
	uint64_t *marks;      /* of its samples, indexed by position; shared, too */
	uint64_t stamped_ns;  /* of the last one marked */
	uint64_t lost;	      /* samples in data that is not given back yet */
	uint64_t lost_before; /* in earlier traces */
	uint64_t last_ns;     /* end of the written data */
	bool has_stream;
	struct ctf_stream stream;
};

struct profile_source {
	char name[KERNEL_NAME_MAX]; /* of the event; "": a tracepoint, named by its record, or
				     * only counted */
	bool is_counter;
	uint64_t count; /* for a counter: the events one sample represents */
	uint16_t other; /* offset in a tracepoint's record of a second thread it is about; 0:
			 * none */
	uint16_t id;	/* of the event, in the trace being written */
	bool is_described;
	struct perf_event_attr attr;
	uint32_t extras;
};

struct kernel_profile {
	bool whole_machine;		      /* all samples are wanted */
	bool has_instance;		      /* which records all but samples */
	bool is_own;			      /* threads are attached one by one: profile_own.c */
	bool has_switches;		      /* then: record when they run */
	uint16_t own_ids[PROFILE_OWN_EVENTS]; /* of those events, in the trace being written */
	bool own_are_described;
	uint64_t *marks; /* profile_overwrite.c: for all rings; NULL: not a flight recorder */
	size_t marks_bytes;
	pid_t owner; /* the process that made the mappings */
	struct pids followed, threads;
	void (*on_sampled)(void *arg, pid_t pid, uint64_t at_ns);
	void (*mapped)(void *arg, const struct kernel_mapped *m);
	void *callback_arg;
	struct pids reported_pids;
	struct profile_shared *shared;
	struct clock_line line;
	struct profile_source *sources; /* indexed by the number of perf's event minus 1 */
	int n_sources;
	uint8_t body[BODY_SIZE];
	struct kernel_packet packet;				/* gathers in body */
	_Alignas(8) uint8_t record[KERNEL_PERF_RECORD_MAX + 1]; /* one record, in one piece */
	int n_rings;
	struct profile_ring rings[];
};

/* A sample and its parts. */
struct profile_taken {
	const struct kernel_perf_sample *sample;
	struct profile_source *source;
	struct kernel_perf_parts parts;
	bool is_shared; /* its time may be another recorder's */
};

/* profile_take_apart - parse a sample. False: it is not understood. */
bool profile_take_apart(struct kernel_profile *p, const struct profile_ring *r,
			const struct kernel_perf_sample *s, struct profile_taken *t);
/* profile_is_young - whether the sample must wait for the next drain: it may depend on a fork that
 * another CPU is about to report. */
bool profile_is_young(const struct profile_ring *r, const struct kernel_perf_sample *s,
		      uint64_t until_ns);
/* profile_is_wanted - whether its process or thread is recorded. */
bool profile_is_wanted(const struct kernel_profile *p, const struct profile_taken *t);
/* profile_sample_ns - the sample's session time. Reports its process if that has not been reported
 * yet. */
uint64_t profile_sample_ns(struct kernel_profile *p, const struct profile_taken *t,
			   const struct kernel_drain *k);
/* profile_apply - apply a record about a process that is no sample. */
void profile_apply(struct kernel_profile *p, const struct perf_event_header *h);
/* profile_prepare - before reading: map the rings and apply forks.
 * @until_ns: becomes the time, by perf's clock; samples before it can be read.
 * @promised_ns: session time; samples before it must be read. Or 0.
 * 0 or -errno. */
int profile_prepare(struct kernel_profile *p, const struct kernel_drain *k, uint64_t promised_ns,
		    uint64_t *until_ns, struct diag *d);
/* profile_skip - the ring's data from its position on cannot be parsed: count a loss and give all
 * back. */
void profile_skip(struct profile_ring *r, uint64_t end, struct kernel_drain *k);

/* profile_drain_kept - the final drain of a flight recorder. */
int profile_drain_kept(struct kernel_profile *p, struct kernel_drain *k, struct diag *d);

/* profile_give_back - let perf overwrite the data before perf.at; @n events in it are in no file
 * yet. */
void profile_give_back(struct profile_ring *r, uint64_t n);

/* profile_open_stream - opens the stream unless it is open. */
int profile_open_stream(struct profile_ring *r, struct kernel_drain *k, struct diag *d);
/* profile_write_sample - append to the packet. profile_flush - write the packet, if it has events
 * or losses. */
int profile_write_sample(struct kernel_profile *p, struct profile_ring *r,
			 struct profile_source *source, const struct kernel_perf_sample *s,
			 const struct kernel_perf_parts *parts, uint64_t ns, struct kernel_drain *k,
			 struct diag *d);
int profile_flush(struct kernel_profile *p, struct profile_ring *r, struct kernel_drain *k,
		  struct diag *d);
/* profile_begin_event - make room for an event at *@ns, which is raised to the last event's time if
 * it is earlier. Returns its place. */
uint8_t *profile_begin_event(struct kernel_profile *p, struct profile_ring *r, uint64_t *ns,
			     struct kernel_drain *k, int *err, struct diag *d);
/* profile_end_event - complete an event that ends at @to: add its contexts. */
void profile_end_event(struct kernel_profile *p, struct profile_ring *r, uint8_t *to, uint64_t ns,
		       struct kernel_drain *k);

/* profile_try_own - whether the user's own threads can be sampled with @a. 0 or -errno. */
int profile_try_own(const struct perf_event_attr *a, uint32_t extras);
/* profile_take_own - convert perf's records about attached threads: runs, stops, names, ends. */
int profile_take_own(struct kernel_profile *p, struct profile_ring *r,
		     const struct perf_event_header *h, struct kernel_drain *k, struct diag *d);

#endif
