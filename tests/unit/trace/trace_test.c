/* SPDX-License-Identifier: MIT */
/* tests/unit/trace/trace_test.c - traces made by hand: every kind of field, every header, every damage.
 */
#include "unit/trace/make_trace.h"

/* The header that duet's kernel side writes. */
#define PLAIN                                                                                      \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; };\n"

#define TINY "event { name = \"e\"; id = 0; stream_id = 0; fields := struct { u8 _x; }; };\n"

static void tiny_event(struct bytes *b, uint32_t time, uint8_t x)
{
	put(b, time, 4);
	put(b, 0, 2);
	put(b, x, 1);
}

static void expect(const char *metadata, const struct bytes *b, const char *want)
{
	char *got = trace_text_of(metadata, b);

	is_text(got, want);
	free(got);
}

/* One event of id 0 with @fields; @body are their bytes. */
static void expect_fields(const char *fields, const struct bytes *body, const char *want)
{
	struct bytes b = { .n = 0 };
	char metadata[8192], line[1024];
	size_t at = begin_packet(&b, 100, 0, 0);

	snprintf(metadata, sizeof metadata,
		 PLAIN "event { name = \"e\"; id = 0; stream_id = 0; fields := struct { %s }; };\n",
		 fields);
	put(&b, 105, 4);
	put(&b, 0, 2);
	memcpy(b.at + b.n, body->at, body->n);
	b.n += body->n;
	end_packet(&b, at);
	snprintf(line, sizeof line, "105 2 e {%s }\nend, 0 damaged\n", want);
	expect(metadata, &b, line);
}

static void integers_of_all_sizes_and_signs(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 0xff, 1);
	put(&b, 0xfffe, 2);
	put(&b, (uint64_t)-3, 4);
	put(&b, UINT64_MAX, 8);
	put_big(&b, 0x01020304, 4);
	put_big(&b, 0xfffe, 2);
	expect_fields("u8 _a; u16 _b; i32 _c; u64 _d; integer { size = 32; byte_order = be; } _e;"
		      "integer { size = 16; byte_order = be; signed = true; } _f;",
		      &b, " a = 255 b = 65534 c = -3 d = 18446744073709551615 e = 16909060 f = -2");
}

/* 3 + 13 + 7 + 9 bits, lowest first; then one that crosses nine bytes. */
static void bit_fields_that_cross_bytes(void)
{
	struct bytes b = { .n = 0 };
	uint64_t bits = 5 | 4097u << 3 | 0x41u << 16 | (uint64_t)0x1ff << 23;

	put(&b, bits, 4);
	put(&b, 0xff | (uint64_t)0x0123456789abcdef << 7, 8);
	put(&b, (uint64_t)0x0123456789abcdef >> 57, 1);
	expect_fields("integer { size = 3; align = 1; } _a; integer { size = 13; align = 1; signed "
		      "= true; } _b;"
		      "integer { size = 7; align = 1; signed = true; } _c; integer { size = 9; "
		      "align = 1; } _d;"
		      "integer { size = 7; align = 1; } _e; integer { size = 64; align = 1; } _f;"
		      "integer { size = 1; align = 1; } _g;",
		      &b, " a = 5 b = -4095 c = -63 d = 511 e = 127 f = 81985529216486895 g = 0");
}

static void big_endian_bit_fields(void)
{
	struct bytes b = { .n = 0 };

	put_big(&b, (uint64_t)5 << 13 | 0x1234 >> 0, 2); /* 3 bits of 5, then 13 bits 0x1234 */
	expect_fields("integer { size = 3; align = 1; byte_order = be; } _a;"
		      "integer { size = 13; align = 1; byte_order = be; } _b;",
		      &b, " a = 5 b = 4660");
}

static void floats_strings_and_text(void)
{
	struct bytes b = { .n = 0 };
	double d = -2.5;
	float f = 0.25f;

	memcpy(b.at, &f, 4);
	memcpy(b.at + 4, &d, 8);
	b.n = 12;
	put_text(&b, "hello");
	put_text(&b, "");
	put_text(&b, "abc");
	put(&b, 2, 4);
	put(&b, 'x' | 'y' << 8, 2);
	expect_fields("floating_point { exp_dig = 8; mant_dig = 24; } _f;"
		      "floating_point { exp_dig = 11; mant_dig = 53; } _d; string _s; string _t;"
		      "integer { size = 8; encoding = UTF8; } _u[4]; u32 __v_length;"
		      "integer { size = 8; encoding = UTF8; } _v[ __v_length ];",
		      &b, " f = 0.25 d = -2.5 s = \"hello\" t = \"\" u = \"abc\" v = \"xy\"");
}

static void arrays_and_sequences_of_everything(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 1 | 2 << 8 | 3 << 16, 3);
	put(&b, 2, 1);
	put(&b, 10, 2);
	put(&b, 11, 2);
	put(&b, 0, 1);
	put(&b, 7, 1);
	put_text(&b, "p");
	put(&b, 8, 1);
	put_text(&b, "q");
	put(&b, 9, 1);
	expect_fields("u8 _a[3]; u8 __s_length; u16 _s[ __s_length ]; u8 __z_length; u16 _z[ "
		      "__z_length ];"
		      "struct { u8 n; string s; } _st[2]; u8 _end;",
		      &b,
		      " a = [ 1 2 3 ] s = [ 10 11 ] z = [ ]"
		      " st = [ { n = 7 s = \"p\" } { n = 8 s = \"q\" } ] end = 9");
}

static void a_length_counts_for_the_nearest(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 2, 1);		/* n */
	put(&b, 1 | 5 << 8, 2); /* inner n = 1: [5] */
	put(&b, 0, 1);		/* inner n = 0 */
	put(&b, 1 | 2 << 8, 2); /* outer n = 2 again */
	expect_fields("u8 n; struct { u8 n; u8 v[ n ]; } a[ n ]; u8 w[ n ];", &b,
		      " n = 2 a = [ { n = 1 v = [ 5 ] } { n = 0 v = [ ] } ] w = [ 1 2 ]");
}

static void enums_and_variants(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 1, 1);
	put(&b, 0x1234, 2);
	put(&b, 0xfe, 1);
	put_text(&b, "neg");
	put(&b, 200, 1);
	expect_fields("enum : u8 { A, B, C } _t; variant <_t> { u8 A; u16 B; string C; } _v;"
		      "enum : integer { size = 8; signed = true; } { low = -128 ... -1, high = 0 "
		      "... 127 } _u;"
		      "variant <_u> { string low; u8 high; } _w; enum : u8 { Z = 0 } _x;",
		      &b, " t = B:1 v = 4660 u = low:-2 w = \"neg\" x = ?:200");
}

static void alignment_counts_from_the_packet(void)
{
	struct bytes b = { .n = 0 };

	/* The header ends at byte 76 + 6 = 82, and a struct is aligned like the widest of its
	 * members. */
	put(&b, 0, 6);
	put(&b, 1, 1);
	put(&b, 0, 7);
	put(&b, 42, 8);
	put(&b, 3, 1);
	put(&b, 0, 3);
	put(&b, 4, 4);
	expect_fields("u8 _a; integer { size = 64; align = 64; } _b; struct { u8 _c; } align(8) _s;"
		      "integer { size = 32; align = 32; } _d;",
		      &b, " a = 1 b = 42 s = { c = 3 } d = 4");
}

static void lengths_and_tags_from_other_scopes(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 3, 0);

	put(&b, 105, 4);
	put(&b, 0, 2);
	put(&b, 1, 1);			  /* context: k = 1 */
	put(&b, 9, 1);			  /* a[k] */
	put(&b, 1 | 2 << 8 | 3 << 16, 3); /* b[packet_seq_num] */
	end_packet(&b, at);
	expect(HEAD("le") "stream { id = 0; " CONTEXT
			  "event.header := struct { t32 timestamp; u16 id; };"
			  "event.context := struct { u8 k; }; };\n"
			  "event { name = \"e\"; id = 0; stream_id = 0; fields := struct {"
			  "u8 a[ stream.event.context.k ]; u8 b[ "
			  "stream.packet.context.packet_seq_num ]; }; };\n",
	       &b, "105 2 e { k = 1 a = [ 9 ] b = [ 1 2 3 ] }\nend, 0 damaged\n");
}

static void a_32_bit_time_wraps(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 0x1fffffff0, 0, 0);

	tiny_event(&b, 0xfffffff8, 1);
	tiny_event(&b, 0x00000008, 2);
	tiny_event(&b, 0x00000008, 3);
	end_packet(&b, at);
	expect(PLAIN TINY, &b,
	       "8589934584 2 e { x = 1 }\n8589934600 2 e { x = 2 }\n8589934600 2 e { x = 3 }\nend, "
	       "0 damaged\n");
}

static void compact_event(struct bytes *b, uint32_t id, uint32_t time, uint8_t x)
{
	put(b, id | (uint64_t)(time & 0x7ffffff) << 5, 4);
	put(b, x, 1);
}

static void a_27_bit_time_wraps_and_an_extended_header_jumps(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 0x7fffff0, 0, 0);

	compact_event(&b, 0, 0x7fffff8, 1);
	compact_event(&b, 0, 0x0000002, 2);
	put(&b, 31, 1);
	put(&b, 70000, 4);
	put(&b, 5000000000, 8);
	put(&b, 3, 1);
	compact_event(&b, 0, (uint32_t)5000000001, 4);
	end_packet(&b, at);
	expect(COMPACT TINY "event { name = \"far\"; id = 70000; stream_id = 0; fields := struct { "
			    "u8 _x; }; };\n",
	       &b,
	       "134217720 2 e { x = 1 }\n134217730 2 e { x = 2 }\n5000000000 2 far { x = 3 }\n"
	       "5000000001 2 e { x = 4 }\nend, 0 damaged\n");
}

static void a_large_header_has_both_forms(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 0, 0);

	put(&b, 0, 2);
	put(&b, 110, 4);
	put(&b, 1, 1);
	put(&b, 65535, 2);
	put(&b, 0, 4);
	put(&b, 1ull << 40, 8);
	put(&b, 2, 1);
	end_packet(&b, at);
	expect(LARGE TINY, &b, "110 2 e { x = 1 }\n1099511627776 2 e { x = 2 }\nend, 0 damaged\n");
}

/* The same header with another name in it is decoded by the general machine, to the same end. */
static void unknown_headers_are_read_too(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 0x7fffff0, 0, 0);

	put(&b, 0 | (uint64_t)0x7fffff8 << 5, 4);
	put(&b, 9, 1);
	put(&b, 1, 1);
	put(&b, 31, 1);
	put(&b, 0, 4);
	put(&b, 5000000000, 8);
	put(&b, 8, 1);
	put(&b, 2, 1);
	end_packet(&b, at);
	expect(HEAD("le") "stream { id = 0; " CONTEXT "event.header := struct { "
			  "enum : u5 { short = 0 ... 30, long = 31 } id; variant <id> { "
			  "struct { t27 timestamp; } short; struct { u32 id; t64 timestamp; } "
			  "long; } v;"
			  "u8 more; } align(8); };\n" TINY,
	       &b, "134217720 2 e { x = 1 }\n5000000000 2 e { x = 2 }\nend, 0 damaged\n");
}

static void a_trace_of_the_other_byte_order(void)
{
	struct bytes b = { .n = 0 };

	put_big(&b, 0xC1FC1FC1, 4);
	for (int i = 0; i < 16; i++)
		put(&b, (uint64_t)i, 1);
	put_big(&b, 0, 4);
	put_big(&b, 100, 8);
	put_big(&b, 200, 8);
	put_big(&b, (PACKET_HEAD + 4 + 8) * 8, 8);
	put_big(&b, (PACKET_HEAD + 4 + 8) * 8, 8);
	put_big(&b, 0, 8);
	put_big(&b, 0, 8);
	put_big(&b, 1, 4);
	put_big(&b, 0u << 27 | 150, 4); /* 5 bits of id come first: the highest */
	put_big(&b, 0xfffffffe, 4);
	put_big(&b, 0x40490fdb, 4);
	expect(HEAD("be") "stream { id = 0; " CONTEXT "event.header := struct { "
			  "enum : u5 { compact = 0 ... 30, extended = 31 } id; variant <id> { "
			  "struct { t27 timestamp; } compact; struct { u32 id; t64 timestamp; } "
			  "extended; } v; }"
			  " align(8); };\n"
			  "event { name = \"e\"; id = 0; stream_id = 0; fields := struct { i32 _x;"
			  "floating_point { exp_dig = 8; mant_dig = 24; } _f; }; };\n",
	       &b, "150 1 e { x = -2 f = 3.14159274 }\nend, 0 damaged\n");
}

static void losses_stand_at_their_place(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 0, 2);

	tiny_event(&b, 101, 1);
	end_packet(&b, at);
	at = begin_packet(&b, 200, 1, 2);
	tiny_event(&b, 201, 2);
	end_packet(&b, at);
	at = begin_packet(&b, 300, 4, 9);
	tiny_event(&b, 301, 3);
	end_packet(&b, at);
	expect(PLAIN TINY, &b,
	       "lost 2 events 0 packets\n101 2 e { x = 1 }\n201 2 e { x = 2 }\n"
	       "lost 7 events 2 packets\n301 2 e { x = 3 }\nend, 0 damaged\n");
}

static void a_snapshot_begins_with_no_loss(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 17, 1000);

	tiny_event(&b, 101, 1);
	end_packet(&b, at);
	expect(PLAIN TINY, &b, "101 2 e { x = 1 }\nend, 0 damaged\n");
}

static void two_events_and_another_packet(struct bytes *b)
{
	size_t at = begin_packet(b, 100, 0, 0);

	tiny_event(b, 101, 1);
	tiny_event(b, 102, 2);
	end_packet(b, at);
	at = begin_packet(b, 200, 1, 0);
	tiny_event(b, 201, 3);
	end_packet(b, at);
}

static void a_cut_file_gives_what_is_before_the_cut(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	b.n -= 1; /* in the last event */
	expect(PLAIN TINY, &b, "101 2 e { x = 1 }\n102 2 e { x = 2 }\nend, 2 damaged\n");
	b.n -= 20; /* in the header of the last packet */
	expect(PLAIN TINY, &b, "101 2 e { x = 1 }\n102 2 e { x = 2 }\nend, 1 damaged\n");
	b.n = PACKET_HEAD + 10;
	expect(PLAIN TINY, &b, "101 2 e { x = 1 }\nend, 2 damaged\n");
}

static void an_unknown_event_ends_its_packet_only(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	put_at(&b, PACKET_HEAD + 7 + 4, 5, 2);
	expect(PLAIN TINY, &b, "101 2 e { x = 1 }\n201 2 e { x = 3 }\nend, 1 damaged\n");
}

/* Packets say that they are of stream 0. */
static void a_packet_of_another_stream_is_not_taken_for_one_of_the_only_one(void)
{
	static const char only[] =
		HEAD("le") "stream { id = 3; " CONTEXT
			   "event.header := struct { t32 timestamp; u16 id; }; };\n"
			   "event { name = \"e\"; id = 0; stream_id = 3; fields := struct { u8 x; "
			   "}; };\n";
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	expect(only, &b, "end, 2 damaged\n");
}

static void after_a_senseless_header_the_next_packet_is_found(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	put_at(&b, 0, 0, 4);
	expect(PLAIN TINY, &b, "201 2 e { x = 3 }\nend, 1 damaged\n");
	put_at(&b, 0, 0xC1FC1FC1, 4);
	put_at(&b, AT_PACKET, 64, 8); /* less than the content */
	expect(PLAIN TINY, &b, "201 2 e { x = 3 }\nend, 1 damaged\n");
}

static void senseless_sizes_are_not_used(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	put_at(&b, AT_PACKET, UINT64_MAX - 7, 8);
	put_at(&b, AT_CONTENT, UINT64_MAX - 7, 8);
	/* Where the second begins, the first must have ended. */
	expect(PLAIN TINY, &b,
	       "101 2 e { x = 1 }\n102 2 e { x = 2 }\n201 2 e { x = 3 }\nend, 1 damaged\n");
}

/* Packets that an event has recorded while they were written, within the last packet: of this
 * stream, and another CPU's. */
static void packets_within_an_event_are_not_taken_for_those_behind_it(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 0, 0), size;
	char *got;

	tiny_event(&b, 101, 1);
	end_packet(&b, at);
	size = b.n;
	at = begin_packet(&b, 2000000000, 1, 0);
	for (int i = 0; i < 2; i++) {
		put(&b, 2000000001 + (uint64_t)i, 4);
		put(&b, 1, 2);
		put(&b, size, 2);
		memcpy(b.at + b.n, b.at, size);
		b.n += size;
	}
	put_at(&b, b.n - size + PACKET_HEAD - 20, 2, 8); /* its number would be the next */
	put_at(&b, b.n - size + PACKET_HEAD - 4, 3, 4);	 /* but not its CPU */
	end_packet(&b, at);
	got = trace_text_of(PLAIN TINY
			    "event { name = \"w\"; id = 1; stream_id = 0;"
			    " fields := struct { u16 __b_length; u8 _b[ __b_length ]; }; };\n",
			    &b);
	ok(strstr(got, "\n2000000001 2 w {") && strstr(got, "\n2000000002 2 w {"));
	ok(strstr(got, "\nend, 0 damaged\n"));
	free(got);
}

static void a_length_beyond_the_packet_is_damage(void)
{
	static const uint64_t lengths[] = { 3, 1ull << 32, UINT64_MAX, UINT64_MAX / 8,
					    UINT64_MAX / 16 + 1 };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct bytes b = { .n = 0 };
		size_t at = begin_packet(&b, 100, 0, 0);

		put(&b, 105, 4);
		put(&b, 0, 2);
		put(&b, lengths[i], 8);
		put(&b, 0x0102, 2);
		end_packet(&b, at);
		expect(PLAIN "event { name = \"e\"; id = 0; stream_id = 0;"
			     "fields := struct { u64 _n; u8 _v[ _n ]; }; };\n",
		       &b, "end, 1 damaged\n");
	}
}

/* 2^64 - 1 elements of no bits in 2^40 more: reading must end. */
static void endless_arrays_of_nothing_end(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 0, 0);

	put(&b, 105, 4);
	put(&b, 0, 2);
	put(&b, UINT64_MAX, 8);
	end_packet(&b, at);
	expect(PLAIN "event { name = \"e\"; id = 0; stream_id = 0; fields := struct { u64 _n;"
		     "struct { struct { } a[1099511627776]; } _v[ _n ]; }; };\n",
	       &b, "end, 1 damaged\n");
}

static void events_of_no_bits_end(void)
{
	struct bytes b = { .n = 0 };
	size_t at = begin_packet(&b, 100, 0, 0);

	put(&b, 0, 1);
	end_packet(&b, at);
	expect(HEAD("le") "stream { id = 0; " CONTEXT
			  "};\nevent { name = \"e\"; id = 0; stream_id = 0; };\n",
	       &b, "end, 1 damaged\n");
}

static void a_class_that_cannot_be_read_spares_the_others(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	put_at(&b, PACKET_HEAD + 7 + 4, 1, 2);
	expect(PLAIN TINY "event { name = \"bad\"; id = 1; stream_id = 0; fields := struct { u8 v[ "
			  "nowhere ]; }; };\n",
	       &b, "101 2 e { x = 1 }\n201 2 e { x = 3 }\nend, 1 damaged\n");
}

static void streams_merge_by_time_and_ties_by_name(void)
{
	const char *path = make_directory();
	struct bytes b = { .n = 0 };
	size_t at;
	char *got;

	write_file(path, "metadata", PLAIN TINY, strlen(PLAIN TINY));
	at = begin_packet(&b, 100, 0, 0);
	tiny_event(&b, 101, 1);
	tiny_event(&b, 105, 2);
	end_packet(&b, at);
	write_file(path, "s1", b.at, b.n);
	b.n = 0;
	at = begin_packet(&b, 100, 0, 0);
	tiny_event(&b, 101, 3);
	tiny_event(&b, 103, 4);
	end_packet(&b, at);
	write_file(path, "s0", b.at, b.n);
	got = trace_text(path);
	is_text(got, "101 2 e { x = 3 }\n101 2 e { x = 1 }\n103 2 e { x = 4 }\n105 2 e { x = 2 }\n"
		     "end, 0 damaged\n");
	free(got);
	remove_directory(path);
}

static void metadata_cut_short_still_reads(void)
{
	struct bytes b = { .n = 0 };

	two_events_and_another_packet(&b);
	expect(PLAIN TINY "event { name = \"never fini", &b,
	       "101 2 e { x = 1 }\n102 2 e { x = 2 }\n201 2 e { x = 3 }\nend, 1 damaged\n");
}

static void a_directory_that_is_no_trace_is_refused(void)
{
	struct bytes b = { .n = 0 };

	expect("", &b, "no: the metadata describes no trace\n");
	expect("\x1e{\"type\":\"preamble\",\"version\":2}", &b,
	       "no: the metadata describes no stream\n");
	expect("\x1e{\"type\":\"preamble\"}", &b, "no: a version other than 2\n");
}

/* CTF 1.8, 7.2: one stream class with no header then, so one event class, whatever its id. */
static void a_trace_may_have_no_stream_block(void)
{
	static const char metadata[] =
		"/* CTF 1.8 */\ntrace { byte_order = le; };\n"
		"event { name = \"e\"; id = 7; fields := struct { integer { size = 8; } x; }; };\n";
	static const char fifth[] =
		"/* CTF 1.8 */\ntrace { byte_order = le; };\nstream { id = 5; };\n"
		"event { name = \"e\"; fields := struct { integer { size = 8; } x; }; };\n";
	struct bytes b = { .n = 0 };

	put(&b, 1, 1);
	put(&b, 2, 1);
	expect(metadata, &b, "0 -1 e { x = 1 }\n0 -1 e { x = 2 }\nend, 0 damaged\n");
	expect(fifth, &b, "0 -1 e { x = 1 }\n0 -1 e { x = 2 }\nend, 0 damaged\n");
	expect("/* CTF 1.8 */ trace { byte_order = le; };\nstream { id = ; };\nevent { name = e; "
	       "};\n",
	       &b, "no: expected a word, found `;`\n");
}

static void elements_without_bits_are_read(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 3, 1);
	expect("/* CTF 1.8 */\ntrace { byte_order = le; };\n"
	       "event { name = \"e\"; fields := struct { integer { size = 8; } n; "
	       "struct {} none[40]; struct {} some[n]; }; };\n",
	       &b,
	       "0 -1 e { n = 3 none = [ { } { } { } { } { } { } { } { } { } { } "
	       "{ } { } { } { } { } { } { } { } { } { } "
	       "{ } { } { } { } { } { } { } { } { } { } "
	       "{ } { } { } { } { } { } { } { } { } { } ] "
	       "some = [ { } { } { } ] }\nend, 0 damaged\n");
}

static void clocks_of_any_frequency_and_offset(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 3000, 4);
	put(&b, 1, 1);
	expect("/* CTF 1.8 */\nclock { name = c; freq = 1500; offset_s = 10; offset = -750; };\n"
	       "trace { byte_order = le; };\n"
	       "stream { event.header := struct { integer { size = 32; map = clock.c.value; } "
	       "timestamp; }; };\n"
	       "event { name = \"e\"; fields := struct { integer { size = 8; } x; }; };\n",
	       &b, "11500000000 -1 e { x = 1 }\nend, 0 damaged\n");
}

int main(void)
{
	run(a_trace_may_have_no_stream_block);
	run(elements_without_bits_are_read);
	run(integers_of_all_sizes_and_signs);
	run(bit_fields_that_cross_bytes);
	run(big_endian_bit_fields);
	run(floats_strings_and_text);
	run(arrays_and_sequences_of_everything);
	run(a_length_counts_for_the_nearest);
	run(enums_and_variants);
	run(alignment_counts_from_the_packet);
	run(lengths_and_tags_from_other_scopes);
	run(a_32_bit_time_wraps);
	run(a_27_bit_time_wraps_and_an_extended_header_jumps);
	run(a_large_header_has_both_forms);
	run(unknown_headers_are_read_too);
	run(a_trace_of_the_other_byte_order);
	run(losses_stand_at_their_place);
	run(a_snapshot_begins_with_no_loss);
	run(a_cut_file_gives_what_is_before_the_cut);
	run(an_unknown_event_ends_its_packet_only);
	run(a_packet_of_another_stream_is_not_taken_for_one_of_the_only_one);
	run(after_a_senseless_header_the_next_packet_is_found);
	run(senseless_sizes_are_not_used);
	run(packets_within_an_event_are_not_taken_for_those_behind_it);
	run(a_length_beyond_the_packet_is_damage);
	run(endless_arrays_of_nothing_end);
	run(events_of_no_bits_end);
	run(a_class_that_cannot_be_read_spares_the_others);
	run(streams_merge_by_time_and_ties_by_name);
	run(metadata_cut_short_still_reads);
	run(a_directory_that_is_no_trace_is_refused);
	run(clocks_of_any_frequency_and_offset);
	return test_status();
}
