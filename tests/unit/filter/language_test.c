/* SPDX-License-Identifier: MIT */
/* tests/unit/filter/language_test.c - the meaning of expressions, and the messages for wrong
 * ones. */
#include "make_filter.h"

static const char schema[] =
	"13 t:all i8 a i16 b i32 c i64 d u8 e u16 f u32 g u64 h x64 x p64 p f32 r f64 q chr[8] w "
	"str s "
	"i32[3] v u16[] y enum(i8:LOW = -3, IDLE = 0, BUSY, DONE = 7) z str t u8 last";

static void fill(struct payload *p)
{
	p->size = 0;
	PUT(p, int8_t, -8);
	PUT(p, int16_t, -1600);
	PUT(p, int32_t, -320000);
	PUT(p, int64_t, INT64_MIN);
	PUT(p, uint8_t, 200);
	PUT(p, uint16_t, 60000);
	PUT(p, uint32_t, 4000000000u);
	PUT(p, uint64_t, UINT64_MAX);
	PUT(p, uint64_t, 0xff);
	PUT(p, uint64_t, 0x7fff00001000);
	PUT(p, float, 0.5f);
	PUT(p, double, -2.25);
	put(p, "word\0xyz", 8);
	put_text(p, "some text");
	for (int32_t i = 0; i < 3; i++)
		PUT(p, int32_t, i - 1);
	PUT(p, uint32_t, 2);
	PUT(p, uint16_t, 10);
	PUT(p, uint16_t, 20);
	PUT(p, int8_t, 7);
	put_text(p, "");
	PUT(p, uint8_t, 99);
}

static const char *const is_true[] = {
	/* every width, sign and place */
	"a == -8",
	"b == -1600",
	"c == -320000",
	"e == 200",
	"f == 60000",
	"g == 4000000000",
	"x == 0xff",
	"d == -9223372036854775807 - 1",
	"h == 18446744073709551615",
	"p == 0x7fff00001000",
	"r == 0.5",
	"q == -2.25",
	"w == \"word\"",
	"s == \"some text\"",
	"t == \"\"",
	"last == 99",
	"v[0] == -1",
	"v[2] == 1",
	"y[0] == 10",
	"y[1] == 20",
	"y[ 0x1 ] == 20",
	"w[0] == 'w'",
	/* comparisons, and constants on the left */
	"a < -7",
	"a <= -8",
	"!(a < -8)",
	"a > -9",
	"a >= -8",
	"!(a >= -7)",
	"a != 8",
	"-8 == a",
	"-7 > a",
	"-8 >= a",
	"-9 < a",
	"-8 <= a",
	"7 != a",
	"\"word\" == w",
	"\"x\" > w",
	/* numbers of both signs are compared by their value */
	"h > d",
	"d < h",
	"a < h",
	"h > -1",
	"d != h",
	"a != 248",
	"h == 0xffffffffffffffff",
	"h > 9e18",
	"d <= -9.2e18",
	"h < 18446744073709551616.0",
	"h != 18446744073709551616.0",
	"9007199254740993 > 9007199254740992.0",
	"9007199254740992.0 < 9007199254740993",
	/* reals */
	"r < 1",
	"1 > r",
	"q < r",
	"q < -2",
	"-2 > q",
	"r + r == 1",
	"q * 2 == -4.5",
	"r / 0 == 0",
	"-q == 2.25",
	"r",
	"!(q - q)",
	"r && q",
	"1e3 == 1000",
	".5 == r",
	"r == 1 - 0.5",
	"c < r",
	"r > c",
	"q != r",
	/* arithmetic: exact, then modulo 2^64 */
	"1 + 2 * 3 == 7",
	"(1 + 2) * 3 == 9",
	"10 - 4 - 3 == 3",
	"100 / 10 / 5 == 2",
	"7 / -2 == -3",
	"-7 / 2 == -3",
	"-7 % 3 == -1",
	"7 % -3 == 1",
	"5 / 0 == 0",
	"5 % 0 == 0",
	"h - h == 0",
	"x - 256 == -1",
	"e - 201 < 0",
	"h + 1 == 0",
	"d - 1 == 9223372036854775807",
	"d + d == 0",
	"h + a == 18446744073709551607",
	"a * b == 12800",
	"a * 2 == -16",
	"h * 2 == 18446744073709551614",
	"-d == 9223372036854775808",
	"d / -1 == 9223372036854775808",
	"h / h == 1",
	"h / 2 == 9223372036854775807",
	"a * 0 == 0",
	"--a == a",
	"-h == 1",
	"d * 2 == 0",
	/* bits */
	"x & 0xf == 15",
	"x & 15 << 4 == 240",
	"x >> 4 == 15",
	"1 << 3 | 1 == 9",
	"6 ^ 3 == 5",
	"a >> 1 == -4",
	"a >> 100 == -1",
	"x >> 64 == 0",
	"1 << 63 == 9223372036854775808",
	"1 << 64 == 0",
	"1 << -1 == 0",
	"1 >> -1 == 0",
	"-1 << 1 == -2",
	"a & 0xff == 248",
	"a | 1 == -7",
	"-1 ^ -1 == 0",
	"-1 ^ 1 == -2",
	"a & -1 == a",
	"-1 & h == h",
	"d << 1 == 0",
	/* logic is short-circuit: an operand that is not needed is not evaluated */
	"a && b",
	"!(0 && b)",
	"0 || b",
	"!!a == 1",
	"!a == 0",
	"(a || 0) == 1",
	"(a && b) + (c && d) == 2",
	"1 || y[7] == 1",
	"!(0 && y[7] == 1)",
	"0 && 1 || 1",
	"1 || 0 && 0",
	"a == -8 && b",
	"(a == 1 || b == -1600) && (c == 1 || e == 200)",
	"!(a == 1 || b == 1)",
	"a == 1 && b == 1 && c == 1 || x",
	/* texts */
	"s ~ \"some*\"",
	"s ~ \"*t?xt\"",
	"s !~ \"other*\"",
	"w ~ \"w?rd\"",
	"t ~ \"*\"",
	"t ~ \"\"",
	"t !~ \"?\"",
	"s != \"some\"",
	"s < \"t\"",
	"s > \"some\"",
	"w != s",
	"w > s",
	"w <= \"word\"",
	"s == s",
	"\"a\\n\" != \"an\"",
	"\"\\x41\\\"\" == \"A\\\"\"",
	/* enumerations: as numbers, and by their labels */
	"z == \"DONE\"",
	"z != \"IDLE\"",
	"\"DONE\" == z",
	"z == 7",
	"z ~ \"D*\"",
	"z ~ \"*\"",
	"z !~ \"*L*\"",
	"z > 1",
	"!(z == \"LOW\")",
	"!(z != \"DONE\")",
	"z + 1 == 8",
	/* literals */
	"017 == 15",
	"0 == 00",
	"'a' == 97",
	"'\\n' == 10",
	"'\\'' == 39",
	"0xFF == x",
	"1.5e1 == 15",
	/* contexts */
	"$vpid == 4711",
	"$ctx.vtid == 4712",
	"$procname == \"shop\"",
	"$procname ~ \"s*\"",
	"$cpu_id < 2",
	"4000 < $vpid",
	"$vpid + 1 == $vtid",
	/* spaces */
	" a\t==\n-8 ",
};

static void expressions_mean_what_they_say(void)
{
	struct filter_problem problem;
	struct payload p;
	struct linked l;
	struct diag d = { "" };

	fill(&p);
	for (size_t i = 0; i < sizeof is_true / sizeof *is_true; i++) {
		bool good = make_filter(&l, schema, is_true[i], &problem, &d);
		if (!good)
			printf("# %s: %s\n", is_true[i], d.text);
		else if (!(good = filter_run(&l.f, p.bytes, p.size, &contexts)))
			printf("# false: %s\n", is_true[i]);
		ok(good);
	}
}

static void a_negated_true_expression_is_false(void)
{
	struct filter_problem problem;
	struct payload p;
	struct linked l;
	struct diag d;
	char text[256];

	fill(&p);
	for (size_t i = 0; i < sizeof is_true / sizeof *is_true; i++) {
		snprintf(text, sizeof text, "!(%s)", is_true[i]);
		if (!ok(make_filter(&l, schema, text, &problem, &d) &&
			!filter_run(&l.f, p.bytes, p.size, &contexts)))
			printf("# true: %s\n", text);
	}
}

/* Both an expression and its opposite. */
static void an_event_without_the_field_does_not_match(void)
{
	static const char *const texts[] = { "y[2] == 1", "!(y[2] == 1)", "y[4294967294] == 0",
					     "$uid == 0", "!$uid",	  "a == -8 && $ip",
					     "y[2] || 1" };
	struct filter_problem problem;
	struct payload p;
	struct linked l;
	struct diag d;

	fill(&p);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!ok(make_filter(&l, schema, texts[i], &problem, &d) &&
			!filter_run(&l.f, p.bytes, p.size, &contexts)))
			printf("# %s\n", texts[i]);
}

static void an_expression_that_is_wrong_names_the_column(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "column 1: the expression is empty; write one, as in size > 4096" },
		{ "  ", "column 3: a field, a number or a text is missing here" },
		{ "a = 1", "column 3: `=' compares nothing; write ==" },
		{ "a ==", "column 5: a field, a number or a text is missing here" },
		{ "a == )", "column 6: a field, a number, a text or ( is expected here" },
		{ "a == 1)", "column 7: there is no ( for this )" },
		{ "(a == 1", "column 1: this ( is not closed" },
		{ "(a b)", "column 4: an operator or ) is expected here" },
		{ "a b", "column 3: an operator is expected here, as == or &&" },
		{ "a and b", "column 3: write && for and" },
		{ "a or b", "column 3: write || for or" },
		{ "1 < a < 3",
		  "column 7: comparisons do not chain; write a < b && b < c, or use parentheses" },
		{ "a == b == c",
		  "column 8: comparisons do not chain; write a < b && b < c, or use parentheses" },
		{ "\"x\"", "column 1: a text is no condition; compare it, as in name == \"x\"" },
		{ "a && \"x\"",
		  "column 6: a text is no condition; compare it, as in name == \"x\"" },
		{ "!\"x\"", "column 2: a text is no condition; compare it, as in name != \"x\"" },
		{ "-\"x\"", "column 2: a text cannot be computed with" },
		{ "a + \"x\"", "column 5: a text cannot be computed with" },
		{ "\"x\" * 2", "column 1: a text cannot be computed with" },
		{ "\"x\" == 2", "column 8: a text is compared with a number" },
		{ "a + 1 == \"x\"", "column 10: a text is compared with a number" },
		{ "s ~ 5", "column 5: a pattern is a text in quotes, as in name ~ \"tmp*\"" },
		{ "s ~ s", "column 5: a pattern is a text in quotes, as in name ~ \"tmp*\"" },
		{ "1.5 % 2", "column 5: this operator is for integers only" },
		{ "a & 1.5", "column 3: this operator is for integers only" },
		{ "\"x", "column 1: this \" is not closed" },
		{ "a == 'xy'", "column 6: 'xy' is no single character; texts stand in \"\"" },
		{ "a == ''", "column 6: '' is no single character; texts stand in \"\"" },
		{ "s == \"\\q\"",
		  "column 7: no such escape; there are \\n \\r \\t \\e \\\\ \\\" \\' \\xHH" },
		{ "s == \"a\\x00\"", "column 8: a text has no NUL: it ends there" },
		{ "a == 08",
		  "column 7: `8' does not belong to a number; one that begins with 0 is octal" },
		{ "a == 12k", "column 8: `k' does not belong to a number" },
		{ "a == 0x", "column 6: 0x without digits" },
		{ "a == 18446744073709551616", "column 6: this number is more than 64 bits hold" },
		{ "a == 1e999", "column 6: this number is too large for floating point" },
		{ "a[b] == 1", "column 3: an element has a number, as in a[3]" },
		{ "a[-1] == 1", "column 3: an element has a number, as in a[3]" },
		{ "a[4294967295] == 1", "column 3: an element has a number, as in a[3]" },
		{ "a[1 == 1", "column 2: this [ is not closed" },
		{ "a. == 1", "column 3: a name is expected here: letters, digits and _" },
		{ "$ == 1", "column 2: a name is expected here: letters, digits and _" },
		{ "a == ?", "column 6: `?' belongs to no expression" },
		{ "a == \xc3\xa4", "column 6: byte 0xc3 belongs to no expression" },
	};
	struct filter_code code;
	struct diag d;
	char want[256];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		d.text[0] = 0;
		snprintf(want, sizeof want, "filter, %s", cases[i].want);
		is(filter_compile(cases[i].text, &code, &d), -EINVAL);
		is_text(d.text, want);
	}
}

static void a_filter_that_does_not_fit_the_event_is_refused(void)
{
	static const struct {
		const char *text;
		enum filter_error why;
		const char *name;
	} cases[] = {
		{ "nothing == 1", FILTER_NO_FIELD, "nothing" },
		{ "a == -8 || nothing == 1", FILTER_NO_FIELD, "nothing" },
		{ "a.b == 1", FILTER_NO_FIELD, "a.b" },
		{ "$nothing == 1", FILTER_NO_CONTEXT, "nothing" },
		{ "v[3] == 1", FILTER_NO_ELEMENT, "v[3]" },
		{ "v == 1", FILTER_IS_MANY, "v" },
		{ "y", FILTER_IS_MANY, "y" },
		{ "a[0] == 1", FILTER_IS_ONE, "a[0]" },
		{ "s[0] == 1", FILTER_IS_ONE, "s[0]" },
		{ "z == \"DOEN\"", FILTER_NO_LABEL, "z" },
		{ "z ~ \"X*\"", FILTER_NO_LABEL, "z" },
		{ "z == s", FILTER_LABEL_NOT_CONSTANT, "z" },
		{ "z < \"DONE\"", FILTER_LABEL_NOT_CONSTANT, "z" },
		{ "s", FILTER_IS_TEXT, "s" },
		{ "!s", FILTER_IS_TEXT, "s" },
		{ "s == 1", FILTER_IS_TEXT, "s" },
		{ "s == a", FILTER_IS_TEXT, "s" },
		{ "s + 1 == 1", FILTER_IS_TEXT, "s" },
		{ "a == \"x\"", FILTER_IS_NUMBER, "a" },
		{ "a == s", FILTER_IS_NUMBER, "a" },
		{ "a ~ \"x\"", FILTER_IS_NUMBER, "a" },
		{ "q ~ \"x\"", FILTER_IS_NUMBER, "q" },
		{ "$vpid == \"x\"", FILTER_IS_NUMBER, "vpid" },
		{ "q % 2 == 0", FILTER_IS_REAL, "q" },
		{ "a & q", FILTER_IS_REAL, "q" },
	};
	struct filter_problem problem;
	struct linked l;
	struct diag d;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!ok(!make_filter(&l, schema, cases[i].text, &problem, &d)))
			printf("# %s\n", cases[i].text);
		is(problem.why, cases[i].why);
		is_text(problem.name, cases[i].name);
	}
	is_text(d.text, "filter: `q' is a floating-point number, where an integer is needed");
}

static void too_long_and_too_deep_expressions_are_refused(void)
{
	static char text[8192];
	struct filter_code code;
	struct filter_problem problem;
	struct linked l;
	struct diag d;

	strcpy(text, "a");
	for (int i = 0; i < 200; i++)
		strcat(text, " + a");
	is(filter_compile(text, &code, &d), -E2BIG);
	memset(text, '(', 100);
	strcpy(text + 100, "a");
	is(filter_compile(text, &code, &d), -E2BIG);
	strcpy(text, "a");
	for (int i = 0; i < 20; i++)
		strcat(text, " + (b");
	strcat(text, "))))))))))))))))))))");
	is(filter_compile(text, &code, &d), -E2BIG);
	/* The longest possible expression compiles: a row of conditions does not nest. */
	strcpy(text, "a == 1");
	for (int i = 0; i < 20; i++)
		strcat(text, " || a == 1");
	ok(make_filter(&l, schema, text, &problem, &d));
	memset(text, 'a', 200);
	strcpy(text + 200, " == 1");
	is(filter_compile(text, &code, &d), -EINVAL);
	ok(strstr(d.text, "longer than 127"));
	strcpy(text, "s == \"");
	memset(text + 6, 'x', 1020);
	strcpy(text + 1026, "\"");
	is(filter_compile(text, &code, &d), -E2BIG);
}

static void distances_of_names_are_counted(void)
{
	is(filter_distance("size", "size"), 0);
	is(filter_distance("sise", "size"), 1);
	is(filter_distance("", "abc"), 3);
	is(filter_distance("kitten", "sitting"), 7 - 4);
}

int main(void)
{
	run(expressions_mean_what_they_say);
	run(a_negated_true_expression_is_false);
	run(an_event_without_the_field_does_not_match);
	run(an_expression_that_is_wrong_names_the_column);
	run(a_filter_that_does_not_fit_the_event_is_refused);
	run(too_long_and_too_deep_expressions_are_refused);
	run(distances_of_names_are_counted);
	return test_status();
}
