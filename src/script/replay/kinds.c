/* SPDX-License-Identifier: MIT */
/*
 * script/replay/kinds.c - what the names of recorded events and fields mean.
 *
 * Recordings have LTTng's names (kernel/select/candidates.c, kernel/convert/layout.c); scripts have
 * the kernel's.  Both are understood.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/convert/layout.h"
#include "kernel/select/candidates.h"
#include "rules/pattern.h"
#include "script/replay/internal.h"

static const struct {
	const char *begin;
	enum replay_kind kind;
} kinds[] = {
	{ "syscall_entry_", REPLAY_ENTRY },
	{ "syscall_exit_", REPLAY_EXIT },
	{ "compat_syscall_entry_", REPLAY_ENTRY },
	{ "compat_syscall_exit_", REPLAY_EXIT },
	{ "kprobe_", REPLAY_CALLED },
	{ "fprobe_", REPLAY_CALLED },
	{ "kretprobe_", REPLAY_RETURNED },
	{ "fretprobe_", REPLAY_RETURNED },
	{ "uprobe_", REPLAY_USER_CALLED },
	{ "uretprobe_", REPLAY_USER_RETURNED },
	{ "usdt_", REPLAY_MARKER },
	{ "lttng_statedump_", REPLAY_DUMP },
};

static const struct {
	const char *name;
	enum replay_kind kind;
} whole[] = {
	{ "funcgraph_entry", REPLAY_GRAPH_ENTRY },
	{ "funcgraph_exit", REPLAY_GRAPH_EXIT },
	{ "function", REPLAY_FUNCTION },
	{ "profile", REPLAY_SAMPLE },
};

enum replay_kind replay_kind_of(const char *name, const char **subject)
{
	*subject = name;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = strlen(kinds[i].begin);

		if (!strncmp(name, kinds[i].begin, n)) {
			*subject = name + n;
			return kinds[i].kind;
		}
	}
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (!strcmp(name, whole[i].name))
			return whole[i].kind;
	return REPLAY_OTHER;
}

/* Systems of tracepoints by the beginning of their names; the first that fits counts. */
static const struct {
	const char *begin, *system;
} systems[] = {
	{ "sched_", "sched" },	   { "task_", "task" },		  { "signal_", "signal" },
	{ "irq_handler_", "irq" }, { "block_", "block" },	  { "workqueue_", "workqueue" },
	{ "timer_", "timer" },	   { "tick_", "timer" },	  { "tcp_", "tcp" },
	{ "udp_", "udp" },	   { "inet_sock_", "sock" },	  { "sock_", "sock" },
	{ "net_", "net" },	   { "napi_", "napi" },		  { "qdisc_", "qdisc" },
	{ "rss_stat", "kmem" },	   { "mm_vmscan_", "vmscan" },	  { "mm_filemap_", "filemap" },
	{ "ext4_", "ext4" },	   { "jbd2_", "jbd2" },		  { "xfs_", "xfs" },
	{ "btrfs_", "btrfs" },	   { "writeback_", "writeback" }, { "iomap_", "iomap" },
	{ "oom_", "oom" },	   { "power_", "power" },	  { "cpu_", "power" },
	{ "rcu_", "rcu" },	   { "module_", "module" },	  { "contention_", "lock" },
	{ "scsi_", "scsi" },	   { "nvme_", "nvme" },
};

void replay_tracepoint(const char *name, char system[96], char event[96])
{
	*system = 0;
	snprintf(event, 96, "%s", name);
	if (kernel_candidate_of_name(name, system, event))
		return;
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
		if (!strncmp(name, systems[i].begin, strlen(systems[i].begin))) {
			snprintf(system, 96, "%s", systems[i].system);
			return;
		}
}

/* Members of the arguments of raw tracepoints that the formatted event has.  Recorded priorities
 * are relative to the first one that is not realtime (kernel_layout_shift). */
static const struct {
	const char *event, *path, *field;
	int add; /* to the recorded number */
} members[] = {
	{ "sched_switch", "prev->pid", "prev_tid" },
	{ "sched_switch", "prev->comm", "prev_comm" },
	{ "sched_switch", "prev->prio", "prev_prio", KERNEL_REALTIME_PRIORITIES },
	{ "sched_switch", "prev->__state", "prev_state" },
	{ "sched_switch", "prev->state", "prev_state" },
	{ "sched_switch", "next->pid", "next_tid" },
	{ "sched_switch", "next->comm", "next_comm" },
	{ "sched_switch", "next->prio", "next_prio", KERNEL_REALTIME_PRIORITIES },
	{ "sched_wak*", "p->pid", "tid" },
	{ "sched_wak*", "p->comm", "comm" },
	{ "sched_wak*", "p->prio", "prio", KERNEL_REALTIME_PRIORITIES },
	{ "sched_migrate_task", "p->pid", "tid" },
	{ "sched_migrate_task", "p->comm", "comm" },
	{ "sched_migrate_task", "p->prio", "prio", KERNEL_REALTIME_PRIORITIES },
	{ "sched_stat_*", "tsk->pid", "tid" },
	{ "sched_stat_*", "tsk->comm", "comm" },
	{ "sched_process_fork", "parent->pid", "parent_tid" },
	{ "sched_process_fork", "parent->comm", "parent_comm" },
	{ "sched_process_fork", "child->pid", "child_tid" },
	{ "sched_process_fork", "child->tgid", "child_pid" },
	{ "sched_process_fork", "child->comm", "child_comm" },
	{ "sched_process_e*", "p->pid", "tid" },
	{ "sched_process_exec", "old_pid", "old_tid" },
	{ "sched_process_exec", "bprm->filename", "filename" },
	{ "sched_process_exit", "p->comm", "comm" },
	{ "sched_process_exit", "p->prio", "prio", KERNEL_REALTIME_PRIORITIES },
	{ "sched_process_free", "p->pid", "tid" },
	{ "sched_process_free", "p->comm", "comm" },
	{ "irq_handler_entry", "action->name", "name" },
	{ "signal_generate", "task->pid", "pid" },
	{ "signal_generate", "task->comm", "comm" },
	{ "task_newtask", "task->pid", "pid" },
	{ "task_newtask", "task->comm", "comm" },
	{ "task_rename", "task->pid", "pid" },
	{ "irq_softirq_*", "vec_nr", "vec" },
};

const char *replay_member_field(const char *event, const char *path, int64_t *add)
{
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (!strcmp(path, members[i].path) &&
		    pattern_glob(members[i].event, members[i].event + strlen(members[i].event),
				 event, event + strlen(event))) {
			*add = members[i].add;
			return members[i].field;
		}
	return NULL;
}

const char *replay_kernel_field(const char *event, const char *name)
{
	char system[96], kernel_name[96];

	replay_tracepoint(event, system, kernel_name);
	return kernel_layout_shown_name(system, name);
}
