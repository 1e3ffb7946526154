/* SPDX-License-Identifier: MIT */
/*
 * net/send/connection.h - a sender's half of one connection: what to say next, and what an answer means.
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

struct link {
	struct wire *wire; /* lent */
	struct spool *spool; /* lent */
	struct sender_status *status; /* lent */
	struct message hello;
	uint8_t in[1024]; /* what came; answers are small */
	uint32_t n_in;
	uint8_t out[MESSAGE_MAX]; /* what goes */
	uint32_t n_out, out_at;
	int pack_level; /* compress what is sent: 1 .. 19; 0: not */
	uint32_t version; /* that both speak; 0: we are not welcome yet */
	bool is_in_trouble, is_asked_to_end, has_said_end, has_ended, has_progressed;
	bool waits_for_time;
	uint64_t times[4]; /* of the last exchange, to be told with the next */
	uint32_t n_times;
	uint64_t time_due_ns, round_due_ns, heard_ns; /* monotonic */
};

uint64_t link_now_ns(void); /* monotonic */

/* link_begin - to say @hello and then @s over @w, which is lent and perhaps not ready yet. */
void link_begin(struct link *l, struct wire *w, struct spool *s, struct sender_status *status, const struct message *hello);

/* link_work - do what can be done without waiting.  0; 1: everything is there; -EKEYREJECTED or
 * -EACCES: refused, for good; other -errno: the link is of no use any more. */
int link_work(struct link *l, struct diag *d);
/* link_waits_for - poll(2) events, and how long at most. */
short link_waits_for(const struct link *l, int *timeout_ms);

#endif
