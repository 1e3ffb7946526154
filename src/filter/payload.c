/* SPDX-License-Identifier: MIT */
/*
 * filter/payload.c - find the fields of a packed payload.
 *
 * A field's offset is constant but for the strings and sequences before it.  Linking adds up the
 * bytes between them; running walks over them.
 */
#include "filter/payload.h"

#include <string.h>

#include "base/schema.h"
#include "filter/link.h"

struct schema_names {
	struct filter_names names;
	struct schema_text words; /* TYPE FIELD TYPE FIELD ... */
	uint32_t contexts;
};

static const char *const context_names[] = {
	[FILTER_VPID] = "vpid",	    [FILTER_VTID] = "vtid", [FILTER_PROCNAME] = "procname",
	[FILTER_CPU_ID] = "cpu_id", [FILTER_PPID] = "ppid", [FILTER_UID] = "uid",
	[FILTER_GID] = "gid",	    [FILTER_IP] = "ip",	    [FILTER_CONTEXTS] = NULL,
};

const char *filter_context_name(enum filter_context which)
{
	return which < FILTER_CONTEXTS ? context_names[which] : NULL;
}

static enum filter_error find_context(const struct schema_names *n, struct schema_text name,
				      struct filter_location *place)
{
	for (uint32_t i = 0; context_names[i]; i++)
		if (schema_is(name, context_names[i]) && (n->contexts & 1u << i)) {
			place->type = i == FILTER_PROCNAME ? FILTER_STRING : FILTER_INTEGER;
			place->from = FILTER_FROM_SOURCE;
			place->offset = i;
			return FILTER_FINE;
		}
	return FILTER_NO_CONTEXT;
}

/* One element, or the one value. */
static uint32_t element_bytes(const struct schema_type *t)
{
	return t->base == 'c' ? 1 : t->bits / 8u;
}

/* Bytes of an element; 0: it varies. */
static uint32_t fixed_bytes(const struct schema_type *t)
{
	if (t->base == 's' || t->shape == SCHEMA_SEQUENCE)
		return 0;
	return element_bytes(t) * (t->shape == SCHEMA_ARRAY ? t->count : 1);
}

static bool does_vary(const struct schema_type *t)
{
	return t->base == 's' || t->shape == SCHEMA_SEQUENCE;
}

static uint8_t number_type(const struct schema_type *t)
{
	unsigned log2 = (unsigned)__builtin_ctz(element_bytes(t));

	if (t->base == 'f')
		return t->bits == 32 ? FILTER_F32 : FILTER_F64;
	return (uint8_t)((t->base == 'i' ? FILTER_I8 : FILTER_U8) + log2);
}

static enum filter_error set_element(const struct schema_type *t, uint64_t index,
				     struct filter_location *place)
{
	if (t->base == 's' || (t->shape != SCHEMA_ARRAY && t->shape != SCHEMA_SEQUENCE))
		return FILTER_IS_ONE;
	place->type = number_type(t);
	if (t->shape == SCHEMA_SEQUENCE) {
		place->more = index + 1;
		return FILTER_FINE;
	}
	place->offset += (uint32_t)index * element_bytes(t);
	return index < t->count ? FILTER_FINE : FILTER_NO_ELEMENT;
}

static enum filter_error set_single(const struct schema_type *t, struct filter_location *place)
{
	if (t->base == 's') {
		place->type = FILTER_STRING;
		return FILTER_FINE;
	}
	if (t->base == 'c') {
		place->type = FILTER_CHARS;
		place->more = t->count;
		return FILTER_FINE;
	}
	if (t->shape == SCHEMA_ARRAY || t->shape == SCHEMA_SEQUENCE)
		return FILTER_IS_MANY;
	place->type = number_type(t);
	place->is_enum = t->shape == SCHEMA_ENUM;
	place->is_signed = t->base == 'i';
	return FILTER_FINE;
}

/* Splits `name[3]` into `name` and 3.  False if there is no index, or it is not valid. */
static bool split_index(struct schema_text *name, uint64_t *index)
{
	const char *bracket = memchr(name->p, '[', (size_t)(name->end - name->p));
	struct schema_text digits;

	if (!bracket)
		return false;
	digits = (struct schema_text){ bracket + 1, name->end };
	if (!schema_read_number(&digits, UINT32_MAX - 1u, index) || name->end - digits.p != 1 ||
	    *digits.p != ']')
		return false;
	name->end = bracket;
	return true;
}

static bool is_same(struct schema_text a, struct schema_text b)
{
	return a.end - a.p == b.end - b.p && !memcmp(a.p, b.p, (size_t)(a.end - a.p));
}

static enum filter_error find(const struct filter_names *names, bool is_context, const char *text,
			      size_t size, struct filter_location *place)
{
	const struct schema_names *n = (const struct schema_names *)names;
	struct schema_text words = n->words, name = { text, text + size };
	uint64_t index = 0;
	bool has_index = split_index(&name, &index);
	struct schema_type t;

	if (is_context)
		return find_context(n, name, place);
	for (uint32_t i = 0; i < SCHEMA_FIELDS_MAX; i++) {
		struct schema_text word = schema_next_word(&words),
				   field = schema_next_word(&words);

		if (word.p == word.end)
			return FILTER_NO_FIELD;
		if (!schema_read_type(word, &t))
			return FILTER_BROKEN;
		place->tag = (uint32_t)(word.p - n->words.p);
		if (is_same(field, name))
			return has_index ? set_element(&t, index, place) : set_single(&t, place);
		place->offset = does_vary(&t) ? 0 : place->offset + fixed_bytes(&t);
		place->from += does_vary(&t);
	}
	return FILTER_NO_FIELD;
}

/* Reads the labels of the enumeration's word one by one; its type was read before. */
static bool next_label(const struct filter_names *names, const struct filter_location *place,
		       struct filter_label *out)
{
	const struct schema_names *n = (const struct schema_names *)names;
	struct schema_text words = { n->words.p + place->tag, n->words.end }, labels, label;
	struct schema_type t = { .base = place->is_signed ? 'i' : 'u',
				 .bits = (uint8_t)(8u << (place->type & 3)) };
	uint64_t value = out->i ? out->last : UINT64_MAX;

	if (!out->i) {
		struct schema_type type;

		if (!schema_read_type(schema_next_word(&words), &type) || type.shape != SCHEMA_ENUM)
			return false;
		out->rest = type.labels.p;
		out->end = type.labels.end;
	}
	labels = (struct schema_text){ out->rest, out->end };
	if (labels.p >= labels.end || !schema_next_label(&t, &labels, &label, &value))
		return false;
	out->text = label.p;
	out->size = (size_t)(label.end - label.p);
	out->first = out->last = value;
	out->rest = labels.p;
	return true;
}

_Static_assert(FILTER_I8 % 4 == 0 && FILTER_U8 % 4 == 0 && FILTER_I64 == FILTER_I8 + 3 &&
		       FILTER_U64 == FILTER_U8 + 3,
	       "the low bits of an integer's type are its size");

/* The parts to walk over when running: all varying ones before the last field used. */
static bool add_parts(struct filter *f, size_t capacity, struct schema_text words)
{
	uint32_t at = filter_extend(f, capacity, f->n_parts * sizeof(struct filter_part)), n = 0;
	struct filter_part *parts = (struct filter_part *)((char *)f + at);
	struct schema_type t;
	uint32_t before = 0;

	if (!at)
		return false;
	f->parts = at;
	while (n < f->n_parts) {
		struct schema_text word = schema_next_word(&words);

		schema_next_word(&words);
		if (!schema_read_type(word, &t))
			return false; /* it changed meanwhile */
		if (!does_vary(&t)) {
			before += fixed_bytes(&t);
			continue;
		}
		parts[n++] = (struct filter_part){ before, t.base == 's' ? 0 : element_bytes(&t) };
		before = 0;
	}
	return true;
}

bool filter_payload_link(struct filter *f, size_t capacity, const void *code, size_t size,
			 const char *schema, size_t schema_size, uint32_t contexts,
			 struct filter_problem *problem)
{
	struct schema_names n = {
		.names = { find, next_label },
		.words = { schema, schema + schema_size },
		.contexts = contexts,
	};

	schema_next_word(&n.words);
	schema_next_word(&n.words);
	if (!filter_link(f, capacity, code, size, &n.names, problem))
		return false;
	if (!f->n_parts || add_parts(f, capacity, n.words))
		return true;
	if (problem)
		*problem = (struct filter_problem){ .why = FILTER_TOO_LARGE };
	return false;
}
