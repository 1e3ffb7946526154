/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/objects.h - the ELF objects that the program has loaded.
 */
#ifndef INPROC_CALLS_OBJECTS_H
#define INPROC_CALLS_OBJECTS_H

#include "abi/calls.h"
#include "inproc/process.h"

enum { LOADED_SEGMENTS = 12 };

struct loaded_segment {
	uintptr_t begin, end;
	uint32_t flags; /* PF_... */
};

struct loaded {
	uintptr_t bias, low, high; /* all its segments lie between low and high */
	struct loaded_segment segments[LOADED_SEGMENTS];
	uint32_t n_segments;
	uint32_t build_id_bytes; /* 0: it has none */
	uint8_t build_id[ABI_BUILD_ID_BYTES];
	const char *path; /* "" is the program itself */
	bool is_libduet;
	uintptr_t dynamic; /* its dynamic section; 0: none */
	size_t dynamic_bytes;
	uintptr_t constant_begin, constant_end; /* data that is read-only once it is relocated */
};

/*
 * loaded_for_each - call @f for each object that is loaded now, with its table in memory.
 *
 * @f returns false to stop.  It must not load or unload anything: the loader's lock is held.
 * Returns how many objects were ever loaded and unloaded: a number that changes when they do.
 */
uint64_t loaded_for_each(bool (*f)(const struct loaded *o, void *arg), void *arg) HIDDEN;
/* loaded_changes - that number alone. */
uint64_t loaded_changes(void) HIDDEN;

/* loaded_contains - whether @bytes at @address lie in one segment of @o with all of @flags. */
bool loaded_contains(const struct loaded *o, uintptr_t address, size_t bytes,
		     uint32_t flags) HIDDEN;

#endif
