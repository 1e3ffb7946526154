/* SPDX-License-Identifier: MIT */
/* syntax/lex.c - split a text into tokens. */
#include "script/syntax/lex.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS_MOST = 1 << 20 };

int token_list_add(struct token_list *list, const struct token *t)
{
	uint32_t rooms = list->n_rooms ? list->n_rooms * 2 : 256;
	struct token *at;

	if (list->n == TOKENS_MOST)
		return -E2BIG;
	if (list->n == list->n_rooms) {
		at = realloc(list->at, rooms * sizeof *at);
		if (!at)
			return -ENOMEM;
		list->at = at;
		list->n_rooms = rooms;
	}
	list->at[list->n++] = *t;
	return 0;
}

void token_list_fini(struct token_list *list)
{
	free(list->at);
	*list = (struct token_list){ 0 };
}

void lex_bad(struct lexer *l, const char *at, const char *format, ...)
{
	char reason[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof reason, format, ap);
	va_end(ap);
	assert(at >= l->text && at <= l->end);
	l->t.kind = TOKEN_BAD;
	l->t.place.at = (uint32_t)(at - l->text);
	l->t.size = (uint32_t)strlen(reason);
	l->t.text = script_copy(l->arena, reason, l->t.size);
}

static void take_text(struct lexer *l, enum token_kind kind, const char *begin)
{
	l->t.kind = (uint8_t)kind;
	l->t.size = (uint32_t)(l->p - begin);
	l->t.text = script_copy(l->arena, begin, l->t.size);
}

static const char words[][9] = {
	"probe",    "global", "function", "private", "if",     "else",	"for",
	"foreach",  "in",     "limit",	  "return",  "delete", "while", "break",
	"continue", "next",   "string",	  "long",    "try",    "catch",
};

static void lex_name(struct lexer *l)
{
	const char *begin = l->p;

	while (lex_is_letter(*l->p) || lex_is_digit(*l->p))
		l->p++;
	take_text(l, TOKEN_NAME, begin);
	if (l->is_filter || l->t.size > 8 || !l->t.text)
		return;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i], l->t.text))
			continue;
		l->t.kind = TOKEN_WORD;
		l->t.code = token_code(words[i]);
	}
}

/* Longer ones first. */
static const char script_marks[][5] = {
	">>>=", "<<<", ">>>", "<<=", ">>=", "->", "++", "--", "&&", "||", "==", "!=", "!~", "=~",
	"<=",	">=",  "<<",  ">>",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".=", "%(",
	"%)",	"%?",  "%:",  "%}",  "(",   ")",  "[",	"]",  "{",  "}",  ",",	";",  ":",  "?",
	"=",	"+",   "-",   "*",   "/",   "%",  "&",	"|",  "^",  "~",  "!",	".",  "<",  ">",
};
static const char filter_marks[][5] = {
	"||", "&&", "==", "!=", "!~", "<=", ">=", "<<", ">>", "<", ">", "~", "!",
	"&",  "|",  "^",  "+",	"-",  "*",  "/",  "%",	"(",  ")", "[", "]", ".",
};

static void lex_unknown(struct lexer *l)
{
	char c = *l->p;

	if (l->is_filter && c == '=')
		lex_bad(l, l->p, "`=' compares nothing; write ==");
	else if ((unsigned char)c <= 0x20 || (unsigned char)c >= 0x7f)
		lex_bad(l, l->p, "byte 0x%02x belongs to no %s", (unsigned char)c,
			l->is_filter ? "expression" : "script");
	else if (l->is_filter)
		lex_bad(l, l->p, "`%c' belongs to no expression", c);
	else if (c == '\'')
		lex_bad(l, l->p, "texts stand in double quotes: \"text\"");
	else
		lex_bad(l, l->p, "`%c` belongs to no script", c);
	l->p++;
}

static void lex_mark(struct lexer *l)
{
	const char(*marks)[5] = l->is_filter ? filter_marks : script_marks;
	size_t n = l->is_filter ? sizeof filter_marks / sizeof *filter_marks
				: sizeof script_marks / sizeof *script_marks;

	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(marks[i]);

		if (strncmp(l->p, marks[i], size))
			continue;
		l->t.kind = TOKEN_MARK;
		l->t.text = marks[i];
		l->t.size = (uint32_t)size;
		l->t.code = token_code(marks[i]);
		l->p += size;
		return;
	}
	lex_unknown(l);
}

/* $1 @1 $# @# */
static void lex_argument(struct lexer *l, bool is_text)
{
	int64_t number = 0;

	l->t.kind = TOKEN_ARGUMENT;
	l->t.is_text = is_text;
	if (*l->p == '#') {
		l->p++;
		l->t.number = 0;
		return;
	}
	for (; lex_is_digit(*l->p); l->p++)
		number = number < 1000000 ? number * 10 + (*l->p - '0') : number;
	if (number)
		l->t.number = number;
	else
		lex_bad(l, l->text + l->t.place.at, "arguments are counted from 1");
}

static void lex_dollar(struct lexer *l)
{
	const char *begin = ++l->p;

	if (*l->p == '#' || lex_is_digit(*l->p)) {
		lex_argument(l, false);
		return;
	}
	if (*l->p == '$')
		l->p++;
	if (lex_is_letter(*l->p)) {
		while (lex_is_letter(*l->p) || lex_is_digit(*l->p))
			l->p++;
		take_text(l, TOKEN_CONTEXT, begin);
		return;
	}
	l->t.kind = TOKEN_MARK;
	l->t.text = l->p > begin ? "$$" : "$";
	l->t.size = (uint32_t)strlen(l->t.text);
	l->t.code = token_code(l->t.text);
}

/* $vpid or $ctx.vpid in a filter. */
static void lex_filter_context(struct lexer *l)
{
	const char *begin = ++l->p;

	if (!strncmp(l->p, "ctx.", 4))
		begin = l->p += 4;
	if (!lex_is_letter(*l->p)) {
		lex_bad(l, l->p, "a name is expected here: letters, digits and _");
		return;
	}
	while (lex_is_letter(*l->p) || lex_is_digit(*l->p))
		l->p++;
	take_text(l, TOKEN_CONTEXT, begin);
}

static void lex_at(struct lexer *l)
{
	const char *begin = ++l->p;

	if (*l->p == '#' || lex_is_digit(*l->p)) {
		lex_argument(l, true);
		return;
	}
	while (lex_is_letter(*l->p) || lex_is_digit(*l->p))
		l->p++;
	if (l->p == begin)
		lex_bad(l, begin - 1, "a name is expected after `@`, as in @count(x)");
	else
		take_text(l, TOKEN_OPERATOR, begin);
}

static void lex_embedded(struct lexer *l)
{
	const char *end = strstr(l->p, "%}");

	l->t.kind = TOKEN_EMBEDDED;
	l->t.text = "%{ ... %}";
	l->t.size = 9;
	l->p = end ? end + 2 : l->end;
}

/* Returns false, at the opening, if a comment is not closed. */
static bool skip_blanks(struct lexer *l)
{
	for (;;) {
		const char *close;

		while (*l->p == ' ' || (*l->p >= '\t' && *l->p <= '\r'))
			l->p++;
		if (l->is_filter)
			return true;
		if (*l->p == '#' || (l->p[0] == '/' && l->p[1] == '/')) {
			while (l->p < l->end && *l->p != '\n')
				l->p++;
			continue;
		}
		if (l->p[0] != '/' || l->p[1] != '*')
			return true;
		close = memmem(l->p + 2, (size_t)(l->end - l->p) - 2, "*/", 2);
		if (!close)
			return false;
		l->p = close + 2;
	}
}

static void lex_token(struct lexer *l)
{
	char c = *l->p;

	if (lex_is_digit(c) || (l->is_filter && c == '.' && lex_is_digit(l->p[1])))
		lex_number(l);
	else if (lex_is_letter(c))
		lex_name(l);
	else if (c == '"' || (c == '\'' && l->is_filter))
		lex_text(l, c);
	else if (c == '$' && l->is_filter)
		lex_filter_context(l);
	else if (c == '$')
		lex_dollar(l);
	else if (c == '@' && !l->is_filter)
		lex_at(l);
	else if (c == '%' && l->p[1] == '{' && !l->is_filter)
		lex_embedded(l);
	else
		lex_mark(l);
}

static void lex_next(struct lexer *l)
{
	bool is_closed = skip_blanks(l);
	const char *begin = l->p;

	l->t = (struct token){ .place = { .source = l->source,
					  .at = (uint32_t)(begin - l->text) } };
	if (!is_closed) {
		lex_bad(l, begin, "this comment is not closed by */");
		l->p = l->end;
	} else if (begin < l->end) {
		lex_token(l);
	} else {
		l->t.text = "";
	}
	if (l->t.kind != TOKEN_BAD)
		l->t.place.size = (uint32_t)(l->p - begin);
}

int lex(struct token_list *list, struct script_sources *sources, uint32_t source, bool is_filter)
{
	const struct script_source *s = sources->at + source;
	struct lexer l = { .text = s->text,
			   .end = s->text + s->size,
			   .p = s->text,
			   .arena = sources->arena,
			   .source = source,
			   .is_filter = is_filter };
	int err = 0;

	do {
		lex_next(&l);
		assert(l.p <= l.end);
		if (!l.t.text && l.t.kind != TOKEN_NUMBER && l.t.kind != TOKEN_REAL &&
		    l.t.kind != TOKEN_ARGUMENT)
			err = -ENOMEM;
		else
			err = token_list_add(list, &l.t);
	} while (!err && l.t.kind != TOKEN_END);
	return err;
}
