/* SPDX-License-Identifier: MIT */
/* trace/aliases.c - a hash table from process and thread ids of a pid namespace to those of the
 * host. */
#include "trace/aliases.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t ALIASES_MAX = 1u << 20; /* further threads keep the ids of their namespace */

struct aliases {
	struct alias *at; /* open addressing, at most half full */
	uint32_t n, capacity;
	int32_t next_unknown;
};

struct aliases *aliases_open(void)
{
	struct aliases *a = calloc(1, sizeof *a);

	if (a) {
		a->capacity = 64;
		a->next_unknown = ALIASES_FIRST_UNKNOWN;
		a->at = calloc(a->capacity, sizeof *a->at);
	}
	if (a && a->at)
		return a;
	free(a);
	return NULL;
}

void aliases_close(struct aliases *a)
{
	if (a)
		free(a->at);
	free(a);
}

static struct alias *find(const struct aliases *a, uint32_t source, int64_t vpid, int64_t vtid)
{
	uint64_t key =
		((uint64_t)(uint32_t)vpid << 32 | (uint32_t)vtid) * 0x9E3779B97F4A7C15u + source;
	uint32_t i = (uint32_t)(key >> 32) & (a->capacity - 1);

	for (; a->at[i].vpid; i = (i + 1) & (a->capacity - 1))
		if (a->at[i].source == source && a->at[i].vpid == vpid && a->at[i].vtid == vtid)
			break;
	return &a->at[i];
}

static bool grow(struct aliases *a)
{
	struct aliases bigger = *a;

	if (a->n < a->capacity / 2)
		return true;
	bigger.capacity *= 2;
	bigger.at = a->n < ALIASES_MAX ? calloc(bigger.capacity, sizeof *bigger.at) : NULL;
	if (!bigger.at)
		return false;
	for (uint32_t i = 0; i < a->capacity; i++)
		if (a->at[i].vpid)
			*find(&bigger, a->at[i].source, a->at[i].vpid, a->at[i].vtid) = a->at[i];
	free(a->at);
	*a = bigger;
	return true;
}

static struct alias *find_or_add(struct aliases *a, uint32_t source, int64_t vpid, int64_t vtid)
{
	struct alias *one = find(a, source, vpid, vtid);

	if (one->vpid)
		return one;
	if (!grow(a))
		return NULL;
	one = find(a, source, vpid, vtid);
	*one = (struct alias){ .source = source, .vpid = (int32_t)vpid, .vtid = (int32_t)vtid };
	a->n++;
	assert(a->n <= a->capacity / 2);
	return one;
}

void aliases_process(struct aliases *a, uint32_t source, int64_t vpid, int64_t pid)
{
	struct alias *last, *one;

	if (vpid <= 0 || pid <= 0 || pid > INT32_MAX || (vpid == pid && !a->n))
		return;
	one = find_or_add(a, source, vpid, -pid);
	last = one ? find_or_add(a, source, vpid, 0) : NULL;
	if (last)
		last->pid = (int32_t)pid;
}

bool aliases_any(const struct aliases *a)
{
	return a->n;
}

int64_t aliases_pid(const struct aliases *a, uint32_t source, int64_t vpid, int64_t running)
{
	const struct alias *last = vpid > 0 ? find(a, source, vpid, 0) : NULL;

	if (running > 0 && vpid > 0 && find(a, source, vpid, -running)->vpid)
		return running;
	return last && last->vpid ? last->pid : vpid;
}

int64_t aliases_tid(struct aliases *a, uint32_t source, int64_t vpid, int64_t vtid, int64_t pid,
		    int64_t running)
{
	struct alias *one;

	if (pid == vpid || vtid <= 0)
		return vtid;
	if (vtid == vpid)
		return pid;
	one = find_or_add(a, source, vpid, vtid);
	if (!one)
		return vtid;
	if (one->pid != pid) { /* new, or the id was reused */
		one->pid = (int32_t)pid;
		one->tid = 0;
	}
	/* The first thread has its id already.  If it seems to run here, a switch away from it was
	 * not recorded. */
	if (running > 0 && running != pid && (!one->tid || one->tid >= ALIASES_FIRST_UNKNOWN))
		one->tid = (int32_t)running;
	if (!one->tid)
		one->tid = a->next_unknown < INT32_MAX ? a->next_unknown++ : INT32_MAX;
	return one->tid;
}

int aliases_renumber(struct aliases *a, const uint32_t *was, uint32_t n)
{
	struct aliases left = { .capacity = a->capacity, .next_unknown = a->next_unknown };

	left.at = calloc(left.capacity, sizeof *left.at);
	if (!left.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->capacity; i++) {
		struct alias one = a->at[i];
		uint32_t source = 0;

		while (source < n && was[source] != one.source)
			source++;
		if (!one.vpid || source == n)
			continue;
		one.source = source;
		*find(&left, source, one.vpid, one.vtid) = one;
		left.n++;
	}
	free(a->at);
	*a = left;
	return 0;
}

uint32_t aliases_save(const struct aliases *a, struct text *bytes, int32_t *next_unknown)
{
	*next_unknown = a->next_unknown;
	for (uint32_t i = 0; i < a->capacity; i++)
		if (a->at[i].vpid)
			text_add(bytes, (const char *)&a->at[i], sizeof a->at[i]);
	return a->n;
}

static struct alias saved_at(const char *bytes, uint32_t i)
{
	struct alias one;

	memcpy(&one, bytes + (size_t)i * sizeof one, sizeof one);
	return one;
}

bool aliases_are_sound(const char *bytes, uint32_t n, int32_t next_unknown, uint32_t n_sources)
{
	if (n > ALIASES_MAX + 1 || next_unknown < ALIASES_FIRST_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct alias one = saved_at(bytes, i);

		if (one.source >= n_sources || one.vpid <= 0 || one.pid < 0 || one.tid < 0)
			return false;
	}
	return true;
}

int aliases_load(struct aliases *a, const char *bytes, uint32_t n, int32_t next_unknown)
{
	for (uint32_t i = 0; i < n; i++) {
		struct alias saved = saved_at(bytes, i);
		struct alias *one = find_or_add(a, saved.source, saved.vpid, saved.vtid);

		if (!one)
			return -ENOMEM;
		*one = saved;
	}
	a->next_unknown = next_unknown;
	return 0;
}
