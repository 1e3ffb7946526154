/* SPDX-License-Identifier: MIT */
/* cmd/client.c - one request to a running collector, and its answer: see cmd/client.h. */
#include "cmd/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "collect/session/session.h"

int cmd_ask(const char *verb, const char *session, struct text *request,
	    const struct cmd_asking *how, struct cmd_answer *answer)
{
	struct timeval block_timeout = { .tv_sec = how->timeout_s };
	int dir = runtime_dir_open(false), fd = dir < 0 ? dir : session_connect(dir, session);
	int err = fd < 0 ? fd : 0;
	ssize_t n = 0;

	answer->line.n = 0;
	if (dir >= 0)
		close(dir);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &block_timeout, sizeof block_timeout);
	if (!err)
		err = json_line_send(fd, request, how->passed);
	text_fini(request);
	if (!err)
		n = recv(fd, answer->text, sizeof answer->text - 1, 0);
	if (n < 0)
		err = -errno;
	answer->text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
	if (how->may_end && (err ? err != -EAGAIN : !n))
		return CMD_ENDED;
	if (err == -EAGAIN)
		return cmd_error(verb, "session %s: its collector does not answer (is it stopped?)",
				 session);
	if (err)
		return cmd_error(verb, "session %s: %s", session, strerror(-err));
	if (!n || json_line_parse(&answer->line, answer->text, (size_t)n))
		return cmd_error(verb, "session %s ended before it answered", session);
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
