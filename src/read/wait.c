/* SPDX-License-Identifier: MIT */
/*
 * read/wait.c - waits for more events of recordings that are still written: duet_read_wait().
 *
 * The reader polls the files each POLL_MS.  Notification by inotify does not work for files that
 * come through a network file system.
 */
#include <errno.h>
#include <poll.h>

#include "base/monotonic.h"
#include "read/internal.h"

enum { POLL_MS = 50 };

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_ns() / 1000000);
}

/* Returns 1: there may be more events; 0: not yet; or -errno. */
static int refresh(struct duet_read *r)
{
	int grows = trace_refresh(r->trace, &r->why), err;
	int64_t known_ns;

	if (grows < 0)
		return grows;
	err = read_describe(r);
	if (err)
		return err;
	r->has_ended = !grows;
	known_ns = trace_following(r->trace)->known_ns;
	if (!r->has_ended && known_ns <= r->known_ns)
		return 0;
	r->known_ns = known_ns;
	return 1;
}

int duet_read_wait(struct duet_read *r, int timeout_ms)
{
	int64_t end_ms = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;

	if (!r->follows)
		return diag_fail(&r->why, -EINVAL, "the reader was not opened to follow");
	r->has_event = false;
	while (!r->has_ended) {
		int got = refresh(r);
		int64_t left_ms = end_ms - now_ms();

		if (got)
			return got;
		if (left_ms <= 0)
			return diag_fail(&r->why, -ETIMEDOUT,
					 "nothing more was written in that time");
		if (poll(NULL, 0, left_ms < POLL_MS ? (int)left_ms : POLL_MS) < 0 && errno == EINTR)
			return diag_fail(&r->why, -EINTR, "interrupted by a signal");
	}
	return 0;
}

uint64_t duet_read_n_late(const struct duet_read *r)
{
	return r->follows ? trace_following(r->trace)->n_late : 0;
}
