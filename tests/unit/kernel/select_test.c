/* SPDX-License-Identifier: MIT */
/* From patterns to events and filters. */
#include "kernel/select.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "test.h"

static const char available[] = "raw_syscalls:sys_enter\nraw_syscalls:sys_exit\n"
				"syscalls:sys_enter_openat\nsched:sched_switch\n"
				"sched:sched_stat_runtime\nsched:sched_process_fork\n"
				"irq:softirq_entry\nirq_vectors:local_timer_entry\n"
				"timer:hrtimer_start\nnonsense\n:\nx:\nkmem:kmalloc";

static struct kernel_selection s;

static int choose(const char *a, const char *b)
{
	const char *patterns[] = { a, b };

	kernel_selection_fini(&s);
	return kernel_select(&s, available, patterns, b ? 2 : 1, NULL);
}

static bool has(const char *system, const char *event, const char *name)
{
	for (int i = 0; i < s.n_events; i++)
		if (!strcmp(s.events[i].system, system) && !strcmp(s.events[i].event, event))
			return !strcmp(s.events[i].name, name);
	return false;
}

static void default_is_scheduling_and_all_system_calls(void)
{
	struct text t = { 0 };

	is(kernel_select(&s, available, NULL, 0, NULL), 0);
	is(s.n_events, 2);
	ok(has("sched", "sched_switch", "sched_switch"));
	ok(has("sched", "sched_process_fork", "sched_process_fork"));
	ok(s.n_entry > 200 && s.n_entry == s.n_exit);
	kernel_selection_filter(&s, true, &t);
	is_text(t.bytes, "0");
	text_fini(&t);
}

static void our_names_tracefs_names_and_systems_are_found(void)
{
	is(choose("irq_softirq_*", NULL), 0);
	ok(has("irq", "softirq_entry", "irq_softirq_entry"));
	is(choose("irq:soft*", NULL), 0);
	ok(has("irq", "softirq_entry", "irq_softirq_entry"));
	is(choose("softirq_entry", NULL), 0);
	is(s.n_events, 1);
	is(choose("sched_*", NULL), 0);
	is(s.n_events, 3);
	is(choose("irq", NULL), 0);
	ok(has("irq_vectors", "local_timer_entry", "x86_irq_vectors_local_timer_entry"));
	is(choose("kmem", "timer"), 0);
	ok(has("kmem", "kmalloc", "kmem_kmalloc"));
	ok(has("timer", "hrtimer_start", "timer_hrtimer_start"));
}

static void an_exclusion_takes_from_what_was_chosen(void)
{
	is(choose("sched_*", "!*_fork"), 0);
	is(s.n_events, 2);
	ok(!has("sched", "sched_process_fork", "sched_process_fork"));
	is(choose("syscall_*_close", "!syscall_exit_*"), 0);
	is(s.n_entry, 1);
	is(s.n_exit, 0);
	is(choose("!syscalls", NULL), 0); /* of the default */
	is(s.n_events, 2);
	is(s.n_entry, 0);
	is(choose("irq", "!sched_switch"), -ENOENT);
	is(choose("irq:softirq_entry", "!irq"), -ENOENT);
}

static void system_calls_become_a_filter(void)
{
	struct text t = { 0 };
	char wanted[64];

	is(choose("syscall_entry_openat", "syscalls:sys_*_close"), 0);
	is(s.n_events, 0);
	is(s.n_entry, 2);
	is(s.n_exit, 1);
	ok(s.entry[SYS_openat] && s.entry[SYS_close] && s.exit[SYS_close]);
	kernel_selection_filter(&s, false, &t);
	snprintf(wanted, sizeof wanted, "id==%d", SYS_close);
	is_text(t.bytes, wanted);
	text_fini(&t);
	kernel_selection_filter(&s, true, &t);
	ok(strstr(t.bytes, "||") && strstr(t.bytes, wanted));
	text_fini(&t);
}

static void choosing_twice_is_choosing_once(void)
{
	is(choose("sched_switch", "sched:*"), 0);
	is(s.n_events, 3);
	is(choose("syscall_entry_close", "syscall_*_close"), 0);
	is(s.n_entry, 1);
}

static void pattern_without_event_is_named(void)
{
	const char *pattern = "sched_swich";
	struct diag d;

	is(kernel_select(&s, available, &pattern, 1, &d), -ENOENT);
	ok(strstr(d.text, "sched_swich") && strstr(d.text, "duet list -k"));
}

int main(void)
{
	run(default_is_scheduling_and_all_system_calls);
	run(our_names_tracefs_names_and_systems_are_found);
	run(an_exclusion_takes_from_what_was_chosen);
	run(system_calls_become_a_filter);
	run(choosing_twice_is_choosing_once);
	run(pattern_without_event_is_named);
	kernel_selection_fini(&s);
	return test_status();
}
