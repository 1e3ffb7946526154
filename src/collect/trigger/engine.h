/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/engine.h - the triggers of a session: what they have seen, and when one fires.
 *
 * Told of events that matter (collect/trigger/scan.h), of time and of signals, it decides; what is
 *to be done lies in a queue, for collect/trigger/actions.h.  Nothing here waits, and no clock is
 *read:
 *
 *   (1) a trigger fires once if it says so, and else at most once in its `every`; what is held back
 *is counted.  The last start or stop is made up for as soon as it may fire: were it dropped, the
 *session would stay in the wrong state (2) events are told in the order of their times, as far as a
 *scan can know it (3) memory is bounded: 32 triggers, each with 4096 open pairs or 100000 times; 16
 *firings on their way, 4 of one trigger
 *
 * Texts, counts, limits and the switch that is held back lie in memory that outlives a killed
 *collector: struct triggers_saved.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_ENGINE_H
#define COLLECT_TRIGGER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/context.h"
#include "base/diag.h"
#include "collect/trigger/trigger.h"
#include "filter/compile.h"

enum {
	TRIGGERS_MAX = 32,
	TRIGGERS_FIRINGS = 16,	   /* on their way, */
	TRIGGERS_FIRINGS_EACH = 4, /* of one trigger */
	TRIGGER_ERROR_BYTES = 256,
};

/* What a trigger fires about. */
struct trigger_facts {
	uint64_t time_ns;    /* session time: of the event, or when it was seen */
	uint64_t value;	     /* events within the time; nanoseconds from A; events lost; 0 */
	uint32_t vpid, vtid; /* of the event; 0: none */
	char program[ABI_PROCNAME_BYTES]; /* its thread's name */
	const char *event;		  /* its name, lent by the scan; NULL: none */
};

/* An event that a trigger waits for. */
struct trigger_hit {
	int slot;	 /* of the trigger */
	uint32_t number; /* and its number: the slot may be another's meanwhile */
	bool is_second;
	uint64_t key; /* of a pair */
	struct trigger_facts facts;
};

struct triggers_saved {
	uint32_t next_number;
	bool is_paused; /* by the action stop, or waiting for a start */
	struct {
		uint32_t number; /* 0: free */
		uint64_t fired, held_back, forgotten;
		uint64_t not_before_ns; /* it may fire again */
		uint64_t last_ns;	/* it fired; session time */
		char text[TRIGGER_TEXT_BYTES];
		char error[TRIGGER_ERROR_BYTES]; /* what went wrong last; "": nothing did */
	} at[TRIGGERS_MAX];
	struct {
		uint32_t number; /* of a trigger; 0: none; last written, first cleared */
		uint64_t time_ns, value;
		uint32_t vpid, vtid;
	} owed; /* the last start or stop that was asked for, if it was held back */
};

struct trigger_pair; /* of an A that waits for its B */

struct armed {
	struct trigger trigger;
	struct filter_code code; /* of its filter */
	uint64_t *times;	 /* rate: of the last events, a ring of count + 1 */
	uint64_t n_times;
	struct trigger_pair *pairs;
	uint64_t late_ns; /* none of them is late before */
	struct {
		uint64_t time_ns, lost;
	} scans[32]; /* lost: a ring of what had been lost when */
	uint32_t n_scans;
	bool was_there; /* the file */
};

/* One that fires: its actions are done one after the other. */
struct firing {
	int slot;
	uint32_t number;
	uint64_t fired; /* how often, with this one */
	int next;	/* action */
	bool is_noted;	/* in the recording */
	bool waits;	/* for a snapshot that it has begun */
	char *snapshot; /* where that was written; freed with it; NULL: none */
	struct trigger_facts facts;
};

struct triggers {
	struct triggers_saved *handover; /* lent */
	struct armed *at[TRIGGERS_MAX];	 /* NULL: free */
	uint32_t generation;		 /* counts changes of what is waited for */
	int n, n_events, n_kernel;	 /* of those: about events of programs; of the kernel */
	uint64_t seen_programs_ns, seen_kernel_ns; /* what they recorded before was looked at */
	struct firing firings[TRIGGERS_FIRINGS];
	int n_firings;
	const char *owed_event; /* beside kept->owed; NULL: none, or it was another collector's */
	char owed_program[ABI_PROCNAME_BYTES];
};

/* triggers_open - those that @kept has, if any.  0 or -errno. */
int triggers_open(struct triggers *t, struct triggers_saved *handover, struct diag *d);
void triggers_close(struct triggers *t);

/* triggers_add - one more; its number, 1..INT_MAX, or -errno.  @number: that it is to have, as it
 * has it in other parts of the session; 0: the next.  -EEXIST if another one has it; the very same
 * one is there already, and stays. */
int triggers_add(struct triggers *t, const char *text, uint32_t number, struct diag *d);
/* triggers_remove - -ENOENT if there is none of that number.  What fires already goes on. */
int triggers_remove(struct triggers *t, uint32_t number);
/* triggers_copy - the text of the one in @slot of another session's, which may change meanwhile;
 * its number, or 0: there is none (any more). */
uint32_t triggers_copy(const struct triggers_saved *of, int slot, char text[TRIGGER_TEXT_BYTES]);
/* The slot of a number; -1: there is none. */
int triggers_find(const struct triggers *t, uint32_t number);

/* triggers_note - what went wrong with the trigger @number, if there is one. */
void triggers_note(const struct triggers *t, uint32_t number, const char *why);

/* triggers_event - an event, told in the order of their times.  @now_ns: session time. */
void triggers_event(struct triggers *t, const struct trigger_hit *hit, uint64_t now_ns);
/* triggers_seen_ns - all events before that the trigger waits for were looked at. */
uint64_t triggers_seen_ns(const struct triggers *t, int slot);
/* triggers_time - what was looked at was told: for events that never come. */
void triggers_time(struct triggers *t, uint64_t now_ns);
/* triggers_poll - now and then: for files, and @lost events in all. */
void triggers_poll(struct triggers *t, uint64_t lost, uint64_t now_ns);
void triggers_signal(struct triggers *t, int signal, uint64_t now_ns);

/* triggers_done - the firing @i is over. */
void triggers_done(struct triggers *t, int i);

#endif
