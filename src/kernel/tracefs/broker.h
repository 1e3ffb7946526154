/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/broker.h - lends tracefs instances to users without root rights.
 *
 * File modes alone are not enough: if a member of a group makes an instance, only root may write
 * its files (tried: docs/design/kernel.md). So a lender, a process of root, makes the instance,
 * gives its files to the user that asks over a socket, and passes the instance's directory. The
 * borrower reaches everything through that descriptor. Access to the socket decides about access to
 * tracefs: group tracing.
 *
 * The connection is the lease. When its last descriptor is closed, for whatever reason, the lender
 * removes the instance.
 *
 *   request    one byte: 'i', an instance and the list of events; 'l', the list alone
 *   answer     struct broker_answer, with the instance's directory and available_events,
 *              open to read
 */
#ifndef KERNEL_TRACEFS_BROKER_H
#define KERNEL_TRACEFS_BROKER_H

#include <stdint.h>

#include "base/diag.h"
#include "kernel/tracefs/tracefs.h"

#define BROKER_SOCKET "/run/duet/lend.sock"

struct broker_answer {
	int32_t error; /* 0, or a negative errno: then no descriptor follows */
	char why[252]; /* NUL-terminated */
};

/* ---------------------------------------------------------------- the borrower */

/* broker_request - borrow. @available becomes a descriptor of the list of events; the caller closes
 * it. @in: an instance, or NULL for the list alone. Returns -ENOENT and leaves @d alone if there is
 * no lender. */
int broker_request(struct kernel_instance *in, int *available, struct diag *d);

/* ---------------------------------------------------------------- the lender */

struct broker_server;

/* broker_server_open - @listener: a listening stream socket, not owned. 0 or -errno. */
int broker_server_open(struct broker_server **l, int listener, struct diag *d);
/* broker_server_step - wait up to @timeout_ms and serve all requests. Returns the number of
 * borrowers, or -errno. */
int broker_server_step(struct broker_server *l, int timeout_ms, struct diag *d);
/* broker_server_close - end the lender but not its leases. The next lender, or a recorder of root,
 * removes their instances once they are stale. */
void broker_server_close(struct broker_server *l);

#endif
