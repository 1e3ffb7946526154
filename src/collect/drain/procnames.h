/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/procnames.h - one stream with an event for each program that joins (its pid and
 * name), each trigger that fires, and each program that wrote impossible numbers.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_PROCNAMES_H
#define COLLECT_DRAIN_PROCNAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/text.h"
#include "collect/drain/bounds.h"
#include "ctf/write/public.h"

#define PROCNAMES_STREAM "state_0" /* its file */

struct procnames {
	struct text text;	   /* events not yet written */
	uint64_t begin_ns, end_ns; /* of these events */
	size_t forget_above_bytes; /* size above which names of dead processes are dropped */
	struct ctf_stream stream;
	bool is_open;
	uint64_t lost; /* reported so far */
};

/* procnames_describe - write the stream class and its event classes into the metadata. */
int procnames_describe(struct ctf_writer *sink, struct diag *d);
void procnames_close(struct procnames *n);

/*
 * procnames_add - process @pid, which sees itself as @vpid, joined.
 *
 * @at_ns: session time, not earlier than in the last call.
 */
void procnames_add(struct procnames *n, uint64_t at_ns, uint32_t vpid, pid_t pid,
		   const char *program);

/* A firing, recorded as event duet:trigger. */
struct procnames_firing {
	uint32_t number;
	uint32_t vpid, vtid; /* of the event that caused it; 0: none */
	uint64_t fired;	     /* number of firings including this one */
	uint64_t value;	     /* struct trigger_facts */
	const char *text;    /* the trigger's text; cut after 1023 bytes */
};
void procnames_fired(struct procnames *n, uint64_t at_ns, const struct procnames_firing *f);

/* procnames_impossible - @p, of user @uid, wrote impossible numbers: event duet:impossible. */
void procnames_impossible(struct procnames *n, uint64_t at_ns, uid_t uid,
			  const struct bounds_program *p, const struct bounds_kinds *found);

/*
 * procnames_add_all - copy the unwritten events of @other, none earlier than @from_ns.
 *
 * Earlier joins are dated @from_ns; earlier firings are omitted.
 */
void procnames_add_all(struct procnames *n, const struct procnames *other, uint64_t from_ns);

/* Whether enough is stored to make procnames_forget_dead worthwhile. */
bool procnames_many(const struct procnames *n);
/*
 * procnames_forget_dead - drop names of dead processes older than @oldest_ns, the time of the
 * oldest event in the pools, and all such names of live processes except the last.
 */
void procnames_forget_dead(struct procnames *n, uint64_t oldest_ns);

struct procnames_report {
	uint64_t lost; /* events in all, outside of any stream */
	uint64_t now_ns;
	bool is_last; /* of this trace: it is written although events do not fit on the disk */
};

/* procnames_write_nothing - an empty packet, so that a trace without events has a stream. */
int procnames_write_nothing(struct procnames *n, struct ctf_writer *sink, uint64_t now_ns,
			    struct diag *d);
/* procnames_write - write what is stored, and the report. */
int procnames_write(struct procnames *n, struct ctf_writer *sink, const struct procnames_report *r,
		    struct diag *d);

#endif
