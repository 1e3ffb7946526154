/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/pairing.h - system calls, each as one thing: beginning and end joined,
 * arguments and results in words.
 *
 * Given are, by the time of their ends: calls; what else a tracer of system calls tells, signals
 * and deaths; and places where events were lost.  A call that lasts can be given before its end
 * (pairing_report_lasting).  Nothing is joined over a loss: then the beginning is given as one
 * without an end, and the end as one without a beginning.
 */
#ifndef ANALYSIS_SYSCALLS_PAIRING_H
#define ANALYSIS_SYSCALLS_PAIRING_H

#include <sys/types.h>

#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"
#include "analysis/syscalls/fds.h"
#include "analysis/event_table.h"

enum pairing_kind {
	PAIRING_CALL,
	PAIRING_LASTING, /* a call that has not returned yet */
	PAIRING_SIGNAL,	 /* delivered */
	PAIRING_DEATH,	 /* of a thread */
	PAIRING_LOST,
};

struct pairing_item {
	enum pairing_kind kind;
	uint32_t thread;
	int64_t begin_ns, end_ns; /* a call's; else both are when it was */
	const char *name;	  /* of the call */
	const char *text;	  /* its arguments; what is told of a signal, of a death; "" */
	const char *early_text;	  /* of them those before the first that is known at the end only */
	const char *late_text;	  /* the others, and what is known of a call whose beginning was not
				     seen */
	const char *result_text;
	int64_t result; /* of a signal its number */
	bool has_begin; /* seen: else the duration is not known, nor are the arguments */
	bool has_end;	/* else no result; result_text is "?" if none could come, "" if it may have
			   been lost */
	bool was_given; /* as PAIRING_LASTING */
	uint64_t lost_events, lost_packets;
};

struct pairing_options {
	bool has_text; /* of arguments and results; else only what is counted */
	bool names_fds, names_pids;
	uint32_t string_bytes; /* of what is read and written, that are shown; 0: all there is */
	int64_t command; /* a thread that is not shown before it executes another program; -1: none
			  */
	struct pass_range range;
	const char *const
		*paths; /* only calls that name one of these, or a descriptor of one; none: all */
	int n_paths;
	const pid_t *pids; /* only these processes or threads; none: all */
	int n_pids;
	/* Whether calls of this name are wanted; asked once. */
	bool (*wants)(void *context, const char *call);
	/* Returns 0 to go on. */
	int (*give)(void *context, const struct pairing_item *item);
	void *context;
};

struct pairing_state {	       /* of a thread */
	struct call_made made; /* the call in progress */
	uint32_t class;	       /* of its beginning */
	int64_t begin_ns;
	uint32_t epoch;
	bool was_given;
	struct text text, early, late; /* the arguments; see pairing_item */
	struct call_parts parts;
	bool is_about;	     /* one of the paths that are wanted */
	uint32_t first_late; /* of them, in the order in which they are shown */
	int signal; /* the last delivered that has no handler; 0: none since the last call */
	bool exits; /* all of the process, that this thread stands for: */
	int status;
	int sent; /* to it: the last signal; 0: none */
	int64_t sent_code, sent_by;
};

struct pairing {
	struct pass run;
	struct pairing_options o;
	struct calls calls;
	struct call_plan *call_plans; /* by class */
	bool *is_wanted;	      /* by call */
	uint32_t n_classes, n_calls;  /* that they have room for */
	struct event_table *plans;    /* by class */
	struct pairing_state *states; /* by thread */
	uint32_t n_states;
	struct fds fds;
	struct text result;
	struct call_memory memory[KERNEL_CAPTURES_MAX]; /* what the arguments being told point to */
	int n_memory;
	uint64_t n_late_texts; /* that were not in memory at their call's beginning */
	bool is_hiding;	       /* the command has not begun */
	bool is_over;	       /* `give` said so */
};

int pairing_open(struct pairing *j, struct trace *t, const struct pairing_options *o,
		 struct diag *d);
void pairing_close(struct pairing *j);

/* pairing_read - what there is, up to where the trace ends for now.  After trace_refresh(),
 * pairing_update() and again. */
int pairing_read(struct pairing *j, struct diag *d);
int pairing_update(struct pairing *j, struct diag *d);
/* pairing_lacks - what the calls that are known so far are without. */
enum pairing_lack {
	PAIRING_LACKS_NOTHING,
	PAIRING_LACKS_MEMORY, /* what is read and written, structures */
	PAIRING_LACKS_PATHS,  /* these, and file names */
};
enum pairing_lack pairing_lacks(const struct pairing *j);
/* pairing_report_lasting - give the calls that began before @before_ns, once each. */
void pairing_report_lasting(struct pairing *j, int64_t before_ns);
/* pairing_end - give those that never returned. */
void pairing_end(struct pairing *j);

#endif
