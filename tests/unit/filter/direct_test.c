/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/filter/direct_test.c - a filter's comparisons (filter/direct.h) give the answers of the
 * machine that runs its steps, on all types, operations and edges.
 */
#include "filter/direct.h"
#include "make_filter.h"

enum { FIELDS = 8, WORDS = 4, BYTES = 8 * WORDS, RANDOM = 300 };

/* `d` lies in two words. */
static const char schema[] = "13 t:p u8 a i32 b i16 c u64 d i8 e i64 f u32 g u32 h";
static const struct {
	char name;
	uint32_t at, bytes;
	bool is_signed, is_in_one_word;
} fields[FIELDS] = {
	{ 'a', 0, 1, false, true },  { 'b', 1, 4, true, true },	  { 'c', 5, 2, true, true },
	{ 'd', 7, 8, false, false }, { 'e', 15, 1, true, true },  { 'f', 16, 8, true, true },
	{ 'g', 24, 4, false, true }, { 'h', 28, 4, false, true },
};
static const char *const operations[] = { "==", "!=", "<", "<=", ">", ">=" };

static uint64_t next_random(void)
{
	static uint64_t seed = 88172645463325252u;

	/* xorshift64 (Marsaglia 2003) */
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void make(struct filter_direct *d, struct linked *l, const char *schema_text,
		 const char *text)
{
	struct filter_problem problem;
	struct diag diag = { "" };

	*d = (struct filter_direct){ .n = 0 };
	if (!make_filter(l, schema_text, text, &problem, &diag)) {
		printf("# %s: %s\n", text, diag.text);
		test_n_failed++;
		return;
	}
	if (!filter_make_direct(d, &l->f, BYTES))
		d->n = 0;
}

static bool is_same_on(const struct filter_direct *d, const struct linked *l, const void *payload)
{
	return filter_compares_integers(d, payload) == filter_run(&l->f, payload, BYTES, NULL);
}

/* On random payloads, and on those whose bytes at @at are @value or beside it. */
static bool is_same(const struct filter_direct *d, const struct linked *l, uint32_t at,
		    uint32_t bytes, uint64_t value)
{
	uint64_t words[WORDS];
	bool same = true;

	for (int n = 0; n < RANDOM && same; n++) {
		for (int i = 0; i < WORDS; i++)
			words[i] = n % 3 ? next_random() : next_random() & next_random() & 0x8001;
		same = is_same_on(d, l, words);
		for (uint64_t near = value - 2; near != value + 3 && same; near++) {
			memcpy((char *)words + at, &near, bytes);
			same = is_same_on(d, l, words);
		}
	}
	return same;
}

/* The constant @c of a comparison; all of the field's edges are near one of them. */
static void compare_with(int field, const char *operation, int64_t c)
{
	struct filter_direct d;
	struct linked l;
	char text[64];
	bool ok_here;

	snprintf(text, sizeof text, "%c %s %lld", fields[field].name, operation, (long long)c);
	make(&d, &l, schema, text);
	if (!fields[field].is_in_one_word) {
		is(d.n, 0);
		return;
	}
	/* Nothing passes, and only then there is another form. */
	if (!d.n) {
		uint64_t words[WORDS] = { 0 };

		ok_here = true;
		for (int n = 0; n < RANDOM && ok_here; n++) {
			for (int i = 0; i < WORDS; i++)
				words[i] = next_random();
			ok_here = !filter_run(&l.f, words, sizeof words, NULL);
		}
	} else {
		ok_here = d.n == 1 && d.size == fields[field].at + fields[field].bytes &&
			  is_same(&d, &l, fields[field].at, fields[field].bytes, (uint64_t)c);
	}
	if (!ok(ok_here))
		printf("# %s\n", text);
}

static void each_comparison_gives_the_machines_answer(void)
{
	static const int64_t constants[] = {
		0,	1,     -1,	  7,	     127,	 -128,	    255,      32767,
		-32768, 65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN
	};

	for (int field = 0; field < FIELDS; field++)
		for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
			for (size_t c = 0; c < sizeof constants / sizeof *constants; c++)
				for (int64_t near = -1; near <= 1; near++)
					compare_with(
						field, operations[o],
						(int64_t)((uint64_t)constants[c] + (uint64_t)near));
}

static void most_comparisons_with_values_of_the_field_are_direct(void)
{
	struct filter_direct d;
	struct linked l;
	char text[64];

	for (int field = 0; field < FIELDS; field++)
		for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
			snprintf(text, sizeof text, "%c %s 5", fields[field].name, operations[o]);
			make(&d, &l, schema, text);
			is(d.n, fields[field].is_in_one_word);
		}
}

static void chains_of_one_operation_are_direct(void)
{
	static const struct {
		const char *text;
		uint32_t n;
	} cases[] = {
		{ "a > 9 && h < 5", 2 },
		{ "a > 9 || h < 5", 2 },
		{ "b < 0 && c > 0 && e != 3", 3 },
		{ "b < 0 || (c > 0 || e != 3)", 3 },
		{ "a && b == 0", 0 },
		{ "a > 1 && (b > 1 || c > 1)", 0 },
		{ "(a > 1 && b > 1) || c > 1", 0 },
		{ "a > 1 && d > 5", 0 },
		{ "!(a > 1)", 0 },
		{ "a == b", 0 },
		{ "a + 1 > 7", 0 },
		{ "a > 100 && b > 0 && c > 0 && e > 0 && f > 0 && g > 9", 6 },
		{ "a > 100 || b > 0 || c > 0 || e > 0 || f > 0 || g > 9", 6 },
		{ "a != 1 && a != 2 && a != 3 && a != 4 && a != 5 && a != 6 && a != 7", 0 },
		{ "$vpid == 4711", 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter_direct d;
		struct linked l;

		make(&d, &l, schema, cases[i].text);
		if (!is(d.n, cases[i].n) || (d.n && !ok(is_same(&d, &l, 0, 1, 9))))
			printf("# %s\n", cases[i].text);
	}
}

static void labels_are_direct_if_they_have_one_value(void)
{
	static const char enums[] = "13 a:b enum(u8:A, B = 255, C = 5, D = 20, D = 22) u "
				    "enum(i16:N = -3, Z, P) i u32 x";
	static const struct {
		const char *text;
		uint32_t n;
	} cases[] = {
		{ "u == \"A\"", 1 },
		{ "u != \"B\"", 1 },
		{ "u == \"C\"", 1 },
		{ "u != \"C\"", 1 },
		{ "u == \"D\"", 0 },
		{ "i == \"N\"", 1 },
		{ "i != \"N\"", 1 },
		{ "i ~ \"Z*\"", 1 },
		{ "i == \"P\" && u != \"A\" && x > 4", 3 },
		{ "u ~ \"*\"", 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter_direct d;
		struct linked l;

		make(&d, &l, enums, cases[i].text);
		if (!is(d.n, cases[i].n) ||
		    (d.n && !ok(is_same(&d, &l, 0, 1, 5) && is_same(&d, &l, 1, 2, (uint64_t)-2))))
			printf("# %s\n", cases[i].text);
	}
}

static bool passes(const struct filter_direct *d, const struct linked *l, const void *payload,
		   size_t size)
{
	bool so_far = d->n ? filter_compares_integers(d, payload) : !d->decisive;

	return d->has_text && so_far != d->decisive ? filter_compares_text(d, &l->f, payload, size)
						    : so_far;
}

/* Whole payloads, and all that are cut behind the integers. */
static void a_string_is_compared_as_by_the_machine(void)
{
	static const char with_text[] = "13 t:p u32 n str s u32 last";
	static const char *const texts[] = { "", "x", "xy", "xyz", "y", "x*" };
	static const struct {
		const char *text;
		bool is_direct;
	} cases[] = {
		{ "s == \"xy\"", true },
		{ "s != \"xy\"", true },
		{ "s == \"\"", true },
		{ "s ~ \"x*\"", true },
		{ "s !~ \"*y\"", true },
		{ "s == \"xy\" && n == 1", true },
		{ "n == 1 && s != \"xy\"", true },
		{ "n == 1 || s ~ \"?\"", true },
		{ "s == \"x\" || n == 1", false },
		{ "s > \"x\"", false },
		{ "s == \"x\" || s == \"y\"", false },
		{ "last == 4", false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter_problem problem;
		struct filter_direct d;
		struct linked l;
		struct diag diag = { "" };

		if (!ok(make_filter(&l, with_text, cases[i].text, &problem, &diag)))
			continue;
		if (!is(filter_make_direct(&d, &l.f, 8), cases[i].is_direct))
			printf("# %s\n", cases[i].text);
		for (size_t t = 0; cases[i].is_direct && t < 2 * sizeof texts / sizeof *texts;
		     t++) {
			struct payload p = { .size = 0 };

			PUT(&p, uint32_t, (uint32_t)t % 2);
			put_text(&p, texts[t / 2]);
			PUT(&p, uint32_t, 4);
			for (size_t size = 4; size <= p.size; size++)
				if (!is(passes(&d, &l, p.bytes, size),
					filter_run(&l.f, p.bytes, size, NULL)))
					printf("# %s: n %zu, \"%s\", %zu bytes\n", cases[i].text,
					       t % 2, texts[t / 2], size);
		}
	}
}

static void what_the_payload_may_lack_is_not_direct(void)
{
	struct filter_direct d;
	struct linked l;

	make(&d, &l, schema, "h > 4");
	is(d.size, BYTES);
	ok(!filter_make_direct(&d, &l.f, BYTES - 1));
	ok(!filter_make_direct(&d, &l.f, 0));
	make(&d, &l, "13 t:p u32 n str s u32 last", "n > 4 && last > 4");
	is(d.n, 0);
}

int main(void)
{
	run(each_comparison_gives_the_machines_answer);
	run(most_comparisons_with_values_of_the_field_are_direct);
	run(chains_of_one_operation_are_direct);
	run(labels_are_direct_if_they_have_one_value);
	run(a_string_is_compared_as_by_the_machine);
	run(what_the_payload_may_lack_is_not_direct);
	return test_status();
}
