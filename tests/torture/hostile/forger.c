/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hostile/forger.c - a program that writes numbers that cannot be true into its
 * session's memory: times, lengths, counters and chunk numbers.
 *
 * 	forger DIRECTORY SECONDS       DIRECTORY: the runtime directory
 *
 * It takes chunks as any writer does and spoils nobody else's, so the events of all other programs
 * must be there, each once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "abi/session.h"
#include "clock/clock.h"
#include "guest.h"
#include "ring/pool.h"

#define HOUR_NS 3600000000000ull
#define HALF (1ull << 63)
#define ALL UINT64_MAX

static struct pool pool; /* of the first channel */
static uint32_t class_id;

static void join(void)
{
	static const char class[] = "13 forger:lie u64 n str text";
	struct abi_session_memory *memory;
	uint64_t size, offset;
	int fd = guest_join(&size);
	char *p;

	if (fd < 0)
		exit(3);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		exit(3);
	memory = (struct abi_session_memory *)(void *)p;
	offset = memory->channels[0].offset;
	if (pool_attach(&pool, p + offset, size - offset, (uint32_t)getpid()))
		exit(3);
	class_id = pool_schema(&pool, class, sizeof class - 1);
	if (!class_id)
		exit(3);
}

/* What an event says about itself. */
struct lie {
	uint32_t id;  /* 0: ours */
	uint64_t ns;  /* 0: a short header with the time of now */
	bool has_end; /* the text has its NUL */
};

static size_t put_event(char *to, const struct lie *l)
{
	uint32_t id = l->id ? l->id : class_id, small;
	uint64_t n = 7, now_ns = clock_now_ns(&pool.clock);
	struct abi_ctf_event_extended large = { ABI_CTF_EXTENDED, id, l->ns };
	struct abi_ctf_ids ids = { 1, 1 };
	size_t at = l->ns ? sizeof large : sizeof small;

	small = ABI_CTF_HEAD(id, now_ns);
	memcpy(to, l->ns ? (void *)&large : (void *)&small, at);
	memcpy(to + at, &ids, sizeof ids);
	at += sizeof ids;
	memcpy(to + at, &n, sizeof n);
	memcpy(to + at + sizeof n, l->has_end ? "lie" : "liee", 4);
	return at + sizeof n + 4;
}

struct header {
	uint64_t begin_ns, since_ns, sequence, read, cut_ns, pending;
	uint32_t path, cpu;
};

/* A chunk with this header and up to three events, closed as a writer does. */
static void put_chunk(const struct header *h, const struct lie *lies, int n)
{
	struct abi_chunk *c = pool_claim(&pool, 0);
	size_t at = sizeof *c;
	uint64_t state;

	if (!c)
		return;
	c->begin_ns = h->begin_ns;
	c->sequence = h->sequence;
	c->cpu = h->cpu;
	c->path = h->path;
	for (int i = 0; i < n; i++)
		at += put_event((char *)c + at, &lies[i]);
	if (h->read)
		store(&c->read, h->read);
	store(&c->cut_ns, h->cut_ns);
	store(&c->pending, h->pending);
	state = load(pool_state(&pool, c));
	store_release(&c->word, ABI_WORD(h->since_ns, at));
	pool_close(&pool, c, state);
}

static void forge_times(void)
{
	const uint64_t now = clock_now_ns(&pool.clock), since = 1000000,
		       begins[] = { 0,		 1,   HALF,	     HALF - 1,	    ALL,
				    ALL - since, now, now + HOUR_NS, now - HOUR_NS, now - since };
	const struct lie honest = { .has_end = true };
	struct header h = { .path = ABI_PATH_EXCLUSIVE, .cpu = ABI_CPU_UNKNOWN };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		for (int k = 0; k < 4; k++) {
			h.begin_ns = begins[i];
			h.since_ns = k == 0   ? 0
				     : k == 1 ? since
				     : k == 2 ? HOUR_NS
					      : ABI_SINCE_MAX - 1;
			h.path = i % 2 ? ABI_PATH_RSEQ : ABI_PATH_EXCLUSIVE;
			h.cpu = i % 2 ? 0 : ABI_CPU_UNKNOWN;
			h.sequence = i % 3 ? HALF + i : ALL;
			put_chunk(&h, &honest, 1);
		}
}

/* Events of impossible times, lengths and classes, in chunks that are all right. */
static void forge_events(void)
{
	const uint64_t now = clock_now_ns(&pool.clock);
	const struct lie honest = { .has_end = true }, lies[] = { { 0, 1, true },
								  { 0, HALF, true },
								  { 0, HALF - 1, true },
								  { 0, ALL, true },
								  { 0, now - HOUR_NS, true },
								  { 0, now + HOUR_NS, true },
								  { ABI_SCHEMAS, 0, true },
								  { ALL & 0xffffffff, now, true },
								  { 0, 0, false } };
	struct header h = { .begin_ns = now, .since_ns = 1000000, .path = ABI_PATH_EXCLUSIVE };

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		const struct lie all[] = { honest, lies[i], honest };

		usleep(1000); /* so that `since` is over */
		put_chunk(&h, all, i % 2 ? 3 : 2);
	}
}

/* The collector's own words of a chunk, its numbers and its CPU. */
static void forge_marks(void)
{
	const uint64_t now = clock_now_ns(&pool.clock) - 1000000,
		       numbers[] = { 1, 100, 1ull << 32, HALF, ALL };
	const struct lie honest = { .has_end = true }, two[] = { honest, honest };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct header h = { .begin_ns = now, .since_ns = 1000000, .path = ABI_PATH_RSEQ };

		h.sequence = HALF - i;
		h.read = numbers[i];
		put_chunk(&h, two, 2);
		h.read = 0;
		h.cut_ns = numbers[i];
		put_chunk(&h, two, 2);
		h.pending = numbers[i];
		put_chunk(&h, two, 2);
		h.cpu = (uint32_t)numbers[i];
		put_chunk(&h, two, 2);
	}
}

static void forge_counters(int turn)
{
	static const uint64_t numbers[] = { 8008769584938390970ull, HALF, ALL, 1ull << 48,
					    3ull << 61 };

	for (uint32_t i = 0; i < pool.n_slots; i++) {
		struct abi_slot *s = pool_slot(&pool, i);

		store(&s->lost, numbers[(turn + (int)i) % 5] + (turn % 2 ? 1ull << 52 : 0));
		store(&s->too_large, numbers[turn % 4]);
		store(&s->pad0, numbers[turn % 5]);
	}
	store(&pool.shared->waited, UINT32_MAX);
}

int main(int argc, char **argv)
{
	double end;

	if (argc != 3)
		return 2;
	guest_directory = argv[1];
	guest_name = "forger";
	end = guest_now() + atof(argv[2]);
	join();
	for (int turn = 0; guest_now() < end; turn++) {
		forge_times();
		forge_events();
		forge_marks();
		forge_counters(turn);
		usleep(200000);
	}
	return 0;
}
