/* SPDX-License-Identifier: MIT */
/* kernel/probe/probe.c - appends probes to the kernel's lists and removes them.
 *
 * Lines are appended and removed one by one, because other recorders may use the same lists at the
 * same time. */
#include "kernel/probe/probe.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/probe/fetch.h"
#include "kernel/tracefs/events.h"
#include "kernel/tracefs/tracefs.h"

enum { REMOVE_TRIES = 50 };

static const char all_events[] = "dynamic_events";

static const struct {
	const char *option, *file, *needs;
} kinds[] = {
	[KERNEL_UPROBE] = { "-u", "uprobe_events", "CONFIG_UPROBE_EVENTS" },
	[KERNEL_USDT] = { "--usdt", "uprobe_events", "CONFIG_UPROBE_EVENTS" },
	[KERNEL_KPROBE] = { "--kprobe", "kprobe_events",
			    "CONFIG_KPROBE_EVENTS and no lockdown: -k has events" },
	[KERNEL_FPROBE] = { "--fprobe", all_events,
			    "Linux 6.5 and CONFIG_FPROBE_EVENTS: --kprobe does the same" },
	[KERNEL_GRAPH_PROBE] = { "--graph", "kprobe_events",
				 "Linux 6.12 and CONFIG_FUNCTION_GRAPH_TRACER, or "
				 "CONFIG_KPROBE_EVENTS" },
};

const char *kernel_probe_option(enum kernel_probe_kind kind)
{
	assert(kind >= 0 && (size_t)kind < sizeof kinds / sizeof *kinds);
	return kinds[kind].option;
}

/* ---------------------------------------------------------------- adding */

/* "instances/duet-1-2-0" has the group duet_1_2_0. */
static void group_of(const char *instance, char group[64])
{
	const char *name = strrchr(instance, '/');

	snprintf(group, 64, "%s", name ? name + 1 : instance);
	for (char *p = group; *p; p++)
		*p = *p == '-' ? '_' : *p;
}

void kernel_probes_begin(struct kernel_probes *p, int root, const char *instance,
			 struct kernel_selection *s, struct diag *d)
{
	*p = (struct kernel_probes){
		.root = root, .selection = s, .n_others = s->n_events, .d = d
	};
	group_of(instance, p->group);
}

void kernel_probes_fini(struct kernel_probes *p)
{
	text_fini(&p->refused);
	text_fini(&p->added);
}

void kernel_probes_next(struct kernel_probes *p, const struct kernel_uprobe *probe)
{
	p->probe = probe;
	p->first = p->selection->n_events;
	p->added.size = 0;
}

/* "usdt_shop_order": runs of characters that are no letter or digit become one underscore. */
static void make_name(char *to, size_t size, const char *kind, const char *name, size_t name_size)
{
	size_t n = (size_t)snprintf(to, size, "%s_", kind);

	for (size_t i = 0; i < name_size && n + 1 < size; i++)
		if (isalnum((unsigned char)name[i]) || name[i] == '_')
			to[n++] = name[i];
		else if (to[n - 1] != '_')
			to[n++] = '_';
	while (n > 1 && to[n - 1] == '_')
		n--;
	to[n] = 0;
}

/* Whether a probe of another request has the name. */
static bool is_taken(const struct kernel_probes *p, const char *name)
{
	for (int i = 0; i < p->first; i++)
		if (!strcmp(p->selection->events[i].name, name))
			return true;
	return false;
}

/* The README of tracefs shows whether the kernel has fprobes. */
static bool has_kind(int root, enum kernel_probe_kind kind)
{
	bool has = !faccessat(root, kinds[kind].file, F_OK, 0);
	char *manual;

	if (!has || kind != KERNEL_FPROBE || kernel_tracefs_read(root, "README", &manual) < 0)
		return has;
	has = strstr(manual, "f[:[<group>/]");
	free(manual);
	return has;
}

/* Adds the kernel's latest error message for a probe. The log is global, so this is a hint only. */
static void add_reason(int root, char *why, size_t size)
{
	static const char mark[] = "error: ";
	char *log, *last = NULL;

	snprintf(why, size, "check the expression");
	if (kernel_tracefs_read(root, "error_log", &log) < 0)
		return;
	for (char *p = log; (p = strstr(p, mark)); p += sizeof mark - 1)
		last = p + sizeof mark - 1;
	if (last)
		snprintf(why, size, "%.*s", (int)strcspn(last, "\n"), last);
	free(log);
}

static int refuse(struct kernel_probes *p, int err)
{
	const char *option = kernel_probe_option(p->probe->kind), *text = p->probe->text;
	char why[160];

	if (!has_kind(p->root, p->probe->kind))
		return diag_fail(p->d, -EOPNOTSUPP,
				 "%s %s: this kernel has no such probes\n  it needs %s", option,
				 text, kinds[p->probe->kind].needs);
	p->was_refused = true;
	add_reason(p->root, why, sizeof why);
	return diag_fail(p->d, err, "%s %s: the kernel refuses it: %s", option, text,
			 err == -EINVAL ? why : strerror(-err));
}

int kernel_probe_add(struct kernel_probes *p, const char *type, const char *kind, const char *name,
		     size_t name_size, const char *place, const char *fetch)
{
	struct kernel_candidate c = { .system = p->group, .nr = -1 };
	char event[sizeof p->group + 16], plain[96], shown[96];
	struct text line = { 0 };
	int err;

	assert(p->probe && (!*fetch || *fetch == ' '));
	p->was_refused = false;
	if (p->selection->n_events - p->n_others >= KERNEL_PROBES_MAX)
		return diag_fail(p->d, -E2BIG, "more than %d probes: name fewer functions",
				 KERNEL_PROBES_MAX);
	/* With the group number, because kprobe_profile lists events without their group. */
	snprintf(event, sizeof event, "%s_p%d", p->group, p->selection->n_events);
	make_name(plain, sizeof plain, kind, name, name_size);
	snprintf(shown, sizeof shown, "%s", plain);
	for (int i = 2; p->probe->kind != KERNEL_GRAPH_PROBE && is_taken(p, shown); i++)
		snprintf(shown, sizeof shown, "%.80s_%d", plain, i);
	text_addf(&line, "%s:%s/%s %s%s\n", type, p->group, event, place, fetch);
	err = line.failed ? -ENOMEM
			  : kernel_tracefs_write(p->root, kinds[p->probe->kind].file, line.bytes);
	text_fini(&line);
	if (err)
		return refuse(p, err);
	c.event = event;
	c.name = shown;
	return kernel_selection_add(p->selection, &c, p->probe->filter);
}

size_t kernel_probe_word(const char *p)
{
	size_t n = 0;

	for (int depth = 0; p[n] && (!isspace((unsigned char)p[n]) || depth > 0); n++)
		depth += (p[n] == '(' || p[n] == '<') - (p[n] == ')' || p[n] == '>');
	return n;
}

int kernel_probe_fetch(const char *arguments, bool in_kernel, struct text *t, struct diag *d)
{
	int err = 0;

	for (const char *p = arguments; !err && *(p += strspn(p, " \t"));) {
		size_t size = in_kernel ? strcspn(p, " \t") : kernel_probe_word(p);

		err = kernel_fetch_argument(p, size, in_kernel, t, d);
		p += size;
	}
	return !err && t->failed ? diag_fail(d, -ENOMEM, "no memory for probes") : err;
}

uint64_t kernel_probes_missed(int root, const char *instance)
{
	char group[64], *text, event[80];
	uint64_t sum = 0, missed;
	size_t n;

	group_of(instance, group);
	n = strlen(group);
	if (kernel_tracefs_read(root, "kprobe_profile", &text) < 0)
		return 0;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (sscanf(p, "%79s %*u %" SCNu64, event, &missed) == 2 &&
		    !strncmp(event, group, n) && !strncmp(event + n, "_p", 2))
			sum += missed;
	free(text);
	return sum;
}

/* ---------------------------------------------------------------- removing */

/* Removes each line of a recorder's group that @is_wanted accepts. */
static void remove_each(int root, bool (*is_wanted)(void *arg, const char *group), void *arg)
{
	char *text, group[64], event[64], line[160];

	if (kernel_tracefs_read(root, all_events, &text) < 0)
		return;
	for (char *p = text, *end; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		if (sscanf(p, "%*[prf0-9]:%63[^/ \n]/%63[^ \n]", group, event) != 2 ||
		    !kernel_event_is_probe(group) || !is_wanted(arg, group))
			continue;
		snprintf(line, sizeof line, "-:%s/%s\n", group, event);
		for (int i = 0;
		     i < REMOVE_TRIES && kernel_tracefs_write(root, all_events, line) == -EBUSY;
		     i++)
			usleep(2000); /* another process reads it */
	}
	free(text);
}

static bool is_this(void *arg, const char *group)
{
	return !strcmp(arg, group);
}

void kernel_probes_remove(int root, const char *instance)
{
	char group[64];

	group_of(instance, group);
	remove_each(root, is_this, group);
}

/* Probes are made after their instance and removed behind it. */
static bool is_stale(void *arg, const char *group)
{
	char path[96] = "instances/";
	size_t n = strlen(path);

	snprintf(path + n, sizeof path - n, "%s", group);
	for (char *p = path + n; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return kernel_instance_parse(path + n) && faccessat(*(int *)arg, path, F_OK, 0);
}

void kernel_probes_reap(int root)
{
	remove_each(root, is_stale, &root);
}
