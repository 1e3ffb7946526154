/* SPDX-License-Identifier: MIT */
/*
 * torture/threads.c - writers on the exclusive path and the drain as threads of one process, so that
 * a thread sanitizer sees all that orders them; every event is accounted for.  torture/ring.c is the
 * hard one.
 *
 *	torture_threads [SECONDS]
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "one_channel.h"
#include "ledger.h"
#include "ring/rseq.h"
#include "test.h"
#include "verify.h"

enum { THREADS = 4, CHUNKS = 16, CHUNK_SHIFT = 12, LIMIT = 20000 };

static struct pool pool;
static struct ledger *ledger;
static struct verify_counts total;
static uint32_t n_running;

static void *write_many(void *arg)
{
	uint32_t key = (uint32_t)(uintptr_t)arg;
	uint64_t random = key + 1;
	enum ledger_status s;

	do {
		uint32_t r = ledger_random(&random);

		s = ledger_write(ledger, &pool, key, r % 2 ? LEDGER_BODY : LEDGER_PLACED,
				 r / 2 % 200);
		if (s == LEDGER_REFUSED)
			usleep(100);
	} while (s != LEDGER_UNKNOWN);
	fetch_add(&n_running, (uint32_t)-1);
	return NULL;
}

static void drain_all(struct streams *d)
{
	struct diag diag = { "" };
	int passes = 8; /* after the last event */

	while (passes) {
		if (streams_pass(d, passes % 2, &diag) < 0)
			verify_wrong(&total, "the drain failed: %s", diag.text);
		if (load(&n_running))
			usleep(300);
		else
			passes--;
	}
	if (streams_finish(d, 0, &diag))
		verify_wrong(&total, "the drain failed: %s", diag.text);
}

static void run_round(const char *path)
{
	struct verify_counts before = total;
	pthread_t threads[THREADS];
	struct diag diag = { "" };
	struct streams *d = NULL;

	ledger = ledger_open(THREADS, LIMIT);
	if (!ledger || open_streams(&d, &pool, path, &diag)) {
		printf("# %s\n", diag.text);
		exit(1);
	}
	n_running = THREADS;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)i);
	drain_all(d);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	streams_close(d);
	verify_trace(&total, path, ledger, (struct verify_options){ .early_ns = 0 });
	if (total.refused - before.refused != total.discarded - before.discarded)
		verify_wrong(&total, "%lu refused, %lu counted",
			     (long)(total.refused - before.refused),
			     (long)(total.discarded - before.discarded));
	verify_remove(path);
	ledger_close(ledger);
}

static void *make_pool(uint64_t *size)
{
	struct abi_pool s = pool_shape(
		&(struct pool_request){ .n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF) });
	void *memory;

	s.n_chunks = CHUNKS;
	s.chunk_shift = CHUNK_SHIFT;
	*size = s.size = abi_pool_size(s.n_slots, CHUNKS, CHUNK_SHIFT);
	if (clock_init_kind(&s.clock, 0, NULL))
		skip("no clock");
	memory = mmap(NULL, s.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	pool_format(memory, &s);
	if (pool_attach(&pool, memory, s.size, (uint32_t)getpid()))
		abort();
	return memory;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t begin_ns = monotonic_ns(), size;
	const char *tmp = getenv("TMPDIR");
	char base[400], path[440];

	snprintf(base, sizeof base, "%s/duet-threads-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(base))
		skip("no directory for traces");
	snprintf(path, sizeof path, "%s/trace", base);
	rseq_offset = 0;
	do {
		void *memory = make_pool(&size);

		run_round(path);
		munmap(memory, size);
	} while ((double)(monotonic_ns() - begin_ns) < seconds * 1e9 && !total.wrong);
	rmdir(base);
	test_n_failed = total.wrong != 0;
	printf("%s: %lu events in %lu packets; recorded %lu, refused %lu; wrong %lu\n",
	       total.wrong ? "not ok" : "ok", (long)total.events, (long)total.packets,
	       (long)total.recorded, (long)total.refused, (long)total.wrong);
	return test_status();
}
