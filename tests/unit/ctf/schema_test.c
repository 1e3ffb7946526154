/* SPDX-License-Identifier: MIT */
/* Schemas from untrusted programs, and the metadata made of them. */
#include <errno.h>

#include "base/schema.h"
#include "ctf/write/schema.h"
#include "test.h"

/* The fields' lines of the class, with tabs as spaces and runs of them as one. */
static const char *fields_of(const char *words)
{
	static char flat[8192];
	char schema[4096];
	struct text t = { 0 };
	const char *p, *end;
	size_t n = 0;

	snprintf(schema, sizeof schema, "13 a:b %s", words);
	if (schema_to_tsdl(&t, schema, strlen(schema), 0, 7)) {
		ok(strstr(t.bytes, "fields := struct {\n\t};\n"));
		text_fini(&t);
		return NULL;
	}
	p = strstr(t.bytes, "struct {\n") + 9;
	end = strstr(p, "\t};\n};");
	for (; p < end && n < sizeof flat - 1; p++)
		if (*p == '\n' ? p + 1 < end : *p != '\t')
			flat[n++] = *p == '\n' ? ' ' : *p;
	flat[n] = 0;
	text_fini(&t);
	return flat;
}

static void an_event_is_a_block_with_its_id_and_level(void)
{
	struct text t = { 0 };

	is(schema_to_tsdl(&t, "4 shop:order", 12, 0, 9), 0);
	is_text(t.bytes, "event {\n\tname = \"shop:order\";\n\tid = 9;\n\tstream_id = 0;\n"
			 "\tloglevel = 4;\n\tfields := struct {\n\t};\n};\n\n");
	text_fini(&t);
}

static void every_type_has_its_tsdl(void)
{
	is_text(fields_of("i8 a u16 b i32 c u64 d"),
		"integer { size = 8; align = 8; signed = true; base = 10; } _a; "
		"integer { size = 16; align = 8; signed = false; base = 10; } _b; "
		"integer { size = 32; align = 8; signed = true; base = 10; } _c; "
		"integer { size = 64; align = 8; signed = false; base = 10; } _d;");
	is_text(fields_of("x8 a p64 b"),
		"integer { size = 8; align = 8; signed = false; base = 16; } _a; "
		"integer { size = 64; align = 8; signed = false; base = 16; } _b;");
	is_text(fields_of("f32 a f64 b"),
		"floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _a; "
		"floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _b;");
	is_text(fields_of("str s"), "string { encoding = UTF8; } _s;");
	is_text(fields_of("chr[16] s"),
		"integer { size = 8; align = 8; signed = false; encoding = UTF8; } _s[16];");
	is_text(fields_of("i32[3] a"),
		"integer { size = 32; align = 8; signed = true; base = 10; } _a[3];");
	is_text(fields_of("f64[] a"),
		"integer { size = 32; align = 8; signed = false; } __a_length; "
		"floating_point { exp_dig = 11; mant_dig = 53; align = 8; } "
		"_a[ __a_length ];");
	is_text(fields_of("enum(u8:A, B = 5, C) e"),
		"enum : integer { size = 8; align = 8; signed = false; base = 10; } "
		"{ \"A\" = 0, \"B\" = 5, \"C\" = 6 } _e;");
}

static void values_of_labels_count_on_as_in_c(void)
{
	ok(strstr(fields_of("enum(i8:A = -2, B, C, D = 0x7f) e"),
		  "{ \"A\" = -2, \"B\" = -1, \"C\" = 0, \"D\" = 127 }"));
	ok(strstr(fields_of("enum(u64:A = 0xffffffffffffffff, B = 010) e"),
		  "{ \"A\" = 18446744073709551615, \"B\" = 8 }"));
	ok(strstr(fields_of("enum(i64:A = -9223372036854775808, B = 5ul) e"),
		  "{ \"A\" = -9223372036854775808, \"B\" = 5 }"));
}

static void values_beyond_the_type_are_refused(void)
{
	ok(fields_of("enum(u8:A = 255) e"));
	ok(!fields_of("enum(u8:A = 256) e"));
	ok(!fields_of("enum(u8:A = 255, B) e"));
	ok(!fields_of("enum(u8:A = -1) e"));
	ok(fields_of("enum(i8:A = -128, B = 127) e"));
	ok(!fields_of("enum(i8:A = -129) e"));
	ok(!fields_of("enum(i8:A = 127, B) e"));
	ok(!fields_of("enum(u64:A = 18446744073709551616) e"));
	ok(!fields_of("enum(i64:A = 9223372036854775808) e"));
}

static void malformed_words_are_refused(void)
{
	static const char *const bad[] = {
		"i32",
		"i33 a",
		"i a",
		"32 a",
		"I32 a",
		"i320 a",
		"u 8 a",
		"f8 a",
		"f16 a",
		"str[2] a",
		"i32[ a",
		"i32] a",
		"i32[3 a",
		"i32[3]] a",
		"i32[-1] a",
		"i32[x] a",
		"i32[2*3] a",
		"i32[1048577] a",
		"chr[] a",
		"chr a",
		"[3] a",
		"i32[3][3] a",
		"enum a",
		"enum( a",
		"enum() a",
		"enum(u8) a",
		"enum(u8:) a",
		"enum(u8:A,) a",
		"enum(u8:,A) a",
		"enum(u8:A=) a",
		"enum(u8:A=x) a",
		"enum(u8:A = 1 << 3) a",
		"enum(f32:A) a",
		"enum(str:A) a",
		"enum(u8:A-B) a",
		"enum(u8:A=0x) a",
		"enum(u8:\"A) a",
		"i32 a u8",
		"i08 a",
		"enum(u8:A)) a",
		"enum(i32[2]:A) a",
		"i32[0x] a",
		"i32[99999999999999999999] a",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!ok(!fields_of(bad[i])))
			printf("# accepted: %s\n", bad[i]);
}

static void names_are_unique_and_of_letters(void)
{
	ok(strstr(fields_of("i8 a-b"), "_a_b;"));
	ok(strstr(fields_of("i8 a\"b"), "_a_b;"));
	ok(strstr(fields_of("i8 a i8 a"), "_a; integer"));
	ok(strstr(fields_of("i8 a i8 a"), "_a_1;"));
	ok(strstr(fields_of("i8 a_1 i8 a i8 a"), "_a_2;"));
	ok(strstr(fields_of("u8[] x u32 _x_length"), "__x_length_2;"));
	ok(!strstr(fields_of("u32 _x_length u8[] x"), "[ __x_length ]"));
}

static void too_many_fields_are_refused(void)
{
	char words[4096] = "";

	for (int i = 0; i < SCHEMA_FIELDS_MAX; i++)
		strcat(words, "i8 a ");
	ok(fields_of(words));
	strcat(words, "i8 a");
	ok(!fields_of(words));
}

static void the_name_is_cut_to_what_metadata_allows(void)
{
	const char schema[] = "13 a:b\"};\\ i32 x";
	char name[64], small[4];

	ok(schema_name(schema, sizeof schema - 1, name, sizeof name));
	is_text(name, "a:b____");
	ok(schema_name(schema, sizeof schema - 1, small, sizeof small));
	is_text(small, "a:b");
	ok(!schema_name("13", 2, name, sizeof name));
	ok(!schema_name("13 ", 3, name, sizeof name));
	ok(!schema_name("", 0, name, sizeof name));
}

static void without_a_name_or_level_there_is_still_a_block(void)
{
	struct text t = { 0 };

	schema_to_tsdl(&t, "", 0, 0, 3);
	ok(strstr(t.bytes, "name = \"unknown\";\n\tid = 3;"));
	ok(strstr(t.bytes, "loglevel = 13;"));
	text_fini(&t);
	schema_to_tsdl(&t, "99 a:b", 6, 0, 3);
	ok(strstr(t.bytes, "loglevel = 13;"));
	text_fini(&t);
}

/* Within braces and quotes the metadata keep their structure, whatever the schema holds. */
static bool is_closed(const char *s)
{
	int depth = 0;
	bool quoted = false;

	for (; *s; s++) {
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			return false;
		if (*s == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += (*s == '{') - (*s == '}');
		if (depth < 0)
			return false;
	}
	return !depth && !quoted;
}

static unsigned random_below(unsigned n)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

/* Whether two fields of the metadata's struct have one name: it stands behind the last "} ". */
static bool has_equal_names(const char *tsdl)
{
	static char seen[2 * SCHEMA_FIELDS_MAX][160];
	int n = 0;

	for (const char *p = strstr(tsdl, "struct {\n") + 9, *end; memcmp(p, "\t};", 3);
	     p = end + 1) {
		const char *name = end = strchr(p, '\n');

		while (name > p && memcmp(name, "} _", 3))
			name--;
		if (name == p)
			return true;
		snprintf(seen[n], sizeof seen[n], "%.*s", (int)strcspn(name + 2, "[;"), name + 2);
		for (int i = 0; i < n; i++)
			if (!strcmp(seen[i], seen[n]))
				return true;
		n++;
	}
	return false;
}

static void random_schemas_are_read_or_refused(void)
{
	static const char *const trace_chunks[] = {
		"i32 ",	   "u8 ",    "str ",	   "x64 ",
		"chr[4] ", "i16[] ", "f64[2] ",	   "enum(u8:A,B=2) ",
		"a ",	   "a_1 ",   "_a_length ", "b ",
		"13 ",	   "a:b ",   "[",	   "]",
		"(",	   ")",	     ",",	   "=",
		":",	   "-",	     " ",	   "9",
		"enum(",   "i",	     "\"",	   "\n",
		"\\",	   "{",	     "}",	   "a_length "
	};
	enum { N = sizeof trace_chunks / sizeof *trace_chunks };
	int n_sound = 0;

	for (int i = 0; i < 100000; i++) {
		char schema[512] = "13 a:b ", *copy;
		struct text t = { 0 };
		size_t size;
		int err;

		for (unsigned k = random_below(12); k; k--)
			strcat(schema, trace_chunks[random_below(i % 2 ? N : 12)]);
		size = strlen(schema);
		if (i % 3 == 0)
			schema[random_below((unsigned)size)] = (char)random_below(256);
		copy = malloc(size); /* so that a sanitizer sees a read beyond the end */
		memcpy(copy, schema, size);
		err = schema_to_tsdl(&t, copy, size, 0, 1);
		n_sound += !err;
		if (!is_closed(t.bytes) || has_equal_names(t.bytes)) {
			ok(!"well-formed metadata");
			printf("# of \"%s\":\n%s\n", schema, t.bytes);
		}
		text_fini(&t);
		free(copy);
	}
	ok(n_sound > 5000);
	ok(n_sound < 95000);
}

int main(void)
{
	run(an_event_is_a_block_with_its_id_and_level);
	run(every_type_has_its_tsdl);
	run(values_of_labels_count_on_as_in_c);
	run(values_beyond_the_type_are_refused);
	run(malformed_words_are_refused);
	run(names_are_unique_and_of_letters);
	run(too_many_fields_are_refused);
	run(the_name_is_cut_to_what_metadata_allows);
	run(without_a_name_or_level_there_is_still_a_block);
	run(random_schemas_are_read_or_refused);
	return test_status();
}
