/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/diff.h - compares recordings of two sides, A and B: the differences, and whether they
 * are more than that of two runs of the same program.
 *
 * A row is a system call, a function, a program or an event.  Each recording gives it a median
 * duration and an amount: number of calls or events, or CPU time.  Both are tested between the
 * recordings (statistics.h).  With permutations the lower quartile of durations is tested, too: other
 * load makes calls slower, mostly the slower half, so the quartile differs less between runs.  It
 * correlates with the median, so maxT needs little more evidence for two tests than for one.
 *
 *   (1) Amounts are those of whole recordings if each is of a command; else they are per second.
 *   (2) Entry and exit of a system call are rows only if the recordings have no pairs of them: their
 *       numbers are those of the call.
 *   (3) The state dump is no row: it is the machine's state, not the program's work.
 *   (4) A row is called changed only if the values that are shown differ in the tested direction.
 */
#ifndef ANALYSIS_DIFF_DIFF_H
#define ANALYSIS_DIFF_DIFF_H

#include "analysis/diff/statistics.h"
#include "analysis/index.h"
#include "analysis/pass.h"
#include "analysis/samples.h"

enum { DIFF_SLICES = 32 };

enum diff_kind { DIFF_EVENT, DIFF_CALL, DIFF_CPU, DIFF_PAIR, DIFF_FUNCTION, DIFF_KINDS };

struct diff_run {	     /* a row's numbers of one recording */
	uint64_t n;	     /* events; calls, functions, pairs; CPU: switches to it */
	uint64_t ns;	     /* CPU: its time; functions: time in themselves */
	uint64_t total_ns;   /* calls, pairs, functions */
	uint64_t median_ns;  /* as total_ns */
	uint64_t quarter_ns; /* the lower quartile */
	double time_error;   /* of the median's logarithm; < 0: not known */
	double rate_error;   /* of the amount's logarithm, from slices */
};

/* A row's numbers of one side: the median over its recordings. */
struct diff_side {
	double n, ns, total_ns, median_ns, quarter_ns;
	double amount; /* that is tested: n, or ns of DIFF_CPU; per second if (1) */
};

/* After diff_end the result of DIFF_TIME is that of the clearer of both tests of durations. */
enum { DIFF_TIME, DIFF_AMOUNT, DIFF_QUARTER, DIFF_TESTS };

struct diff_row {
	enum diff_kind kind;
	char *name;
	struct diff_run *runs;
	struct samples time[2]; /* of all recordings of a side */
	struct diff_side side[2];
	struct diff_series tests[DIFF_TESTS];
	double *logarithms; /* DIFF_TESTS times the number of recordings */
	bool is_of_call;    /* (2): not shown */
	bool is_changed[DIFF_TESTS];
	double change; /* the sort key of rows: the change of time or number */
	/* The recording that is being read. */
	struct samples now, *slices;
	uint64_t of_slice[DIFF_SLICES];
};

struct diff_recording { /* totals */
	int64_t first_ns, last_ns;
	uint64_t n_events, lost_events, lost_packets, n_damages;
	bool is_of_command;
};

/* When the recordings of the sides began: all of one before all of the other, or mixed. */
enum diff_order { DIFF_IN_TURN, DIFF_A_FIRST, DIFF_B_FIRST };

enum diff_amounts { DIFF_AS_RECORDED, DIFF_TOTALS, DIFF_RATES };

struct diff_options {
	struct diff_sides sides;
	const char *from, *to; /* patterns of a pair, or NULL */
	enum diff_amounts amounts;
};

struct diff {
	struct diff_options o;
	struct diff_recording *recordings; /* A's, then B's */
	uint32_t *by_time;		   /* numbers of A's in the order of time, then of B's */
	uint32_t n_recordings;		   /* read so far */
	struct diff_row *rows; /* after diff_end by kind; within a kind the most important first */
	uint32_t n_rows;
	struct index row_keys; /* key: kind, hash and size of the name */
	uint32_t n_row_rooms;
	enum diff_method method;
	uint32_t n_tested, n_changed; /* rows */
};

/* diff_begin - then diff_read of each recording, A's first, then diff_end.  All return 0 or -errno. */
int diff_begin(struct diff *d, const struct diff_options *o);
int diff_read(struct diff *d, struct trace *t, struct diag *diag);
int diff_end(struct diff *d);
void diff_fini(struct diff *d);

/* diff_order_of - after all were read. */
enum diff_order diff_order_of(const struct diff *d);

/* diff_row_of - find or make a row.  NULL: no memory. */
struct diff_row *diff_row_of(struct diff *d, enum diff_kind kind, const char *name, size_t size);

#endif
