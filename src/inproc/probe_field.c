/* SPDX-License-Identifier: MIT */
/*
 * inproc/probe_field.c - find a field in a packed payload by its name: duet/probe.h.
 *
 * Walks schema and payload side by side.  Neither is trusted: the schema of a mark lies in the
 * control page, where others may write.  Nothing is read past either end.
 */
#include <errno.h>
#include <string.h>

#include "base/schema.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/probe.h"
#include "inproc/own_probes.h"

struct payload {
	const char *p, *end;
};

static size_t element_bytes(const struct schema_type *t)
{
	return t->base == 'c' ? 1 : t->bits / 8u;
}

/* The field's bytes and its number of elements; @at moves past them.  False if the payload is too
 * short. */
static bool take(struct payload *at, const struct schema_type *t, const char **bytes, size_t *count)
{
	size_t left = (size_t)(at->end - at->p), size;
	uint32_t n = t->shape == SCHEMA_ARRAY ? t->count : 1;
	const char *nul;

	*bytes = at->p;
	if (t->base == 's') {
		nul = memchr(at->p, 0, left);
		*count = nul ? (size_t)(nul - at->p) : 0;
		at->p = nul ? nul + 1 : at->p;
		return nul;
	}
	if (t->shape == SCHEMA_SEQUENCE) {
		if (left < sizeof n)
			return false;
		memcpy(&n, at->p, sizeof n);
		*bytes += sizeof n;
		left -= sizeof n;
	}
	size = n * element_bytes(t);
	if (size > left)
		return false;
	at->p = *bytes + size;
	*count = n;
	return true;
}

static void set_number(struct duet_probe_value *v, const struct schema_type *t, const char *bytes)
{
	uint64_t bits = 0;
	float f;

	memcpy(&bits, bytes, element_bytes(t));
	if (t->base == 'f') {
		memcpy(&f, bytes, sizeof f);
		memcpy(&v->real, &bits, sizeof bits);
		if (t->bits == 32)
			v->real = (double)f;
		v->kind = DUET_PROBE_REAL;
		return;
	}
	v->kind = t->base == 'i' ? DUET_PROBE_SIGNED : DUET_PROBE_UNSIGNED;
	if (t->base == 'i')
		bits = (uint64_t)((int64_t)(bits << (64 - t->bits)) >> (64 - t->bits));
	v->number = bits;
	v->integer = (int64_t)bits;
}

static int set_value(struct duet_probe_value *v, const struct schema_type *t, const char *bytes,
		     size_t count)
{
	v->bytes = bytes;
	v->count = count;
	v->element_size = t->base == 's' ? 1 : element_bytes(t);
	if (t->base == 's' || t->base == 'c') {
		v->kind = DUET_PROBE_TEXT;
		v->count = strnlen(bytes, count);
	} else if (t->shape == SCHEMA_ARRAY || t->shape == SCHEMA_SEQUENCE) {
		v->kind = DUET_PROBE_MANY;
	} else {
		set_number(v, t, bytes);
	}
	return 0;
}

static int set_element(struct duet_probe_value *v, const struct schema_type *t, const char *bytes,
		       size_t count, uint64_t index)
{
	if ((t->shape != SCHEMA_ARRAY && t->shape != SCHEMA_SEQUENCE) || t->base == 'c' ||
	    index >= count)
		return -ENOENT;
	v->bytes = bytes + index * element_bytes(t);
	v->count = 1;
	v->element_size = element_bytes(t);
	set_number(v, t, v->bytes);
	return 0;
}

/* Splits "v[3]" into "v" and 3.  False if the brackets hold no index. */
static bool split(struct schema_text *name, bool *has_index, uint64_t *index)
{
	const char *bracket = memchr(name->p, '[', (size_t)(name->end - name->p));
	struct schema_text digits;

	*has_index = bracket;
	if (!bracket)
		return true;
	digits = (struct schema_text){ bracket + 1, name->end };
	name->end = bracket;
	return schema_read_number(&digits, UINT32_MAX, index) && digits.end - digits.p == 1 &&
	       *digits.p == ']';
}

int probe_field(const struct duet_probe_event *e, const char *text, struct duet_probe_value *v)
{
	struct schema_text words = { e->fields, e->fields + e->fields_size },
			   name = { text, text + strlen(text) };
	struct payload at = { e->payload, (const char *)e->payload + e->payload_size };
	bool has_index;
	uint64_t index = 0;

	*v = (struct duet_probe_value){ .bytes = NULL };
	if (!split(&name, &has_index, &index))
		return -ENOENT;
	for (int i = 0; i < SCHEMA_FIELDS_MAX; i++) {
		struct schema_text word = schema_next_word(&words),
				   field = schema_next_word(&words);
		struct schema_type t;
		const char *bytes;
		size_t count;

		if (field.p == field.end || !schema_read_type(word, &t) ||
		    !take(&at, &t, &bytes, &count))
			return -ENOENT;
		if (field.end - field.p == name.end - name.p &&
		    !memcmp(field.p, name.p, (size_t)(name.end - name.p)))
			return has_index ? set_element(v, &t, bytes, count, index)
					 : set_value(v, &t, bytes, count);
	}
	return -ENOENT;
}
