/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/pretty.c - $x$ and $x$$: a value of the kernel as text.
 *
 * A structure is shown with its members, those of unnamed members too.  A structure in it is
 * {...}; with $$ it is shown as well.  A pointer in it is an address.  The text is composed in this
 * process, of one fetch for each member.
 */
#include <errno.h>
#include <string.h>

#include "script/kernel/points/points.h"

enum { PRETTY_MAX = 24, PRETTY_DEPTH = 8 };

struct pretty {
	struct script_kernel *k;
	struct kernel_fetch *fetches;
	struct kernel_piece *pieces;
	uint32_t n, n_fetches;
	const char *before; /* of the next piece */
	bool is_deep, is_cut, failed;
};

struct level {
	struct pretty *p;
	struct kernel_fetch base; /* leads to `structure` */
	uint32_t structure;
	int depth;
	bool has_members;
};

static bool is_structure(const struct script_kernel *k, uint32_t type)
{
	uint32_t kind = btf_kind(&k->types, type);

	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

static void add_text(struct pretty *p, const char *text, const char *name, const char *behind)
{
	p->before = kernel_textf(p->k, "%s%s%s%s", p->before, text, name, behind);
	p->failed |= !p->before;
}

static void add_fetch(struct pretty *p, const struct kernel_fetch *f, uint32_t type)
{
	uint32_t kind = btf_kind(&p->k->types, type);
	bool is_address = kind == BTF_KIND_PTR || kind == BTF_KIND_ARRAY;

	p->pieces[p->n++] = (struct kernel_piece){ .before = p->before,
						   .fetch = p->n_fetches,
						   .how = fetch_is_text(f) ? PIECE_TEXT
							  : is_address	   ? PIECE_HEX
									   : PIECE_DECIMAL };
	p->fetches[p->n_fetches++] = *f;
	p->before = "";
}

static void add_structure(struct level *l);

static int add_member(void *context, const char *name, const struct btf_place *place)
{
	struct level *l = context, inner;
	struct pretty *p = l->p;
	struct kernel_fetch f = l->base;

	p->is_cut |= p->n_fetches == PRETTY_MAX;
	if (p->is_cut)
		return 1;
	add_text(p, l->has_members ? ", ." : ".", name, "=");
	l->has_members = true;
	if (p->failed)
		return 1;
	if (!is_structure(p->k, place->type)) {
		if (!kernel_follow_text(p->k, &f, l->structure, name, NULL))
			add_fetch(p, &f, place->type);
	} else if (!p->is_deep || l->depth == PRETTY_DEPTH) {
		add_text(p, "{...}", "", "");
	} else {
		inner = (struct level){ p, l->base, place->type, l->depth + 1, false };
		inner.base.offset += (int32_t)(place->bit / 8);
		add_structure(&inner);
	}
	return p->failed || p->is_cut;
}

static void add_structure(struct level *l)
{
	add_text(l->p, "{", "", "");
	if (!l->p->failed)
		btf_each_member(&l->p->k->types, l->structure, add_member, l);
	if (!l->p->failed)
		add_text(l->p, l->p->is_cut ? ", ...}" : "}", "", "");
}

int kernel_pretty(struct script_kernel *k, const struct kernel_fetch *f, uint32_t type,
		  bool is_deep, struct script_world_value *v, struct diag *d)
{
	struct pretty p = { .k = k, .is_deep = is_deep, .before = "" };
	struct level outer = { &p, *f, type, 1, false };
	struct kernel_value *value = script_allocate(k->arena, sizeof *value);

	p.fetches = script_allocate(k->arena, (PRETTY_MAX + 1) * sizeof *p.fetches);
	p.pieces = script_allocate(k->arena, (PRETTY_MAX + 2) * sizeof *p.pieces);
	if (value && p.fetches && p.pieces) {
		if (is_structure(k, type))
			add_structure(&outer);
		else /* a number, an address or a text */
			add_fetch(&p, f, type);
	}
	if (!value || !p.fetches || !p.pieces || p.failed)
		return diag_fail(d, -ENOMEM, "no memory for values");
	p.pieces[p.n++] = (struct kernel_piece){ p.before, 0, PIECE_NOTHING };
	*value = (struct kernel_value){ .form = FORM_PIECES,
					.n_fetches = p.n_fetches,
					.n_pieces = p.n,
					.fetches = p.fetches,
					.pieces = p.pieces };
	*v = (struct script_world_value){ .type = SCRIPT_STRING, .data = value };
	return 0;
}
