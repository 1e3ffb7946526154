/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/ctf/tsdl_test.c - the TSDL parser: accepted text, refused text, and damage that must
 * not crash it.
 *
 * With an argument, that metadata file is cut at every byte; a cut must never do worse than an
 * error.
 */
#include <errno.h>

#include "ctf/decode/link.h"
#include "test.h"

#define TRACE "trace { major = 1; minor = 8; byte_order = le; };\n"

static struct diag why;

static int parse(struct ctf_meta *m, const char *text)
{
	*m = (struct ctf_meta){ 0 };
	why.text[0] = 0;
	return ctf_meta_parse(m, text, strlen(text), &why);
}

/* The reason why @text is refused, or "taken". */
static const char *refusal(const char *text)
{
	struct ctf_meta m;
	int err = parse(&m, text);

	ctf_meta_close(&m);
	return err ? why.text : "taken";
}

static void blocks_are_taken_in_any_order(void)
{
	struct ctf_meta m;

	is(parse(&m, "/* CTF 1.8 */ // both comments\n"
		     "event { name = \"a:b\"; id = 7; stream_id = 0; loglevel = 13; "
		     "fields := struct { string _s; }; };\n" TRACE
		     "env { domain = \"ust\"; n = -5; };\n"
		     "clock { name = c; freq = 1000; offset_s = 2; offset = -0x10; };\n"
		     "stream { id = 0; event.header := struct { integer { size = 8; } id; }; };\n"
		     "callsite { name = \"x\"; line = 3; };\n"),
	   0);
	is(m.n_events, 1);
	is_text(m.events->name, "a:b");
	is(m.events->id, 7);
	is_text(ctf_meta_env(&m, "domain"), "ust");
	is(m.env[1].number, -5);
	is(m.clocks[0].freq, 1000);
	is(m.clocks[0].offset, -16);
	ok(m.streams && m.streams->event_header);
	ctf_meta_close(&m);
}

static void types_are_read_as_declared(void)
{
	struct ctf_meta m;
	const struct ctf_member *f;

	is(parse(&m, TRACE
		 "typealias integer { size = 27; align = 1; signed = true; base = hex; "
		 "map = clock.c.value; byte_order = be; } := unsigned long;\n"
		 "typedef integer { size = 16; } a, b[3];\n"
		 "event { name = \"e\"; fields := struct { unsigned long l; b two[ 2 ]; "
		 "enum : a { X, Y = 4, \"z z\" = 6 ... 9, W } e; a len; string s[ len ]; "
		 "struct { a x; } align(64) st; floating_point { exp_dig = 8; mant_dig = 24; } f; "
		 "}; };"),
	   0);
	f = m.events->fields->members;
	is(m.events->fields->n_members, 7);
	is(f[0].type->size_bits, 27);
	is(f[0].type->align_bits, 1);
	is(f[0].type->base, 16);
	is(f[0].type->order, CTF_BIG);
	is_text(f[0].type->clock, "c");
	is(f[1].type->kind, CTF_ARRAY);
	is(f[1].type->of->length, 3);
	is(f[1].type->of->of->align_bits, 8);
	is(f[2].type->labels[1].first, 4);
	is(f[2].type->labels[2].last, 9);
	is(f[2].type->labels[3].first, 10);
	is_text(f[4].type->path, "len");
	is(f[5].type->align_bits, 64);
	is(f[6].type->size_bits, 32);
	is(m.events->fields->align_bits, 64);
	ctf_meta_close(&m);
}

static void a_bad_text_is_refused_with_its_line(void)
{
	is_text(refusal("\n\ntrace { byte_order = le; } event"),
		"line 3: expected `;`, found `event`");
	is_text(refusal("typealias integer { size = 65; } := x;"),
		"line 1: expected a number from 1 to 64");
	is_text(refusal("typealias integer { size = 8; align = 12; } := x;"),
		"line 1: an alignment of 12 bits, which is no power of two");
	is_text(refusal("struct s { nothing x; };"),
		"line 1: no type `nothing` is declared before");
	is_text(refusal("struct a { struct a x; };"), "line 1: no `struct a` is declared before");
	is_text(refusal("event { id = 4294967296; name = \"x\"; };"),
		"line 1: `id` must be a number from 0 to 4294967295");
	is_text(refusal("env { a = \"x"), "line 1: a string without end");
	is_text(refusal("/* "), "line 1: a comment without end");
	is_text(refusal("env { a = 99999999999999999999; };"), "line 1: a number beyond 64 bits");
	is_text(refusal("env { a = 1 \x01 };"), "line 1: byte 0x01 has no place here");
}

static void characters_are_numbers_and_texts(void)
{
	struct ctf_meta m;

	is(parse(&m, "env { a = 'x'; nl = '\\n'; quote = '\\''; };\n"
		     "typealias integer { size = 8; } := u8;\n"
		     "struct s { u8 x; } struct t { struct s y; };\n"
		     "event { name = \"e\"; fields := struct { enum : u8 { A = 'a', "
		     "HEX = '\\xff', OCT = '\\101' ... 'Z' } e; }; };\n" TRACE),
	   0);
	is_text(ctf_meta_env(&m, "a"), "x");
	is_text(ctf_meta_env(&m, "nl"), "\n");
	is_text(ctf_meta_env(&m, "quote"), "'");
	is(m.events->fields->members[0].type->labels[0].first, 'a');
	is(m.events->fields->members[0].type->labels[1].first, 255);
	is(m.events->fields->members[0].type->labels[2].first, 'A');
	is(m.events->fields->members[0].type->labels[2].last, 'Z');
	ctf_meta_close(&m);
	is_text(refusal("env { a = '"), "line 1: a character literal without a character");
	is_text(refusal("env { a = ''; };"), "line 1: a character literal without a character");
	is_text(refusal("env { a = 'ab'; };"),
		"line 1: a character literal without end, or of several characters");
	is_text(refusal("env { a = '\\n"),
		"line 1: a character literal without end, or of several characters");
}

static void scopes_end_with_their_braces(void)
{
	is_text(refusal("struct a { typealias integer { size = 8; } := t; t x; }; struct b { t y; "
			"};"),
		"line 1: no type `t` is declared before");
}

/* @n times @open, then @middle, then @n times @close. */
static const char *nested(int n, const char *open, const char *middle, const char *close)
{
	size_t size = (size_t)n * (strlen(open) + strlen(close)) + strlen(middle) + 100;
	char *text = malloc(size), *at = text;
	const char *result;

	if (!text)
		exit(1);
	at += sprintf(at, "struct top { ");
	for (int i = 0; i < n; i++)
		at = stpcpy(at, open);
	at = stpcpy(at, middle);
	for (int i = 0; i < n; i++)
		at = stpcpy(at, close);
	sprintf(at, " };");
	result = refusal(text);
	free(text);
	return result;
}

static void depth_is_bounded(void)
{
	is_text(nested(20, "struct { ", "string s;", "} a;"), "taken");
	is_text(nested(100000, "struct { ", "string s;", "} a;"),
		"line 1: types nested deeper than 32");
	is_text(nested(100000, "enum : ", "x", ""), "line 1: types nested deeper than 32");
	is_text(nested(100000, "", "string s", "[2]"), "line 1: types nested deeper than 32");
}

/* Each struct holds the one before twice: 2^30 fields in a page of text. */
static void shared_types_do_not_explode(void)
{
	char text[8192], path[] = "/tmp/duet-tsdl-XXXXXX", *at = text;
	int fd = mkstemp(path);
	struct ctf_meta m;
	FILE *f = fdopen(fd, "w");

	at += sprintf(at, TRACE "struct s0 { integer { size = 8; } x; };\n");
	for (int i = 1; i < 30; i++)
		at += sprintf(at, "struct s%d { struct s%d a; struct s%d b; };\n", i, i - 1, i - 1);
	sprintf(at, "stream { id = 0; }; event { name = \"e\"; fields := struct s29; };\n");
	fputs(text, f);
	fclose(f);
	is(ctf_meta_open(&m, path, &why), 0);
	ok(m.events && !m.events->program && m.events->error);
	ctf_meta_close(&m);
	remove(path);
}

static void packets_of_metadata_are_joined(void)
{
	static const char text[2][8] = { "trace {", " };" };
	char bytes[128] = { 0 };
	size_t n = 0;
	bool is_damaged;

	for (int i = 0; i < 2; i++) {
		uint32_t magic = 0x75D11D57, content = (uint32_t)(37 + strlen(text[i])) * 8;
		uint32_t packet = content + 64;

		memcpy(bytes + n, &magic, 4);
		memcpy(bytes + n + 24, &content, 4);
		memcpy(bytes + n + 28, &packet, 4);
		memcpy(bytes + n + 37, text[i], strlen(text[i]));
		n += packet / 8;
	}
	n = ctf_meta_unpack(bytes, n, &is_damaged);
	is(is_damaged, false);
	is(n, strlen("trace { };"));
	ok(!memcmp(bytes, "trace { };", n));
}

static void text_cut_at_every_byte_is_no_worse_than_an_error(const char *text, size_t size)
{
	uint32_t n_events = 0;

	for (size_t cut = 0; cut <= size; cut++) {
		char *copy = malloc(cut + 1); /* so that a sanitizer sees a read beyond it */
		struct ctf_meta m = { 0 };
		int err;

		memcpy(copy, text, cut);
		err = ctf_meta_parse(&m, copy, cut, &why);
		ok(!err || err == -EINVAL);
		ok(m.n_events >= n_events);
		n_events = m.n_events;
		ctf_meta_close(&m);
		free(copy);
	}
	ok(n_events > 0);
}

#define STREAM "stream { id = 0; event.header := struct { integer { size = 8; } id; }; };\n"
#define EVENT(name, id) "event {\n\tname = \"" name "\";\n\tid = " id ";\n};\n"

/* The names of its events, and how many gaps there are; the text without them is sound. */
static void passes_over(const char *text, const char *names, uint32_t n_gaps)
{
	char rest[4096] = "", got[256] = "";
	size_t at = 0;
	struct ctf_meta m;

	is(parse(&m, text), -EINVAL);
	for (struct ctf_event_class *e = m.events; e; e = e->next)
		strcat(got, e->name);
	is_text(got, names);
	is(m.n_gaps, n_gaps);
	for (uint32_t i = 0; i <= m.n_gaps; i++) {
		size_t to = i < m.n_gaps ? m.gaps[i].from : strlen(text);

		strncat(rest, text + at, to - at);
		at = i < m.n_gaps ? m.gaps[i].to : at;
	}
	ctf_meta_close(&m);
	is_text(refusal(rest), "taken");
}

static void a_damaged_block_is_skipped(void)
{
	passes_over(TRACE STREAM EVENT("a", "0") EVENT("b", "x") EVENT("c", "2"), "ac", 1);
	is_text(refusal(TRACE STREAM EVENT("a", "0") EVENT("b", "x") EVENT("c", "2")),
		"line 9: `id` must be a number from 0 to 4294967295");
	/* a brace, a quote, a semicolon that are no more */
	passes_over(TRACE STREAM "event {\n\tname = \"b\";\n\tid = 1;\n|;\n" EVENT("c", "2"), "c",
		    1);
	passes_over(TRACE STREAM "event {\n\tname = \"b;\n\tid = 1;\n};\n" EVENT("c", "2"), "c", 1);
	passes_over(TRACE STREAM EVENT("a", "0") "event {\n\tname = \"b\";\n\tid = 1;\n}\n" EVENT(
			    "c", "2"),
		    "abc", 1);
	/* between blocks: the one before is whole */
	passes_over(TRACE STREAM EVENT("a", "0") "\x01" EVENT("b", "1") EVENT("c", "2"), "ac", 1);
	/* several; one that ends the text; one within the text's first block */
	passes_over(TRACE STREAM EVENT("a", "x") EVENT("b", "1") EVENT("c", "x")
			    EVENT("d", "3") "event {",
		    "bd", 3);
	passes_over("env { a = };\n" TRACE STREAM EVENT("a", "0"), "a", 1);
}

/* With one stream there is no doubt. */
static void an_event_of_an_unknown_stream_is_skipped(void)
{
	passes_over(TRACE STREAM "stream { id = 1; };\n" EVENT(
			    "a", "0") "event {\n\tname = \"b\";\n\tid = 1;\n\tstream_id = 1;\n};\n",
		    "b", 1);
}

static void encodings_are_those_other_readers_know(void)
{
	is_text(refusal(TRACE STREAM "event { name = \"a\"; id = 0; fields := struct { string { "
				     "encoding = utf8; } s; "
				     "integer { size = 8; encoding = none; } i; integer { size = "
				     "8; encoding = ASCII; } c; }; };\n"),
		"taken");
	passes_over(TRACE STREAM "event { name = \"a\"; id = 0; fields := struct { string { "
				 "encoding = UPF8; } s; }; };\n" EVENT("b", "1"),
		    "b", 1);
}

static void declarations_of_a_damaged_block_are_gone(void)
{
	passes_over(TRACE STREAM
		    "event {\n\ttypealias integer { size = 8; } := t;\n\tname = 5 6;\n};\n"
		    "event { name = \"b\"; id = 1; fields := struct { t x; }; };\n" EVENT("c", "2"),
		    "c", 2);
}

static void endless_comments_are_not_read_again_and_again(void)
{
	size_t n = 200000;
	char *text = malloc(11 * n + 200), *end = stpcpy(text, TRACE STREAM);
	struct ctf_meta m;

	for (size_t i = 0; i < n; i++)
		end = stpcpy(end, "event { /*\n");
	is(parse(&m, text), -EINVAL);
	ok(m.n_gaps < 10);
	ctf_meta_close(&m);
	free(text);
}

static const char sample[] =
	"/* CTF 1.8 */\n" TRACE "typealias integer { size = 5; align = 1; } := uint5_t;\n"
	"struct h { enum : uint5_t { compact = 0 ... 30, extended = 31 } id; variant <id> { struct "
	"{ "
	"uint5_t t; } compact; struct { uint5_t id; } extended; } v; } align(8);\n"
	"stream { id = 0; event.header := struct h; };\n"
	"event { name = \"a\\\"b\"; id = 0; fields := struct { string _s; uint5_t __n; uint5_t _x[ "
	"__n ]; }; };\n";

static void a_cut_sample_is_no_worse_than_an_error(void)
{
	text_cut_at_every_byte_is_no_worse_than_an_error(sample, strlen(sample));
}

static const char *file_path;

static void a_cut_file_is_no_worse_than_an_error(void)
{
	FILE *f = fopen(file_path, "r");
	char *text = malloc(1 << 20);
	size_t size = f ? fread(text, 1, 1 << 20, f) : 0;
	bool is_damaged;

	ok(f && size > 4);
	if (f)
		fclose(f);
	if (size > 4 && !memcmp(text, "\x57\x1d\xd1\x75", 4))
		size = ctf_meta_unpack(text, size, &is_damaged);
	text_cut_at_every_byte_is_no_worse_than_an_error(text, size);
	free(text);
}

int main(int argc, char **argv)
{
	run(blocks_are_taken_in_any_order);
	run(types_are_read_as_declared);
	run(a_bad_text_is_refused_with_its_line);
	run(characters_are_numbers_and_texts);
	run(scopes_end_with_their_braces);
	run(depth_is_bounded);
	run(shared_types_do_not_explode);
	run(packets_of_metadata_are_joined);
	run(a_damaged_block_is_skipped);
	run(encodings_are_those_other_readers_know);
	run(an_event_of_an_unknown_stream_is_skipped);
	run(declarations_of_a_damaged_block_are_gone);
	run(endless_comments_are_not_read_again_and_again);
	run(a_cut_sample_is_no_worse_than_an_error);
	if (argc > 1) {
		file_path = argv[1];
		run(a_cut_file_is_no_worse_than_an_error);
	}
	return test_status();
}
