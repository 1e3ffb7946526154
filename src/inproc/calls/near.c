/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/near.c - find free addresses near an object.
 *
 * /proc/self/maps names what is taken, and MAP_FIXED_NOREPLACE decides: another thread may map
 * something in between, then the next gap is tried.  Trying addresses without the list would take
 * thousands of system calls in a program with many mappings.
 */
#include "inproc/calls/near.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17 */
#endif

/* A jump's reach, less than 2^31 so that rounding never matters. */
#define REACH (0x7ff00000ull)
enum { PAGE = 4096, LOWEST = 1 << 16, TRIES = 64 };

struct maps {
	int fd;
	uint32_t at, n;
	char bytes[2048];
};

static int next_char(struct maps *m)
{
	if (m->at == m->n) {
		ssize_t n = syscall(SYS_read, m->fd, m->bytes, sizeof m->bytes);

		if (n <= 0)
			return -1;
		m->at = 0;
		m->n = (uint32_t)n;
	}
	return (unsigned char)m->bytes[m->at++];
}

/* Reads hexadecimal digits and the character behind them, which it returns. */
static int read_number(struct maps *m, uintptr_t *v)
{
	int c;

	*v = 0;
	for (;;) {
		c = next_char(m);
		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*v = *v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return c;
	}
}

static bool next_mapping(struct maps *m, uintptr_t *begin, uintptr_t *end)
{
	int c;

	if (read_number(m, begin) != '-' || read_number(m, end) != ' ')
		return false;
	do
		c = next_char(m);
	while (c >= 0 && c != '\n');
	return true;
}

struct wish {
	uintptr_t from, to; /* the memory lies between them */
	uintptr_t low;	    /* best is just below it */
	uintptr_t limit; /* answers below are better than those above; above it they have failed */
	size_t bytes;
	uintptr_t below, above; /* found; 0: none */
};

/* A gap between two mappings. */
static void consider(struct wish *w, uintptr_t begin, uintptr_t end)
{
	begin = begin < w->from ? w->from : begin;
	end = end > w->to ? w->to : end;
	if (end <= begin || end - begin < w->bytes)
		return;
	if (begin < w->low) {
		uintptr_t top = end < w->limit ? end : w->limit;

		if (top > begin && top - begin >= w->bytes)
			w->below = top - w->bytes;
	} else {
		w->above = end - w->bytes; /* the highest: the heap may grow far */
	}
}

/* The best place below w->limit, else the highest above the object; 0: there is none. */
static uintptr_t find(struct wish *w)
{
	struct maps m = { .fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
					     O_RDONLY | O_CLOEXEC, 0) };
	uintptr_t last = LOWEST, begin, end;

	if (m.fd < 0)
		return 0;
	w->below = w->above = 0;
	while (next_mapping(&m, &begin, &end)) {
		if (begin > last)
			consider(w, last, begin);
		last = end > last ? end : last;
		if (last >= w->to)
			break;
	}
	if (last < w->to)
		consider(w, last, w->to);
	syscall(SYS_close, m.fd);
	return w->below ? w->below : w->above;
}

static void *reserve_at(uintptr_t at, size_t bytes)
{
	void *p = mmap((void *)at, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (void *)at)
		return p;
	if (p != MAP_FAILED)
		munmap(p, bytes); /* a kernel that does not know the flag */
	return NULL;
}

void *near_reserve(uintptr_t low, uintptr_t high, size_t bytes)
{
	struct wish w = { .low = low,
			  .limit = low,
			  .bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1) };

	if (high < low || high - low > REACH || bytes > REACH)
		return NULL;
	w.from = high > REACH + LOWEST ? high - REACH : LOWEST;
	w.from = (w.from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	w.limit = w.low = low & ~(uintptr_t)(PAGE - 1);
	w.to = (low + REACH) & ~(uintptr_t)(PAGE - 1);
	for (int i = 0; i < TRIES; i++) {
		uintptr_t at = find(&w);
		void *p = at ? reserve_at(at, w.bytes) : NULL;

		if (!at || p)
			return p;
		if (at < w.low)
			w.limit = at; /* taken meanwhile */
		else
			w.to = at;
	}
	return NULL;
}
