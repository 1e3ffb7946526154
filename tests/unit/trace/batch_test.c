/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/batch_test.c - events read in batches equal those read one by one, wherever a
 * packet is cut or damaged.
 *
 * With headers of each kind.  Ids that differ by CTF_SORTS share a place in the cache of frequent
 * classes (ctf/decode/batch.c): an event taken for one of the other class has another size, and
 * other fields.  Behind the events of a packet lie bytes that look like more of them, so that a
 * reader that goes beyond its end finds some.
 */
#include "unit/trace/make_trace.h"

#define EVENTS                                                                                     \
	"event { name = \"numbers\"; id = 2; stream_id = 0; fields := struct { u32 _x; u64 _y; "   \
	"u16 _z; }; };\n"                                                                          \
	"event { name = \"byte\"; id = 66; stream_id = 0; fields := struct { u8 _x; }; };\n"       \
	"event { name = \"text\"; id = 130; stream_id = 0; fields := struct { u16 _x; string _s; " \
	"}; };\n"                                                                                  \
	"event { name = \"texts\"; id = 3; stream_id = 0; fields := struct { u64 _x; string _s; "  \
	"string _t; }; };\n"                                                                       \
	"event { name = \"counted\"; id = 5; stream_id = 0; fields := struct { u8 __t_length; "    \
	"integer { size = 8; align = 8; encoding = UTF8; } _t[ __t_length ]; }; };\n"              \
	"event { name = \"threads\"; id = 30; stream_id = 0; fields := struct { "                  \
	"integer { size = 24; align = 1; signed = true; } _v; "                                    \
	"integer { size = 24; align = 1; signed = true; } _w; u8 _x; } align(8); };\n"

#define PLAIN(header)                                                                              \
	HEAD("le") "stream { id = 0; " CONTEXT "event.header := struct { " header " }; };\n"

enum header { COMPACT_HEADER, WIDE_HEADER, LARGE_HEADER, KERNEL_HEADER, OTHER_HEADER, N_HEADERS };
static const char *const metadata[N_HEADERS] = {
	COMPACT EVENTS,
	WIDE EVENTS,
	LARGE EVENTS,
	PLAIN("t32 timestamp; u16 id;") EVENTS,
	PLAIN("u16 id; t64 timestamp;") EVENTS,
};

static const uint32_t ids[] = { 2, 66, 130, 3, 5, 30 };
enum { N_IDS = sizeof ids / sizeof *ids, RUN = 150, MIXED = 300, BEYOND = 4, CUT_MOST = 60 };

static const char *path;
static struct bytes trace;    /* two packets */
static size_t body, body_end; /* of the first: without the bytes beyond it */

static void put_event(struct bytes *b, enum header h, uint32_t id, uint64_t time)
{
	if (h == COMPACT_HEADER ? id < 31 : h == WIDE_HEADER && id < 30) {
		put(b, id | time << 5, 4);
	} else if (h == WIDE_HEADER && time % 16) {
		put(b, 30 | time << 5, 4);
		put(b, id, 2);
	} else if (h == COMPACT_HEADER || h == WIDE_HEADER) {
		put(b, 31, 1);
		put(b, id, 4);
		put(b, time, 8);
	} else if (h == KERNEL_HEADER) {
		put(b, time, 4);
		put(b, id, 2);
	} else {
		put(b, id, 2);
		put(b, time, h == LARGE_HEADER ? 4 : 8);
	}
	put(b, time * 0x0101, id == 2 ? 4 : id == 130 ? 2 : id == 3 ? 8 : id == 30 ? 3 : 0);
	if (id == 2) {
		put(b, ~time, 8);
		put(b, time, 2);
	} else if (id == 66) {
		put(b, time, 1);
	} else if (id == 30) {
		put(b, ~time, 3);
		put(b, time, 1);
	} else if (id == 5) {
		put(b, time % 7, 1);
		for (uint64_t i = 0; i < time % 7; i++)
			put(b, 'c', 1);
	} else {
		put_text(b, time % 3 ? "some" : "words of a text that is longer");
		if (id == 3)
			put_text(b, time % 2 ? "" : "t");
	}
}

/* Runs of one class, and then of all in turns; the last events, and those beyond, are of class
 * @last. */
static void make(enum header h, uint32_t last)
{
	uint64_t time = 1000;
	size_t at;

	trace.n = 0;
	at = begin_packet(&trace, time, 0, 0);
	body = trace.n;
	for (uint32_t run = 0; run < 2 * N_IDS; run++)
		for (int i = 0; i < RUN; i++)
			put_event(&trace, h, ids[run % N_IDS], time++);
	for (uint64_t i = 0; i < MIXED; i++)
		put_event(&trace, h, ids[i * i % 11 % N_IDS], time++);
	for (int i = 0; i < BEYOND; i++)
		put_event(&trace, h, last, time++);
	body_end = trace.n;
	for (int i = 0; i < BEYOND; i++)
		put_event(&trace, h, last, time++);
	end_packet(&trace, at);
	put_at(&trace, at + AT_CONTENT, (body_end - at) * 8, 8);
	at = begin_packet(&trace, time, 1, 0);
	for (int i = 0; i < RUN; i++)
		put_event(&trace, h, ids[i % N_IDS], time++);
	end_packet(&trace, at);
}

/* ---------------------------------------------------------------- reading */

struct seen {
	uint64_t n_events, n_damages;
	uint64_t sum; /* of all their reported values, in order: FNV-1a by words */
};

static void add(struct seen *s, uint64_t v)
{
	s->sum = (s->sum ^ v) * 0x100000001b3u;
}

static void add_text(struct seen *s, const char *text, size_t size)
{
	add(s, size);
	for (size_t i = 0; i < size; i++)
		add(s, (uint8_t)text[i]);
}

static void add_cells(struct seen *s, int64_t time_ns, const struct ctf_event_class *c,
		      const struct ctf_column *columns)
{
	s->n_events++;
	add(s, (uint64_t)time_ns);
	add(s, c->number);
	for (uint32_t i = 0; i < c->program->n_columns; i++)
		if (c->program->columns[i]->code == OP_NUMBER)
			add(s, columns[i].u);
		else
			add_text(s, columns[i].text, columns[i].size);
}

static void reported_damage(void *context, const char *text)
{
	add_text(context, text, strlen(text));
}

static const struct ctf_event_class *class_of(const struct trace *t, uint32_t number)
{
	const struct ctf_event_class *c = trace_source(t, 0)->meta->events;

	while (c && c->number != number)
		c = c->next;
	return c;
}

/* @n_rows: of a batch; 0: one by one.  @is_mixed: one alone after each batch. */
static struct seen read_all(uint32_t n_rows, bool is_mixed)
{
	struct seen seen = { 0 };
	const struct trace_options o = { .warn = reported_damage, .context = &seen };
	struct ctf_column columns[CTF_COLUMNS_MAX];
	static struct ctf_row rows[1000];
	struct trace_event e;
	struct trace *t;
	struct diag d;
	uint32_t n;
	int item;

	if (trace_open(&t, &path, 1, &o, &d))
		return seen;
	do {
		do {
			n = trace_batch(t, rows, n_rows);
			for (uint32_t i = 0; i < n; i++)
				add_cells(&seen, rows[i].time_ns, class_of(t, rows[i].class_number),
					  rows[i].columns);
		} while (n && !is_mixed);
		item = trace_next(t, &e, &d);
		if (item == TRACE_EVENT && ctf_event_columns(e.ctf, columns))
			add_cells(&seen, e.time_ns, e.ctf->class, columns);
		else
			add(&seen, (uint64_t)item);
	} while (item > 0);
	seen.n_damages = trace_n_damages(t);
	trace_close(t);
	return seen;
}

/* Reads the events one by one; @n_wrong: how many ways of reading by batches give another
 * result. */
static struct seen read_in_all_ways(uint32_t *n_wrong)
{
	static const struct {
		uint32_t n_rows;
		bool is_mixed;
	} ways[] = { { 1000, false }, { 1, false }, { 37, true } };
	struct seen alone;

	write_file(path, "s0", trace.at, trace.n);
	alone = read_all(0, false);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct seen batch = read_all(ways[i].n_rows, ways[i].is_mixed);

		*n_wrong += batch.n_events != alone.n_events ||
			    batch.n_damages != alone.n_damages || batch.sum != alone.sum;
	}
	return alone;
}

/* ---------------------------------------------------------------- cases */

enum { EVENTS_WHOLE = 2 * N_IDS * RUN + MIXED + BEYOND + RUN };

static void a_packet_cut_anywhere_ends_at_the_last_whole_event(void)
{
	for (int h = 0; h < N_HEADERS; h++) {
		uint32_t n_wrong = 0, n_more = 0;

		write_file(path, "metadata", metadata[h], strlen(metadata[h]));
		for (int last = 0; last < N_IDS; last++) {
			struct seen before;

			make((enum header)h, ids[last]);
			before = read_in_all_ways(&n_wrong);
			is(before.n_events, EVENTS_WHOLE);
			is(before.n_damages, 0);
			for (size_t cut = 1; cut <= CUT_MOST; cut++) {
				struct seen now;

				put_at(&trace, AT_CONTENT, (body_end - cut) * 8, 8);
				now = read_in_all_ways(&n_wrong);
				n_more += now.n_events > before.n_events ||
					  (cut == 1 && now.n_events == before.n_events);
				before = now;
			}
			ok(before.n_events < EVENTS_WHOLE);
		}
		is(n_wrong, 0);
		is(n_more, 0);
	}
}

static void a_damaged_byte_is_the_same_damage(void)
{
	uint64_t n_damages = 0;

	for (int h = 0; h < N_HEADERS; h++) {
		uint32_t n_wrong = 0;

		write_file(path, "metadata", metadata[h], strlen(metadata[h]));
		make((enum header)h, ids[h]);
		for (size_t at = body; at < body_end; at += 197) {
			trace.at[at] ^= 0xff;
			n_damages += read_in_all_ways(&n_wrong).n_damages;
			trace.at[at] ^= 0xff;
		}
		is(n_wrong, 0);
	}
	ok(n_damages > 20);
}

/* A stream is decoded ahead while it stands on an event that was not read yet: the numbers of
 * its header are needed. */
static void counts_in_an_event_header_are_its_own(void)
{
	static const char counted[] =
		PLAIN("u16 id; u8 length; t64 timestamp;") "event { name = \"counted\"; id = 0; "
							   "stream_id = 0; fields := struct { "
							   "integer { size = 8; align = 8; "
							   "encoding = UTF8; } _t[ "
							   "stream.event.header.length ]; }; };\n";
	static struct bytes b;
	uint32_t n_wrong = 0;

	write_file(path, "metadata", counted, sizeof counted - 1);
	for (uint64_t s = 0; s < 2; s++) {
		struct bytes *to = s ? &trace : &b;
		size_t at;

		to->n = 0;
		at = begin_packet(to, 1000, 0, 0);
		for (uint64_t i = 0; i < MIXED; i++) {
			put(to, 0, 2);
			put(to, i % 13, 1);
			put(to, 1000 + i * 3 + s, 8);
			for (uint64_t k = 0; k < i % 13; k++)
				put(to, 'a' + i % 26, 1);
		}
		end_packet(to, at);
	}
	write_file(path, "s1", b.at, b.n);
	is(read_in_all_ways(&n_wrong).n_events, 2 * MIXED);
	is(n_wrong, 0);
}

int main(void)
{
	path = make_directory();
	run(a_packet_cut_anywhere_ends_at_the_last_whole_event);
	run(a_damaged_byte_is_the_same_damage);
	run(counts_in_an_event_header_are_its_own);
	remove_directory(path);
	return test_status();
}
