/* SPDX-License-Identifier: MIT */
/*
 * cmd/client.c - find the session's socket, exchange two lines, and turn errors into messages; do so
 * for many parts at once.
 */
#include "cmd/client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/runtime.h"
#include "cmd/cmd.h"
#include "control/exchange.h"

/* ---------------------------------------------------------------- many at once */

enum { THREAD_STACK_BYTES = 1 << 20 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static bool takes_turns;	/* written while one thread runs */
static uint64_t limits_from_ns; /* 0: from each request */

struct part_call {
	int (*call)(void *arg, const char *part);
	void *arg;
	const char *part;
	pthread_t thread;
	bool has_thread;
	int status;
};

void cmd_wait_begin(void)
{
	if (takes_turns)
		pthread_mutex_unlock(&turn);
}

void cmd_wait_end(void)
{
	if (takes_turns)
		pthread_mutex_lock(&turn);
}

void cmd_pause(unsigned ms)
{
	cmd_wait_begin();
	usleep(ms * 1000);
	cmd_wait_end();
}

void cmd_ask_from_now(void)
{
	limits_from_ns = monotonic_ns();
}

uint64_t cmd_until_ns(int timeout_s)
{
	uint64_t from_ns = limits_from_ns ? limits_from_ns : monotonic_ns();

	return timeout_s ? from_ns + (uint64_t)timeout_s * 1000000000u : EXCHANGE_NO_LIMIT;
}

static void *run_part(void *arg)
{
	struct part_call *c = arg;

	cmd_wait_end();
	c->status = c->call(c->arg, c->part);
	cmd_wait_begin();
	return NULL;
}

static void start_thread(struct part_call *c)
{
	pthread_attr_t a;

	if (pthread_attr_init(&a))
		return;
	pthread_attr_setstacksize(&a, THREAD_STACK_BYTES);
	c->has_thread = !pthread_create(&c->thread, &a, run_part, c);
	pthread_attr_destroy(&a);
}

int cmd_at_once(const char *const *parts, int n, int (*call)(void *arg, const char *part),
		void *arg)
{
	struct part_call *calls = calloc((size_t)n + !n, sizeof *calls);
	int status = 0;

	assert(!takes_turns);
	if (!calls)
		abort();
	takes_turns = true;
	cmd_ask_from_now();
	for (int i = 0; i < n; i++) {
		calls[i] = (struct part_call){ .call = call, .arg = arg, .part = parts[i] };
		start_thread(&calls[i]);
	}
	for (int i = 0; i < n; i++)
		if (!calls[i].has_thread)
			run_part(&calls[i]);
	for (int i = 0; i < n; i++) {
		if (calls[i].has_thread)
			pthread_join(calls[i].thread, NULL);
		status = calls[i].status > status ? calls[i].status : status;
	}
	takes_turns = false;
	limits_from_ns = 0;
	free(calls);
	return status;
}

/* ---------------------------------------------------------------- one request */

/* The length of the answer, or -errno.  The directory is addressed by its descriptor: its path may be
 * too long for a socket's address. */
static int exchange(const char *session, const struct text *request, const struct cmd_asking *how,
		    struct cmd_answer *answer)
{
	char directory[32];
	struct exchange e = { .directory = directory,
			      .session = session,
			      .until_ns = cmd_until_ns(how->timeout_s),
			      .passed = how->passed };
	int dir = runtime_dir_open(false), n; /* it checks that no other user can write there */

	if (dir < 0)
		return dir;
	snprintf(directory, sizeof directory, "/proc/self/fd/%d", dir);
	cmd_wait_begin();
	n = exchange_run(&e, request->bytes, request->size, answer->text, sizeof answer->text);
	cmd_wait_end();
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
