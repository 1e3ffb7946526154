/* SPDX-License-Identifier: MIT */
/*
 * cmd/client.h - one request of a verb to a running collector.
 *
 * control/exchange.h does it; here are the session's directory and messages for the user.  Request
 * and answer are lines of JSON: base/json_line.h.
 */
#ifndef CMD_CLIENT_H
#define CMD_CLIENT_H

#include <stdint.h>

#include "base/text.h"
#include "base/json_line.h"

struct cmd_answer {
	char text[8192];       /* terminated */
	struct json_line line; /* points into it */
};

struct cmd_asking {
	int passed;    /* a descriptor that goes with the request, or -1 */
	int timeout_s; /* seconds to wait for the answer; 0: no limit */
	bool may_end; /* the collector may end before it answers: then cmd_ask returns CMD_ENDED and
			* prints nothing */
};
enum { CMD_ENDED = 1 };
enum { CMD_TIMEOUT_S = 10 }; /* for requests that a collector answers at once */
/* For a tenant's part that writes files before it answers.  The main collector may take any time. */
enum { CMD_PART_WRITES_S = 300 };

/* cmd_ask - send @request, and free it.  Returns 0, CMD_ENDED, or CMD_FAILED after it printed why
 * there is no answer. */
int cmd_ask(const char *verb, const char *session, struct text *request,
	    const struct cmd_asking *how, struct cmd_answer *answer);

/*
 * cmd_at_once - run @call for each of @n parts of sessions, all at the same time, one thread each.
 *
 * A part may belong to a hostile user, whose collector does not answer or answers late.  So that it
 * delays only itself:
 *
 *   (1) threads take turns: one runs, the others wait for an answer in cmd_ask or cmd_pause, which
 *       end a turn and begin the next.  A @call needs no lock, but other calls may run meanwhile
 *   (2) all time limits of these calls count from the begin of cmd_at_once, also if a call sends many
 *       requests
 *
 * Without threads (ulimit -u) the calls run one by one.  Returns the worst status.
 */
int cmd_at_once(const char *const *parts, int n, int (*call)(void *arg, const char *part),
		void *arg);

/* cmd_wait_begin, cmd_wait_end - end this thread's turn for a call that waits; take the next one. */
void cmd_wait_begin(void);
void cmd_wait_end(void);
/* cmd_pause - sleep. */
void cmd_pause(unsigned ms);

/* cmd_ask_from_now - in a process of its own for one part: all time limits count from now. */
void cmd_ask_from_now(void);
/* cmd_until_ns - when a request of @timeout_s must have been answered, of monotonic_ns(). */
uint64_t cmd_until_ns(int timeout_s);

/* cmd_refused - 0 if the collector did it, else CMD_FAILED after it printed the reason. */
int cmd_refused(const char *verb, const char *session, const struct cmd_answer *answer);

#endif
