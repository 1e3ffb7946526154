/* SPDX-License-Identifier: MIT */
/*
 * script/engine/engine.h - a script runs: begin, events and timers in one order of time, end.
 *
 * Time is the time of the events ("stream time"), for timers too.  So a script prints the same live
 * and on a recording of what it saw:
 *
 *	(1) handlers run in ascending time; an event runs when every other source is complete up to it
 *	(2) a timer that is due at t runs after all events up to t and before those later than t
 *	(3) timers count from the begin, which a recording made by a script keeps
 *	(4) after exit() only the running handler and the end probes run
 *
 * One thread.  Nothing here prints: messages and flushing are the caller's hooks.
 */
#ifndef SCRIPT_ENGINE_ENGINE_H
#define SCRIPT_ENGINE_ENGINE_H

#include <sys/types.h>

#include "script/engine/source.h"

enum script_message { SCRIPT_MESSAGE_ERROR, SCRIPT_MESSAGE_WARNING };

struct script_engine_options {
	const struct script_program *program;
	const struct script_limits *limits; /* errors and skipped */
	struct script_vm *vm;		    /* with the program's unit */
	const char *command;		    /* -c: shell words; or NULL */
	pid_t target;			    /* -x; 0: none.  The session ends when it exits */
	int64_t most_ns;		    /* -T: length of the session; 0: no limit */
	int stop_fd; /* readable: end the session as exit() would, but with all events until now */
	int input;   /* descriptor of input.char and input.line */
	const char *procfs_dir; /* for procfs probes: made if needed, removed at the end */
	bool is_replay;		/* no source is live */
	void *context;		/* of the hooks */
	/* One line or more, without the last end of line. */
	void (*message)(void *context, enum script_message kind, const char *text);
	/* Nothing happens for a while: what was printed may go out. */
	void (*flush)(void *context);
};

struct script_engine;

/* What happened, for the caller's last words. */
struct script_engine_result {
	int64_t begin_ns, end_ns;
	uint64_t started_ns; /* monotonic: when all sources had begun */
	uint64_t n_events;   /* handled */
	uint64_t n_errors, n_lost, n_skipped;
	bool has_failed; /* more errors or skipped probes than the limits allow */
	bool is_interrupted;
	int command_status; /* of -c, as waitpid returns it; -1: none, or it had not ended */
};

/* script_engine_open - forks the command of -c, which waits.  Returns 0 or -errno, reason in @d. */
int script_engine_open(struct script_engine **e, const struct script_engine_options *o,
		       struct diag *d);
/* script_engine_add - @s serves some of the program's probes; it stays the caller's. */
int script_engine_add(struct script_engine *e, struct script_source_of *s, struct diag *d);
/* script_engine_target - the process of -c or -x; 0: none.  Known from script_engine_open on. */
pid_t script_engine_target(const struct script_engine *e);
/*
 * script_engine_run - start the sources, run the script to its end.
 *
 * Errors of handlers are messages, not results.  Returns 0, or -errno if a source could not start
 * or failed, reason in @d; the end probes have then run unless nothing had begun.
 */
int script_engine_run(struct script_engine *e, struct script_engine_result *r, struct diag *d);
/* script_engine_symbol - asks the sources in turn; see script_services.symbol. */
void script_engine_symbol(struct script_engine *e, int64_t pid, uint64_t address, char what,
			  struct text *to);
/* script_engine_close - a command that still waits ends; a running one is sent SIGTERM. */
void script_engine_close(struct script_engine *e); /* accepts NULL */

#endif
