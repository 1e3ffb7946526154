/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/fields.c - fields of tracepoints' formats, as paths from the arguments.
 *
 * A raw tracepoint costs a third of a classic one, and detaches at once, so the fields of the
 * commonest events are computed from the arguments, exactly as TP_fast_assign does
 * (include/trace/events of Linux).  Fields that are computed there otherwise are not in this table;
 * a handler that uses one gets the classic record.
 */
#include <stddef.h>
#include <string.h>

#include "script/kernel/points/points.h"

static const struct {
	const char *event, *field, *path;
} rows[] = {
	{ "sched_switch", "prev_comm", "prev->comm" },
	{ "sched_switch", "prev_pid", "prev->pid" },
	{ "sched_switch", "prev_prio", "prev->prio" },
	{ "sched_switch", "next_comm", "next->comm" },
	{ "sched_switch", "next_pid", "next->pid" },
	{ "sched_switch", "next_prio", "next->prio" },
	{ "sched_waking", "comm", "p->comm" },
	{ "sched_waking", "pid", "p->pid" },
	{ "sched_waking", "prio", "p->prio" },
	{ "sched_waking", "target_cpu", "p->thread_info.cpu" },
	{ "sched_wakeup", "comm", "p->comm" },
	{ "sched_wakeup", "pid", "p->pid" },
	{ "sched_wakeup", "prio", "p->prio" },
	{ "sched_wakeup", "target_cpu", "p->thread_info.cpu" },
	{ "sched_wakeup_new", "comm", "p->comm" },
	{ "sched_wakeup_new", "pid", "p->pid" },
	{ "sched_wakeup_new", "prio", "p->prio" },
	{ "sched_wakeup_new", "target_cpu", "p->thread_info.cpu" },
	{ "sched_migrate_task", "comm", "p->comm" },
	{ "sched_migrate_task", "pid", "p->pid" },
	{ "sched_migrate_task", "prio", "p->prio" },
	{ "sched_migrate_task", "orig_cpu", "p->thread_info.cpu" },
	{ "sched_migrate_task", "dest_cpu", "dest_cpu" },
	{ "sched_process_exit", "comm", "p->comm" },
	{ "sched_process_exit", "pid", "p->pid" },
	{ "sched_process_exit", "prio", "p->prio" },
	{ "sched_process_free", "comm", "p->comm" },
	{ "sched_process_free", "pid", "p->pid" },
	{ "sched_process_free", "prio", "p->prio" },
	{ "sched_process_fork", "parent_comm", "parent->comm" },
	{ "sched_process_fork", "parent_pid", "parent->pid" },
	{ "sched_process_fork", "child_comm", "child->comm" },
	{ "sched_process_fork", "child_pid", "child->pid" },
	{ "sched_process_exec", "filename", "bprm->filename" },
	{ "sched_process_exec", "pid", "p->pid" },
	{ "sched_process_exec", "old_pid", "old_pid" },
	{ "sched_stat_runtime", "comm", "tsk->comm" },
	{ "sched_stat_runtime", "pid", "tsk->pid" },
	{ "sched_stat_runtime", "runtime", "runtime" },
	{ "irq_handler_entry", "irq", "irq" },
	{ "irq_handler_entry", "name", "action->name" },
	{ "irq_handler_exit", "irq", "irq" },
	{ "irq_handler_exit", "ret", "ret" },
	{ "softirq_entry", "vec", "vec_nr" },
	{ "softirq_exit", "vec", "vec_nr" },
	{ "softirq_raise", "vec", "vec_nr" },
	{ "timer_expire_exit", "timer", "timer" },
	{ "workqueue_execute_start", "work", "work" },
	{ "workqueue_execute_start", "function", "work->func" },
	{ "sys_enter", "id", "id" },
	{ "sys_exit", "ret", "ret" },
	{ "signal_generate", "sig", "sig" },
	{ "signal_generate", "comm", "task->comm" },
	{ "signal_generate", "pid", "task->pid" },
	{ "signal_generate", "group", "group" },
	{ "signal_generate", "result", "result" },
	{ "signal_deliver", "sig", "sig" },
	{ "task_rename", "pid", "task->pid" },
	{ "task_rename", "oldcomm", "task->comm" },
	{ "task_newtask", "pid", "task->pid" },
	{ "task_newtask", "comm", "task->comm" },
	{ "task_newtask", "clone_flags", "clone_flags" },
};

const char *kernel_field_path(const char *event, const char *field)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].event, event) && !strcmp(rows[i].field, field))
			return rows[i].path;
	return NULL;
}
