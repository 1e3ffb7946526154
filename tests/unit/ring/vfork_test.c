/* SPDX-License-Identifier: MIT */
/*
 * unit/ring/vfork_test.c - a child with its parent's memory but not its registration avoids the
 * rseq path.
 *
 * A child of vfork sees the rseq area of its parent, which holds the parent's CPU. Here it runs, by
 * its affinity, on another one.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "test.h"

static struct pool pool;
static int cpus[2];

static int two_cpus(void)
{
	cpu_set_t set;
	int n = 0;

	sched_getaffinity(0, sizeof set, &set);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	return n;
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

static uint64_t word_of(int cpu)
{
	struct abi_chunk *c = pool_chunk(&pool, pool_slot(&pool, (uint32_t)cpu)->chunk);

	return c ? c->word : 0;
}

static void write_one(void)
{
	ok(ring_write(&pool, 1, 7, "payload", 8));
}

static void a_child_of_vfork_on_another_cpu_takes_the_x_path(void)
{
	struct abi_slot *slot = pool_slot(&pool, (uint32_t)cpus[0]);
	uint64_t before;
	pid_t pid;

	go_to(cpus[0]);
	write_one();
	before = word_of(cpus[0]);
	ok(before);
	ok(!slot->exclusive[0]);
	pid = vfork();
	if (!pid) {
		go_to(cpus[1]);
		write_one();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ok(word_of(cpus[0]) == before);
	ok(!word_of(cpus[1]));
	ok(slot->exclusive[0]);
	write_one(); /* and the parent goes on as before */
	ok(word_of(cpus[0]) > before);
}

int main(void)
{
	struct abi_pool s;
	void *memory;

	rseq_init();
	if (!rseq_offset || !rseq_knows_cpu || two_cpus() < 2)
		skip("no restartable sequences, no RDPID or one CPU");
	s = pool_shape(&(struct pool_request){ .size_bytes = 0,
					       .n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					       .flight_recorder = false });
	memory = aligned_alloc(1 << 16, s.size);
	if (!memory || clock_init_kind(&s.clock, 0, NULL))
		return 1;
	memset(memory, 0, s.size);
	pool_format(memory, &s);
	is(pool_attach(&pool, memory, s.size, (uint32_t)getpid()), 0);
	run(a_child_of_vfork_on_another_cpu_takes_the_x_path);
	free(memory);
	return test_status();
}
