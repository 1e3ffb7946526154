/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/ctf2.c - reads the fragments of CTF 2 metadata.
 *
 * A CTF 2 metadata stream is a JSON text sequence (RFC 7464): a record separator before each
 * fragment. A fragment is added to the metadata only if it is complete.
 */
#include "ctf/meta/ctf2.h"

#include <stdarg.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include "ctf/meta/json.h"

enum { STREAMS_MAX = 256, ALIASES_MAX = 4096, RECORD_SEPARATOR = 0x1e };

void json_fail(struct json_meta *j, const char *format, ...)
{
	char why[400];
	va_list ap;

	if (j->err)
		return;
	va_start(ap, format);
	vsnprintf(why, sizeof why, format, ap);
	va_end(ap);
	j->err = diag_fail(j->diag, -EINVAL, "%s", why);
}

void json_fail_memory(struct json_meta *j)
{
	if (!j->err)
		j->err = diag_fail(j->diag, -ENOMEM, "no memory");
}

char *json_keep(struct json_meta *j, const char *prefix, const char *text)
{
	size_t n = strlen(prefix), m = strlen(text);
	char *s = ctf_meta_alloc(j->meta, n + m + 1);

	if (!s) {
		json_fail_memory(j);
		return NULL;
	}
	memcpy(s, prefix, n);
	memcpy(s + n, text, m);
	return s;
}

const char *json_text(const struct json *object, const char *name)
{
	const struct json *v = json_get(object, name);

	return v && v->kind == JSON_TEXT ? v->text : NULL;
}

uint64_t json_number(struct json_meta *j, const struct json *object, const char *name,
		     uint64_t otherwise, uint64_t most)
{
	const struct json *v = json_get(object, name);

	if (!v)
		return otherwise;
	if (v->kind != JSON_NUMBER || v->is_negative || v->number > most) {
		json_fail(j, "`%s` must be a whole number up to %llu", name,
			  (unsigned long long)most);
		return otherwise;
	}
	return v->number;
}

static void take_uuid(struct json_meta *j, const struct json *v, struct ctf_meta *m)
{
	int n = 0;

	if (!v)
		return;
	for (const struct json *b = v->kind == JSON_ARRAY ? v->first : NULL; b; b = b->next, n++) {
		if (b->kind != JSON_NUMBER || b->number > 255 || n >= 16)
			return json_fail(j, "a uuid that is not 16 bytes");
		m->uuid[n] = (uint8_t)b->number;
	}
	if (n != 16)
		return json_fail(j, "a uuid that is not 16 bytes");
	m->has_uuid = true;
}

static void preamble(struct json_meta *j, const struct json *v)
{
	const struct json *extensions = json_get(v, "extensions");

	if (j->meta->has_trace)
		return json_fail(j, "a second preamble");
	if (json_number(j, v, "version", 0, UINT32_MAX) != 2)
		return json_fail(j, "a version other than 2");
	if (extensions && extensions->first)
		return json_fail(j, "it needs an extension of the format, and duet reads none");
	take_uuid(j, json_get(v, "uuid"), j->meta);
	if (j->err)
		return;
	j->meta->has_trace = true;
	j->meta->order = CTF_LITTLE;
}

static void field_class_alias(struct json_meta *j, const struct json *v)
{
	const struct ctf_type *type = json_type(j, json_get(v, "field-class"));
	const char *name = json_text(v, "name");
	struct json_alias *a;

	if (!name || ++j->n_aliases > ALIASES_MAX)
		json_fail(j,
			  name ? "more than %d field class aliases"
			       : "one of %d aliases without name",
			  ALIASES_MAX);
	name = j->err ? NULL : json_keep(j, "", name);
	a = j->err ? NULL : ctf_meta_alloc(j->meta, sizeof *a);
	if (!a) {
		json_fail(j, "no memory");
		return;
	}
	*a = (struct json_alias){ j->aliases, name, type };
	j->aliases = a;
}

/* The class of a scope: a structure, or none. */
static const struct ctf_type *scope(struct json_meta *j, const struct json *v, const char *name)
{
	const struct json *class = json_get(v, name);
	const struct ctf_type *t = class ? json_type(j, class) : NULL;

	if (t && t->kind != CTF_STRUCT)
		json_fail(j, "`%s` must be a structure", name);
	return j->err ? NULL : t;
}

static void environment(struct json_meta *j, const struct json *v)
{
	struct ctf_meta *m = j->meta;

	for (const struct json *e = v && v->kind == JSON_OBJECT ? v->first : NULL; e && !j->err;
	     e = e->next) {
		struct ctf_env *list = ctf_meta_grow(m, m->env, m->n_env, sizeof *list),
			       one = { 0 };

		one.key = json_keep(j, "", e->name);
		one.text = e->kind == JSON_TEXT ? json_keep(j, "", e->text) : NULL;
		one.number = (int64_t)e->number;
		if (!list)
			json_fail(j, "no memory");
		if (j->err)
			return;
		list[m->n_env++] = one;
		m->env = list;
	}
}

/* The byte order of the magic number, used to find packets again after damaged data. */
static void trace_class(struct json_meta *j, const struct json *v)
{
	const struct ctf_type *header = scope(j, v, "packet-header-field-class");

	if (j->err)
		return;
	j->meta->packet_header = header;
	for (uint32_t i = 0; header && i < header->n_members; i++)
		if (header->members[i].type->role &&
		    !strcmp(header->members[i].type->role, "magic"))
			j->meta->order = header->members[i].type->order;
	environment(j, json_get(v, "environment"));
}

static int64_t signed_number(struct json_meta *j, const struct json *v, const char *name)
{
	const struct json *n = json_get(v, name);

	if (n && n->kind != JSON_NUMBER)
		json_fail(j, "`%s` must be a whole number", name);
	return n ? (int64_t)n->number : 0;
}

static void clock_class(struct json_meta *j, const struct json *v)
{
	const struct json *offset = json_get(v, "offset-from-origin");
	const char *name = json_text(v, "id");
	struct ctf_clock c = { 0 }, *list;
	struct ctf_meta *m = j->meta;

	if (!name)
		name = json_text(v, "name");
	c.name = json_keep(j, "", name ? name : "");
	c.freq = json_number(j, v, "frequency", 1000000000, UINT64_MAX);
	c.offset_s = signed_number(j, offset, "seconds");
	c.offset = signed_number(j, offset, "cycles");
	if (!c.freq)
		json_fail(j, "a clock of 0 Hz");
	list = j->err ? NULL : ctf_meta_grow(m, m->clocks, m->n_clocks, sizeof *list);
	if (!list)
		return json_fail(j, "no memory");
	list[m->n_clocks++] = c;
	m->clocks = list;
}

static void data_stream_class(struct json_meta *j, const struct json *v)
{
	struct ctf_stream_class *s = ctf_meta_alloc(j->meta, sizeof *s);
	struct ctf_meta *m = j->meta;

	if (!s)
		return json_fail(j, "no memory");
	s->id = (uint32_t)json_number(j, v, "id", 0, UINT32_MAX);
	s->packet_context = scope(j, v, "packet-context-field-class");
	s->event_header = scope(j, v, "event-record-header-field-class");
	s->event_context = scope(j, v, "event-record-common-context-field-class");
	if (!j->err && m->n_streams >= STREAMS_MAX)
		json_fail(j, "more than %d stream classes", STREAMS_MAX);
	if (!j->err && ctf_meta_stream(m, s->id))
		json_fail(j, "a second data stream class with id %u", s->id);
	if (j->err)
		return;
	m->n_streams++;
	s->next = m->streams;
	m->streams = s;
}

static void event_record_class(struct json_meta *j, const struct json *v)
{
	struct ctf_event_class *e = ctf_meta_alloc(j->meta, sizeof *e);
	const char *name = json_text(v, "name");
	struct ctf_meta *m = j->meta;

	if (!e)
		return json_fail(j, "no memory");
	e->loglevel = -1;
	e->name = json_keep(j, "", name ? name : "(unnamed)");
	e->id = (uint32_t)json_number(j, v, "id", 0, UINT32_MAX);
	e->stream_id = (uint32_t)json_number(j, v, "data-stream-class-id", 0, UINT32_MAX);
	e->has_stream_id = true; /* the default is 0 */
	e->context = scope(j, v, "specific-context-field-class");
	e->fields = scope(j, v, "payload-field-class");
	if (j->err)
		return;
	e->number = m->n_events++;
	if (!m->last_event)
		m->last_event = &m->events;
	*m->last_event = e;
	m->last_event = &e->next;
}

static void fragment(struct json_meta *j, const struct json *v)
{
	static const struct {
		const char *type;
		void (*take)(struct json_meta *j, const struct json *v);
	} kinds[] = {
		{ "preamble", preamble },
		{ "field-class-alias", field_class_alias },
		{ "trace-class", trace_class },
		{ "clock-class", clock_class },
		{ "data-stream-class", data_stream_class },
		{ "event-record-class", event_record_class },
	};
	const char *type = json_text(v, "type");

	if (!type)
		return json_fail(j, "a fragment without type");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(type, kinds[i].type))
			continue;
		if (i && !j->meta->has_trace)
			return json_fail(j, "a %s before the preamble", type);
		return kinds[i].take(j, v);
	}
	json_fail(j, "a fragment of unknown type `%.60s`", type);
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) && *at)
		at++;
	return at == end;
}

int ctf_meta_parse_json(struct ctf_meta *m, const char *text, size_t size, struct diag *d)
{
	struct json_meta j = { .meta = m, .diag = d };
	const char *end = text + size;
	struct diag why = { 0 };
	int n = 0, bad = 0, err = 0;

	for (const char *at = text, *next; at < end; at = next, n++) {
		const char *begin = at;
		const struct json *v;

		at += *at == RECORD_SEPARATOR;
		next = at < end ? memchr(at, RECORD_SEPARATOR, (size_t)(end - at)) : NULL;
		next = next ? next : end;
		if (is_blank(at, next))
			continue;
		j.diag = err ? NULL : &why;
		v = json_parse(&j.scratch, at, (size_t)(next - at), j.diag);
		if (!v)
			j.err = -EINVAL;
		else
			fragment(&j, v);
		ctf_meta_close(&j.scratch);
		if (!j.err)
			continue;
		bad = err ? bad : n + 1;
		err = err ? err : j.err;
		if (j.err != -EINVAL ||
		    !ctf_meta_add_gap(m, (size_t)(begin - text), (size_t)(next - text)))
			break;
		j.err = 0;
		j.depth = 0;
	}
	if (err)
		diag_fail(d, err, "CTF 2, fragment %d: %.500s", bad, why.text);
	return err;
}
