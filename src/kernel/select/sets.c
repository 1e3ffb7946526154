/* SPDX-License-Identifier: MIT */
/*
 * kernel/select/sets.c - words that stand for several events: sets such as `sched`, and names of
 * system calls.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/select/candidates.h"
#include "kernel/tracefs/syscalls.h"

/* Sets are named lists of patterns. They leave out events that cost more than they are worth: the
 * statistics of sched, which repeat the switches' data at every tick, and allocations of single
 * objects. */
static const struct kernel_event_set sets[] = {
	{ "sched", "sched:sched_switch" },
	{ "sched", "sched:sched_waking" },
	{ "sched", "sched:sched_wakeup" },
	{ "sched", "sched:sched_wakeup_new" },
	{ "sched", "sched:sched_process_*" },
	{ "sched", "sched:sched_migrate_task" },
	{ "sched", "sched:sched_pi_setprio" },
	{ "sched", "task:task_newtask" }, /* shows whether a fork made a thread or a process */
	{ "syscalls", "syscalls:sys_*" },
	{ "irq", "irq:*" },
	{ "irq", "irq_vectors:*_entry" },
	{ "irq", "irq_vectors:*_exit" },
	{ "signal", "signal:*" },
	{ "task", "task:*" },
	{ "block", "block:*" },
	{ "net", "net:*" },
	{ "net", "napi:*" },
	{ "net", "sock:inet_sock_set_state" },
	{ "net", "tcp:*" },
	{ "net", "udp:*" },
	{ "net", "skb:kfree_skb" },
	{ "net", "qdisc:*" },
	{ "mm", "exceptions:page_fault_*" },
	{ "mm", "kmem:mm_page_alloc" },
	{ "mm", "kmem:mm_page_free" },
	{ "mm", "kmem:rss_stat" },
	{ "mm", "vmscan:*" },
	{ "mm", "compaction:*" },
	{ "mm", "oom:*" },
	{ "timer", "timer:*" },
	{ "fs", "filelock:*" },
	{ "fs", "filemap:*" },
	{ "fs", "writeback:*" },
	{ "fs", "iomap:*" },
	{ "fs", "ext4:*" },
	{ "fs", "jbd2:*" },
	{ "fs", "xfs:*" },
	{ "fs", "btrfs:*" },
	{ "fs", "f2fs:*" },
	{ "fs", "nfs*:*" },
	{ "lock", "lock:contention_*" },
	{ "power", "power:*" },
	{ "workqueue", "workqueue:*" },
	/* Added with samples, call stacks and functions, to give names to their processes. */
	{ "profile", "sched:sched_process_fork" },
	{ "profile", "sched:sched_process_exec" },
	{ "profile", "sched:sched_process_exit" },
	{ "profile", "task:task_newtask" },
	{ "profile", "task:task_rename" },
};

const struct kernel_event_set *kernel_event_set(size_t i)
{
	return i < sizeof sets / sizeof *sets ? &sets[i] : NULL;
}

bool kernel_call_pattern(const char *name, char pattern[KERNEL_CALL_PATTERN_BYTES])
{
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++) {
		const char *call = kernel_syscall_name(nr);

		if (call && !strcmp(call, name)) {
			snprintf(pattern, KERNEL_CALL_PATTERN_BYTES, "syscall_*_%s", name);
			return true;
		}
	}
	return false;
}

bool kernel_pattern_has(const char *pattern, const char *tracefs_name, const char *name)
{
	const char *colon = strchr(tracefs_name, ':');
	bool is_set = false, found = false;
	char system[64], call[KERNEL_CALL_PATTERN_BYTES];

	if (!colon || (size_t)(colon - tracefs_name) >= sizeof system)
		return false;
	memcpy(system, tracefs_name, (size_t)(colon - tracefs_name));
	system[colon - tracefs_name] = 0;
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		if (!strcmp(pattern, sets[i].set)) {
			is_set = true;
			found |= kernel_pattern_matches(sets[i].pattern, system, colon + 1, name);
		}
	if (!is_set && !strchr(pattern, ':') && kernel_call_pattern(pattern, call) &&
	    kernel_pattern_matches(call, system, colon + 1, name))
		return true;
	return is_set ? found : kernel_pattern_matches(pattern, system, colon + 1, name);
}
