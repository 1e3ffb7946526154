/* SPDX-License-Identifier: MIT */
/*
 * cmd/client.c - find the session's socket, exchange two lines, and turn errors into messages.
 */
#include "cmd/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/runtime.h"
#include "cmd/cmd.h"
#include "control/exchange.h"

/* The length of the answer, or -errno.  The directory is addressed by its descriptor: its path may be
 * too long for a socket's address. */
static int exchange(const char *session, const struct text *request, const struct cmd_asking *how,
		    struct cmd_answer *answer)
{
	char directory[32];
	struct exchange e = { .directory = directory,
			      .session = session,
			      .until_ns = EXCHANGE_NO_LIMIT,
			      .passed = how->passed };
	int dir = runtime_dir_open(false), n; /* it checks that no other user can write there */

	if (dir < 0)
		return dir;
	if (how->timeout_s)
		e.until_ns = monotonic_ns() + (uint64_t)how->timeout_s * 1000000000u;
	snprintf(directory, sizeof directory, "/proc/self/fd/%d", dir);
	n = exchange_run(&e, request->bytes, request->size, answer->text, sizeof answer->text);
	close(dir);
	return n;
}

int cmd_ask(const char *verb, const char *session, struct text *request,
	    const struct cmd_asking *how, struct cmd_answer *answer)
{
	int n = json_line_end(request);

	assert(how->timeout_s >= 0);
	answer->line.n = 0;
	answer->text[0] = 0;
	if (!n)
		n = exchange(session, request, how, answer);
	text_fini(request);
	if (how->may_end && n < 0 && n != -EAGAIN)
		return CMD_ENDED;
	if (n == -EAGAIN || n == -EINTR)
		return cmd_error(verb, "session %s: its collector does not answer (is it stopped?)",
				 session);
	if (n == -EPIPE || n == -ECONNRESET ||
	    (n >= 0 && json_line_parse(&answer->line, answer->text, (size_t)n)))
		return cmd_error(verb, "session %s ended before it answered", session);
	if (n < 0)
		return cmd_error(verb, "session %s: %s", session, strerror(-n));
	return 0;
}

int cmd_refused(const char *verb, const char *session, const struct cmd_answer *answer)
{
	char why[4096];

	if (json_line_is_true(&answer->line, "ok"))
		return 0;
	if (!json_line_text(&answer->line, "error", why, sizeof why))
		snprintf(why, sizeof why, "it gave no reason");
	return cmd_error(verb, "session %s: %s", session, why);
}
