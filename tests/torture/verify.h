/* SPDX-License-Identifier: MIT */
/*
 * torture/verify.h - compares a trace with the ledger of its writers.
 *
 * The trace is decoded here from its bytes, with none of the project's readers, so that the test
 * is about the bytes in the files.  Differences are counted, and the first few are printed.
 */
#ifndef TORTURE_VERIFY_H
#define TORTURE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

struct verify_counts {
	uint64_t events, packets, streams, extended;	   /* in the trace */
	uint64_t recorded, refused, unknown, unknown_seen; /* in the ledger */
	uint64_t given_up;				   /* there as well: by ring_abandon */
	uint64_t missing;   /* flight recorder: recorded, overwritten since */
	uint64_t discarded; /* lost events, from the packets */
	uint64_t early_ns;  /* the longest time between an event's and its call's */
	uint64_t wrong;
};

/* The stated error of a coarse pool's times, 10 ms, and a stall of a virtual CPU (collect/events.c). */
#define VERIFY_EARLY_NS 30000000u

/* Permitted differences from the ledger. */
struct verify_options {
	bool is_flight_recorder; /* events and whole packets may be missing */
	uint64_t early_ns; /* an event's time may be that long before the call that wrote it */
};

/* verify_trace - add the events of the trace at @path to @c.  @l may be NULL: then the events are
 * only checked to be complete and in order. */
void verify_trace(struct verify_counts *c, const char *path, const struct ledger *l,
		  struct verify_options o);

/* verify_wrong - count and print an error that the caller found. */
void verify_wrong(struct verify_counts *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* verify_remove - the trace at @path was only for this test. */
void verify_remove(const char *path);

#endif
