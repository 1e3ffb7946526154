/* SPDX-License-Identifier: MIT */
/* library/text.c - functions on strings. */
#include <ctype.h>
#include <stdlib.h>

#include "script/library/internal.h"

HELP(library_strlen)
{
	UNUSED2, (void)vm;
	return string_of(r1)->size;
}

/* @length < 0: up to the end. */
HELP(library_substr)
{
	const struct script_string *s = string_of(r1);
	int64_t start = (int64_t)r2, length = (int64_t)r3;

	(void)r4, (void)r5;
	if (start < 0 || start >= s->size)
		return new_text(vm, "", 0);
	if (length < 0 || length > s->size - start)
		length = s->size - start;
	return new_text(vm, s->bytes + start, (size_t)length);
}

HELP(library_stringat)
{
	const struct script_string *s = string_of(r1);

	UNUSED3, (void)vm;
	return r2 < s->size ? (unsigned char)s->bytes[r2] : 0;
}

static int64_t find(const struct script_string *in, size_t from, const struct script_string *what)
{
	const char *found = memmem(in->bytes + from, in->size - from, what->bytes, what->size);

	return found ? found - in->bytes : -1;
}

HELP(library_isinstr)
{
	UNUSED3, (void)vm;
	return find(string_of(r1), 0, string_of(r2)) >= 0;
}

HELP(library_strpos)
{
	UNUSED3, (void)vm;
	return (uint64_t)find(string_of(r1), 0, string_of(r2));
}

/* Reads as many digits as there are; 0 without any, and for a base that there is not. */
HELP(library_strtol)
{
	UNUSED3, (void)vm;
	if ((int64_t)r2 < 0 || r2 == 1 || r2 > 36)
		return 0;
	return strtoull(string_of(r1)->bytes, NULL, (int)r2);
}

static uint64_t next_token(struct script_vm *vm, struct library *l,
			   const struct script_string *delimiters)
{
	const char *bytes = l->tokens.bytes;
	size_t at = l->next_token, end;

	while (at < l->tokens.size && memchr(delimiters->bytes, bytes[at], delimiters->size))
		at++;
	for (end = at; end < l->tokens.size; end++)
		if (memchr(delimiters->bytes, bytes[end], delimiters->size))
			break;
	l->next_token = end;
	return new_text(vm, bytes ? bytes + at : "", end - at);
}

/* A string that is not empty is remembered, and its first token returned; an empty one: the next
 * token. */
HELP(library_tokenize)
{
	struct library *l = library_of(vm);
	const struct script_string *s = string_of(r1);

	UNUSED3;
	if (s->size) {
		l->tokens.size = 0;
		l->next_token = 0;
		text_add(&l->tokens, s->bytes, s->size);
	}
	return next_token(vm, l, string_of(r2));
}

HELP(library_tokenize_next)
{
	UNUSED2;
	return next_token(vm, library_of(vm), string_of(r1));
}

HELP(library_str_replace)
{
	const struct script_string *s = string_of(r1), *what = string_of(r2), *by = string_of(r3);
	struct text *t = library_text(vm);
	size_t at = 0;
	int64_t found;

	(void)r4, (void)r5;
	if (!what->size)
		return r1;
	while ((found = find(s, at, what)) >= 0) {
		text_add(t, s->bytes + at, (size_t)found - at);
		text_add(t, by->bytes, by->size);
		at = (size_t)found + what->size;
	}
	text_add(t, s->bytes + at, s->size - at);
	return new_text(vm, t->bytes, t->size);
}

HELP(library_text_str)
{
	struct text *t = library_text(vm);

	UNUSED2;
	library_escape(t, string_of(r1)->bytes, string_of(r1)->size);
	return new_text(vm, t->bytes, t->size);
}

static uint64_t quoted(struct script_vm *vm, const struct script_string *s, uint64_t most)
{
	struct text *t = library_text(vm);

	text_add(t, "\"", 1);
	library_escape(t, s->bytes, s->size < most ? s->size : most);
	text_add(t, "\"", 1);
	if (s->size > most)
		text_add(t, "...", 3);
	return new_text(vm, t->bytes, t->size);
}

/* The first @r2 bytes (0: all), in quotes if @r3. */
HELP(library_text_strn)
{
	const struct script_string *s = string_of(r1);
	uint64_t most = (int64_t)r2 <= 0 ? UINT32_MAX : r2;
	struct text *t;

	(void)r4, (void)r5;
	if (r3)
		return quoted(vm, s, most);
	t = library_text(vm);
	library_escape(t, s->bytes, s->size < most ? s->size : most);
	return new_text(vm, t->bytes, t->size);
}

HELP(library_string_quoted)
{
	UNUSED2;
	return quoted(vm, string_of(r1), UINT32_MAX);
}

static uint64_t convert(struct script_vm *vm, const struct script_string *s, int (*to)(int))
{
	struct text *t = library_text(vm);

	text_add(t, s->bytes, s->size);
	for (size_t i = 0; i < t->size; i++)
		if ((unsigned char)t->bytes[i] < 128)
			t->bytes[i] = (char)to(t->bytes[i]);
	return new_text(vm, t->bytes, t->size);
}

HELP(library_toupper)
{
	UNUSED2;
	return convert(vm, string_of(r1), toupper);
}

HELP(library_tolower)
{
	UNUSED2;
	return convert(vm, string_of(r1), tolower);
}

HELP(library_isdigit)
{
	char c = string_of(r1)->bytes[0];

	UNUSED2, (void)vm;
	return c >= '0' && c <= '9';
}

/* Where the last =~ matched. */
static const struct script_regex_match *last_match(struct library *l)
{
	const char *text = l->matched.bytes ? l->matched.bytes : "";

	if (l->searched && (l->matched.failed ||
			    !script_regex_match(l->searched, text, l->matched.size, &l->match)))
		l->match.n_groups = 0;
	l->searched = NULL;
	return &l->match;
}

HELP(library_matched)
{
	struct library *l = library_of(vm);
	const struct script_regex_match *m = last_match(l);

	UNUSED2;
	if (r1 >= m->n_groups || m->begin[r1] < 0 || m->end[r1] < m->begin[r1])
		return new_text(vm, "", 0);
	return new_text(vm, l->matched.bytes ? l->matched.bytes + m->begin[r1] : "",
			(size_t)(m->end[r1] - m->begin[r1]));
}

HELP(library_ngroups)
{
	UNUSED1;
	return last_match(library_of(vm))->n_groups;
}
