/* SPDX-License-Identifier: MIT */
/*
 * script/replay/fill_text.c - values of events as text: $x$, $$vars.
 *
 * Structures are {.a=1, .b=[2, 3]}; texts are quoted.
 */
#include <inttypes.h>
#include <string.h>

#include "script/replay/bind.h"

enum { TEXT_MAX = 4096 }; /* a script's strings are shorter */

void fill_quoted(struct text *t, const char *bytes, size_t size)
{
	call_quoted(t, bytes, size);
}

void fill_label(struct text *t, const struct match_field *f, const struct filter_value *v)
{
	const struct ctf_type *type = f->type;
	const char *label = type && type->kind == CTF_ENUM ? ctf_enum_label(type, v->bits) : NULL;

	if (f->filter_type == FILTER_STRING)
		call_quoted(t, v->text, v->more);
	else if (f->filter_type == FILTER_F64)
		text_addf(t, "%.15g", v->real);
	else if (label)
		text_addf(t, "%s", label);
	else if (v->more)
		text_addf(t, "%" PRId64, (int64_t)v->bits);
	else
		text_addf(t, "%" PRIu64, v->bits);
}

static void add_text(struct text *t, const struct ctf_value *v)
{
	struct text utf8 = { 0 };
	size_t size;
	const char *text = encoding_text(v, &utf8, &size);

	call_quoted(t, text, size);
	text_fini(&utf8);
}

static void add_one(struct text *t, enum ctf_found found, const struct ctf_value *v, bool is_hex)
{
	char labels[1024];

	if (found == CTF_TEXT)
		add_text(t, v);
	else if (found == CTF_LABEL && v->label && v->labels)
		text_addf(t, "%s", ctf_enum_labels(v->labels, v->u, labels, sizeof labels));
	else if (found == CTF_REAL)
		text_addf(t, "%.15g", v->real);
	else if (found == CTF_LABEL && v->label)
		text_addf(t, "%s", v->label);
	else if (is_hex)
		text_addf(t, "0x%" PRIx64, v->u);
	else if (found == CTF_INT || (found == CTF_LABEL && v->is_signed))
		text_addf(t, "%" PRId64, v->i);
	else
		text_addf(t, "%" PRIu64, v->u);
}

/* The value that @found begins, with all inside it, up to its close. */
static void add_value(struct text *t, struct ctf_walk *w, enum ctf_found found, struct ctf_value *v,
		      bool is_hex)
{
	int depth = 0;
	bool is_first = true;

	for (;;) {
		bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
		bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;

		if (closes) {
			text_addf(t, found == CTF_CLOSE ? "}" : "]");
			depth--;
		} else if (!v->is_hidden) {
			if (depth && !is_first)
				text_addf(t, ", ");
			if (depth && v->name)
				text_addf(t, ".%.*s=", (int)v->name_size, v->name);
			if (opens)
				text_addf(t, found == CTF_OPEN ? "{" : "[");
			else
				add_one(t, found, v, is_hex);
		}
		depth += opens;
		is_first = opens || (v->is_hidden && is_first);
		if (depth <= 0 || t->size > TEXT_MAX)
			return;
		found = ctf_walk_next(w, v);
		if (found == CTF_WALK_END)
			return;
	}
}

void fill_all(struct text *t, const struct ctf_event *e)
{
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found found;

	ctf_walk_event(&w, e, CTF_PAYLOAD);
	while (t->size < TEXT_MAX && (found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		if (v.is_hidden || !v.name)
			continue;
		text_addf(t, "%s%.*s=", t->size ? " " : "", (int)v.name_size, v.name);
		add_value(t, &w, found, &v, true);
	}
}

void fill_field_text(struct text *t, const struct ctf_event *e, const char *name)
{
	size_t size = strlen(name);
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found found;
	int depth = 0;

	ctf_walk_event(&w, e, CTF_PAYLOAD);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		if (found == CTF_CLOSE || found == CTF_CLOSE_ARRAY) {
			depth--;
		} else if (!depth && !v.is_hidden && v.name && v.name_size == size &&
			   !memcmp(v.name, name, size)) {
			add_value(t, &w, found, &v, false);
			return;
		} else {
			depth += found == CTF_OPEN || found == CTF_OPEN_ARRAY;
		}
	}
}
