/* SPDX-License-Identifier: MIT */
/*
 * kernel/select/candidates.c - reads tracefs' list of events and gives each event duet's name.
 *
 * Names are LTTng's where LTTng has the event, so that analyses made for its traces work. System
 * calls come from the table of their numbers, because tracefs lists their tracepoints by the
 * kernel's names.
 */
#include "kernel/select/candidates.h"

#include <stdio.h>
#include <string.h>

#include "rules/pattern.h"
#include "kernel/tracefs/events.h"
#include "kernel/tracefs/syscalls.h"

/* Names that differ from LTTng's by a prefix, for whole systems ... */
static const char *const prefixed[][3] = {
	{ "irq", "softirq_", "irq_" },
	{ "irq", "tasklet_", "irq_" },
	{ "timer", "hrtimer_", "timer_" },
	{ "timer", "itimer_", "timer_" },
	{ "kmem", "mm_page_", "kmem_" },
	{ "kmem", "kmalloc", "kmem_" },
	{ "kmem", "kfree", "kmem_" },
	{ "power", "cpu_", "power_" },
	{ "irq_vectors", "", "x86_irq_vectors_" },
	{ "exceptions", "", "x86_exceptions_" },
	{ "net", "napi_gro_", "net_" },
	{ "power", "wakeup_source_", "power_" },
	{ "printk", "console", "printk_" },
	{ "writeback", "wbc_writepage", "writeback_" },
	{ "writeback", "balance_dirty_pages", "writeback_" },
	{ "writeback", "bdi_dirty_ratelimit", "writeback_" },
	{ "writeback", "global_dirty_state", "writeback_" },
	{ "btrfs", "add_delayed_", "btrfs_" },
	{ "btrfs", "run_delayed_", "btrfs_" },
};

/* ... or by their beginning. */
static const char *const renamed[][3] = {
	{ "net", "netif_", "net_if_" },
	{ "skb", "consume_skb", "skb_consume" },
	{ "skb", "kfree_skb", "skb_kfree" },
	{ "vmscan", "mm_shrink_", "mm_vmscan_shrink_" },
	{ "compaction", "mm_compaction_", "compaction_" },
};

/* Copies @n bytes to the text @to of 96 bytes, from @at on; returns where the text ends. Names are made for
 * thousands of lines and several patterns, so nothing is formatted. */
static size_t put(char *to, size_t at, const char *from, size_t n)
{
	if (n > 95 - at)
		n = 95 - at;
	memcpy(to + at, from, n);
	to[at + n] = 0;
	return at + n;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void name_event(char name[96], const char *system, const char *event, size_t size)
{
	const char *prefix = "";
	size_t at;

	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(system, renamed[i][0]) && begins(event, renamed[i][1])) {
			size_t dropped = strlen(renamed[i][1]);

			at = put(name, 0, renamed[i][2], strlen(renamed[i][2]));
			put(name, at, event + dropped, size - dropped);
			return;
		}
	for (size_t i = 0; i < sizeof prefixed / sizeof *prefixed; i++)
		if (!strcmp(system, prefixed[i][0]) && begins(event, prefixed[i][1]) &&
		    !begins(event, prefixed[i][2]))
			prefix = prefixed[i][2];
	at = put(name, 0, prefix, strlen(prefix));
	put(name, at, event, size);
}

/* The table's row @i of either kind; false behind the last. */
static bool row_of(size_t i, const char *const **row, bool *is_prefix)
{
	size_t n = sizeof renamed / sizeof *renamed;

	*is_prefix = i >= n;
	if (i < n)
		*row = renamed[i];
	else if (i - n < sizeof prefixed / sizeof *prefixed)
		*row = prefixed[i - n];
	else
		return false;
	return true;
}

bool kernel_candidate_of_name(const char *name, char system[96], char event[96])
{
	const char *const *row;
	bool is_prefix;

	for (size_t i = 0; row_of(i, &row, &is_prefix); i++) {
		size_t added = strlen(row[2]), kept = strlen(row[1]);

		if (strncmp(name, row[2], added) != 0 ||
		    (is_prefix && strncmp(name + added, row[1], kept) != 0))
			continue;
		snprintf(event, 96, "%s%s", is_prefix ? "" : row[1], name + added);
		snprintf(system, 96, "%s", row[0]);
		return true;
	}
	return false;
}

struct line {
	char system[64], event[64], name[96];
};

/* Splits a line's "system:event". False if it is too long, or an event that must stay hidden. */
static bool split_line(struct line *l, const char *line, size_t size)
{
	const char *colon = memchr(line, ':', size);
	size_t n_system, n_event;

	if (!colon)
		return false;
	n_system = (size_t)(colon - line);
	n_event = size - n_system - 1;
	if (!n_event || n_system >= sizeof l->system || n_event >= sizeof l->event)
		return false;
	put(l->system, 0, line, n_system);
	put(l->event, 0, colon + 1, n_event);
	return true;
}

static int each_syscall(int (*each)(void *, const struct kernel_candidate *), void *arg)
{
	char name[96], event[96];
	int err = 0;

	for (int i = 0; !err && i < 2 * KERNEL_SYSCALLS_MAX; i++) {
		struct kernel_candidate c = { name, "syscalls", event, i / 2, i % 2 == 0 };
		const char *s = kernel_syscall_name(c.nr), *own;
		size_t at;

		if (!s)
			continue;
		own = kernel_syscall_kernel_name(c.nr);
		at = c.is_entry ? put(name, 0, "syscall_entry_", 14)
				: put(name, 0, "syscall_exit_", 13);
		put(name, at, s, strlen(s));
		at = c.is_entry ? put(event, 0, "sys_enter_", 10) : put(event, 0, "sys_exit_", 9);
		put(event, at, own, strlen(own));
		err = each(arg, &c);
	}
	return err;
}

int kernel_each_candidate(const char *available,
			  int (*each)(void *, const struct kernel_candidate *), void *arg)
{
	bool has_syscalls = false;
	struct line l;
	int err;

	for (const char *line = available; *line;) {
		size_t size = strcspn(line, "\n");

		if (split_line(&l, line, size)) {
			if (kernel_event_is_probe(l.system)) {
				; /* a recorder's own event, this one's or another's */
			} else if (!strcmp(l.system, "raw_syscalls")) {
				has_syscalls = true;
			} else if (strcmp(l.system, "syscalls") != 0) {
				struct kernel_candidate k = { l.name, l.system, l.event, -1,
							      false };

				name_event(l.name, l.system, l.event, strlen(l.event));
				err = each(arg, &k);
				if (err)
					return err;
			}
		}
		line += size + (line[size] == '\n');
	}
	return has_syscalls ? each_syscall(each, arg) : 0;
}

bool kernel_pattern_matches(const char *pattern, const char *system, const char *event,
			    const char *name)
{
	const char *end = pattern + strlen(pattern);

	if (pattern_matches_event(pattern, end, system, event))
		return true;
	return !strchr(pattern, ':') && pattern_glob(pattern, end, name, name + strlen(name));
}
