# SPDX-License-Identifier: MIT
"""Fields that Trace Compass's analyses read, of events of LTTng: found in its sources (June 2026), as a table of our own.

A row: analysis, events, fields.  A field is a number unless it ends in `"`, which is a text, or in `[]`, numbers.  An event in
brackets is missing on some kernels and architectures, and counts where it is recorded.
"""
import re

KERNEL = [
    ("kernel", "sched_switch", 'prev_comm" prev_tid prev_prio prev_state next_comm" next_tid next_prio'),
    ("kernel", "sched_wakeup sched_wakeup_new sched_waking", 'comm" tid prio target_cpu'),
    ("kernel", "sched_migrate_task", "tid dest_cpu"),
    ("kernel", "sched_pi_setprio", "tid newprio"),
    ("kernel", "sched_process_fork", 'parent_tid child_comm" child_tid child_pid'),
    ("kernel", "sched_process_exec", 'tid filename"'),
    ("kernel", "sched_process_exit sched_process_free", 'comm" tid prio'),
    ("kernel", "irq_handler_entry", 'irq name"'),
    ("kernel", "irq_handler_exit", "irq ret"),
    ("kernel", "irq_softirq_entry irq_softirq_exit irq_softirq_raise", "vec"),
    ("kernel", "[x86_irq_vectors_local_timer_entry] [x86_irq_vectors_local_timer_exit] [x86_irq_vectors_reschedule_entry]", "vector"),
    ("kernel", "[power_cpu_frequency]", "cpu_id state"),
    ("kernel", "timer_hrtimer_start", "hrtimer function expires softexpires"),
    ("kernel", "timer_hrtimer_expire_entry", "hrtimer function now"),
    ("kernel", "timer_hrtimer_cancel timer_hrtimer_expire_exit", "hrtimer"),
    ("kernel", "lttng_statedump_process_state", 'tid pid ppid name" status cpu'),
    ("disk", "lttng_statedump_block_device", 'dev diskname"'),
    ("disk", "block_rq_insert block_rq_issue", "dev sector nr_sector rwbs"),
    ("disk", "block_rq_complete", "dev sector nr_sector rwbs"),
    ("disk", "block_bio_frontmerge block_bio_backmerge", "dev sector nr_sector rwbs"),
    ("disk", "syscall_exit_read syscall_exit_write syscall_exit_openat", "ret"),
    ("memory", "kmem_mm_page_alloc kmem_mm_page_free", "order"),
]
HEAP = [
    ("heap", "lttng_ust_libc:malloc", "size ptr"),
    ("heap", "lttng_ust_libc:free", "ptr"),
    ("heap", "lttng_ust_libc:calloc", "nmemb size ptr"),
    ("heap", "lttng_ust_libc:realloc", "in_ptr size ptr"),
    ("heap", "lttng_ust_libc:memalign", "alignment size ptr"),
    ("heap", "lttng_ust_libc:posix_memalign", "out_ptr alignment size"),
]
CALLS = [
    ("call stack", "lttng_ust_cyg_profile:func_entry lttng_ust_cyg_profile:func_exit", "addr call_site"),
]
EXPORTED_CALLS = CALLS + [
    ("call stack", "lttng_ust_statedump:bin_info", 'baddr memsz path" is_pic has_build_id has_debug_link'),
    ("call stack", "lttng_ust_statedump:build_id", "baddr build_id[]"),
]
# Of each event: the header and the contexts.
CONTEXTS = {"kernel": "cpu_id tid", "ust": "cpu_id vpid vtid"}


def kind_of(declared, behind):
    """Of a member of a struct of TSDL: `n`umber, `t`ext, or `a`rray of numbers."""
    if declared == "string" or declared.startswith("string "):
        return "t"
    if "[" in behind:
        return "t" if "encoding = UTF8" in declared else "a"
    return "n" if re.match(r"u?int\d+_t|integer|enum", declared) else "?"


def described(metadata):
    """TSDL -> of each event its fields, with their kinds"""
    events = {}
    for name, body in re.findall(r'^event \{\n\tname = "([^"]+)";.*?fields := struct \{\n?(.*?)\n?\t\};?\n?\};', metadata, re.S | re.M):
        events[name] = {}
        for declared, field, behind in re.findall(r"^\t\t((?:integer|string|enum)[^;{]*\{[^}]*\}|\w+)\s+_?(\w+)\s*(\[[^\]]*\])?;", body, re.M):
            events[name][field] = kind_of(declared, behind)
    return events


def missing(table, metadata):
    """-> rows of @table that the trace does not satisfy"""
    events, bad = described(metadata), []
    for analysis, names, fields in table:
        for name in names.split():
            if name.startswith("[") and name.strip("[]") not in events:
                continue
            has = events.get(name.strip("[]"))
            for field in fields.split():
                kind = "t" if field.endswith('"') else "a" if field.endswith("[]") else "n"
                if not has or has.get(field.strip('"[]')) != kind:
                    bad.append((analysis, name, field, has))
    return bad
