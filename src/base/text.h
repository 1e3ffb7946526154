/* SPDX-License-Identifier: MIT */
/*
 * base/text.h - a string that grows.
 *
 * It is NUL-terminated once a text was added.  If memory runs out it is marked `failed`, keeps its
 * content and ignores further additions, so callers check once, at the end.
 *
 * A text in memory of a fixed size (text_fixed) fails when that is full.  Then text_add allocates
 * nothing and is async-signal-safe.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes;
	size_t size; /* without the NUL */
	size_t capacity;
	bool failed;
	bool is_fixed; /* the caller owns `bytes`, and it does not grow */
};

/* text_fixed - an empty text in @size > 0 bytes at @bytes. */
static inline struct text text_fixed(char *bytes, size_t size)
{
	*bytes = 0;
	return (struct text){ .bytes = bytes, .capacity = size, .is_fixed = true };
}

void text_add(struct text *t, const char *bytes, size_t size);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_fini(struct text *t);

/* text_utf8_length - bytes of the UTF-8 character at @text, with @n > 0 bytes readable; 0 if it is
 * none (Unicode 15, table 3-7). */
size_t text_utf8_length(const void *text, size_t n);
/* text_code_point - of the character of @n bytes that text_utf8_length found. */
uint32_t text_code_point(const void *text, size_t n);

/*
 * text_shown_length - bytes of the character at @text if a person may see it as it is, with @n > 0 bytes
 * readable; 0 if not.
 *
 * This is the one place that decides which characters a terminal is given.  Not shown are control characters
 * (U+0000 to U+001F, U+007F to U+009F), bytes that are no UTF-8, and characters that deceive: those that
 * change the direction of the text, separate lines, or have no width (Unicode's
 * Default_Ignorable_Code_Point, without variation selectors, which emoji need).
 */
size_t text_shown_length(const void *text, size_t n);

/* Which of the characters that are not shown are kept nevertheless, for texts that duet composed. */
enum text_keep {
	TEXT_KEEP_NONE,	    /* of a name or value: it cannot end a line */
	TEXT_KEEP_INDENTED, /* a newline before two blanks: a message with its remedy */
	TEXT_KEEP_LINES,    /* newlines and tabs: a text of several lines */
};

/*
 * text_add_shown - append @bytes as a terminal may show them: \xNN for each byte of a character that
 * is not shown (text_shown_length).  A backslash stays as it is.
 */
void text_add_shown(struct text *t, const char *bytes, size_t size, enum text_keep keep);
/* text_add_printable - the same with TEXT_KEEP_NONE, for texts from other processes and files. */
void text_add_printable(struct text *t, const char *bytes, size_t size);
/* text_printable - the same for the string @from, into @size > 0 bytes at @to.  Returns @to; a
 * text that does not fit is cut. */
const char *text_printable(char *to, size_t size, const char *from);

#endif
