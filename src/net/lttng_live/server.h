/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/server.h - viewers that speak lttng-live attach to recordings: the sockets.
 *
 * One thread that never waits: live_work() does what can be done now, and live_fd() can be read
 * when there is something.  Each viewer has one answer's memory; who does not read his gets no
 * other.  The protocol has neither keys nor encryption, so it is for this machine's own addresses
 * unless somebody says otherwise.
 */
#ifndef NET_LTTNG_LIVE_SERVER_H
#define NET_LTTNG_LIVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"

#define LIVE_PORT "5344"

struct live_server;

struct live_options {
	const char *const *roots; /* recordings, or directories of a relay */
	int n_roots;
	struct endpoint listen; /* host "": 127.0.0.1 */
	bool anywhere;		/* addresses that others reach are allowed */
	bool from_begin; /* recordings are given from their beginning, whatever viewers ask for */
};

int live_open(struct live_server **s, const struct live_options *o, struct diag *d);
void live_close(struct live_server *s); /* accepts NULL */
int live_port(const struct live_server *s);
int live_fd(const struct live_server *s);
void live_work(struct live_server *s);

struct live_counts {
	uint32_t viewers, recordings, growing;
	uint64_t late;	  /* packets that were written too late to be shown in order */
	uint64_t refused; /* viewers that made no sense, or for whom there was no place */
};
void live_counts(struct live_server *s, struct live_counts *c);

#endif
