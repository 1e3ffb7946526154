/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/path.c - new paths of a profile.
 *
 * Recursion does not make paths longer: a call of a function that is on the path already continues
 * at that place.  So a tree has as many levels as functions at most, and usually few.  Calls with a
 * path without room are counted in the last one, CALLS_PATH_REST.
 *
 * An area that a thread used before keeps its paths, and adds to them: sums of the program stay
 * complete.
 *
 * The paths of an area have no memory at first, most of them never: a page is reserved with the first
 * path in it. Where the file system is full, as there is no room, the last one takes the calls.
 */
#include "inproc/calls/hook/path.h"

#include <sys/mman.h>

#include "base/runtime.h"

_Static_assert(CALLS_KEYS == 1 << (64 - 51), "calls_path_slot gives its number of bits");

enum { KEYS_BYTES = CALLS_KEYS * (sizeof(uint64_t) + sizeof(uint16_t)), PAGE = 4096 };

static bool add_key(struct calls_self *s, uint64_t key, uint32_t node)
{
	uint32_t at = calls_path_slot(key);

	for (int i = 0; i < CALLS_PROBES; i++, at = (at + 1) & (CALLS_KEYS - 1))
		if (!s->keys[at]) {
			s->nodes[at] = (uint16_t)node;
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			s->keys[at] = key;
			return true;
		}
	return false;
}

static uint32_t n_paths(const struct calls_self *s)
{
	uint32_t n = s->area->n_paths;

	return n < CALLS_PATH_REST ? n : CALLS_PATH_REST;
}

/* Reserves the page in which @p ends, if the path before it does not end there too. */
static bool has_memory(struct abi_calls_path *p)
{
	uintptr_t before = (uintptr_t)p - 1, last = (uintptr_t)(p + 1) - 1;

	return before / PAGE == last / PAGE || runtime_reserve(p, sizeof *p);
}

bool path_begin(struct calls_self *s)
{
	struct abi_calls_path *paths = s->area->paths;
	char *memory;

	if (!runtime_reserve(&paths[0], sizeof *paths) ||
	    !runtime_reserve(&paths[CALLS_PATH_REST], sizeof *paths))
		return false;

	if (!s->keys) {
		memory = mmap(NULL, KEYS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (memory == MAP_FAILED)
			return false;
		s->nodes = (uint16_t *)(memory + CALLS_KEYS * sizeof(uint64_t));
		s->keys = (uint64_t *)memory;
	}
	__builtin_memset(s->keys, 0, KEYS_BYTES);
	s->node = 0;
	if (!s->area->n_paths)
		s->area->n_paths = 1; /* the root */
	for (uint32_t i = 1; i < n_paths(s); i++)
		add_key(s,
			calls_path_key(s->area->paths[i].parent % ABI_CALLS_PATHS,
				       s->area->paths[i].function),
			i);
	return true;
}

/* The place of @function on the path of @node; 0: it is not on it. */
static uint32_t find_above(const struct calls_self *s, uint32_t node, uint32_t function)
{
	/* Parents have lower numbers. */
	while (node && s->area->paths[node].function != function) {
		uint32_t parent = s->area->paths[node].parent;

		node = parent < node ? parent : 0;
	}
	return node;
}

uint32_t path_make(struct calls_self *s, uint32_t function)
{
	uint32_t node = calls_path_find(s, s->node, function), n = n_paths(s);

	if (node)
		return node;
	if (s->node == CALLS_PATH_REST)
		return CALLS_PATH_REST;
	node = find_above(s, s->node, function);
	if (node) {
		add_key(s, calls_path_key(s->node, function), node);
		return node;
	}
	if (n >= CALLS_PATH_REST || !has_memory(&s->area->paths[n]) ||
	    !add_key(s, calls_path_key(s->node, function), n))
		return CALLS_PATH_REST;
	s->area->paths[n] = (struct abi_calls_path){ .parent = s->node, .function = function };
	store(&s->area->n_paths, n + 1);
	return n;
}
