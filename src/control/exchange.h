/* SPDX-License-Identifier: MIT */
/*
 * control/exchange.h - one request to the collector of a session, and its answer.
 *
 * The only client of the control socket (docs/formats/requests.md): libduet-control and the command
 * both use it.  It needs libc alone, allocates nothing, and is async-signal-safe.  Each exchange has
 * a connection of its own, so exchanges of several threads do not meet.
 */
#ifndef CONTROL_EXCHANGE_H
#define CONTROL_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXCHANGE_NO_LIMIT UINT64_MAX

struct exchange {
	const char *directory;	/* the runtime directory, or its /proc/self/fd/N */
	const char *session;	/* a name without a slash */
	uint64_t until_ns;	/* of monotonic_ns(), or EXCHANGE_NO_LIMIT */
	int passed;		/* a descriptor to send with the request, or -1 */
	bool requires_own_user; /* refuse a collector that is neither this user's nor root's */
};

/* exchange_connect - connect to the session's socket.  Returns the descriptor or -errno; -EPERM if
 * its collector is another user's. */
int exchange_connect(const struct exchange *e);

/* exchange_on - as exchange_run, on the connection @fd, which stays open for further messages. */
int exchange_on(const struct exchange *e, int fd, const char *line, size_t line_bytes, char *answer,
		size_t size);

/*
 * exchange_run - send @line of @line_bytes, receive one message into @answer, and terminate it.
 *
 * @answer has room for @size > 0 bytes; the rest of a longer message is dropped.  Returns the length of
 * the answer, > 0; -EAGAIN or -EINTR when the time ran out; -EPIPE if the collector closed the
 * connection without an answer; or another negative errno.
 */
int exchange_run(const struct exchange *e, const char *line, size_t line_bytes, char *answer,
		 size_t size);

/* exchange_left_ns - the time that remains until @until_ns, in nanoseconds; 0 when it has passed. */
uint64_t exchange_left_ns(uint64_t until_ns);

#endif
