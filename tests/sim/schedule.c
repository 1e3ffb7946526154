/* SPDX-License-Identifier: MIT */
/*
 * sim/schedule.c - when a collector wakes, and whether its pool holds until then: a model with many
 * CPUs, where the machine has few.
 *
 * Real are the poll interval (collect/drain/interval.c) and the rules by which a pool grows.  The rest
 * are numbers: programs write at a constant rate on each CPU, a collector copies at a constant rate and
 * shares its CPU with a program, a wake-up is late.  The numbers were measured: docs/design/large.md.
 *
 *	schedule                      the cases that must lose nothing: a test
 *	schedule CPUS BYTES COLLECTORS MIB   writes of BYTES a second on each CPU; prints the losses
 *	schedule table                the most that each number of collectors holds
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/drain/interval.h"

#define MIB (1ull << 20)
enum { CHUNK = 65536, STEP_NS = 10000, MS = 1000000 };

/* Of a machine, measured. */
struct costs {
	double copy_ns;	 /* of a byte: copied, checked, written */
	double grow_ns;	 /* of a byte: memory for the pool */
	double pass_ns;	 /* a wake-up with cold caches */
	double state_ns; /* a chunk's state looked at, in all loops of a pass */
	double late_ns;	 /* a wake-up, while programs run on all CPUs */
	double slice_ns; /* for that long a program then runs, and the collector in turn */
};
static const struct costs measured = { .copy_ns = 0.76,
				       .grow_ns = 0.21,
				       .pass_ns = 40000,
				       .state_ns = 1.5,
				       .late_ns = 3 * MS,
				       .slice_ns = 3 * MS };

/* The part of a session that one collector serves. */
struct part {
	struct costs costs;
	uint32_t n_cpus, n_chunks, n_backed, n_least;
	double bytes_s; /* of each CPU */
	/* State: (1) n_free + n_full + n_open <= n_backed <= n_chunks. */
	uint32_t n_free, n_full, n_open;
	double open_bytes; /* in the open chunk of each CPU: all CPUs are equal, and begin apart */
	double lost, written;
	struct poll_interval interval;
	uint64_t closed, polled, now_ns, wake_ns;
	double work_ns;	   /* of the step of the pass under way */
	uint32_t to_write; /* chunks that its scan found */
	uint32_t to_grow;  /* chunks to back in it */
	uint64_t free_at_scan;
	bool is_awake;
};

static struct part part_of(uint32_t n_cpus, double bytes_s, uint64_t begin, uint64_t most)
{
	struct part p = { .costs = measured, .n_cpus = n_cpus, .bytes_s = bytes_s };

	p.n_chunks = (uint32_t)(most / CHUNK);
	p.n_backed = p.n_least = (uint32_t)(begin / CHUNK);
	if (p.n_backed < 4 * n_cpus)
		p.n_backed = p.n_least = 4 * n_cpus;
	p.n_chunks = p.n_chunks < p.n_backed ? p.n_backed : p.n_chunks;
	p.n_free = p.n_backed;
	poll_interval_expect(&p.interval, 0);
	p.wake_ns = (uint64_t)p.costs.late_ns +
		    (uint64_t)poll_interval_ms(&p.interval, begin, n_cpus) * MS;
	return p;
}

/* The same after hours without events: the longest sleep has just begun. */
static struct part calm(struct part p)
{
	const struct poll_interval none = { 0 };

	p.interval = none;
	p.wake_ns = (uint64_t)p.costs.late_ns +
		    (uint64_t)poll_interval_ms(&none, (uint64_t)p.n_free * CHUNK, p.n_cpus) * MS;
	return p;
}

/* One CPU closes its chunk and needs another; without one its bytes are lost. */
static void write_step(struct part *p, double share)
{
	double bytes = p->bytes_s * STEP_NS / 1e9 * share, chunks;

	if (p->n_open < p->n_cpus && p->n_free) {
		uint32_t n = p->n_cpus - p->n_open;

		n = n < p->n_free ? n : p->n_free;
		p->n_open += n;
		p->n_free -= n;
	}
	p->lost += bytes * (p->n_cpus - p->n_open);
	p->written += bytes * p->n_open;
	p->open_bytes += bytes * p->n_open;
	for (chunks = p->open_bytes / CHUNK; chunks >= 1 && p->n_open; chunks--) {
		p->open_bytes -= CHUNK;
		p->n_full++;
		p->closed++;
		if (p->n_free)
			p->n_free--;
		else
			p->n_open--;
	}
}

static void begin_pass(struct part *p)
{
	uint32_t used = p->n_backed - p->n_free;

	if (used > p->n_backed / 2) {
		p->to_grow = p->n_backed;
		if (p->to_grow > p->n_chunks - p->n_backed)
			p->to_grow = p->n_chunks - p->n_backed;
	}
	p->to_write = p->n_full;
	p->free_at_scan = (uint64_t)p->n_free * CHUNK;
	p->work_ns = p->costs.pass_ns + p->costs.state_ns * p->n_chunks;
}

static void end_pass(struct part *p)
{
	uint64_t closed = p->closed - p->polled;

	p->polled = p->closed;
	closed = closed < p->n_chunks ? closed : p->n_chunks;
	poll_interval_observe(&p->interval, closed * CHUNK, p->now_ns);
	p->is_awake = false;
	p->wake_ns = p->now_ns + (uint64_t)p->costs.late_ns +
		     (uint64_t)poll_interval_ms(&p->interval, p->free_at_scan, p->n_cpus) * MS;
}

/* @ns of CPU for the collector. */
static void collect_step(struct part *p, double ns)
{
	while (p->is_awake && (p->work_ns -= ns) <= 0) {
		ns = -p->work_ns;
		p->work_ns = 0;
		if (p->to_grow) {
			p->to_grow--;
			p->n_backed++;
			p->n_free++;
			p->work_ns = p->costs.grow_ns * CHUNK;
		} else if (p->to_write) {
			p->to_write--;
			p->n_full--;
			p->n_free++;
			p->work_ns = p->costs.copy_ns * CHUNK;
		} else {
			end_pass(p);
		}
	}
}

/* With programs on all CPUs it has half of one, in slices, and the program there the other half. */
static void simulate(struct part *p, uint64_t ns, bool is_crowded)
{
	uint64_t slice = (uint64_t)p->costs.slice_ns, begin_ns = 0;

	for (; p->now_ns < ns; p->now_ns += STEP_NS) {
		bool runs;

		if (!p->is_awake && p->now_ns >= p->wake_ns) {
			p->is_awake = true;
			begin_ns = p->now_ns;
			begin_pass(p);
		}
		runs = p->is_awake && (!is_crowded || (p->now_ns - begin_ns) / slice % 2 == 0);
		write_step(p, runs && is_crowded ? (p->n_cpus - 1.0) / p->n_cpus : 1);
		if (runs)
			collect_step(p, STEP_NS);
	}
}

/* ---------------------------------------------------------------- cases */

static int n_failed;

static void loses_nothing(const char *name, struct part p, uint64_t ns)
{
	simulate(&p, ns, true);
	printf("%s %s: %.0f bytes written, %.0f lost, %u of %u chunks in use\n",
	       p.lost > 0 ? "not ok" : "ok", name, p.written, p.lost, p.n_backed - p.n_free,
	       p.n_backed);
	n_failed += p.lost > 0;
}

static void test_cases(void)
{
	const double burst = 4500000 * 35.0; /* of a CPU: 9 M events a second on two */

	/* A command's pool before it has grown, and that of `duet start`. */
	loses_nothing("the first burst of a command on two CPUs",
		      part_of(2, burst, 8 * MIB, 64 * MIB), 2000ull * MS);
	loses_nothing("the first burst of a session on two CPUs",
		      part_of(2, burst, 64 * MIB, 64 * MIB), 2000ull * MS);
	loses_nothing("a burst on two CPUs after hours without events",
		      calm(part_of(2, burst, 64 * MIB, 64 * MIB)), 2000ull * MS);
	loses_nothing("64 CPUs, one collector, 200 000 events a second on each",
		      part_of(64, 200000 * 18.0, 64 * MIB, 64 * MIB), 2000ull * MS);
	loses_nothing("256 CPUs, one collector, 100 000 events a second on each",
		      part_of(256, 100000 * 18.0, 64 * MIB, 256 * MIB), 2000ull * MS);
}

/* The most bytes a second of each CPU that @collectors hold for one second without loss. */
static double most_of(uint32_t n_cpus, uint32_t collectors, uint64_t most, bool is_crowded)
{
	double low = 0, high = 2e9;

	for (int i = 0; i < 24; i++) {
		double middle = (low + high) / 2;
		uint64_t each = most / collectors, begin = 64 * MIB / collectors;
		struct part p = part_of(n_cpus / collectors, middle, begin, each);

		simulate(&p, 1000ull * MS, is_crowded);
		if (p.lost > 0)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static void print_table(void)
{
	static const uint32_t cpus[] = { 2, 64, 256 }, collectors[] = { 1, 2, 4, 16 };

	printf("%5s %11s %8s %34s %34s\n", "CPUs", "collectors", "MiB",
	       "programs on all CPUs: M ev/s, of each", "a CPU for each collector");
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++)
			for (uint64_t mib = 64; mib <= 1024; mib *= 4) {
				double crowded, alone;

				if (collectors[k] > cpus[i] || (cpus[i] == 2 && collectors[k] > 1))
					continue;
				crowded =
					most_of(cpus[i], collectors[k], mib * MIB, true) / 18 / 1e6;
				alone = most_of(cpus[i], collectors[k], mib * MIB, false) / 18 /
					1e6;
				printf("%5u %11u %8llu %20.1f %13.2f %20.1f %13.2f\n", cpus[i],
				       collectors[k], (unsigned long long)mib, crowded * cpus[i],
				       crowded, alone * cpus[i], alone);
			}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "table")) {
		print_table();
	} else if (argc == 5) {
		uint32_t n = (uint32_t)atoi(argv[1]), collectors = (uint32_t)atoi(argv[3]);
		struct part p = part_of(n / collectors, atof(argv[2]), 64 * MIB / collectors,
					(uint64_t)atoi(argv[4]) * MIB / collectors);

		simulate(&p, 2000ull * MS, true);
		printf("each collector: %.0f bytes written, %.0f lost\n", p.written, p.lost);
	} else {
		test_cases();
	}
	return n_failed > 0;
}
