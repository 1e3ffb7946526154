/* SPDX-License-Identifier: MIT */
/* unit/inproc/channels_test.c - the channels of a session's memory: sound ones are opened without touching
 * their pages, unsound ones are refused. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inproc/context.h"
#include "inproc/process.h"
#include "test.h"

enum { N = 3, OWNER = 7 };

struct process process;
static uint32_t guard[4];
static struct session *session;
static int fd;
static uint64_t stride; /* from one pool to the next */
static struct abi_pool shape;

bool process_is_sandboxed(void)
{
	return false;
}

void context_prepare(uint64_t contexts)
{
	(void)contexts;
}

static struct abi_session_memory *memory(void)
{
	return session->memory;
}

static struct abi_pool *pool_at(uint32_t i)
{
	return (struct abi_pool *)((char *)session->memory + memory()->channels[i].offset);
}

static void fill(void)
{
	struct abi_session_memory *m = memory();

	m->magic = ABI_SESSION_MEMORY_MAGIC;
	m->version = ABI_SESSION_MEMORY_VERSION;
	m->n_channels = N;
	m->trigger_channel = N - 1;
	for (uint32_t i = 0; i < N; i++) {
		m->channels[i].offset = ABI_POOL_ALIGN + i * stride;
		m->channels[i].size = shape.size;
		pool_format(pool_at(i), &shape);
	}
}

static void make(void)
{
	shape = pool_shape(&(struct pool_request){ .n_cpus = 1 });
	shape.n_chunks = 4;
	shape.chunk_shift = ABI_CHUNK_SHIFT_MIN;
	shape.size = abi_pool_size(shape.n_slots, shape.n_chunks, shape.chunk_shift);
	shape.clock = (struct abi_clock){ .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	stride = (shape.size + ABI_POOL_ALIGN - 1) / ABI_POOL_ALIGN * ABI_POOL_ALIGN;
	session = calloc(1, sizeof *session);
	session->memory_size = ABI_POOL_ALIGN + N * stride;
	fd = memfd_create("channels", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)session->memory_size))
		exit(3);
	session->memory =
		mmap(NULL, session->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (session->memory == MAP_FAILED)
		exit(3);
	fill();
}

static void protect(uint64_t from, uint64_t to, int how)
{
	if (mprotect((char *)session->memory + from, to - from, how))
		exit(3);
}

static void only_the_page_of_the_first_channel_is_touched(void)
{
	protect(0, ABI_POOL_ALIGN, PROT_NONE);
	protect(ABI_POOL_ALIGN + stride, session->memory_size, PROT_NONE);
	ok(session_open_channels(session, fd, OWNER));
	protect(0, session->memory_size, PROT_READ | PROT_WRITE);
	is(session->n_channels, N);
	is(session->trigger_channel, N - 1);
	for (uint32_t i = 0; i < N; i++) {
		ok(session->channels[i].pool.shared == pool_at(i));
		is(session->channels[i].pool.n_chunks, shape.n_chunks);
		is(session->channels[i].pool.owner, OWNER);
	}
}

/* By its descriptor, and by the mapping alone, as in a child of fork. */
static bool is_refused(void)
{
	bool refused = !session_open_channels(session, fd, OWNER) &&
		       !session_open_channels(session, -1, OWNER);

	fill();
	return refused && session_open_channels(session, fd, OWNER) &&
	       session_open_channels(session, -1, OWNER);
}

static void unsound_channels_are_refused(void)
{
	for (uint32_t i = 0; i < N; i++) {
		pool_at(i)->magic = 1;
		ok(is_refused());
		memory()->channels[i].offset++;
		ok(is_refused());
		memory()->channels[i].offset = 0; /* the head itself */
		ok(is_refused());
		memory()->channels[i].offset = session->memory_size;
		ok(is_refused());
		memory()->channels[i].offset = UINT64_MAX - ABI_POOL_ALIGN + 1;
		ok(is_refused());
		memory()->channels[i].size = session->memory_size;
		ok(is_refused());
		memory()->channels[i].size = 100;
		ok(is_refused());
	}
	/* A header that begins within the memory and ends behind it. */
	memory()->channels[N - 1].offset = session->memory_size - ABI_POOL_ALIGN;
	memory()->channels[N - 1].size = 1;
	ok(is_refused());
}

static void an_unsound_head_is_refused(void)
{
	memory()->magic++;
	ok(is_refused());
	memory()->version++;
	ok(is_refused());
	memory()->n_channels = 0;
	ok(is_refused());
	memory()->n_channels = ABI_CHANNELS + 1;
	ok(is_refused());
	memory()->n_channels = UINT32_MAX;
	ok(is_refused());
	memory()->trigger_channel = N;
	ok(is_refused());
}

int main(void)
{
	process.guard = guard;
	make();
	run(only_the_page_of_the_first_channel_is_touched);
	run(unsound_channels_are_refused);
	run(an_unsound_head_is_refused);
	munmap(session->memory, session->memory_size);
	free(session);
	close(fd);
	return test_status();
}
