/* SPDX-License-Identifier: MIT */
/* analysis/names/words.c - objects in words: see objects.h. */
#include <inttypes.h>
#include <string.h>

#include "analysis/names/heap_sites.h"
#include "analysis/names/objects.h"

/* "worker:12", "12" if nothing names it. */
static void add_thread(const struct objects *o, uint32_t thread, struct text *t)
{
	const struct thread *of = threads_at(o->threads, thread);

	if (of->name_size)
		text_addf(t, "%.*s:", of->name_size, of->name);
	text_addf(t, "%d", of->tid);
}

/* "40-byte block allocated in make_queue at queue.c:31" */
static void add_block(const struct objects *o, const struct object *f, struct text *t)
{
	const struct object_block *b = &f->block;

	if (b->into)
		text_addf(t, "+0x%" PRIx64 " of a ", b->into);
	text_addf(t, "%" PRIu64 "-byte block", b->bytes);
	if (b->site) {
		text_addf(t, " allocated in ");
		heap_sites_words(o->sites, b->site - 1, t);
	}
	if (b->n > 1)
		text_addf(t, ", then %" PRIu32 " more at its address", b->n - 1);
}

static bool futex_name(const struct objects *o, const struct object *f, struct text *t)
{
	if (f->place.file) {
		places_variable(o->places, &f->place, t);
	} else if (f->thread) {
		text_addf(t, f->is_end ? "end of " : "on the stack of ");
		add_thread(o, f->thread, t);
	} else if (f->block.n) {
		add_block(o, f, t);
	} else {
		return false;
	}
	return true;
}

static const struct object *object_of(const struct objects *o, uint32_t number)
{
	const struct object *f = objects_at(o, number);

	return f ? objects_at(o, f->same) : NULL;
}

/* "pipe of server:8": the state dump has its number, and the other process that had it open last. */
static bool pipe_name(const struct objects *o, const struct object *f, struct text *t)
{
	const char *name = o->fds.files[f->file - 1].name;

	if (!name || strncmp(name, "pipe:[", 6) != 0)
		return false;
	for (uint32_t p = 1; p < o->fds.n_tables; p++)
		for (uint32_t i = 0; p != f->process && i < o->fds.tables[p].n; i++)
			if (o->fds.tables[p].slots[i].file == f->file) {
				text_addf(t, "pipe of ");
				add_thread(o, p, t);
				return true;
			}
	return false;
}

bool objects_name(const struct objects *o, uint32_t number, struct text *t)
{
	const struct object *f = object_of(o, number);

	if (!f)
		return false;
	if (f->is_futex)
		return futex_name(o, f, t);
	return f->file && (pipe_name(o, f, t) || fds_name(&o->fds, f->file - 1, t));
}

void objects_words(const struct objects *o, uint32_t number, struct text *t)
{
	const struct object *f = object_of(o, number);
	size_t before;

	if (!f)
		return;
	if (f->is_futex) {
		if (!futex_name(o, f, t))
			text_addf(t, "0x%" PRIx64, (uint64_t)f->number);
		return;
	}
	text_addf(t, "fd %" PRId64 " = ", f->number);
	before = t->size;
	if (!objects_name(o, number, t) && before == t->size) {
		t->size -= 3;
		t->bytes[t->size] = 0;
	}
}
