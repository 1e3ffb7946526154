/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/broker.h - lends tracefs instances to users without root rights.
 *
 * File modes are not enough. If a member of a group makes an instance, only root may write its files
 * (tried: docs/design/kernel/lend.md). If root gives the files away, a member that opened one can
 * write it for ever: after the loan, and after every chmod. So the instance stays root's, and the
 * lender, a process of root, opens its files to read and writes them, as the borrower requests over a
 * socket.
 * broker_rules.h has the list of what it reads and writes. Access to the socket decides about access
 * to tracefs: group tracing.
 *
 * The connection is the lease. When its last descriptor is closed, for whatever reason, the lender
 * makes the instance worthless and removes it (lent.h). It does the same when the lender ends, and if
 * the lender is killed, another process does (broker_server.c).
 *
 *   request    'i': an instance and the list of events; 'l': the list alone. One byte each.
 *              struct broker_message, after 'i': open, write or empty a file of the instance
 *   answer     struct broker_answer; with it
 *              'i': available_events, the instance's directory, tracing_on, in this order
 *              'l': available_events;  open: the file
 *
 * A recorder's supervisor and worker share the connection, and the worker may be killed between a
 * request and its answer. So each message has an id, and the borrower skips answers to others.
 */
#ifndef KERNEL_TRACEFS_BROKER_H
#define KERNEL_TRACEFS_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "kernel/tracefs/tracefs.h"

#define BROKER_SOCKET "/run/duet/lend.sock"

enum broker_operation { BROKER_OPEN = 'o', BROKER_WRITE = 'w', BROKER_EMPTY = 't' };

struct broker_message {
	char operation;	 /* enum broker_operation */
	char path[119];	 /* below the instance, NUL-terminated */
	uint64_t id;	 /* not 0 */
	char text[4096]; /* to write, NUL-terminated */
};
_Static_assert(sizeof(struct broker_message) == 4224, "layout both sides agree on");

enum { BROKER_OWN_ONLY = 1 }; /* a flag of an instance: it records the user's own processes alone */

struct broker_answer {
	int32_t error; /* 0, or a negative errno: then no descriptor follows */
	uint32_t flags;
	uint64_t id;   /* of the message; 0: of another request */
	char why[240]; /* NUL-terminated */
};
_Static_assert(sizeof(struct broker_answer) == 256, "layout both sides agree on");

/* ---------------------------------------------------------------- the borrower */

/* broker_request - borrow. @available becomes a descriptor of the list of events; the caller closes
 * it. @in: an instance, or NULL for the list alone. Returns -ENOENT and leaves @d alone if there is
 * no lender. */
int broker_request(struct kernel_instance *in, int *available, struct diag *d);

/* Files of a borrowed instance, for kernel/tracefs/tracefs.c. Threads may call them at the same
 * time. 0 or -errno; broker_open_file: a descriptor, or -1 with errno. */
int broker_write(int connection, const char *path, const char *text);
int broker_empty(int connection, const char *path);
int broker_open_file(int connection, const char *path);

/* ---------------------------------------------------------------- the lender */

struct broker_server;

enum { BROKER_LOANS_OF_ONE = 4 }; /* of a user, instances that cannot be removed included */

struct broker_policy {
	bool own_only; /* loans record the user's own processes alone */
	gid_t group;   /* users in it have loans of their own; all others share those of one */
};

struct broker_state {
	int n_borrowers; /* connections */
	int n_kept;	 /* instances that were returned and cannot be removed yet */
	uid_t kept_by;	 /* a user that keeps some of them */
};

/* broker_server_open - @listener: a listening stream socket, not owned. 0 or -errno. */
int broker_server_open(struct broker_server **l, int listener, const struct broker_policy *p,
		       struct diag *d);
/* broker_server_step - wait up to @timeout_ms, serve all requests, and try to remove what could not
 * be removed before. 0 or -errno. */
int broker_server_step(struct broker_server *l, int timeout_ms, struct broker_state *s,
		       struct diag *d);
/* broker_server_close - end the lender and its leases. An instance with an open file is left, worthless;
 * the next lender, or a recorder of root, removes it. */
void broker_server_close(struct broker_server *l);

#endif
