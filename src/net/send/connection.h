/* SPDX-License-Identifier: MIT */
/*
 * net/send/connection.h - a sender's half of one connection: what to say next, and what an answer
 * means.
 *
 * No waiting: who owns it says when its socket can be read or written, and asks what to wait for.
 */
#ifndef NET_SEND_CONNECTION_H
#define NET_SEND_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "net/message.h"
#include "net/send/sender.h"
#include "net/send/spool.h"
#include "net/tls.h"

struct connection {
	struct tls *tls;	      /* lent */
	struct spool *spool;	      /* lent */
	struct sender_status *status; /* lent */
	struct message hello;
	uint8_t in[1024]; /* what came; answers are small */
	uint32_t n_in;
	uint8_t out[MESSAGE_MAX]; /* what goes */
	uint32_t n_out, out_at;
	int pack_level;	  /* compress what is sent: 1 .. 19; 0: not */
	uint32_t version; /* that both speak; 0: we are not welcome yet */
	bool is_in_trouble, is_asked_to_end, has_sent_end, has_ended, has_progressed;
	bool waits_for_time;
	uint64_t times[4]; /* of the last exchange, to be told with the next */
	uint32_t n_times;
	uint64_t time_due_ns, round_due_ns, last_read_ns; /* monotonic */
};

uint64_t connection_now_ns(void); /* monotonic */

/* connection_begin - to say @hello and then @s over @w, which is lent and perhaps not ready yet. */
void connection_begin(struct connection *l, struct tls *w, struct spool *s,
		      struct sender_status *status, const struct message *hello);

/* connection_work - do what can be done without waiting.  0; 1: everything is there; -EKEYREJECTED
 * or -EACCES: refused, for good; other -errno: the link is of no use any more. */
int connection_work(struct connection *l, struct diag *d);
/* connection_waits_for - poll(2) events, and how long at most. */
short connection_waits_for(const struct connection *l, int *timeout_ms);

#endif
