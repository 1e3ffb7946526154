/* SPDX-License-Identifier: MIT */
/*
 * trace/text/output.h - a buffered output with fast formatting.
 *
 * Everything goes to a buffer of OUT_SIZE.  out_room() is called at least once per event and
 * flushes when less than OUT_SLACK is free, so that output of bounded size need not check.  A
 * reader that closed the pipe (EPIPE) is no error: `is_over` is set, and further output is dropped.
 *
 * What always holds:
 *
 *   (1) bytes <= at <= bytes + OUT_SIZE
 *   (2) a name or value that people read is added by out_text() or out_quoted(), which escape it;
 *       out_byte(), out_bytes(), out_padded() and out_data() add text of ours, or data for programs.
 *       The test prints_go_one_way lists the files that use these
 */
#ifndef TRACE_TEXT_OUTPUT_H
#define TRACE_TEXT_OUTPUT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text;

enum { OUT_SIZE = 1 << 20, OUT_SLACK = 4096, OUT_PAD = 16 };

struct out {
	char *at;    /* the next free byte */
	char *bytes; /* OUT_SIZE of them */
	int fd;
	struct text *text; /* not NULL: the output goes there instead of @fd; borrowed */
	int err;	   /* of write, except EPIPE */
	bool is_shown;	   /* data for programs that a terminal shows: escaped when written */
	bool is_over;
};

int out_init(struct out *o, int fd);
void out_fini(struct out *o); /* flushes */
void out_flush(struct out *o);

/* Makes room for OUT_SLACK bytes. */
static inline void out_room(struct out *o)
{
	if (__builtin_expect(o->at + OUT_SLACK > o->bytes + OUT_SIZE, 0))
		out_flush(o);
}

/* These need room for at most OUT_SLACK / 2 bytes. */
static inline void out_byte(struct out *o, char c)
{
	*o->at++ = c;
}

static inline void out_bytes(struct out *o, const char *s, size_t n)
{
	memcpy(o->at, s, n);
	o->at += n;
}

/* Like out_bytes(), but copies whole blocks of OUT_PAD bytes: the rest of the last block must be
 * readable. */
static inline void out_padded(struct out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i += OUT_PAD)
		memcpy(o->at + i, s + i, OUT_PAD);
	o->at += n;
}

#define out_literal(o, s) out_bytes((o), (s), sizeof(s) - 1)

/* Eight decimal digits of @v < 10^8 as values 0 to 9, the first in the lowest byte.  Splits into
 * halves, quarters, then digits, in lanes of one word (P. Khuong, "How to print integers really
 * fast", 2017). */
static inline uint64_t out_eight_digits(uint32_t v)
{
	uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007f;
	uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = ((pairs * 103) >> 10) & 0x000f000f000f000f;

	return tens | (pairs - tens * 10) << 8;
}

#define OUT_EIGHT_ZEROS 0x3030303030303030ull

static inline void out_put_word(char *at, uint64_t word)
{
	word = htole64(word);
	memcpy(at, &word, sizeof word);
}

/* out_put_u64 - write @v at @at, where 24 bytes are free, and return the byte behind it: for rows of
 * numbers, with the position in a register. */
static inline char *out_put_u64(char *at, uint64_t v)
{
	uint64_t digits, high = 0;
	int skip;

	if (__builtin_expect(v >= 10000000000000000u, 0)) {
		high = v / 10000000000000000u;
		v %= 10000000000000000u;
		/* at most four digits */
		digits = out_eight_digits((uint32_t)high);
		skip = __builtin_ctzll(digits | 1ull << 56) / 8;
		out_put_word(at, (digits + OUT_EIGHT_ZEROS) >> (skip * 8));
		at += 8 - skip;
		out_put_word(at, out_eight_digits((uint32_t)(v / 100000000)) + OUT_EIGHT_ZEROS);
		at += 8;
	} else {
		/* leading zeros are skipped, but not the last digit */
		digits = out_eight_digits((uint32_t)(v < 100000000 ? v : v / 100000000));
		skip = __builtin_ctzll(digits | 1ull << 56) / 8;
		out_put_word(at, (digits + OUT_EIGHT_ZEROS) >> (skip * 8));
		at += 8 - skip;
		if (v < 100000000)
			return at;
	}
	out_put_word(at, out_eight_digits((uint32_t)(v % 100000000)) + OUT_EIGHT_ZEROS);
	return at + 8;
}

void out_u64(struct out *o, uint64_t v);
void out_i64(struct out *o, int64_t v);
void out_base(struct out *o, uint64_t v, unsigned base); /* 0x2a, 052, 0b101010 */
void out_digits9(struct out *o, uint32_t v);		 /* nine digits with leading zeros */

/* The shortest decimal that reads back as the same number; it never looks like an integer. Not for
 * NaN or infinities. */
void out_real(struct out *o, double v, bool is_single);

/* Any length, for programs or of our own, as it is. */
void out_data(struct out *o, const char *s, size_t n);

/* Any length, from programs and recordings, for people: escaped (text_shown_length). */
void out_text(struct out *o, const char *s, size_t n);

/* In double quotes, any length: for people, and for JSON. */
void out_quoted(struct out *o, const char *s, size_t n);
void out_json(struct out *o, const char *s, size_t n);

#endif
