/* SPDX-License-Identifier: MIT */
/* ctf/schema.c - see schema.h. */
#include "ctf/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 128, NAME_MAX_BYTES = 128 };

/* Where the parser stands; every read checks against end. */
struct cursor {
	const char *p, *end;
};

struct names {
	char name[FIELDS_MAX][NAME_MAX_BYTES];
	int n;
};

static void skip_spaces(struct cursor *c)
{
	while (c->p < c->end && *c->p == ' ')
		c->p++;
}

/* The next word up to a space outside parentheses. */
static struct cursor next_word(struct cursor *c)
{
	struct cursor w;
	int depth = 0;

	skip_spaces(c);
	w.p = c->p;
	for (; c->p < c->end && (*c->p != ' ' || depth > 0); c->p++)
		depth += (*c->p == '(') - (*c->p == ')');
	w.end = c->p;
	return w;
}

static bool word_is(struct cursor w, const char *text)
{
	return (size_t)(w.end - w.p) == strlen(text) && !memcmp(w.p, text, strlen(text));
}

/* A number in decimal, at most @max; the cursor moves behind it. */
static bool read_number(struct cursor *c, uint64_t max, uint64_t *value)
{
	const char *begin = c->p;

	for (*value = 0; c->p < c->end && isdigit((unsigned char)*c->p); c->p++) {
		*value = *value * 10 + (uint64_t)(*c->p - '0');
		if (*value > max)
			return false;
	}
	return c->p > begin;
}

static bool add_integer(struct text *out, struct cursor w)
{
	char kind = w.p < w.end ? *w.p : 0;
	struct cursor n = { w.p + 1, w.end };
	uint64_t bits;

	if (!kind || !strchr("iuxp", kind) || !read_number(&n, 64, &bits) || n.p != w.end ||
	    (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return false;
	text_addf(out, "integer { size = %d; align = 8; signed = %s; base = %d; }", (int)bits,
		  kind == 'i' ? "true" : "false", kind == 'x' || kind == 'p' ? 16 : 10);
	return true;
}

static bool add_float(struct text *out, struct cursor w)
{
	if (word_is(w, "f32"))
		text_addf(out, "floating_point { exp_dig = 8; mant_dig = 24; align = 8; }");
	else if (word_is(w, "f64"))
		text_addf(out, "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }");
	else
		return false;
	return true;
}

/* One `LABEL` or `LABEL = NUMBER`, up to a comma; *value is what it stands for. */
static bool add_label(struct text *out, struct cursor *c, int64_t *value, bool first)
{
	const char *begin, *end;
	uint64_t n;

	skip_spaces(c);
	for (begin = c->p; c->p < c->end && (isalnum((unsigned char)*c->p) || *c->p == '_'); c->p++)
		;
	end = c->p;
	skip_spaces(c);
	if (end == begin || end - begin >= NAME_MAX_BYTES)
		return false;
	if (c->p < c->end && *c->p == '=') {
		bool negative;

		c->p++;
		skip_spaces(c);
		negative = c->p < c->end && *c->p == '-';
		c->p += negative;
		if (!read_number(c, INT64_MAX, &n))
			return false;
		*value = negative ? -(int64_t)n : (int64_t)n;
		skip_spaces(c);
	}
	text_addf(out, "%s \"%.*s\" = %lld", first ? "" : ",", (int)(end - begin), begin,
		  (long long)*value);
	return true;
}

/* enum(T:A, B = 5, C) */
static bool add_enum(struct text *out, struct cursor w)
{
	const char *colon;
	struct cursor c;
	int64_t value = 0;

	if (w.end - w.p < 7 || memcmp(w.p, "enum(", 5) || w.end[-1] != ')')
		return false;
	colon = memchr(w.p, ':', (size_t)(w.end - w.p));
	if (!colon)
		return false;
	text_addf(out, "enum : ");
	if (!add_integer(out, (struct cursor){ w.p + 5, colon }))
		return false;
	text_addf(out, " {");
	c = (struct cursor){ colon + 1, w.end - 1 };
	for (bool first = true;; first = false, value++) {
		if (!add_label(out, &c, &value, first))
			return false;
		if (c.p == c.end)
			break;
		if (*c.p++ != ',')
			return false;
	}
	text_addf(out, " }");
	return true;
}

/* Makes the field's name, with the underscore that readers strip again; unique in its event, because
 * two equal ones abort Babeltrace 2.0. */
static const char *field_name(struct names *names, struct cursor w)
{
	char *name = names->name[names->n];
	size_t n = 0;

	name[n++] = '_';
	for (; w.p < w.end && n < NAME_MAX_BYTES - 16; w.p++)
		name[n++] = isalnum((unsigned char)*w.p) ? *w.p : '_';
	name[n] = 0;
	for (int i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name)) {
			snprintf(name + n, 16, "_%d", names->n);
			break;
		}
	return names->name[names->n++];
}

/* TYPE[N], TYPE[] or chr[N]; *suffix is where the brackets begin. */
static bool add_array(struct text *out, struct cursor type, const char *bracket, const char *name)
{
	struct cursor element = { type.p, bracket }, n = { bracket + 1, type.end };
	struct text t = { 0 };
	bool chars = word_is(element, "chr"), fixed = n.p < n.end && *n.p != ']', ok;
	uint64_t count = 0;

	ok = (!fixed || read_number(&n, 1 << 20, &count)) && n.p + 1 == n.end && *n.p == ']' &&
	     (!chars || fixed);
	if (ok && chars)
		text_addf(&t, "integer { size = 8; align = 8; signed = false; encoding = UTF8; }");
	else
		ok = ok && (add_integer(&t, element) || add_float(&t, element));
	ok = ok && !t.failed;
	if (ok && fixed)
		text_addf(out, "\t\t%s %s[%d];\n", t.bytes, name, (int)count);
	else if (ok)
		text_addf(out,
			  "\t\tinteger { size = 32; align = 8; signed = false; } _%s_length;\n"
			  "\t\t%s %s[ _%s_length ];\n",
			  name, t.bytes, name, name);
	text_fini(&t);
	return ok;
}

static bool add_field(struct text *out, struct names *names, struct cursor type,
		      struct cursor field)
{
	const char *bracket = memchr(type.p, '[', (size_t)(type.end - type.p));
	const char *name;

	if (type.p == type.end || field.p == field.end || names->n == FIELDS_MAX)
		return false;
	name = field_name(names, field);
	if (bracket && *type.p != 'e')
		return add_array(out, type, bracket, name);
	text_addf(out, "\t\t");
	if (word_is(type, "str"))
		text_addf(out, "string { encoding = UTF8; }");
	else if (!add_integer(out, type) && !add_float(out, type) && !add_enum(out, type))
		return false;
	text_addf(out, " %s;\n", name);
	return true;
}

static bool add_fields(struct text *out, struct cursor c)
{
	struct names names = { .n = 0 };

	for (;;) {
		struct cursor type = next_word(&c), field = next_word(&c);

		if (type.p == type.end)
			return true;
		if (!add_field(out, &names, type, field))
			return false;
	}
}

bool schema_name(const char *schema, size_t size, char *name, size_t name_size)
{
	struct cursor c = { schema, schema + size }, level = next_word(&c), w = next_word(&c);
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
	struct cursor c = { schema, schema + size };
	uint64_t level;

	return read_number(&c, 14, &level) ? (unsigned)level : 13;
}

int schema_to_tsdl(struct text *out, const char *schema, size_t size, uint32_t id)
{
	struct cursor c = { schema, schema + size };
	struct text fields = { 0 };
	char name[512];
	bool ok;

	if (!schema_name(schema, size, name, sizeof name))
		strcpy(name, "unknown");
	next_word(&c);
	next_word(&c);
	ok = add_fields(&fields, c) && !fields.failed;
	text_addf(out,
		  "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tloglevel = %u;\n"
		  "\tfields := struct {\n%s\t};\n};\n\n",
		  name, id, schema_level(schema, size), ok && fields.bytes ? fields.bytes : "");
	text_fini(&fields);
	return ok ? 0 : -EINVAL;
}
