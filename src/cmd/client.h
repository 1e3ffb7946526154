/* SPDX-License-Identifier: MIT */
/* cmd/client.h - one request to a running collector, and its answer, each a line: base/json_line.h.
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
	int timeout_s; /* seconds to wait for the answer; 0: for ever */
	bool may_end; /* its collector, before it answers: that is CMD_ENDED, and nothing is said */
};
enum { CMD_ENDED = 1 };
enum { CMD_TIMEOUT_S = 10 }; /* for what is answered at once */

/* cmd_ask - send @request, which is freed.  Returns 0, or CMD_FAILED having said why there is no
 * answer. */
int cmd_ask(const char *verb, const char *session, struct text *request,
	    const struct cmd_asking *how, struct cmd_answer *answer);

/* cmd_refused - 0 if it was done, else CMD_FAILED having said why not. */
int cmd_refused(const char *verb, const char *session, const struct cmd_answer *answer);

#endif
