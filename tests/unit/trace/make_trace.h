/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/make_trace.h - traces made by hand, byte for byte, and a reader's output for
 * them.
 *
 * make_trace() writes a directory with a metadata file and one stream file; trace_text() reads it
 * and returns everything as text, a line per item:
 *
 *	1000 0 shop:order { x = 1, v = [ 1 2 ], s = "a" }
 *	lost 3 events 0 packets
 *	end, 0 damaged
 */
#ifndef READ_MAKE_H
#define READ_MAKE_H

#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "test.h"
#include "trace/trace.h"

struct bytes {
	uint8_t at[1 << 17];
	size_t n;
};

static inline void put(struct bytes *b, uint64_t v, int size)
{
	for (int i = 0; i < size; i++)
		b->at[b->n++] = (uint8_t)(v >> 8 * i);
}

static inline void put_big(struct bytes *b, uint64_t v, int size)
{
	for (int i = size; i-- > 0;)
		b->at[b->n++] = (uint8_t)(v >> 8 * i);
}

static inline void put_text(struct bytes *b, const char *s)
{
	memcpy(b->at + b->n, s, strlen(s) + 1);
	b->n += strlen(s) + 1;
}

static inline void write_file(const char *directory, const char *name, const void *bytes, size_t n)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		exit(1);
}

static inline const char *make_directory(void)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/duet-read-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(path))
		exit(1);
	return path;
}

/* With the streams s0, s1, ... */
static inline void remove_directory(const char *path)
{
	char file[512];
	int n = 0;

	snprintf(file, sizeof file, "%s/metadata", path);
	unlink(file);
	do
		snprintf(file, sizeof file, "%s/s%d", path, n++);
	while (!unlink(file));
	rmdir(path);
}

static inline void add_value_text(struct text *t, enum ctf_found f, const struct ctf_value *v)
{
	if (f == CTF_CLOSE || f == CTF_CLOSE_ARRAY) {
		text_addf(t, f == CTF_CLOSE ? " }" : " ]");
		return;
	}
	text_addf(t, v->name ? " %s = " : " ", v->name);
	if (f == CTF_LABEL)
		text_addf(t, "%s:", v->label ? v->label : "?");
	if (f == CTF_TEXT)
		text_addf(t, "\"%.*s\"", (int)v->size, v->text);
	else if (f == CTF_REAL)
		text_addf(t, "%.9g", v->real);
	else if (f == CTF_OPEN || f == CTF_OPEN_ARRAY)
		text_addf(t, f == CTF_OPEN ? "{" : "[");
	else if (f == CTF_INT || (f == CTF_LABEL && v->is_signed))
		text_addf(t, "%" PRId64, v->i);
	else
		text_addf(t, "%" PRIu64, v->u);
}

/* All cells read at once equal those of the walk, field by field. */
static inline bool cells_agree(const struct ctf_event *e)
{
	struct ctf_column columns[CTF_COLUMNS_MAX], *c = columns;
	struct ctf_value v;
	struct ctf_walk w;
	enum ctf_found f;

	if (!ctf_event_columns(e, columns))
		return !e->class->program->loads;
	ctf_walk_event(&w, e, CTF_CONTEXT);
	while ((f = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		if (v.is_hidden)
			continue;
		if (f == CTF_TEXT && (c->text != v.text || c->size != v.size))
			return false;
		if (f != CTF_TEXT && memcmp(&c->u, &v.u, sizeof c->u))
			return false;
		c++;
	}
	return c - columns == e->class->program->n_columns;
}

static inline void add_event_text(struct text *t, const struct trace_event *e)
{
	struct ctf_walk w;
	struct ctf_value v;
	enum ctf_found f;

	text_addf(t, "%" PRId64 " %d %s {", e->time_ns, (int)e->cpu, e->ctf->class->name);
	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((f = ctf_walk_next(&w, &v)) != CTF_WALK_END)
		if (!v.is_hidden)
			add_value_text(t, f, &v);
	text_addf(t, cells_agree(e->ctf) ? " }\n" : " } but cells differ\n");
}

/* The items read from @path; to be freed. */
static inline char *trace_text(const char *path)
{
	struct text t = { 0 };
	struct trace_event e;
	struct trace *trace;
	struct diag d;
	int item;

	if (trace_open(&trace, &path, 1, NULL, &d)) {
		text_addf(&t, "no: %s\n", strchr(d.text, ':') ? strrchr(d.text, ':') + 2 : d.text);
		return t.bytes;
	}
	while ((item = trace_next(trace, &e, &d)) > 0) {
		if (item == TRACE_EVENT)
			add_event_text(&t, &e);
		else
			text_addf(&t, "lost %" PRIu64 " events %" PRIu64 " packets\n",
				  e.lost_events, e.lost_packets);
	}
	text_addf(&t, "end, %" PRIu64 " damaged\n", trace_n_damages(trace));
	trace_close(trace);
	return t.bytes;
}

#define TYPES                                                                                      \
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"                      \
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"                    \
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"                    \
	"typealias integer { size = 32; align = 8; signed = true; } := i32;\n"                     \
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"                    \
	"typealias integer { size = 32; align = 8; signed = false; map = clock.c.value; } := "     \
	"t32;\n"                                                                                   \
	"typealias integer { size = 27; align = 1; signed = false; map = clock.c.value; } := "     \
	"t27;\n"                                                                                   \
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := "     \
	"t64;\n"                                                                                   \
	"typealias integer { size = 5; align = 1; signed = false; } := u5;\n"                      \
	"clock { name = c; freq = 1000000000; offset = 0; };\n"

#define HEAD(order)                                                                                \
	"/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = " order "; "           \
	"uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\"; "                                        \
	"packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };\n"

#define CONTEXT                                                                                    \
	"packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; "    \
	"u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };\n"

#define COMPACT                                                                                    \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { "                                    \
	"enum : u5 { compact = 0 ... 30, extended = 31 } id; variant <id> { "                      \
	"struct { t27 timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } "   \
	"align(8); };\n"

#define WIDE                                                                                       \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { "                                    \
	"enum : u5 { compact = 0 ... 29, wide = 30, extended = 31 } id; variant <id> { "           \
	"struct { t27 timestamp; } compact; struct { t27 timestamp; "                              \
	"integer { size = 16; align = 1; signed = false; } id; } wide; "                           \
	"struct { u32 id; t64 timestamp; } extended; } v; } align(8); };\n"

#define LARGE                                                                                      \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { "                                    \
	"enum : u16 { compact = 0 ... 65534, extended = 65535 } id; variant <id> { "               \
	"struct { t32 timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } "   \
	"align(8); };\n"

enum { PACKET_HEAD = 24 + 52, AT_CONTENT = 24 + 16, AT_PACKET = 24 + 24 };

/* Begins a packet; returns where, for end_packet(). */
static inline size_t begin_packet(struct bytes *b, uint64_t begin, uint64_t sequence,
				  uint64_t discarded)
{
	size_t at = b->n;

	put(b, 0xC1FC1FC1, 4);
	for (int i = 0; i < 16; i++)
		put(b, (uint64_t)i, 1);
	put(b, 0, 4);
	put(b, begin, 8);
	put(b, begin + 1000000000, 8);
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, sequence, 8);
	put(b, discarded, 8);
	put(b, 2, 4);
	return at;
}

static inline void put_at(struct bytes *b, size_t at, uint64_t v, int size)
{
	size_t n = b->n;

	b->n = at;
	put(b, v, size);
	b->n = n;
}

static inline void end_packet(struct bytes *b, size_t at)
{
	put_at(b, at + AT_CONTENT, (b->n - at) * 8, 8);
	put_at(b, at + AT_PACKET, (b->n - at) * 8, 8);
}

/* A trace of one stream. */
static inline char *trace_text_of(const char *metadata, const struct bytes *b)
{
	const char *path = make_directory();
	char *text;

	write_file(path, "metadata", metadata, strlen(metadata));
	write_file(path, "s0", b->at, b->n);
	text = trace_text(path);
	remove_directory(path);
	return text;
}

#endif
