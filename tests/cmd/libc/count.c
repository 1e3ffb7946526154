/* SPDX-License-Identifier: MIT */
/*
 * count.c - a preload that counts calls of malloc and the like, stacked behind libduet-libc.
 *
 * The trace must have the same counts, summed over all processes of a command.  The counters are in
 * the file named by DUET_TEST_COUNT, mapped shared, so they survive without an exit handler.  duet
 * itself is not counted.  Calls before libc knows its environment are kept until it does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum function { MALLOC, CALLOC, REALLOC, FREE, MEMALIGN, POSIX_MEMALIGN, ALIGNED_ALLOC, FUNCTIONS };

static uint64_t early[FUNCTIONS], *counters = early;
static bool is_open;

static void open_counters(void)
{
	const char *path = getenv("DUET_TEST_COUNT");
	uint64_t *at = MAP_FAILED;
	int fd;

	if (!environ)
		return;
	is_open = true;
	if (!path || !strcmp(program_invocation_short_name, "duet"))
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (at == MAP_FAILED)
		abort();
	for (int i = 0; i < FUNCTIONS; i++)
		__atomic_fetch_add(&at[i], early[i], __ATOMIC_RELAXED);
	counters = at;
}

static void count(enum function f)
{
	if (!is_open)
		open_counters();
	__atomic_fetch_add(&counters[f], 1, __ATOMIC_RELAXED);
}

#define NEXT(name)                                                                                 \
	static __typeof__(&name) next;                                                             \
	next = next ? next : (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void *malloc(size_t size)
{
	NEXT(malloc);
	count(MALLOC);
	return next(size);
}

void *calloc(size_t n, size_t size)
{
	NEXT(calloc);
	count(CALLOC);
	return next(n, size);
}

void *realloc(void *p, size_t size)
{
	NEXT(realloc);
	count(REALLOC);
	return next(p, size);
}

void free(void *p)
{
	NEXT(free);
	count(FREE);
	next(p);
}

void *memalign(size_t alignment, size_t size)
{
	NEXT(memalign);
	count(MEMALIGN);
	return next(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	NEXT(posix_memalign);
	count(POSIX_MEMALIGN);
	return next(out, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	NEXT(aligned_alloc);
	count(ALIGNED_ALLOC);
	return next(alignment, size);
}

void *valloc(size_t size)
{
	NEXT(valloc);
	count(MEMALIGN);
	return next(size);
}

void *pvalloc(size_t size)
{
	NEXT(pvalloc);
	count(MEMALIGN);
	return next(size);
}
