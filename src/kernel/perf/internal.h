/* SPDX-License-Identifier: MIT */
/* kernel/perf/internal.h - what profile.c, profile_write.c, profile_overwrite.c and profile_own.c
 * share, and nobody else sees. */
#ifndef KERNEL_PERF_INTERNAL_H
#define KERNEL_PERF_INTERNAL_H

#include "clock/clock.h"
#include "clock/track.h"
#include "kernel/convert/page.h"
#include "kernel/threads/pids.h"
#include "kernel/perf/profile.h"

enum {
	CLOCK_RING = 256 << 10, /* bytes, for samples of the clock alone */
	RAW_MAX = 8192,		/* bytes of a tracepoint's record: perf has no more */
	BODY_SIZE = 65536,
	EVENT_MAX = KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + RAW_MAX + 4 + 2 * 8 +
		    KERNEL_SAMPLED_MAX * 8 + 2 * 2 + KERNEL_PERF_FRAMES_MAX * 8,
	/* Younger samples wait, unless a promise was given: a fork on another CPU is to be visible
	   first. */
	SETTLING_NS = 1000000,
	GAP_NS = 1 << 30, /* events further apart share no packet: they carry 32 bits of time */
	PROFILE_OWN_EVENTS = 4,
};

/* Of a ring, in memory that a successor has. */
struct profile_shared_ring {
	uint64_t stamped_at; /* in a flight recorder: samples before have marks */
	uint64_t unwritten;  /* events given back to perf that may be neither in a file nor counted
				yet .. */
	uint64_t unwritten_at;	     /* .. if the ring is given back so far */
	struct kernel_losses losses; /* `here` and `told` */
};

struct profile_shared {
	struct clock_track clock; /* perf's, as the session's */
	struct profile_shared_ring kept[];
};

struct profile_ring {
	struct kernel_perf_ring perf;
	struct profile_shared_ring *kept; /* among those shared */
	bool is_copy;			  /* of a snapshot: nothing is given back */
	uint64_t *marks;		  /* of its samples, by where they begin; shared, too */
	uint64_t stamped_ns;		  /* of the last one marked */
	uint64_t lost;			  /* samples, of what is not given back yet */
	uint64_t lost_before;		  /* in the traces before */
	uint64_t last_ns;		  /* end of what was written */
	bool has_stream;
	struct ctf_stream stream;
};

struct profile_source {
	char name[KERNEL_NAME_MAX]; /* of the event; "": a tracepoint, its record says which, or
				       only counted */
	bool is_counter;
	uint64_t count; /* a counter's: what each sample stands for */
	uint16_t other; /* where a tracepoint's record has a thread it is about, besides the one
			   that runs; 0: nowhere */
	uint16_t id;	/* of the event, in the trace being written */
	bool is_described;
	struct perf_event_attr attr;
	uint32_t extras;
};

struct kernel_profile {
	bool whole_machine;		      /* all that is in the rings is wanted */
	bool is_own;			      /* threads are attached one by one: profile_own.c */
	bool has_switches;		      /* then: when they run */
	uint16_t own_ids[PROFILE_OWN_EVENTS]; /* of those events, in the trace being written */
	bool own_are_described;
	uint64_t *marks; /* profile_overwrite.c: of all rings; NULL: it is no flight recorder */
	size_t marks_bytes;
	pid_t owner; /* which process has mapped */
	struct pids followed, threads;
	void (*on_event)(void *arg, pid_t pid, uint64_t at_ns);
	void (*mapped)(void *arg, const struct kernel_mapped *m);
	void *on_arg;
	struct pids seen;
	struct profile_shared *shared;
	struct clock_line line;
	struct profile_source *sources; /* by the number of perf's event, less 1 */
	int n_sources;
	uint8_t body[BODY_SIZE];
	struct kernel_packet packet;				/* gathers in body */
	_Alignas(8) uint8_t record[KERNEL_PERF_RECORD_MAX + 1]; /* one, in a piece */
	int n_rings;
	struct profile_ring rings[];
};

/* A sample and what it is of. */
struct profile_taken {
	const struct kernel_perf_sample *sample;
	struct profile_source *source;
	struct kernel_perf_parts parts;
	bool is_shared; /* it may have another recorder's time */
};

/* profile_take_apart - false: it is not understood. */
bool profile_take_apart(struct kernel_profile *p, const struct profile_ring *r,
			const struct kernel_perf_sample *s, struct profile_taken *t);
/* profile_is_young - it waits for the next time: it may depend on what another CPU is about to
 * tell. */
bool profile_is_young(const struct profile_ring *r, const struct kernel_perf_sample *s,
		      uint64_t until_ns);
/* profile_is_wanted - by whose it is. */
bool profile_is_wanted(const struct kernel_profile *p, const struct profile_taken *t);
/* profile_meet - its time, by the session's clock; whose it is, is told of if nobody has seen him
 * yet. */
uint64_t profile_meet(struct kernel_profile *p, const struct profile_taken *t,
		      const struct kernel_drain *k);
/* profile_learn - what a record that is no sample tells of a process. */
void profile_learn(struct kernel_profile *p, const struct perf_event_header *h);
/* profile_prepare - before rings are read: they are mapped, forks are known.  *@until_ns: samples
 * as old as that are to be had, by perf's clock; @promised_ns: for certain, by the session's, or 0.
 * 0 or -errno. */
int profile_prepare(struct kernel_profile *p, const struct kernel_drain *k, uint64_t promised_ns,
		    uint64_t *until_ns, struct diag *d);
/* profile_skip - what is in the ring from @at on cannot be told apart: counted, and given back with
 * all before. */
void profile_skip(struct profile_ring *r, uint64_t end, struct kernel_drain *k);

/* profile_drain_kept - the end of a flight recorder. */
int profile_drain_kept(struct kernel_profile *p, struct kernel_drain *k, struct diag *d);

/* profile_give_back - perf may write over what lies before perf.at; @n events of it are in no file
 * yet. */
void profile_give_back(struct profile_ring *r, uint64_t n);

/* profile_open_stream - if it is not open. */
int profile_open_stream(struct profile_ring *r, struct kernel_drain *k, struct diag *d);
/* profile_write_sample - behind what the packet has; profile_flush - write the packet, if there is
 * anything in it or lost. */
int profile_write_sample(struct kernel_profile *p, struct profile_ring *r,
			 struct profile_source *source, const struct kernel_perf_sample *s,
			 const struct kernel_perf_parts *parts, uint64_t ns, struct kernel_drain *k,
			 struct diag *d);
int profile_flush(struct kernel_profile *p, struct profile_ring *r, struct kernel_drain *k,
		  struct diag *d);
/* profile_begin_event - make room for an event at *@ns, which is made not to lie before the last
 * one.  Where it goes. */
uint8_t *profile_begin_event(struct kernel_profile *p, struct profile_ring *r, uint64_t *ns,
			     struct kernel_drain *k, int *err, struct diag *d);
/* profile_end_event - it ends at @to.  Its contexts are put in. */
void profile_end_event(struct kernel_profile *p, struct profile_ring *r, uint8_t *to, uint64_t ns,
		       struct kernel_drain *k);

/* profile_try_own - whether threads of our own can be counted so.  0 or -errno. */
int profile_try_own(const struct perf_event_attr *a, uint32_t extras);
/* profile_take_own - what perf tells of threads that are attached: runs, stops, names, ends. */
int profile_take_own(struct kernel_profile *p, struct profile_ring *r,
		     const struct perf_event_header *h, struct kernel_drain *k, struct diag *d);

#endif
