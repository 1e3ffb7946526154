/* SPDX-License-Identifier: MIT */
/*
 * trace/names.c - learns names and process ids of threads from events, and identifies each event's
 * thread.
 *
 * A class is planned once: its role and the operations that fetch its fields.  For each event the
 * thread is identified first, then the event is learned from, then the name is looked up.  So an
 * event that renames a thread shows the new name.
 */
#include "trace/names.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "trace/names_internal.h"

static const struct {
	const char *event;
	enum role role;
	const char *fields[5];
} roles[] = {
	{ "lttng_statedump_process_state", ROLE_DUMP, { "tid", "pid", "name" } },
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "prev_comm", "next_tid", "next_comm" } },
	{ "sched_process_fork",
	  ROLE_FORK,
	  { "child_tid", "child_pid", "child_comm", "parent_tid", "parent_pid" } },
	{ "task_newtask", ROLE_TASK, { "pid", "clone_flags" } },
	{ "sched_process_exec", ROLE_EXEC, { "tid", "filename" } },
	{ "task_rename", ROLE_RENAME, { "tid", "newcomm" } },
	{ "thread_named", ROLE_RENAME, { "tid", "newcomm" } },
	{ "lttng_ust_statedump:procname", ROLE_PROCNAME, { "procname", "pid" } },
};

/* A kernel event belongs to the thread that ran: the host's ids are preferred there, the ids of the
 * namespace elsewhere. */
static void plan_class(struct class_plan *p, const struct ctf_event_class *c, bool is_kernel)
{
	const struct ctf_op *tid = ctf_class_find(c, CTF_CONTEXT, "tid"),
			    *vtid = ctf_class_find(c, CTF_CONTEXT, "vtid");
	const struct ctf_op *pid = ctf_class_find(c, CTF_CONTEXT, "pid"),
			    *vpid = ctf_class_find(c, CTF_CONTEXT, "vpid");

	p->tid = vtid && !(is_kernel && tid) ? vtid : tid;
	p->pid = vpid && !(is_kernel && pid) ? vpid : pid;
	/* Events written by perf: kernel/perf/profile.c, profile_own.c. */
	if (!strcmp(c->name, "profile") || !strncmp(c->name, "counter_", 8) ||
	    !strncmp(c->name, "thread_", 7))
		p->pid = ctf_class_find(c, CTF_PAYLOAD, "pid");
	p->procname = ctf_class_find(c, CTF_CONTEXT, "procname");
	for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
		if (strcmp(c->name, roles[r].event))
			continue;
		p->role = roles[r].role;
		for (int i = 0; i < 5 && roles[r].fields[i]; i++)
			p->field[i] = ctf_class_find(c, CTF_PAYLOAD, roles[r].fields[i]);
		/* The kernel's own name of the field. */
		if (p->role == ROLE_RENAME && !p->field[0])
			p->field[0] = ctf_class_find(c, CTF_PAYLOAD, "pid");
	}
}

/* Resizes @array from @old to @n + 1 elements of @size bytes; new elements are zero.  Returns NULL
 * if there is no memory. */
static void *extend(void *array, size_t old, size_t n, size_t size)
{
	char *bigger = reallocarray(array, n + 1, size);

	if (bigger)
		memset(bigger + old * size, 0, (n + 1 - old) * size);
	return bigger;
}

static bool extend_running(struct names *n, uint32_t before)
{
	int32_t *bigger =
		reallocarray(n->running, (n->n_hosts + (size_t)1) * CPUS_MAX, sizeof *bigger);

	if (!bigger)
		return false;
	for (size_t i = before * (size_t)CPUS_MAX; i < (n->n_hosts + (size_t)1) * CPUS_MAX; i++)
		bigger[i] = -1;
	n->running = bigger;
	return true;
}

static bool extend_all(struct names *n, const struct trace *t)
{
	uint32_t n_hosts = n->n_hosts;
	struct class_plan *plans =
		extend(n->plans, n->n_classes, trace_n_classes(t), sizeof *plans);
	uint32_t *hosts;

	if (plans)
		n->plans = plans;
	hosts = extend(n->hosts, n->n_sources, trace_n_sources(t), sizeof *hosts);
	if (hosts)
		n->hosts = hosts;
	if (!plans || !hosts || !names_number_hosts(n, t, n->n_sources))
		return false;
	return (n->running && n_hosts == n->n_hosts) || extend_running(n, n->running ? n_hosts : 0);
}

int names_update(struct names *n, const struct trace *t, struct diag *d)
{
	if (n->running && n->n_classes == trace_n_classes(t) && n->n_sources == trace_n_sources(t))
		return 0;
	if (!extend_all(n, t))
		return diag_fail(d, -ENOMEM, "no memory for names of threads");
	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next)
			if (c->number >= n->n_classes)
				plan_class(&n->plans[c->number], c,
					   trace_source(t, i)->domain == TRACE_KERNEL);
	n->n_classes = trace_n_classes(t);
	n->n_sources = trace_n_sources(t);
	return 0;
}

int names_renumber(struct names *n, const struct trace *t, const uint32_t *was, struct diag *d)
{
	/* Those that remain have their hosts already: names_update() finds the same. */
	if (aliases_renumber(n->aliases, was, trace_n_sources(t)))
		return diag_fail(d, -ENOMEM, "no memory for names of threads");
	n->n_classes = n->n_sources = 0;
	n->n_changes++;
	return names_update(n, t, d);
}

int names_open(struct names **result, const struct trace *t, struct diag *d)
{
	struct names *n = calloc(1, sizeof *n);
	int err;

	*result = NULL;
	if (!n)
		return diag_fail(d, -ENOMEM, "no memory for names of threads");
	n->capacity = THREADS_FIRST;
	n->aliases = aliases_open();
	n->threads = calloc(n->capacity, sizeof *n->threads);
	err = n->threads && n->aliases ? names_update(n, t, d)
				       : diag_fail(d, -ENOMEM, "no memory for names of threads");
	if (err)
		names_close(n);
	else
		*result = n;
	return err;
}

void names_close(struct names *n)
{
	if (!n)
		return;
	free(n->plans);
	free(n->hosts);
	names_free_hosts(n);
	free(n->threads);
	free(n->running);
	aliases_close(n->aliases);
	names_recall_close(n);
	free(n);
}

static struct thread *find_slot(struct thread *threads, uint32_t capacity, uint64_t key)
{
	uint32_t i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & (capacity - 1);

	while (threads[i].key && threads[i].key != key)
		i = (i + 1) & (capacity - 1);
	return &threads[i];
}

static bool grow(struct names *n)
{
	uint32_t capacity = n->capacity * 2;
	struct thread *bigger;

	if (n->n_threads >= THREADS_MAX)
		return false;
	if (n->n_threads < n->capacity / 2)
		return true;
	bigger = calloc(capacity, sizeof *bigger);
	if (!bigger)
		return false;
	for (uint32_t i = 0; i < n->capacity; i++)
		if (n->threads[i].key)
			*find_slot(bigger, capacity, n->threads[i].key) = n->threads[i];
	free(n->threads);
	n->threads = bigger;
	n->capacity = capacity;
	return true;
}

struct thread *names_find(const struct names *n, uint32_t host, int64_t tid)
{
	struct thread *t =
		find_slot(n->threads, n->capacity, ((uint64_t)host << 32 | (uint32_t)tid) + 1);

	return t->key ? t : NULL;
}

struct thread *names_find_or_add(struct names *n, uint32_t host, int64_t tid)
{
	uint64_t key = ((uint64_t)host << 32 | (uint32_t)tid) + 1;
	struct thread *t = find_slot(n->threads, n->capacity, key);

	if (t->key)
		return t;
	if (!grow(n))
		return NULL;
	t = find_slot(n->threads, n->capacity, key);
	t->key = key;
	t->pid = -1;
	n->n_threads++;
	assert(n->n_threads <= n->capacity / 2);
	return t;
}

void names_set_name(struct names *n, uint32_t host, int64_t tid, const char *name, size_t size)
{
	struct thread *t = tid > 0 ? names_find_or_add(n, host, tid) : NULL;

	if (!t || !size || n->skipped.reads_births)
		return;
	t->is_named = 1;
	size = size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES;
	if (t->size == size && !memcmp(t->name, name, size))
		return;
	n->n_changes++;
	t->size = (uint8_t)size;
	memcpy(t->name, name, size);
}

void names_set_pid(struct names *n, uint32_t host, int64_t tid, int64_t pid, bool is_kernels)
{
	struct thread *t = tid > 0 && pid > 0 ? names_find_or_add(n, host, tid) : NULL;

	if (!t || ((t->is_kernels || t->is_doubtful) && !is_kernels))
		return;
	t->is_kernels = is_kernels;
	t->is_doubtful = false;
	if (t->pid == (int32_t)pid)
		return;
	n->n_changes++;
	t->pid = (int32_t)pid;
}

/* By an event of the kernel. */
static void set_pid(struct names *n, uint32_t host, int64_t tid, int64_t pid)
{
	names_set_pid(n, host, tid, pid, true);
}

static int64_t number(const struct trace_event *e, const struct ctf_op *op)
{
	int64_t v;

	if (likely(op && ctf_is_quick(op)))
		return ctf_quick_number(e->ctf, op);

	return ctf_event_number(e->ctf, op, &v) ? v : -1;
}

static void name_from(struct names *n, uint32_t host, int64_t tid, const struct trace_event *e,
		      const struct ctf_op *op)
{
	const char *text;
	size_t size;

	if (ctf_event_text(e->ctf, op, &text, &size))
		names_set_name(n, host, tid, text, size);
}

static int32_t *running_on(struct names *n, uint32_t host, uint32_t cpu)
{
	return &n->running[host * (size_t)CPUS_MAX + cpu % CPUS_MAX];
}

static void learn_fork(struct names *n, uint32_t host, const struct class_plan *p,
		       const struct trace_event *e)
{
	int64_t child = number(e, p->field[0]);

	set_pid(n, host, child, number(e, p->field[1]));
	name_from(n, host, child, e, p->field[2]);
	set_pid(n, host, number(e, p->field[3]), number(e, p->field[4]));
}

/* The process of thread @tid depends on an event that was skipped. */
static void doubt_process(struct names *n, uint32_t host, int64_t tid)
{
	struct thread *t = tid > 0 ? names_find_or_add(n, host, tid) : NULL;

	if (!t)
		return;
	n->n_changes++;
	t->pid = -1;
	t->is_kernels = 0;
	t->is_doubtful = 1;
}

/* sched_process_fork does not show whether it made a thread or a process; this event, right before
 * it, does. */
static void learn_task(struct names *n, uint32_t host, const struct class_plan *p,
		       const struct trace_event *e, const struct thread_identity *w)
{
	const struct thread *t = w->tid > 0 ? names_find(n, host, w->tid) : NULL;
	const struct thread parent = t ? *t : (struct thread){ .pid = -1 }; /* the table may move */
	int64_t child = number(e, p->field[0]), flags = number(e, p->field[1]);

	if (!(flags & CLONE_THREAD))
		set_pid(n, host, child, child);
	else if (n->skipped.has_kernel && !parent.is_kernels)
		doubt_process(n, host, child);
	else
		set_pid(n, host, child, parent.pid);
	/* an application may have named it in an event that was skipped */
	if (flags & CLONE_THREAD && parent.pid < 0 && n->skipped.is_open && !n->skipped.has_kernel)
		n->skipped.is_unsure = true;
}

/* The kernel names a task after the last part of the executed path, cut to 15 bytes. */
static void learn_exec(struct names *n, uint32_t host, const struct class_plan *p,
		       const struct trace_event *e)
{
	const char *text, *slash;
	size_t size;

	if (!ctf_event_text(e->ctf, p->field[1], &text, &size))
		return;
	slash = memrchr(text, '/', size);
	if (slash) {
		size -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	names_set_name(n, host, number(e, p->field[0]), text, size < 15 ? size : 15);
}

static void learn(struct names *n, uint32_t host, const struct class_plan *p,
		  const struct trace_event *e, const struct thread_identity *w)
{
	switch (p->role) {
	case ROLE_NONE:
		break;
	case ROLE_DUMP:
		set_pid(n, host, number(e, p->field[0]), number(e, p->field[1]));
		name_from(n, host, number(e, p->field[0]), e, p->field[2]);
		break;
	case ROLE_SWITCH:
		name_from(n, host, number(e, p->field[0]), e, p->field[1]);
		name_from(n, host, number(e, p->field[2]), e, p->field[3]);
		*running_on(n, host, e->cpu) = (int32_t)number(e, p->field[2]);
		break;
	case ROLE_FORK:
		learn_fork(n, host, p, e);
		break;
	case ROLE_TASK:
		learn_task(n, host, p, e, w);
		break;
	case ROLE_EXEC:
		learn_exec(n, host, p, e);
		break;
	case ROLE_RENAME:
		name_from(n, host, number(e, p->field[0]), e, p->field[1]);
		break;
	case ROLE_PROCNAME:
		name_from(n, host, w->pid, e, p->field[0]);
		break;
	}
}

/* Returns the thread that ran on the event's CPU when it was recorded, as the kernel reported; or
 * NULL. */
static const struct thread *thread_on_cpu(struct names *n, uint32_t host,
					  const struct trace_event *e)
{
	int64_t tid = e->cpu == TRACE_CPU_UNKNOWN ? -1 : *running_on(n, host, e->cpu);

	return tid > 0 ? names_find(n, host, tid) : NULL;
}

static int64_t tid_of(const struct thread *t)
{
	return (int64_t)(uint32_t)(t->key - 1);
}

/* Replaces the ids of a pid namespace by those of its host. */
static void rename_to_host(struct names *n, uint32_t host, const struct class_plan *p,
			   const struct trace_event *e, struct thread_identity *w)
{
	uint32_t source = e->stream->source->number;
	int64_t vpid = w->pid, vtid = w->tid;
	const struct thread *running;

	if (p->role == ROLE_PROCNAME)
		aliases_process(n->aliases, source, vpid, number(e, p->field[1]));
	if (!aliases_any(n->aliases))
		return;
	running = thread_on_cpu(n, host, e);
	w->pid = aliases_pid(n->aliases, source, vpid, running ? running->pid : 0);
	if (w->pid == vpid)
		return;
	w->tid = aliases_tid(
		n->aliases, source, vpid, vtid, w->pid,
		running && (running->pid < 0 || running->pid == w->pid) ? tid_of(running) : 0);
}

static void identify(struct names *n, uint32_t host, const struct class_plan *p,
		     const struct trace_event *e, struct thread_identity *w)
{
	*w = (struct thread_identity){ .name = "", .pid = -1, .tid = -1 };
	if (p->tid)
		w->tid = number(e, p->tid);
	else if (e->stream->source->domain == TRACE_KERNEL)
		w->tid = p->role == ROLE_SWITCH ? number(e, p->field[0])
						: *running_on(n, host, e->cpu);
	if (p->pid)
		w->pid = number(e, p->pid);
	w->vpid = w->pid;
	w->vtid = w->tid;
	if (w->pid > 0 && e->stream->source->domain == TRACE_UST)
		rename_to_host(n, host, p, e, w);
}

static void look_up_name(const struct names *n, uint32_t host, const struct class_plan *p,
			 const struct trace_event *e, struct thread_identity *w)
{
	const struct thread *t = w->tid > 0 ? names_find(n, host, w->tid) : NULL;
	const struct thread *process;

	if (t && w->pid < 0 && (t->is_kernels || !names_lack_births(n)))
		w->pid = t->pid;
	if (p->procname && ctf_event_text(e->ctf, p->procname, &w->name, &w->size) && w->size)
		return;
	process = w->pid > 0 && (!t || !t->size) ? names_find(n, host, w->pid) : NULL;
	if (process)
		t = process;
	if (t) {
		w->name = t->name;
		w->size = t->size;
	} else if (!w->tid && e->stream->source->domain == TRACE_KERNEL) {
		w->name = "swapper";
		w->size = 7;
	}
}

bool names_learns_from(const struct names *n, const struct trace_source *s, uint32_t number)
{
	/* Events of applications have the process of their thread. */
	return s->domain == TRACE_UST || n->plans[number].role != ROLE_NONE;
}

void names_tell(struct names *n, uint32_t source, int64_t tid, int64_t pid, const char *name,
		size_t size)
{
	assert(source < n->n_sources);
	names_set_pid(n, n->hosts[source], tid, pid, false);
	names_set_name(n, n->hosts[source], tid, name, size);
}

bool names_is_plain(const struct names *n, const struct trace_event *e, int64_t *tid, int64_t *pid)
{
	const struct class_plan *p = &n->plans[trace_class_number(e)];

	if (p->role || p->procname || !p->tid ||
	    (e->stream->source->domain == TRACE_UST && aliases_any(n->aliases)))
		return false;
	*tid = number(e, p->tid);
	*pid = p->pid ? number(e, p->pid) : -1;
	return true;
}

uint64_t names_changes(const struct names *n)
{
	return n->n_changes;
}

/* Whether a thread of an application is the one of the last event, and nothing has changed since. */
static bool is_as_before(struct names *n, uint32_t host, const struct class_plan *p,
			 const struct trace_event *e)
{
	struct names_last now = { .changes = n->n_changes, .host = host };
	bool is_same;

	if (p->role || !p->tid || !p->pid || aliases_any(n->aliases))
		return false;
	now.tid = number(e, p->tid);
	now.pid = number(e, p->pid);
	is_same = now.tid == n->last.tid && now.pid == n->last.pid && host == n->last.host &&
		  now.changes == n->last.changes;
	n->last = now;
	return is_same;
}

/* The process of a thread counts from the event on that has it; of skipped ones: names_recall.c. */
static void learn_process(struct names *n, uint32_t host, const struct trace_event *e,
			  const struct thread_identity *w)
{
	struct thread *t;

	if (w->tid <= 0 || w->pid <= 0 || e->stream->source->domain != TRACE_UST ||
	    (n->skipped.is_open && e->time_ns < n->skipped.from_ns))
		return;
	t = names_find(n, host, w->tid);
	if (!t || t->pid != w->pid)
		names_set_pid(n, host, w->tid, w->pid, false);
}

static void learn_all(struct names *n, const struct trace_event *e, struct thread_identity *w)
{
	uint32_t host = n->hosts[e->stream->source->number];
	const struct class_plan *p = &n->plans[trace_class_number(e)];

	assert(trace_class_number(e) < n->n_classes && host < n->n_hosts);
	identify(n, host, p, e, w);
	/* some streams begin earlier than others: what they have in common begins with from_ns */
	if (unlikely(n->skipped.has_kernel) && e->time_ns < n->skipped.from_ns &&
	    !n->skipped.reads_births)
		return;
	learn_process(n, host, e, w);
	learn(n, host, p, e, w);
	/* ids of namespaces depend on all events */
	if (unlikely(n->skipped.is_open) && aliases_any(n->aliases))
		n->skipped.is_unsure = true;
}

static bool may_teach(struct names *n, const struct trace_event *e)
{
	uint32_t host = n->hosts[e->stream->source->number];
	const struct class_plan *p = &n->plans[trace_class_number(e)];

	if (e->stream->source->domain != TRACE_UST)
		return p->role != ROLE_NONE;
	return n->skipped.is_open || !is_as_before(n, host, p, e);
}

void names_learn(struct names *n, const struct trace_event *e)
{
	struct thread_identity unused;

	if (may_teach(n, e))
		learn_all(n, e, &unused);
}

bool names_is_unsure(const struct names *n)
{
	return n->skipped.is_unsure;
}

/* Whether the thread of this kernel event has no process so far, and a skipped event may have it. */
static bool lacks_process(const struct names *n, const struct trace_event *e,
			  const struct thread_identity *w, const struct thread **t)
{
	if (likely(!n->skipped.is_open) || w->tid <= 0 || w->pid >= 0 ||
	    e->stream->source->domain != TRACE_KERNEL)
		return false;
	*t = names_find(n, n->hosts[e->stream->source->number], w->tid);
	return !*t || (names_lack_births(n) ? !(*t)->is_kernels : (*t)->pid < 0);
}

void names_on_event(struct names *n, const struct trace_event *e, struct thread_identity *w)
{
	uint32_t host = n->hosts[e->stream->source->number];
	const struct thread *t;

	learn_all(n, e, w);
	if (unlikely(n->skipped.has_kernel))
		names_recall_name(n, host, w);
	/* A thread without a name has that of its process. */
	else if (lacks_process(n, e, w, &t) && (!t || !t->size))
		names_recall(n, host, w->tid);
	look_up_name(n, host, &n->plans[trace_class_number(e)], e, w);
}

void names_find_process(struct names *n, const struct trace_event *e, struct thread_identity *w)
{
	uint32_t host = n->hosts[e->stream->source->number];
	const struct thread *t;

	if (!lacks_process(n, e, w, &t))
		return;
	names_recall(n, host, w->tid);
	look_up_name(n, host, &n->plans[trace_class_number(e)], e, w);
}
