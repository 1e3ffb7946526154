/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/words.h - helpers of text.c and its neighbours: numbers as text, and numbers
 * that have names.
 */
#ifndef ANALYSIS_SYSCALLS_WORDS_H
#define ANALYSIS_SYSCALLS_WORDS_H

#include <string.h>

#include "analysis/syscalls/text.h"

static inline void add(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

static inline void add_base(struct text *t, uint64_t v, unsigned base, const char *before)
{
	char digits[72], *p = digits + sizeof digits;

	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	add(t, before);
	text_add(t, p, (size_t)(digits + sizeof digits - p));
}

static inline void add_signed(struct text *t, int64_t v)
{
	add_base(t, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0 ? "-" : "");
}

static inline void add_hex(struct text *t, uint64_t v)
{
	add_base(t, v, 16, v ? "0x" : "");
}

static inline void add_address(struct text *t, uint64_t v)
{
	if (v)
		add_hex(t, v);
	else
		add(t, "NULL");
}

/* Truncated to the width of the field. */
static inline uint64_t bits_of(int64_t v, uint8_t size_bits)
{
	return size_bits && size_bits < 64 ? (uint64_t)v & ((1ull << size_bits) - 1) : (uint64_t)v;
}

/* Words of a number, by the style: "NAME"; the number with "NAME" as a comment; the number. call_words_begin() returns
 * whether words follow; then call_words_end() must follow those. */
enum call_base { CALL_HEXADECIMAL, CALL_DECIMAL, CALL_OCTAL_BASE };
bool call_words_begin(struct text *t, uint64_t value, enum call_base base);
void call_words_end(struct text *t);

void call_signal_name(struct text *t, int64_t number); /* in words, whatever the style */
/* call_value_add - one argument. @r, @x may be NULL. */
void call_value_add(struct text *t, const struct call_rule *r, const struct call_value *v,
		    const struct call_moment *x);
/* call_flags_plain - flags behind others: no comment if none of them has a name. */
void call_flags_plain(struct text *t, const struct call_name *names, uint64_t value);
/* call_futex_operation - the last argument of FUTEX_WAKE_OP. */
void call_futex_operation(struct text *t, uint32_t v);
void call_open(struct text *t, const struct call_name *names, uint64_t value);
void call_clone(struct text *t, const struct call_name *names, uint64_t value);
void call_with_flags(struct text *t, const struct call_rule *r, uint64_t value);
void call_error(struct text *t, int number);

#endif
