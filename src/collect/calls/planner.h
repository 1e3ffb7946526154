/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/planner.h - the process that makes plans: collect/calls/calls.h.
 *
 * One message at a time on a SOCK_SEQPACKET socket: struct planner_message, as many bytes of `body`
 * as its kind has, and the client's connection.  Files are named by programs, so each is checked
 * before it is opened: a regular file of bounded size, with the build ID that the program has named.
 * A damaged file may kill the planner; then its client gets no answer, and the collector starts
 * another planner.
 */
#ifndef COLLECT_CALLS_PLANNER_H
#define COLLECT_CALLS_PLANNER_H

#include <stdint.h>

#include "collect/calls/calls.h"
#include "collect/calls/selection.h"

enum {
	PLANNER_PLANS = 4096,	     /* of a session */
	PLANNER_FILE_MOST = 1 << 30, /* bytes of a file that is planned */
};

enum planner_kind {
	PLANNER_PLAN,	 /* struct abi_plan_request; answers the client */
	PLANNER_CHANGE,	 /* a line of JSON with its NUL; answers the client */
	PLANNER_PREPARE, /* nothing; answers with struct planner_prepared */
	PLANNER_ATTACH,	 /* nothing; no answer */
};

struct planner_message {
	uint32_t kind;
	int32_t pid; /* of the client */
	char body[SESSION_REQUEST_BYTES];
};

struct planner_prepared {
	int32_t error;
	struct diag why;
};

struct planner {
	int socket;
	struct calls *calls; /* as in the collector at the fork */
	struct selection selection;
	uint32_t n_plans; /* files in the directory */
};

/* planner_start - fork it.  0 or -errno; c->planner is the socket. */
int planner_start(struct calls *c, struct diag *d);
/* planner_end - it ends after the last request. */
void planner_end(struct calls *c);

/* ---------------------------------------------------------------- in the planner */

/*
 * planner_plan_file - make the plan of file @path, or an empty one if nothing of it is wanted.
 *
 * @build_id: in hexadecimal; another one is -ESTALE.  NULL: whatever it has.  @fresh: also if there
 * is a plan.  Returns the number of sites, or -errno.
 */
int planner_plan_file(struct planner *p, const char *path, const char *build_id, bool fresh,
		      struct diag *d);

/* planner_list_patterns - begin to count the matches of the selection's patterns. */
void planner_list_patterns(struct planner *p);

/* planner_wants - whether a pattern names file @path. */
bool planner_wants(const struct planner *p, const char *path);

/* planner_prepare - plan the files of the command or the processes of the options.  -ENOENT ..: a
 * pattern cannot match. */
int planner_prepare(struct planner *p, struct diag *d);

/* planner_change - carry out a line of JSON, and answer on @fd. */
void planner_change(struct planner *p, const char *request, int fd);

/* planner_fork - a child that attaches to programs.  True in the child, which ends by _exit; a
 * failure is a child that does nothing. */
bool planner_fork(void);

/* planner_attach - put libduet into process @pid, and have the plans applied. */
int planner_attach(struct planner *p, pid_t pid, struct diag *d);

/* planner_trouble - keep the first problem for the collector. */
void planner_trouble(struct planner *p, const struct diag *d);

#endif
