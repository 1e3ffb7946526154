/* SPDX-License-Identifier: MIT */
/* net/relay/internal.h - a relay's places, for its two files. */
#ifndef NET_RELAY_INTERNAL_H
#define NET_RELAY_INTERNAL_H

#include <signal.h>
#include <sys/resource.h>

#include "net/relay/receiver.h"
#include "net/relay/relay.h"
#include "net/follow/forwarder.h"

enum { RELAY_LISTENERS = 8 };

struct sender {		/* or who watches */
	struct tls tls; /* fd -1: the place is free */
	struct receiver receiver;
	struct source *source; /* it watches */
	uint64_t since_ns;     /* it came, or was heard last */
	uint32_t events;       /* that epoll watches */
	bool is_welcome;
	bool is_leaving; /* it has had our last word */
	bool has_more;	 /* read, but not by us yet */
	char from[80];	 /* its address */
};

struct relay {
	struct relay_options o;
	struct tls_context *keys;
	int output, epoll, signals;
	int listeners[RELAY_LISTENERS];
	int n_listeners;
	struct sender *senders;
	uint32_t n_places, n_watchers;
	sigset_t old_mask;
	bool mask_changed, stop;
	struct rlimit old_files;
	struct sigaction old_pipe, old_file_size;
};

void relay_report(const struct relay *r, enum relay_news what, const char *who, const char *text);
void relay_drop(struct relay *r, struct sender *s, const char *why);
void relay_leave(struct relay *r, struct sender *s, const char *why);
void relay_watch_events(struct relay *r, struct sender *s, uint32_t events);

/* relay_watch.c: who has said RECEIVER_WATCHER; its turn; the turn of all. */
void relay_begin_watcher(struct relay *r, struct sender *s);
void relay_serve_watcher(struct relay *r, struct sender *s);
void relay_serve_watchers(struct relay *r);
void relay_end_watcher(struct relay *r, struct sender *s);

#endif
