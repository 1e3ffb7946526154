/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/path.c - a path through the kernel's structures as a fetch.
 *
 * A walk is at a value (an argument that is a pointer or a number) or at a place (a member, which
 * has an address).  Each step through a pointer adds a hop; members of embedded structures and
 * elements of arrays only move the offset.  An array of char is a text; a pointer is a number, its
 * text is taken by kernel_string() or user_string().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "script/kernel/points/points.h"

struct walk {
	struct script_kernel *k;
	struct kernel_fetch *f;
	uint32_t type;
	bool is_place; /* the fetch's `offset` leads to it */
	uint32_t bit, bits;
	const char *shown; /* the path, for messages */
};

/* ---------------------------------------------------------------- messages */

struct nearest {
	struct script_nearest names;
};

static int offer(void *context, const char *name, const struct btf_place *p)
{
	(void)p;
	script_nearest_try(context, name);
	return 0;
}

static int no_member(const struct walk *w, uint32_t structure, const char *name, struct diag *d)
{
	struct script_nearest n = { .wanted = name, .wanted_size = strlen(name) };
	const struct btf_type *t = btf_type(&w->k->types, structure);
	char text[160];

	btf_each_member(&w->k->types, structure, offer, &n);
	return diag_fail(d, -ENOENT, "struct %s, in %s, has no member `%s`%s",
			 t ? btf_name(&w->k->types, t->name_off) : "?", w->shown, name,
			 script_nearest_text(&n, text));
}

/* ---------------------------------------------------------------- steps */

static bool is_structure(const struct walk *w, uint32_t type)
{
	uint32_t kind = btf_kind(&w->k->types, type);

	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

/* Whether the pointer's target is marked as memory of programs. */
static bool is_user_pointer(const struct walk *w)
{
	uint32_t id = btf_pointed(&w->k->types, w->type);
	const struct btf_type *t;

	for (int i = 0; i < 8 && (t = btf_type(&w->k->types, id)); i++) {
		uint32_t kind = BTF_INFO_KIND(t->info);

		if (kind == BTF_KIND_TYPE_TAG &&
		    !strcmp(btf_name(&w->k->types, t->name_off), "user"))
			return true;
		if (kind != BTF_KIND_TYPE_TAG && kind != BTF_KIND_CONST)
			return false;
		id = t->type;
	}
	return false;
}

/* From a pointer to its target. */
static int go_through(struct walk *w, struct diag *d)
{
	uint32_t target = btf_pointed(&w->k->types, w->type);

	if (w->is_place) {
		if (w->f->n_hops == FETCH_HOPS_MAX)
			return diag_fail(d, -EINVAL, "%s goes through too many pointers", w->shown);
		w->f->hops[w->f->n_hops++] = w->f->offset;
	}
	if (is_user_pointer(w) && w->f->user_from == FETCH_NEVER_USER)
		w->f->user_from = w->f->n_hops;
	w->f->offset = 0;
	w->type = target;
	w->is_place = true;
	return 0;
}

static int go_member(struct walk *w, const char *name, struct diag *d)
{
	struct btf_place p;
	int err = 0;

	if (btf_kind(&w->k->types, w->type) == BTF_KIND_PTR)
		err = go_through(w, d);
	if (err)
		return err;
	if (!w->is_place || !is_structure(w, w->type))
		return diag_fail(d, -EINVAL, "%s is no structure: it has no member `%s`", w->shown,
				 name);
	if (!btf_place_of(&w->k->types, w->type, name, &p))
		return no_member(w, btf_plain(&w->k->types, w->type), name, d);
	w->f->offset += (int32_t)(p.bit / 8);
	w->bit = p.bit % 8;
	w->bits = p.bit_size;
	w->type = p.type;
	return 0;
}

static int go_index(struct walk *w, int64_t index, struct diag *d)
{
	uint32_t kind = btf_kind(&w->k->types, w->type),
		 element = btf_pointed(&w->k->types, w->type);
	int64_t size = (int64_t)btf_size(&w->k->types, element), at;
	int err = 0;

	if (kind != BTF_KIND_PTR && kind != BTF_KIND_ARRAY)
		return diag_fail(d, -EINVAL, "%s is no array", w->shown);
	if (!size || __builtin_mul_overflow(index, size, &at) || at > 1 << 24 || at < -(1 << 24))
		return diag_fail(d, -EINVAL, "element %lld of %s is too far away", (long long)index,
				 w->shown);
	if (kind == BTF_KIND_PTR)
		err = go_through(w, d);
	w->type = element;
	w->f->offset += (int32_t)at;
	return err;
}

/* ---------------------------------------------------------------- the end of a path */

static void take_bits(struct walk *w)
{
	/* The bytes that hold the bit-field, as a number of a size that can be loaded. */
	uint32_t last = w->bit + w->bits;

	w->f->bytes = last <= 8 ? 1 : last <= 16 ? 2 : last <= 32 ? 4 : 8;
	w->f->bit = (uint8_t)w->bit;
	w->f->bits = (uint8_t)w->bits;
}

static int take_array(struct walk *w, struct diag *d)
{
	uint64_t size = btf_size(&w->k->types, w->type);

	if (!btf_is_char(&w->k->types, btf_pointed(&w->k->types, w->type))) {
		w->f->what = FETCH_VALUE; /* its address, as in C */
		return 0;
	}
	if (!size ||
	    size > FETCH_TEXT_MAX) { /* of a length not known, or very long: up to its NUL */
		w->f->what = FETCH_TEXT;
		w->f->size = FETCH_TEXT_MAX;
		return 0;
	}
	(void)d;
	w->f->what = FETCH_BYTES;
	w->f->size = (uint16_t)size;
	return 0;
}

static int finish(struct walk *w, struct diag *d)
{
	struct kernel_fetch *f = w->f;
	bool is_signed = false;
	uint8_t bytes = 8;

	switch (btf_kind(&w->k->types, w->type)) {
	case BTF_KIND_PTR:
		f->what = w->is_place ? FETCH_LOAD : FETCH_VALUE;
		f->bytes = 8;
		break;
	case BTF_KIND_ARRAY:
		return take_array(w, d);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return diag_fail(d, -EINVAL, "%s is a structure: name one of its members, with ->",
				 w->shown);
	default:
		if (!btf_number(&w->k->types, w->type, &bytes, &is_signed))
			return diag_fail(d, -EINVAL, "%s has a type that is no number", w->shown);
		f->what = w->is_place ? FETCH_LOAD : FETCH_VALUE;
		f->bytes = bytes;
		f->is_signed = is_signed;
	}
	if (w->is_place && w->bits)
		take_bits(w);
	return 0;
}

/* A member of the argument itself is there; the target of another pointer may not be. */
static void set_fault(struct kernel_fetch *f)
{
	bool is_read = f->what != FETCH_VALUE || f->n_hops;

	f->may_fault = is_read && (!f->is_trusted || f->n_hops || f->user_from != FETCH_NEVER_USER);
}

/* ---------------------------------------------------------------- whole paths */

static int follow_step(struct walk *w, const struct script_path *p, struct diag *d)
{
	if (p->kind == PATH_MEMBER)
		return go_member(w, p->name, d);
	if (p->kind != PATH_INDEX)
		return diag_fail(d, -EINVAL, "%s: `$` can only be the last of a path", w->shown);
	if (p->index->kind != EXPR_NUMBER)
		return diag_fail(d, -EINVAL, "%s: an index must be a constant number", w->shown);
	return go_index(w, p->index->number, d);
}

static int follow(struct walk *w, const struct script_expr *e, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < e->n_path; i++)
		err = follow_step(w, &e->path[i], d);
	if (err)
		return err;
	if (e->is_address) {
		if (!w->is_place)
			return diag_fail(d, -EINVAL, "%s has no address", w->shown);
		w->f->what = FETCH_VALUE;
		w->f->bytes = 8;
	} else {
		err = finish(w, d);
	}
	set_fault(w->f);
	return err;
}

/* $x->y$: all steps but the last, then through a pointer to a structure. */
static int follow_pretty(struct walk *w, const struct script_expr *e, struct script_world_value *v,
			 struct diag *d)
{
	bool is_deep = e->path[e->n_path - 1].kind == PATH_PRETTY_DEEP;
	int err = 0;

	for (uint32_t i = 0; !err && i + 1 < e->n_path; i++)
		err = follow_step(w, &e->path[i], d);
	if (!err && btf_kind(&w->k->types, w->type) == BTF_KIND_PTR &&
	    is_structure(w, btf_pointed(&w->k->types, w->type)))
		err = go_through(w, d);
	if (!err && !is_structure(w, w->type))
		err = finish(w, d);
	if (err)
		return err;
	set_fault(w->f);
	return kernel_pretty(w->k, w->f, w->type, is_deep, v, d);
}

int kernel_path_value(struct script_kernel *k, struct kernel_fetch *f, uint32_t type,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	/* A structure stands for a pointer to it, as of @cast. */
	uint32_t kind = btf_kind(&k->types, type);
	bool is_place = kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
	struct walk w = { k, f, type, is_place, 0, 0, kernel_shown(k, e) };
	int err;

	if (script_is_pretty(e))
		return follow_pretty(&w, e, v, d);
	err = follow(&w, e, d);
	return err ? err : kernel_give_fetch(k, f, v, d);
}

int kernel_follow_text(struct script_kernel *k, struct kernel_fetch *f, uint32_t type,
		       const char *path, struct diag *d)
{
	uint32_t kind = btf_kind(&k->types, type);
	bool is_place = kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
	struct walk w = { k, f, type, is_place, 0, 0, path };
	char part[64];
	int err = 0;

	while (!err && *path) {
		size_t n = strcspn(path, "-.[");
		long index;

		if (n >= sizeof part)
			return diag_fail(d, -EINVAL, "%s: a name is too long", w.shown);
		memcpy(part, path, n);
		part[n] = 0;
		path += n;
		err = n ? go_member(&w, part, d) : 0;
		if (!err && *path == '[' && sscanf(path, "[%ld]", &index) == 1) {
			err = go_index(&w, index, d);
			path = strchr(path, ']') + 1;
		}
		path += !strncmp(path, "->", 2) ? 2 : *path == '.' ? 1 : 0;
	}
	if (!err)
		err = finish(&w, d);
	set_fault(f);
	return err;
}
