/* SPDX-License-Identifier: MIT */
/*
 * analysis/threads.c - numbers threads by host and tid, and learns names and processes from events.
 *
 * A hash table maps (host, tid) to the newest thread with this key; a small direct-mapped cache
 * stands before it.
 */
#include "analysis/threads.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_SIZE = 256, FLAG_CLONE_THREAD = 0x10000 };
static const uint32_t THREADS_MAX = 1u << 24; /* more threads are counted as THREAD_UNKNOWN */
#ifdef __SANITIZE_ADDRESS__
enum { THREADS_FIRST = 2 }; /* the tables move often: pointers kept too long are found */
#else
enum { THREADS_FIRST = 1024 };
#endif

enum role {
	ROLE_NONE,
	ROLE_SWITCH,
	ROLE_FORK,
	ROLE_EXEC,
	ROLE_EXIT,
	ROLE_TASK,
	ROLE_CLONE,
	ROLE_CLONE3
};

struct thread_plan {
	enum role role;
	const struct ctf_op *field[4];
};

static const struct {
	const char *event;
	enum role role;
	const char *fields[4];
} roles[] = {
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "prev_comm", "next_tid", "next_comm" } },
	{ "sched_process_fork",
	  ROLE_FORK,
	  { "child_tid", "child_comm", "parent_tid", "child_pid" } },
	{ "sched_process_exec", ROLE_EXEC, { "tid", "old_tid" } },
	{ "sched_process_exit", ROLE_EXIT, { "tid" } },
	{ "task_newtask", ROLE_TASK, { "pid", "clone_flags" } },
	{ "syscall_entry_clone", ROLE_CLONE, { "flags" } },
	/* The flags are in memory and not recorded. posix_spawn uses it too, and executes at
	 * once. */
	{ "syscall_entry_clone3", ROLE_CLONE3, { NULL } },
	{ "syscall_entry_fork", ROLE_CLONE, { NULL } },
	{ "syscall_entry_vfork", ROLE_CLONE, { NULL } },
};

struct cache_entry {
	uint64_t key; /* 0: none */
	uint32_t number;
};

struct threads {
	struct names *names;
	struct thread_plan *plans;   /* by class number */
	uint32_t *hosts;	     /* by source number */
	uint32_t n_classes, n_hosts; /* of these */
	struct thread *at;
	uint32_t n, capacity;
	uint32_t *slots; /* open addressing: number of the newest thread of a key; 0 is empty */
	uint32_t n_slots;
	struct cache_entry cache[CACHE_SIZE];
	uint64_t n_learned; /* events that say something about threads, other than switches */
};

static void plan_class(struct thread_plan *p, const struct ctf_event_class *c)
{
	for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
		if (strcmp(c->name, roles[r].event))
			continue;
		p->role = roles[r].role;
		for (int i = 0; i < 4 && roles[r].fields[i]; i++)
			p->field[i] = ctf_class_find(c, CTF_PAYLOAD, roles[r].fields[i]);
		if (p->role == ROLE_CLONE && !p->field[0])
			p->field[0] = ctf_class_find(c, CTF_PAYLOAD,
						     "clone_flags"); /* the field's name in older
								      * recordings of duet */
	}
}

static void plan_all(struct threads *t, struct trace *trace)
{
	for (uint32_t i = 0; i < trace_n_sources(trace); i++) {
		const struct trace_source *s = trace_source(trace, i);

		t->hosts[i] = names_host(t->names, i);
		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			plan_class(&t->plans[c->number], c);
	}
}

/* Makes room for the classes and sources of the trace, and looks up their fields. */
static int learn_classes(struct threads *t, struct trace *trace)
{
	uint32_t n = trace_n_classes(trace) + 1, n_hosts = trace_n_sources(trace) + 1;
	struct thread_plan *plans;
	uint32_t *hosts;

	if (n == t->n_classes && n_hosts == t->n_hosts)
		return 0;
	plans = calloc(n, sizeof *plans);
	hosts = calloc(n_hosts, sizeof *hosts);
	if (!plans || !hosts) {
		free(plans);
		free(hosts);
		return -ENOMEM;
	}
	free(t->plans);
	free(t->hosts);
	t->plans = plans;
	t->hosts = hosts;
	t->n_classes = n;
	t->n_hosts = n_hosts;
	plan_all(t, trace);
	return 0;
}

int threads_update(struct threads *t, struct trace *trace, struct diag *d)
{
	int err = names_update(t->names, trace, d);

	return err			 ? err
	       : learn_classes(t, trace) ? diag_fail(d, -ENOMEM, "no memory for threads")
					 : 0;
}

int threads_renumber(struct threads *t, struct trace *trace, const uint32_t *was, struct diag *d)
{
	int err = names_renumber(t->names, trace, was, d);

	t->n_classes = t->n_hosts = 0;
	return err			 ? err
	       : learn_classes(t, trace) ? diag_fail(d, -ENOMEM, "no memory for threads")
					 : 0;
}

int threads_open(struct threads **result, struct trace *trace, struct diag *d)
{
	struct threads *t = calloc(1, sizeof *t);
	int err;

	*result = NULL;
	if (!t)
		return diag_fail(d, -ENOMEM, "no memory for threads");
	err = names_open(&t->names, trace, d);
	if (err) {
		threads_close(t);
		return err;
	}
	t->capacity = THREADS_FIRST;
	t->n_slots = 2 * THREADS_FIRST;
	t->at = calloc(t->capacity, sizeof *t->at);
	t->slots = calloc(t->n_slots, sizeof *t->slots);
	if (learn_classes(t, trace) || !t->at || !t->slots) {
		threads_close(t);
		return diag_fail(d, -ENOMEM, "no memory for threads");
	}
	t->at[0] = (struct thread){ .tid = -1, .pid = -1 };
	t->n = 1;
	*result = t;
	return 0;
}

void threads_close(struct threads *t)
{
	if (!t)
		return;
	names_close(t->names);
	free(t->plans);
	free(t->hosts);
	free(t->at);
	free(t->slots);
	free(t);
}

/* ---------------------------------------------------------------- by host and tid */

static uint64_t key_of(uint32_t host, int32_t tid)
{
	return ((uint64_t)host << 32 | (uint32_t)tid) + 1;
}

static uint32_t *slot_of(const struct threads *t, uint64_t key)
{
	uint32_t mask = t->n_slots - 1, i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;

	while (t->slots[i] && key_of(t->at[t->slots[i]].host, t->at[t->slots[i]].tid) != key)
		i = (i + 1) & mask;
	return &t->slots[i];
}

/* The key then finds only the newest thread, because it is inserted last. */
static int grow(struct threads *t)
{
	struct thread *at = realloc(t->at, t->capacity * 2 * sizeof *at);
	uint32_t *slots = calloc(t->n_slots * (size_t)2, sizeof *slots);

	if (at)
		t->at = at;
	if (!at || !slots) {
		free(slots);
		return -ENOMEM;
	}
	t->capacity *= 2;
	t->n_slots *= 2;
	free(t->slots);
	t->slots = slots;
	for (uint32_t i = 1; i < t->n; i++)
		*slot_of(t, key_of(t->at[i].host, t->at[i].tid)) = i;
	return 0;
}

static int64_t add(struct threads *t, uint32_t host, int32_t tid)
{
	uint32_t number;

	if (t->n == THREADS_MAX)
		return THREAD_UNKNOWN;
	if (t->n == t->capacity && grow(t))
		return -ENOMEM;
	assert(t->n < t->capacity && t->capacity < t->n_slots); /* slots are never full */
	number = t->n++;
	t->at[number] = (struct thread){ .host = host, .tid = tid, .pid = -1 };
	*slot_of(t, key_of(host, tid)) = number;
	t->cache[(uint32_t)tid % CACHE_SIZE].key = 0;
	return number;
}

static int64_t find_or_add(struct threads *t, uint32_t host, int64_t tid)
{
	uint64_t key = key_of(host, (int32_t)tid);
	struct cache_entry *r = &t->cache[(uint32_t)tid % CACHE_SIZE];
	int64_t number;

	if (tid < 0)
		return THREAD_UNKNOWN;
	if (r->key == key)
		return r->number;
	number = *slot_of(t, key);
	if (!number)
		number = add(t, host, (int32_t)tid);
	if (number > 0)
		*r = (struct cache_entry){ key, (uint32_t)number };
	return number;
}

int64_t threads_of(struct threads *t, const struct trace_event *e, int64_t tid)
{
	return find_or_add(t, t->hosts[e->stream->source->number], tid);
}

/* ---------------------------------------------------------------- learning from events */

static int64_t number_in(const struct trace_event *e, const struct ctf_op *op)
{
	int64_t v;

	return op && ctf_event_number(e->ctf, op, &v) ? v : -1;
}

static void set_name(struct thread *th, const char *name, size_t size)
{
	if (!size || (size == th->name_size && !memcmp(name, th->name, size)))
		return;
	th->name_size = (uint8_t)(size < THREAD_NAME_MAX ? size : THREAD_NAME_MAX);
	memcpy(th->name, name, th->name_size);
}

/* Idle threads share number 0 of their host, and a name. */
static int name_from(struct threads *t, const struct trace_event *e, const struct ctf_op *tid,
		     const struct ctf_op *name)
{
	int64_t number = threads_of(t, e, number_in(e, tid));
	const char *text;
	size_t size;

	if (number <= 0)
		return (int)number;
	if (!t->at[number].tid)
		set_name(&t->at[number], "idle", 4);
	else if (name && ctf_event_text(e->ctf, name, &text, &size))
		set_name(&t->at[number], text, size);
	return 0;
}

static int learn_fork(struct threads *t, const struct thread_plan *p, const struct trace_event *e)
{
	int64_t parent = threads_of(t, e, number_in(e, p->field[2]));
	int64_t child = threads_of(t, e, number_in(e, p->field[0]));
	int64_t pid = number_in(e, p->field[3]);

	if (child > 0 && t->at[child].is_dead)
		child = add(t, t->at[child].host, t->at[child].tid);
	if (parent < 0 || child < 0)
		return -ENOMEM;
	if (!child)
		return 0;
	t->at[child].parent = (uint32_t)parent;
	if (pid > 0)
		t->at[child].pid = (int32_t)pid;
	/* task_newtask comes before it and has the flags. */
	if (!t->at[child].made && parent)
		t->at[child].made = t->at[parent].making;
	return name_from(t, e, p->field[0], p->field[1]);
}

static int learn_exec(struct threads *t, const struct thread_plan *p, const struct trace_event *e)
{
	int64_t number = threads_of(t, e, number_in(e, p->field[0]));

	if (number > 0) {
		t->at[number].has_executed = true;
		t->at[number].pid = t->at[number].tid;
	}
	return number < 0 ? -ENOMEM : 0;
}

static int learn_task(struct threads *t, const struct thread_plan *p, const struct trace_event *e)
{
	int64_t number = threads_of(t, e, number_in(e, p->field[0]));

	if (number > 0 && t->at[number].is_dead)
		number = add(t, t->at[number].host, t->at[number].tid);
	if (number > 0)
		t->at[number].made =
			number_in(e, p->field[1]) & FLAG_CLONE_THREAD ? MADE_THREAD : MADE_PROCESS;
	return number < 0 ? -ENOMEM : 0;
}

static int learn(struct threads *t, const struct thread_plan *p, const struct trace_event *e,
		 uint32_t current)
{
	int64_t flags;
	int err;

	switch (p->role) {
	case ROLE_NONE:
		return 0;
	case ROLE_SWITCH:
		err = name_from(t, e, p->field[0], p->field[1]);
		return err ? err : name_from(t, e, p->field[2], p->field[3]);
	case ROLE_FORK:
		return learn_fork(t, p, e);
	case ROLE_EXEC:
		return learn_exec(t, p, e);
	case ROLE_EXIT:
		if (current)
			t->at[current].is_dead = true;
		return 0;
	case ROLE_TASK:
		return learn_task(t, p, e);
	case ROLE_CLONE:
		flags = p->field[0] ? number_in(e, p->field[0]) : 0;
		t->at[current].making = flags & FLAG_CLONE_THREAD ? MADE_THREAD : MADE_PROCESS;
		return 0;
	case ROLE_CLONE3:
		t->at[current].making = MADE_THREAD;
		return 0;
	}
	return 0;
}

/* The known threads; only added to. */
static uint64_t state_of(const struct threads *t)
{
	return names_changes(t->names) + t->n_learned + 1;
}

/* The thread of an event that says nothing new; 0: it may. */
static int64_t known_thread(struct threads *t, const struct trace_event *e,
			    const struct thread_plan *p)
{
	int64_t tid, pid, number;

	if (p->role || !names_is_plain(t->names, e, &tid, &pid) || tid < 0)
		return 0;
	number = threads_of(t, e, tid);
	if (number <= 0 || t->at[number].known != state_of(t) ||
	    (pid >= 0 && t->at[number].pid != pid))
		return 0;
	return number;
}

int64_t threads_on_event(struct threads *t, const struct trace_event *e)
{
	const struct thread_plan *p = &t->plans[trace_class_number(e)];
	struct thread_identity w;
	int64_t current = known_thread(t, e, p);
	int err;

	if (current)
		return current;
	names_on_event(t->names, e, &w);
	current = threads_of(t, e, w.tid);
	if (current < 0)
		return current;
	if (current) {
		if (w.pid >= 0)
			t->at[current].pid = (int32_t)w.pid;
		set_name(&t->at[current], w.name, w.size);
	}
	err = p->role ? learn(t, p, e, (uint32_t)current) : 0;
	t->n_learned += p->role && p->role != ROLE_SWITCH;
	t->at[current].known = state_of(t);
	return err ? err : current;
}

bool threads_learns_from(const struct threads *t, const struct trace_source *s, uint32_t number)
{
	return t->plans[number].role != ROLE_NONE || names_learns_from(t->names, s, number);
}

/* ---------------------------------------------------------------- processes */

static int64_t process_of(struct threads *t, uint32_t i)
{
	for (int steps = 0; steps < 64; steps++) {
		const struct thread *th = &t->at[i];

		if (th->pid == th->tid || th->tid <= 0)
			return i;
		if (th->pid >= 0)
			return find_or_add(t, th->host, th->pid);
		if (th->has_executed || th->made != MADE_THREAD || !th->parent)
			return i;
		i = th->parent;
	}
	return i;
}

int64_t threads_process(struct threads *t, uint32_t number)
{
	return process_of(t, number);
}

int threads_finalize(struct threads *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t process = process_of(t, i);

		if (process < 0)
			return (int)process;
		/* A leader without events of its own takes the name of its threads. */
		if (!t->at[process].name_size)
			set_name(&t->at[process], t->at[i].name, t->at[i].name_size);
		assert((uint64_t)process < t->n);
		t->at[i].process = (uint32_t)process;
	}
	return 0;
}

uint32_t threads_n(const struct threads *t)
{
	return t->n;
}

const struct thread *threads_at(const struct threads *t, uint32_t number)
{
	assert(number < t->n);
	return &t->at[number];
}
