/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/heap.c - follows each block from its allocation to its end, and sums by process,
 * size and time.
 *
 * Blocks are in a hash table by process and address, which may hold two blocks of one address: see
 * heap.h.
 */
#include "analysis/report/heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum role {
	ROLE_NONE,
	ROLE_GIVE, /* malloc, memalign, aligned_alloc; calloc with a count; posix_memalign */
	ROLE_REALLOC,
	ROLE_FREE,
	ROLE_EXEC, /* an event of the kernel */
	ROLE_JOIN, /* a program starts to be recorded, also after exec */
};

struct heap_plan {
	enum role role;
	const struct ctf_op *size, *count, *ptr, *in_ptr;
};

struct block {
	uint64_t address, size;
	uint64_t birth; /* number of the block: the greater, the younger */
	int64_t time_ns;
	uint32_t process; /* thread number of its leader */
	uint32_t thread, site;
	uint32_t next; /* next in its bucket, or in the free list; plus 1 */
	bool is_live;
};

struct reading {
	struct heap *h;
	const struct heap_options *o;
	struct heap_plan *plans;
	struct block *blocks;
	uint32_t n_blocks, n_rooms, first_free, n_live;
	uint32_t *buckets;
	uint32_t n_buckets;
	uint64_t n_births;
	struct heap_process *processes; /* by thread number of the leader */
	uint32_t n_process_rooms;
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
	{ "sched_process_exec", ROLE_EXEC, NULL, NULL, NULL, NULL },
	{ "lttng_ust_statedump:procname", ROLE_JOIN, NULL, NULL, NULL, NULL },
};

static const struct ctf_op *field(const struct ctf_event_class *c, const char *name)
{
	return name ? ctf_class_find(c, CTF_PAYLOAD, name) : NULL;
}

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct reading *r = context;

	(void)s;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (!strcmp(c->name, roles[i].event))
			r->plans[number] = (struct heap_plan){
				roles[i].role,
				field(c, roles[i].size),
				field(c, roles[i].count),
				field(c, roles[i].ptr),
				field(c, roles[i].in_ptr),
			};
}

/* ---------------------------------------------------------------- blocks by address */

static uint32_t *bucket_of(const struct reading *r, uint32_t process, uint64_t address)
{
	uint64_t h = (address ^ (uint64_t)process << 47) * 0x9E3779B97F4A7C15u;

	assert(r->n_buckets && !(r->n_buckets & (r->n_buckets - 1)));
	return &r->buckets[(h >> 32) & (r->n_buckets - 1)];
}

static int rehash(struct reading *r)
{
	uint32_t n = r->n_buckets ? r->n_buckets * 2 : 4096;
	uint32_t *buckets = calloc(n, sizeof *buckets);

	if (!buckets)
		return -ENOMEM;
	free(r->buckets);
	r->buckets = buckets;
	r->n_buckets = n;
	for (uint32_t i = 0; i < r->n_blocks; i++)
		if (r->blocks[i].is_live) {
			uint32_t *b = bucket_of(r, r->blocks[i].process, r->blocks[i].address);

			r->blocks[i].next = *b;
			*b = i + 1;
		}
	return 0;
}

static bool is_at(const struct block *b, uint32_t process, uint64_t address)
{
	return b->address == address && b->process == process;
}

/* The link to the youngest (or oldest) block at @address; NULL if there is none. */
static uint32_t *find(struct reading *r, uint32_t process, uint64_t address, bool oldest)
{
	uint32_t *best = NULL, *link;

	if (!r->n_buckets)
		return NULL;
	for (link = bucket_of(r, process, address); *link; link = &r->blocks[*link - 1].next) {
		const struct block *b = &r->blocks[*link - 1];

		if (is_at(b, process, address) &&
		    (!best || (b->birth < r->blocks[*best - 1].birth) == oldest))
			best = link;
	}
	return best;
}

static struct block *new_block(struct reading *r)
{
	uint32_t i = r->first_free;

	if (i) {
		r->first_free = r->blocks[i - 1].next;
		return &r->blocks[i - 1];
	}
	if (pass_grow(&r->blocks, &r->n_rooms, r->n_blocks, sizeof *r->blocks))
		return NULL;
	return &r->blocks[r->n_blocks++];
}

/* ---------------------------------------------------------------- sums */

static uint32_t class_of(uint64_t size)
{
	uint32_t i = size < 2 ? 0 : 64 - (uint32_t)__builtin_clzll(size - 1);

	return i < HEAP_CLASSES ? i : HEAP_CLASSES - 1;
}

static void update_peak(struct heap_process *p, int64_t now_ns)
{
	if (p->live_bytes <= p->peak_bytes)
		return;
	p->peak_bytes = p->live_bytes;
	p->peak_n = p->n_live;
	p->peak_ns = now_ns;
}

static struct heap_process *process_at(struct reading *r, uint32_t process)
{
	return pass_grow(&r->processes, &r->n_process_rooms, process, sizeof *r->processes)
		       ? NULL
		       : &r->processes[process];
}

/* Counts for the process and for the sum of all. */
#define COUNT(what, n)                                                                             \
	do {                                                                                       \
		p->what += (n);                                                                    \
		r->h->all.what += (n);                                                             \
	} while (0)

static int give(struct reading *r, uint32_t process, uint32_t thread, const struct trace_event *e,
		uint64_t address, uint64_t size)
{
	int64_t now_ns = e->time_ns,
		site = heap_sites_of(r->h->sites, e, threads_at(r->h->run.threads, process)->tid);
	struct heap_process *p = &r->processes[process];
	struct block *b;
	uint32_t *bucket;

	if (site < 0)
		return -ENOMEM;
	if (r->n_live >= r->n_buckets && rehash(r))
		return -ENOMEM;
	b = new_block(r);
	if (!b)
		return -ENOMEM;
	bucket = bucket_of(r, process, address);
	*b = (struct block){ .address = address,
			     .size = size,
			     .birth = r->n_births++,
			     .time_ns = now_ns,
			     .process = process,
			     .thread = thread,
			     .site = (uint32_t)site,
			     .next = *bucket,
			     .is_live = true };
	*bucket = (uint32_t)(b - r->blocks) + 1;
	r->n_live++;
	r->h->classes[class_of(size)].n++;
	r->h->classes[class_of(size)].bytes += size;
	COUNT(n_given, 1);
	COUNT(given_bytes, size);
	COUNT(n_live, 1);
	COUNT(live_bytes, size);
	heap_sites_give(r->h->sites, (uint32_t)site, size, now_ns);
	update_peak(p, now_ns);
	update_peak(&r->h->all, now_ns);
	heap_slices_add(r->h, now_ns);
	return 0;
}

/* Ends a block. Returns its size; UINT64_MAX if there is none at @address. */
static uint64_t take(struct reading *r, uint32_t process, int64_t now_ns, uint64_t address,
		     bool oldest)
{
	struct heap_process *p = &r->processes[process];
	uint32_t *link = find(r, process, address, oldest), i;
	uint64_t size;

	if (!link) {
		COUNT(n_unknown, 1);
		return UINT64_MAX;
	}
	i = *link;
	size = r->blocks[i - 1].size;
	*link = r->blocks[i - 1].next;
	r->blocks[i - 1].is_live = false;
	r->blocks[i - 1].next = r->first_free;
	r->first_free = i;
	r->n_live--;
	COUNT(n_taken, 1);
	COUNT(n_live, -(uint64_t)1);
	COUNT(live_bytes, -size);
	heap_sites_take(r->h->sites, r->blocks[i - 1].site, size);
	heap_slices_add(r->h, now_ns);
	return size;
}

/* ---------------------------------------------------------------- events */

static int on_give(struct reading *r, const struct heap_plan *plan, const struct trace_event *e,
		   uint32_t process, uint32_t thread)
{
	uint64_t size = (uint64_t)pass_number(e, plan->size, 0),
		 n = (uint64_t)pass_number(e, plan->count, 1);
	uint64_t address = (uint64_t)pass_number(e, plan->ptr, 0);
	struct heap_process *p = &r->processes[process];

	if (!address) {
		COUNT(n_failed, 1);
		return 0;
	}
	return give(r, process, thread, e, address, size * n);
}

static int on_realloc(struct reading *r, const struct heap_plan *plan, const struct trace_event *e,
		      uint32_t process, uint32_t thread)
{
	uint64_t before = (uint64_t)pass_number(e, plan->in_ptr, 0), old_size = 0;
	uint64_t size = (uint64_t)pass_number(e, plan->size, 0),
		 now = (uint64_t)pass_number(e, plan->ptr, 0);
	struct heap_process *p = &r->processes[process];

	if (!now && size) {
		COUNT(n_failed, 1);
		return 0; /* the old block stays live */
	}
	if (before)
		old_size = take(r, process, e->time_ns, before, true);
	if (before && now && old_size != UINT64_MAX) {
		COUNT(n_reallocs, 1);
		COUNT(n_moved, before != now);
		COUNT(grown_bytes, size > old_size ? size - old_size : 0);
		COUNT(shrunk_bytes, size < old_size ? old_size - size : 0);
	}
	return now ? give(r, process, thread, e, now, size) : 0;
}

/* An exec is rare, so a scan over all blocks is cheap enough. */
static void leave_heap(struct reading *r, uint32_t process, int64_t now_ns)
{
	struct heap_process *p = &r->processes[process];

	for (uint32_t i = 0; i < r->n_blocks && p->n_live; i++) {
		struct block *b = &r->blocks[i];

		if (!b->is_live || b->process != process)
			continue;
		COUNT(n_at_exec, 1);
		COUNT(at_exec_bytes, b->size);
		p->n_taken--; /* counted by take() */
		r->h->all.n_taken--;
		take(r, process, now_ns, b->address, true);
	}
}

/* The process of a thread, as far as it is known now: applications always record it. */
static int64_t process_now(struct pass *run, const struct trace_event *e, uint32_t thread)
{
	const struct thread *t = threads_at(run->threads, thread);

	return t->pid > 0 && t->pid != t->tid ? threads_of(run->threads, e, t->pid) : thread;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	const struct heap_plan *plan = &r->plans[trace_class_number(e)];
	uint64_t address;
	int64_t process;

	if (!plan->role)
		return 0;
	process = process_now(run, e, thread);
	if (process < 0 || !process_at(r, (uint32_t)process))
		return -ENOMEM;
	if (plan->role < ROLE_EXEC)
		r->h->n_heap_events++;
	switch (plan->role) {
	case ROLE_GIVE:
		return on_give(r, plan, e, (uint32_t)process, thread);
	case ROLE_REALLOC:
		return on_realloc(r, plan, e, (uint32_t)process, thread);
	case ROLE_FREE:
		address = (uint64_t)pass_number(e, plan->ptr, 0);
		if (address)
			take(r, (uint32_t)process, e->time_ns, address, false);
		return 0;
	case ROLE_EXEC:
	case ROLE_JOIN:
		leave_heap(r, (uint32_t)process, e->time_ns);
		return 0;
	case ROLE_NONE:
		break;
	}
	return 0;
}

/* ---------------------------------------------------------------- the end */

static int most_live_first(const void *a, const void *b)
{
	const struct heap_process *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->given_bytes != y->given_bytes)
		return x->given_bytes < y->given_bytes ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* A block with a younger one at its address has ended, and the event of its end was not
 * recorded. */
static void end_unseen(struct reading *r)
{
	for (uint32_t i = 0; i < r->n_blocks; i++) {
		struct block *b = &r->blocks[i];
		struct heap_process *p = &r->processes[b->process];
		uint32_t *youngest = b->is_live ? find(r, b->process, b->address, false) : NULL;

		if (!youngest || &r->blocks[*youngest - 1] == b)
			continue;
		COUNT(n_unseen_ends, 1);
		COUNT(n_live, -(uint64_t)1);
		COUNT(live_bytes, -b->size);
		heap_sites_take(r->h->sites, b->site, b->size);
		b->is_live = false; /* it stays linked: only the youngest is looked up from here
				     * on */
	}
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct heap *h = r->h;
	int64_t end_ns = h->run.last_ns;

	end_unseen(r);
	for (uint32_t i = 0; i < r->n_blocks; i++) {
		const struct block *b = &r->blocks[i];
		struct heap_class *c = &h->classes[class_of(b->size)];

		if (!b->is_live)
			continue;
		c->n_live++;
		c->live_bytes += b->size;
		slowest_add(&h->oldest, &(struct slow){ (uint64_t)(end_ns - b->time_ns), b->time_ns,
							b->thread, b->process, (int64_t)b->size });
	}
	assert(h->all.n_given ==
	       h->all.n_taken + h->all.n_live + h->all.n_at_exec + h->all.n_unseen_ends);
	slowest_sort(&h->oldest);
	h->processes = calloc(r->n_process_rooms + (size_t)1, sizeof *h->processes);
	if (!h->processes)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_process_rooms; i++) {
		if (!r->processes[i].n_given && !r->processes[i].n_unknown)
			continue;
		h->processes[h->n_processes] = r->processes[i];
		h->processes[h->n_processes++].thread = i;
	}
	qsort(h->processes, h->n_processes, sizeof *h->processes, most_live_first);
	heap_slices_finalize(h, end_ns);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct heap *h = r->h;

	r->plans = calloc(trace_n_classes(h->run.trace) + (size_t)1, sizeof *r->plans);
	if (!r->plans || slowest_init(&h->oldest, r->o->n_oldest) ||
	    heap_sites_open(&h->sites, r->o->trace, HEAP_EVENTS, r->o->paths, r->o->n_paths, NULL))
		return -ENOMEM;
	pass_each_class(&h->run, plan_class, r);
	return 0;
}

int heap_init(struct heap *h, const struct heap_options *o, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "the heap", .prepare = prepare, .on_event = on_event, .finish = finalize
	};
	struct reading r = { .h = h, .o = o };
	int err;

	*h = (struct heap){ 0 };
	err = pass_run(&h->run, o->trace, o->range, &analysis, &r, d);
	free(r.plans);
	free(r.blocks);
	free(r.buckets);
	free(r.processes);
	if (err)
		heap_fini(h);
	return err;
}

void heap_fini(struct heap *h)
{
	free(h->processes);
	heap_sites_close(h->sites);
	slowest_fini(&h->oldest);
	pass_fini(&h->run);
	*h = (struct heap){ 0 };
}
