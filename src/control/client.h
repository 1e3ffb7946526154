/* SPDX-License-Identifier: MIT */
/*
 * control/client.h - what the calls of duet/control.h share: whom they ask, what they say, how long
 * they wait.
 *
 * Everything lies on the caller's stack, and what the environment says is read once, when the
 * library is loaded: calls are async-signal-safe, but for those that say they are not.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_line.h"
#include "duet/control.h"

#define ASK_LIMIT_NS 1000000000ull

enum { ASK_REQUEST_BYTES = 6144, ASK_ANSWER_BYTES = 8192 };

/* A call on its way. */
struct ask {
	struct duet_control *c; /* the caller's; NULL: nobody hears why */
	int64_t until_ns;	/* CLOCK_MONOTONIC */
	int saved_errno;
	char directory[512];
	char session[DUET_SESSION_BYTES];
};

/* client_begin - whom @c means.  0 or -errno; client_end in either case, whose value is the call's.
 */
int client_begin(struct ask *a, struct duet_control *c, uint64_t default_limit_ns);
int client_end(struct ask *a, int result);
/* client_reason - note the reason, of up to three parts that may be NULL; returns @err. */
int client_reason(struct ask *a, int err, const char *first, const char *second, const char *third);

/* A line being written; it refuses what does not fit. */
struct client_line {
	size_t size;
	bool failed;
	char text[ASK_REQUEST_BYTES];
};

void client_line_begin(struct client_line *l, const char *verb);
/* Of a NULL nothing is said. */
void client_line_text(struct client_line *l, const char *key, const char *value);
void client_line_number(struct client_line *l, const char *key, uint64_t value);

/* client_exchange - send @line, receive one message into @answer, terminated.  Its length, or
 * -errno. */
int client_exchange(struct ask *a, const char *line, size_t line_bytes, char *answer, size_t size);

struct client_answer {
	struct json_line line; /* points into it: */
	char text[ASK_ANSWER_BYTES];
};

/* ask - send the line; 0 if the collector did it, else -errno and the reason. */
int ask(struct ask *a, struct client_line *l, struct client_answer *answer);

/* client_is_live - whether somebody answers at the socket of @session. */
bool client_is_live(const struct ask *a, const char *session);

/* The time left of the call's limit, nanoseconds; at least 0. */
int64_t client_left_ns(const struct ask *a);

#endif
