/* SPDX-License-Identifier: MIT */
/*
 * net/relay/relay.h - receives recordings of many hosts at once.
 *
 * One thread, one loop.  Each sender has its own bounded memory (net/relay/receiver.h) and its
 * turn: one read at a time.  Who says nothing useful is closed: before it is welcome after some
 * seconds, and at once when others want in and all places are taken.
 */
#ifndef NET_RELAY_RELAY_H
#define NET_RELAY_RELAY_H

#include <stdint.h>

#include "net/endpoint.h"
#include "net/tls.h"

struct relay;

enum relay_news {
	RELAY_BEGINS,
	RELAY_RESUMES,
	RELAY_COMPLETE,
	RELAY_LEFT,
	RELAY_REFUSED,
	RELAY_FOLLOWED
};

struct relay_options {
	const char *output;	/* directory of all recordings; made */
	struct endpoint listen; /* host "": all addresses, or with plain keys 127.0.0.1 */
	struct tls_keys keys;
	uint64_t most_bytes; /* of one recording; 0: no limit */
	bool lets_watch;     /* who has the key may follow what is received as well */
	/* Told what happens: @who is a recording below the output, or an address; @text why, or
	 * what is followed. */
	void (*news)(void *context, enum relay_news what, const char *who, const char *text);
	void (*tick)(void *context); /* about twice a second; or NULL */
	void *context;
};

/* relay_open - listen.  Until relay_close the process may have as many files as it may ask for, and
 * has SIGPIPE ignored. */
int relay_open(struct relay **r, const struct relay_options *o, struct diag *d);
/* The port it listens on, which may have been asked for as 0. */
int relay_port(const struct relay *r);
/* relay_run - until SIGINT or SIGTERM, which it blocks and takes through a descriptor. */
int relay_run(struct relay *r, struct diag *d);
void relay_close(struct relay *r); /* accepts NULL */

#endif
