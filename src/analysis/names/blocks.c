/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/blocks.c - the allocations around futexes that have no other name.
 *
 * Which addresses are futexes is known only when the recording has been read, and it may hold
 * millions of allocations.  So it is read again, once, and each allocation is compared with the few
 * addresses that are searched for, in order of process and address.
 *
 * The block of a futex is the one that was live at its first use.  Later ones at the same address,
 * up to its last use, are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/heap_sites.h"
#include "analysis/names/objects.h"

enum role { ROLE_NONE, ROLE_GIVE, ROLE_REALLOC, ROLE_FREE };

struct heap_class {
	enum role role;
	const struct ctf_op *size, *count, *ptr, *in_ptr;
};

static const struct {
	const char *event;
	enum role role;
	const char *size, *count, *ptr, *in_ptr;
} roles[] = {
	{ "lttng_ust_libc:malloc", ROLE_GIVE, "size", NULL, "ptr", NULL },
	{ "lttng_ust_libc:calloc", ROLE_GIVE, "size", "nmemb", "ptr", NULL },
	{ "lttng_ust_libc:memalign", ROLE_GIVE, "size", NULL, "ptr", NULL },
	{ "lttng_ust_libc:aligned_alloc", ROLE_GIVE, "size", NULL, "ptr", NULL },
	{ "lttng_ust_libc:posix_memalign", ROLE_GIVE, "size", NULL, "out_ptr", NULL },
	{ "lttng_ust_libc:realloc", ROLE_REALLOC, "size", NULL, "ptr", "in_ptr" },
	{ "lttng_ust_libc:free", ROLE_FREE, NULL, NULL, "ptr", NULL },
};

struct wanted {
	int32_t pid;
	uint64_t address;
	struct object *object;
	uint64_t begin; /* of its live block */
};

struct search {
	struct objects *o;
	struct heap_class *classes; /* by class number */
	struct wanted *wanted;	    /* by pid, then address */
	uint32_t n;
};

static const struct ctf_op *field(const struct ctf_event_class *c, const char *name)
{
	return name ? ctf_class_find(c, CTF_PAYLOAD, name) : NULL;
}

static bool plan(struct search *s, const struct pass *run)
{
	bool has_any = false;

	for (uint32_t i = 0; i < trace_n_sources(run->trace); i++)
		for (const struct ctf_event_class *c = trace_source(run->trace, i)->meta->events; c;
		     c = c->next)
			for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) {
				if (strcmp(c->name, roles[k].event) != 0)
					continue;
				s->classes[c->number] =
					(struct heap_class){ roles[k].role, field(c, roles[k].size),
							     field(c, roles[k].count),
							     field(c, roles[k].ptr),
							     field(c, roles[k].in_ptr) };
				has_any = true;
			}
	return has_any;
}

static int by_address(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int choose(struct search *s)
{
	struct objects *o = s->o;

	s->wanted = calloc(o->n + (size_t)1, sizeof *s->wanted);
	if (!s->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->n; i++) {
		struct object *f = &o->at[i];
		int32_t pid = threads_at(o->threads, f->process)->tid;

		if (f->is_futex && f->same == i + 1 && !f->place.file && !f->thread &&
		    !f->block.n && pid > 0)
			s->wanted[s->n++] = (struct wanted){ pid, (uint64_t)f->number, f, 0 };
	}
	if (s->n)
		qsort(s->wanted, s->n, sizeof *s->wanted, by_address);
	return 0;
}

/* The first address that is searched for in process @pid from @address on. */
static uint32_t first_from(const struct search *s, int32_t pid, uint64_t address)
{
	const struct wanted like = { .pid = pid, .address = address };
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_address(&s->wanted[middle], &like) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int give(struct search *s, const struct trace_event *e, int32_t pid, uint64_t begin,
		uint64_t size)
{
	for (uint32_t i = first_from(s, pid, begin);
	     i < s->n && s->wanted[i].pid == pid && s->wanted[i].address - begin < size; i++) {
		struct wanted *w = &s->wanted[i];
		struct object *f = w->object;
		int64_t site;

		if (e->time_ns > f->last_ns)
			continue;
		w->begin = begin;
		f->block.n = f->block.n && e->time_ns > f->first_ns ? f->block.n + 1 : 1;
		if (f->block.n > 1)
			continue;
		site = heap_sites_of(s->o->sites, e, pid);
		if (site < 0)
			return (int)site;
		f->block.bytes = size;
		f->block.into = w->address - begin;
		f->block.site = (uint32_t)site + 1;
	}
	return 0;
}

/* A block that ends before the futex is used is not its block. */
static void take(struct search *s, const struct trace_event *e, int32_t pid, uint64_t begin)
{
	for (uint32_t i = first_from(s, pid, begin);
	     i < s->n && s->wanted[i].pid == pid && begin &&
	     s->wanted[i].address - begin < s->wanted[i].object->block.bytes;
	     i++)
		if (s->wanted[i].begin == begin && e->time_ns < s->wanted[i].object->first_ns)
			s->wanted[i].object->block = (struct object_block){ 0 };
}

static int on_event(struct search *s, const struct heap_class *c, const struct trace_event *e,
		    int32_t pid)
{
	uint64_t ptr = (uint64_t)pass_number(e, c->ptr, 0),
		 size = (uint64_t)pass_number(e, c->size, 0) *
			(c->count ? (uint64_t)pass_number(e, c->count, 0) : 1);

	if (c->role == ROLE_FREE)
		take(s, e, pid, ptr);
	else if (c->role == ROLE_REALLOC && (ptr || !size))
		take(s, e, pid, (uint64_t)pass_number(e, c->in_ptr, 0));
	return c->role != ROLE_FREE && ptr && size ? give(s, e, pid, ptr, size) : 0;
}

static int read_all(struct search *s, struct trace *trace, struct diag *d)
{
	struct trace_event e;
	uint32_t thread;
	struct pass run;
	int item = 0, err = pass_init(&run, trace, NULL, d);

	if (err)
		return err;
	trace_seek(trace, INT64_MIN);
	while (!err && (item = pass_next(&run, &e, &thread, d)) > 0) {
		const struct heap_class *c = &s->classes[trace_class_number(&e)];
		int64_t process;

		if (item != TRACE_EVENT || !c->role)
			continue;
		process = threads_process(run.threads, thread);
		if (process < 0)
			err = diag_fail(d, -ENOMEM, "no memory for allocations");
		else if (on_event(s, c, &e, threads_at(run.threads, (uint32_t)process)->tid))
			err = diag_fail(d, -ENOMEM, "no memory for allocations");
	}
	pass_fini(&run);
	return err ? err : item < 0 ? item : 0;
}

int objects_read_blocks(struct objects *o, const struct pass *run, const char *const *paths,
			int n_paths, struct diag *d)
{
	struct search s = { .o = o };
	int err = 0;

	s.classes = calloc(trace_n_classes(run->trace) + (size_t)1, sizeof *s.classes);
	if (!s.classes || choose(&s))
		err = diag_fail(d, -ENOMEM, "no memory for allocations");
	if (!err && n_paths && s.n && plan(&s, run)) {
		if (!o->sites)
			err = heap_sites_open(&o->sites, run->trace, HEAP_EVENTS, paths, n_paths,
					      d);
		if (!err)
			err = read_all(&s, run->trace, d);
	}
	free(s.classes);
	free(s.wanted);
	return err;
}
