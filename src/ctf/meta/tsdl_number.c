/* SPDX-License-Identifier: MIT */
/* ctf/meta/tsdl_number.c - parses integer { ... }, floating_point { ... }, string { ... }.  See
 * tsdl.h. */
#include <string.h>

#include "ctf/meta/tsdl.h"

static bool is_text_in(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(text, *list))
			return true;
	return false;
}

static bool take_bool(struct tsdl *p, const struct tsdl_value *v)
{
	static const char *const yes[] = { "true", "TRUE", NULL }, *const no[] = { "false", "FALSE",
										   NULL };

	if (!v->text && !v->type)
		return v->number != 0;
	if (v->text && is_text_in(v->text, yes))
		return true;
	if (!v->text || !is_text_in(v->text, no))
		tsdl_fail(p, "expected true or false");
	return false;
}

static uint32_t take_size(struct tsdl *p, const struct tsdl_value *v, uint32_t most)
{
	if (v->text || v->type || v->is_negative || !v->number || v->number > most)
		tsdl_fail(p, "expected a number from 1 to %u", most);
	return (uint32_t)v->number;
}

uint32_t tsdl_take_align(struct tsdl *p, const struct tsdl_value *v)
{
	uint32_t a = take_size(p, v, CTF_ALIGN_MAX);

	if (a & (a - 1))
		tsdl_fail(p, "an alignment of %u bits, which is no power of two", a);
	return a;
}

static uint8_t take_order(struct tsdl *p, const struct tsdl_value *v)
{
	const char *t = v->text ? v->text : "";

	if (!strcmp(t, "le"))
		return CTF_LITTLE;
	if (!strcmp(t, "be") || !strcmp(t, "network"))
		return CTF_BIG;
	if (strcmp(t, "native"))
		tsdl_fail(p, "byte order `%.40s` is none of le, be, network, native", t);
	return CTF_NATIVE;
}

static uint8_t take_base(struct tsdl *p, const struct tsdl_value *v)
{
	static const struct {
		char text[12];
		uint8_t base;
	} names[] = {
		{ "decimal", 10 },     { "dec", 10 }, { "d", 10 }, { "i", 10 }, { "u", 10 },
		{ "hexadecimal", 16 }, { "hex", 16 }, { "x", 16 }, { "X", 16 }, { "p", 16 },
		{ "octal", 8 },	       { "oct", 8 },  { "o", 8 },  { "b", 2 },	{ "binary", 2 },
	};

	for (size_t i = 0; v->text && i < sizeof names / sizeof *names; i++)
		if (!strcmp(v->text, names[i].text))
			return names[i].base;
	if (v->text || (v->number != 2 && v->number != 8 && v->number != 10 && v->number != 16))
		tsdl_fail(p, "a base that is none of 2, 8, 10, 16");
	return (uint8_t)v->number;
}

/* map = clock.NAME.value */
static const char *take_clock(struct tsdl *p, const struct tsdl_value *v)
{
	size_t n = v->text ? strlen(v->text) : 0;
	const char *name;

	if (n <= 12 || memcmp(v->text, "clock.", 6) || strcmp(v->text + n - 6, ".value")) {
		tsdl_fail(p, "expected clock.NAME.value");
		return NULL;
	}
	name = ctf_meta_string(p->meta, v->text + 6, n - 12);
	if (name && !p->meta->missing_clock && !ctf_meta_clock(p->meta, name))
		p->meta->missing_clock = name;
	return name;
}

/* Returns whether the encoding is text.  An unknown encoding is an error, as in other readers: it
 * may be a known one with a damaged letter. */
static bool take_encoding(struct tsdl *p, const struct tsdl_value *v)
{
	static const char *const names[] = { "none", "UTF8", "UTF-8", "ASCII" };

	for (unsigned i = 0; v->text && i < sizeof names / sizeof *names; i++)
		if (!strcasecmp(v->text, names[i]))
			return i > 0;
	tsdl_fail(p, "an encoding that is none of UTF8, ASCII, none");
	return false;
}

static void assign_integer(struct tsdl *p, void *object, const char *key,
			   const struct tsdl_value *v)
{
	struct ctf_type *t = object;

	if (!strcmp(key, "size"))
		t->size_bits = take_size(p, v, 64);
	else if (!strcmp(key, "align"))
		t->align_bits = tsdl_take_align(p, v);
	else if (!strcmp(key, "signed"))
		t->is_signed = take_bool(p, v);
	else if (!strcmp(key, "byte_order"))
		t->order = take_order(p, v);
	else if (!strcmp(key, "base"))
		t->base = take_base(p, v);
	else if (!strcmp(key, "encoding"))
		t->is_text = take_encoding(p, v);
	else if (!strcmp(key, "map"))
		t->clock = take_clock(p, v);
}

const struct ctf_type *tsdl_integer(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_INTEGER);

	tsdl_expect(p, '{');
	if (!t)
		return NULL;
	t->base = 10;
	t->align_bits = 0;
	tsdl_block(p, assign_integer, t);
	if (!t->size_bits)
		tsdl_fail(p, "an integer without size");
	if (!t->align_bits)
		t->align_bits = t->size_bits % 8 ? 1 : 8;
	return t;
}

static void assign_float(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_type *t = object;

	if (!strcmp(key, "exp_dig"))
		t->exponent_bits = take_size(p, v, 64);
	else if (!strcmp(key, "mant_dig"))
		t->size_bits = take_size(p, v, 128);
	else if (!strcmp(key, "align"))
		t->align_bits = tsdl_take_align(p, v);
	else if (!strcmp(key, "byte_order"))
		t->order = take_order(p, v);
}

/* A number that is not an IEEE number of 16, 32 or 64 bits is displayed as an array of bytes. */
static void become_bytes(struct tsdl *p, struct ctf_type *t)
{
	struct ctf_type *byte = tsdl_new_type(p, CTF_INTEGER);

	if (t->size_bits % 8)
		tsdl_fail(p, "a floating point number of %u bits", t->size_bits);
	if (!byte || p->err)
		return;
	byte->base = 16;
	byte->size_bits = 8;
	byte->align_bits = 8;
	t->kind = CTF_ARRAY;
	t->of = byte;
	t->length = t->size_bits / 8;
	t->size_bits = t->exponent_bits = 0;
	t->depth = 2;
	if (t->align_bits < 8)
		t->align_bits = 8;
}

/* mant_dig counts the sign; exp_dig and mant_dig make up the size. */
const struct ctf_type *tsdl_floating_point(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_FLOAT);

	tsdl_expect(p, '{');
	if (!t)
		return NULL;
	t->align_bits = 8;
	tsdl_block(p, assign_float, t);
	t->size_bits += t->exponent_bits;
	if (!(t->exponent_bits == 5 && t->size_bits == 16) &&
	    !(t->exponent_bits == 8 && t->size_bits == 32) &&
	    !(t->exponent_bits == 11 && t->size_bits == 64))
		become_bytes(p, t);
	return t;
}

static void assign_string(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	(void)object;
	if (!strcmp(key, "encoding"))
		take_encoding(p, v); /* and is displayed as it is */
}

const struct ctf_type *tsdl_string(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_STRING);

	if (tsdl_accept(p, '{'))
		tsdl_block(p, assign_string, NULL);
	if (t)
		t->align_bits = 8;
	return t;
}
