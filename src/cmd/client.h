/* SPDX-License-Identifier: MIT */
/*
 * cmd/client.h - one request of a verb to a running collector.
 *
 * control/exchange.h does it; here are the session's directory and messages for the user.  Request
 * and answer are lines of JSON: base/json_line.h.
 */
#ifndef CMD_CLIENT_H
#define CMD_CLIENT_H

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

/* cmd_ask - send @request, and free it.  Returns 0, CMD_ENDED, or CMD_FAILED after it printed why
 * there is no answer. */
int cmd_ask(const char *verb, const char *session, struct text *request,
	    const struct cmd_asking *how, struct cmd_answer *answer);

/* cmd_refused - 0 if the collector did it, else CMD_FAILED after it printed the reason. */
int cmd_refused(const char *verb, const char *session, const struct cmd_answer *answer);

#endif
