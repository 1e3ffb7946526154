/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/broker_rules.h - what the lender reads and writes for a borrower.
 *
 * A file that is not in the lists is not opened, and each text is checked before it is written. So a
 * borrower has neither triggers nor probes, cannot write markers, and cannot read events that root
 * made for the arguments and variables of other programs (dynamic_events).
 *
 * With own_only, the list of followed threads restricts the instance, which holds because
 *
 *   (1) the lender puts a number into it that no thread has, before anything else: an empty list
 *       would mean all threads
 *   (2) the lender sets event-fork: the kernel adds children, and removes threads that end
 *   (3) a thread is added only if it has the user's uid, no capability, and no_new_privs: so neither
 *       it nor any child of it ever gets another user's rights, as by a set-user-ID program
 *   (4) no CPU records while threads are added, and the loan ends if a number came to mean another
 *       thread meanwhile
 *   (5) the borrower can take nothing off the list, and has no events about work that a CPU does for
 *       others, such as packets and interrupts; a tracer of functions has a list of its own: none
 */
#ifndef KERNEL_TRACEFS_BROKER_RULES_H
#define KERNEL_TRACEFS_BROKER_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/tracefs/broker.h"

struct broker_rules {
	int root; /* of tracefs */
	int dir;  /* of the instance */
	uid_t uid;
	bool own_only;
	uint64_t buffer_kib_max; /* of each CPU */
};

/* broker_rules_begin - restrict a new instance; its files are root's still. 0 or -errno. */
int broker_rules_begin(const struct broker_rules *r);
/* broker_rules_do - do what @m requests. Returns 0, and for BROKER_OPEN the descriptor in *@fd; or
 * -errno: -EPERM if it is not lent; -EFBIG: the buffer is larger than buffer_kib_max; -ESTALE: the
 * loan must end, see (4). */
int broker_rules_do(const struct broker_rules *r, const struct broker_message *m, int *fd);

/* broker_buffer_kib_max - buffers of one loan use an eighth of memory at most. */
uint64_t broker_buffer_kib_max(void);

#endif
