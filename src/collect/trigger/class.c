/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/class.c - parse a schema once, and find triggers' fields in event payloads with
 * it.
 *
 * A payload is a sequence of parts of varying size with fixed bytes between them.  `walk` computes
 * that layout from the schema.  `skip_parts` follows it in a payload and checks every length
 * against the bytes that remain.
 */
#include "collect/trigger/class.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rules/rules.h"
#include "ctf/write/public.h"

enum { NAME_BYTES = 512 };
/* The contexts that the scan can supply to a filter. */
#define CONTEXTS                                                                                   \
	(1u << FILTER_VPID | 1u << FILTER_VTID | 1u << FILTER_PROCNAME | 1u << FILTER_CPU_ID)

static uint32_t element_bytes(const struct schema_type *t)
{
	return t->base == 'c' ? 1 : t->bits / 8u;
}

static bool does_vary(const struct schema_type *t)
{
	return t->base == 's' || t->shape == SCHEMA_SEQUENCE;
}

/*
 * Walks over a schema's fields: to the end, or to field @wanted.  False if there is no such field
 * or the schema is malformed.
 */
static bool walk(struct trigger_class *c, const char *schema, size_t size, const char *wanted,
		 struct trigger_field *f)
{
	struct schema_text words = { schema, schema + size };
	uint32_t before = 0, n_parts = 0;
	struct schema_type t;

	schema_next_word(&words); /* log level */
	schema_next_word(&words); /* event name */
	for (;;) {
		struct schema_text type = schema_next_word(&words), name = schema_next_word(&words);

		if (type.p == type.end)
			break;
		if (n_parts == SCHEMA_FIELDS_MAX || !schema_read_type(type, &t))
			return false;
		if (wanted && schema_is(name, wanted)) {
			*f = (struct trigger_field){ t, n_parts, before };
			return true;
		}
		if (does_vary(&t)) {
			if (c)
				c->parts[n_parts] = (struct trigger_part){
					before, t.base == 's' ? 0 : element_bytes(&t)
				};
			n_parts++;
			before = 0;
		} else {
			before += element_bytes(&t) * (t.shape == SCHEMA_ARRAY ? t.count : 1);
		}
	}
	if (c) {
		c->n_parts = n_parts;
		c->rest = before;
	}
	return !wanted;
}

struct trigger_class *trigger_class_make(const char *schema, size_t size)
{
	struct trigger_class *c = calloc(1, sizeof *c);
	char name[NAME_BYTES];

	if (c && schema_name(schema, size, name, sizeof name) && walk(c, schema, size, NULL, NULL))
		c->name = strdup(name);
	if (c && c->name)
		return c;
	free(c);
	return NULL;
}

static void clear_uses(struct trigger_class *c)
{
	while (c->n_uses)
		free(c->uses[--c->n_uses].filter);
}

void trigger_class_free(struct trigger_class *c)
{
	if (!c)
		return;
	clear_uses(c);
	free(c->name);
	free(c);
}

/* ---------------------------------------------------------------- uses */

/* NULL without memory, or if the schema does not suit the filter. */
static struct filter *link(const struct filter_code *code, const char *schema, size_t size,
			   struct diag *d)
{
	struct filter *f = malloc(FILTER_LINKED_BYTES_MAX);
	struct filter_problem why = { FILTER_FINE, "" };

	if (f && filter_payload_link(f, FILTER_LINKED_BYTES_MAX, code->bytes, code->size, schema,
				     size, CONTEXTS, &why))
		return f;
	if (f)
		filter_explain(&why, -EINVAL, d);
	free(f);
	return NULL;
}

/* An integer or a text. */
static bool is_key(const struct schema_type *t)
{
	return t->base == 's' || (t->base == 'c' && t->shape == SCHEMA_ARRAY) ||
	       (t->base != 'f' && (t->shape == SCHEMA_ONE || t->shape == SCHEMA_ENUM));
}

/* Fills in how trigger @a uses a class.  False, with the reason in @d: the class does not fit. */
static bool make_use(struct trigger_use *u, const struct armed *a, const char *schema, size_t size,
		     struct diag *d)
{
	char name[NAME_BYTES] = "?";
	struct diag why = { "" };

	schema_name(schema, size, name, sizeof name);
	u->is_mixed = trigger_has_kernel(&a->trigger);
	u->by_thread = !a->trigger.by;
	if (!u->by_thread && !walk(NULL, schema, size, a->trigger.by, &u->field))
		return diag_fail(d, -EINVAL, "%s has no field %s", name, a->trigger.by), false;
	if (!u->by_thread && !is_key(&u->field.type))
		return diag_fail(d, -EINVAL, "%s: %s is neither an integer nor a text", name,
				 a->trigger.by),
		       false;
	if (a->trigger.filter && !u->is_second) {
		u->filter = link(&a->code, schema, size, &why);
		if (!u->filter)
			return diag_fail(d, -EINVAL, "%s: %s", name, why.text), false;
	}
	return true;
}

/*
 * A trigger that needs a field that this class lacks cannot fire on it: the reason is noted with
 * the trigger.
 */
static void add_use(struct trigger_class *c, const struct triggers *t, int slot, bool is_second,
		    const char *schema, size_t size)
{
	struct trigger_use u = { .slot = slot,
				 .number = t->saved->at[slot].number,
				 .is_second = is_second };
	struct diag why = { "" };

	assert(c->n_uses < 2 * TRIGGERS_MAX);
	if (make_use(&u, t->at[slot], schema, size, &why))
		c->uses[c->n_uses++] = u;
	else
		triggers_note(t, u.number, why.text);
}

static bool matches(const char *pattern, const char *name)
{
	return pattern && !trigger_kernel_pattern(pattern) &&
	       rules_pattern_matches(pattern, pattern + strlen(pattern), name);
}

void trigger_class_use(struct trigger_class *c, const struct triggers *t, const char *schema,
		       size_t size)
{
	clear_uses(c);
	c->generation = t->generation;
	for (int i = 0; i < TRIGGERS_MAX; i++) {
		if (!t->at[i] || !trigger_has_events(&t->at[i]->trigger))
			continue;
		if (matches(t->at[i]->trigger.second, c->name))
			add_use(c, t, i, true, schema, size);
		if (matches(t->at[i]->trigger.first, c->name))
			add_use(c, t, i, false, schema, size);
	}
}

int trigger_class_fits(const struct armed *a, const char *schema, size_t size, struct diag *d)
{
	const char *patterns[2] = { a->trigger.first, a->trigger.second };
	char name[NAME_BYTES];
	bool is_matched = false, fits = true;

	if (!schema_name(schema, size, name, sizeof name))
		return 0;
	for (int i = 0; i < 2 && fits; i++) {
		struct trigger_use u = { .is_second = i };

		if (!matches(patterns[i], name))
			continue;
		is_matched = true;
		fits = make_use(&u, a, schema, size, d);
		free(u.filter);
	}
	return !fits ? -EINVAL : is_matched;
}

/* ---------------------------------------------------------------- events */

/* Advances *@at past @n parts. */
static bool skip_parts(const struct trigger_class *c, uint32_t n, const char *payload, size_t size,
		       size_t *at)
{
	const char *end;
	uint32_t count;

	for (uint32_t i = 0; i < n; i++) {
		const struct trigger_part *p = &c->parts[i];

		if (p->before > size - *at)
			return false;
		*at += p->before;
		if (!p->element_bytes) {
			end = memchr(payload + *at, 0, size - *at);
			if (!end)
				return false;
			*at = (size_t)(end + 1 - payload);
			continue;
		}
		if (size - *at < sizeof count)
			return false;
		memcpy(&count, payload + *at, sizeof count);
		*at += sizeof count;
		if ((uint64_t)count * p->element_bytes > size - *at)
			return false;
		*at += (size_t)count * p->element_bytes;
	}
	return true;
}

bool trigger_class_size(const struct trigger_class *c, const char *payload, size_t most,
			size_t *size)
{
	size_t at = 0;

	if (!skip_parts(c, c->n_parts, payload, most, &at) || c->rest > most - at)
		return false;
	*size = at + c->rest;
	return true;
}

bool trigger_class_key(const struct trigger_class *c, const struct trigger_field *f,
		       const char *payload, size_t size, uint64_t *key)
{
	size_t at = 0, n = f->type.base == 'c' ? f->type.count : f->type.bits / 8u;
	const char *p;

	if (!skip_parts(c, f->n_parts, payload, size, &at) || f->offset > size - at ||
	    n > size - at - f->offset)
		return false;
	p = payload + at + f->offset;
	if (f->type.base == 's' || f->type.base == 'c') {
		*key = hash_bytes(p, strnlen(p, f->type.base == 'c' ? n : size - at - f->offset));
		return true;
	}
	*key = 0;
	memcpy(key, p, n); /* little-endian, as on all supported machines */
	if (f->type.base == 'i' && n < 8 && *key >> (8 * n - 1))
		*key |= ~0ull << 8 * n;
	return true;
}
