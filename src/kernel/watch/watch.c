/* SPDX-License-Identifier: MIT */
/* kernel/watch/watch.c - looks up each record by its event id and calls back for matches.
 *
 * The page's layout is in kernel/tracefs/page_format.h. Values are those that a trace shows, so the
 * kernel's value is shifted where LTTng's form differs. */
#include "kernel/watch/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "clock/clock.h"
#include "filter/payload.h"
#include "kernel/convert/layout.h"
#include "kernel/tracefs/syscalls.h"
#include "kernel/tracefs/page_iter.h"

enum { KERNEL_IDS = 65536, NAME_BYTES = 112 };

/* A field in its recorded form. */
struct field {
	char name[64];
	enum kernel_location place;
	uint16_t offset, size;
	bool is_text, is_signed, is_one;
	bool is_state; /* a thread's state; "preempted" is shown as running */
	int shift;     /* the kernel's value minus the recorded one */
};

struct use {
	struct use *next;
	unsigned tag;
	int by;		       /* index of the field; -1: the thread */
	struct filter *filter; /* NULL: none */
};

struct watched {
	char name[NAME_BYTES];
	int n_fields;
	struct field *fields;
	struct use *uses;
};

/* One event id: an event, or the system calls of one tracepoint. */
struct slot {
	struct watched *event;
	struct watched **by_nr; /* KERNEL_SYSCALLS_MAX; NULL: not a system call */
};

struct kernel_watch {
	const struct abi_clock *clock;
	kernel_event_callback *on_match;
	void *arg;
	struct slot slots[KERNEL_IDS];
};

/* The record being examined. */
struct record {
	struct filter_source source; /* first: get() casts it back */
	const struct watched *watched;
	const uint8_t *bytes;
	size_t size;
	uint32_t tid, cpu;
};

struct kernel_watch *kernel_watch_make(const struct abi_clock *clock,
				       kernel_event_callback *on_match, void *arg)
{
	struct kernel_watch *w = calloc(1, sizeof *w);

	if (w) {
		w->clock = clock;
		w->on_match = on_match;
		w->arg = arg;
	}
	return w;
}

static void free_watched(struct watched *e)
{
	struct use *next;

	if (!e)
		return;
	for (struct use *u = e->uses; u; u = next) {
		next = u->next;
		free(u->filter);
		free(u);
	}
	free(e->fields);
	free(e);
}

void kernel_watch_free(struct kernel_watch *w)
{
	if (!w)
		return;
	for (struct slot *s = w->slots; s < w->slots + KERNEL_IDS; s++) {
		free_watched(s->event);
		for (int nr = 0; s->by_nr && nr < KERNEL_SYSCALLS_MAX; nr++)
			free_watched(s->by_nr[nr]);
		free(s->by_nr);
	}
	free(w);
}

/* ---------------------------------------------------------------- values */

/* The bytes of a text, which may lie elsewhere in the record. */
static bool locate(const struct record *r, const struct field *f, struct filter_value *v)
{
	size_t at = f->offset, size = f->size;
	uint32_t word;

	if (f->place != KERNEL_IN_RECORD) {
		if (r->size < 4 || at > r->size - 4)
			return false;
		memcpy(&word, r->bytes + at, sizeof word);
		at = (word & 0xffff) + (f->place == KERNEL_REL_LOC ? at + 4 : 0);
		size = word >> 16;
	}
	if (at > r->size || size > r->size - at)
		return false;
	v->text = (const char *)r->bytes + at;
	v->more = strnlen(v->text, size);
	return true;
}

static bool read_number(const struct record *r, const struct field *f, struct filter_value *v)
{
	uint64_t bits = 0;

	if (f->offset > r->size || f->size > r->size - f->offset)
		return false;
	memcpy(&bits, r->bytes + f->offset, f->size);
	if (f->is_signed && f->size < 8 && bits >> (8 * f->size - 1))
		bits |= ~0ull << 8 * f->size;
	bits -= (uint64_t)(int64_t)f->shift;
	if (f->is_state && bits == 0x100)
		bits = 0;
	v->bits = bits;
	v->more = f->is_signed && (int64_t)bits < 0;
	return true;
}

static bool get_field(const struct record *r, int i, struct filter_value *v)
{
	const struct field *f = &r->watched->fields[i];

	return f->is_text ? locate(r, f, v) : read_number(r, f, v);
}

/* Fields are numbered after the contexts. */
static bool get(const struct filter_source *source, uint32_t which, struct filter_value *v)
{
	const struct record *r = (const struct record *)source;

	v->more = 0;
	if (which >= FILTER_CONTEXTS)
		return get_field(r, (int)(which - FILTER_CONTEXTS), v);
	v->bits = which == FILTER_VTID ? r->tid : r->cpu;
	return true;
}

/* ---------------------------------------------------------------- names */

struct names {
	struct filter_names names; /* first */
	const struct watched *watched;
};

static int find_field(const struct watched *e, const char *name, size_t size)
{
	for (int i = 0; i < e->n_fields; i++)
		if (strlen(e->fields[i].name) == size && !memcmp(e->fields[i].name, name, size))
			return i;
	return -1;
}

static bool is_named(const char *name, size_t size, enum filter_context which)
{
	const char *context = filter_context_name(which);

	return strlen(context) == size && !memcmp(context, name, size);
}

static enum filter_error find(const struct filter_names *n, bool is_context, const char *name,
			      size_t size, struct filter_location *place)
{
	const struct watched *e = ((const struct names *)n)->watched;
	int i = is_context ? -1 : find_field(e, name, size);

	*place = (struct filter_location){ .type = FILTER_INTEGER, .from = FILTER_FROM_SOURCE };
	if (is_context) {
		place->offset = is_named(name, size, FILTER_VTID) ? FILTER_VTID : FILTER_CPU_ID;
		return place->offset == FILTER_VTID || is_named(name, size, FILTER_CPU_ID)
			       ? FILTER_FINE
			       : FILTER_NO_CONTEXT;
	}
	if (i < 0)
		return FILTER_NO_FIELD;
	if (!e->fields[i].is_one)
		return FILTER_IS_MANY;
	place->type = e->fields[i].is_text ? FILTER_STRING : FILTER_INTEGER;
	place->offset = FILTER_CONTEXTS + (uint32_t)i;
	return FILTER_FINE;
}

static bool label(const struct filter_names *n, const struct filter_location *place,
		  struct filter_label *l)
{
	(void)n;
	(void)place;
	(void)l;
	return false;
}

/* ---------------------------------------------------------------- uses */

static struct filter *link_filter(const struct watched *e, const struct filter_code *code,
				  struct diag *d)
{
	const struct names n = { .names = { find, label }, .watched = e };
	struct filter *f = malloc(FILTER_LINKED_BYTES_MAX);
	struct filter_problem why;
	struct diag reason = { "" };

	if (f && filter_link(f, FILTER_LINKED_BYTES_MAX, code->bytes, code->size, &n.names, &why))
		return f;
	if (f)
		filter_explain(&why, -EINVAL, &reason);
	diag_fail(d, f ? -EINVAL : -ENOMEM, "%s: %s", e->name, f ? reason.text : "no memory");
	free(f);
	return NULL;
}

static int add_use(struct watched *e, const struct kernel_watch_request *request, struct diag *d)
{
	struct use *u = calloc(1, sizeof *u);
	int by = request->by ? find_field(e, request->by, strlen(request->by)) : -1;
	int err = 0;

	if (!u)
		return diag_fail(d, -ENOMEM, "no memory for a trigger");
	if (request->by && by < 0)
		err = diag_fail(d, -EINVAL, "%s has no field %s", e->name, request->by);
	else if (by >= 0 && !e->fields[by].is_one)
		err = diag_fail(d, -EINVAL, "%s: %s is neither a number nor a text", e->name,
				request->by);
	if (!err && request->filter) {
		u->filter = link_filter(e, request->filter, d);
		err = u->filter ? 0 : -EINVAL;
	}
	if (err) {
		free(u);
		return err;
	}
	u->tag = request->tag;
	u->by = by;
	u->next = e->uses;
	e->uses = u;
	return 0;
}

static struct watched *make_watched(const char *name, int n_fields)
{
	struct watched *e = calloc(1, sizeof *e);

	if (e)
		e->fields = calloc((size_t)n_fields + 1, sizeof *e->fields);
	if (!e || !e->fields) {
		free(e);
		return NULL;
	}
	snprintf(e->name, sizeof e->name, "kernel:%s", name);
	return e;
}

static void add_field(struct watched *e, const struct kernel_field *f, const char *system)
{
	bool is_sched = !strcmp(system, "sched");
	struct field *to = &e->fields[e->n_fields++];

	*to = (struct field){ .place = f->place,
			      .offset = f->offset,
			      .size = f->size,
			      .is_text = f->is_text,
			      .is_signed = f->is_signed,
			      .is_one = f->is_text || (f->place == KERNEL_IN_RECORD &&
						       !f->is_array && f->size <= 8),
			      .is_state = is_sched && !strcmp(f->name, "prev_state"),
			      .shift = is_sched ? kernel_layout_shift(f->name) : 0 };
	snprintf(to->name, sizeof to->name, "%s", kernel_layout_shown_name(system, f->name));
}

int kernel_watch_event(struct kernel_watch *w, const struct kernel_watch_request *request,
		       const struct kernel_format *f, const char *system, const char *name,
		       struct diag *d)
{
	struct slot *s = &w->slots[f->id];

	if (!s->event) {
		s->event = make_watched(name, f->n_fields);
		for (int i = 0; s->event && i < f->n_fields; i++)
			add_field(s->event, &f->fields[i], system);
	}
	return s->event ? add_use(s->event, request, d)
			: diag_fail(d, -ENOMEM, "no memory for a trigger");
}

/* An argument is a register: bytes beyond its type may hold anything. */
static void add_argument(struct watched *e, const struct kernel_field *f, unsigned offset)
{
	struct field *to = &e->fields[e->n_fields++];

	*to = (struct field){ .offset = (uint16_t)offset,
			      .size = f->type_size && !f->is_pointer ? f->type_size : 8,
			      .is_signed = f->type_is_signed && !f->is_pointer,
			      .is_one = true };
	snprintf(to->name, sizeof to->name, "%s", f->name);
}

static struct watched *watch_syscall(const struct kernel_format *f, const char *name)
{
	static const struct kernel_field result = { .name = "ret",
						    .type_size = 8,
						    .type_is_signed = true };
	struct watched *e = make_watched(name, KERNEL_SYSCALL_N_ARGS);

	if (!e)
		return NULL;
	if (!f)
		add_argument(e, &result, KERNEL_SYSCALL_ARGS);
	for (int i = 0; f && i < f->n_fields && e->n_fields < KERNEL_SYSCALL_N_ARGS; i++)
		if (f->fields[i].offset >= KERNEL_SYSCALL_ARGS && f->fields[i].size == 8 &&
		    f->fields[i].place == KERNEL_IN_RECORD)
			add_argument(e, &f->fields[i],
				     KERNEL_SYSCALL_ARGS + 8 * (unsigned)e->n_fields);
	return e;
}

int kernel_watch_syscall(struct kernel_watch *w, const struct kernel_watch_request *request,
			 const struct kernel_format *raw, int nr, const struct kernel_format *f,
			 const char *name, struct diag *d)
{
	struct slot *s = &w->slots[raw->id];

	assert(nr >= 0 && nr < KERNEL_SYSCALLS_MAX);
	if (!s->by_nr)
		s->by_nr = calloc(KERNEL_SYSCALLS_MAX, sizeof *s->by_nr);
	if (s->by_nr && !s->by_nr[nr])
		s->by_nr[nr] = watch_syscall(f, name);
	return s->by_nr && s->by_nr[nr] ? add_use(s->by_nr[nr], request, d)
					: diag_fail(d, -ENOMEM, "no memory for a trigger");
}

/* ---------------------------------------------------------------- pages */

static bool read_key(const struct record *r, const struct use *u, uint64_t *key)
{
	struct filter_value v;

	*key = r->tid;
	if (u->by < 0)
		return true;
	if (!get_field(r, u->by, &v))
		return false;
	*key = r->watched->fields[u->by].is_text ? hash_bytes(v.text, v.more) : v.bits;
	return true;
}

static const struct watched *find_watched(const struct slot *s, const uint8_t *record, size_t size)
{
	int64_t nr;

	if (!s->by_nr)
		return s->event;
	if (size < KERNEL_SYSCALL_NR + sizeof nr)
		return NULL;
	memcpy(&nr, record + KERNEL_SYSCALL_NR, sizeof nr);
	return nr >= 0 && nr < KERNEL_SYSCALLS_MAX ? s->by_nr[nr] : NULL;
}

void kernel_watch_record(struct kernel_watch *w, uint32_t cpu, const uint8_t *bytes, size_t size,
			 uint64_t time_ns)
{
	struct record r = { .source = { get }, .bytes = bytes, .size = size, .cpu = cpu };
	struct kernel_seen seen;
	uint16_t id;

	if (size < KERNEL_COMMON_SIZE)
		return;
	memcpy(&id, bytes, sizeof id);
	r.watched = find_watched(&w->slots[id], bytes, size);
	if (!r.watched)
		return;
	memcpy(&r.tid, bytes + 4, sizeof r.tid);
	for (const struct use *u = r.watched->uses; u; u = u->next) {
		if (u->filter && !filter_run(u->filter, NULL, 0, &r.source))
			continue;
		seen = (struct kernel_seen){ .time_ns = time_ns,
					     .tid = r.tid,
					     .cpu = cpu,
					     .tag = u->tag,
					     .name = r.watched->name };
		if (read_key(&r, u, &seen.key))
			w->on_match(w->arg, &seen);
	}
}

void kernel_watch_page(struct kernel_watch *w, uint32_t cpu, const uint8_t *page, size_t size)
{
	struct kernel_record r;
	struct kernel_walk walk;

	kernel_walk_begin(&walk, page, size);
	while (kernel_walk_next(&walk, &r))
		kernel_watch_record(w, cpu, r.bytes, r.size, clock_ns(w->clock, r.ticks));
}
