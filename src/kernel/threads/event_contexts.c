/* SPDX-License-Identifier: MIT */
/* kernel/threads/event_contexts.c - adds contexts to events from a table of all threads.
 *
 * The table of threads is in thread_table.h; thread_changes.h applies changes to it. A thread
 * without reliable data is read from /proc when it has its next event, at most once a second. */
#include "kernel/threads/event_contexts.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"
#include "kernel/tracefs/page_format.h"
#include "kernel/threads/thread_changes.h"

#define SECOND_NS 1000000000ull
#define KEPT_NS (10 * SECOND_NS)       /* events are at most this much older than the newest */
#define KEPT_LONG_NS (600 * SECOND_NS) /* the same for a flight recorder */

enum { VERSIONS_MAX = 1 << 16 }; /* 24 MB; with more versions, older ones are dropped sooner */

struct kernel_contexts {
	struct kernel_thread_events *thread_events;
	bool keeps;
	uint64_t applied_ns; /* all changes up to then are applied */
	uint64_t pruned_ns;
	bool has_lost, reports_lost; /* changes since uncertain_ns were lost; not yet reported */
	uint64_t uncertain_ns;	     /* data from before may be wrong */
	struct thread *last;	     /* the thread of the latest event */
	uint8_t bytes[KERNEL_CONTEXTS_BYTES_MAX];
	struct thread_table threads;
};

/* ---------------------------------------------------------------- names */

#define NUMBER(name, is_signed)                                                                    \
	"integer { size = 32; align = 8; signed = " is_signed "; base = 10; } _" name ";"

static const struct {
	const char *name, *field;
} contexts[KERNEL_CONTEXTS] = {
	[KERNEL_CONTEXT_PID] = { "pid", NUMBER("pid", "true") },
	[KERNEL_CONTEXT_PPID] = { "ppid", NUMBER("ppid", "true") },
	[KERNEL_CONTEXT_VPID] = { "vpid", NUMBER("vpid", "true") },
	[KERNEL_CONTEXT_VTID] = { "vtid", NUMBER("vtid", "true") },
	[KERNEL_CONTEXT_PRIO] = { "prio", NUMBER("prio", "true") },
	[KERNEL_CONTEXT_NICE] = { "nice", NUMBER("nice", "true") },
	[KERNEL_CONTEXT_UID] = { "uid", NUMBER("uid", "false") },
	[KERNEL_CONTEXT_EUID] = { "euid", NUMBER("euid", "false") },
	[KERNEL_CONTEXT_GID] = { "gid", NUMBER("gid", "false") },
	[KERNEL_CONTEXT_EGID] = { "egid", NUMBER("egid", "false") },
	[KERNEL_CONTEXT_CGROUP_NS] = { "cgroup_ns", NUMBER("cgroup_ns", "false") },
	[KERNEL_CONTEXT_IPC_NS] = { "ipc_ns", NUMBER("ipc_ns", "false") },
	[KERNEL_CONTEXT_MNT_NS] = { "mnt_ns", NUMBER("mnt_ns", "false") },
	[KERNEL_CONTEXT_NET_NS] = { "net_ns", NUMBER("net_ns", "false") },
	[KERNEL_CONTEXT_PID_NS] = { "pid_ns", NUMBER("pid_ns", "false") },
	[KERNEL_CONTEXT_TIME_NS] = { "time_ns", NUMBER("time_ns", "false") },
	[KERNEL_CONTEXT_USER_NS] = { "user_ns", NUMBER("user_ns", "false") },
	[KERNEL_CONTEXT_UTS_NS] = { "uts_ns", NUMBER("uts_ns", "false") },
	[KERNEL_CONTEXT_PROCNAME] = { "procname", "integer { size = 8; align = 8; signed = false; "
						  "encoding = UTF8; } "
						  "_procname[17];" },
	[KERNEL_CONTEXT_CGROUP] = { "cgroup", "string _cgroup;" },
};

static const struct {
	const char *name;
	uint32_t mask;
} aliases[] = {
	{ "comm", KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) },
	{ "namespaces", KERNEL_CONTEXT_NAMESPACES },
	{ "tid", 0 }, /* every event has it */
	{ "cpu_id", 0 },
};

static bool is_word(const char *name, const char *word, size_t size)
{
	return strlen(name) == size && !memcmp(name, word, size);
}

static int parse_one(const char *word, size_t size, uint32_t *mask, struct diag *d)
{
	struct text all = { 0 };
	int err;

	for (int i = 0; i < KERNEL_CONTEXTS; i++)
		if (is_word(contexts[i].name, word, size)) {
			*mask |= KERNEL_CONTEXT_BIT(i);
			return 0;
		}
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (is_word(aliases[i].name, word, size)) {
			*mask |= aliases[i].mask;
			return 0;
		}
	for (int i = 0; i < KERNEL_CONTEXTS; i++)
		text_addf(&all, ",%s", contexts[i].name);
	err = diag_fail(d, -EINVAL,
			"no context of kernel events is called '%.*s'\n  there are: namespaces%s",
			size > 64 ? 64 : (int)size, word, all.failed ? "" : all.bytes);
	text_fini(&all);
	return err;
}

int kernel_contexts_parse(const char *names, uint32_t *mask, struct diag *d)
{
	uint32_t found = *mask;

	for (const char *p = names;; p++) {
		size_t size = strcspn(p, ",");
		int err = parse_one(p, size, &found, d);

		if (err)
			return err;
		p += size;
		if (!*p)
			break;
	}
	*mask = found;
	return 0;
}

void kernel_contexts_tsdl(const struct kernel_contexts *c, struct text *out)
{
	for (int i = 0; c && i < KERNEL_CONTEXTS; i++)
		if (c->threads.mask & KERNEL_CONTEXT_BIT(i))
			text_addf(out, "\t\t%s\n", contexts[i].field);
}

/* ---------------------------------------------------------------- applying changes */

/* Changes that were not read until now, for example because this process was stopped, may be older
 * than the versions kept normally. */
static void prune(struct kernel_contexts *c, uint64_t now_ns)
{
	bool is_crowded = c->threads.n_versions > VERSIONS_MAX;
	uint64_t kept_ns = c->keeps	? is_crowded ? KEPT_NS : KEPT_LONG_NS
			   : is_crowded ? SECOND_NS
					: KEPT_NS;

	threads_prune(&c->threads, c->pruned_ns > kept_ns ? c->pruned_ns - kept_ns : 0);
	c->pruned_ns = now_ns;
	c->last = NULL;
}

/*
 * After a loss no data about living threads is certain; for ended threads it was valid until now. A
 * thread is read from /proc again when it has an event. All threads are read at once only if events
 * may be converted much later. This happens at most once a second: a program that causes losses all
 * the time must not keep duet from reading.
 */
static void mark_uncertain(struct kernel_contexts *c, uint64_t now_ns)
{
	c->has_lost = false;
	c->uncertain_ns = now_ns;
	for (int i = 0; c->keeps && i < THREAD_BUCKETS; i++)
		for (struct thread *t = c->threads.buckets[i]; t; t = t->next)
			if (t->n)
				threads_reread(&c->threads, t, now_ns, ~0u);
}

void kernel_contexts_learn(struct kernel_contexts *c)
{
	uint64_t now_ns;

	if (!c)
		return;
	now_ns = clock_now_ns(c->threads.clock);
	c->last = NULL;
	if (!kernel_thread_events_read(c->thread_events, threads_change, &c->threads))
		c->has_lost = c->reports_lost = true;
	if (c->has_lost && now_ns - c->uncertain_ns > SECOND_NS)
		mark_uncertain(c, now_ns);
	c->applied_ns = now_ns;
	if (now_ns - c->pruned_ns > SECOND_NS)
		prune(c, now_ns);
}

bool kernel_contexts_have_lost(struct kernel_contexts *c)
{
	bool lost = c && c->reports_lost;

	if (c)
		c->reports_lost = false;
	return lost;
}

/* ---------------------------------------------------------------- beginning and end */

int kernel_contexts_open(struct kernel_contexts **out, uint32_t mask,
			 const struct kernel_thread_events_options *o, bool keeps, struct diag *d)
{
	struct kernel_contexts *c = calloc(1, sizeof *c);
	int err;

	*out = NULL;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for contexts of kernel events");
	c->threads.mask = mask;
	c->threads.proc_only = ~(KERNEL_CONTEXTS_REPORTED | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PID) |
				 (o->system_calls ? KERNEL_CONTEXT_CREDENTIALS : 0));
	c->threads.has_setters = o->system_calls;
	c->threads.clock = o->clock;
	c->keeps = keeps;
	err = kernel_thread_events_open(&c->thread_events, o, d);
	if (err)
		kernel_contexts_close(c);
	else
		*out = c;
	return err;
}

void kernel_contexts_close(struct kernel_contexts *c)
{
	if (!c)
		return;
	kernel_thread_events_close(c->thread_events);
	threads_forget(&c->threads);
	free(c);
}

static void read_threads(struct kernel_contexts *c, const char *pid)
{
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			threads_meet(&c->threads, atoi(e->d_name));
	if (dir)
		closedir(dir);
}

int kernel_contexts_begin(struct kernel_contexts *c, struct diag *d)
{
	struct dirent *e;
	DIR *dir;
	int err;

	if (!c)
		return 0;
	threads_forget(&c->threads);
	c->last = NULL;
	err = kernel_thread_events_run(c->thread_events, true);
	if (err)
		return diag_fail(d, err, "cannot follow changes of threads: %s", strerror(-err));
	dir = opendir("/proc");
	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			read_threads(c, e->d_name);
	if (dir)
		closedir(dir);
	kernel_contexts_learn(c);
	return 0;
}

/* ---------------------------------------------------------------- events */

/* If no change was reported since the event at @ns, the data from /proc is valid from the event
 * on. */
static void refresh_after_event(struct kernel_contexts *c, struct thread *t, uint64_t ns)
{
	uint32_t n_reported = t->n_reported;
	struct kernel_thread_state now;
	int32_t tid = t->tid;

	if (!threads_read(&c->threads, t, &now, c->threads.proc_only))
		return;
	kernel_contexts_learn(c);
	t = threads_find(&c->threads, tid);
	if (t && t->n && t->n_reported == n_reported)
		threads_apply(&c->threads, t, &now, ns, c->threads.proc_only);
}

static const struct kernel_thread_state *state_of(struct kernel_contexts *c, int32_t tid,
						  uint64_t ns)
{
	struct thread *t;

	if (ns > c->applied_ns) {
		kernel_contexts_learn(c);
		if (ns > c->applied_ns) /* the counters of CPUs differ a little */
			c->applied_ns = ns;
	}
	t = c->last && c->last->tid == tid ? c->last : threads_meet(&c->threads, tid);
	if (!t)
		return NULL;
	c->last = t;
	if (t->scanned_ns < c->uncertain_ns)
		threads_reread(&c->threads, t, c->uncertain_ns, ~0u);
	else if (ns > t->scanned_ns && ns - t->scanned_ns > SECOND_NS &&
		 c->applied_ns < ns + SECOND_NS)
		refresh_after_event(c, t, ns);
	t = c->last ? c->last : threads_meet(&c->threads, tid); /* reading the changes may have
								 * dropped it */
	c->last = t;
	return t ? &thread_at(t, ns)->state : NULL;
}

size_t kernel_contexts_put(struct kernel_contexts *c, uint8_t *event, size_t size, uint64_t ns)
{
	struct kernel_thread_state unknown;
	const struct kernel_thread_state *s;
	uint8_t *to;
	int32_t tid;
	size_t n;

	if (!c)
		return size;
	assert(size >= KERNEL_EVENT_HEADER);
	memcpy(&tid, event + KERNEL_EVENT_HEADER - sizeof tid, sizeof tid);
	s = state_of(c, tid, ns);
	if (!s) {
		kernel_thread_unknown(&unknown, tid);
		s = &unknown;
	}
	to = c->bytes;
	for (int i = 0; i < KERNEL_CONTEXT_NUMBERS; i++)
		if (c->threads.mask & KERNEL_CONTEXT_BIT(i)) {
			memcpy(to, &s->number[i], sizeof s->number[i]);
			to += sizeof s->number[i];
		}
	if (c->threads.mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME)) {
		memcpy(to, s->name, KERNEL_PROCNAME_BYTES);
		to += KERNEL_PROCNAME_BYTES;
	}
	if (c->threads.mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP)) {
		n = strlen(s->cgroup) + 1;
		memcpy(to, s->cgroup, n);
		to += n;
	}
	n = (size_t)(to - c->bytes);
	assert(n <= KERNEL_CONTEXTS_BYTES_MAX);
	memmove(event + KERNEL_EVENT_HEADER + n, event + KERNEL_EVENT_HEADER,
		size - KERNEL_EVENT_HEADER);
	memcpy(event + KERNEL_EVENT_HEADER, c->bytes, n);
	return size + n;
}
