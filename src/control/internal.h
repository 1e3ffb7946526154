/* SPDX-License-Identifier: MIT */
/*
 * control/internal.h - one call of duet/control.h: its session, its time limit, its request, its
 * reason.
 *
 * All memory is on the caller's stack, and the environment is read once, when the library is loaded.
 * So calls are async-signal-safe, except those whose contract says otherwise.
 */
#ifndef CONTROL_INTERNAL_H
#define CONTROL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_line.h"
#include "duet/control.h"

#define CLIENT_LIMIT_NS 1000000000ull

enum { CLIENT_REQUEST_BYTES = 6144, CLIENT_ANSWER_BYTES = 8192 };

/* A call from its begin to its end. */
struct client_call {
	struct duet_control *c; /* the caller's; NULL: no reason is reported */
	uint64_t until_ns;	/* of monotonic_ns() */
	int saved_errno;
	char directory[512];
	char session[DUET_SESSION_BYTES];
};

/*
 * client_begin - find the directory and the session that @c means.  Returns 0 or -errno.
 * client_end - restore errno and return @result.  Call it after client_begin in either case.
 */
int client_begin(struct client_call *a, struct duet_control *c, uint64_t default_limit_ns);
int client_end(struct client_call *a, int result);
/* client_fail - keep the reason, of up to three parts that may be NULL.  Returns @err. */
int client_fail(struct client_call *a, int err, const char *first, const char *second,
		const char *third);

/* A request that is being written.  If it becomes too long, client_ask refuses it. */
struct client_request {
	struct text line; /* in `bytes` */
	char bytes[CLIENT_REQUEST_BYTES];
};

void client_request_begin(struct client_request *r, const char *verb);
/* client_request_text - add a member; nothing if @value is NULL. */
void client_request_text(struct client_request *r, const char *key, const char *value);
void client_request_number(struct client_request *r, const char *key, uint64_t value);

/* client_exchange - send @line, receive one message into @answer, and terminate it.  Returns its
 * length, or -errno after client_fail. */
int client_exchange(struct client_call *a, const char *line, size_t line_bytes, char *answer,
		    size_t size);

struct client_answer {
	struct json_line line; /* points into `text` */
	char text[CLIENT_ANSWER_BYTES];
};

/* client_ask - send the request.  Returns 0 if the collector did it, else -errno after
 * client_fail. */
int client_ask(struct client_call *a, struct client_request *r, struct client_answer *answer);

/* client_is_live - whether a collector listens at the socket of @session. */
bool client_is_live(const struct client_call *a, const char *session);

/* client_left_ns - the time left of the call's limit, in nanoseconds. */
uint64_t client_left_ns(const struct client_call *a);

#endif
