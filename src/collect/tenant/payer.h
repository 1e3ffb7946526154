/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/payer.h - the user at whose expense a process makes runtime directories.
 *
 * A user can make user namespaces with subordinate uids, and such namespaces in each other: each has
 * another owner.  All of them are that user's, which the end of the chain of owners shows.
 */
#ifndef COLLECT_TENANT_PAYER_H
#define COLLECT_TENANT_PAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * payer_of - the owner of the outermost user namespace below ours that process @pid is in.
 *
 * @proc: /proc, open.  Returns 0 if root made it, if the process is in our user namespace, or if it
 * is gone.
 */
uid_t payer_of(int proc, const char *pid);

/* A set of pairs of numbers, without order; it grows as needed.  Zeroed it is empty. */
struct pairs {
	struct pair {
		uint64_t a, b;
	} * at;
	size_t n, room;
};
enum { PAIRS_MAX = 1 << 20 };

/* pairs_add - false if the pair is in the set already, or there is no room for it.  The pair (0, 0)
 * is in each set. */
bool pairs_add(struct pairs *s, uint64_t a, uint64_t b);
bool pairs_have(const struct pairs *s, uint64_t a, uint64_t b);
void pairs_free(struct pairs *s); /* it is empty afterwards */

#endif
