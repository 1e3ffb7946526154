/* SPDX-License-Identifier: MIT */
/* net/relay/internal.h - the relay and its clients, shared by relay.c and relay_followers.c. */
#ifndef NET_RELAY_INTERNAL_H
#define NET_RELAY_INTERNAL_H

#include <signal.h>
#include <sys/resource.h>

#include "net/relay/receiver.h"
#include "net/relay/relay.h"
#include "net/relay/shares.h"
#include "net/relay/forwarder.h"

enum { RELAY_LISTENERS = 8 };

struct relay_client {	/* a sender, or a follower */
	struct tls tls; /* fd -1: the slot is free */
	struct receiver receiver;
	struct forwarder *forwarder; /* not NULL: the client is a follower */
	uint64_t active_ns;	     /* monotonic; when it connected, or last sent something */
	uint32_t events;	     /* the events that epoll waits for */
	bool is_welcome;
	bool is_reported; /* that it waits for room on the disk */
	bool is_leaving;  /* the relay has sent its last message to it */
	bool is_buffered; /* TLS holds bytes that were not processed yet */
	char from[80];	  /* the peer's address */
};

struct relay {
	struct relay_options o;
	struct tls_context *keys;
	int output, epoll, signals;
	int spare; /* io_turn_away() */
	struct shares shares;
	int listeners[RELAY_LISTENERS];
	int n_listeners;
	struct relay_client *clients;
	uint32_t n_slots, n_followers;
	sigset_t old_mask;
	bool mask_changed, stop;
	struct rlimit old_files;
	struct sigaction old_pipe, old_file_size;
};

void relay_report(const struct relay *r, enum relay_event what, const char *name, const char *text);
void relay_drop(struct relay *r, struct relay_client *c, const char *why);
void relay_leave(struct relay *r, struct relay_client *c, const char *why);
void relay_watch_events(struct relay *r, struct relay_client *c, uint32_t events);

/* relay_followers.c: makes a client that sent MESSAGE_WATCH a follower; serves one; serves all;
 * ends one. */
void relay_begin_follower(struct relay *r, struct relay_client *c);
void relay_serve_follower(struct relay *r, struct relay_client *c);
void relay_serve_followers(struct relay *r);
void relay_end_follower(struct relay *r, struct relay_client *c);

#endif
