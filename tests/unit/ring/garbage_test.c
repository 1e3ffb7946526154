/* SPDX-License-Identifier: MIT */
/*
 * unit/ring/garbage_test.c - whatever the words that programs share contain, writers and drain stay
 * inside the pool.
 *
 * The pool lies between two pages without access.  Its constants are checked once and copied; all
 * else is overwritten with random bytes, between and while events are written and drained.  A write
 * or read outside is a fault.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "one_channel.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "test.h"

enum { ROUNDS = 300, PAGE = 4096 };

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_word(void)
{
	uint64_t s = random_state;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	random_state = s;
	/* Half of them small or nearly right, so that checks are passed to various depths. */
	return s % 4 == 0 ? s >> 40 : s % 4 == 1 ? (s >> 20) & 0x3fff03 : s * 0x2545f4914f6cdd1dull;
}

static char *guarded(size_t size)
{
	char *m = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED || mprotect(m + PAGE, size, PROT_READ | PROT_WRITE))
		abort();
	return m + PAGE;
}

static void scribble(struct pool *p, int what)
{
	uint64_t *words = (uint64_t *)p->shared;
	uint64_t begin = offsetof(struct abi_pool, order) / 8, end = PAGE / 8;

	if (what == 1) {
		begin = (uint64_t)((char *)p->slots - (char *)p->shared) / 8;
		end = begin + p->n_slots * sizeof(struct abi_slot) / 8;
	} else if (what == 2) {
		begin = (uint64_t)((char *)p->states - (char *)p->shared) / 8;
		end = begin + p->n_chunks;
	} else if (what == 3) {
		begin = (uint64_t)((char *)p->schemas - (char *)p->shared) / 8;
		end = begin + 64;
	} else if (what > 3) {
		begin = (uint64_t)(p->chunks - (char *)p->shared) / 8;
		end = begin + p->n_chunks * (uint64_t)p->chunk_size / 8;
	}
	for (uint64_t i = begin; i < end; i++)
		if (what < 4 || i * 8 % p->chunk_size < sizeof(struct abi_chunk))
			words[i] = random_word();
	for (uint32_t i = 0; what == 2 && i < p->n_chunks; i++) /* states of the living: us */
		if (random_word() & 1)
			p->states[i] = ABI_STATE(i, p->owner, random_word() & 3);
}

static void write_some(struct pool *p)
{
	uint64_t payload[2048] = { 0 };
	struct ring_open o;

	for (int i = 0; i < 40; i++) {
		uint32_t size = (uint32_t)(random_word() % (i % 8 ? 200 : sizeof payload));
		char *at;

		ring_write(p, 1, 0, payload, size);
		at = ring_open(p, &o, 2, 0, size);
		if (!at)
			continue;
		memset(at, 'x', size);
		ring_commit(p, &o, size);
	}
}

static void drain_some(struct pool *p, const char *path)
{
	struct streams *d;
	char command[600];

	if (!ok(!open_streams(&d, p, path, NULL)))
		return;
	for (int i = 0; i < 4; i++) {
		ok(streams_pass(d, i & 1, NULL) >= 0);
		write_some(p);
	}
	streams_write_overwrite(d, NULL);
	streams_finish(d, 0, NULL);
	streams_close(d);
	snprintf(command, sizeof command, "rm -rf '%s'", path);
	ok(!system(command));
}

static void survive(bool flight_recorder, bool without_rseq, const char *path)
{
	struct abi_pool s = pool_shape(
		&(struct pool_request){ .n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					.flight_recorder = flight_recorder });
	struct pool p;
	char *memory;

	s.n_chunks = 16;
	s.chunk_shift = ABI_CHUNK_SHIFT_MIN;
	s.size = abi_pool_size(s.n_slots, s.n_chunks, s.chunk_shift);
	if (clock_init_kind(&s.clock, 0, NULL))
		skip("no clock");
	memory = guarded(s.size);
	rseq_init();
	if (without_rseq)
		rseq_offset = 0;
	for (int round = 0; round < ROUNDS; round++) {
		if (round % 8 == 0) {
			memset(memory, 0, s.size);
			pool_format(memory, &s);
			is(pool_attach(&p, memory, s.size, (uint32_t)getpid()), 0);
		}
		write_some(&p);
		scribble(&p, round % 7);
		write_some(&p);
		pool_schema(&p, "6 a:b", 5);
		if (round % 3 == 0)
			drain_some(&p, path);
	}
	munmap(memory - PAGE, s.size + 2 * PAGE);
}

static char path[400];

static void a_pool_full_of_garbage_is_harmless(void)
{
	survive(false, false, path);
}

static void a_flight_recorder_full_of_garbage_is_harmless(void)
{
	survive(true, false, path);
}

static void garbage_is_harmless_without_restartable_sequences(void)
{
	survive(false, true, path);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	char base[300];

	snprintf(base, sizeof base, "%s/duet-garbage-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(base))
		skip("no directory for traces");
	snprintf(path, sizeof path, "%s/trace", base);
	run(a_pool_full_of_garbage_is_harmless);
	run(a_flight_recorder_full_of_garbage_is_harmless);
	run(garbage_is_harmless_without_restartable_sequences);
	rmdir(base);
	return test_status();
}
