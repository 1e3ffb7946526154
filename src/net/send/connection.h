/* SPDX-License-Identifier: MIT */
/*
 * net/send/connection.h - the sending half of one connection: which message to send next, and how
 * to handle each answer.
 *
 * It never waits.  Its owner calls it when the socket can be read or written, and asks it which
 * events to wait for.
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
	uint8_t in[1024]; /* received bytes; answers are small */
	uint32_t n_in;
	uint8_t out[MESSAGE_MAX]; /* bytes to send */
	uint32_t n_out, out_at;
	int compression_level; /* compression level 1 .. 19; 0: no compression */
	uint32_t version;      /* the version in use; 0: no MESSAGE_WELCOME yet */
	bool is_in_trouble, is_asked_to_end, end_is_sent, has_ended, has_progressed;
	bool awaits_time;
	bool has_reported_times; /* of one exchange at least */
	uint64_t times[4];	 /* of the last exchange; sent with the next */
	uint32_t n_times;
	uint64_t time_due_ns, round_due_ns, last_read_ns; /* monotonic */
};

/* connection_begin - start to send @hello and then @s over @t.  @t is lent, and its handshake may
 * not be complete. */
void connection_begin(struct connection *c, struct tls *t, struct spool *s,
		      struct sender_status *status, const struct message *hello);

/* connection_work - do all that is possible without waiting.  0; 1: the relay has everything;
 * -EKEYREJECTED or -EACCES: refused, and a retry is useless; other -errno: the connection is
 * broken. */
int connection_work(struct connection *c, struct diag *d);
/* connection_waits_for - the poll(2) events to wait for, and the longest timeout. */
short connection_waits_for(const struct connection *c, int *timeout_ms);

#endif
