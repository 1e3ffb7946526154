/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_table.c - a hash table of threads, each with a sorted array of versions.
 *
 * When an array is full, its oldest half is dropped, so that adding a version stays cheap. */
#include "kernel/threads/thread_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"

static struct thread **bucket_of(struct thread_table *t, int32_t tid)
{
	return &t->buckets[(uint32_t)tid % THREAD_BUCKETS];
}

struct thread *threads_find(struct thread_table *table, int32_t tid)
{
	struct thread *t = *bucket_of(table, tid);

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

struct thread *threads_find_or_add(struct thread_table *table, int32_t tid)
{
	struct thread *t = threads_find(table, tid), **bucket = bucket_of(table, tid);

	if (t)
		return t;
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	*t = (struct thread){ .next = *bucket, .tid = tid };
	*bucket = t;
	return t;
}

/* ---------------------------------------------------------------- versions */

/* Drops the @n oldest. */
static void drop(struct thread_table *table, struct thread *t, int n)
{
	assert(n >= 0 && n <= t->n && (size_t)n <= table->n_versions);
	if (!n)
		return;
	t->n -= n;
	table->n_versions -= (size_t)n;
	memmove(t->versions, t->versions + n, (size_t)t->n * sizeof *t->versions);
}

static bool resize(struct thread *t, int n_rooms)
{
	struct thread_version *versions = realloc(t->versions, (size_t)n_rooms * sizeof *versions);

	assert(n_rooms >= t->n);
	if (!versions)
		return false;
	t->versions = versions;
	t->n_rooms = n_rooms;
	return true;
}

struct thread_version *threads_add_version(struct thread_table *table, struct thread *t,
					   uint64_t from_ns)
{
	struct thread_version *v;

	if (t->n == THREAD_VERSIONS_MAX)
		drop(table, t, THREAD_VERSIONS_MAX / 2);
	if (t->n == t->n_rooms && !resize(t, t->n_rooms ? 2 * t->n_rooms : 1))
		return NULL;
	v = &t->versions[t->n];
	if (t->n) {
		v->state = v[-1].state;
		v->from_ns = from_ns > v[-1].from_ns ? from_ns : v[-1].from_ns;
	} else {
		kernel_thread_unknown(&v->state, t->tid);
		v->from_ns = from_ns;
	}
	assert(!t->n || v->from_ns >= v[-1].from_ns);
	t->n++;
	table->n_versions++;
	assert(t->n <= t->n_rooms && t->n <= THREAD_VERSIONS_MAX);
	return v;
}

struct thread_version *thread_at(const struct thread *t, uint64_t ns)
{
	int low = 0, high = t->n - 1;

	assert(t->n > 0);
	while (low < high) {
		int middle = (low + high + 1) / 2;

		if (t->versions[middle].from_ns > ns)
			high = middle - 1;
		else
			low = middle;
	}
	return &t->versions[low];
}

/* ---------------------------------------------------------------- finding */

struct thread *threads_meet(struct thread_table *table, int32_t tid)
{
	struct thread *t = threads_find_or_add(table, tid);
	struct thread_version *v;

	if (!t || t->n)
		return t;
	v = threads_add_version(table, t, 0);
	if (v && tid &&
	    !kernel_thread_read(&v->state, tid,
				table->mask | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PID))) {
		kernel_thread_unknown(&v->state, tid);
		t->dead_ns = clock_now_ns(table->clock);
	}
	t->scanned_ns = clock_now_ns(table->clock);
	return v ? t : NULL;
}

bool threads_read(const struct thread_table *table, struct thread *t,
		  struct kernel_thread_state *now, uint32_t mask)
{
	*now = thread_newest(t)->state;
	mask &= table->mask;
	t->scanned_ns = clock_now_ns(table->clock);
	return t->tid && !t->dead_ns && mask && kernel_thread_read(now, t->tid, mask);
}

void threads_apply(struct thread_table *table, struct thread *t,
		   const struct kernel_thread_state *now, uint64_t ns, uint32_t mask)
{
	struct thread_version *v = thread_newest(t);
	struct kernel_thread_state state = v->state;

	t->stamped_ns = t->scanned_ns;
	for (int i = 0; i < KERNEL_CONTEXT_NUMBERS; i++)
		if (mask & KERNEL_CONTEXT_BIT(i))
			state.number[i] = now->number[i];
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME))
		memcpy(state.name, now->name, sizeof state.name);
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))
		memcpy(state.cgroup, now->cgroup, sizeof state.cgroup);
	if (!memcmp(&state, &v->state, sizeof state))
		return;
	if (ns > v->from_ns)
		v = threads_add_version(table, t, ns);
	if (v)
		v->state = state;
}

void threads_reread(struct thread_table *table, struct thread *t, uint64_t ns, uint32_t mask)
{
	struct kernel_thread_state now;

	if (threads_read(table, t, &now, mask))
		threads_apply(table, t, &now, ns, mask);
}

void threads_verify(struct thread_table *table, struct thread *t, uint64_t ns, uint32_t mask,
		    uint32_t settable)
{
	struct kernel_thread_state now;
	struct thread_version *v;

	if (!t->tid || !(table->mask & mask))
		return;
	if (threads_read(table, t, &now, mask)) {
		threads_apply(table, t, &now, ns, mask);
		return;
	}
	v = table->mask & settable ? threads_add_version(table, t, ns) : NULL;
	if (v)
		kernel_thread_forget(&v->state, table->mask & settable);
}

/* ---------------------------------------------------------------- dropping */

/* Returns true if nothing of the thread remains. */
static bool prune_thread(struct thread_table *table, struct thread *t, uint64_t ns)
{
	if (!t->n || (t->dead_ns && t->dead_ns < ns && thread_newest(t)->from_ns < ns)) {
		drop(table, t, t->n);
		return true;
	}
	drop(table, t, (int)(thread_at(t, ns) - t->versions));
	if (t->n == 1 && t->n_rooms > 4)
		resize(t, 1);
	return false;
}

void threads_prune(struct thread_table *table, uint64_t ns)
{
	for (int i = 0; i < THREAD_BUCKETS; i++)
		for (struct thread **at = &table->buckets[i], *t; (t = *at);) {
			if (prune_thread(table, t, ns)) {
				*at = t->next;
				free(t->versions);
				free(t);
			} else {
				at = &t->next;
			}
		}
}

void threads_forget(struct thread_table *table)
{
	for (int i = 0; i < THREAD_BUCKETS; i++)
		for (struct thread *t = table->buckets[i], *next; t; t = next) {
			next = t->next;
			free(t->versions);
			free(t);
		}
	memset(table->buckets, 0, sizeof table->buckets);
	table->n_versions = 0;
}
