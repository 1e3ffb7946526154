/* SPDX-License-Identifier: MIT */
/*
 * syntax/lex_literal.c - numbers and texts.
 *
 * Scripts and filters differ: a script's number wraps at 64 bits to a signed one, an unknown escape
 * stands for its character, and there are no reals and no characters in single quotes.
 */
#include "script/syntax/lex.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int digit_of(char c)
{
	if (lex_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static void lex_real(struct lexer *l)
{
	const char *begin = l->p;
	char *end;

	l->t.real = strtod(l->p, &end); /* the locale is C: duet sets no other */
	l->t.kind = TOKEN_REAL;
	l->p = end;
	if (!isfinite(l->t.real))
		lex_bad(l, begin, "this number is too large for floating point");
}

/* Digits, then a point or an exponent. */
static bool is_real(const char *p)
{
	while (lex_is_digit(*p))
		p++;
	return *p == '.' || (*p | 0x20) == 'e';
}

static void lex_integer(struct lexer *l, unsigned base)
{
	const char *begin = l->p;
	bool is_too_large = false;
	uint64_t value = 0;

	l->p += base == 16 ? 2 : 0;
	l->t.kind = TOKEN_NUMBER;
	for (; digit_of(*l->p) < (int)base; l->p++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (unsigned)digit_of(*l->p), &value))
			is_too_large = true;
	l->t.number = (int64_t)value;
	if (is_too_large)
		lex_bad(l, begin, "this number is more than 64 bits hold");
	else if (base == 16 && l->p == begin + 2)
		lex_bad(l, begin, "0x without digits");
}

static void skip_word(struct lexer *l)
{
	while (lex_is_letter(*l->p) || lex_is_digit(*l->p))
		l->p++;
}

void lex_number(struct lexer *l)
{
	bool is_hex = l->p[0] == '0' && (l->p[1] | 0x20) == 'x';
	unsigned base = is_hex ? 16 : l->p[0] == '0' ? 8 : 10;
	const char *at;

	if (l->is_filter && !is_hex && is_real(l->p))
		lex_real(l);
	else
		lex_integer(l, base);
	at = l->p;
	if (l->t.kind == TOKEN_BAD)
		skip_word(l);
	else if (lex_is_letter(*at) || lex_is_digit(*at)) {
		skip_word(l);
		lex_bad(l, at, "`%c' does not belong to a number%s", *at,
			base == 8 && lex_is_digit(*at) ? "; one that begins with 0 is octal" : "");
	} else if (!l->is_filter && *at == '.' && lex_is_digit(at[1])) {
		l->p++;
		skip_word(l);
		lex_bad(l, at,
			"a script has no fractions: multiply first, and print "
			"with printf(\"%%d.%%02d\", x / 100, x %% 100)");
	}
}

/* Up to @most digits of a number of @base, as a character. */
static char read_code(struct lexer *l, int base, int most)
{
	int value = 0;

	for (; most > 0 && digit_of(*l->p) < base; most--)
		value = value * base + digit_of(*l->p++);
	return (char)value;
}

/* The character after a backslash in a script.  Returns false for none: the line goes on. */
static bool script_escape(struct lexer *l, char *c)
{
	static const char names[] = "abtnvfre", values[] = "\a\b\t\n\v\f\r\033";
	const char *found = *l->p ? strchr(names, *l->p) : NULL;

	if (*l->p == '\n') {
		l->p++;
		return false;
	}
	if (found) {
		*c = values[found - names];
		l->p++;
	} else if (*l->p == 'x' && digit_of(l->p[1]) < 16) {
		l->p++;
		*c = read_code(l, 16, 2);
	} else if (digit_of(*l->p) < 8) {
		*c = read_code(l, 8, 3);
	} else if (l->p < l->end) {
		*c = *l->p++;
	}
	return true;
}

/* The character after a backslash in a filter. */
static void filter_escape(struct lexer *l, char *c)
{
	static const char names[] = "nrte\\\"'", values[] = "\n\r\t\033\\\"'";
	const char *found = *l->p ? strchr(names, *l->p) : NULL, *at = l->p - 1;

	if (found) {
		*c = values[found - names];
		l->p++;
	} else if (*l->p != 'x' || digit_of(l->p[1]) > 15 || digit_of(l->p[2]) > 15) {
		lex_bad(l, at, "no such escape; there are \\n \\r \\t \\e \\\\ \\\" \\' \\xHH");
	} else {
		l->p++;
		*c = read_code(l, 16, 2);
		if (!*c)
			lex_bad(l, at, "a text has no NUL: it ends there");
	}
}

static bool is_at_end(const struct lexer *l)
{
	return l->p == l->end || (*l->p == '\n' && !l->is_filter);
}

/* Reads a quoted text into @bytes; returns its size. */
static uint32_t unquote(struct lexer *l, char quote, char *bytes)
{
	const char *open = l->p++;
	uint32_t size = 0;

	while (l->t.kind != TOKEN_BAD && *l->p != quote) {
		if (is_at_end(l)) {
			lex_bad(l, open, "this %c is not closed", quote);
			return 0;
		}
		bytes[size] = *l->p++;
		if (bytes[size] == '\\' && !l->is_filter && !script_escape(l, &bytes[size]))
			continue;
		if (bytes[size] == '\\' && l->is_filter)
			filter_escape(l, &bytes[size]);
		size++;
	}
	l->p += l->t.kind != TOKEN_BAD;
	return size;
}

static void take_character(struct lexer *l, const char *open, const char *bytes, uint32_t size)
{
	if (size != 1) {
		lex_bad(l, open, "'%.*s' is no single character; texts stand in \"\"", (int)size,
			bytes);
		return;
	}
	l->t.kind = TOKEN_NUMBER;
	l->t.number = (uint8_t)bytes[0];
}

void lex_text(struct lexer *l, char quote)
{
	const char *open = l->p, *close = open + 1;
	uint32_t size;
	char *bytes;

	/* As unquote() goes; no escape gives more than it takes. */
	while (close < l->end && *close != quote && (*close != '\n' || l->is_filter))
		close += *close == '\\' && close + 1 < l->end ? 2 : 1;
	bytes = script_allocate(l->arena, (size_t)(close - open) + 2);
	if (!bytes) {
		l->p = l->end;
		l->t.kind = TOKEN_TEXT;
		l->t.text = NULL;
		return;
	}
	l->t.kind = TOKEN_TEXT;
	size = unquote(l, quote, bytes);
	if (l->t.kind == TOKEN_BAD)
		return;
	if (quote == '\'') {
		take_character(l, open, bytes, size);
		return;
	}
	assert(size < (size_t)(close - open));
	l->t.text = bytes;
	l->t.size = (uint32_t)strlen(bytes); /* a NUL ends a text */
}
