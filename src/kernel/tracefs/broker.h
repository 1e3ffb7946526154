/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/broker.h - tracefs instances for who is not root: a process of root's makes them,
 * and takes them back.
 *
 * Modes of files alone do not do it: an instance that a member of a group makes has files that only
 * root may write (tried: docs/design/kernel.md).  So a lender makes the instance, gives its files
 * to the user who asks over a socket, and passes its directory, through which all is reached.  Who
 * may ask is who may open the socket: group tracing.  The connection is the loan: when its last
 * descriptor is closed, however that comes, the lender removes the instance.
 *
 *   asks       one byte: 'i', an instance and the list of events; 'l', the list alone
 *   answers    struct broker_answer, with the directory of the instance and available_events, open
 * to read
 */
#ifndef KERNEL_TRACEFS_BROKER_H
#define KERNEL_TRACEFS_BROKER_H

#include <stdint.h>

#include "base/diag.h"
#include "kernel/tracefs/tracefs.h"

#define BROKER_SOCKET "/run/duet/lend.sock"

struct broker_answer {
	int32_t error; /* 0, or a negative errno: then no descriptor comes with it */
	char why[252]; /* terminated */
};

/* ---------------------------------------------------------------- who borrows */

/* broker_request - *@available: the list of events, to be closed; @in, unless NULL: an instance.
 * -ENOENT, without a word in @d, if there is no lender. */
int broker_request(struct kernel_instance *in, int *available, struct diag *d);

/* ---------------------------------------------------------------- who lends */

struct broker_server;

/* broker_server_open - @listener is lent: a listening stream socket.  0 or -errno. */
int broker_server_open(struct broker_server **l, int listener, struct diag *d);
/* broker_server_step - wait up to @timeout_ms, and do what there is to do.  Returns how many have
 * something of ours, or -errno. */
int broker_server_step(struct broker_server *l, int timeout_ms, struct diag *d);
/* broker_server_close - what is lent stays so; who lends next, or records as root, takes it back
 * when its time comes. */
void broker_server_close(struct broker_server *l);

#endif
