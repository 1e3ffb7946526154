/* SPDX-License-Identifier: MIT */
/*
 * symbol/signature_parse.c - a signature that the user gives: a declaration in C.
 *
 *	declaration: type name ( parameters )
 *	parameters:  nothing | void | parameter, parameter, .. [, ...]
 *	parameter:   type [name] [ [number] ] | type (*name)(anything)
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/place.h"

static const struct {
	const char *name;
	const char *type;
} known_types[] = {
	{ "int8", "i8" },      { "int16", "i16" },     { "int32", "i32" },
	{ "int64", "i64" },    { "uint8", "u8" },      { "uint16", "u16" },
	{ "uint32", "u32" },   { "uint64", "u64" },    { "i8", "i8" },
	{ "i16", "i16" },      { "i32", "i32" },       { "i64", "i64" },
	{ "u8", "u8" },	       { "u16", "u16" },       { "u32", "u32" },
	{ "u64", "u64" },      { "size_t", "u64" },    { "ssize_t", "i64" },
	{ "off_t", "i64" },    { "off64_t", "i64" },   { "ptrdiff_t", "i64" },
	{ "intptr_t", "i64" }, { "uintptr_t", "x64" }, { "time_t", "i64" },
	{ "clock_t", "i64" },  { "pid_t", "i32" },     { "uid_t", "u32" },
	{ "gid_t", "u32" },    { "mode_t", "u32" },    { "dev_t", "u64" },
	{ "ino_t", "u64" },    { "socklen_t", "u32" }, { "wchar_t", "i32" },
	{ "uint", "u32" },     { "ushort", "u16" },    { "ulong", "u64" },
	{ "bool", "u8" },      { "_Bool", "u8" },      { "float", "f32" },
	{ "double", "f64" },   { "isize", "i64" },     { "usize", "u64" },
	{ "f32", "f32" },      { "f64", "f64" },
};

struct parser {
	const char *text, *p;
	struct diag *d;
};

struct type {
	char word[SIGNATURE_NAME]; /* the last word of it, for messages */
	const char *type;	   /* NULL: its size is not known */
	bool is_void, is_char;
	unsigned n_stars;
};

static int fail(const struct parser *r, const char *what, const char *word)
{
	return diag_fail(r->d, -EINVAL,
			 "signature \"%s\", at character %zu: %s%s\n"
			 "  write it as in C: long write(int fd, const char *text, size_t n)",
			 r->text, (size_t)(r->p - r->text) + 1, what, word);
}

/* ---------------------------------------------------------------- words */

static void skip_spaces(struct parser *r)
{
	while (isspace((unsigned char)*r->p))
		r->p++;
}

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The word at the parser's place, without moving; false: none, or it is too long. */
static bool peek_word(struct parser *r, char word[SIGNATURE_NAME])
{
	size_t n = 0;

	skip_spaces(r);
	while (is_word_character(r->p[n]))
		n++;
	if (!n || n >= SIGNATURE_NAME || isdigit((unsigned char)*r->p))
		return false;
	memcpy(word, r->p, n);
	word[n] = 0;
	return true;
}

static bool take(struct parser *r, const char *text)
{
	size_t n = strlen(text);

	skip_spaces(r);
	if (strncmp(r->p, text, n) != 0 ||
	    (is_word_character(text[n - 1]) && is_word_character(r->p[n])))
		return false;
	r->p += n;
	return true;
}

static bool take_qualifier(struct parser *r)
{
	static const char *const words[] = { "const",	 "volatile",	"restrict", "__restrict",
					     "register", "static",	"extern",   "inline",
					     "_Atomic",	 "__restrict__" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (take(r, words[i]))
			return true;
	return false;
}

/* ---------------------------------------------------------------- types */

/* unsigned, long, short, int, char in any order, as C allows. */
static bool take_c_integer(struct parser *r, struct type *t)
{
	static const char *const unsigned_types[] = { "u8", "u16", "u32", "u64" },
				 *const signed_types[] = { "i8", "i16", "i32", "i64" };
	unsigned n = 0, n_long = 0, size = 2;
	bool is_unsigned = false, is_signed = false, is_char = false;

	for (;; n++) {
		if (take(r, "unsigned"))
			is_unsigned = true;
		else if (take(r, "signed"))
			is_signed = true;
		else if (take(r, "char"))
			is_char = true;
		else if (take(r, "short"))
			size = 1;
		else if (take(r, "long"))
			n_long++;
		else if (!take(r, "int") && !take_qualifier(r))
			break;
	}
	if (!n)
		return false;
	if (n_long && take(r, "double")) {
		t->type = NULL;
		strcpy(t->word, "long double");
		return true;
	}
	size = is_char ? 0 : n_long ? 3 : size;
	t->is_char = is_char && !is_unsigned && !is_signed;
	t->type = is_unsigned ? unsigned_types[size] : signed_types[size];
	return true;
}

static const char *known_type(const char *word)
{
	for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++) {
		const char *name = known_types[i].name;
		size_t n = strlen(name);

		if (!strcmp(word, name) || (!strncmp(word, name, n) && !strcmp(word + n, "_t")))
			return known_types[i].type;
	}
	return NULL;
}

static int take_type(struct parser *r, struct type *t)
{
	*t = (struct type){ .type = NULL };
	while (take_qualifier(r))
		;
	if (take(r, "void")) {
		t->is_void = true;
		strcpy(t->word, "void");
	} else if (take(r, "enum")) {
		t->type = "u32";
		if (!peek_word(r, t->word))
			return fail(r, "the enumeration's name is missing", "");
		r->p += strlen(t->word);
	} else if (!take_c_integer(r, t)) {
		bool is_struct = take(r, "struct") || take(r, "union") || take(r, "class");

		if (!peek_word(r, t->word))
			return fail(r, "a type is missing", "");
		r->p += strlen(t->word);
		t->type = is_struct ? NULL : known_type(t->word);
	}
	for (;;) {
		if (take(r, "*") || take(r, "&"))
			t->n_stars++;
		else if (!take_qualifier(r))
			return 0;
	}
}

/* Skips "(anything)". */
static bool take_parentheses(struct parser *r)
{
	int depth = 0;

	skip_spaces(r);
	if (*r->p != '(')
		return false;
	do {
		depth += (*r->p == '(') - (*r->p == ')');
		r->p++;
	} while (depth && *r->p);
	return !depth;
}

/* The place and type of @v for @t; -EINVAL if its size is not known. */
static int set_value(struct parser *r, const struct type *t, struct signature_value *v,
		     enum place_class *class)
{
	const char *type = t->n_stars ? (t->is_char && t->n_stars == 1 ? "str" : "p64") : t->type;

	if (!type)
		return fail(r, "the size of this type is not known: ", t->word);
	*class = *type == 'f' ? PLACE_VECTOR : PLACE_INTEGER;
	strcpy(v->type, type);
	v->at.is_text = *type == 's';
	v->at.is_signed = *type == 'i';
	v->at.bytes = t->n_stars ? 8 : (uint8_t)(atoi(type + 1) / 8);
	return 0;
}

/* ---------------------------------------------------------------- parameters */

/* A name with its brackets: "name", "name[8]", "(*name)(int)". */
static int take_name(struct parser *r, struct type *t, char name[SIGNATURE_NAME])
{
	bool is_function = take(r, "(");

	if (is_function && !take(r, "*"))
		return fail(r, "expected * of a pointer to a function", "");
	name[0] = 0;
	if (peek_word(r, name))
		r->p += strlen(name);
	if (is_function) {
		if (!take(r, ")") || !take_parentheses(r))
			return fail(r, "expected (*name)(parameters)", "");
		*t = (struct type){ .is_void = true, .n_stars = 1 };
	}
	while (take(r, "[")) {
		r->p += strcspn(r->p, "]");
		if (!take(r, "]"))
			return fail(r, "expected ]", "");
		t->n_stars++;
	}
	return 0;
}

static int take_parameter(struct parser *r, struct signature *s, struct places *places)
{
	struct signature_value v = { .name = "" };
	unsigned number = s->n + s->n_left_out + 1;
	char name[SIGNATURE_NAME];
	enum place_class class;
	struct type t;
	int err = take_type(r, &t);

	if (!err)
		err = take_name(r, &t, name);
	if (!err)
		err = set_value(r, &t, &v, &class);
	if (err)
		return err;
	place_next(places, class, &v.at);
	signature_name(s, &v, name, number);
	if (s->n == SIGNATURE_PARAMETERS)
		s->n_left_out++;
	else
		s->parameters[s->n++] = v;
	return 0;
}

/* The parameters, after "(". */
static int take_parameters(struct parser *r, struct signature *s)
{
	struct places places = { 0 };
	const char *begin;
	int err;

	if (take(r, ")"))
		return 0;
	begin = r->p;
	if (take(r, "void") && take(r, ")"))
		return 0;
	r->p = begin;
	for (;;) {
		if (take(r, "...")) {
			s->is_variadic = true;
			return take(r, ")") ? 0 : fail(r, "expected ) after ...", "");
		}
		err = take_parameter(r, s, &places);
		if (err || take(r, ")"))
			return err;
		if (!take(r, ","))
			return fail(r, "expected , or )", "");
	}
}

static int take_result(struct parser *r, struct signature *s)
{
	enum place_class class;
	struct type t;
	int err = take_type(r, &t);

	if (err || (t.is_void && !t.n_stars))
		return err;
	strcpy(s->result.name, "result");
	err = set_value(r, &t, &s->result, &class);
	s->has_result = !err;
	if (!err)
		place_result(class, &s->result.at);
	return err;
}

int signature_parse(const char *text, struct signature *s, struct diag *d)
{
	struct parser r = { text, text, d };
	char name[SIGNATURE_NAME];
	int err;

	*s = (struct signature){ .n = 0 };
	err = take_result(&r, s);
	if (err)
		return err;
	if (!peek_word(&r, name))
		return fail(&r, "the function's name is missing, or is no name of C", "");
	r.p += strlen(name);
	strcpy(s->name, name);
	if (!take(&r, "("))
		return fail(&r, "expected ( after the name ", name);
	err = take_parameters(&r, s);
	if (err)
		return err;
	take(&r, ";");
	skip_spaces(&r);
	return *r.p ? fail(&r, "something stands behind the declaration", "") : 0;
}

/* ---------------------------------------------------------------- names */

static bool is_field(const char *name)
{
	size_t n = 0;

	while (is_word_character(name[n]))
		n++;
	return n && !name[n] && n < SIGNATURE_NAME && !isdigit((unsigned char)*name);
}

void signature_name(const struct signature *s, struct signature_value *v, const char *name,
		    unsigned number)
{
	bool is_good = is_field(name);

	for (unsigned i = 0; i < s->n && is_good; i++)
		is_good = strcmp(s->parameters[i].name, name) != 0;
	if (is_good)
		strcpy(v->name, name);
	else
		snprintf(v->name, sizeof v->name, "arg%u", number);
}
