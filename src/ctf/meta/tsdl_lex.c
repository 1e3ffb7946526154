/* SPDX-License-Identifier: MIT */
/* ctf/meta/tsdl_lex.c - splits TSDL text into tokens.  See tsdl.h. */
#include "ctf/meta/tsdl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void tsdl_fail(struct tsdl *p, const char *format, ...)
{
	char what[512];
	va_list ap;

	if (p->err)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	p->err = diag_fail(p->diag, -EINVAL, "line %d: %s", p->line, what);
	p->failed_at = p->at;
	p->at = p->end;
	p->token = (struct tsdl_token){ .kind = TSDL_END };
}

void tsdl_fail_memory(struct tsdl *p)
{
	tsdl_fail(p, "no memory");
	p->err = -ENOMEM;
}

void *tsdl_alloc(struct tsdl *p, size_t size)
{
	void *m = ctf_meta_alloc(p->meta, size);

	if (!m)
		tsdl_fail_memory(p);
	return m;
}

static bool starts(const struct tsdl *p, const char *what, size_t size)
{
	return (size_t)(p->end - p->at) >= size && !memcmp(p->at, what, size);
}

static void skip_comment(struct tsdl *p)
{
	for (p->at += 2; p->at < p->end; p->at++) {
		if (*p->at == '\n')
			p->line++;
		if (starts(p, "*/", 2)) {
			p->at += 2;
			return;
		}
	}
	tsdl_fail(p, "a comment without end");
}

static void skip_space(struct tsdl *p)
{
	while (p->at < p->end) {
		char c = *p->at;

		if (c == '\n')
			p->line++;
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
			p->at++;
		else if (starts(p, "/*", 2))
			skip_comment(p);
		else if (starts(p, "//", 2))
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		else
			return;
	}
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static void lex_number(struct tsdl *p)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (starts(p, "0x", 2) || starts(p, "0X", 2)) {
		base = 16;
		p->at += 2;
	} else if (*p->at == '0') {
		base = 8;
	}
	for (; p->at < p->end && digit_value(*p->at) < (int)base; p->at++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (unsigned)digit_value(*p->at), &v))
			return tsdl_fail(p, "a number beyond 64 bits");
	while (p->at < p->end && memchr("uUlL", *p->at, 4))
		p->at++;
	if (p->at < p->end && (is_digit(*p->at) || is_word_start(*p->at)))
		return tsdl_fail(p, "a number with a stray `%c`", *p->at);
	p->token.kind = TSDL_NUMBER;
	p->token.number = v;
}

/* Reads one escape, after the backslash.  Returns the byte that it means. */
static char lex_escape(struct tsdl *p)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char c = *p->at++;
	const char *f = c ? strchr(from, c) : NULL;
	int v = 0, n = 0;

	if (f)
		return to[f - from];
	if (c == 'x') {
		for (; n < 2 && p->at < p->end && digit_value(*p->at) < 16; n++)
			v = v * 16 + digit_value(*p->at++);
		return (char)v;
	}
	if (digit_value(c) >= 8)
		return c;
	for (v = c - '0'; n < 2 && p->at < p->end && digit_value(*p->at) < 8; n++)
		v = v * 8 + digit_value(*p->at++);
	return (char)v;
}

static void lex_string(struct tsdl *p)
{
	const char *close = p->at + 1;
	char *text;
	size_t n = 0;

	while (close < p->end && *close != '"' && *close != '\n')
		close += *close == '\\' && p->end - close > 1 ? 2 : 1;
	if (close >= p->end || *close != '"')
		return tsdl_fail(p, "a string without end");
	text = tsdl_alloc(p, (size_t)(close - p->at));
	if (!text)
		return;
	for (p->at++; p->at < close;) {
		char c = *p->at++;

		text[n++] = c == '\\' ? lex_escape(p) : c;
	}
	p->at = close + 1;
	p->token.kind = TSDL_STRING;
	p->token.text = text;
	p->token.size = n;
}

/* A character is a number, with its text: the value of an environment is shown as text. */
static void lex_character(struct tsdl *p)
{
	char *text = tsdl_alloc(p, 2);
	uint8_t byte;

	if (!text)
		return;
	if (p->end - p->at < 3 || p->at[1] == '\'' || p->at[1] == '\n')
		return tsdl_fail(p, "a character literal without a character");
	p->at++;
	byte = (uint8_t)*p->at++;
	if (byte == '\\')
		byte = (uint8_t)lex_escape(p);
	if (p->at >= p->end || *p->at != '\'')
		return tsdl_fail(p, "a character literal without end, or of several characters");
	p->at++;
	*text = (char)byte;
	p->token.kind = TSDL_NUMBER;
	p->token.text = text;
	p->token.number = byte;
}

static void lex_word(struct tsdl *p)
{
	p->token.kind = TSDL_WORD;
	p->token.text = p->at;
	while (p->at < p->end && (is_word_start(*p->at) || is_digit(*p->at)))
		p->at++;
	p->token.size = (size_t)(p->at - p->token.text);
}

void tsdl_next(struct tsdl *p)
{
	skip_space(p);
	p->token = (struct tsdl_token){ .kind = TSDL_END };
	if (p->at >= p->end)
		return;
	if (is_word_start(*p->at))
		return lex_word(p);
	if (is_digit(*p->at))
		return lex_number(p);
	if (*p->at == '"')
		return lex_string(p);
	if (*p->at == '\'')
		return lex_character(p);
	if (starts(p, "...", 3)) {
		p->token.kind = TSDL_DOTS;
		p->at += 3;
	} else if (starts(p, ":=", 2)) {
		p->token.kind = TSDL_BECOMES;
		p->at += 2;
	} else if (strchr("{}[]()<>;,:=.-+*", *p->at) && *p->at) {
		p->token.kind = *p->at++;
	} else {
		tsdl_fail(p, "byte 0x%02x has no place here", (unsigned char)*p->at);
	}
}

bool tsdl_is_word(const struct tsdl *p, const char *word)
{
	return p->token.kind == TSDL_WORD && p->token.size == strlen(word) &&
	       !memcmp(p->token.text, word, p->token.size);
}

bool tsdl_accept(struct tsdl *p, int kind)
{
	if (p->token.kind != kind)
		return false;
	tsdl_next(p);
	return true;
}

bool tsdl_accept_word(struct tsdl *p, const char *word)
{
	if (!tsdl_is_word(p, word))
		return false;
	tsdl_next(p);
	return true;
}

static void describe(char *text, size_t size, int kind, const struct tsdl_token *t)
{
	if (kind == TSDL_WORD && t)
		snprintf(text, size, "`%.*s`", (int)(t->size < 60 ? t->size : 60), t->text);
	else if (kind >= TSDL_END)
		snprintf(text, size, "%s",
			 kind == TSDL_END      ? "the end"
			 : kind == TSDL_WORD   ? "a word"
			 : kind == TSDL_NUMBER ? "a number"
			 : kind == TSDL_STRING ? "a string"
			 : kind == TSDL_DOTS   ? "`...`"
					       : "`:=`");
	else
		snprintf(text, size, "`%c`", kind);
}

void tsdl_expect(struct tsdl *p, int kind)
{
	char wanted[80], found[80];

	if (tsdl_accept(p, kind))
		return;
	describe(wanted, sizeof wanted, kind, NULL);
	describe(found, sizeof found, p->token.kind, &p->token);
	tsdl_fail(p, "expected %s, found %s", wanted, found);
}

const char *tsdl_take_word(struct tsdl *p)
{
	const char *word;

	if (p->token.kind != TSDL_WORD) {
		tsdl_expect(p, TSDL_WORD);
		return NULL;
	}
	word = ctf_meta_string(p->meta, p->token.text, p->token.size);
	if (!word)
		tsdl_fail_memory(p);
	tsdl_next(p);
	return p->err ? NULL : word;
}

void tsdl_take_path(struct tsdl *p, char path[TSDL_PATH_MAX])
{
	size_t n = 0;

	path[0] = 0;
	do {
		if (p->token.kind != TSDL_WORD)
			return tsdl_expect(p, TSDL_WORD);
		if (n + p->token.size + 2 > TSDL_PATH_MAX)
			return tsdl_fail(p, "a name beyond %d characters", TSDL_PATH_MAX);
		if (n)
			path[n++] = '.';
		memcpy(path + n, p->token.text, p->token.size);
		n += p->token.size;
		path[n] = 0;
		tsdl_next(p);
	} while (tsdl_accept(p, '.'));
}
