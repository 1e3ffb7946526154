/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/objects.c - follows descriptors and stacks through the events, and numbers the objects
 * of calls: see objects.h.
 */
#include "analysis/names/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/names/heap_sites.h"

enum role { ROLE_NONE, ROLE_FILE, ROLE_FORK, ROLE_EXEC };

static const struct event_table_kind kinds[] = {
	{ "lttng_statedump_file_descriptor", ROLE_FILE, { "pid", "fd", "filename", "flags" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "sched_process_exec", ROLE_EXEC, { "tid" } },
};

struct objects_pending { /* the call in progress of a thread */
	struct call_made call;
	uint32_t epoch;
};

static const char *const stack_calls[] = { "mmap", "munmap", "set_robust_list" };

static bool is_stack_call(const char *name)
{
	for (size_t i = 0; i < sizeof stack_calls / sizeof *stack_calls; i++)
		if (!strcmp(stack_calls[i], name))
			return true;
	return false;
}

int objects_update(struct objects *o, const struct pass *run)
{
	uint32_t n = trace_n_classes(run->trace) + 1;
	struct event_table *plans;

	if (o->places && places_refresh(o->places))
		return -ENOMEM;
	if (n == o->n_plans)
		return 0;
	plans = event_table_make(run, kinds, sizeof kinds / sizeof *kinds);
	if (!plans)
		return -ENOMEM;
	free(o->plans);
	o->plans = plans;
	o->n_plans = n;
	return 0;
}

int objects_init(struct objects *o, const struct pass *run, const char *const *paths, int n_paths,
		 struct diag *d)
{
	*o = (struct objects){ .threads = run->threads };
	if (n_paths && places_open(&o->places, paths, n_paths, d))
		return -ENOMEM;
	return objects_update(o, run) ? diag_fail(d, -ENOMEM, "no memory for names") : 0;
}

void objects_fini(struct objects *o)
{
	fds_fini(&o->fds);
	thread_stacks_fini(&o->stacks);
	heap_sites_close(o->sites);
	places_close(o->places);
	index_fini(&o->keys);
	free(o->plans);
	free(o->is_followed);
	free(o->pending);
	free(o->at);
	*o = (struct objects){ 0 };
}

/* ---------------------------------------------------------------- events */

static uint32_t process_of(const struct objects *o, uint32_t thread)
{
	int64_t process = threads_process(o->threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

static bool is_followed(struct objects *o, const struct calls *calls, const struct call_class *c)
{
	uint32_t n = o->n_followed;

	if (pass_grow(&o->is_followed, &o->n_followed, c->call, sizeof *o->is_followed))
		return false;
	for (; n < o->n_followed; n++)
		o->is_followed[n] = n < calls->n &&
				    (fds_call(calls->names[n]) || is_stack_call(calls->names[n]));
	return o->is_followed[c->call];
}

/* The effect of a call that maps or names a stack. */
static int stack_changed(struct objects *o, const char *call, uint32_t thread,
			 const struct call_made *m, int64_t result)
{
	uint32_t process = process_of(o, thread);

	if (!strcmp(call, "set_robust_list"))
		return thread_stacks_entered(&o->stacks, process, thread, (uint64_t)m->args[0]);
	if (!strcmp(call, "munmap"))
		thread_stacks_unmapped(&o->stacks, process, (uint64_t)m->args[0],
				       (uint64_t)m->args[1]);
	else if (m->args[3] & MAP_STACK)
		return thread_stacks_mapped(&o->stacks, process, (uint64_t)result,
					    (uint64_t)m->args[1]);
	return 0;
}

static int leave_fd(struct objects *o, uint32_t thread, const struct call_made *m,
		    const struct call_class *c, const struct trace_event *e)
{
	uint32_t process = process_of(o, thread);

	return fds_leave(&o->fds, thread, process, m, pass_number(e, c->field[0], 0),
			 &(struct fds_exit){ c, e, threads_at(o->threads, process)->tid });
}

static int on_call(struct objects *o, const struct pass *run, const struct calls *calls,
		   const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct objects_pending *p;
	uint32_t epoch = run->epoch[TRACE_KERNEL];
	int64_t result;
	int err = 0;

	if (pass_grow(&o->pending, &o->n_pending, thread, sizeof *o->pending))
		return -ENOMEM;
	p = &o->pending[thread];
	if (c->is == CALL_ENTRY) {
		p->call.call = 0;
		if (!is_followed(o, calls, c))
			return 0;
		calls_read(c, e, &p->call);
		p->epoch = epoch;
		return c->fd ? fds_enter(&o->fds, thread, c, e) : 0;
	}
	if (p->call.call != c->call + 1 || p->epoch != epoch) {
		p->call.call = 0;
		return 0;
	}
	result = pass_number(e, c->field[0], 0);
	if (p->call.class->fd)
		err = leave_fd(o, thread, &p->call, c, e);
	else if (result >= 0 || result < -4095)
		err = stack_changed(o, calls->names[c->call], thread, &p->call, result);
	p->call.call = 0;
	return err;
}

static int on_file(struct objects *o, const struct event_table *p, const struct trace_event *e)
{
	int64_t process = threads_of(o->threads, e, pass_number(e, p->field[0], -1));
	const char *name;
	size_t size;

	if (process <= 0 || !p->field[2] || !ctf_event_text(e->ctf, p->field[2], &name, &size))
		return process < 0 ? -ENOMEM : 0;
	return fds_dumped(&o->fds, (uint32_t)process, pass_number(e, p->field[1], -1),
			  (uint64_t)pass_number(e, p->field[3], 0), name, size);
}

/* Threads share the descriptors of their process; a new process gets a copy. */
static int on_fork(struct objects *o, const struct event_table *p, const struct trace_event *e,
		   uint32_t thread)
{
	int64_t child = threads_of(o->threads, e, pass_number(e, p->field[0], -1));
	uint32_t process, parent = process_of(o, thread);

	if (child <= 0)
		return child < 0 ? -ENOMEM : 0;
	process = process_of(o, (uint32_t)child);
	return process == parent ? 0 : fds_fork(&o->fds, parent, process);
}

int objects_on_event(struct objects *o, const struct pass *run, const struct calls *calls,
		     const struct trace_event *e, uint32_t thread)
{
	uint32_t class = trace_class_number(e);
	const struct call_class *c = calls->classes[class];
	const struct event_table *p = &o->plans[class];

	if (c->is)
		return on_call(o, run, calls, c, e, thread);
	switch (p->role) {
	case ROLE_FILE:
		return on_file(o, p, e);
	case ROLE_FORK:
		return on_fork(o, p, e, thread);
	case ROLE_EXEC:
		fds_exec(&o->fds, process_of(o, thread));
		thread_stacks_unmapped(&o->stacks, process_of(o, thread), 0, UINT64_MAX);
	}
	return 0;
}

/* ---------------------------------------------------------------- objects */

/* Looks in the process, then in those that it was forked from. */
static void locate(struct objects *o, struct object *f)
{
	uint64_t address = (uint64_t)f->number;
	uint32_t steps = 0;

	for (uint32_t p = f->process; p && steps < 16; steps++) {
		const struct thread *t = threads_at(o->threads, p);
		const struct thread_stack *s = thread_stacks_find(&o->stacks, p, address);

		if (o->places && t->tid > 0 &&
		    places_find(o->places, t->tid, f->clock, address, &f->place))
			return;
		if (s && s->thread) {
			f->thread = s->thread;
			f->is_end = thread_stacks_is_end(s, address);
			return;
		}
		if (o->places && t->tid > 0 &&
		    places_is_stack(o->places, t->tid, f->clock, address)) {
			f->thread = p;
			return;
		}
		if (t->has_executed || !t->parent || (o->places && places_has(o->places, t->tid)))
			return;
		p = process_of(o, t->parent);
	}
}

/* Tells objects of one process and number apart. */
static uint64_t identity_of(const struct object *f)
{
	if (!f->is_futex)
		return f->file;
	return f->place.file ? (uint64_t)(uintptr_t)f->place.file ^ f->place.address << 20
			     : f->thread;
}

static int64_t key_of(struct objects *o, const struct object *f)
{
	return index_find(&o->keys, f->process, (uint64_t)f->number,
			  identity_of(f) << 1 | f->is_futex, true);
}

static int64_t add(struct objects *o, const struct object *one, const struct trace_event *e)
{
	int64_t i = key_of(o, one);

	if (i < 0 || pass_grow(&o->at, &o->n_rooms, (uint32_t)i, sizeof *o->at))
		return -ENOMEM;
	if (i >= o->n) {
		o->n = (uint32_t)i + 1;
		o->at[i] = *one;
		o->at[i].first_ns = e->time_ns;
		o->at[i].same = o->n;
	}
	o->at[i].last_ns = e->time_ns;
	return i + 1;
}

int64_t objects_of_address(struct objects *o, const struct trace_event *e, uint32_t thread,
			   uint64_t address)
{
	struct object f = { .is_futex = true,
			    .process = process_of(o, thread),
			    .clock = e->clock,
			    .number = (int64_t)address };

	locate(o, &f);
	return add(o, &f, e);
}

static void join(struct object *to, const struct object *from)
{
	if (from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
}

int objects_settle(struct objects *o)
{
	uint32_t *first = calloc(o->n + (size_t)1, sizeof *first);
	int64_t key = 0;

	index_fini(&o->keys);
	for (uint32_t i = 0; first && key >= 0 && i < o->n; i++) {
		struct object *f = &o->at[i];
		uint32_t process = threads_at(o->threads, f->process)->process;

		f->process = process ? process : f->process;
		if (f->is_futex && !f->place.file && !f->thread)
			locate(o, f);
		key = key_of(o, f);
		if (key < 0)
			break;
		if (!first[key])
			first[key] = i + 1;
		f->same = first[key];
		join(&o->at[f->same - 1], f);
	}
	free(first);
	return first && key >= 0 ? 0 : -ENOMEM;
}

int64_t objects_of(struct objects *o, const struct trace_event *e, uint32_t thread,
		   const struct call_made *m)
{
	struct object f = { .process = process_of(o, thread) };
	const struct fd_file *file;
	const char *field = calls_object(m, &f.number);

	if (!field)
		return 0;
	if (!strcmp(field, "uaddr"))
		return objects_of_address(o, e, thread, (uint64_t)f.number);
	f.number = (int32_t)f.number;
	file = fds_look(&o->fds, f.process, f.number);
	f.file = file ? (uint32_t)(file - o->fds.files) + 1 : 0;
	return add(o, &f, e);
}
