/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/lent.h - instances on loan: named, counted, made worthless and removed.
 *
 * A member can keep any file of an instance open after the loan, and the kernel removes no instance
 * with an open file. So the state of a loan lies in the instances themselves, where every lender
 * finds it, the next one after a crash too:
 *
 *   (1) the name ends in -u<uid> or, for the user's own processes alone, -o<uid>; the uid is the user
 *       that it counts against
 *   (2) the directory's mode is 0710, then 0500, once the loan is over, whoever holds its lock
 *   (3) an instance that is over has no event and no tracer, has the smallest buffers, and nobody but
 *       root can change that: a borrower never had a file open to write but tracing_on, which
 *       without events and a tracer records nothing (broker.h)
 *   (4) a loan ends with its lender, which holds a lock that it does not pass on: its guard (broker_server.c)
 *       ends it, or the next lender or recorder of root that finds no such lock and no such process
 *   (5) at most BROKER_LOANS_OF_ONE names of one uid exist, those that are over included; lenders
 *       count and make an instance under one lock
 *
 * A buffer that the borrower still maps keeps its size. The lender limits sizes (broker_rules.h), so
 * at most BROKER_LOANS_OF_ONE times that limit remain.
 */
#ifndef KERNEL_TRACEFS_LENT_H
#define KERNEL_TRACEFS_LENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"
#include "kernel/tracefs/broker.h"

/* kernel_lent_parse - whether @name is that of an instance on loan. @uid may be NULL. */
bool kernel_lent_parse(const char *name, uid_t *uid);

/* kernel_lent_mark_alive - a descriptor that shows that the lender of @in lives while it is open, or
 * -errno. No borrower may get it. */
int kernel_lent_mark_alive(const struct kernel_instance *in);

/* kernel_lent_is_over - whether the loan of the instance @name, open as @dir, is over: it was
 * returned, or its lender is dead. */
bool kernel_lent_is_over(const char *name, int dir);

struct kernel_lent_counts {
	int lent; /* by any lender, to this user */
	int kept; /* over, but not removed: a process of the user has a file open */
	int kept_of_all;
	uid_t kept_by; /* one of all */
};

/* kernel_lent_count - count the instances of @uid, by their names. 0 or -errno. */
int kernel_lent_count(int root, uid_t uid, struct kernel_lent_counts *c);

/* kernel_lent_make - make an instance that counts against @uid. -EDQUOT: that user has
 * BROKER_LOANS_OF_ONE less @others, the loans that have no instance yet. */
int kernel_lent_make(struct kernel_instance *in, int root, uid_t uid, bool own_only, int others,
		     struct diag *d);

/* kernel_lent_return - the loan is over: make it worthless, remove it, and close its descriptors.
 * -EBUSY: somebody has a file of it open; kernel_instance_reap() tries again. */
int kernel_lent_return(struct kernel_instance *in);

/* kernel_lent_remove - the same for any instance on loan, at @path below @at, open as @dir. */
int kernel_lent_remove(int at, const char *path, int dir);

/* kernel_lent_end_loans_of - end all loans of the lender @lender, which began at @start
 * (kernel_process_start). */
void kernel_lent_end_loans_of(int root, pid_t lender, unsigned long long start);

#endif
