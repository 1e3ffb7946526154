/* SPDX-License-Identifier: MIT */
/*
 * net/relay/forwarder.h - sends a recording that a relay receives on to a follower.
 *
 * The relay becomes a sender (net/send/connection.h), and the follower takes the part of the
 * relay, with the same protocol.  No byte of the recording is kept in memory, and nothing is
 * written.  A forwarder uses a connection that the relay accepted, and never waits.
 */
#ifndef NET_RELAY_FORWARDER_H
#define NET_RELAY_FORWARDER_H

#include <stdbool.h>

#include "base/diag.h"
#include "net/message.h"
#include "net/tls.h"

struct forwarder;

/*
 * forwarder_open - answer @watch, a MESSAGE_WATCH, over @t, which is lent.
 *
 * @output: the output directory of the relay.  If exactly one recording matches, it will be sent;
 *          else the recordings that match are listed, or all that grow.
 *
 * Returns 0 or -errno.
 */
int forwarder_open(struct forwarder **f, const char *output, struct tls *t,
		   const struct message *watch, struct diag *d);
void forwarder_close(struct forwarder *f); /* accepts NULL */

/* forwarder_path - the recording's path below the output, or "" if only a list is sent. */
const char *forwarder_path(const struct forwarder *f);

/* forwarder_work - do all that is possible without waiting.  0; 1: everything is sent; or -errno.
 */
int forwarder_work(struct forwarder *f, struct diag *d);
/* forwarder_waits_for - the poll(2) events to wait for.  It also needs a call every FORWARDER_MS.
 */
short forwarder_waits_for(const struct forwarder *f);
enum { FORWARDER_MS = 50 };

#endif
