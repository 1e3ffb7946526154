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
