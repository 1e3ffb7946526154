/* SPDX-License-Identifier: MIT */
/*
 * net/follow/forwarder.h - a recording for one who follows it from another host: a relay as a
 * sender.
 *
 * What lies here is sent on by the protocol that it came by (net/send/connection.h), with the
 * watcher as the relay; no byte of it is kept in memory, and nothing is written.  It lives on a
 * connection of the relay's and never waits.
 */
#ifndef NET_FOLLOW_FORWARDER_H
#define NET_FOLLOW_FORWARDER_H

#include <stdbool.h>

#include "base/diag.h"
#include "net/message.h"
#include "net/tls.h"

struct source;

/*
 * forwarder_open - answer @watch, a MESSAGE_WATCH, over @w, which is lent.
 *
 * @output: the directory of a relay.  If what is wanted is one recording, it will be sent; else
 * those that fit are listed, or all that grow.
 *
 * Returns 0 or -errno.
 */
int forwarder_open(struct source **s, const char *output, struct tls *w,
		   const struct message *watch, struct diag *d);
void forwarder_close(struct source *s); /* accepts NULL */

/* The recording below the output, or "" if there is only a list to send. */
const char *forwarder_path(const struct source *s);

/* forwarder_work - do what can be done without waiting.  0; 1: all is said; or -errno. */
int forwarder_work(struct source *s, struct diag *d);
/* forwarder_waits_for - poll(2) events.  Besides it wants to work every SOURCE_MS. */
short forwarder_waits_for(const struct source *s);
enum { SOURCE_MS = 50 };

#endif
