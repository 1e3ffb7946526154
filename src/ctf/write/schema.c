/* SPDX-License-Identifier: MIT */
/* ctf/write/schema.c - writes an event block: fields, their TSDL types, unique names. */
#include "ctf/write/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/schema.h"

enum { NAME_MAX_BYTES = 112 };

/* The names in one event, including those of lengths: two equal names abort Babeltrace 2.0. */
struct names {
	char name[2 * SCHEMA_FIELDS_MAX][NAME_MAX_BYTES + 32];
	int n;
};

static bool is_taken(const struct names *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

/* Makes the name of the field, with the underscore that readers remove, followed by the name of
 * its length.  A name that is taken gets a number. */
static const char *field_name(struct names *names, struct schema_text w, bool has_length)
{
	char name[NAME_MAX_BYTES + 16] = "_", length[sizeof name + 16];
	size_t n = 1;

	for (; w.p < w.end && n < NAME_MAX_BYTES; w.p++)
		name[n++] = isalnum((unsigned char)*w.p) ? *w.p : '_';
	snprintf(length, sizeof length, "_%s_length", name);
	for (int i = names->n; is_taken(names, name) || (has_length && is_taken(names, length));
	     i++) {
		snprintf(name + n, sizeof name - n, "_%d", i);
		snprintf(length, sizeof length, "_%s_length", name);
	}
	memcpy(names->name[names->n++], name, sizeof name);
	if (has_length)
		memcpy(names->name[names->n++], length, sizeof length);
	return names->name[names->n - 1 - has_length];
}

/* Appends one element of the type. */
static void add_scalar(struct text *out, const struct schema_type *t)
{
	if (t->base == 's')
		text_addf(out, "string { encoding = UTF8; }");
	else if (t->base == 'c')
		text_addf(out, "integer { size = 8; align = 8; signed = false; encoding = UTF8; }");
	else if (t->base == 'f')
		text_addf(out, "floating_point { exp_dig = %d; mant_dig = %d; align = 8; }",
			  t->bits == 32 ? 8 : 11, t->bits == 32 ? 24 : 53);
	else
		text_addf(out, "integer { size = %d; align = 8; signed = %s; base = %d; }", t->bits,
			  t->base == 'i' ? "true" : "false",
			  t->base == 'x' || t->base == 'p' ? 16 : 10);
}

static void add_labels(struct text *out, const struct schema_type *t)
{
	struct schema_text labels = t->labels, label;
	const char *comma = "";
	uint64_t value = UINT64_MAX;

	text_addf(out, " {");
	while (labels.p < labels.end && schema_next_label(t, &labels, &label, &value)) {
		text_addf(out, t->base == 'i' ? "%s \"%.*s\" = %lld" : "%s \"%.*s\" = %llu", comma,
			  (int)(label.end - label.p), label.p, (unsigned long long)value);
		comma = ",";
	}
	text_addf(out, " }");
}

static void add_field(struct text *out, const struct schema_type *t, const char *name)
{
	if (t->shape == SCHEMA_SEQUENCE)
		text_addf(out,
			  "\t\tinteger { size = 32; align = 8; signed = false; } _%s_length;\n",
			  name);
	text_addf(out, "\t\t%s", t->shape == SCHEMA_ENUM ? "enum : " : "");
	add_scalar(out, t);
	if (t->shape == SCHEMA_ENUM)
		add_labels(out, t);
	text_addf(out, " %s", name);
	if (t->shape == SCHEMA_SEQUENCE)
		text_addf(out, "[ _%s_length ]", name);
	else if (t->shape == SCHEMA_ARRAY)
		text_addf(out, "[%u]", t->count);
	text_addf(out, ";\n");
}

static bool add_fields(struct text *out, struct schema_text words)
{
	struct names names = { .n = 0 };
	struct schema_type type;

	if (!schema_is_sound(words))
		return false;
	for (;;) {
		struct schema_text word = schema_next_word(&words),
				   field = schema_next_word(&words);

		if (!schema_read_type(word, &type))
			return true;
		add_field(out, &type, field_name(&names, field, type.shape == SCHEMA_SEQUENCE));
	}
}

bool schema_name(const char *schema, size_t size, char *name, size_t name_size)
{
	struct schema_text c = { schema, schema + size }, level = schema_next_word(&c),
			   w = schema_next_word(&c);
	size_t n = 0;

	if (level.p == level.end || w.p == w.end)
		return false;
	for (; w.p < w.end && n + 1 < name_size; w.p++)
		name[n++] = isalnum((unsigned char)*w.p) || strchr("_:-.", *w.p) ? *w.p : '_';
	name[n] = 0;
	return true;
}

static unsigned schema_level(const char *schema, size_t size)
{
	struct schema_text c = { schema, schema + size };
	uint64_t level;

	return schema_read_number(&c, 14, &level) ? (unsigned)level : 13;
}

int schema_to_tsdl(struct text *out, const char *schema, size_t size, uint32_t class_id,
		   uint32_t id)
{
	struct schema_text c = { schema, schema + size };
	struct text fields = { 0 };
	char name[512];
	bool ok;

	if (!schema_name(schema, size, name, sizeof name))
		strcpy(name, "unknown");
	schema_next_word(&c);
	schema_next_word(&c);
	ok = add_fields(&fields, c);
	out->failed |= fields.failed; /* so that it is not taken for an event without fields */
	text_addf(out,
		  "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %u;\n\tloglevel = %u;\n"
		  "\tfields := struct {\n%s\t};\n};\n\n",
		  name, id, class_id, schema_level(schema, size),
		  ok && fields.bytes ? fields.bytes : "");
	text_fini(&fields);
	return ok ? 0 : -EINVAL;
}
