/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/path.h - the profile of a thread: a tree of call paths with exact counts.
 *
 * A frame keeps its caller's path and depth, so any exit restores both.  One call in
 * CALLS_SAMPLE has its time measured; the clock costs more than all else.
 */
#ifndef INPROC_CALLS_PATH_H
#define INPROC_CALLS_PATH_H

#include "inproc/calls/hook/record.h"

enum {
	CALLS_KEYS = 8192, /* twice the paths: a key is found after a few probes */
	CALLS_PROBES = 8,
	CALLS_SAMPLE = 16,
	CALLS_PATH_BITS = 12,
	CALLS_PATH_REST = ABI_CALLS_PATHS - 1, /* calls of paths without room */
};
_Static_assert(ABI_CALLS_PATHS == 1 << CALLS_PATH_BITS, "a frame's depth holds a path too");

CALLS_INLINE uint64_t calls_path_key(uint32_t caller, uint32_t function)
{
	return (uint64_t)caller << 32 | function;
}

CALLS_INLINE uint32_t calls_path_slot(uint64_t key)
{
	return (uint32_t)((key ^ key >> 23) * 0x9e3779b97f4a7c15u >> 51);
}

/* The path of @function called from @caller; 0: not made yet.  The keys exist. */
CALLS_INLINE uint32_t calls_path_find(const struct calls_self *s, uint32_t caller,
				      uint32_t function)
{
	uint64_t key = calls_path_key(caller, function);
	uint32_t at = calls_path_slot(key);

	for (int i = 0; i < CALLS_PROBES; i++, at = (at + 1) & (CALLS_KEYS - 1))
		if (likely(s->keys[at] == key))
			return s->nodes[at];
	return 0;
}

CALLS_INLINE void calls_path_enter(struct calls_here *h, struct calls_self *s,
				   struct calls_frame *f, uint32_t node)
{
	f->top = h->top;
	f->depth = h->depth << CALLS_PATH_BITS | s->node;
	f->ticks = CALLS_UNSAMPLED;
	calls_count(&s->area->paths[node].calls, 1);
	store(&h->depth, h->depth + 1);
	store(&s->node, node);
	store(&h->top, f);
	if (unlikely(++s->n_entries % CALLS_SAMPLE == 0))
		f->ticks = calls_ticks() | 1;
}

CALLS_INLINE void calls_path_leave(struct calls_here *h, struct calls_self *s,
				   struct calls_frame *f)
{
	if (unlikely(f->ticks != CALLS_UNSAMPLED)) {
		struct abi_calls_path *p = &s->area->paths[s->node % ABI_CALLS_PATHS];

		calls_count(&p->quanta, (calls_ticks() - f->ticks) >> calls_settings.shift);
		calls_count(&p->sampled, 1);
	}
	store(&h->depth, f->depth >> CALLS_PATH_BITS);
	store(&s->node, f->depth % ABI_CALLS_PATHS);
	store(&h->top, f->top);
}

/* path_make - the path of @function called from the thread's current one, made if there is room. */
uint32_t path_make(struct calls_self *s, uint32_t function) CALLS_HIDDEN;
/* path_begin - memory for the keys; those of paths that the area has already are stored.  False: no
 * memory. */
bool path_begin(struct calls_self *s) CALLS_HIDDEN;

#endif
