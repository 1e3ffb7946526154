/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/read/to_ctf2.c - converts CTF 1.8 metadata to CTF 2: to_ctf2 METADATA > METADATA.
 *
 * The streams stay as they are, so reading must give the same result.  Traces that CTF 2 cannot
 * express are refused with status 3.
 */
#include <inttypes.h>

#include "ctf/decode/link.h"
#include "test.h"

static struct ctf_meta meta;
static enum { HEADER, CONTEXT, EVENT_HEADER, OTHER } scope;

static void say_text(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static const char *shown(const char *name)
{
	return name[0] == '_' ? name + 1 : name;
}

static const char *role_of(const char *name, const struct ctf_type *t)
{
	static const struct {
		int scope;
		const char *name, *role;
	} roles[] = {
		{ HEADER, "magic", "packet-magic-number" },
		{ HEADER, "uuid", "metadata-stream-uuid" },
		{ HEADER, "stream_id", "data-stream-class-id" },
		{ HEADER, "stream_instance_id", "data-stream-id" },
		{ CONTEXT, "timestamp_begin", "default-clock-timestamp" },
		{ CONTEXT, "timestamp_end", "packet-end-default-clock-timestamp" },
		{ CONTEXT, "content_size", "packet-content-length" },
		{ CONTEXT, "packet_size", "packet-total-length" },
		{ CONTEXT, "packet_seq_num", "packet-sequence-number" },
		{ CONTEXT, "events_discarded", "discarded-event-record-counter-snapshot" },
		{ EVENT_HEADER, "id", "event-record-class-id" },
		{ EVENT_HEADER, "timestamp", "default-clock-timestamp" },
	};

	for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++)
		if (roles[i].scope == (int)scope && !strcmp(name, roles[i].name) &&
		    t->kind != CTF_STRUCT && t->kind != CTF_VARIANT)
			return roles[i].role;
	return NULL;
}

static void say_roles(const char *name, const struct ctf_type *t)
{
	const char *role = role_of(name, t);

	if (role)
		printf(",\"roles\":[\"%s\"]", role);
}

static void say_order(const struct ctf_type *t)
{
	int order = t->order == CTF_NATIVE ? meta.order : t->order;

	printf(",\"byte-order\":\"%s-endian\",\"alignment\":%u",
	       order == CTF_BIG ? "big" : "little", t->align_bits);
}

static void say_bound(uint64_t v, bool is_signed)
{
	if (is_signed)
		printf("%" PRId64, (int64_t)v);
	else
		printf("%" PRIu64, v);
}

/* Prints all ranges of the labels named @text; returns true if there is one. */
static bool say_ranges(const struct ctf_type *e, const char *text)
{
	int n = 0;

	putchar('[');
	for (uint32_t i = 0; i < e->n_members; i++) {
		if (strcmp(e->labels[i].text, text))
			continue;
		printf("%s[", n++ ? "," : "");
		say_bound(e->labels[i].first, e->is_signed);
		putchar(',');
		say_bound(e->labels[i].last, e->is_signed);
		putchar(']');
	}
	putchar(']');
	return n;
}

static bool is_first_of_its_name(const struct ctf_type *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(e->labels[i].text, e->labels[n].text))
			return false;
	return true;
}

static void say_integer(const char *name, const struct ctf_type *t)
{
	printf("{\"type\":\"fixed-length-%ssigned-integer\",\"length\":%u,\"preferred-display-"
	       "base\":%u",
	       t->is_signed ? "" : "un", t->size_bits, t->base);
	say_order(t);
	say_roles(name, t);
	if (t->kind == CTF_ENUM) {
		printf(",\"mappings\":{");
		for (uint32_t i = 0, n = 0; i < t->n_members; i++) {
			if (!is_first_of_its_name(t, i))
				continue;
			printf("%s", n++ ? "," : "");
			say_text(t->labels[i].text);
			putchar(':');
			say_ranges(t, t->labels[i].text);
		}
		putchar('}');
	}
	putchar('}');
}

/* Only plain names of the same struct, and full paths. */
static void say_location(const char *path)
{
	static const char *const scopes[][2] = {
		{ "event.fields.", "event-record-payload" },
		{ "stream.event.context.", "event-record-common-context" },
		{ "event.context.", "event-record-specific-context" },
		{ "stream.event.header.", "event-record-header" },
		{ "stream.packet.context.", "packet-context" },
	};

	printf("{");
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		if (strncmp(path, scopes[i][0], strlen(scopes[i][0])))
			continue;
		printf("\"origin\":\"%s\",", scopes[i][1]);
		path += strlen(scopes[i][0]);
		break;
	}
	printf("\"path\":[");
	if (strchr(path, '.'))
		exit(3);
	say_text(shown(path));
	printf("]}");
}

static const struct ctf_type *tag_in(const struct ctf_type *around, const char *path)
{
	const char *last = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;

	for (uint32_t i = 0; around && i < around->n_members; i++)
		if (!strcmp(around->members[i].name, last))
			return around->members[i].type;
	exit(3);
}

static void say_type(const char *name, const struct ctf_type *t, const struct ctf_type *around);

static bool is_byte(const struct ctf_type *t)
{
	return t->kind == CTF_INTEGER && t->size_bits == 8 && t->align_bits == 8 && t->is_text;
}

static void say_array(const char *name, const struct ctf_type *t, const struct ctf_type *around)
{
	const char *length = t->kind == CTF_ARRAY ? "static" : "dynamic";

	if (role_of(name, t))
		printf("{\"type\":\"static-length-blob\"");
	else
		printf("{\"type\":\"%s-length-%s\"", length, is_byte(t->of) ? "string" : "array");
	if (t->kind == CTF_ARRAY) {
		printf(",\"length\":%" PRIu64, t->length);
	} else {
		printf(",\"length-field-location\":");
		say_location(t->path);
	}
	if (!is_byte(t->of) && !role_of(name, t)) {
		printf(",\"element-field-class\":");
		say_type(NULL, t->of, around);
	}
	say_roles(name, t);
	putchar('}');
}

static void say_struct(const struct ctf_type *t)
{
	printf("{\"type\":\"structure\",\"minimum-alignment\":%u,\"member-classes\":[",
	       t->align_bits);
	for (uint32_t i = 0; i < t->n_members; i++) {
		printf("%s{\"name\":", i ? "," : "");
		say_text(shown(t->members[i].name));
		printf(",\"field-class\":");
		say_type(t->members[i].name, t->members[i].type, t);
		putchar('}');
	}
	printf("]}");
}

static void say_variant(const struct ctf_type *t, const struct ctf_type *around)
{
	const struct ctf_type *tag = tag_in(around, t->path);

	printf("{\"type\":\"variant\",\"selector-field-location\":");
	say_location(t->path);
	printf(",\"options\":[");
	for (uint32_t i = 0; i < t->n_members; i++) {
		printf("%s{\"name\":", i ? "," : "");
		say_text(shown(t->members[i].name));
		printf(",\"selector-field-ranges\":");
		if (!say_ranges(tag, t->members[i].name))
			exit(3);
		printf(",\"field-class\":");
		say_type(NULL, t->members[i].type, around);
		putchar('}');
	}
	printf("]}");
}

static void say_type(const char *name, const struct ctf_type *t, const struct ctf_type *around)
{
	switch (t->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
		return say_integer(name, t);
	case CTF_FLOAT:
		printf("{\"type\":\"fixed-length-floating-point-number\",\"length\":%u",
		       t->size_bits);
		say_order(t);
		putchar('}');
		return;
	case CTF_STRING:
		printf("{\"type\":\"null-terminated-string\"}");
		return;
	case CTF_STRUCT:
		return say_struct(t);
	case CTF_VARIANT:
		return say_variant(t, around);
	default:
		return say_array(name, t, around);
	}
}

static void say_scope(const char *key, const struct ctf_type *t, int which)
{
	if (!t)
		return;
	scope = which;
	printf(",\"%s-field-class\":", key);
	say_type(NULL, t, NULL);
}

static void say_trace(void)
{
	printf("\x1e{\"type\":\"preamble\",\"version\":2");
	for (int i = 0; i < 16 && meta.has_uuid; i++)
		printf("%s%u", i ? "," : ",\"uuid\":[", meta.uuid[i]);
	printf("%s}\n\x1e{\"type\":\"trace-class\",\"environment\":{", meta.has_uuid ? "]" : "");
	for (uint32_t i = 0; i < meta.n_env; i++) {
		printf("%s", i ? "," : "");
		say_text(meta.env[i].key);
		if (meta.env[i].text) {
			putchar(':');
			say_text(meta.env[i].text);
		} else {
			printf(":%" PRId64, meta.env[i].number);
		}
	}
	putchar('}');
	say_scope("packet-header", meta.packet_header, HEADER);
	printf("}\n");
	for (uint32_t i = 0; i < meta.n_clocks; i++)
		printf("\x1e{\"type\":\"clock-class\",\"id\":\"%s\",\"frequency\":%" PRIu64
		       ",\"offset-from-origin\":{\"seconds\":%" PRId64 ",\"cycles\":%" PRId64
		       "}}\n",
		       meta.clocks[i].name, meta.clocks[i].freq, meta.clocks[i].offset_s,
		       meta.clocks[i].offset);
}

int main(int argc, char **argv)
{
	struct diag d;

	if (argc != 2 || ctf_meta_open(&meta, argv[1], &d)) {
		fprintf(stderr, "to_ctf2: %s\n", argc == 2 ? d.text : "usage: to_ctf2 METADATA");
		return 2;
	}
	say_trace();
	for (const struct ctf_stream_class *s = meta.streams; s; s = s->next) {
		printf("\x1e{\"type\":\"data-stream-class\",\"id\":%u", s->id);
		say_scope("packet-context", s->packet_context, CONTEXT);
		say_scope("event-record-header", s->event_header, EVENT_HEADER);
		say_scope("event-record-common-context", s->event_context, OTHER);
		printf("}\n");
	}
	for (const struct ctf_event_class *e = meta.events; e; e = e->next) {
		printf("\x1e{\"type\":\"event-record-class\",\"id\":%u,\"data-stream-class-id\":%u,"
		       "\"name\":",
		       e->id, e->stream_id);
		say_text(e->name);
		say_scope("specific-context", e->context, OTHER);
		say_scope("payload", e->fields, OTHER);
		printf("}\n");
	}
	ctf_meta_close(&meta);
	return 0;
}
