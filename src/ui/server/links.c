/* SPDX-License-Identifier: MIT */
/* ui/server/links.c - the table of connections, by descriptor. */
#include "ui/server/links.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/monotonic.h"

void links_init(struct links *l)
{
	pthread_mutex_init(&l->lock, NULL);
}

static int *count_of(struct links *l, const struct link *k)
{
	return k->is_known ? &l->n_known : &l->n_unknown;
}

static void forget(struct links *l, struct link *k)
{
	if (k->state == LINK_NONE)
		return;
	--*count_of(l, k);
	*k = (struct link){ .life = k->life };
	while (l->end && l->at[l->end - 1].state == LINK_NONE)
		l->end--;
}

/* Shutting down is all: its owner sees the end, and closes it. */
static void evict(struct link *k, int fd)
{
	k->is_evicted = true;
	shutdown(fd, SHUT_RDWR);
}

static void evict_oldest(struct links *l, bool is_known)
{
	struct link *oldest = NULL;

	for (int fd = 0; fd < l->end; fd++) {
		struct link *k = &l->at[fd];

		if (k->state != LINK_NONE && k->is_known == is_known && !k->is_evicted &&
		    !k->is_cancelled && (!oldest || k->since_ns < oldest->since_ns))
			oldest = k;
	}
	if (oldest)
		evict(oldest, (int)(oldest - l->at));
}

uint32_t link_add(struct links *l, int fd)
{
	struct link *k;
	uint32_t life;

	if (fd >= LINKS_FDS)
		return 0;
	k = &l->at[fd];
	pthread_mutex_lock(&l->lock);
	forget(l, k);
	life = k->life + 1 ? k->life + 1 : 1;
	*k = (struct link){ .state = LINK_HEAD, .life = life, .since_ns = monotonic_ns() };
	l->end = fd < l->end ? l->end : fd + 1;
	if (++l->n_unknown > LINKS_UNKNOWN)
		evict_oldest(l, false);
	pthread_mutex_unlock(&l->lock);
	return life;
}

enum link_state link_state(struct links *l, int fd, uint32_t life)
{
	enum link_state state;

	pthread_mutex_lock(&l->lock);
	state = l->at[fd].life == life ? l->at[fd].state : LINK_NONE;
	pthread_mutex_unlock(&l->lock);
	return state;
}

void link_set_state(struct links *l, int fd, enum link_state state)
{
	pthread_mutex_lock(&l->lock);
	assert(l->at[fd].state != LINK_NONE);
	l->at[fd].state = state;
	l->at[fd].since_ns = monotonic_ns();
	pthread_mutex_unlock(&l->lock);
}

void link_remove(struct links *l, int fd)
{
	pthread_mutex_lock(&l->lock);
	forget(l, &l->at[fd]);
	pthread_mutex_unlock(&l->lock);
}

void link_used(struct links *l, int fd)
{
	struct link *k = &l->at[fd];

	pthread_mutex_lock(&l->lock);
	k->since_ns = monotonic_ns();
	if (!k->is_known) {
		k->is_known = true;
		l->n_unknown--;
		if (++l->n_known > LINKS_KNOWN)
			evict_oldest(l, true);
	}
	pthread_mutex_unlock(&l->lock);
}

static void cancel(struct link *k)
{
	if (k->is_cancelled)
		__atomic_store_n(k->is_cancelled, 1, __ATOMIC_RELAXED);
}

void link_works(struct links *l, int fd, uint32_t *is_cancelled)
{
	struct link *k = &l->at[fd];

	pthread_mutex_lock(&l->lock);
	k->is_cancelled = is_cancelled;
	k->since_ns = monotonic_ns();
	if (k->is_gone)
		cancel(k);
	pthread_mutex_unlock(&l->lock);
}

void link_gone(struct links *l, int fd, uint32_t life)
{
	struct link *k = &l->at[fd];

	pthread_mutex_lock(&l->lock);
	if (k->life == life && k->state != LINK_NONE) {
		k->is_gone = true;
		cancel(k);
	}
	pthread_mutex_unlock(&l->lock);
}

void links_check(struct links *l)
{
	uint64_t now = monotonic_ns();

	pthread_mutex_lock(&l->lock);
	for (int fd = 0; fd < l->end; fd++) {
		struct link *k = &l->at[fd];
		uint64_t limit = k->state == LINK_DRAIN ? LINK_DRAIN_NS : LINK_UNKNOWN_NS;

		if (k->state != LINK_NONE && !k->is_known && !k->is_evicted &&
		    now - k->since_ns > limit)
			evict(k, fd);
	}
	pthread_mutex_unlock(&l->lock);
}

void links_end(struct links *l)
{
	pthread_mutex_lock(&l->lock);
	for (int fd = 0; fd < l->end; fd++)
		cancel(&l->at[fd]);
	pthread_mutex_unlock(&l->lock);
}

bool links_are_busy(struct links *l)
{
	bool is_busy = false;

	pthread_mutex_lock(&l->lock);
	for (int fd = 0; fd < l->end && !is_busy; fd++)
		is_busy = l->at[fd].is_cancelled != NULL;
	pthread_mutex_unlock(&l->lock);
	return is_busy;
}
