/* SPDX-License-Identifier: MIT */
/* tests/unit/filter/payload_test.c - payloads that contradict their schema, and filters in
 * memory. */
#include "make_filter.h"

static const char schema[] = "13 t:p u32 n str s u8[2] pair i64[] v chr[3] c str t u16 last";

static void fill(struct payload *p)
{
	p->size = 0;
	PUT(p, uint32_t, 5);
	put_text(p, "first");
	put(p, "\1\2", 2);
	PUT(p, uint32_t, 2);
	PUT(p, int64_t, -1);
	PUT(p, int64_t, 1ll << 40);
	put(p, "abc", 3);
	put_text(p, "second");
	PUT(p, uint16_t, 999);
}

static bool wants(const char *text, const void *bytes, size_t size)
{
	struct filter_problem problem;
	struct linked l;
	struct diag d = { "" };

	if (!make_filter(&l, schema, text, &problem, &d)) {
		printf("# %s: %s\n", text, d.text);
		test_n_failed++;
		return false;
	}
	return filter_run(&l.f, bytes, size, NULL);
}

static void fields_behind_variable_ones_are_found_in_any_order(void)
{
	struct payload p;

	fill(&p);
	ok(wants("last == 999 && s == \"first\" && v[1] == 1 << 40 && t == \"second\"", p.bytes,
		 p.size));
	ok(wants("n == 5 && c == \"abc\" && pair[1] == 2 && last == 999 && pair[0] == 1 && v[0] == "
		 "-1",
		 p.bytes, p.size));
	ok(wants("s < t && t > s && v[0] < v[1]", p.bytes, p.size));
}

/* Each in memory of its own size, so that a sanitizer sees a byte too much. */
static void a_payload_that_is_cut_matches_nothing_that_lies_behind(void)
{
	static const struct {
		const char *text;
		size_t from; /* bytes needed */
	} cases[] = {
		{ "n == 5", 4 },	 { "!(n != 5)", 4 },	   { "s == \"first\"", 10 },
		{ "pair[1] == 2", 12 },	 { "v[0] == -1", 24 },	   { "v[1] > 0", 32 },
		{ "c == \"abc\"", 35 },	 { "t != s", 42 },	   { "last == 999", 44 },
		{ "n == 5 || last", 4 }, { "last || n == 5", 44 },
	};
	struct payload p;

	fill(&p);
	is(p.size, 44);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t size = 0; size <= p.size; size++) {
			uint8_t *bytes = malloc(size ? size : 1);

			if (!bytes)
				exit(1);
			memcpy(bytes, p.bytes, size);
			if (!is(wants(cases[i].text, bytes, size), size >= cases[i].from))
				printf("# %s, %zu bytes\n", cases[i].text, size);
			free(bytes);
		}
}

static void fields_at_fixed_places_are_not_read_beyond_the_end(void)
{
	static const char fixed[] = "13 t:f u64 a u32 b i16 c u8 d";
	static const struct {
		const char *text;
		size_t from; /* bytes needed */
	} cases[] = {
		{ "a != 5", 8 },
		{ "b != 5", 12 },
		{ "c < 0", 14 },
		{ "d == 255", 15 },
		{ "d == 255 && a == a", 15 },
	};
	struct filter_problem problem;
	struct linked l;
	struct diag d;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t size = 0; size <= 15; size++) {
			uint8_t *bytes = malloc(size ? size : 1);

			if (!bytes)
				exit(1);
			memset(bytes, 0xff, size ? size : 1);
			ok(make_filter(&l, fixed, cases[i].text, &problem, &d));
			is(filter_run(&l.f, bytes, size, NULL), size >= cases[i].from);
			free(bytes);
		}
}

static void a_count_that_lies_reaches_nowhere(void)
{
	static const uint32_t counts[] = {
		3, 1000, 1u << 29, (1u << 29) + 1, 1u << 31, UINT32_MAX
	};
	struct payload p;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		fill(&p);
		memcpy(p.bytes + 12, &counts[i], 4);
		ok(wants("v[0] == -1", p.bytes, p.size));
		ok(!wants("last || 1", p.bytes, p.size) || i == 0);
		ok(!wants("v[4294967294] || 1", p.bytes, p.size));
		ok(!wants("v[4] || 1", p.bytes, p.size));
	}
}

static void a_string_without_end_matches_nothing(void)
{
	struct payload p;

	fill(&p);
	memset(p.bytes + 4, 'x', p.size - 4);
	ok(!wants("s != \"first\"", p.bytes, p.size));
	ok(!wants("last || 1", p.bytes, p.size));
	ok(wants("n == 5", p.bytes, p.size));
}

static void a_linked_filter_may_be_moved(void)
{
	struct filter_problem problem;
	struct payload p;
	struct linked l;
	struct filter *moved;
	struct diag d;

	fill(&p);
	ok(make_filter(&l, schema, "t ~ \"sec*\" && s == \"first\" && last == 999", &problem, &d));
	moved = malloc(l.f.size);
	if (!moved)
		exit(1);
	memcpy(moved, &l.f, l.f.size);
	memset(&l, 0xff, sizeof l);
	ok(filter_run(moved, p.bytes, p.size, NULL));
	is(moved->n_parts, 3);
	free(moved);
	ok(make_filter(&l, schema, "n > 4096", &problem, &d));
	ok(l.f.size <= 96);
	is(l.f.n_steps, 2);
}

/* In room of every size: linking succeeds if there is enough, and writes no byte beyond it. */
static void too_little_room_is_reported(void)
{
	struct filter_code code;
	struct filter_problem problem;
	size_t n_good = 0;

	is(filter_compile("t ~ \"sec*\" && s == \"first\" && last == 999", &code, NULL), 0);
	for (size_t size = 0; size < 1024; size += 8) {
		uint64_t *room = malloc(size ? size : 1);
		bool good;

		if (!room)
			exit(1);
		good = filter_payload_link((struct filter *)room, size, code.bytes, code.size,
					   schema, strlen(schema), 0, &problem);
		ok(good || problem.why == FILTER_TOO_LARGE);
		ok(good >= (n_good > 0));
		n_good += good;
		free(room);
	}
	ok(n_good > 10 && n_good < 120);
}

static void contexts_are_those_that_can_be_given(void)
{
	struct filter_code code;
	struct filter_problem problem;
	struct linked l;

	is(filter_compile("$vpid == 4711 && $procname == \"shop\"", &code, NULL), 0);
	ok(!filter_payload_link(&l.f, sizeof l, code.bytes, code.size, schema, strlen(schema),
				1 << FILTER_VPID, &problem));
	is(problem.why, FILTER_NO_CONTEXT);
	is_text(problem.name, "procname");
	ok(filter_payload_link(&l.f, sizeof l, code.bytes, code.size, schema, strlen(schema),
			       1 << FILTER_VPID | 1 << FILTER_PROCNAME, &problem));
	is(l.f.sources, 1 << FILTER_VPID | 1 << FILTER_PROCNAME);
	ok(filter_run(&l.f, NULL, 0, &contexts));
	for (int i = 0; i < FILTER_CONTEXTS; i++)
		ok(filter_context_name((enum filter_context)i));
	ok(!filter_context_name(FILTER_CONTEXTS));
}

static void a_schema_that_is_none_has_no_fields(void)
{
	static const char *const schemas[] = {
		"",
		"13",
		"13 a:b",
		"13 a:b i32",
		"13 a:b i33 n",
		"13 a:b chr n",
		"13 a:b i32[ n",
		"13 a:b enum(i32:A n",
		"13 a:b str x enum(f32:A) y u32 n",
		"13 a:b  ",
		"13 a:b i32[99999999999] n",
	};
	struct filter_problem problem;
	struct linked l;
	struct diag d;

	for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
		ok(!make_filter(&l, schemas[i], "n == 1", &problem, &d));
		ok(problem.why == FILTER_NO_FIELD || problem.why == FILTER_BROKEN);
	}
	ok(make_filter(&l, "13 a:b i32 n", "n == 1", &problem, &d));
}

static void labels_mean_all_their_values_of_any_size(void)
{
	static const char enums[] = "13 a:b enum(u64:A, B = 18446744073709551615) u enum(i64:C = "
				    "-5, D, E = 4, F = 4) i";
	struct filter_problem problem;
	struct payload p = { .size = 0 };
	struct linked l;
	struct diag d;

	PUT(&p, uint64_t, UINT64_MAX);
	PUT(&p, int64_t, -4);
	ok(make_filter(&l, enums,
		       "u == \"B\" && u != \"A\" && i == \"D\" && i != \"C\" && i !~ \"[E-F]\" && "
		       "i ~ \"?\"",
		       &problem, &d) == false); /* no label is like [E-F] */
	is(problem.why, FILTER_NO_LABEL);
	ok(make_filter(&l, enums,
		       "u == \"B\" && u != \"A\" && i == \"D\" && i != \"C\" && i ~ \"?\"",
		       &problem, &d));
	ok(filter_run(&l.f, p.bytes, p.size, NULL));
	p.size = 8;
	PUT(&p, int64_t, 4);
	ok(make_filter(&l, enums, "i == \"E\" && i == \"F\" && i == 4", &problem, &d));
	ok(filter_run(&l.f, p.bytes, p.size, NULL));
}

/* A program that has the payload in registers asks in this way: the answers are the same, at every
 * offset, and near the end of the words. */
static void a_payload_in_words_is_read_as_one_in_bytes(void)
{
	static const char numbers[] = "13 t:p u8 a i32 b i16 c u64 d i8 e i64 f u32 g u32 h";
	static const struct {
		const char *text;
		bool reads_words;
	} cases[] = {
		{ "a < 100", true },
		{ "b < 0", true },
		{ "c >= -3", true },
		{ "d > 1 << 40", true },
		{ "e == -1", true },
		{ "f < -5", true },
		{ "g != 7", true },
		{ "h > 0x80000000", true },
		{ "a > 9 && h < 5", true },
		{ "!(b < 0 || f > 0)", true },
		{ "h == 1 && (d == 3 || g == 9)", true },
		{ "a == e || c == 2", false },
		{ "a + b > c * 2", false },
	};
	uint64_t words[4], random = 1;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter_problem problem;
		struct linked l;
		struct diag d;
		int n_passed = 0;

		if (!ok(make_filter(&l, numbers, cases[i].text, &problem, &d)))
			continue;
		is(filter_reads_words(&l.f, sizeof words), cases[i].reads_words);
		ok(!filter_reads_words(&l.f, 0));
		for (int n = 0; n < 2000; n++) {
			for (int w = 0; w < 4; w++) {
				random = random * 6364136223846793005ull + 1442695040888963407ull;
				/* many small values, and many zeros and ones */
				words[w] =
					n % 3 ? random : random & (random >> 20) & (random >> 40);
			}
			bool passes = filter_run(&l.f, words, sizeof words, NULL);

			is(filter_run_words(&l.f, words, sizeof words, NULL), passes);
			n_passed += passes;
		}
		printf("# %s: %d of 2000\n", cases[i].text, n_passed);
	}
}

int main(void)
{
	run(fields_behind_variable_ones_are_found_in_any_order);
	run(a_payload_that_is_cut_matches_nothing_that_lies_behind);
	run(fields_at_fixed_places_are_not_read_beyond_the_end);
	run(a_count_that_lies_reaches_nowhere);
	run(a_string_without_end_matches_nothing);
	run(a_linked_filter_may_be_moved);
	run(too_little_room_is_reported);
	run(contexts_are_those_that_can_be_given);
	run(a_schema_that_is_none_has_no_fields);
	run(labels_mean_all_their_values_of_any_size);
	run(a_payload_in_words_is_read_as_one_in_bytes);
	return test_status();
}
