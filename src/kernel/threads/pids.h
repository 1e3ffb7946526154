/* SPDX-License-Identifier: MIT */
/* kernel/threads/pids.h - a sorted set of process numbers: lookups are frequent, changes follow
 * forks. */
#ifndef KERNEL_THREADS_PIDS_H
#define KERNEL_THREADS_PIDS_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct pids {
	pid_t *sorted;
	size_t n, n_rooms;
};

/* The index of the first member that is not less than @pid. */
static inline size_t pids_bucket(const struct pids *s, pid_t pid)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->sorted[middle] < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline bool pids_has(const struct pids *s, pid_t pid)
{
	size_t at = pids_bucket(s, pid);

	return at < s->n && s->sorted[at] == pid;
}

/* 0 or -ENOMEM. */
static inline int pids_put(struct pids *s, pid_t pid)
{
	size_t at = pids_bucket(s, pid);

	if (pids_has(s, pid))
		return 0;
	if (s->n == s->n_rooms) {
		size_t n_rooms = s->n_rooms ? 2 * s->n_rooms : 64;
		pid_t *sorted = realloc(s->sorted, n_rooms * sizeof *sorted);

		if (!sorted)
			return -ENOMEM;
		s->sorted = sorted;
		s->n_rooms = n_rooms;
	}
	memmove(s->sorted + at + 1, s->sorted + at, (s->n++ - at) * sizeof *s->sorted);
	s->sorted[at] = pid;
	assert(s->n <= s->n_rooms && (!at || s->sorted[at - 1] < pid));
	return 0;
}

static inline void pids_drop(struct pids *s, pid_t pid)
{
	size_t at = pids_bucket(s, pid);

	if (pids_has(s, pid))
		memmove(s->sorted + at, s->sorted + at + 1, (--s->n - at) * sizeof *s->sorted);
}

static inline void pids_fini(struct pids *s)
{
	free(s->sorted);
	*s = (struct pids){ 0 };
}

#endif
