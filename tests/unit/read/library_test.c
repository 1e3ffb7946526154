/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/read/library_test.c - libduet-read, through its header alone: read_lib [TRACE...].
 *
 * Without TRACE, a trace of some streams made here, with losses, a damaged packet and the stump of
 * one; with --large its events have headers of the other kind.
 */
#include <errno.h>

#include <duet/read.h>

#include "unit/trace/make_trace.h"

#define EVENTS                                                                                     \
	"event { name = \"one\"; id = 0; stream_id = 0; fields := struct { u8 _x; string _s; }; "  \
	"};\n"                                                                                     \
	"event { name = \"two\"; id = 1; stream_id = 0; fields := struct { u16 __v_length;"        \
	"i32 _v[ __v_length ]; enum : u8 { A, B = 1 ... 9 } _e; variant <_e> { u64 A; string B; "  \
	"} _w;"                                                                                    \
	"floating_point { exp_dig = 11; mant_dig = 53; } _d; }; };\n"                              \
	"event { name = \"three\"; id = 2; stream_id = 0; fields := struct { i32 _a; i32 _b; "     \
	"integer { size = 8; align = 8; signed = true; } _c; u64 _d;"                              \
	"integer { size = 12; align = 8; } _odd; integer { size = 16; align = 8; byte_order = "    \
	"be; } _be;"                                                                               \
	"floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _f; u16 __t_length;"            \
	"integer { size = 8; align = 8; encoding = UTF8; } _t[ __t_length ]; string _s; integer "  \
	"{ size = 16; align = 8; signed = true; } _last; }; };\n"                                  \
	"event { name = \"four\"; id = 3; stream_id = 0; fields := struct { u16 _a; string _s; "   \
	"string _t; }; };\n"                                                                       \
	"event { name = \"five\"; id = 4; stream_id = 0; fields := struct { u64 _a; i32 _b; u8 "   \
	"_c; integer { size = 24; align = 8; } _odd; "                                             \
	"integer { size = 8; align = 8; encoding = UTF8; } _t[20]; }; };\n"                        \
	"event { name = \"six\"; id = 68; stream_id = 0; fields := struct { u8 _a; }; };\n"        \
	"event { name = \"seven\"; id = 5; stream_id = 0; fields := struct { }; };\n"              \
	"event { name = \"eight\"; id = 31; stream_id = 0; fields := struct { u32 _a; }; };\n"     \
	"event { name = \"nine\"; id = 65535; stream_id = 0; fields := struct { u16 _a; }; };\n"

enum { ITEMS_MAX = 1 << 20 };
static const char *const *paths;
static int n_paths;
static struct duet_read *r;
static struct duet_read_item *items; /* forward, from the beginning */
static size_t n_items;
static int n_reported;
static bool is_large;

/* An event: of the short kind if there is one for @id. */
static void head(struct bytes *b, uint32_t id, uint64_t time, bool is_long)
{
	uint32_t first_long = is_large ? 65535 : 31;

	is_long |= id >= first_long;
	if (is_large)
		put(b, is_long ? first_long : id, 2);
	else
		put(b, is_long ? first_long : id | time << 5, is_long ? 1 : 4);
	if (is_long)
		put(b, id, 4);
	if (is_long || is_large)
		put(b, time, is_long ? 8 : 4);
}

static void one(struct bytes *b, uint64_t time, uint8_t x)
{
	head(b, 0, time, false);
	put(b, x, 1);
	put_text(b, x % 2 ? "odd" : "even");
}

static void two(struct bytes *b, uint64_t time, uint8_t e)
{
	double d = e * 0.5;

	head(b, 1, time, false);
	put(b, 2, 2);
	put(b, (uint64_t)-5, 4);
	put(b, 6, 4);
	put(b, e, 1);
	if (e)
		put_text(b, "chosen");
	else
		put(b, 77, 8);
	memcpy(b->at + b->n, &d, 8);
	b->n += 8;
}

static void three(struct bytes *b, uint64_t time, int8_t x)
{
	float f = x * 0.25f;

	head(b, 2, time, false);
	put(b, (uint64_t)(int64_t)-x, 4);
	put(b, (uint64_t)(int64_t)x * 1000000, 4);
	put(b, (uint64_t)x, 1);
	put(b, 0x8000000000000000u + (uint64_t)x, 8);
	put(b, 0x5a5, 2);
	put(b, 0x3412, 2);
	memcpy(b->at + b->n, &f, 4);
	b->n += 4;
	put(b, (uint64_t)x % 5, 2);
	for (int i = 0; i < x % 5; i++)
		put(b, 'a', 1);
	put_text(b, x % 2 ? "" : "somewhat longer");
	put(b, (uint64_t)(int64_t)-x, 2);
}

/* An event of one of several classes; two of them share a place in the cache of frequent
 * classes. */
static void mixed(struct bytes *b, uint64_t time, uint8_t x)
{
	static const uint16_t ids[] = { 3, 4, 4,  3,  68, 0,  3, 4,  5,	    4,	  3,
					3, 2, 31, 31, 3,  68, 4, 68, 65535, 65535 };
	uint16_t id = ids[x % (sizeof ids / sizeof *ids)];

	if (id == 0)
		return one(b, time, x);
	if (id == 2)
		return three(b, time, (int8_t)(x % 128));
	head(b, id, time, x % 7 == 0);
	if (id == 3) {
		put(b, x, 2);
		put_text(b, x % 3 ? "sixteen letters!" : "");
		put_text(b,
			 x % 5 ? "t" : "a text of more than sixteen letters, and than thirty-two");
	} else if (id == 4) {
		put(b, x * 0x0102030405060708u, 8);
		put(b, (uint64_t)-x, 4);
		put(b, x, 1);
		put(b, x * 7000u, 3);
		for (int i = 0; i < 20; i++)
			put(b, i < x % 21 ? 'b' : 0, 1);
	} else if (id != 5) {
		put(b, x * 0x01010101u, id == 68 ? 1 : id == 31 ? 4 : 2);
	}
}

/* The rest of a packet's header, overwritten by the next packet: it seems to report losses. */
static void put_stump(struct bytes *b, uint64_t begin, uint64_t sequence)
{
	size_t at = begin_packet(b, begin, sequence, 0);

	put_at(b, at + AT_CONTENT, 5000 * 8, 8);
	put_at(b, at + AT_PACKET, 5000 * 8, 8);
	b->n = at + PACKET_HEAD - 10;
}

static const char *make(void)
{
	static struct bytes b[5];
	const char *path = make_directory();
	char name[] = "s0";

	for (uint64_t p = 0; p < 6; p++) {
		struct bytes *s = &b[p % 2];
		size_t at;

		if (p == 5)
			put_stump(s, 1000 + 1000 * p, p / 2);
		at = begin_packet(s, 1000 + 1000 * p, p / 2, p < 2 ? 0 : p == 3 ? 7 : 0);

		for (uint64_t i = 0; i < 40 && p != 4; i++) {
			one(s, 1000 + 1000 * p + i * 40, (uint8_t)i);
			two(s, 1000 + 1000 * p + i * 40 + (p % 2) * 3, (uint8_t)(i % 10));
		}
		for (uint64_t i = 0; i < 400 && p < 4; i++) /* more than are decoded at once */
			three(s, 2600 + 1000 * p + i, (int8_t)(i % 128));
		for (uint64_t i = 0; i < 230 && p < 4; i++)
			mixed(s, 3000 + 1000 * p, (uint8_t)(i % 251));
		end_packet(s, at);
	}
	b[1].at[b[1].n - 500] ^= 0xff; /* in the last packet */
	b[1].at[b[1].n - 499] ^= 0xff;
	for (uint64_t n = 2; n < 5; n++) { /* that take turns */
		size_t at = begin_packet(&b[n], 2000, 0, 0);

		for (uint64_t i = 0; i < 700; i++)
			mixed(&b[n], 2000 + i * 3 + i % n, (uint8_t)(i % 251));
		end_packet(&b[n], at);
	}
	if (is_large)
		write_file(path, "metadata", LARGE EVENTS, sizeof LARGE EVENTS - 1);
	else
		write_file(path, "metadata", COMPACT EVENTS, sizeof COMPACT EVENTS - 1);
	for (int i = 0; i < 5; i++, name[1]++)
		write_file(path, name, b[i].at, b[i].n);
	return path;
}

static void reported_damage(void *context, const char *text)
{
	ok(context == &n_reported && text[0]);
	n_reported++;
}

static bool same(const struct duet_read_item *a, const struct duet_read_item *b)
{
	return a->kind == b->kind && a->time_ns == b->time_ns && a->stream == b->stream &&
	       a->cpu == b->cpu && a->class_number == b->class_number &&
	       a->lost_events == b->lost_events;
}

static void forward_gives_all_by_time(void)
{
	struct duet_read_item item;

	while (n_items < ITEMS_MAX && duet_read_next(r, &item) > 0) {
		if (n_items && item.time_ns < items[n_items - 1].time_ns)
			ok(!"in order");
		items[n_items++] = item;
	}
	ok(n_items > 100);
	is(duet_read_next(r, &item), DUET_READ_END);
	is(duet_read_n_damages(r), n_reported);
}

static void backward_gives_the_same_from_the_end(void)
{
	struct duet_read_item item;
	int damages = n_reported;
	size_t i = n_items;

	while (duet_read_previous(r, &item) > 0)
		if (i-- == 0 || !same(&item, &items[i])) {
			is(i, -1);
			break;
		}
	is(i, 0);
	is(duet_read_previous(r, &item), DUET_READ_END);
	is(duet_read_next(r, &item), items[0].kind);
	ok(same(&item, &items[0]));
	is(n_reported, damages); /* once */
}

/* Forth and back by growing steps. */
static void turning_round_gives_the_same_item_again(void)
{
	struct duet_read_item item;
	size_t at = 0, bad = 0;

	duet_read_seek(r, INT64_MIN);
	for (size_t step = 1; at + step < n_items && step < 400; step += 7) {
		for (size_t i = 0; i < step; i++, at++)
			bad += duet_read_next(r, &item) <= 0 || !same(&item, &items[at]);
		for (size_t i = 0; i < step / 2 + 1; i++)
			bad += duet_read_previous(r, &item) <= 0 || !same(&item, &items[--at]);
	}
	is(bad, 0);
}

static void seek_gives_the_first_not_before(void)
{
	struct duet_read_item item;
	size_t bad = 0;

	for (size_t i = 0; i < n_items; i += 1 + n_items / 97) {
		size_t first = i;

		while (first && items[first - 1].time_ns == items[i].time_ns)
			first--;
		duet_read_seek(r, items[i].time_ns);
		bad += duet_read_next(r, &item) <= 0 || !same(&item, &items[first]);
		duet_read_seek(r, items[i].time_ns);
		bad += first &&
		       (duet_read_previous(r, &item) <= 0 || !same(&item, &items[first - 1]));
	}
	is(bad, 0);
	duet_read_seek(r, INT64_MAX);
	is(duet_read_next(r, &item), DUET_READ_END);
	is(duet_read_previous(r, &item), items[n_items - 1].kind);
}

static void streams_alone_make_up_the_whole(void)
{
	struct duet_read *part, *of_part;
	struct duet_read_item item;
	size_t n = 0;

	for (uint32_t s = 0; s < duet_read_n_streams(r); s++) {
		is(duet_read_part(r, s, &part), 0);
		while (duet_read_next(part, &item) > 0) {
			n += item.stream == s;
			is_text(duet_read_stream_info(part, item.stream)->path,
				duet_read_stream_info(r, s)->path);
		}
		is(duet_read_part(part, 0, &of_part), -EINVAL);
		duet_read_close(part);
	}
	is(n, n_items);
	is(duet_read_part(r, duet_read_n_streams(r), &part), -EINVAL);
}

static bool same_value(const struct duet_read_value *a, const struct duet_read_value *b)
{
	if (a->kind != b->kind || a->size != b->size || a->label != b->label)
		return false;
	if (a->kind == DUET_READ_STRUCT || a->kind == DUET_READ_NONE)
		return true;
	return a->kind == DUET_READ_TEXT ? !memcmp(a->as.text, b->as.text, a->size)
					 : a->as.u == b->as.u;
}

/* Items of @part from @from_ns to before @to_ns; by batches where that is possible.  Returns how
 * many are not as they should be. */
static size_t read_slice(struct duet_read *part, int64_t from_ns, int64_t to_ns, size_t *at)
{
	static struct duet_read_row rows[100];
	struct duet_read_item item;
	size_t bad = 0;
	uint32_t n;

	duet_read_seek(part, from_ns);
	for (;;) {
		while ((n = duet_read_batch(part, rows, 100)) > 0)
			for (uint32_t i = 0; i < n; i++, ++*at) {
				if (rows[i].time_ns >= to_ns)
					return bad;
				bad += *at >= n_items || rows[i].time_ns != items[*at].time_ns ||
				       rows[i].stream != items[*at].stream ||
				       rows[i].class_number != items[*at].class_number;
			}
		if (duet_read_next(part, &item) <= 0 || item.time_ns >= to_ns)
			return bad;
		bad += *at >= n_items || !same(&item, &items[*at]);
		++*at;
	}
}

static void parts_of_the_time_make_up_the_whole(void)
{
	int64_t from = INT64_MIN, to;
	struct duet_read *parts[2];
	size_t at = 0, bad = 0;

	for (int i = 0; i < 2; i++)
		is(duet_read_part(r, DUET_READ_ALL_STREAMS, &parts[i]), 0);
	for (size_t i = 1; i <= 5; i++, from = to) {
		to = i < 5 ? items[n_items * i / 5].time_ns : INT64_MAX;
		bad += read_slice(parts[i % 2], from, to, &at);
	}
	is(bad, 0);
	is(at, n_items);
	for (int i = 0; i < 2; i++)
		duet_read_close(parts[i]);
}

static size_t n_at_once;

/* Two walks over the event, one with arrays of integers at once, in parts of three. */
static bool numbers_are_those_of_a_walk(void)
{
	static struct duet_read_value slow[4096];
	struct duet_read_value v;
	uint64_t numbers[3];
	uint32_t n = 0, at = 0, got;
	bool good = !duet_read_numbers(r, &v, numbers, 3);

	while (duet_read_walk(r, &v))
		if (n < 4096)
			slow[n++] = v;
	while (duet_read_walk(r, &v)) {
		good &= at >= n || same_value(&v, &slow[at]);
		at++;
		while (v.kind == DUET_READ_ARRAY &&
		       (got = duet_read_numbers(r, &slow[4095], numbers, 3))) {
			for (uint32_t i = 0; i < got; i++, at++)
				good &= at >= n || (slow[at].kind == slow[4095].kind &&
						    slow[at].base == slow[4095].base &&
						    slow[at].as.u == numbers[i]);
			n_at_once += got;
		}
	}
	return good && (at == n || n >= 4095);
}

static void fields_are_the_same_in_all_ways(void)
{
	struct duet_read_value values[256], v, w;
	struct duet_read_item item;
	size_t bad = 0, n = 0;

	duet_read_seek(r, INT64_MIN);
	is(duet_read_get(r, 0, &v), -EINVAL);
	while (duet_read_next(r, &item) > 0) {
		const struct duet_read_class *c = duet_read_class_info(r, item.class_number);
		int depth = 0;
		uint32_t f = 0;

		if (item.kind != DUET_READ_EVENT || c->n_fields > 256 || n++ > 20000)
			continue;
		duet_read_values(r, values);
		for (uint32_t i = 0; i < c->n_fields; i++)
			bad += duet_read_get(r, i, &v) || !same_value(&v, &values[i]);
		is(duet_read_get(r, c->n_fields, &v), -EINVAL);
		while (duet_read_walk(r, &w)) {
			depth -= w.kind == DUET_READ_STRUCT_END || w.kind == DUET_READ_ARRAY_END;
			if (!depth && w.kind != DUET_READ_STRUCT_END &&
			    w.kind != DUET_READ_ARRAY_END) {
				while (f < c->n_fields && values[f].kind == DUET_READ_NONE)
					f++;
				bad += f >= c->n_fields || strcmp(c->fields[f].name, w.name) ||
				       !same_value(&w, &values[f]);
				f++;
			}
			depth += w.kind == DUET_READ_STRUCT || w.kind == DUET_READ_ARRAY;
		}
		bad += !numbers_are_those_of_a_walk();
	}
	is(bad, 0);
	ok(n > 50);
	ok(n_at_once > 50);
}

static void columns_hold_what_events_do(void)
{
	static int64_t times[1000], numbers[1000];
	static struct duet_read_text texts[1000];
	static uint32_t classes[1000];
	struct duet_read_column columns[] = { { DUET_READ_ROW_TIME, 0, times },
					      { 0, 0, numbers },
					      { 1, 0, texts } };
	struct duet_read_column any[] = { { DUET_READ_ROW_TIME, 0, times },
					  { DUET_READ_ROW_CLASS, 0, classes } };
	int64_t n, bad = 0;
	size_t k = 0;

	duet_read_seek(r, INT64_MIN);
	n = duet_read_rows(r, DUET_READ_ANY_CLASS, any, 2, 100);
	is(n, 100);
	for (int64_t i = 0; i < n; k++)
		if (items[k].kind == DUET_READ_EVENT) {
			bad += times[i] != items[k].time_ns || classes[i] != items[k].class_number;
			i++;
		}
	if (!strcmp(duet_read_class_info(r, 0)->name, "one")) {
		duet_read_seek(r, INT64_MIN);
		n = duet_read_rows(r, 0, columns, 3, 1000);
		ok(n > 200 && n < 400);
		for (int64_t i = 0; i < n; i++)
			bad += texts[i].size != (numbers[i] % 2 ? 3 : 4) ||
			       memcmp(texts[i].text, numbers[i] % 2 ? "odd" : "even", 3);
		columns[1].field = 2;
		is(duet_read_rows(r, 0, columns, 3, 1), -EINVAL);
		is(duet_read_find(r, 0, "s"), 1);
		is(duet_read_find(r, 1, "nothing"), -ENOENT);
		columns[1].field = duet_read_find(r, 1, "v");
		is(duet_read_rows(r, 1, columns, 2, 1), -EINVAL); /* an array is no column */
	}
	is(bad, 0);
	is(duet_read_rows(r, duet_read_n_classes(r), columns, 1, 1), -EINVAL);
}

/* Row @k of the columns of all fields of the current event of @other, then time, cpu, stream and
 * class. */
static size_t count_wrong_row(struct duet_read *other, const struct duet_read_item *item,
			      void *const *room, size_t k)
{
	const struct duet_read_class *c = duet_read_class_info(other, item->class_number);
	struct duet_read_value v;
	size_t bad = 0;
	uint32_t i;

	for (i = 0; i < c->n_fields; i++) {
		const struct duet_read_text *t = (const struct duet_read_text *)room[i] + k;

		bad += duet_read_get(other, i, &v) != 0;
		if (c->fields[i].kind == DUET_READ_TEXT)
			bad += t->size != v.size || memcmp(t->text, v.as.text, v.size);
		else
			bad += ((const uint64_t *)room[i])[k] != v.as.u;
	}
	return bad + (((const int64_t *)room[i])[k] != item->time_ns) +
	       (((const uint32_t *)room[i + 1])[k] != item->cpu) +
	       (((const uint32_t *)room[i + 2])[k] != item->stream) +
	       (((const uint32_t *)room[i + 3])[k] != item->class_number);
}

/* All columns of class @class, some rows a call, beside a reader that goes event by event. */
static void read_class(uint32_t class, struct duet_read *other, size_t n_rows)
{
	static struct duet_read_text space[64][1000];
	const struct duet_read_class *c = duet_read_class_info(r, class);
	struct duet_read_column columns[64];
	struct duet_read_item item;
	size_t bad = 0, n_given = 0, n_items_of = 0;
	void *room[64];
	int64_t n;
	uint32_t n_columns = c->n_fields + 4;

	for (uint32_t i = 0; i < n_columns; i++) {
		room[i] = space[i];
		columns[i] = (struct duet_read_column){
			i < c->n_fields ? (int32_t)i : -1 - (int32_t)(i - c->n_fields), 0, room[i]
		};
	}
	duet_read_seek(r, INT64_MIN);
	duet_read_seek(other, INT64_MIN);
	for (size_t i = 0; i < n_items; i++)
		n_items_of += items[i].kind == DUET_READ_EVENT && items[i].class_number == class;
	do {
		n = duet_read_rows(r, class, columns, (int)n_columns, n_rows);
		for (int64_t k = 0; k < n && !bad; k++, n_given++) {
			do
				bad += duet_read_next(other, &item) <= 0;
			while (!bad &&
			       (item.kind != DUET_READ_EVENT || item.class_number != class));
			bad += bad || count_wrong_row(other, &item, room, (size_t)k);
		}
	} while (n > 0 && !bad);
	is(n, 0);
	is(bad, 0);
	is(n_given, n_items_of);
}

static void columns_of_every_class_hold_what_events_do(void)
{
	struct duet_read *other;
	size_t n_read = 0;

	is(duet_read_open(&other, paths, n_paths, NULL, NULL), 0);
	for (uint32_t class = 0; class < duet_read_n_classes(r) && n_read < 20; class ++) {
		const struct duet_read_class *c = duet_read_class_info(r, class);
		bool is_plain = c->n_fields <= 60;

		for (uint32_t i = 0; i < c->n_fields && is_plain; i++)
			is_plain = c->fields[i].kind >= DUET_READ_INT &&
				   c->fields[i].kind <= DUET_READ_LABEL;
		if (!is_plain)
			continue;
		read_class(class, other, 1000);
		read_class(class, other, 7);
		n_read++;
	}
	ok(n_read > 0);
	duet_read_close(other);
}

static bool same_cell(const struct duet_read_cell *c, const struct duet_read_value *v)
{
	if (v->kind == DUET_READ_TEXT)
		return c->size == v->size && !memcmp(c->as.text, v->as.text, v->size);
	return c->as.u == v->as.u;
}

/* The rows are items i ... of the whole; @other stands before them. */
static size_t count_wrong(const struct duet_read_row *rows, uint32_t n, size_t i,
			  struct duet_read *other)
{
	struct duet_read_value values[64], shown;
	struct duet_read_item item;
	size_t bad = 0;

	for (uint32_t k = 0; k < n; k++, i++) {
		const struct duet_read_class *c = duet_read_class_info(r, rows[k].class_number);

		bad += duet_read_next(other, &item) <= 0 || i >= n_items || !same(&item, &items[i]);
		bad += item.kind != DUET_READ_EVENT || rows[k].time_ns != item.time_ns ||
		       rows[k].cpu != item.cpu || rows[k].class_number != item.class_number ||
		       rows[k].stream != item.stream || c->n_fields > 64 ||
		       duet_read_values(other, values);
		for (uint32_t f = 0; !bad && f < c->n_fields; f++) {
			bad += !same_cell(&rows[k].cells[f], &values[f]);
			bad += duet_read_cell_value(r, rows[k].class_number, f, &rows[k].cells[f],
						    &shown) != 0 ||
			       !same_value(&shown, &values[f]) ||
			       shown.is_signed != values[f].is_signed;
		}
	}
	return bad;
}

static void batches_hold_what_events_do(void)
{
	static struct duet_read_row rows[1000];
	static const uint32_t sizes[] = { 1000, 3, 1, 170 };
	struct duet_read_item item;
	struct duet_read *other;

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		size_t i = 0, bad = 0, n_rows = 0;
		uint32_t n;

		is(duet_read_open(&other, paths, n_paths, NULL, NULL), 0);
		duet_read_seek(r, INT64_MIN);
		do {
			while ((n = duet_read_batch(r, rows, sizes[s])) > 0 && !bad) {
				bad += count_wrong(rows, n, i, other);
				i += n;
				n_rows += n;
			}
			if (duet_read_next(r, &item) <= 0)
				break;
			bad += duet_read_next(other, &item) <= 0 || !same(&item, &items[i++]);
		} while (!bad);
		is(bad, 0);
		is(i, n_items);
		ok(n_rows > 50);
		is(duet_read_batch(r, rows, 1000), 0);
		is(duet_read_previous(r, &item) > 0 && same(&item, &items[n_items - 1]), true);
		duet_read_close(other);
	}
	is(duet_read_batch(r, rows, 0), 0);
	is(duet_read_cell_value(r, duet_read_n_classes(r), 0, NULL, NULL), -EINVAL);
	is(duet_read_cell_value(r, 0, duet_read_class_info(r, 0)->n_fields, NULL, NULL), -EINVAL);
}

/* After any request between batches, the cursor is at the last row. */
static void batches_mix_with_steps_both_ways(void)
{
	static struct duet_read_row rows[1000];
	struct duet_read_item item;
	size_t at = 0, bad = 0;

	duet_read_seek(r, INT64_MIN);
	for (uint32_t round = 0; at < n_items && round < 2000; round++) {
		uint32_t n = duet_read_batch(r, rows, 1 + round * 7 % 300);

		for (uint32_t k = 0; k < n; k++)
			bad += at + k >= n_items || rows[k].time_ns != items[at + k].time_ns;
		at += n;
		if (round % 5 == 4) {
			for (uint32_t k = 0; k < round % 30 && at; k++)
				bad += duet_read_previous(r, &item) <= 0 ||
				       !same(&item, &items[--at]);
		} else if (round % 7 == 6) {
			while (at && items[at - 1].time_ns ==
					     items[at < n_items ? at : n_items - 1].time_ns)
				at--;
			duet_read_seek(r, at < n_items ? items[at].time_ns : INT64_MAX);
		}
		for (uint32_t k = 0; k < 1 + round % 40 && at < n_items; k++)
			bad += duet_read_next(r, &item) <= 0 || !same(&item, &items[at++]);
	}
	is(bad, 0);
	ok(at > 100);
}

static void a_failed_open_says_why(void)
{
	static const char *const nowhere = "/nonexistent-duet";
	char why[DUET_READ_WHY];
	struct duet_read *none;

	is(duet_read_open(&none, &nowhere, 1, NULL, why), -ENOTDIR);
	ok(!none && strstr(why, nowhere));
	duet_read_close(NULL);
}

int main(int argc, char **argv)
{
	struct duet_read_options o = { .size = sizeof o,
				       .damage = reported_damage,
				       .context = &n_reported };
	const char *made;
	char why[DUET_READ_WHY];

	is_large = argc == 2 && !strcmp(argv[1], "--large");
	made = argc < 2 || is_large ? make() : NULL;
	paths = made ? &made : (const char *const *)argv + 1;
	n_paths = made ? 1 : argc - 1;
	items = malloc(ITEMS_MAX * sizeof *items);
	if (!items || duet_read_open(&r, paths, n_paths, &o, why)) {
		printf("# %s\n", items ? why : "no memory");
		return 1;
	}
	run(forward_gives_all_by_time);
	if (made)
		is(n_reported, is_large ? 2 : 3); /* of a counter; the size, or a number, too */
	run(backward_gives_the_same_from_the_end);
	run(turning_round_gives_the_same_item_again);
	run(seek_gives_the_first_not_before);
	run(streams_alone_make_up_the_whole);
	run(parts_of_the_time_make_up_the_whole);
	run(fields_are_the_same_in_all_ways);
	run(columns_hold_what_events_do);
	run(columns_of_every_class_hold_what_events_do);
	run(batches_hold_what_events_do);
	run(batches_mix_with_steps_both_ways);
	run(a_failed_open_says_why);
	duet_read_close(r);
	if (made)
		remove_directory(made);
	free(items);
	return test_status();
}
