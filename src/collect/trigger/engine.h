/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/engine.h - the triggers of a session: the state of their conditions, and when one
 * fires.
 *
 * Callers pass in events (collect/trigger/scan.h), times and signals.  This file decides which
 * trigger fires and queues the firing for collect/trigger/actions.h.  It never waits and reads no
 * clock.
 *
 *   (1) a trigger fires once if its text says so, otherwise at most once in its `every`;
 *       suppressed firings are counted.  The last suppressed start or stop fires as soon as it
 *       may: dropping it would leave the session in the wrong state
 *   (2) events arrive in the order of their timestamps, as far as a scan can know it
 *   (3) memory is bounded: 32 triggers, each with 4096 open pairs or 100000 timestamps; 16 firings
 *       in progress, at most 4 of one trigger
 *
 * Texts, counts, limits and the suppressed switch lie in memory that outlives a killed collector:
 * struct triggers_saved.
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
	TRIGGERS_FIRINGS = 16,	   /* in progress */
	TRIGGERS_FIRINGS_EACH = 4, /* in progress, of one trigger */
	TRIGGER_ERROR_BYTES = 256,
};

/* The facts about one firing. */
struct trigger_facts {
	uint64_t time_ns;    /* session time: of the event, or when the condition was seen */
	uint64_t value;	     /* events within the time; nanoseconds since the first event; events
			      * lost; or 0 */
	uint32_t vpid, vtid; /* of the event; 0: none */
	char program[ABI_PROCNAME_BYTES]; /* name of the event's thread */
	const char *event;		  /* event name, borrowed from the scan; NULL: none */
};

/* An event that a trigger waits for. */
struct trigger_hit {
	int slot;	 /* of the trigger */
	uint32_t number; /* its number; the slot may belong to another trigger by now */
	bool is_second;
	uint64_t key; /* of a pair */
	struct trigger_facts facts;
};

struct triggers_saved {
	uint32_t next_number;
	bool is_paused; /* by the action stop, or until the first start */
	struct {
		uint32_t number; /* 0: free */
		uint64_t fired, held_back, forgotten;
		uint64_t not_before_ns; /* earliest next firing; session time */
		uint64_t last_ns;	/* last firing; session time */
		char text[TRIGGER_TEXT_BYTES];
		char error[TRIGGER_ERROR_BYTES]; /* the last problem; "": none */
	} at[TRIGGERS_MAX];
	struct {
		uint32_t number; /* of a trigger; 0: none.  Written last, cleared first */
		uint64_t time_ns, value;
		uint32_t vpid, vtid;
	} deferred; /* the last start or stop, if it was held back */
};

struct trigger_pair; /* A first event that waits for its second. */

struct armed {
	struct trigger trigger;
	struct filter_code code; /* of the filter */
	uint64_t *times;	 /* rate: timestamps of the last events, a ring of count + 1 */
	uint64_t n_times;
	struct trigger_pair *pairs;
	uint64_t overdue_ns; /* no open pair is overdue before this time */
	struct {
		uint64_t time_ns, lost;
	} samples[32]; /* lost: a ring of samples of the lost count */
	uint32_t n_samples;
	bool did_exist; /* whether the file existed */
};

/* A trigger that fired and whose actions run one after the other. */
struct firing {
	int slot;
	uint32_t number;
	uint64_t fired; /* the trigger's number of firings, including this one */
	int next;	/* index of the next action */
	bool is_noted;	/* it is in the recording */
	bool waits;	/* for the snapshot that it began */
	char *snapshot; /* path of that snapshot, owned; NULL: none */
	struct trigger_facts facts;
};

struct triggers {
	struct triggers_saved *saved;	/* borrowed */
	struct armed *at[TRIGGERS_MAX]; /* NULL: free */
	uint32_t generation;		/* counts changes of the set of triggers */
	int n, n_events, n_kernel;	/* all; with application events; with kernel events */
	uint64_t programs_scanned_ns,
		kernel_scanned_ns; /* all events recorded before these times were
				    * scanned */
	struct firing firings[TRIGGERS_FIRINGS];
	int n_firings;
	const char *deferred_event; /* belongs to saved->deferred; NULL: none, or it came from an
				     * earlier collector */
	char deferred_program[ABI_PROCNAME_BYTES];
};

/* triggers_open - arm the triggers in @saved.  0 or -errno. */
int triggers_open(struct triggers *t, struct triggers_saved *saved, struct diag *d);
void triggers_close(struct triggers *t);

/*
 * triggers_add - arm one more trigger.  Returns its number, 1..INT_MAX, or -errno.
 *
 * @number: the number it has in other collectors of the session; 0: the next free one.  -EEXIST if
 *   that number belongs to another trigger.  If the same trigger exists already it stays.
 */
int triggers_add(struct triggers *t, const char *text, uint32_t number, struct diag *d);
/* triggers_remove - -ENOENT if @number does not exist.  Firings in progress are dropped. */
int triggers_remove(struct triggers *t, uint32_t number);
/*
 * triggers_copy - copy the text in @slot of another collector's triggers, which may change
 * meanwhile.
 *
 * Returns its number, or 0 if the slot is free or just changed.
 */
uint32_t triggers_copy(const struct triggers_saved *of, int slot, char text[TRIGGER_TEXT_BYTES]);
/* The slot of trigger @number, or -1. */
int triggers_find(const struct triggers *t, uint32_t number);

/* triggers_note - store the last problem of trigger @number, if it exists. */
void triggers_note(const struct triggers *t, uint32_t number, const char *why);

/*
 * triggers_event - process one event; call it in the order of timestamps.  @now_ns: session time.
 */
void triggers_event(struct triggers *t, const struct trigger_hit *hit, uint64_t now_ns);
/* triggers_scanned_ns - all events before this time that the trigger waits for were scanned. */
uint64_t triggers_scanned_ns(const struct triggers *t, int slot);
/* triggers_time - all scanned events were delivered: check for overdue second events. */
void triggers_time(struct triggers *t, uint64_t now_ns);
/* triggers_poll - check files and losses; @lost: events lost in all. */
void triggers_poll(struct triggers *t, uint64_t lost, uint64_t now_ns);
void triggers_signal(struct triggers *t, int signal, uint64_t now_ns);

/* triggers_done - remove firing @i from the queue. */
void triggers_done(struct triggers *t, int i);

#endif
