/* SPDX-License-Identifier: MIT */
/* filter/compile_lex.c - split a filter expression into tokens, with errors by column. */
#include "filter/compile_lex.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lex_fail(const struct lexer *l, const char *at, const char *format, ...)
{
	char reason[512];
	va_list ap;

	assert(at >= l->text);
	va_start(ap, format);
	vsnprintf(reason, sizeof reason, format, ap);
	va_end(ap);
	return diag_fail(l->d, -EINVAL, "filter, column %d: %s", (int)(at - l->text) + 1, reason);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int take(struct lexer *l, enum token token, size_t n)
{
	assert(n <= strlen(l->p));
	l->token = token;
	l->p += n;
	return 0;
}

static int lex_real(struct lexer *l)
{
	char *end;

	l->real = strtod(l->p, &end); /* the locale is C: duet sets no other */
	if (!isfinite(l->real))
		return lex_fail(l, l->p, "this number is too large for floating point");
	l->token = TOKEN_REAL;
	l->p = end;
	return 0;
}

/* Digits, then a point or an exponent. */
static bool is_real(const char *p)
{
	while (is_digit(*p))
		p++;
	return *p == '.' || (*p | 0x20) == 'e';
}

static int lex_number(struct lexer *l)
{
	bool is_hex = l->p[0] == '0' && (l->p[1] | 0x20) == 'x';
	unsigned base = is_hex ? 16 : l->p[0] == '0' ? 8 : 10;
	const char *begin;
	int err = 0;

	l->value = 0;
	if (!is_hex && is_real(l->p)) {
		err = lex_real(l);
	} else {
		l->p += is_hex ? 2 : 0;
		l->token = TOKEN_INT;
		for (begin = l->p; digit_of(*l->p) < (int)base; l->p++)
			if (__builtin_mul_overflow(l->value, base, &l->value) ||
			    __builtin_add_overflow(l->value, (unsigned)digit_of(*l->p), &l->value))
				return lex_fail(l, l->at, "this number is more than 64 bits hold");
		if (begin == l->p)
			return lex_fail(l, l->at, "0x without digits");
	}
	if (!err && (is_letter(*l->p) || is_digit(*l->p)))
		return lex_fail(l, l->p, "`%c' does not belong to a number%s", *l->p,
				base == 8 && is_digit(*l->p) ? "; one that begins with 0 is octal"
							     : "");
	return err;
}

/* The character after a backslash. */
static int lex_escape(struct lexer *l, char *c)
{
	static const char names[] = "nrte\\\"'", values[] = "\n\r\t\033\\\"'";
	const char *found = *l->p ? strchr(names, *l->p) : NULL;

	if (found) {
		*c = values[found - names];
		l->p++;
		return 0;
	}
	if (*l->p != 'x' || digit_of(l->p[1]) > 15 || digit_of(l->p[2]) > 15)
		return lex_fail(l, l->p - 1,
				"no such escape; there are \\n \\r \\t \\e \\\\ \\\" \\' \\xHH");
	*c = (char)(digit_of(l->p[1]) * 16 + digit_of(l->p[2]));
	if (!*c)
		return lex_fail(l, l->p - 1, "a text has no NUL: it ends there");
	l->p += 3;
	return 0;
}

/* Reads a quoted text; l->p is at the opening @quote. */
static int lex_quoted(struct lexer *l, char quote)
{
	int err;

	l->p++;
	for (l->size = 0; *l->p != quote; l->size++) {
		if (!*l->p)
			return lex_fail(l, l->at, "this %c is not closed", quote);
		if (l->size == sizeof l->bytes)
			return lex_fail(l, l->at, "this text is longer than a filter can hold");
		l->bytes[l->size] = *l->p++;
		if (l->bytes[l->size] != '\\')
			continue;
		err = lex_escape(l, &l->bytes[l->size]);
		if (err)
			return err;
	}
	l->p++;
	return 0;
}

static int lex_text(struct lexer *l)
{
	l->token = TOKEN_TEXT;
	return lex_quoted(l, '"');
}

static int lex_character(struct lexer *l)
{
	int err = lex_quoted(l, '\'');

	if (!err && l->size != 1)
		return lex_fail(l, l->at, "'%.*s' is no single character; texts stand in \"\"",
				(int)l->size, l->bytes);
	l->token = TOKEN_INT;
	l->value = (uint8_t)l->bytes[0];
	return err;
}

static int add(struct lexer *l, char c)
{
	if (l->size == ABI_FILTER_NAME_MAX)
		return lex_fail(l, l->at, "this name is longer than %d characters",
				ABI_FILTER_NAME_MAX);
	l->bytes[l->size++] = c;
	return 0;
}

static void skip_spaces(struct lexer *l)
{
	while (*l->p == ' ' || *l->p == '\t' || *l->p == '\n')
		l->p++;
}

/* [3]: any number, in decimal digits. */
static int lex_index(struct lexer *l)
{
	const char *at = l->p++;
	char digits[24];
	uint64_t value;
	char *end;
	int err = 0;

	skip_spaces(l);
	errno = 0;
	value = strtoull(l->p, &end, 0);
	if (!is_digit(*l->p) || errno || value >= UINT32_MAX)
		return lex_fail(l, l->p, "an element has a number, as in a[3]");
	l->p = end;
	skip_spaces(l);
	if (*l->p != ']')
		return lex_fail(l, at, "this [ is not closed");
	l->p++;
	snprintf(digits, sizeof digits, "[%llu]", (unsigned long long)value);
	for (const char *c = digits; *c && !err; c++)
		err = add(l, *c);
	return err;
}

/* a, a.b, a[3], a[3].b */
static int lex_name(struct lexer *l, enum token token)
{
	int err = 0;

	l->token = token;
	l->size = 0;
	for (;;) {
		if (!is_letter(*l->p))
			return lex_fail(l, l->p, "a name is expected here: letters, digits and _");
		for (; !err && (is_letter(*l->p) || is_digit(*l->p)); l->p++)
			err = add(l, *l->p);
		while (!err && *l->p == '[')
			err = lex_index(l);
		if (err || *l->p != '.')
			return err;
		err = add(l, *l->p++);
		if (err)
			return err;
	}
}

static int lex_context(struct lexer *l)
{
	l->p++;
	if (!strncmp(l->p, "ctx.", 4))
		l->p += 4;
	return lex_name(l, TOKEN_CONTEXT);
}

static const struct {
	char text[3];
	uint8_t token, op;
} operators[] = {
	/* longer ones first */
	{ "||", TOKEN_OR_ELSE, 0 },
	{ "&&", TOKEN_AND_THEN, 0 },
	{ "==", TOKEN_OPERATOR, ABI_FILTER_EQ },
	{ "!=", TOKEN_OPERATOR, ABI_FILTER_NE },
	{ "!~", TOKEN_OPERATOR, ABI_FILTER_NOT_MATCH },
	{ "<=", TOKEN_OPERATOR, ABI_FILTER_LE },
	{ ">=", TOKEN_OPERATOR, ABI_FILTER_GE },
	{ "<<", TOKEN_OPERATOR, ABI_FILTER_SHIFT_LEFT },
	{ ">>", TOKEN_OPERATOR, ABI_FILTER_SHIFT_RIGHT },
	{ "<", TOKEN_OPERATOR, ABI_FILTER_LT },
	{ ">", TOKEN_OPERATOR, ABI_FILTER_GT },
	{ "~", TOKEN_OPERATOR, ABI_FILTER_MATCH },
	{ "!", TOKEN_NOT, 0 },
	{ "&", TOKEN_OPERATOR, ABI_FILTER_AND },
	{ "|", TOKEN_OPERATOR, ABI_FILTER_OR },
	{ "^", TOKEN_OPERATOR, ABI_FILTER_XOR },
	{ "+", TOKEN_OPERATOR, ABI_FILTER_ADD },
	{ "-", TOKEN_OPERATOR, ABI_FILTER_SUB },
	{ "*", TOKEN_OPERATOR, ABI_FILTER_MUL },
	{ "/", TOKEN_OPERATOR, ABI_FILTER_DIV },
	{ "%", TOKEN_OPERATOR, ABI_FILTER_MOD },
	{ "(", TOKEN_OPEN, 0 },
	{ ")", TOKEN_CLOSE, 0 },
};

static int lex_operator(struct lexer *l)
{
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		size_t n = strlen(operators[i].text);

		if (strncmp(l->p, operators[i].text, n))
			continue;
		l->op = (enum abi_filter_op)operators[i].op;
		return take(l, (enum token)operators[i].token, n);
	}
	if (*l->p == '=')
		return lex_fail(l, l->p, "`=' compares nothing; write ==");
	if ((unsigned char)*l->p <= 0x20 || (unsigned char)*l->p >= 0x7f)
		return lex_fail(l, l->p, "byte 0x%02x belongs to no expression",
				(unsigned char)*l->p);
	return lex_fail(l, l->p, "`%c' belongs to no expression", *l->p);
}

int lex_next(struct lexer *l)
{
	skip_spaces(l);
	l->at = l->p;
	if (!*l->p)
		return take(l, TOKEN_END, 0);
	if (is_digit(*l->p) || (*l->p == '.' && is_digit(l->p[1])))
		return lex_number(l);
	if (is_letter(*l->p))
		return lex_name(l, TOKEN_FIELD);
	if (*l->p == '$')
		return lex_context(l);
	if (*l->p == '"')
		return lex_text(l);
	if (*l->p == '\'')
		return lex_character(l);
	return lex_operator(l);
}
