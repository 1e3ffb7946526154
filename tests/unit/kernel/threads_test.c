/* SPDX-License-Identifier: MIT */
/* The table of threads: which version belongs to which time, and that endless changes of a
 * thread do not fill it. */
#include "kernel/threads/thread_table.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static struct thread_table table;

static void change(struct thread *t, uint64_t ns, int32_t uid)
{
	struct thread_version *v = threads_add_version(&table, t, ns);

	ok(v);
	v->state.number[KERNEL_CONTEXT_UID] = uid;
}

static int32_t uid_at(const struct thread *t, uint64_t ns)
{
	return thread_at(t, ns)->state.number[KERNEL_CONTEXT_UID];
}

static void each_time_has_its_version(void)
{
	struct thread *t = threads_find_or_add(&table, 7);

	ok(t && threads_find(&table, 7) == t && !threads_find(&table, 7 + THREAD_BUCKETS));
	for (int i = 0; i < 100; i++)
		change(t, 10 + 10 * (uint64_t)i, i);
	for (int i = 0; i < 100; i++) {
		is(uid_at(t, 10 + 10 * (uint64_t)i), i);
		is(uid_at(t, 19 + 10 * (uint64_t)i), i);
	}
	is(uid_at(t, 0), 0);
	is(uid_at(t, UINT64_MAX), 99);
	change(t, 500, 100); /* reported late, and still the newest */
	is(uid_at(t, 999), 98);
	is(uid_at(t, 1000), 100);
}

static void versions_that_no_event_needs_are_forgotten(void)
{
	struct thread *t = threads_find(&table, 7),
		      *dead = threads_find_or_add(&table, 7 + THREAD_BUCKETS);

	change(dead, 300, 1);
	dead->dead_ns = 400;
	threads_prune(&table, 400);
	ok(threads_find(&table, 7 + THREAD_BUCKETS));
	threads_prune(&table, 405);
	ok(!threads_find(&table, 7 + THREAD_BUCKETS));
	ok(threads_find(&table, 7) == t);
	is(t->n, 62);
	is(table.n_versions, 62);
	is(uid_at(t, 405), 39);
	threads_prune(&table, UINT64_MAX);
	is(t->n, 1);
	is(uid_at(t, 0), 100);
}

static void a_thread_that_changes_endlessly_has_a_bounded_past(void)
{
	struct thread *t = threads_find_or_add(&table, 8);

	for (int i = 0; i < 1000000; i++)
		change(t, (uint64_t)i, i);
	ok(t->n <= THREAD_VERSIONS_MAX && t->n_rooms <= THREAD_VERSIONS_MAX);
	ok(t->n >= THREAD_VERSIONS_MAX / 2);
	is(table.n_versions, (size_t)t->n + 1);
	for (int i = 1000000 - THREAD_VERSIONS_MAX / 2; i < 1000000; i++)
		is(uid_at(t, (uint64_t)i), i);
	ok(uid_at(t, 0) > 0);
	threads_prune(&table, 2000000);
	is(t->n_rooms, 1);
	threads_forget(&table);
	is(table.n_versions, 0);
	ok(!threads_find(&table, 8));
}

int main(void)
{
	run(each_time_has_its_version);
	run(versions_that_no_event_needs_are_forgotten);
	run(a_thread_that_changes_endlessly_has_a_bounded_past);
	return test_status();
}
