/* SPDX-License-Identifier: MIT */
/*
 * net/relay/relay_watch.c - those who follow from elsewhere what a relay receives.
 *
 * A watcher has a sender's place and a sender's rights to a turn.  What it gets it reads from the
 * disk (net/follow/forwarder.h): one that is slow, or stops reading, holds up nobody, and no
 * recording.
 */
#include "net/relay/internal.h"

#include <poll.h>
#include <sys/epoll.h>

enum { WATCHERS_MAX = 32 };

static const char *wait_not(const struct relay *r)
{
	if (!r->o.lets_watch)
		return "this relay lets nobody follow: it was not started with --watch";
	return r->n_watchers >= WATCHERS_MAX ? "as many follow as may at once" : NULL;
}

void relay_begin_watcher(struct relay *r, struct sender *s)
{
	struct diag d = { "" };
	const char *why = wait_not(r);

	if (!why && forwarder_open(&s->source, r->o.output, &s->tls, &s->receiver.said, &d))
		why = d.text;
	if (why) {
		receiver_refuse(&s->receiver, why);
		return;
	}
	r->n_watchers++;
	s->is_welcome = true;
	if (*forwarder_path(s->source))
		relay_report(r, RELAY_FOLLOWED, s->from, forwarder_path(s->source));
}

void relay_end_watcher(struct relay *r, struct sender *s)
{
	r->n_watchers -= s->source != NULL;
	forwarder_close(s->source);
	s->source = NULL;
}

void relay_serve_watcher(struct relay *r, struct sender *s)
{
	struct diag d = { "" };
	int done = forwarder_work(s->source, &d);
	short wanted;

	if (done < 0)
		return relay_drop(r, s, d.text);
	if (done)
		return relay_leave(r, s, "");
	wanted = forwarder_waits_for(s->source);
	relay_watch_events(r, s,
			   (wanted & POLLIN ? EPOLLIN : 0u) | (wanted & POLLOUT ? EPOLLOUT : 0u));
}

void relay_serve_watchers(struct relay *r)
{
	for (uint32_t i = 0, n = r->n_watchers; n && i < r->n_places; i++) {
		struct sender *s = &r->senders[i];

		if (s->tls.fd < 0 || !s->source)
			continue;
		n--;
		if (!s->is_leaving)
			relay_serve_watcher(r, s);
	}
}
