/* SPDX-License-Identifier: MIT */
/*
 * find/cache.c - files that were read before in one walk over processes: most of them map the same libraries.
 *
 * A file is known by the device and inode that /proc/PID/maps shows, so it need not be opened again.
 */
#include <assert.h>
#include <stdlib.h>

#include "find/internal.h"

struct known {
	uint64_t inode; /* 0: free */
	uint32_t dev;
	bool is_elf;
	struct elf_program program;
};

/* Open addressing; at most half full, and the size is a power of two. */
struct find_cache {
	struct known *at;
	size_t n, room;
};

enum { FIRST_ROOM = 512 };

struct find_cache *find_cache_new(void)
{
	return calloc(1, sizeof(struct find_cache));
}

void find_cache_free(struct find_cache *c)
{
	if (c)
		free(c->at);
	free(c);
}

static struct known *place_of(const struct find_cache *c, uint64_t inode, uint32_t dev)
{
	size_t i = (size_t)(inode * 0x9e3779b97f4a7c15u >> 20) & (c->room - 1);

	assert(c->room && c->n < c->room);
	while (c->at[i].inode && (c->at[i].inode != inode || c->at[i].dev != dev))
		i = (i + 1) & (c->room - 1);
	return &c->at[i];
}

static bool grow(struct find_cache *c)
{
	struct find_cache bigger = { .n = c->n, .room = c->room ? 2 * c->room : FIRST_ROOM };

	bigger.at = calloc(bigger.room, sizeof *bigger.at);
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < c->room; i++)
		if (c->at[i].inode)
			*place_of(&bigger, c->at[i].inode, c->at[i].dev) = c->at[i];
	free(c->at);
	*c = bigger;
	return true;
}

const struct elf_program *find_cache_get(const struct find_cache *c, const struct find_mapped *f,
					 bool *is_elf)
{
	const struct known *k = c && c->room ? place_of(c, f->inode, f->dev) : NULL;

	if (!k || !k->inode)
		return NULL;
	*is_elf = k->is_elf;
	return &k->program;
}

/* Without memory the file is read again the next time. */
void find_cache_put(struct find_cache *c, const struct find_mapped *f, const struct elf_program *p,
		    bool is_elf)
{
	struct known *k;

	if (!c || (2 * (c->n + 1) > c->room && !grow(c)))
		return;
	k = place_of(c, f->inode, f->dev);
	c->n += !k->inode;
	*k = (struct known){ f->inode, f->dev, is_elf, *p };
}
