/* SPDX-License-Identifier: MIT */
/* callstack_bare.h - a site in code built without frame pointers. */
#ifndef CALLSTACK_BARE_H
#define CALLSTACK_BARE_H

/* Calls emit_here() from @depth levels of recursion, with the frame pointer used for another
 * value. */
long bare_recurse(long depth);

/* The test's, as libduet's emit(). */
void emit_here(const void *ip);

#endif
