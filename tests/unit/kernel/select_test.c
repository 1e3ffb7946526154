/* SPDX-License-Identifier: MIT */
/* From patterns to events and filters. */
#include "kernel/select/select.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "kernel/perf/perf.h"
#include "test.h"

static const char available[] =
	"raw_syscalls:sys_enter\nraw_syscalls:sys_exit\n"
	"syscalls:sys_enter_openat\nsched:sched_switch\n"
	"sched:sched_stat_runtime\nsched:sched_process_fork\n"
	"irq:softirq_entry\nirq_vectors:local_timer_entry\n"
	"timer:hrtimer_start\nnonsense\n:\nx:\nnet:netif_rx\nnet:netif_receive_skb_exit\n"
	"net:napi_gro_frags_entry\nnet:net_dev_queue\nskb:consume_skb\nwriteback:wbc_writepage\n"
	"writeback:writeback_start\nkmem:kmalloc";

static struct kernel_selection s;

static int select_events(const char *a, const char *b)
{
	const char *patterns[] = { a, b };
	const char *const *filters = NULL;

	kernel_selection_fini(&s);
	return kernel_select(&s, available, patterns, filters, b ? 2 : 1, NULL);
}

static int translate(void *arg, const char *expression, struct text *t)
{
	(void)arg;
	text_addf(t, "<%s>", expression);
	return 0;
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

	is(kernel_select(&s, available, NULL, NULL, 0, NULL), 0);
	is(s.n_events, 2);
	ok(has("sched", "sched_switch", "sched_switch"));
	ok(has("sched", "sched_process_fork", "sched_process_fork"));
	ok(s.n_entry > 200 && s.n_entry == s.n_exit);
	kernel_selection_filter(&s, true, translate, NULL, &t);
	is_text(t.bytes, "0");
	text_fini(&t);
}

static void our_names_tracefs_names_and_systems_are_found(void)
{
	is(select_events("irq_softirq_*", NULL), 0);
	ok(has("irq", "softirq_entry", "irq_softirq_entry"));
	is(select_events("irq:soft*", NULL), 0);
	ok(has("irq", "softirq_entry", "irq_softirq_entry"));
	is(select_events("softirq_entry", NULL), 0);
	is(s.n_events, 1);
	is(select_events("sched_*", NULL), 0);
	is(s.n_events, 3);
	is(select_events("irq", NULL), 0);
	ok(has("irq_vectors", "local_timer_entry", "x86_irq_vectors_local_timer_entry"));
	is(select_events("kmem", "timer"), 0);
	ok(has("kmem", "kmalloc", "kmem_kmalloc"));
	ok(has("timer", "hrtimer_start", "timer_hrtimer_start"));
}

static void names_are_lttngs(void)
{
	is(select_events("net:*", "skb:*"), 0);
	ok(has("net", "netif_rx", "net_if_rx"));
	ok(has("net", "netif_receive_skb_exit", "net_if_receive_skb_exit"));
	ok(has("net", "napi_gro_frags_entry", "net_napi_gro_frags_entry"));
	ok(has("net", "net_dev_queue", "net_dev_queue"));
	ok(has("skb", "consume_skb", "skb_consume"));
	is(select_events("writeback:*", NULL), 0);
	ok(has("writeback", "wbc_writepage", "writeback_wbc_writepage"));
	ok(has("writeback", "writeback_start", "writeback_start"));
}

static void an_exclusion_takes_from_what_was_chosen(void)
{
	is(select_events("sched_*", "!*_fork"), 0);
	is(s.n_events, 2);
	ok(!has("sched", "sched_process_fork", "sched_process_fork"));
	is(select_events("syscall_*_close", "!syscall_exit_*"), 0);
	is(s.n_entry, 1);
	is(s.n_exit, 0);
	is(select_events("!syscalls", NULL), 0); /* of the default */
	is(s.n_events, 2);
	is(s.n_entry, 0);
	is(select_events("irq", "!sched_switch"), -ENOENT);
	is(select_events("irq:softirq_entry", "!irq"), -ENOENT);
}

static void system_calls_become_a_filter(void)
{
	struct text t = { 0 };
	char wanted[64];

	is(select_events("syscall_entry_openat", "syscalls:sys_*_close"), 0);
	is(s.n_events, 0);
	is(s.n_entry, 2);
	is(s.n_exit, 1);
	ok(s.entry[SYS_openat] && s.entry[SYS_close] && s.exit[SYS_close]);
	kernel_selection_filter(&s, false, translate, NULL, &t);
	snprintf(wanted, sizeof wanted, "id==%d", SYS_close);
	is_text(t.bytes, wanted);
	text_fini(&t);
	kernel_selection_filter(&s, true, translate, NULL, &t);
	ok(strstr(t.bytes, "||") && strstr(t.bytes, wanted));
	text_fini(&t);
}

static void choosing_twice_is_choosing_once(void)
{
	is(select_events("sched_switch", "sched:*"), 0);
	is(s.n_events, 3);
	is(select_events("syscall_entry_close", "syscall_*_close"), 0);
	is(s.n_entry, 1);
}

static void all_events_may_have_stacks(void)
{
	is(select_events("stack:profile", NULL), 0);
	is(s.n_events, 0);
	is(s.by_perf->n_events, 1);
	is_text(s.by_perf->events[0].name, "sched_process_fork");
}

static void events_have_the_contexts_requested(void)
{
	is(select_events("with:page-faults+user-stack:sched_switch",
			 "with:cycles+page-faults:syscall_entry_close"),
	   0);
	is(s.n_counters, 2);
	is_text(s.counters[0].event, "perf_cpu_page_faults");
	is_text(s.counters[1].event, "perf_cpu_cycles");
	is(s.by_perf->events[0].extras, KERNEL_PERF_VALUE | KERNEL_PERF_USER_STACK);
	is(s.by_perf->entry_extras[SYS_close], KERNEL_PERF_VALUE | KERNEL_PERF_VALUE << 1);
	is(s.by_perf->n_entry, 1);
	is(select_events("stack:sched_switch", "with:page-faults:sched_switch"), 0);
	is(s.by_perf->n_events, 1);
	is(s.by_perf->events[0].extras, KERNEL_PERF_STACKS | KERNEL_PERF_VALUE);
}

static void impossible_contexts_are_named(void)
{
	static const char *const patterns[] = { "with:page-faults",
						"with:",
						"with",
						"with:nonsense:sched_switch",
						"with:+stack:sched_switch",
						"with:stack+:sched_switch" };
	struct diag d;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		is(kernel_select(&s, available, &patterns[i], NULL, 1, &d), -EINVAL);
		ok(strstr(d.text, "with"));
	}
}

static void process_names_can_be_excluded_and_filtered(void)
{
	const char *patterns[] = { "profile:99", "sched_process_fork" }, *filters[] = { NULL, "f" };

	is(select_events("profile:99", NULL), 0);
	ok(has("sched", "sched_process_fork", "sched_process_fork"));
	is(select_events("profile:99", "!sched_process_fork"), 0);
	is(s.n_events, 0);
	kernel_selection_fini(&s);
	is(kernel_select(&s, available, patterns, filters, 2, NULL), 0);
	is_text(s.events[0].filter, "f");
}

static void pattern_without_event_is_named(void)
{
	const char *pattern = "sched_swich";
	struct diag d;

	is(kernel_select(&s, available, &pattern, NULL, 1, &d), -ENOENT);
	ok(strstr(d.text, "sched_swich: did you mean sched_switch?"));
}

static const char *filter_of(const char *system, const char *event)
{
	for (int i = 0; i < s.n_events; i++)
		if (!strcmp(s.events[i].system, system) && !strcmp(s.events[i].event, event))
			return s.events[i].filter;
	return "not chosen";
}

static void each_event_has_the_filter_of_its_last_pattern(void)
{
	static const char *const patterns[] = { "sched", "syscalls", "sched_switch",
						"syscall_*_read", "syscall_exit_close" };
	static const char *const filters[] = { "a", "b", "c", NULL, "d" };
	struct text t = { 0 };

	kernel_selection_fini(&s);
	is(kernel_select(&s, available, patterns, filters, 5, NULL), 0);
	is_text(filter_of("sched", "sched_switch"), "c");
	is_text(filter_of("sched", "sched_process_fork"), "a");
	is(kernel_selection_filter(&s, true, translate, NULL, &t), 0);
	is_text(t.bytes, "0"); /* beginnings have none */
	t.size = 0;
	is(kernel_selection_filter(&s, false, translate, NULL, &t), 0);
	ok(!strncmp(t.bytes, "id==0||((<b>)&&(id==1||", 23)); /* SYS_read, then the others */
	ok(strstr(t.bytes, "||((<d>)&&(id==3))"));
	t.size = 0;
	kernel_selection_fini(&s);
	is(kernel_select(&s, available, patterns + 1, filters + 1, 1, NULL), 0);
	is(kernel_selection_filter(&s, false, translate, NULL, &t), 0);
	is_text(t.bytes, "<b>");
	text_fini(&t);
}

int main(void)
{
	run(each_event_has_the_filter_of_its_last_pattern);
	run(default_is_scheduling_and_all_system_calls);
	run(our_names_tracefs_names_and_systems_are_found);
	run(names_are_lttngs);
	run(an_exclusion_takes_from_what_was_chosen);
	run(system_calls_become_a_filter);
	run(choosing_twice_is_choosing_once);
	run(all_events_may_have_stacks);
	run(events_have_the_contexts_requested);
	run(impossible_contexts_are_named);
	run(process_names_can_be_excluded_and_filtered);
	run(pattern_without_event_is_named);
	kernel_selection_fini(&s);
	return test_status();
}
