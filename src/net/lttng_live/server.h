/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/server.h - the server for viewers that speak lttng-live: its sockets.
 *
 * One thread that never waits: live_work() does all that is possible now, and live_fd() is
 * readable when there is more to do.  Each viewer has the memory of one answer.  A viewer that
 * does not read its answer gets no other.  The protocol has neither keys nor encryption, so the
 * server listens on this machine's own addresses unless the user allows others.
 */
#ifndef NET_LTTNG_LIVE_SERVER_H
#define NET_LTTNG_LIVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"

#define LIVE_PORT "5344"

struct live_server;

struct live_options {
	const char *const *roots; /* recordings, or output directories of a relay */
	int n_roots;
	struct endpoint listen; /* host "": 127.0.0.1 */
	bool allows_remote;	/* addresses that other hosts reach are allowed */
	bool from_begin; /* recordings are sent from their beginning, whatever a viewer asks for */
};

int live_open(struct live_server **s, const struct live_options *o, struct diag *d);
void live_close(struct live_server *s); /* accepts NULL */
int live_port(const struct live_server *s);
int live_fd(const struct live_server *s);
void live_work(struct live_server *s);

struct live_counts {
	uint32_t viewers, recordings, growing;
	uint64_t late; /* packets that were written too late to be shown in order */
	/* viewers that sent invalid commands, or that were closed for a new one */
	uint64_t refused;
};
void live_counts(struct live_server *s, struct live_counts *c);

#endif
