/* SPDX-License-Identifier: MIT */
/* ui/index/ahead.c - a ring of batches between two threads: see ahead.h. */
#include "ui/index/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

/* HOLD_EVERY: bytes of texts stay valid as long as trace_hold() says; it is renewed when the builder has
 * caught up. */
enum { EVENTS = 1024, BATCHES = 8, SLOTTED = 64, HOLD_EVERY = 1 << 16 };

struct batch {
	uint32_t n, n_slotted;
	int end; /* what trace_next() returned instead of a further item; TRACE_EVENT: no end */
	uint64_t n_damages;
	struct diag why;
	struct trace_event items[EVENTS];
	uint8_t kinds[EVENTS];
	struct ctf_event events[EVENTS];
	uint64_t slots[SLOTTED][CTF_SLOTS];
};

struct ahead {
	struct trace *trace; /* borrowed */
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	uint64_t n_filled, n_emptied;
	bool stops;
	/* the builder's own */
	struct batch *now;
	uint32_t at;
	/* decoders write slots that no field of such an event is read from */
	uint64_t scratch[CTF_SLOTS];
	struct batch batches[BATCHES];
};

/* ---------------------------------------------------------------- the reader's thread */

/* The decoder continues, so all data of an event is copied. */
static void keep_event(struct ahead *a, struct batch *b, uint32_t i)
{
	const struct ctf_event *e = b->items[i].ctf;

	b->events[i] = *e;
	b->events[i].slots = a->scratch;
	if (!e->class->program->loads) {
		memcpy(b->slots[b->n_slotted], e->slots, sizeof *b->slots);
		b->events[i].slots = b->slots[b->n_slotted++];
	}
	b->items[i].ctf = &b->events[i];
}

static void fill(struct ahead *a, struct batch *b)
{
	b->n = b->n_slotted = 0;
	b->end = TRACE_EVENT;
	while (b->n < EVENTS && b->n_slotted < SLOTTED) {
		int item = trace_next(a->trace, &b->items[b->n], &b->why);

		if (item <= TRACE_END) {
			b->end = item;
			break;
		}
		b->kinds[b->n] = (uint8_t)item;
		if (item == TRACE_EVENT)
			keep_event(a, b, b->n);
		b->n++;
	}
	b->n_damages = trace_n_damages(a->trace);
}

/* Waits until at most @most batches are with the builder.  False: the end is asked for. */
static bool wait_for_room(struct ahead *a, uint64_t most)
{
	bool goes_on;

	pthread_mutex_lock(&a->lock);
	while (!a->stops && a->n_filled - a->n_emptied > most)
		pthread_cond_wait(&a->changed, &a->lock);
	goes_on = !a->stops;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void *read_ahead(void *context)
{
	struct ahead *a = context;
	int end = TRACE_EVENT;

	for (uint64_t n = 0; end == TRACE_EVENT; n++) {
		struct batch *b = &a->batches[n % BATCHES];

		if (!wait_for_room(a, n % (HOLD_EVERY / EVENTS) ? BATCHES - 1 : 0))
			break;
		if (n % (HOLD_EVERY / EVENTS) == 0) {
			trace_hold(a->trace, false);
			trace_hold(a->trace, true);
		}
		fill(a, b);
		end = b->end;
		pthread_mutex_lock(&a->lock);
		a->n_filled++;
		pthread_cond_broadcast(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* ---------------------------------------------------------------- the builder's thread */

struct ahead *ahead_open(struct trace *t)
{
	struct ahead *a = malloc(sizeof *a);

	if (!a)
		return NULL;
	a->trace = t;
	a->n_filled = a->n_emptied = 0;
	a->stops = false;
	a->now = NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (!pthread_create(&a->thread, NULL, read_ahead, a))
		return a;
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}

void ahead_close(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stops = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static void next_batch(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->now) {
		a->n_emptied++;
		pthread_cond_broadcast(&a->changed);
	}
	while (a->n_filled == a->n_emptied)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
	a->now = &a->batches[a->n_emptied % BATCHES];
	a->at = 0;
}

int ahead_next(struct ahead *a, const struct trace_event **e, uint64_t *n_damages, struct diag *d)
{
	while (!a->now || (a->at == a->now->n && a->now->end == TRACE_EVENT))
		next_batch(a);
	*n_damages = a->now->n_damages;
	if (likely(a->at < a->now->n)) {
		*e = &a->now->items[a->at];
		return a->now->kinds[a->at++];
	}
	if (a->now->end < 0)
		*d = a->now->why;
	return a->now->end;
}
