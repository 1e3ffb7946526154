/* SPDX-License-Identifier: MIT */
/*
 * net/relay/relay_followers.c - clients that follow a recording which the relay receives.
 *
 * A follower has the slot of a client, and its turn in the loop.  Its data is read from the disk
 * (net/relay/forwarder.h).  So a follower that is slow, or stops reading, delays no other client
 * and no recording.
 */
#include "net/relay/internal.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>

enum { FOLLOWERS_MAX = 32 };

static const char *refusal(const struct relay *r)
{
	if (!r->o.allows_followers)
		return "this relay accepts no followers: it was not started with --watch";
	return r->n_followers >= FOLLOWERS_MAX ? "too many followers at once" : NULL;
}

void relay_begin_follower(struct relay *r, struct relay_client *c)
{
	struct diag d = { "" };
	const char *why = refusal(r);

	if (!why && forwarder_open(&c->forwarder, r->o.output, &c->tls, &c->receiver.message, &d))
		why = d.text;
	if (why) {
		receiver_refuse(&c->receiver, why);
		return;
	}
	r->n_followers++;
	assert(r->n_followers <= FOLLOWERS_MAX && c->forwarder);
	c->is_welcome = true;
	if (*forwarder_path(c->forwarder))
		relay_report(r, RELAY_FOLLOWED, c->from, forwarder_path(c->forwarder));
}

void relay_end_follower(struct relay *r, struct relay_client *c)
{
	assert(!c->forwarder || r->n_followers);
	r->n_followers -= c->forwarder != NULL;
	forwarder_close(c->forwarder);
	c->forwarder = NULL;
}

void relay_serve_follower(struct relay *r, struct relay_client *c)
{
	struct diag d = { "" };
	int done = forwarder_work(c->forwarder, &d);
	short wanted;

	assert(c->is_welcome && !c->is_leaving);
	if (done < 0)
		return relay_drop(r, c, d.text);
	if (done)
		return relay_leave(r, c, "");
	wanted = forwarder_waits_for(c->forwarder);
	relay_watch_events(r, c,
			   (wanted & POLLIN ? EPOLLIN : 0u) | (wanted & POLLOUT ? EPOLLOUT : 0u));
}

void relay_serve_followers(struct relay *r)
{
	for (uint32_t i = 0, n = r->n_followers; n && i < r->n_slots; i++) {
		struct relay_client *c = &r->clients[i];

		if (c->tls.fd < 0 || !c->forwarder)
			continue;
		n--;
		if (!c->is_leaving)
			relay_serve_follower(r, c);
	}
}
