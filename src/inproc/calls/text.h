/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/text.h - replace bytes of code that other threads may be running.
 */
#ifndef INPROC_CALLS_TEXT_H
#define INPROC_CALLS_TEXT_H

#include "inproc/process.h"

enum { JUMP_BYTES = 5 };

struct text_change {
	uint8_t *at;
	uint8_t to[JUMP_BYTES];
	uint8_t n;    /* bytes to write */
	bool is_jump; /* TEXT_LIVE: the old bytes begin with a jump of two bytes over the rest */
};

enum text_how {
	TEXT_QUIET, /* no other thread can run or be inside */
	TEXT_BYTE,  /* threads run: each change is one byte, before and after a whole instruction */
	TEXT_WORD,  /* threads run: a jump becomes the instructions that it replaced, in one store;
		       text_is_in_word is true of it */
	TEXT_LIVE,  /* threads run: each change is JUMP_BYTES, before and after one instruction, and
		       text_may_toggle is true of it */
};

/* text_jump - `jmp @target` for address @at.  False: too far. */
bool text_jump(uint8_t to[JUMP_BYTES], uintptr_t at, uintptr_t target) HIDDEN;

/* text_may_toggle - whether the first two bytes at @at can be replaced in one store that every
 * processor fetches whole: they lie in one aligned word of eight. */
static inline bool text_may_toggle(uintptr_t at)
{
	return (at & 7) != 7;
}

/* text_is_in_word - whether JUMP_BYTES at @at lie in one aligned word of eight. */
static inline bool text_is_in_word(uintptr_t at)
{
	return (at & 7) <= 8 - JUMP_BYTES;
}

/* text_can_sync - whether this kernel can make all threads of the program fetch code anew; asked
 * once, which prepares it. */
bool text_can_sync(void) HIDDEN;

/*
 * text_write - make @n changes in one segment, ascending by address.
 *
 * @flags: the segment's, PF_....  Its pages are writable meanwhile, and stay executable.  If that
 * is forbidden, changes that are not TEXT_LIVE are made through /proc/self/mem.
 *
 * 0: all are made, and no thread runs the old code.  A negative errno: for TEXT_LIVE and TEXT_WORD
 * nothing has changed; otherwise some may be.  Only one thread at a time.
 */
int text_write(const struct text_change *changes, uint32_t n, uint32_t flags,
	       enum text_how how) HIDDEN;

/*
 * text_memory_open - a descriptor for text_poke, or -errno.  It is closed with close(2).
 * text_poke - store @n bytes at @at, whatever its protection.  One byte is stored at once, so
 * threads may run there.
 */
int text_memory_open(void) HIDDEN;
bool text_poke(int memory, const void *at, const void *bytes, size_t n) HIDDEN;

#endif
