/* SPDX-License-Identifier: MIT */
/* The packets that the collector of a flight recorder keeps in memory and takes from a pool. */
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "collect/drain/internal.h"
#include "one_channel.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "test.h"

static char directory[64];

static struct streams *drain_for_test(struct pool *p)
{
	struct abi_pool shape = pool_shape(
		&(struct pool_request){ .size_bytes = 1 << 20,
					.n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					.flight_recorder = true });
	struct streams *d = NULL;
	char path[80];
	void *memory;

	if (clock_init_kind(&shape.clock, 0, NULL))
		skip("no clock");
	memory = aligned_alloc(4096, (shape.size + 4095) & ~4095ull);
	memset(memory, 0, shape.size);
	pool_format(memory, &shape);
	is(pool_attach(p, memory, shape.size, (uint32_t)getpid()), 0);
	strcpy(directory, "/tmp/duet-flight-XXXXXX");
	ok(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/t", directory);
	is(open_streams(&d, p, path, NULL), 0);
	return d;
}

static void end(struct streams *d, struct pool *p)
{
	char command[100];

	streams_close(d);
	free(p->shared);
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	ok(!system(command));
}

static uint32_t dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

static void names_of_the_dead_do_not_pile_up(void)
{
	struct pool p;
	struct streams *d = drain_for_test(&p);
	uint32_t dead = dead_pid();
	size_t most = 0;

	streams_process(d, clock_now_ns(&p.clock), (uint32_t)getpid(), getpid(), "alive");
	for (int i = 0; i < 100000; i++) {
		streams_process(d, clock_now_ns(&p.clock), dead, (pid_t)dead, "dead");
		most = d->procnames.text.size > most ? d->procnames.text.size : most;
	}
	ok(most < 256 << 10);
	ok(!!memmem(d->procnames.text.bytes, d->procnames.text.size, "alive", 6));
	end(d, &p);
}

static void names_stay_while_events_may_be_theirs(void)
{
	static const char event[8] = { 0 };
	struct pool p;
	struct streams *d = drain_for_test(&p);
	uint32_t dead = dead_pid();
	size_t size = 0;

	rseq_init();
	ok(ring_write(&p, 1, 0, event, sizeof event));
	for (int i = 0; i < 10000; i++) {
		streams_process(d, clock_now_ns(&p.clock), dead, (pid_t)dead, "dead");
		ok(d->procnames.text.size > size);
		size = d->procnames.text.size;
	}
	end(d, &p);
}

static void a_copy_holds_what_came_before_and_no_younger_chunk(void)
{
	static const char event[1000] = { 0 };
	const struct drain_limits all = { UINT64_MAX, UINT64_MAX }, none = { UINT64_MAX, 100 };
	struct pool p;
	struct streams *d = drain_for_test(&p);
	uint64_t cut_ns = 0;

	rseq_init();
	for (int i = 0; i < 200; i++)
		ok(ring_write(&p, 1, 0, event, sizeof event));
	is(streams_copy(d, &all, &cut_ns, NULL), 0);
	ok(d->drains[0]->n_copied >= 4);
	for (uint32_t i = 0; i < d->drains[0]->n_copied; i++)
		ok(d->drains[0]->seen[i].begin_ns < cut_ns);
	drain_forget_copy(d->drains[0]);
	is(streams_copy(d, &none, &cut_ns, NULL), 0);
	is(d->drains[0]->n_copied, 0);
	end(d, &p);
}

/* An unfinished chunk is continued: none of its packets may be younger than the next copy. */
static void losses_are_reported_after_the_copy_and_only_with_it(void)
{
	static const char event[8] = { 0 };
	struct pool p;
	struct streams *d = drain_for_test(&p);
	const struct output *o = d->drains[0]->cpus;

	rseq_init();
	ok(ring_write(&p, 1, 0, event, sizeof event));
	pool_slot(&p, 0)->lost = 3;
	is(streams_finish_cpus(d, NULL), 0);
	is(streams_bytes(d), 0);
	is(streams_write_overwrite(d, NULL), 0);
	ok(streams_bytes(d) > 0);
	is(o->lost, 0);
	is(streams_finish(d, 0, NULL), 0);
	is(o->lost, 3);
	end(d, &p);
}

int main(void)
{
	run(names_of_the_dead_do_not_pile_up);
	run(names_stay_while_events_may_be_theirs);
	run(a_copy_holds_what_came_before_and_no_younger_chunk);
	run(losses_are_reported_after_the_copy_and_only_with_it);
	return test_status();
}
