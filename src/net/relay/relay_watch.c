/* SPDX-License-Identifier: MIT */
/*
 * net/relay/relay_watch.c - those who follow from elsewhere what a relay receives.
 *
 * A watcher has a sender's place and a sender's rights to a turn.  What it gets it reads from the disk (net/follow/forwarder.h): one
 * that is slow, or stops reading, holds up nobody, and no recording.
 */
#include "net/relay/internal.h"

#include <poll.h>
#include <sys/epoll.h>

enum { WATCHERS_MAX = 32 };

static const char *why_not(const struct relay *r)
{
	if (!r->o.lets_watch)
		return "this relay lets nobody follow: it was not started with --watch";
	return r->n_watchers >= WATCHERS_MAX ? "as many follow as may at once" : NULL;
}

void relay_begin_watcher(struct relay *r, struct sender *s)
{
	struct diag d = { "" };
	const char *why = why_not(r);

	if (!why && source_open(&s->source, r->o.output, &s->wire, &s->intake.said, &d))
		why = d.text;
	if (why) {
		intake_refuse(&s->intake, why);
		return;
	}
	r->n_watchers++;
	s->is_welcome = true;
	if (*source_path(s->source))
		relay_tell(r, RELAY_FOLLOWED, s->from, source_path(s->source));
}

void relay_end_watcher(struct relay *r, struct sender *s)
{
	r->n_watchers -= s->source != NULL;
	source_close(s->source);
	s->source = NULL;
}

void relay_serve_watcher(struct relay *r, struct sender *s)
{
	struct diag d = { "" };
	int done = source_work(s->source, &d);
	short wanted;

	if (done < 0)
		return relay_drop(r, s, d.text);
	if (done)
		return relay_leave(r, s, "");
	wanted = source_waits_for(s->source);
	relay_watch_events(r, s, (wanted & POLLIN ? EPOLLIN : 0u) | (wanted & POLLOUT ? EPOLLOUT : 0u));
}

void relay_serve_watchers(struct relay *r)
{
	for (uint32_t i = 0, n = r->n_watchers; n && i < r->n_places; i++) {
		struct sender *s = &r->senders[i];

		if (s->wire.fd < 0 || !s->source)
			continue;
		n--;
		if (!s->is_leaving)
			relay_serve_watcher(r, s);
	}
}
