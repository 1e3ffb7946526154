/* SPDX-License-Identifier: MIT */
/*
 * net/relay/relay.h - a server that receives recordings of many hosts at once.
 *
 * One thread, one event loop.  Each client has its own bounded memory (net/relay/receiver.h), and
 * one read in each turn.  A client that sends nothing useful is closed: before MESSAGE_WELCOME
 * after some seconds, and at once if all slots are taken and another connects.
 */
#ifndef NET_RELAY_RELAY_H
#define NET_RELAY_RELAY_H

#include <stdint.h>

#include "disk/disk.h"
#include "net/endpoint.h"
#include "net/tls.h"

struct relay;

enum relay_event {
	RELAY_BEGINS,
	RELAY_RESUMES,
	RELAY_COMPLETE,
	RELAY_LEFT,
	RELAY_REFUSED,
	RELAY_FOLLOWED,
	RELAY_WAITS,  /* the disk is full */
	RELAY_WRITES, /* it has room again */
};

struct relay_options {
	const char *output;	/* directory of all recordings; created if missing */
	struct endpoint listen; /* host "": all addresses, or 127.0.0.1 with is_plain */
	struct tls_keys keys;
	uint64_t most_bytes;		  /* of one recording; 0: no limit */
	struct disk_size disk, disk_free; /* of each host; of the file system */
	bool allows_followers;		  /* a peer with the key may also follow what is received */
	/* Called for each event: @name is a recording below the output, or an address; @text is
	 * the reason, or the recording that is followed. */
	void (*on_event)(void *context, enum relay_event what, const char *name, const char *text);
	void (*tick)(void *context); /* about twice a second; or NULL */
	void *context;
};

/* relay_open - listen.  Until relay_close the process has its file limit raised to the maximum,
 * and ignores SIGPIPE. */
int relay_open(struct relay **r, const struct relay_options *o, struct diag *d);
/* relay_port - the port that it listens on; useful if port 0 was requested. */
int relay_port(const struct relay *r);
/* relay_run - serve until SIGINT or SIGTERM, which it blocks and reads from a signalfd. */
int relay_run(struct relay *r, struct diag *d);
void relay_close(struct relay *r); /* accepts NULL */

#endif
