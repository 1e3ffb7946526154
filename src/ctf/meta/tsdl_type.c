/* SPDX-License-Identifier: MIT */
/* ctf/meta/tsdl_type.c - parses types, their names and the scopes of names.  See tsdl.h. */
#include "ctf/meta/tsdl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define MEMBERS_MAX 65536u

static const struct ctf_type *find(struct tsdl *p, const char *text)
{
	uint32_t h = hash_text32(text);

	for (struct tsdl_name *n = p->buckets[h % TSDL_BUCKETS]; n; n = n->next)
		if (n->hash == h && !strcmp(n->text, text))
			return n->type;
	return NULL;
}

static void declare(struct tsdl *p, const char *text, const struct ctf_type *type)
{
	struct tsdl_name *n = tsdl_alloc(p, sizeof *n);
	char *copy = ctf_meta_string(p->meta, text, strlen(text));

	if (!n || !copy || !type)
		return n && !copy ? tsdl_fail_memory(p) : (void)0;
	if (p->n_names++ >= TSDL_NAMES_MAX)
		return tsdl_fail(p, "more than %d named types", TSDL_NAMES_MAX);
	n->text = copy;
	n->type = type;
	n->hash = hash_text32(text);
	n->next = p->buckets[n->hash % TSDL_BUCKETS];
	p->buckets[n->hash % TSDL_BUCKETS] = n;
	n->before = p->last_name;
	p->last_name = n;
}

struct tsdl_name *tsdl_enter(struct tsdl *p)
{
	return p->last_name;
}

/* Names are removed in reverse order, so each is the first in its bucket when it is removed. */
void tsdl_leave(struct tsdl *p, struct tsdl_name *mark)
{
	for (; p->last_name != mark; p->last_name = p->last_name->before) {
		assert(p->n_names && p->buckets[p->last_name->hash % TSDL_BUCKETS] == p->last_name);
		p->buckets[p->last_name->hash % TSDL_BUCKETS] = p->last_name->next;
		p->n_names--;
	}
}

struct ctf_type *tsdl_new_type(struct tsdl *p, enum ctf_kind kind)
{
	struct ctf_type *t = tsdl_alloc(p, sizeof *t);

	if (!t)
		return NULL;
	t->kind = kind;
	t->align_bits = 1;
	t->depth = 1;
	return t;
}

/* @t contains @inner: checks the limit of the depth. */
static void note_depth(struct tsdl *p, struct ctf_type *t, const struct ctf_type *inner)
{
	if (inner->depth >= t->depth)
		t->depth = inner->depth + 1;
	if (t->depth > CTF_DEPTH_MAX)
		tsdl_fail(p, "types nested deeper than %d", CTF_DEPTH_MAX);
}

/* A name may follow the word struct, variant or enum: the key of a look-up is "struct NAME". */
static bool take_tag(struct tsdl *p, const char *keyword, char name[TSDL_PATH_MAX])
{
	name[0] = 0;
	if (p->token.kind != TSDL_WORD || tsdl_is_word(p, "align"))
		return false;
	if (p->token.size + strlen(keyword) + 2 > TSDL_PATH_MAX) {
		tsdl_fail(p, "a name beyond %d characters", TSDL_PATH_MAX);
		return false;
	}
	snprintf(name, TSDL_PATH_MAX, "%s %.*s", keyword, (int)p->token.size, p->token.text);
	tsdl_next(p);
	return true;
}

static const struct ctf_type *find_tag(struct tsdl *p, const char *name)
{
	const struct ctf_type *t = name[0] ? find(p, name) : NULL;

	if (!t)
		tsdl_fail(p, name[0] ? "no `%s` is declared before" : "expected `{`%s", name);
	return t;
}

static uint64_t array_length(struct tsdl *p, char path[TSDL_PATH_MAX])
{
	uint64_t length = 0;

	path[0] = 0;
	if (p->token.kind == TSDL_NUMBER) {
		length = p->token.number;
		tsdl_next(p);
	} else {
		tsdl_take_path(p, path);
	}
	tsdl_expect(p, ']');
	return length;
}

/* NAME [3][ length ] is an array of three sequences, so brackets bind from the right. */
static const struct ctf_type *brackets(struct tsdl *p, const struct ctf_type *element)
{
	char path[TSDL_PATH_MAX];
	struct ctf_type *t;
	uint64_t length;

	if (!tsdl_accept(p, '['))
		return element;
	if (++p->depth > CTF_DEPTH_MAX)
		tsdl_fail(p, "types nested deeper than %d", CTF_DEPTH_MAX);
	length = array_length(p, path);
	element = brackets(p, element);
	p->depth--;
	t = p->err || !element ? NULL : tsdl_new_type(p, path[0] ? CTF_SEQUENCE : CTF_ARRAY);
	if (!t)
		return NULL;
	t->of = element;
	t->length = length;
	t->align_bits = element->align_bits;
	note_depth(p, t, element);
	if (path[0])
		t->path = ctf_meta_string(p->meta, path, strlen(path));
	if (path[0] && !t->path)
		tsdl_fail_memory(p);
	return p->err ? NULL : t;
}

static void add_member(struct tsdl *p, struct ctf_type *t, const char *name,
		       const struct ctf_type *type)
{
	struct ctf_member *list;

	if (p->err || !type)
		return;
	if (t->n_members >= MEMBERS_MAX)
		return tsdl_fail(p, "more than %u members", MEMBERS_MAX);
	list = ctf_meta_grow(p->meta, (void *)t->members, t->n_members, sizeof *list);
	if (!list)
		return tsdl_fail_memory(p);
	list[t->n_members++] = (struct ctf_member){ name, type };
	t->members = list;
	note_depth(p, t, type);
	if (t->kind == CTF_STRUCT && type->align_bits > t->align_bits)
		t->align_bits = type->align_bits;
}

static void members(struct tsdl *p, struct ctf_type *t)
{
	struct tsdl_name *mark = tsdl_enter(p);

	while (!tsdl_accept(p, '}') && !p->err) {
		const struct ctf_type *type;

		if (p->token.kind == TSDL_END)
			tsdl_expect(p, '}');
		if (tsdl_declaration(p))
			continue;
		type = tsdl_type(p);
		if (tsdl_accept(p, ';'))
			continue; /* only declares a tag */
		do {
			const char *name = tsdl_take_word(p);

			add_member(p, t, name, brackets(p, type));
		} while (tsdl_accept(p, ','));
		tsdl_expect(p, ';');
	}
	tsdl_leave(p, mark);
}

/* align(N) after a struct raises its alignment. */
static void struct_align(struct tsdl *p, struct ctf_type *t)
{
	struct tsdl_value v = { 0 };
	uint32_t align;

	if (!tsdl_accept_word(p, "align"))
		return;
	tsdl_expect(p, '(');
	v.number = p->token.number;
	if (p->token.kind != TSDL_NUMBER)
		tsdl_expect(p, TSDL_NUMBER);
	align = tsdl_take_align(p, &v);
	tsdl_next(p);
	tsdl_expect(p, ')');
	if (!p->err && align > t->align_bits)
		t->align_bits = align;
}

static const struct ctf_type *structure(struct tsdl *p)
{
	char name[TSDL_PATH_MAX];
	struct ctf_type *t;
	bool has_name = take_tag(p, "struct", name);

	if (!tsdl_accept(p, '{'))
		return find_tag(p, name);
	t = tsdl_new_type(p, CTF_STRUCT);
	if (!t)
		return NULL;
	members(p, t);
	struct_align(p, t);
	if (has_name)
		declare(p, name, t);
	return t;
}

static const char *variant_tag(struct tsdl *p)
{
	char path[TSDL_PATH_MAX];
	const char *copy;

	if (!tsdl_accept(p, '<'))
		return NULL;
	tsdl_take_path(p, path);
	tsdl_expect(p, '>');
	copy = ctf_meta_string(p->meta, path, strlen(path));
	if (!copy)
		tsdl_fail_memory(p);
	return copy;
}

/* `variant NAME <tag>` is the variant declared as NAME, with another tag. */
static const struct ctf_type *variant(struct tsdl *p)
{
	char name[TSDL_PATH_MAX];
	bool has_name = take_tag(p, "variant", name);
	const char *tag = variant_tag(p);
	const struct ctf_type *found;
	struct ctf_type *t = tsdl_new_type(p, CTF_VARIANT);

	if (!t)
		return NULL;
	if (tsdl_accept(p, '{')) {
		members(p, t);
		t->align_bits = 1;
		t->path = tag;
		if (has_name)
			declare(p, name, t);
		return t;
	}
	found = find_tag(p, name);
	if (!found)
		return NULL;
	*t = *found;
	if (tag)
		t->path = tag;
	return t;
}

static uint64_t enum_value(struct tsdl *p)
{
	bool is_negative = tsdl_accept(p, '-');
	uint64_t v = p->token.number;

	tsdl_accept(p, '+');
	v = p->token.number;
	tsdl_expect(p, TSDL_NUMBER);
	return is_negative ? -v : v;
}

static void add_label(struct tsdl *p, struct ctf_type *t, struct ctf_label label)
{
	struct ctf_label *list;

	if (p->err)
		return;
	if (t->n_members >= MEMBERS_MAX)
		return tsdl_fail(p, "more than %u labels", MEMBERS_MAX);
	list = ctf_meta_grow(p->meta, (void *)t->labels, t->n_members, sizeof *list);
	if (!list)
		return tsdl_fail_memory(p);
	list[t->n_members++] = label;
	t->labels = list;
}

static void labels(struct tsdl *p, struct ctf_type *t)
{
	uint64_t next = 0;

	while (!tsdl_accept(p, '}') && !p->err) {
		struct ctf_label l = { .first = next };

		if (p->token.kind == TSDL_STRING) {
			l.text = p->token.text;
			tsdl_next(p);
		} else {
			l.text = tsdl_take_word(p);
		}
		if (tsdl_accept(p, '='))
			l.first = enum_value(p);
		l.last = tsdl_accept(p, TSDL_DOTS) ? enum_value(p) : l.first;
		next = l.last + 1;
		add_label(p, t, l);
		if (p->token.kind != '}')
			tsdl_expect(p, ',');
	}
}

static const struct ctf_type *container(struct tsdl *p)
{
	const struct ctf_type *t;

	if (tsdl_accept(p, ':'))
		t = tsdl_type(p);
	else
		t = find(p, "int");
	if (!p->err && (!t || t->kind != CTF_INTEGER))
		tsdl_fail(p, "an enum whose container is no integer");
	return p->err ? NULL : t;
}

static const struct ctf_type *enumeration(struct tsdl *p)
{
	char name[TSDL_PATH_MAX];
	bool has_name = take_tag(p, "enum", name);
	const struct ctf_type *of;
	struct ctf_type *t;

	if (p->token.kind != ':' && p->token.kind != '{')
		return find_tag(p, name);
	of = container(p);
	tsdl_expect(p, '{');
	t = of ? tsdl_new_type(p, CTF_ENUM) : NULL;
	if (!t)
		return NULL;
	t->of = of;
	t->size_bits = of->size_bits;
	t->align_bits = of->align_bits;
	t->order = of->order;
	t->is_signed = of->is_signed;
	t->base = of->base;
	labels(p, t);
	t->has_several = !p->err && ctf_labels_overlap(t);
	if (has_name)
		declare(p, name, t);
	return t;
}

static bool is_c_word(const struct tsdl *p)
{
	static const char *const words[] = { "void",	 "char",   "short",  "int",	 "long",
					     "float",	 "double", "signed", "unsigned", "_Bool",
					     "_Complex", "const",  NULL };

	for (const char *const *w = words; *w; w++)
		if (tsdl_is_word(p, *w))
			return true;
	return false;
}

static void append_word(struct tsdl *p, char name[TSDL_PATH_MAX])
{
	size_t n = strlen(name);

	if (n + p->token.size + 2 > TSDL_PATH_MAX)
		return tsdl_fail(p, "a name beyond %d characters", TSDL_PATH_MAX);
	if (!tsdl_is_word(p, "const"))
		snprintf(name + n, TSDL_PATH_MAX - n, "%s%.*s", n ? " " : "", (int)p->token.size,
			 p->token.text);
	tsdl_next(p);
}

/* "unsigned long" is a sequence of C's words; any other name is one word. */
static const struct ctf_type *named_type(struct tsdl *p)
{
	char name[TSDL_PATH_MAX] = "";
	const struct ctf_type *t;

	if (p->token.kind != TSDL_WORD) {
		tsdl_expect(p, TSDL_WORD);
		return NULL;
	}
	if (is_c_word(p)) {
		while (is_c_word(p))
			append_word(p, name);
		if (!name[0] && p->token.kind == TSDL_WORD)
			append_word(p, name); /* const NAME */
	} else {
		append_word(p, name);
	}
	t = find(p, name);
	if (!t)
		tsdl_fail(p, "no type `%s` is declared before", name);
	return t;
}

static const struct ctf_type *any_type(struct tsdl *p)
{
	if (tsdl_accept_word(p, "struct"))
		return structure(p);
	if (tsdl_accept_word(p, "variant"))
		return variant(p);
	if (tsdl_accept_word(p, "enum"))
		return enumeration(p);
	if (tsdl_accept_word(p, "integer"))
		return tsdl_integer(p);
	if (tsdl_accept_word(p, "floating_point"))
		return tsdl_floating_point(p);
	if (tsdl_accept_word(p, "string"))
		return tsdl_string(p);
	return named_type(p);
}

const struct ctf_type *tsdl_type(struct tsdl *p)
{
	const struct ctf_type *t;

	if (++p->depth > CTF_DEPTH_MAX)
		tsdl_fail(p, "types nested deeper than %d", CTF_DEPTH_MAX);
	t = p->err ? NULL : any_type(p);
	p->depth--;
	return p->err ? NULL : t;
}

/* The words up to the semicolon are the name, as in `:= unsigned long;`. */
static void typealias(struct tsdl *p)
{
	const struct ctf_type *t = tsdl_type(p);
	char name[TSDL_PATH_MAX] = "";

	tsdl_expect(p, TSDL_BECOMES);
	while (p->token.kind == TSDL_WORD)
		append_word(p, name);
	if (!name[0])
		tsdl_expect(p, TSDL_WORD);
	declare(p, name, p->err ? NULL : t);
	tsdl_expect(p, ';');
}

static void typedefs(struct tsdl *p)
{
	const struct ctf_type *t = tsdl_type(p);

	do {
		const char *name = tsdl_take_word(p);
		const struct ctf_type *whole = brackets(p, t);

		if (!p->err)
			declare(p, name, whole);
	} while (tsdl_accept(p, ','));
	tsdl_expect(p, ';');
}

bool tsdl_declaration(struct tsdl *p)
{
	if (tsdl_accept_word(p, "typealias"))
		typealias(p);
	else if (tsdl_accept_word(p, "typedef"))
		typedefs(p);
	else
		return false;
	return true;
}
