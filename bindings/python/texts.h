/* SPDX-License-Identifier: MIT */
/* bindings/python/texts.h - the different texts of a table's column, each with a number. */
#ifndef TEXTS_H
#define TEXTS_H

#include "duetread.h"

/* Different texts, found by their hash: open addressing, at most half full. */
struct texts {
	PyObject *bytes;   /* bytearray: all of them, one behind the other */
	PyObject *offsets; /* bytearray of int64: where each begins, and the end */
	int32_t *slots;	   /* number + 1; 0: empty */
	uint64_t size;
	uint32_t n, n_slots, n_offsets;
	uint32_t last; /* the number given out last */
};

static inline int64_t *texts_offsets(const struct texts *t)
{
	return (int64_t *)(void *)PyByteArray_AS_STRING(t->offsets);
}

/* texts_begin - once, before all others.  0, or -1: an exception. */
int texts_begin(void);

/* texts_add - the number of the text, which is new if there was none like it.  Arrow's texts are UTF-8:
 * others are replaced, as in events.  0, or -1: an exception. */
int texts_add(struct texts *t, const char *s, size_t size, int32_t *number);

#endif
