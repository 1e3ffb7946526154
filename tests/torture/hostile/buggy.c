/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hostile/buggy.c - a program with stray pointers, and correct ones beside it in
 * the same pools.
 *
 * 	buggy scribble DIRECTORY SECONDS SEED RATE     writes RATE times a second, in one of the ways below
 * 	buggy honest SECONDS ID                        records checksummed numbers; prints how many, and the longest time of one in microseconds
 *
 * Unlike hostile.c it does not flood: half of its stray writes hit memory in use, and between
 * them there is time for others to record.
 */
#include <duet/duet.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/session.h"
#include "abi/control.h"
#include "abi/pool.h"
#include "guest.h"
#include "ring/pool.h"

DUET_EVENT(honest, sum, (u32, id), (u32, i), (u64, sum), (str, text));

static struct abi_session_memory *session_memory;
static uint64_t size;
static struct pool pool; /* of the first channel */

static void join(void)
{
	int fd = guest_join(&size);
	uint64_t offset;
	char *p;

	if (fd < 0)
		exit(3);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		exit(3);
	session_memory = (struct abi_session_memory *)(void *)p;
	offset = session_memory->channels[0].offset;
	if (offset > size || pool_attach(&pool, p + offset, size - offset, (uint32_t)getpid()))
		exit(3);
}

/* Half of the time one that a slot names, so that it is in use; else any. */
static struct abi_chunk *some_chunk(void)
{
	struct abi_slot *s = pool_slot(&pool, (uint32_t)(guest_any() % pool.n_slots));
	uint64_t ref =
		guest_any() % 3 ? s->chunk : s->exclusive[guest_any() % ABI_EXCLUSIVE_PLACES];

	for (uint32_t i = 0; guest_any() % 2 && i < pool.n_slots && !pool_chunk(&pool, ref); i++)
		ref = pool_slot(&pool, i)->chunk;
	if (pool_chunk(&pool, ref))
		return pool_chunk(&pool, ref);
	return pool_chunk_at(&pool, (uint32_t)(guest_any() % pool.n_chunks));
}

/* Up to 64 random bytes, from @begin on and before @end. */
static void spoil_between(struct abi_chunk *c, uint32_t begin, uint32_t end)
{
	uint32_t n = 1 + (uint32_t)(guest_any() % 64), at;

	if (end > pool.chunk_size || begin + n > end)
		return;
	at = begin + (uint32_t)(guest_any() % (end - begin - n + 1));
	guest_fill((char *)c + at, n);
}

static void below_the_word(void)
{
	struct abi_chunk *c = some_chunk();

	spoil_between(c, sizeof *c, ABI_POS_OF(load(&c->word)));
}

static void beyond_the_word(void)
{
	struct abi_chunk *c = some_chunk();

	spoil_between(c, ABI_POS_OF(load(&c->word)), pool.chunk_size);
}

static void a_commit_word(void)
{
	struct abi_chunk *c = some_chunk();
	uint64_t w = load(&c->word);

	store(&c->word, guest_any() % 2
				? ABI_WORD(ABI_SINCE_OF(w), guest_any() % (2 * pool.chunk_size))
				: guest_any());
}

static void a_header(void)
{
	guest_fill((char *)some_chunk() + guest_any() % sizeof(struct abi_chunk),
		   1 + guest_any() % 8);
}

static void a_state_word(void)
{
	uint64_t *state = pool_state(&pool, some_chunk());
	uint32_t owner = guest_any() % 2 ? pool.owner : (uint32_t)guest_any();

	store(state, ABI_STATE(guest_any() % 2 ? ABI_ORDER_OF(load(state)) : guest_any(), owner,
			       guest_any() % 4));
}

static void a_slot(void)
{
	struct abi_slot *s = pool_slot(&pool, (uint32_t)(guest_any() % pool.n_slots));
	uint64_t ref = pool_ref(&pool, some_chunk());

	switch (guest_any() % 5) {
	case 0:
		store(&s->chunk, guest_any() % 2 ? ref : 0);
		break;
	case 1:
		store(&s->chunk, guest_any());
		break;
	case 2:
		store(&s->exclusive[guest_any() % ABI_EXCLUSIVE_PLACES],
		      ABI_PLACE(ref, guest_any() % 2 ? pool.owner : 0));
		break;
	case 3:
		store(&s->exclusive[guest_any() % ABI_EXCLUSIVE_PLACES], guest_any());
		break;
	case 4:
		store(&s->lost, guest_any() % 2 ? guest_any() : load(&s->lost) + guest_any() % 100);
		break;
	}
}

/* The head of a pool, its classes, or the session memory: a program that attached earlier has
 * copies of the important parts. */
static void a_field(void)
{
	char *base = guest_any() % 2 ? (char *)session_memory : (char *)pool.shared;
	uint64_t at = guest_any() % (guest_any() % 4 ? 256 : sizeof *session_memory);

	if (guest_any() % 4 == 0)
		base = (char *)pool.schemas, at = guest_any() % (64 * sizeof(struct abi_schema));
	guest_fill(base + at, 1 + guest_any() % 8);
}

/* A file of another program that runs, or a file of its own: some bytes of it. */
static void a_file(void)
{
	DIR *d = opendir(guest_directory);
	struct dirent *e;
	char garbage[64], name[64];
	int fd;

	snprintf(name, sizeof name, "app-%d", (int)(guest_any() % 4000000));
	while (d && guest_any() % 2 && (e = readdir(d)))
		if (!strncmp(e->d_name, "app-", 4))
			snprintf(name, sizeof name, "%.60s", e->d_name);
	fd = d ? openat(dirfd(d), name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC,
			0600)
	       : -1;
	if (d)
		closedir(d);
	if (fd < 0)
		return;
	guest_fill(garbage, sizeof garbage);
	(void)!pwrite(fd, garbage, 1 + guest_any() % sizeof garbage, (off_t)(guest_any() % 65536));
	close(fd);
}

static int scribble(double end, double rate)
{
	static void (*const ways[])(void) = { below_the_word, beyond_the_word, beyond_the_word,
					      a_commit_word,  a_header,	       a_state_word,
					      a_slot,	      a_field,	       a_file };
	int n;

	join();
	for (n = 0; guest_now() < end; n++) {
		ways[guest_any() % (sizeof ways / sizeof *ways)]();
		usleep((useconds_t)(1e6 / rate));
	}
	printf("%d\n", n);
	return 0;
}

static int be_honest(double end, uint32_t id)
{
	double most = 0, before;
	char text[64];
	uint32_t i;

	for (i = 0; guest_now() < end; i++) {
		snprintf(text, sizeof text, "honest %u of %u", i, id);
		before = guest_now();
		trace_honest_sum(id, i, ((uint64_t)id << 32 | i) * 0x9e3779b97f4a7c15ull, text);
		most = guest_now() - before > most ? guest_now() - before : most;
		usleep(200);
	}
	printf("%u %.0f\n", i, most * 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "honest"))
		return be_honest(guest_now() + atof(argv[2]), (uint32_t)atoi(argv[3]));
	if (argc < 6 || atof(argv[5]) < 1)
		return 2;
	guest_directory = argv[2];
	guest_seed = strtoull(argv[4], NULL, 0);
	return scribble(guest_now() + atof(argv[3]), atof(argv[5]));
}
