/* SPDX-License-Identifier: MIT */
/* cmd/report/futex.c - names of futex operations; their numbers are in
 * include/uapi/linux/futex.h. */
#include "cmd/report/futex.h"

#include <linux/futex.h>
#include <stdio.h>

const char *futex_op_text(int64_t op, char buffer[32])
{
	static const char *const names[] = {
		[FUTEX_WAIT] = "WAIT",
		[FUTEX_WAKE] = "WAKE",
		[FUTEX_REQUEUE] = "REQUEUE",
		[FUTEX_CMP_REQUEUE] = "CMP_REQUEUE",
		[FUTEX_WAKE_OP] = "WAKE_OP",
		[FUTEX_LOCK_PI] = "LOCK_PI",
		[FUTEX_UNLOCK_PI] = "UNLOCK_PI",
		[FUTEX_TRYLOCK_PI] = "TRYLOCK_PI",
		[FUTEX_WAIT_BITSET] = "WAIT_BITSET",
		[FUTEX_WAKE_BITSET] = "WAKE_BITSET",
		[FUTEX_WAIT_REQUEUE_PI] = "WAIT_REQUEUE_PI",
		[FUTEX_CMP_REQUEUE_PI] = "CMP_REQUEUE_PI",
		[13] = "LOCK_PI2",
	};
	uint64_t command = (uint64_t)op & (uint64_t)FUTEX_CMD_MASK & 0xffffffff;

	if (command >= sizeof names / sizeof *names || !names[command])
		snprintf(buffer, 32, "%lld", (long long)op);
	else
		snprintf(buffer, 32, "%s%s", names[command],
			 op & FUTEX_PRIVATE_FLAG ? " private" : "");
	return buffer;
}
