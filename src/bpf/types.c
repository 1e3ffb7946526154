/* SPDX-License-Identifier: MIT */
/* bpf/types.c - an index of BTF, and questions to it.  Recursion is bounded: types could form rings. */
#include "bpf/types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static int index_types(struct btf_types *t, struct diag *d)
{
	const struct btf *b = &t->btf;
	size_t room = (size_t)(b->types_end - b->types) / sizeof(struct btf_type) + 1;

	t->n = 1;
	if ((uintptr_t)b->types % 4) {
		btf_types_close(t);
		return diag_fail(d, -EINVAL, "the kernel's types have an unknown format");
	}
	t->at = malloc(room * sizeof *t->at);
	if (!t->at) {
		btf_types_close(t);
		return diag_fail(d, -ENOMEM, "no memory for the kernel's types");
	}
	t->at[0] = 0;
	for (const uint8_t *p = b->types; (size_t)(b->types_end - p) >= sizeof(struct btf_type);) {
		struct btf_type type;
		size_t tail;

		memcpy(&type, p, sizeof type);
		tail = btf_tail_size(type.info);
		if (tail > (size_t)(b->types_end - p) - sizeof type)
			break;
		t->at[t->n++] = (uint32_t)(p - b->types);
		p += sizeof type + tail;
	}
	return 0;
}

int btf_types_open(struct btf_types *t, struct diag *d)
{
	int err;

	*t = (struct btf_types){ .at = NULL };
	err = btf_open(&t->btf, d);
	return err ? err : index_types(t, d);
}

int btf_types_take(struct btf_types *t, uint8_t *bytes, size_t size, struct diag *d)
{
	int err;

	*t = (struct btf_types){ .at = NULL };
	err = btf_take(&t->btf, bytes, size, d);
	return err ? err : index_types(t, d);
}

void btf_types_close(struct btf_types *t)
{
	free(t->at);
	btf_close(&t->btf);
	*t = (struct btf_types){ .at = NULL };
}

/* ---------------------------------------------------------------- types */

const struct btf_type *btf_type(const struct btf_types *t, uint32_t id)
{
	return id && id < t->n ? (const struct btf_type *)(t->btf.types + t->at[id]) : NULL;
}

const char *btf_name(const struct btf_types *t, uint32_t offset)
{
	return offset < t->btf.strings_size ? t->btf.strings + offset : "";
}

uint32_t btf_find(const struct btf_types *t, uint32_t kind, const char *name)
{
	for (uint32_t id = 1; id < t->n; id++) {
		const struct btf_type *type = btf_type(t, id);

		if (BTF_INFO_KIND(type->info) == kind && !strcmp(btf_name(t, type->name_off), name))
			return id;
	}
	return 0;
}

uint32_t btf_find_type(const struct btf_types *t, const char *name)
{
	static const struct {
		const char *word;
		uint32_t kind;
	} words[] = { { "struct ", BTF_KIND_STRUCT }, { "union ", BTF_KIND_UNION },
		      { "enum ", BTF_KIND_ENUM },     { "", BTF_KIND_STRUCT },
		      { "", BTF_KIND_TYPEDEF },	      { "", BTF_KIND_UNION },
		      { "", BTF_KIND_INT },	      { "", BTF_KIND_ENUM } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].word);
		uint32_t id =
			strncmp(name, words[i].word, n) ? 0 : btf_find(t, words[i].kind, name + n);

		if (id)
			return id;
	}
	return 0;
}

uint32_t btf_plain(const struct btf_types *t, uint32_t id)
{
	for (int i = 0; i < DEPTH_MAX; i++) {
		const struct btf_type *type = btf_type(t, id);

		if (!type)
			return 0;
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = type->type;
			break;
		default:
			return id;
		}
	}
	return 0;
}

uint32_t btf_kind(const struct btf_types *t, uint32_t id)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));

	return type ? BTF_INFO_KIND(type->info) : 0;
}

static uint64_t size_of(const struct btf_types *t, uint32_t id, int depth)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));
	const struct btf_array *a = (const struct btf_array *)(type + 1);

	switch (type && depth ? BTF_INFO_KIND(type->info) : 0) {
	case BTF_KIND_PTR:
		return 8;
	case BTF_KIND_ARRAY:
		return a->nelems * size_of(t, a->type, depth - 1);
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT:
		return type->size;
	default:
		return 0;
	}
}

uint64_t btf_size(const struct btf_types *t, uint32_t id)
{
	return size_of(t, id, DEPTH_MAX);
}

uint32_t btf_pointed(const struct btf_types *t, uint32_t id)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));

	if (type && BTF_INFO_KIND(type->info) == BTF_KIND_PTR)
		return type->type;
	if (type && BTF_INFO_KIND(type->info) == BTF_KIND_ARRAY)
		return ((const struct btf_array *)(type + 1))->type;
	return 0;
}

bool btf_number(const struct btf_types *t, uint32_t id, uint8_t *bytes, bool *is_signed)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));
	uint32_t kind = type ? BTF_INFO_KIND(type->info) : 0;

	if (kind != BTF_KIND_INT && kind != BTF_KIND_ENUM && kind != BTF_KIND_ENUM64)
		return false;
	if (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8)
		return false;
	*bytes = (uint8_t)type->size;
	*is_signed = kind == BTF_KIND_INT
			     ? BTF_INT_ENCODING(*(const uint32_t *)(type + 1)) & BTF_INT_SIGNED
			     : BTF_INFO_KFLAG(type->info);
	return true;
}

bool btf_is_char(const struct btf_types *t, uint32_t id)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));

	return type && BTF_INFO_KIND(type->info) == BTF_KIND_INT && type->size == 1 &&
	       !strcmp(btf_name(t, type->name_off), "char");
}

/* ---------------------------------------------------------------- members */

struct each {
	int (*visit)(void *context, const char *name, const struct btf_place *p);
	void *context;
};

static int each_member(const struct btf_types *t, uint32_t id, uint32_t base, int depth,
		       const struct each *e)
{
	const struct btf_type *type = btf_type(t, btf_plain(t, id));
	uint32_t kind = type ? BTF_INFO_KIND(type->info) : 0;
	const struct btf_member *m = (const struct btf_member *)(type + 1);
	int result = 0;

	if (!depth || (kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION))
		return 0;
	for (uint32_t i = 0; !result && i < BTF_INFO_VLEN(type->info); i++) {
		bool flagged = BTF_INFO_KFLAG(type->info);
		struct btf_place p = {
			.type = m[i].type,
			.bit = base + (flagged ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset),
			.bit_size = flagged ? BTF_MEMBER_BITFIELD_SIZE(m[i].offset) : 0
		};
		const char *name = btf_name(t, m[i].name_off);

		result = *name ? e->visit(e->context, name, &p)
			       : each_member(t, m[i].type, p.bit, depth - 1, e);
	}
	return result;
}

int btf_each_member(const struct btf_types *t, uint32_t id,
		    int (*visit)(void *context, const char *name, const struct btf_place *p),
		    void *context)
{
	const struct each e = { visit, context };

	return each_member(t, id, 0, DEPTH_MAX, &e);
}

struct wanted {
	const char *name;
	struct btf_place *place;
};

static int is_it(void *context, const char *name, const struct btf_place *p)
{
	const struct wanted *w = context;

	if (strcmp(name, w->name))
		return 0;
	*w->place = *p;
	return 1;
}

bool btf_place_of(const struct btf_types *t, uint32_t id, const char *member, struct btf_place *p)
{
	struct wanted w = { member, p };

	return btf_each_member(t, id, is_it, &w) == 1;
}

bool btf_parameter(const struct btf_types *t, uint32_t prototype, uint32_t i, uint32_t *type,
		   const char **name)
{
	const struct btf_type *f = btf_type(t, btf_plain(t, prototype));
	const struct btf_param *p = (const struct btf_param *)(f + 1);

	if (!f || BTF_INFO_KIND(f->info) != BTF_KIND_FUNC_PROTO || i >= BTF_INFO_VLEN(f->info))
		return false;
	*type = p[i].type;
	if (name)
		*name = btf_name(t, p[i].name_off);
	return true;
}

/* ---------------------------------------------------------------- tracepoints */

static const char prefix[] = "btf_trace_";

uint32_t btf_tracepoint_prototype(const struct btf_types *t, const char *name, uint32_t *id)
{
	char type[128];
	uint32_t found;

	if ((size_t)snprintf(type, sizeof type, "%s%s", prefix, name) >= sizeof type)
		return 0;
	found = btf_find(t, BTF_KIND_TYPEDEF, type);
	if (!found)
		return 0;
	if (id)
		*id = found;
	found = btf_plain(t, btf_pointed(t, found));
	return btf_kind(t, found) == BTF_KIND_FUNC_PROTO ? found : 0;
}

void btf_each_tracepoint(const struct btf_types *t, void (*visit)(void *context, const char *name),
			 void *context)
{
	for (uint32_t id = 1; id < t->n; id++) {
		const struct btf_type *type = btf_type(t, id);
		const char *name = btf_name(t, type->name_off);

		if (BTF_INFO_KIND(type->info) == BTF_KIND_TYPEDEF &&
		    !strncmp(name, prefix, sizeof prefix - 1))
			visit(context, name + sizeof prefix - 1);
	}
}

/* ---------------------------------------------------------------- enumerations */

int btf_each_enumerator(const struct btf_types *t, uint32_t id,
			int (*visit)(void *context, const char *name, int64_t value), void *context)
{
	const struct btf_type *type = btf_type(t, id);
	bool is_wide = type && BTF_INFO_KIND(type->info) == BTF_KIND_ENUM64;
	int r = 0;

	if (!type || (!is_wide && BTF_INFO_KIND(type->info) != BTF_KIND_ENUM))
		return 0;
	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info) && !r; i++) {
		const struct btf_enum *e = (const struct btf_enum *)(type + 1) + i;
		const struct btf_enum64 *wide = (const struct btf_enum64 *)(type + 1) + i;
		int64_t value = BTF_INFO_KFLAG(type->info) ? e->val : (int64_t)(uint32_t)e->val;

		if (is_wide)
			value = (int64_t)((uint64_t)wide->val_hi32 << 32 | wide->val_lo32);
		r = visit(context, btf_name(t, is_wide ? wide->name_off : e->name_off), value);
	}
	return r;
}
