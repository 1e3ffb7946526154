/* SPDX-License-Identifier: MIT */
/*
 * unit/ring/header_test.c - each way of writing an event gives it the right header, threads and
 * payload.
 *
 * The bytes of the events lie one after another, so a wrong length of one spoils the next.
 */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock/clock.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "test.h"

enum { VPID = 4194303, VTID = 70000 };
enum way { WRITE, WORDS, TEXT, PREFIXED, PREFIXED_TEXT, SLOW, PLACED, WAYS };

static const uint32_t ids[] = { 1, 29, 30, 31, 32, 4096, 65535 };
enum { IDS = sizeof ids / sizeof *ids };
static const uint64_t threads = ABI_CTF_IDS(VPID, VTID);
static struct pool pool;
static void *memory;

static void open_pool(bool without_ids)
{
	struct abi_pool s = pool_shape(&(struct pool_request){
		.n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF), .without_ids = without_ids });

	memory = aligned_alloc(1 << 16, s.size);
	if (!memory || clock_init_kind(&s.clock, 0, NULL))
		exit(1);
	memset(memory, 0, s.size);
	pool_format(memory, &s);
	is(pool_attach(&pool, memory, s.size, (uint32_t)getpid()), 0);
	is(pool.context_bytes, without_ids ? 0 : 6);
}

/* The payload of each event: "abcd..." with its NUL, so all ways can write the same. */
static const char payload[] = "abcdefghijklmnopqrstuvwxyz012";
enum { SIZE = sizeof payload };

static uint64_t word(int i)
{
	uint64_t w = 0;

	memcpy(&w, payload + 8 * i, SIZE - 8 * i < 8 ? SIZE - 8 * i : 8);
	return w;
}

static enum ring_outcome write_by(enum way way, uint32_t id)
{
	struct ring_prefix prefix = { .what = 5, .size = 12 };
	const uint32_t all = SIZE, eight = 8;
	uint64_t copy[(SIZE + 7) / 8] = { word(0), word(1), word(2), word(3) };
	struct ring_open o;
	void *at;

	memcpy(prefix.bytes, payload, prefix.size);
	switch (way) {
	case WRITE:
		return ring_try(&pool, id, threads, copy, SIZE);
	case WORDS:
		return ring_try_words(&pool, id, threads, &all, word(0), word(1), word(2), word(3));
	case TEXT:
		return ring_try_text(&pool, id, threads, &eight, word(0), 0, payload + 8);
	case PREFIXED:
		memcpy(copy, payload + 12, SIZE - 12);
		return ring_try_prefixed(&pool, id, threads, &prefix, 5, copy[0], 8,
					 &(uint32_t){ SIZE - 20 }, copy[1], copy[2], 0, 0);
	case PREFIXED_TEXT:
		return ring_try_prefixed_text(&pool, id, threads, &prefix, 5, 0, 0,
					      &(uint32_t){ 0 }, 0, 0, payload + 12);
	case SLOW:
		return ring_write_slow(&pool, id, threads, copy, SIZE) ? RING_DONE : RING_SLOW;
	default:
		at = ring_open(&pool, &o, id, threads, SIZE);
		if (at)
			memcpy(at, payload, SIZE);
		if (at)
			ring_commit(&pool, &o, SIZE);
		return at ? RING_DONE : RING_SLOW;
	}
}

/* The events of a chunk: SIZE bytes of payload each, of the classes in ids, in turn. */
static uint32_t check_chunk(const struct abi_chunk *c, bool has_gaps)
{
	const char *p = (const char *)(c + 1), *end = (const char *)c + ABI_POS_OF(c->word);
	uint64_t ns = c->begin_ns, last_ns = ns;
	uint32_t n = 0, id = 0;
	size_t header;

	for (; p < end; n++) {
		struct abi_ctf_ids t = { 0 };

		header = abi_ctf_read_event(p, (size_t)(end - p), &id, &ns);
		is(id, ids[n % IDS]);
		ok(ns >= last_ns && ns <= c->begin_ns + ABI_SINCE_OF(c->word));
		if (has_gaps && n % IDS)
			is(header, 13);
		else if (!has_gaps && n)
			is(header, id < ABI_CTF_WIDE ? 4 : 6);
		last_ns = ns;
		p += header;
		if (pool.context_bytes) {
			memcpy(&t, p, sizeof t);
			is(t.vpid, VPID);
			is(t.vtid, VTID);
			p += sizeof t;
		}
		if (!header || end - p < SIZE || memcmp(p, payload, SIZE)) {
			ok(!"an event's bytes are wrong");
			return n;
		}
		p += SIZE;
	}
	ok(p == end);
	is(ns, c->begin_ns + ABI_SINCE_OF(c->word));
	return n;
}

static uint32_t check_all(bool has_gaps)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pool.n_chunks; i++)
		if (ABI_STATE_OF(pool.states[i]) == ABI_OWNED)
			n += check_chunk(pool_chunk_at(&pool, i), has_gaps);
	return n;
}

static void write_all(enum way first, enum way last, uint64_t gap_ns)
{
	uint32_t n = 0;

	for (enum way way = first; way <= last; way++)
		for (uint32_t i = 0; i < IDS; i++) {
			/* only ring_write_slow() opens a chunk */
			enum way by = way < SLOW && !n++ ? SLOW : way;
			enum ring_outcome r;

			while ((r = write_by(by, ids[i])) == RING_ABORTED)
				;
			is(r, RING_DONE);
			pool.offset_ns += gap_ns;
			pool.clock.offset_ns += gap_ns;
		}
	is(check_all(gap_ns), (last - first + 1) * IDS);
}

static void every_way_writes_the_same_event(void)
{
	for (int without_ids = 0; without_ids < 2; without_ids++) {
		open_pool(without_ids);
		write_all(rseq_offset ? WRITE : SLOW, SLOW, 0);
		free(memory);
		open_pool(without_ids);
		write_all(PLACED, PLACED, 0);
		free(memory);
	}
}

static void after_a_gap_the_header_has_all_of_the_time(void)
{
	for (int without_ids = 0; without_ids < 2; without_ids++)
		for (enum way way = SLOW; way <= PLACED; way++) {
			open_pool(without_ids);
			write_all(way, way, 140000000);
			free(memory);
		}
}

static void a_header_is_read_no_further_than_its_bytes(void)
{
	struct abi_ctf_event_wide wide = { ABI_CTF_HEAD(ABI_CTF_WIDE, 5), 4096 };
	struct abi_ctf_event_extended extended = { ABI_CTF_EXTENDED, 7, 9 };
	uint64_t ns = 0;
	uint32_t id = 0;

	for (size_t n = 0; n <= sizeof wide; n++)
		is(abi_ctf_read_event(&wide, n, &id, &ns), n == sizeof wide ? n : 0);
	is(id, 4096);
	is(ns, 5);
	for (size_t n = 0; n <= sizeof extended; n++)
		is(abi_ctf_read_event(&extended, n, &id, &ns), n == sizeof extended ? n : 0);
	is(id, 7);
	is(ns, 9);
}

int main(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	rseq_init();
	run(every_way_writes_the_same_event);
	run(after_a_gap_the_header_has_all_of_the_time);
	run(a_header_is_read_no_further_than_its_bytes);
	return test_status();
}
