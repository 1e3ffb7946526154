/* SPDX-License-Identifier: MIT */
/*
 * abi/context.h - the contexts that a channel may record with each of its events.
 *
 * A channel's contexts are a mask of these bits.  Their values lie in each event after vpid and
 * vtid and before the payload, packed, in the order of the bits; see docs/formats/pool.md.  Bits
 * are appended, never renumbered: a program's libduet may be older than the collector.
 */
#ifndef ABI_CONTEXT_H
#define ABI_CONTEXT_H

#include <stdint.h>

enum abi_context {
	ABI_CONTEXT_PROCNAME, /* char[17], the thread's name, padded with NULs */
	ABI_CONTEXT_PPID,     /* i32, as all up to VEGID; -1: unknown */
	ABI_CONTEXT_VUID,
	ABI_CONTEXT_VEUID,
	ABI_CONTEXT_VGID,
	ABI_CONTEXT_VEGID,
	ABI_CONTEXT_CGROUP_NS, /* u32, the namespace's inode, as all up to UTS_NS; 0: unknown */
	ABI_CONTEXT_IPC_NS,
	ABI_CONTEXT_MNT_NS,
	ABI_CONTEXT_NET_NS,
	ABI_CONTEXT_PID_NS,
	ABI_CONTEXT_TIME_NS,
	ABI_CONTEXT_USER_NS,
	ABI_CONTEXT_UTS_NS,
	ABI_CONTEXT_IP,	       /* u64, the return address of the site's event */
	ABI_CONTEXT_CALLSTACK, /* u64, as all up to BRANCH_MISSES: of this thread in user mode,
				  from its first such event; 0: unknown */
	ABI_CONTEXT_SLOT,      /* 16 bytes, duet_context_set() */
	/* u64, as all up to BRANCH_MISSES: of this thread in user mode, from its first such event;
	   0: unknown */
	ABI_CONTEXT_PERF_CYCLES,
	ABI_CONTEXT_PERF_INSTRUCTIONS,
	ABI_CONTEXT_PERF_CACHE_MISSES,
	ABI_CONTEXT_PERF_BRANCH_MISSES,
	ABI_CONTEXTS
};

enum {
	ABI_CALLSTACK_MAX = 32,
	ABI_PROCNAME_BYTES = 17,
	ABI_SLOT_BYTES = 16,
	ABI_CONTEXT_MAX_BYTES = ABI_PROCNAME_BYTES + 5 * 4 + 8 * 4 + 8 + 4 + 8 * ABI_CALLSTACK_MAX +
				ABI_SLOT_BYTES + 4 * 8, /* all of them */
};

#define ABI_CONTEXT_BIT(context) (1ull << (context))
/* A party must not request bits that it does not know. */
#define ABI_CONTEXT_ALL (ABI_CONTEXT_BIT(ABI_CONTEXTS) - 1)

_Static_assert(ABI_CONTEXT_UTS_NS - ABI_CONTEXT_CGROUP_NS == 7, "eight namespaces");
_Static_assert(ABI_CONTEXTS < 64, "a mask of contexts is one word");
_Static_assert(ABI_CONTEXT_VEGID - ABI_CONTEXT_PPID == 4, "five numbers");

#endif
