/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/scan.c - read new events from the trigger pool without taking its chunks.
 *
 * A chunk may be overwritten while it is read.  So its new bytes are copied first, and the copy is
 * used only if the chunk's begin time and sequence number are unchanged afterwards.  The states of
 * a chunk are in abi/pool.h.
 */
#include "collect/trigger/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "collect/drain/drain.h"
#include "collect/trigger/class.h"

/* How far a chunk was read, in its current generation. */
struct progress {
	uint64_t begin_ns, sequence; /* identify the generation */
	uint64_t time_ns;	     /* of the last event read */
	uint32_t position;
};

struct trigger_scan {
	struct pool *pool;	   /* borrowed */
	struct trigger_hits *hits; /* borrowed: receives the matches */
	struct progress *progress;
	/*
	 * For each CPU: sequence number of its first chunk, of the next one to come, and how many
	 * between these were seen.  They may be found in any order.
	 */
	struct {
		uint64_t first, next, n;
	} * cpus;
	uint64_t n_overwritten; /* chunks overwritten while they were read */
	char *copy;		/* of the new bytes of one chunk */
	struct trigger_class *classes[ABI_SCHEMAS];
};

/* The event being read, as a source of values for a filter. */
struct event_reader {
	struct filter_source source;
	uint32_t vpid, vtid, cpu;
	const char *procname; /* ABI_PROCNAME_BYTES */
	const char *payload;
	size_t size;
	uint64_t time_ns;
};

static void count_chunk(struct trigger_scan *s, const struct drain_chunk *seen)
{
	uint32_t cpu = seen->cpu;

	if (seen->path != ABI_PATH_RSEQ)
		return;
	if (!s->cpus[cpu].n || seen->sequence < s->cpus[cpu].first)
		s->cpus[cpu].first = seen->sequence;
	if (seen->sequence >= s->cpus[cpu].next)
		s->cpus[cpu].next = seen->sequence + 1;
	s->cpus[cpu].n++;
}

int trigger_scan_open(struct trigger_scan **out, struct pool *pool, struct trigger_hits *hits,
		      struct diag *d)
{
	struct trigger_scan *s = calloc(1, sizeof *s);
	struct drain_chunk seen;

	*out = s;
	if (s) {
		s->pool = pool;
		s->hits = hits;
		s->progress = calloc(pool->n_chunks, sizeof *s->progress);
		s->cpus = calloc(pool->n_cpus, sizeof *s->cpus);
		s->copy = malloc(pool->chunk_size);
	}
	if (!s || !s->progress || !s->cpus || !s->copy) {
		trigger_scan_close(s);
		*out = NULL;
		return diag_fail(d, -ENOMEM, "no memory for triggers");
	}
	for (uint32_t i = 0; i < pool->n_chunks; i++) {
		if (!drain_inspect(s->pool, i, &seen))
			continue;
		s->progress[i] = (struct progress){ seen.begin_ns, seen.sequence,
						    seen.begin_ns + seen.since_ns, seen.position };
		count_chunk(s, &seen);
	}
	return 0;
}

void trigger_scan_close(struct trigger_scan *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < ABI_SCHEMAS; i++)
		trigger_class_free(s->classes[i]);
	free(s->progress);
	free(s->cpus);
	free(s->copy);
	free(s);
}

uint64_t trigger_scan_missed(const struct trigger_scan *s)
{
	uint64_t n = s->n_overwritten;

	for (uint32_t i = 0; i < s->pool->n_cpus; i++)
		n += s->cpus[i].next - s->cpus[i].first - s->cpus[i].n;
	return n;
}

/* ---------------------------------------------------------------- classes */

/* The class with id @id and its current uses; NULL if there is none. */
static struct trigger_class *find_class(struct trigger_scan *s, const struct triggers *t,
					uint32_t id)
{
	const struct pool *pool = s->pool;
	char schema[ABI_SCHEMA_MAX_BYTES];
	struct trigger_class **c;
	uint32_t size, at;

	if (!id || id > ABI_SCHEMAS)
		return NULL;
	c = &s->classes[id - 1];
	if (*c && (*c)->generation == t->generation)
		return *c;
	size = load_acquire(&pool->schemas[id - 1].size); /* pairs with [S] */
	at = load(&pool->schemas[id - 1].offset);
	if (!size || size > sizeof schema || at > ABI_SCHEMA_TEXT_BYTES ||
	    size > ABI_SCHEMA_TEXT_BYTES - at)
		return NULL;
	memcpy(schema, pool->text + at, size);
	if (!*c)
		*c = trigger_class_make(schema, size);
	if (*c)
		trigger_class_use(*c, t, schema, size);
	return *c;
}

/* ---------------------------------------------------------------- events */

static bool get_value(const struct filter_source *source, uint32_t which, struct filter_value *v)
{
	const struct event_reader *e = (const struct event_reader *)source;

	v->more = 0;
	switch (which) {
	case FILTER_VPID:
		v->bits = e->vpid;
		return true;
	case FILTER_VTID:
		v->bits = e->vtid;
		return true;
	case FILTER_CPU_ID:
		v->bits = e->cpu;
		return e->cpu != ABI_CPU_UNKNOWN;
	case FILTER_PROCNAME:
		v->text = e->procname;
		v->more = strnlen(e->procname, ABI_PROCNAME_BYTES);
		return true;
	}
	return false;
}

/* The kernel identifies a thread by its tid alone. */
static uint64_t thread_key(const struct trigger_use *u, const struct event_reader *e)
{
	return u->is_mixed ? e->vtid : (uint64_t)e->vpid << 32 | e->vtid;
}

static void add_hit(struct trigger_scan *s, struct triggers *t, const struct trigger_class *c,
		    const struct trigger_use *u, const struct event_reader *e)
{
	struct trigger_hit hit = { .slot = u->slot,
				   .number = u->number,
				   .is_second = u->is_second,
				   .key = thread_key(u, e),
				   .facts = { .time_ns = e->time_ns,
					      .vpid = e->vpid,
					      .vtid = e->vtid,
					      .event = c->name } };

	if (u->filter && !filter_run(u->filter, e->payload, e->size, &e->source))
		return;
	if (!u->by_thread && !trigger_class_key(c, &u->field, e->payload, e->size, &hit.key))
		return;
	memcpy(hit.facts.program, e->procname, sizeof hit.facts.program - 1);
	trigger_hits_add(s->hits, t, &hit, clock_now_ns(&s->pool->clock));
}

/* Reads one event from the copy.  Returns its size, or 0 if it is malformed. */
static size_t read_event(struct trigger_scan *s, struct triggers *t, const char *p, size_t size,
			 struct event_reader *e)
{
	const struct trigger_class *c;
	struct abi_ctf_ids ids;
	uint64_t last_ns = e->time_ns;
	uint32_t id;
	size_t at = abi_ctf_read_event(p, size, &id, &e->time_ns);

	if (!at || size - at < sizeof ids + ABI_PROCNAME_BYTES || e->time_ns < last_ns ||
	    e->time_ns > clock_now_ns(&s->pool->clock) + BOUNDS_AHEAD_NS)
		return 0;
	memcpy(&ids, p + at, sizeof ids);
	e->vpid = (uint32_t)ids.vpid;
	e->vtid = (uint32_t)ids.vtid;
	e->procname = p + at + sizeof ids;
	at += sizeof ids + ABI_PROCNAME_BYTES;
	e->payload = p + at;
	c = find_class(s, t, id);
	if (!c || !trigger_class_size(c, e->payload, size - at, &e->size))
		return 0;
	for (int i = 0; i < c->n_uses; i++)
		add_hit(s, t, c, &c->uses[i], e);
	return at + e->size;
}

static void read_events(struct trigger_scan *s, struct triggers *t, const struct drain_chunk *seen,
			struct progress *p, size_t size)
{
	struct event_reader e = { .source = { get_value },
				  .cpu = seen->cpu,
				  .time_ns = p->time_ns };
	size_t at = 0, n;

	while (at < size && (n = read_event(s, t, s->copy + at, size - at, &e)))
		at += n;
	p->time_ns = e.time_ns;
}

/* ---------------------------------------------------------------- chunks */

static void begin_chunk(struct trigger_scan *s, const struct drain_chunk *seen, struct progress *p)
{
	if (p->begin_ns == seen->begin_ns && p->sequence == seen->sequence && p->position)
		return;
	*p = (struct progress){ seen->begin_ns, seen->sequence, seen->begin_ns,
				sizeof(struct abi_chunk) };
	count_chunk(s, seen);
}

/* Whether the chunk is unchanged since it was inspected: the copy is valid then. */
static bool is_same_generation(struct trigger_scan *s, const struct drain_chunk *seen)
{
	struct drain_chunk now;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return drain_inspect(s->pool, seen->index, &now) && now.begin_ns == seen->begin_ns &&
	       now.sequence == seen->sequence;
}

static void scan_chunk(struct trigger_scan *s, struct triggers *t, uint32_t i)
{
	struct progress *p = &s->progress[i];
	struct drain_chunk seen;
	size_t size;

	if (!drain_inspect(s->pool, i, &seen))
		return;
	begin_chunk(s, &seen, p);
	if (seen.position <= p->position)
		return;
	size = seen.position - p->position;
	memcpy(s->copy, seen.bytes + p->position, size);
	if (!is_same_generation(s, &seen)) {
		s->n_overwritten++;
		return;
	}
	p->position = seen.position;
	read_events(s, t, &seen, p, size);
}

void trigger_scan(struct trigger_scan *s, struct triggers *t)
{
	uint64_t cut_ns = clock_now_ns(&s->pool->clock);

	for (uint32_t i = 0; i < s->pool->n_chunks; i++)
		scan_chunk(s, t, i);
	t->programs_scanned_ns = cut_ns;
}
