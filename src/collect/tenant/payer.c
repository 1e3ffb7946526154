/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/payer.c - follow user namespaces outwards to the user that made the first.
 *
 * NS_GET_OWNER_UID alone names the immediate owner, which may be one of 65 536 subordinate uids.
 */
#include "collect/tenant/payer.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NESTED_MAX = 33 }; /* the kernel's limit is 32 */

static bool are_same(int a, int b)
{
	struct stat st, other;

	return !fstat(a, &st) && !fstat(b, &other) && st.st_dev == other.st_dev &&
	       st.st_ino == other.st_ino;
}

/* The outermost user namespace below @own that contains @ns, which is closed; -1: none. */
static int outermost(int ns, int own)
{
	for (int i = 0; i < NESTED_MAX && ns >= 0; i++) {
		int parent = ioctl(ns, NS_GET_PARENT);

		if (parent < 0) /* beyond what we may see: we are in a user namespace ourselves */
			return ns;
		if (are_same(parent, own)) {
			close(parent);
			return ns;
		}
		close(ns);
		ns = parent;
	}
	if (ns >= 0)
		close(ns);
	return -1;
}

uid_t payer_of(int proc, const char *pid)
{
	char path[64];
	uid_t uid = 0;
	int own, ns;

	snprintf(path, sizeof path, "%.15s/ns/user", pid);
	ns = openat(proc, path, O_RDONLY | O_CLOEXEC);
	own = openat(proc, "self/ns/user", O_RDONLY | O_CLOEXEC);
	if (ns >= 0 && own >= 0 && !are_same(ns, own)) {
		ns = outermost(ns, own);
		if (ns < 0 || ioctl(ns, NS_GET_OWNER_UID, &uid))
			uid = 0;
	}
	if (ns >= 0)
		close(ns);
	if (own >= 0)
		close(own);
	return uid;
}

/* ---------------------------------------------------------------- pairs */

static struct pair *place_of(const struct pairs *s, uint64_t a, uint64_t b)
{
	assert(s->n < s->room); /* so that the loop ends */
	for (uint64_t i = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu);; i++) {
		struct pair *p = &s->at[(i ^ i >> 32) & (s->room - 1)];

		if ((p->a == a && p->b == b) || (!p->a && !p->b))
			return p;
	}
}

static bool grow(struct pairs *s)
{
	struct pairs bigger = { .n = s->n, .room = s->room ? 2 * s->room : 64 };

	if (bigger.room > 2 * PAIRS_MAX)
		return false;
	bigger.at = calloc(bigger.room, sizeof *bigger.at);
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->at[i].a || s->at[i].b)
			*place_of(&bigger, s->at[i].a, s->at[i].b) = s->at[i];
	free(s->at);
	*s = bigger;
	return true;
}

bool pairs_have(const struct pairs *s, uint64_t a, uint64_t b)
{
	const struct pair *p;

	if (!a && !b)
		return true;
	if (!s->room)
		return false;
	p = place_of(s, a, b);
	return p->a || p->b;
}

bool pairs_add(struct pairs *s, uint64_t a, uint64_t b)
{
	if (pairs_have(s, a, b))
		return false;
	if (2 * (s->n + 1) > s->room && !grow(s))
		return false;
	*place_of(s, a, b) = (struct pair){ a, b };
	s->n++;
	return true;
}

void pairs_free(struct pairs *s)
{
	free(s->at);
	*s = (struct pairs){ .n = 0 };
}
