/* SPDX-License-Identifier: MIT */
/* net/relay/shares.c - the disk budgets of hosts, found by their directories. */
#include "net/relay/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"

struct share *shares_of(struct shares *s, const char *path)
{
	struct share *one = s->first;

	if (!s->rule.limit && !s->rule.floor && !s->rule.shares)
		return NULL;
	while (one && strcmp(one->path, path) != 0)
		one = one->next;
	if (one)
		return one;
	one = calloc(1, sizeof *one);
	if (!one)
		return NULL;
	one->next = s->first;
	s->first = one;
	one->budget.rule = s->rule;
	snprintf(one->path, sizeof one->path, "%s", path);
	disk_count(&one->budget, one->path, NULL, 0);
	return one;
}

bool share_take(struct share *s, int fd, uint64_t bytes)
{
	if (!s || disk_take(&s->budget, fd, bytes, false))
		return true;
	disk_count(&s->budget, s->path, NULL, monotonic_ns());
	return disk_take(&s->budget, fd, bytes, false);
}

void shares_fini(struct shares *s)
{
	while (s->first) {
		struct share *next = s->first->next;

		free(s->first);
		s->first = next;
	}
}
