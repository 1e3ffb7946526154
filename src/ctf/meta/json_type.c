/* SPDX-License-Identifier: MIT */
/* ctf/meta/json_type.c - translates field classes of CTF 2 to types.  See ctf2.h; the terms are
 * those of the specification (CTF2-SPEC-2.0), and the enumerations of its drafts, which became
 * integers with mappings. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctf/meta/json.h"
#include "ctf/meta/ctf2.h"

enum { MEMBERS_MAX = 65536, PATH_MAX_BYTES = 256, STEPS_MAX = 1 << 26 };

static uint32_t alignment(struct json_meta *j, const struct json *v, const char *name,
			  uint32_t otherwise)
{
	uint32_t a = (uint32_t)json_number(j, v, name, otherwise, CTF_ALIGN_MAX);

	if (!a || (a & (a - 1)))
		json_fail(j, "`%s` %u is no power of two", name, a);
	return a;
}

static struct ctf_type *new_type(struct json_meta *j, enum ctf_kind kind, const char *role)
{
	struct ctf_type *t = j->err ? NULL : ctf_meta_alloc(j->meta, sizeof *t);

	if (!t) {
		json_fail_memory(j);
		return NULL;
	}
	t->kind = kind;
	t->align_bits = 1;
	t->depth = 1;
	t->base = 10;
	t->role = role;
	return t;
}

/* Returns the role, which CTF 1.8 expresses by a field's name.  "=clock" is the time of a
 * packet's begin, or of an event. */
static const char *role_of(const struct json *v)
{
	static const struct {
		const char *role, *name;
	} roles[] = {
		{ "packet-magic-number", "magic" },
		{ "metadata-stream-uuid", "uuid" },
		{ "data-stream-class-id", "stream_id" },
		{ "data-stream-id", "stream_instance_id" },
		{ "packet-total-length", "packet_size" },
		{ "packet-content-length", "content_size" },
		{ "default-clock-timestamp", "=clock" },
		{ "packet-end-default-clock-timestamp", "timestamp_end" },
		{ "packet-sequence-number", "packet_seq_num" },
		{ "discarded-event-record-counter-snapshot", "events_discarded" },
		{ "event-record-class-id", "id" },
	};
	const struct json *list = json_get(v, "roles");

	for (const struct json *r = list && list->kind == JSON_ARRAY ? list->first : NULL; r;
	     r = r->next)
		for (size_t i = 0; r->kind == JSON_TEXT && i < sizeof roles / sizeof *roles; i++)
			if (!strcmp(r->text, roles[i].role))
				return roles[i].name;
	return "";
}

static void note_depth(struct json_meta *j, struct ctf_type *t, const struct ctf_type *inner)
{
	if (inner->depth >= t->depth)
		t->depth = inner->depth + 1;
	if (t->depth > CTF_DEPTH_MAX)
		json_fail(j, "field classes nested deeper than %d", CTF_DEPTH_MAX);
}

/* Accepts only the bit order that matches the byte order: no known machine uses the other. */
static void take_order(struct json_meta *j, const struct json *v, struct ctf_type *t)
{
	const char *bytes = json_text(v, "byte-order"), *bits = json_text(v, "bit-order");
	bool is_big = bytes && !strcmp(bytes, "big-endian");

	if (!bytes || (!is_big && strcmp(bytes, "little-endian")))
		json_fail(j, "`byte-order` must be little-endian or big-endian");
	if (bits && strcmp(bits, is_big ? "last-to-first" : "first-to-last"))
		json_fail(j, "`bit-order` %.40s is not read with %.40s bytes", bits,
			  bytes ? bytes : "?");
	t->order = is_big ? CTF_BIG : CTF_LITTLE;
}

static void take_base(struct json_meta *j, const struct json *v, struct ctf_type *t)
{
	uint64_t base = json_number(j, v, "preferred-display-base", 10, 16);

	if (base != 2 && base != 8 && base != 10 && base != 16)
		json_fail(j, "a display base that is none of 2, 8, 10, 16");
	t->base = (uint8_t)base;
}

static void add_label(struct json_meta *j, struct ctf_type *t, uint32_t *n, const char *text,
		      const struct json *range)
{
	const struct json *first = range->kind == JSON_ARRAY ? range->first : NULL;
	const struct json *last = first ? first->next : NULL;
	struct ctf_label *list;

	if (!last || last->next || first->kind != JSON_NUMBER || last->kind != JSON_NUMBER)
		return json_fail(j, "a range that is not two whole numbers");
	if (*n >= MEMBERS_MAX)
		return json_fail(j, "more than %d ranges", MEMBERS_MAX);
	list = ctf_meta_grow(j->meta, (void *)t->labels, *n, sizeof *list);
	if (!list)
		return json_fail_memory(j);
	list[(*n)++] = (struct ctf_label){ text, first->number, last->number };
	t->labels = list;
}

static void add_ranges(struct json_meta *j, struct ctf_type *t, uint32_t *n, const char *text,
		       const struct json *ranges)
{
	if (!ranges || ranges->kind != JSON_ARRAY)
		return json_fail(j, "`%.60s` has no ranges", text);
	for (const struct json *r = ranges->first; r && !j->err; r = r->next)
		add_label(j, t, n, text, r);
}

/* An integer with mappings is an enum in TSDL. */
static const struct ctf_type *mapped(struct json_meta *j, const struct json *v,
				     const struct ctf_type *of)
{
	bool is_bit_map = !strcmp(json_text(v, "type"), "fixed-length-bit-map");
	const struct json *mappings = json_get(v, is_bit_map ? "flags" : "mappings");
	struct ctf_type *t;

	if (!mappings || mappings->kind != JSON_OBJECT || !mappings->first)
		return of;
	t = of->kind == CTF_INTEGER ? new_type(j, CTF_ENUM, of->role) : (struct ctf_type *)of;
	if (!t)
		return NULL;
	if (t != of) {
		*t = *of;
		t->kind = CTF_ENUM;
		t->of = of;
	}
	for (const struct json *m = mappings->first; m && !j->err; m = m->next) {
		const char *text = json_keep(j, "", m->name);

		if (text)
			add_ranges(j, t, &t->n_members, text, m);
	}
	t->is_bit_map = is_bit_map;
	t->has_several = is_bit_map || ctf_labels_overlap(t);
	return t;
}

static const struct ctf_type *integer(struct json_meta *j, const struct json *v, bool is_signed)
{
	struct ctf_type *t = new_type(j, CTF_INTEGER, role_of(v));

	if (!t)
		return NULL;
	t->size_bits = (uint32_t)json_number(j, v, "length", 0, 64);
	if (!t->size_bits)
		json_fail(j, "a field of no `length`");
	t->align_bits = alignment(j, v, "alignment", 1);
	t->is_signed = is_signed;
	take_order(j, v, t);
	take_base(j, v, t);
	return j->err ? NULL : mapped(j, v, t);
}

static const struct ctf_type *variable(struct json_meta *j, const struct json *v, bool is_signed)
{
	struct ctf_type *t = new_type(j, CTF_LEB128, role_of(v));

	if (!t)
		return NULL;
	t->size_bits = 64;
	t->align_bits = 8;
	t->is_signed = is_signed;
	take_base(j, v, t);
	return j->err ? NULL : mapped(j, v, t);
}

/* The encoding of a string. */
static uint8_t encoding_of(struct json_meta *j, const struct json *v)
{
	static const char *const names[] = { "utf-8", "utf-16le", "utf-16be", "utf-32le",
					     "utf-32be" };
	const char *name = json_text(v, "encoding");

	for (uint8_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return i;
	if (json_get(v, "encoding"))
		json_fail(j, "an encoding that is none of utf-8, utf-16be, utf-16le, utf-32be, "
			     "utf-32le");
	return CTF_UTF8;
}

static struct ctf_type *byte_type(struct json_meta *j, bool is_text)
{
	struct ctf_type *t = new_type(j, CTF_INTEGER, "");

	if (t) {
		t->size_bits = t->align_bits = 8;
		t->order = CTF_LITTLE;
		t->is_text = is_text;
		t->base = is_text ? 10 : 16;
	}
	return t;
}

static const struct ctf_type *real(struct json_meta *j, const struct json *v)
{
	struct ctf_type *t = new_type(j, CTF_FLOAT, "");

	if (!t)
		return NULL;
	t->size_bits = (uint32_t)json_number(j, v, "length", 0, 128);
	t->align_bits = alignment(j, v, "alignment", 1);
	take_order(j, v, t);
	t->exponent_bits = t->size_bits == 16 ? 5 : t->size_bits == 32 ? 8 : 11;
	if (t->size_bits == 128) { /* displayed as bytes */
		t->kind = CTF_ARRAY;
		t->of = byte_type(j, false);
		t->length = 16;
		t->depth = 2;
	} else if (t->size_bits != 16 && t->size_bits != 32 && t->size_bits != 64) {
		json_fail(j, "a floating point number of %u bits", t->size_bits);
	}
	return j->err ? NULL : t;
}

/* Writes {"origin": ..., "path": [...]} as TSDL does.  null, the enclosing struct, is `^`. */
static const char *location(struct json_meta *j, const struct json *v, const char *name)
{
	static const char *const origins[][2] = {
		{ "packet-header", "trace.packet.header" },
		{ "packet-context", "stream.packet.context" },
		{ "event-record-header", "stream.event.header" },
		{ "event-record-common-context", "stream.event.context" },
		{ "event-record-specific-context", "event.context" },
		{ "event-record-payload", "event.fields" },
	};
	const struct json *l = json_get(v, name), *path = json_get(l, "path");
	const char *origin = json_text(l, "origin"), *prefix = origin ? NULL : "";
	char text[PATH_MAX_BYTES];
	size_t n;

	for (size_t i = 0; origin && i < sizeof origins / sizeof *origins; i++)
		if (!strcmp(origin, origins[i][0]))
			prefix = origins[i][1];
	if (!prefix || !path || path->kind != JSON_ARRAY || !path->first) {
		json_fail(j, "`%s` with unknown origin, or without path", name);
		return NULL;
	}
	n = (size_t)snprintf(text, sizeof text, "%s", prefix);
	for (const struct json *p = path->first; p; p = p->next) {
		const char *dot = n ? "." : "";

		if (p->kind != JSON_NULL && (p->kind != JSON_TEXT || strchr(p->text, '.'))) {
			json_fail(j, "a path of something else than plain names");
			return NULL;
		}
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", dot,
				      p->kind == JSON_TEXT ? "_" : "^",
				      p->kind == JSON_TEXT ? p->text : "");
		if (n >= sizeof text) {
			json_fail(j, "a path beyond %d bytes", PATH_MAX_BYTES);
			return NULL;
		}
	}
	return json_keep(j, "", text);
}

static const struct ctf_type *array_of(struct json_meta *j, const struct json *v,
				       const struct ctf_type *of, bool is_static)
{
	struct ctf_type *t =
		of ? new_type(j, is_static ? CTF_ARRAY : CTF_SEQUENCE, role_of(v)) : NULL;

	if (!t)
		return NULL;
	t->of = of;
	t->align_bits = alignment(j, v, "minimum-alignment", 1);
	if (of->align_bits > t->align_bits)
		t->align_bits = of->align_bits;
	if (is_static) {
		t->length = json_number(j, v, "length", 0, UINT64_MAX);
		if (!json_get(v, "length"))
			json_fail(j, "an array without `length`");
	} else {
		t->path = location(j, v, "length-field-location");
	}
	note_depth(j, t, of);
	return j->err ? NULL : t;
}

static const struct ctf_type *text_of(struct json_meta *j, const struct json *v, bool is_static)
{
	struct ctf_type *byte = byte_type(j, true);

	if (byte)
		byte->encoding = encoding_of(j, v);
	return array_of(j, v, j->err ? NULL : byte, is_static);
}

static bool add_member(struct json_meta *j, struct ctf_type *t, const char *name,
		       const struct ctf_type *type)
{
	struct ctf_member *list;

	if (j->err || !type || !name)
		return false;
	if (t->n_members >= MEMBERS_MAX) {
		json_fail(j, "more than %d members", MEMBERS_MAX);
		return false;
	}
	list = ctf_meta_grow(j->meta, (void *)t->members, t->n_members, sizeof *list);
	if (!list) {
		json_fail_memory(j);
		return false;
	}
	list[t->n_members++] = (struct ctf_member){ name, type };
	t->members = list;
	note_depth(j, t, type);
	return !j->err;
}

static const struct ctf_type *structure(struct json_meta *j, const struct json *v)
{
	const struct json *list = json_get(v, "member-classes");
	struct ctf_type *t = new_type(j, CTF_STRUCT, "");

	if (!t)
		return NULL;
	t->align_bits = alignment(j, v, "minimum-alignment", 1);
	for (const struct json *m = list && list->kind == JSON_ARRAY ? list->first : NULL;
	     m && !j->err; m = m->next) {
		const char *name = json_text(m, "name");
		const struct ctf_type *type = json_type(j, json_get(m, "field-class"));

		if (!name)
			json_fail(j, "a member without name");
		if (name && add_member(j, t, json_keep(j, "_", name), type) &&
		    type->align_bits > t->align_bits)
			t->align_bits = type->align_bits;
	}
	return j->err ? NULL : t;
}

static const struct ctf_type *variant(struct json_meta *j, const struct json *v)
{
	const struct json *list = json_get(v, "options");
	struct ctf_type *t = new_type(j, CTF_VARIANT, "");

	if (!t)
		return NULL;
	t->path = location(j, v, "selector-field-location");
	for (const struct json *o = list && list->kind == JSON_ARRAY ? list->first : NULL;
	     o && !j->err; o = o->next) {
		const struct ctf_type *type = json_type(j, json_get(o, "field-class"));
		const char *given = json_text(o, "name");
		char name[16];

		snprintf(name, sizeof name, "=%u",
			 t->n_members); /* an option may have no name; a case must */
		given = given ? json_keep(j, "_", given) : json_keep(j, "", name);
		if (add_member(j, t, given, type))
			add_ranges(j, t, &t->n_ranges, given, json_get(o, "selector-field-ranges"));
	}
	if (!t->n_ranges)
		json_fail(j, "a variant without options");
	return j->err ? NULL : t;
}

/* An optional field is a variant of the field and nothing.  Without ranges the selector is a
 * boolean: true is any value but 0. */
static const struct ctf_type *optional(struct json_meta *j, const struct json *v)
{
	const struct json *ranges = json_get(v, "selector-field-ranges");
	struct ctf_type *t = new_type(j, CTF_VARIANT, "");
	struct ctf_label *any;

	if (!t)
		return NULL;
	t->is_optional = true;
	t->path = location(j, v, "selector-field-location");
	if (!add_member(j, t, "=0", json_type(j, json_get(v, "field-class"))))
		return NULL;
	if (ranges) {
		add_ranges(j, t, &t->n_ranges, "=0", ranges);
	} else {
		any = ctf_meta_grow(j->meta, NULL, 0, sizeof *any);
		if (!any) {
			json_fail_memory(j);
			return NULL;
		}
		*any = (struct ctf_label){ "=0", 1, UINT64_MAX };
		t->labels = any;
		t->n_ranges = 1;
	}
	return j->err ? NULL : t;
}

static const struct ctf_type *text_to_nul(struct json_meta *j, const struct json *v)
{
	struct ctf_type *t = new_type(j, CTF_STRING, "");

	if (!t)
		return NULL;
	t->align_bits = 8;
	t->encoding = encoding_of(j, v);
	return j->err ? NULL : t;
}

/* Counts against the limit of all look-ups. */
static const struct ctf_type *alias(struct json_meta *j, const char *name)
{
	j->meta->n_steps += j->n_aliases;
	if (j->meta->n_steps > STEPS_MAX)
		json_fail(j, "more references to aliases than a trace may have");
	for (const struct json_alias *a = j->aliases; a; a = a->next)
		if (!strcmp(a->name, name))
			return a->type;
	json_fail(j, "no field class `%.100s` is named before", name);
	return NULL;
}

static const struct ctf_type *any_type(struct json_meta *j, const struct json *v)
{
	const char *type = json_text(v, "type"), *rest;
	bool is_static;

	if (!type) {
		json_fail(j, "a field class without `type`");
		return NULL;
	}
	if (!strcmp(type, "fixed-length-unsigned-integer") ||
	    !strcmp(type, "fixed-length-unsigned-enumeration") ||
	    !strcmp(type, "fixed-length-bit-array") || !strcmp(type, "fixed-length-bit-map") ||
	    !strcmp(type, "fixed-length-boolean"))
		return integer(j, v, false);
	if (!strcmp(type, "fixed-length-signed-integer") ||
	    !strcmp(type, "fixed-length-signed-enumeration"))
		return integer(j, v, true);
	if (!strcmp(type, "variable-length-unsigned-integer") ||
	    !strcmp(type, "variable-length-unsigned-enumeration"))
		return variable(j, v, false);
	if (!strcmp(type, "variable-length-signed-integer") ||
	    !strcmp(type, "variable-length-signed-enumeration"))
		return variable(j, v, true);
	if (!strcmp(type, "fixed-length-floating-point-number"))
		return real(j, v);
	if (!strcmp(type, "null-terminated-string"))
		return text_to_nul(j, v);
	if (!strcmp(type, "structure"))
		return structure(j, v);
	if (!strcmp(type, "variant"))
		return variant(j, v);
	if (!strcmp(type, "optional"))
		return optional(j, v);
	is_static = !strncmp(type, "static-length-", 14);
	rest = type + (is_static ? 14 : !strncmp(type, "dynamic-length-", 15) ? 15 : 0);
	if (rest > type && !strcmp(rest, "array"))
		return array_of(j, v, json_type(j, json_get(v, "element-field-class")), is_static);
	if (rest > type && !strcmp(rest, "string"))
		return text_of(j, v, is_static);
	if (rest > type && !strcmp(rest, "blob"))
		return array_of(j, v, byte_type(j, false), is_static);
	json_fail(j, "a field class of unknown type `%.60s`", type);
	return NULL;
}

const struct ctf_type *json_type(struct json_meta *j, const struct json *v)
{
	const struct ctf_type *t;

	if (!v)
		json_fail(j, "a field class is missing");
	if (++j->depth > CTF_DEPTH_MAX)
		json_fail(j, "field classes nested deeper than %d", CTF_DEPTH_MAX);
	t = j->err ? NULL : v->kind == JSON_TEXT ? alias(j, v->text) : any_type(j, v);
	j->depth--;
	return j->err ? NULL : t;
}
