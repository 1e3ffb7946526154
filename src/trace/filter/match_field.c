/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match_field.c - resolves a path to a field's type, and fetches its value from an
 * event.
 *
 * A number or text at the top level is fetched by its operation.  A value inside structs, arrays
 * and variants is found by walking over the event, which visits fields in the order of the path.
 */
#include "trace/filter/match_field.h"

#include <assert.h>
#include <string.h>

#include "filter/number.h"

enum { TRIED_MAX = 10000 };

/* The name as `duet view` prints it. */
static const char *shown_name(const char *name)
{
	return *name == '_' ? name + 1 : name;
}

static bool is_named(const char *name, const struct match_step *s)
{
	return s->name && strlen(name) == s->size && !memcmp(name, s->name, s->size);
}

/* Splits a[3].b into a, 3, b.  The path is untrusted: a file may hold a filter. */
static bool split(struct match_field *f)
{
	const char *p = f->name;

	while (*p) {
		struct match_step *s = &f->steps[f->n_steps++];

		if (f->n_steps > MATCH_PATH_MAX - 1)
			return false;
		*s = (struct match_step){ .size = (uint32_t)strcspn(p, ".[") };
		if (s->size) {
			s->name = p;
		} else if (*p == '[') {
			for (p++; *p >= '0' && *p <= '9'; p++)
				s->index = s->index * 10 + (uint64_t)(*p - '0');
			if (*p != ']')
				return false;
			s->size = 1;
		} else {
			return false;
		}
		p += s->size;
		if (*p == '.' && p[1])
			p++;
	}
	return f->n_steps > 0;
}

static bool is_text(const struct ctf_type *t)
{
	return (t->kind == CTF_ARRAY || t->kind == CTF_SEQUENCE) && t->of->kind == CTF_INTEGER &&
	       t->of->is_text && t->of->size_bits == 8 && t->of->encoding == CTF_UTF8;
}

static enum filter_error take_type(struct match_field *f, const struct ctf_type *t)
{
	f->type = t;
	switch ((enum ctf_kind)t->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
		f->filter_type = FILTER_INTEGER;
		return FILTER_FINE;
	case CTF_FLOAT:
		f->filter_type = FILTER_F64;
		return FILTER_FINE;
	case CTF_STRING:
		f->filter_type = FILTER_STRING;
		return t->encoding == CTF_UTF8 ? FILTER_FINE : FILTER_IS_MANY;
	default:
		f->filter_type = FILTER_STRING;
		return is_text(t) ? FILTER_FINE : FILTER_IS_MANY;
	}
}

static enum filter_error resolve(struct match_field *f, const struct ctf_type *t, uint32_t step,
				 bool *has_choice);

static enum filter_error resolve_member(struct match_field *f, const struct ctf_type *t,
					uint32_t step, bool *has_choice)
{
	for (uint32_t i = 0; i < t->n_members; i++)
		if (is_named(shown_name(t->members[i].name), &f->steps[step]))
			return resolve(f, t->members[i].type, step + 1, has_choice);
	return FILTER_NO_FIELD;
}

/* The first case of a variant that fits determines the type; an event with another case has no
 * value. */
static enum filter_error resolve_choice(struct match_field *f, const struct ctf_type *t,
					uint32_t step, bool *has_choice)
{
	enum filter_error why = FILTER_NO_FIELD;

	*has_choice = true;
	for (uint32_t i = 0; i < t->n_members && why != FILTER_FINE; i++)
		why = resolve(f, t->members[i].type, step, has_choice);
	return why;
}

/* The recursion is bounded: types are at most CTF_DEPTH_MAX deep.  Variants that share branches may
 * have exponentially many paths: TRIED_MAX bounds those. */
static enum filter_error resolve(struct match_field *f, const struct ctf_type *t, uint32_t step,
				 bool *has_choice)
{
	if (++f->n_tried > TRIED_MAX)
		return FILTER_NO_FIELD;
	if (t->kind == CTF_VARIANT)
		return resolve_choice(f, t, step, has_choice);
	if (step == f->n_steps)
		return take_type(f, t);
	if (t->kind == CTF_STRUCT)
		return f->steps[step].name ? resolve_member(f, t, step, has_choice) : FILTER_IS_ONE;
	if ((t->kind != CTF_ARRAY && t->kind != CTF_SEQUENCE) || is_text(t))
		return f->steps[step].name ? FILTER_NO_FIELD : FILTER_IS_ONE;
	if (f->steps[step].name)
		return FILTER_NO_FIELD;
	if (t->kind == CTF_ARRAY && f->steps[step].index >= t->length)
		return FILTER_NO_ELEMENT;
	return resolve(f, t->of, step + 1, has_choice);
}

enum filter_error match_field_find(struct match_field *f, const struct ctf_event_class *c,
				   const struct ctf_type *context, bool is_context,
				   const char *name, size_t size)
{
	const struct ctf_type *types[2] = { is_context ? context : c->fields,
					    is_context ? c->context : NULL };
	enum filter_error why = is_context ? FILTER_NO_CONTEXT : FILTER_NO_FIELD;
	bool has_choice = false;

	*f = (struct match_field){ .scope = is_context ? CTF_CONTEXT : CTF_PAYLOAD };
	if (size > ABI_FILTER_NAME_MAX)
		return why;
	memcpy(f->name, name, size);
	if (!split(f))
		return why;
	for (int i = 0; i < 2; i++) {
		enum filter_error found = types[i] ? resolve(f, types[i], 0, &has_choice) : why;

		if (found == FILTER_NO_FIELD || found == FILTER_NO_CONTEXT)
			continue;
		if (f->n_steps == 1 && !has_choice && f->filter_type != FILTER_F64)
			f->op = ctf_class_find(c, f->scope, f->name);
		return found;
	}
	return why;
}

/* Stores a value found by the walk.  Another case of a variant may have another kind. */
static bool take_value(const struct match_field *f, enum ctf_found found,
		       const struct ctf_value *value, struct filter_value *v)
{
	switch (found) {
	case CTF_INT:
	case CTF_UINT:
	case CTF_LABEL:
		*v = value->is_signed ? number_signed(value->i) : number_unsigned(value->u);
		return f->filter_type == FILTER_INTEGER;
	case CTF_REAL:
		v->real = value->real;
		return f->filter_type == FILTER_F64;
	case CTF_TEXT: /* of other encodings there is no text to compare with */
		v->text = value->text;
		v->more = value->size;
		return f->filter_type == FILTER_STRING && value->encoding == CTF_UTF8;
	default:
		return false;
	}
}

static bool is_step(const struct match_step *s, const struct match_field *f,
		    const struct ctf_value *value, uint64_t i)
{
	if (!s->name)
		return i == s->index;
	return value->scope == f->scope && !value->is_hidden && value->name &&
	       value->name_size == s->size && !memcmp(value->name, s->name, s->size);
}

/* `depth` counts the open composites, `done` those of them that are steps of the path; others are
 * skipped. */
static bool walk(const struct match_field *f, const struct ctf_event *e, struct filter_value *v)
{
	struct ctf_walk w;
	struct ctf_value value;
	enum ctf_found found;
	uint32_t depth = 0, done = 0;
	uint64_t i = 0;

	ctf_walk_event(&w, e, f->scope);
	while ((found = ctf_walk_next(&w, &value)) != CTF_WALK_END) {
		bool is_opening = found == CTF_OPEN || found == CTF_OPEN_ARRAY;

		if (found == CTF_CLOSE || found == CTF_CLOSE_ARRAY) {
			if (depth-- == done && done)
				return false; /* the composite ended without it */
			continue;
		}
		if (depth == done && is_step(&f->steps[done], f, &value, i++)) {
			if (!is_opening)
				return done + 1 == f->n_steps && take_value(f, found, &value, v);
			done++;
			i = 0;
			if (done == f->n_steps)
				/* a composite, where another case of the variant has one value */
				return false;
		}
		depth += is_opening;
	}
	return false;
}

bool match_field_get(const struct match_field *f, const struct ctf_event *e, struct filter_value *v)
{
	int64_t number;
	size_t size;

	assert(f->n_steps > 0 && f->n_steps <= MATCH_PATH_MAX);
	if (!f->op)
		return walk(f, e, v);
	if (f->filter_type == FILTER_STRING) {
		if (!ctf_event_text(e, f->op, &v->text, &size))
			return false;
		v->more = size;
		return true;
	}
	if (!ctf_event_number(e, f->op, &number))
		return false;
	*v = f->op->is_signed ? number_signed(number) : number_unsigned((uint64_t)number);
	return true;
}
