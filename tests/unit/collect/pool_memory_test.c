/* SPDX-License-Identifier: MIT */
/* How much of a pool has memory: it grows with the load, and idle memory is returned. */
#include "collect/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "test.h"

enum { CHUNK = 64 << 10, CALM = 10 };

struct endpoint {
	struct pool pool;
	struct pool_memory pool_memory;
	uint64_t offset;
	int fd;
	uint32_t n_taken;
	struct abi_chunk *taken[4096];
};

static struct nodes nodes = { .n = 1 };

static void begin(struct endpoint *w, uint64_t bytes, uint32_t n_least)
{
	struct abi_pool shape =
		pool_shape(&(struct pool_request){ .size_bytes = bytes, .n_cpus = 2 });
	char *memory;

	memset(w, 0, sizeof *w);
	w->offset = 1 << 20; /* not the first in its memory */
	w->fd = memfd_create("supply", MFD_CLOEXEC);
	ok(clock_init_kind(&shape.clock, 0, NULL) == 0);
	ok(!ftruncate(w->fd, (off_t)(w->offset + shape.size)));
	memory = mmap(NULL, w->offset + shape.size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	ok(memory != MAP_FAILED);
	pool_format(memory + w->offset, &shape);
	is(pool_attach(&w->pool, memory + w->offset, shape.size, (uint32_t)getpid()), 0);
	w->pool_memory = (struct pool_memory){ .pool = &w->pool, .fd = w->fd, .offset = w->offset };
	pool_memory_place(&w->pool_memory, &nodes);
	is(pool_memory_begin(&w->pool_memory, n_least, NULL), 0);
}

static void end(struct endpoint *w)
{
	munmap((char *)w->pool.shared - w->offset, w->offset + w->pool.shared->size);
	close(w->fd);
}

/* As a writer: takes up to @n chunks and writes to each. */
static uint32_t take(struct endpoint *w, uint32_t n)
{
	uint32_t got = 0;

	for (; got < n; got++) {
		struct abi_chunk *c = pool_claim(&w->pool, 0);

		if (!c)
			break;
		memset(c + 1, 1, CHUNK - sizeof *c);
		w->taken[w->n_taken++] = c;
	}
	w->pool.shared->exhausted = 0;
	return got;
}

static void give_all(struct endpoint *w)
{
	while (w->n_taken)
		pool_unclaim(&w->pool, w->taken[--w->n_taken]);
}

static uint32_t backed(const struct endpoint *w)
{
	struct pool_memory_counts c;

	pool_memory_count(&w->pool_memory, &c);
	return c.backed;
}

/* The machine's memory that the chunks use, in chunks. */
static uint64_t really_backed(const struct endpoint *w)
{
	struct stat st;
	uint64_t other = (uint64_t)(w->pool.chunks - (char *)w->pool.shared);

	ok(!fstat(w->fd, &st));
	return ((uint64_t)st.st_blocks * 512 - other) / CHUNK;
}

static void a_pool_begins_with_the_memory_requested(void)
{
	static struct endpoint w;

	begin(&w, 64 << 20, 16);
	is(backed(&w), 16);
	is(really_backed(&w), 16);
	is(take(&w, 100), 16); /* the others have no memory yet */
	is(really_backed(&w), 16);
	end(&w);
	begin(&w, 1 << 20, 1000);
	is(backed(&w), w.pool.n_chunks); /* not more than there are */
	end(&w);
}

static void a_pool_grows_in_steps_to_the_memory_requested_and_keeps_it(void)
{
	static struct endpoint w;

	begin(&w, 8 << 20, 16);
	is(pool_memory_grow(&w.pool_memory, 40, 20), true);
	is(backed(&w), 36);
	is(pool_memory_grow(&w.pool_memory, 40, 20), false);
	is(backed(&w), 40);
	is(really_backed(&w), 40);
	is(pool_memory_grow(&w.pool_memory, 40, 20), false);
	is(backed(&w), 40);
	for (int i = 0; i < 3 * CALM; i++)
		pool_memory_rest(&w.pool_memory);
	is(backed(&w), 40); /* that is now its least */
	is(pool_memory_grow(&w.pool_memory, 1000, 1000), false);
	is(backed(&w), w.pool.n_chunks); /* not more than there are */
	is(take(&w, 1000), w.pool.n_chunks);
	end(&w);
}

static void more_than_half_in_use_doubles_the_memory(void)
{
	static struct endpoint w;
	struct pool_memory_counts c;

	begin(&w, 8 << 20, 16);
	is(take(&w, 8), 8);
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 16); /* half is not more than half */
	is(take(&w, 1), 1);
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 32);
	is(really_backed(&w), 32);
	pool_memory_count(&w.pool_memory, &c);
	is(c.used, 9);
	is(c.chunks, 128);
	for (int i = 0; i < 10; i++) {
		take(&w, 1000);
		pool_memory_adjust(&w.pool_memory);
	}
	is(backed(&w), 128);
	is(really_backed(&w), 128);
	is(take(&w, 1000), 0);
	end(&w);
}

static void idle_memory_goes_back_by_halves(void)
{
	static struct endpoint w;

	begin(&w, 8 << 20, 16);
	for (int i = 0; i < 4; i++) {
		take(&w, 1000);
		pool_memory_adjust(&w.pool_memory);
	}
	is(backed(&w), 128);
	give_all(&w);
	pool_memory_rest(&w.pool_memory); /* it was used in this second */
	for (int i = 0; i < CALM - 1; i++) {
		pool_memory_adjust(&w.pool_memory);
		pool_memory_rest(&w.pool_memory);
	}
	is(backed(&w), 128);
	for (int i = 0; i < 4 * CALM; i++) {
		pool_memory_adjust(&w.pool_memory);
		pool_memory_rest(&w.pool_memory);
	}
	is(backed(&w), 16); /* the memory it began with stays */
	is(really_backed(&w), 16);
	is(take(&w, 100), 16);
	end(&w);
}

static void occasional_use_keeps_the_memory(void)
{
	static struct endpoint w;

	begin(&w, 8 << 20, 16);
	take(&w, 1000);
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 32);
	for (int i = 0; i < 5 * CALM; i++) {
		if (i % (CALM - 1) == 0)
			take(&w, 14);
		pool_memory_adjust(&w.pool_memory);
		give_all(&w);
		pool_memory_rest(&w.pool_memory);
	}
	is(backed(&w), 32);
	end(&w);
}

static void chunks_in_use_keep_their_memory(void)
{
	static struct endpoint w;
	uint32_t sum = 0;

	begin(&w, 8 << 20, 16);
	for (int i = 0; i < 4; i++) {
		take(&w, 1000);
		pool_memory_adjust(&w.pool_memory);
	}
	while (w.n_taken > 5) /* the last ones stay: memory is returned from the far end first */
		pool_unclaim(&w.pool, w.taken[--w.n_taken - 5]);
	for (int i = 0; i < 6 * CALM; i++) {
		pool_memory_adjust(&w.pool_memory);
		pool_memory_rest(&w.pool_memory);
	}
	ok(backed(&w) < 32);
	is(really_backed(&w), backed(&w));
	for (uint32_t i = 0; i < w.n_taken; i++)
		sum += ((unsigned char *)(w.taken[i] + 1))[CHUNK / 2];
	(void)sum;
	end(&w);
}

/* Memory that cannot be had: fallocate fails, and nothing else happens. */
static void without_memory_a_pool_keeps_its_size(void)
{
	static struct endpoint w;
	int fd;

	begin(&w, 8 << 20, 16);
	fd = w.pool_memory.fd;
	w.pool_memory.fd = -1;
	take(&w, 1000);
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 16);
	is(take(&w, 1), 0);
	w.pool_memory.fd = fd;
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 16); /* not tried again before it was calm */
	give_all(&w);
	for (int i = 0; i < CALM + 1; i++)
		pool_memory_rest(&w.pool_memory);
	take(&w, 1000);
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 32);
	end(&w);
}

/* Programs may write to the states: at worst, some memory is kept or returned needlessly. */
static void scribbled_states_do_no_harm(void)
{
	static struct endpoint w;
	uint64_t random = 88172645463325252ull;

	begin(&w, 8 << 20, 16);
	for (int i = 0; i < 3000; i++) {
		for (int k = 0; k < 20; k++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			w.pool.states[random % w.pool.n_chunks] = ABI_STATE(
				random >> 20, random & 1024 ? w.pool.owner : 1, (random >> 16) & 3);
		}
		pool_memory_adjust(&w.pool_memory);
		pool_memory_rest(&w.pool_memory);
		ok(w.pool_memory.n_parked <= w.pool.n_chunks);
	}
	end(&w);
}

/* ---------------------------------------------------------------- memory nodes */

static void put(const char *directory, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", directory, file);
	if (strchr(file, '/')) {
		*strrchr(path, '/') = 0;
		mkdir(path, 0700);
		path[strlen(path)] = '/';
	}
	f = fopen(path, "we");
	ok(f && fputs(text, f) >= 0 && !fclose(f));
}

static void nodes_are_those_with_cpus(void)
{
	char directory[] = "/tmp/duet-nodes-XXXXXX";
	struct nodes n;

	ok(mkdtemp(directory) != NULL);
	nodes_read(&n, directory);
	is(n.n, 1);
	put(directory, "has_cpu", "0,3-4\n");
	nodes_read(&n, directory); /* lists of CPUs are missing */
	is(n.n, 1);
	put(directory, "node0/cpulist", "0-1,4\n");
	put(directory, "node3/cpulist", "2-3,4294967295,999999-1000000\n");
	put(directory, "node4/cpulist", "5,x\n");
	nodes_read(&n, directory);
	is(n.n, 3);
	is(n.id[1], 3);
	is(n.id[2], 4);
	is(n.of_cpu[1], 0);
	is(n.of_cpu[2], 1);
	is(n.of_cpu[3], 1);
	is(n.of_cpu[4], 0);
	is(n.of_cpu[5], 2);
	is(n.of_cpu[6], 0);
	put(directory, "has_cpu", "0-4000000000\n");
	nodes_read(&n, directory);
	is(n.n, 1);
	io_remove_tree(directory);
}

static void a_node_that_does_not_exist_leaves_one_range(void)
{
	static struct endpoint w;

	nodes = (struct nodes){ .n = 2, .id = { 0, NODE_IDS - 1 }, .of_cpu = { 0, 1 } };
	begin(&w, 8 << 20, 16);
	is(w.pool_memory.n_ranges, 1);
	is(pool_slot(&w.pool, 1)->first, 0);
	is(take(&w, 100), 16);
	end(&w);
}

static int64_t claim_of(struct endpoint *w, uint32_t cpu)
{
	struct abi_chunk *c = pool_claim(&w->pool, cpu);

	return c ? (int64_t)pool_index(&w->pool, c) : -1;
}

/* Node 0 stands for three, so that any machine can be asked. */
static void each_node_has_a_part_of_the_memory(void)
{
	static struct endpoint w;

	begin(&w, 8 << 20, 7);
	is(w.pool_memory.n_ranges, 3);
	is(really_backed(&w), 7);
	is(pool_slot(&w.pool, 0)->first, 42); /* 128 chunks in three parts */
	is(pool_slot(&w.pool, 1)->first, 84);
	is(claim_of(&w, 1), 84);
	is(claim_of(&w, 1), 85);
	is(claim_of(&w, 0), 42);
	is(claim_of(&w, 1), 0); /* its own are in use, or have no memory */
	is(claim_of(&w, 0), 43);
	is(claim_of(&w, 0), 1);
	is(claim_of(&w, 0), 2);
	is(claim_of(&w, 0), -1);
	w.pool.shared->exhausted = 0;
	pool_memory_adjust(&w.pool_memory);
	is(backed(&w), 14);
	is(claim_of(&w, 1), 86);
	end(&w);
}

static bool can_bind(void)
{
	static struct endpoint w;
	bool can;

	nodes = (struct nodes){ .n = 3, .of_cpu = { 1, 2 } };
	begin(&w, 8 << 20, 16);
	can = w.pool_memory.n_ranges == 3;
	end(&w);
	return can;
}

int main(void)
{
	run(nodes_are_those_with_cpus);
	run(a_node_that_does_not_exist_leaves_one_range);
	if (can_bind()) { /* not in a container without CAP_SYS_NICE */
		run(each_node_has_a_part_of_the_memory);
		run(a_pool_begins_with_the_memory_requested);
		run(a_pool_grows_in_steps_to_the_memory_requested_and_keeps_it);
		run(more_than_half_in_use_doubles_the_memory);
		run(idle_memory_goes_back_by_halves);
		run(occasional_use_keeps_the_memory);
		run(without_memory_a_pool_keeps_its_size);
		run(scribbled_states_do_no_harm);
	}
	nodes = (struct nodes){ .n = 1 };
	run(a_pool_begins_with_the_memory_requested);
	run(a_pool_grows_in_steps_to_the_memory_requested_and_keeps_it);
	run(more_than_half_in_use_doubles_the_memory);
	run(idle_memory_goes_back_by_halves);
	run(occasional_use_keeps_the_memory);
	run(chunks_in_use_keep_their_memory);
	run(without_memory_a_pool_keeps_its_size);
	run(scribbled_states_do_no_harm);
	return test_status();
}
