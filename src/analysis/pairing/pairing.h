/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing.h - each system call as one item: entry and exit joined, arguments and
 * results as text.
 *
 * Items come in the order of their ends: calls, signals, exits of threads, and losses. A long call
 * can be passed on before it returns (pairing_report_lasting). Nothing is joined over a loss: the
 * entry then becomes an item without an end, and the exit one without a beginning.
 */
#ifndef ANALYSIS_PAIRING_PAIRING_H
#define ANALYSIS_PAIRING_PAIRING_H

#include <sys/types.h>

#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"
#include "analysis/syscalls/fds.h"
#include "analysis/event_table.h"

enum pairing_kind {
	PAIRING_CALL,
	PAIRING_LASTING,    /* a call that has not returned yet */
	PAIRING_SIGNAL,	    /* delivered */
	PAIRING_DEATH,	    /* exit of a thread */
	PAIRING_SUPERSEDED, /* another thread of the process executes a program, and takes its
			     * place and number */
	PAIRING_LOST,
};

struct pairing_item {
	enum pairing_kind kind;
	uint32_t thread;
	int64_t begin_ns, end_ns; /* of a call; else both are the time of the event */
	const char *name;	  /* name of the call */
	const char *text;	  /* the arguments; the description of a signal or an exit; "" */
	const char *early_text;	  /* the arguments before the first that is known only at exit */
	const char *late_text;	  /* the other arguments, and memory of a call whose entry was
				   * not seen */
	const char *result_text;
	const char *dump;      /* the data that was read or written, in lines; "" */
	const char *last_call; /* of a signal or an exit: the call that the thread made last; "" */
	int64_t result;	       /* for a signal: its number */
	bool has_begin;	       /* the entry was seen; else duration and arguments are unknown */
	bool has_end;	/* else there is no result; result_text is "?" if the call cannot return,
			 * "" if its exit may be lost */
	bool was_given; /* as PAIRING_LASTING */
	bool is_left;	/* a call that executes another program, and the last item of its thread:
			   * see `leaves_at_exec` */
	int32_t becomes; /* a call that executes a program; it goes on under this number; 0: not so */
	uint32_t n_threads; /* those that live and whose items are passed on, this one included */
	uint64_t lost_events, lost_packets;
	/* The call stack in the program, innermost first; of calls, with `has_stacks`. */
	const uint64_t *stack;
	int n_stack;
	uint64_t clock; /* of the event with the stack, in units of the trace's clock */
};

enum { PAIRING_FRAMES_MAX = 128 };

struct pairing_options {
	bool has_stacks;
	bool has_text; /* arguments and results as text; else only counts */
	bool names_fds, names_pids;
	unsigned fd_kinds;     /* shown by names_fds: CALL_FD_*; 0: paths */
	uint32_t string_bytes; /* limit for buffers and texts; 0: show everything */
	int64_t command; /* a thread that is hidden until it executes another program; -1: none */
	bool is_alone;	 /* only the command's first thread, or the threads that are in `pids` */
	bool leaves_at_exec; /* a child's items end when it executes a program */
	uint32_t n_threads;  /* that live at the beginning; 0: they are counted as they appear */
	const char *cwd;     /* the working directory of the command; NULL: unknown */
	/* Whether data that is read or written by a descriptor is shown in full; NULL: never. */
	bool (*dumps)(void *context, int32_t fd, bool is_write);
	struct pass_range range;
	const char *const
		*paths; /* only calls with one of these paths, or with a descriptor of one; none:
			 * all */
	int n_paths;
	const pid_t *pids; /* only these processes or threads; none: all */
	int n_pids;
	/* Whether calls of this name are wanted; called once for each name. */
	bool (*wants)(void *context, const char *call);
	/* Receives an item. Returns 0 to continue. */
	int (*give)(void *context, const struct pairing_item *item);
	/* Whether a process that runs, and whose creation was not recorded, is in another pid
	 * namespace; NULL: unknown. */
	bool (*has_other_numbers)(void *context, pid_t pid);
	void *context;
};

enum { PAIRING_SIGINFO = 48 };

struct pairing_state {	       /* state of a thread */
	struct call_made made; /* the call in progress */
	uint32_t class;	       /* class of its entry */
	int64_t begin_ns;
	uint32_t epoch;
	bool was_given;
	struct text text, early, late; /* the arguments; see pairing_item */
	bool is_joined;		       /* they are made of the parts */
	struct text dump;
	int32_t befores[CALL_BEFORES]; /* lengths of names of messages at the entry; -1: none */
	struct call_length lengths[CALL_ARGS]; /* those that arguments pointed to at the entry */
	struct call_parts parts;
	/* pairing_numbers.c: pid namespace of this process, and of its next children. */
	bool has_other_numbers, makes_other_numbers, numbers_are_asked;
	uint64_t child_flags; /* flags of a clone() whose child is not known yet */
	uint32_t child;	      /* the child of the clone() in progress; 0: none */
	bool is_about;	      /* it has one of the requested paths */
	uint32_t first_late;  /* the first argument, in display order, that the exit fills */
	int signal; /* the last delivered signal without a handler; 0: none since the last call */
	bool exits; /* exit_group was called in the process that this thread leads: */
	int status;
	int sent; /* the last signal sent to it; 0: none */
	int64_t sent_code, sent_by;
	uint8_t sent_info[PAIRING_SIGINFO]; /* its siginfo; zeroed: unknown */
	bool is_counted, is_left;	    /* is in n_threads; has no more items */
	uint32_t last_call;		    /* plus 1; 0: none */
	uint64_t *stack;		    /* of the call in progress; NULL: never had one */
	int n_stack;
	uint64_t stack_clock;
};

struct pairing {
	struct pass run;
	struct pairing_options o;
	struct calls calls;
	struct call_plan *call_plans; /* by class */
	bool *is_wanted;	      /* by call */
	uint32_t n_classes, n_calls;  /* capacity of these arrays */
	struct event_table *plans;    /* by class */
	struct pairing_state *states; /* by thread */
	uint32_t n_states;
	struct fds fds;
	struct text result;
	struct call_memory memory[ABI_CAPTURES_MAX]; /* memory of the arguments in hand */
	int n_memory;
	uint32_t n_threads;    /* that live and are chosen */
	uint64_t n_late_texts; /* texts that were not in memory when their call began */
	bool is_hiding;	       /* the command has not started */
	bool may_wait;	       /* the first event may be that of a command that waits */
	uint32_t waiter;       /* its thread, plus 1; 0: none */
	int64_t waiter_ns;
	bool is_over; /* `give` returned non-zero */
};

int pairing_open(struct pairing *j, struct trace *t, const struct pairing_options *o,
		 struct diag *d);
void pairing_close(struct pairing *j);

/* pairing_read - process what is there, up to the present end of the trace. After trace_refresh(),
 * call pairing_update() and then pairing_read() again. */
int pairing_read(struct pairing *j, struct diag *d);
int pairing_update(struct pairing *j, struct diag *d);
/* pairing_handle, pairing_handle_lost - process one item that pass_next(&j->run) returned, for a
 * caller with a loop of its own instead of pairing_read().  0 or -errno. */
int pairing_handle(struct pairing *j, const struct trace_event *e, uint32_t thread);
int pairing_handle_lost(struct pairing *j, const struct trace_event *e);
/* pairing_text - the arguments of the call that @thread is in, as far as they are known; "" if it
 * is in none.  Valid until the next item. */
const char *pairing_text(struct pairing *j, uint32_t thread);
/* pairing_lacks - the kind of data that the known calls lack. */
enum pairing_lack {
	PAIRING_LACKS_NOTHING,
	PAIRING_LACKS_MEMORY, /* buffers and structures */
	PAIRING_LACKS_PATHS,  /* the same, and file names */
};
enum pairing_lack pairing_lacks(const struct pairing *j);
/* pairing_numbers_need - whether calls of this name are needed for names of processes. */
bool pairing_numbers_need(const char *call);
/* pairing_report_lasting - pass on the calls that began before @before_ns and have not returned,
 * once each. */
void pairing_report_lasting(struct pairing *j, int64_t before_ns);
/* pairing_end - pass on the calls that never returned. */
void pairing_end(struct pairing *j);

#endif
