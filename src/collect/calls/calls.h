/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/calls.h - calls of functions of programs: the session's half.
 *
 *   program   --plan request-->  collector  --passed on-->  planner  --answer-->  program
 *   duet      --enable-------->  collector  --passed on-->  planner  --answer-->  duet
 *
 * The planner is a child process.  It alone reads ELF files and writes plans, in calls-<session>/ of
 * the runtime directory: abi/plan.h, docs/formats/control.md.  Its whole state is in that directory,
 * so a killed planner is replaced by a new one.  The collector passes a request on together with the
 * client's connection, so it never waits for a plan.
 *
 * One thread.
 */
#ifndef COLLECT_CALLS_CALLS_H
#define COLLECT_CALLS_CALLS_H

#include <stdint.h>

#include "base/diag.h"
#include "disk/disk.h"
#include "collect/options/options.h"
#include "collect/session/session.h"

enum { CALLS_PATTERNS = 64 }; /* of a session */

/* The planner's results so far; in memory that it shares with the collectors. */
struct calls_found {
	uint32_t n_patterns;
	struct calls_pattern {
		char text[128];		   /* cut if longer */
		uint32_t files;		   /* whose names match the pattern's FILE */
		uint32_t matched, patched; /* functions in them; patched: in plans */
		char nearest[64];	   /* function with a name like it, or "" */
		char reason[64];	   /* why most of them are not patched, or "" */
	} patterns[CALLS_PATTERNS];
	uint32_t n_refused_plans; /* files that could not be planned */
	char trouble[256];	  /* the first reason, or "" */
};

struct calls {
	int dir;	     /* the runtime directory; borrowed */
	int plans;	     /* calls-<session>; -1: no calls are recorded */
	const char *session; /* its name; borrowed */
	uint64_t epoch;	     /* of the session */
	uint32_t session_slot;
	const struct recorder_options *o;
	struct calls_found *found;
	int planner; /* socket; -1: none */
	pid_t planner_pid;
	uint64_t planner_begin_ns; /* a planner that dies at once is not replaced at once */
	struct disk_budget *disk;  /* of the copies; borrowed; NULL: no limit */
	struct calls_copy {	   /* one that the last pass could not finish: keep.c */
		char name[80];	   /* of the calls file; "": none */
		uint64_t ino, at;  /* how far it is copied */
	} copy;
};

#define CALLS_NONE ((struct calls){ .plans = -1, .planner = -1 })

/*
 * calls_open - make the directory of plans of @s, empty, and the planner.
 *
 * @c: a CALLS_NONE.  @o: borrowed; its patterns are those of the first generation.  If it has a
 * command or pids, their plans are made now: -ENOENT, -ENOEXEC or another error if a pattern cannot
 * match them, with the reason in @d.  calls_close undoes a failed one too.
 */
int calls_open(struct calls *c, const struct session *s, const struct recorder_options *o,
	       struct diag *d);
/* calls_close - end the planner, remove the directory with all that is in it. */
void calls_close(struct calls *c);

/*
 * calls_pass_plan_request - let the planner answer program @pid on connection @fd.
 *
 * calls_pass_change - let it carry out an `enable` or `disable` of functions, the line @request, and
 * answer on @fd.
 *
 * @fd stays the caller's.  0; -EAGAIN: too many wait; another -errno.
 */
int calls_pass_plan_request(struct calls *c, const struct abi_plan_request *request, pid_t pid,
			    int fd);
int calls_pass_change(struct calls *c, const char *request, int fd);

/* calls_write_generation - the plans of @generation are complete: programs that start use them. */
int calls_write_generation(const struct calls *c, uint64_t generation, struct diag *d);

/* calls_attach - put libduet into the processes of o->pids, and apply the plans there. */
void calls_attach(struct calls *c);

/*
 * calls_report - the patterns from number @from on that matched nothing, one a line, in @d; else it
 * stays empty.
 */
void calls_report(const struct calls *c, uint32_t from, struct diag *d);

#endif
