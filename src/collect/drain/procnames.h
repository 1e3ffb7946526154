/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/procnames.h - which program a pid was, and when a trigger fired: a stream of its
 * own in the trace, one event for each program that joins and for each firing.
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
#include "ctf/write/writer.h"

#define PROCNAMES_STREAM "state_0" /* its file */

struct procnames {
	struct text text;	   /* events not yet written */
	uint64_t begin_ns, end_ns; /* of them */
	size_t enough;		   /* bytes from which on the dead are forgotten */
	struct ctf_stream stream;
	bool is_open;
	uint64_t lost; /* told so far */
};

/* procnames_describe - the stream's class and its event's, into the metadata. */
int procnames_describe(struct ctf_writer *sink, struct diag *d);
void procnames_close(struct procnames *n);

/* procnames_add - process @pid, which calls itself @vpid.  @at_ns: session time, not earlier than
 * at the last call. */
void procnames_add(struct procnames *n, uint64_t at_ns, uint32_t vpid, pid_t pid,
		   const char *program);

/* A trigger that fired, as it is told in the trace: an event duet:trigger. */
struct procnames_firing {
	uint32_t number;
	uint32_t vpid, vtid; /* of the event that did it; 0: none did */
	uint64_t fired;	     /* how often, with this one */
	uint64_t value;	     /* struct trigger_facts */
	const char *text;    /* what it says; what is beyond 1023 bytes is cut */
};
void procnames_fired(struct procnames *n, uint64_t at_ns, const struct procnames_firing *f);

/* procnames_add_all - those that @other noted and has not written; none earlier than @from_ns: who
 * joined before is told as of then, what fired before is not. */
void procnames_add_all(struct procnames *n, const struct procnames *other, uint64_t from_ns);

/* Whether so many are noted that it is worth looking for the dead. */
bool procnames_many(const struct procnames *n);
/* procnames_forget_dead - those of the dead that joined before @oldest_ns, from when on there are
 * events, and of the living all names before that but the last. */
void procnames_forget_dead(struct procnames *n, uint64_t oldest_ns);

/* procnames_write - what was noted, and that @lost events in all were lost outside of any stream.
 */
int procnames_write(struct procnames *n, struct ctf_writer *sink, uint64_t lost, uint64_t now_ns,
		    struct diag *d);

#endif
