/* SPDX-License-Identifier: MIT */
/* tests/unit/script/syntax_tree_test.c - what texts are parsed to: shown as the printed tree, which
 * has parentheses around every operator that is an operand. */
#include "parse_script.h"

struct pair {
	const char *text, *tree;
};

static void check_expressions(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct parsed p, again;

		is_text(parse_expression_text(&p, pairs[i].text, false), pairs[i].tree);
		is_text(parse_expression_text(&again, pairs[i].tree, false), pairs[i].tree);
		parsed_fini(&p);
		parsed_fini(&again);
	}
}

static void check_files(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct parsed p, again;

		is_text(parse_with(&p, pairs[i].text, NULL), pairs[i].tree);
		is_text(parse_with(&again, pairs[i].tree, NULL), pairs[i].tree);
		parsed_fini(&p);
		parsed_fini(&again);
	}
}

/* The statements in the body of a probe. */
static void check_statements(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct text text = { 0 }, tree = { 0 };
		struct pair pair;

		text_addf(&text, "probe x { %s }", pairs[i].text);
		text_addf(&tree, "probe x\n{\n%s}\n", pairs[i].tree);
		pair = (struct pair){ text.bytes, tree.bytes };
		check_files(&pair, 1);
		text_fini(&text);
		text_fini(&tree);
	}
}

#define check(what, pairs) check_##what(pairs, sizeof(pairs) / sizeof *(pairs))

static void operators_bind_as_in_the_reference(void)
{
	static const struct pair pairs[] = {
		{ "a || b && c", "a || (b && c)" },
		{ "a && b || c", "(a && b) || c" },
		{ "a | b ^ c & d", "a | (b ^ (c & d))" },
		{ "a && b | c", "a && (b | c)" },
		{ "a & b == c", "a & (b == c)" },
		{ "a & x in y", "a & ([x] in y)" },
		{ "a == b in y", "[a == b] in y" },
		{ "a == b < c != d", "((a == b) < c) != d" },
		{ "a < b << c", "a < (b << c)" },
		{ "a << b >> c >>> d", "((a << b) >> c) >>> d" },
		{ "a << b . c", "a << (b . c)" },
		{ "a . b + c", "a . (b + c)" },
		{ "a . b . c", "(a . b) . c" },
		{ "a + b * c - d", "(a + (b * c)) - d" },
		{ "a / b % c * d", "((a / b) % c) * d" },
		{ "-a * !b", "(-a) * (!b)" },
		{ "- - ~ +a", "-(-(~(+a)))" },
		{ "-a++", "-(a++)" },
		{ "++a + --b", "(++a) + (--b)" },
		{ "a++ + b--", "(a++) + (b--)" },
		{ "!a == b", "(!a) == b" },
		{ "(a + b) * c", "(a + b) * c" },
		{ "a ? b : c ? d : e", "a ? b : (c ? d : e)" },
		{ "a || b ? c : d", "(a || b) ? c : d" },
		{ "a ? b : c = d", "a ? b : (c = d)" },
		{ "a = b = c", "a = b = c" },
		{ "a <<< b + 1", "a <<< b + 1" },
		{ "a = b ? c : d", "a = b ? c : d" },
		{ "a =~ \"x\" && b !~ \"y\"", "(a =~ \"x\") && (b !~ \"y\")" },
		{ "a . b =~ \"x\" \"y\"", "(a . b) =~ \"xy\"" },
	};

	check(expressions, pairs);
}

static void every_assignment_is_there(void)
{
	static const char *const ops[] = { "=",	 "+=", "-=",  "*=",  "/=",   "%=", "&=",
					   "|=", "^=", "<<=", ">>=", ">>>=", ".=", "<<<" };
	static const char *const left[] = { "a", "a[1, \"x\"]", "$x->y", "@cast(p, \"t\")->m" };

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (size_t j = 0; j < sizeof left / sizeof *left; j++) {
			char text[64];
			struct pair pair = { text, text };

			snprintf(text, sizeof text, "%s %s b", left[j], ops[i]);
			check_expressions(&pair, 1);
		}
}

static void numbers_wrap_at_64_bits(void)
{
	static const struct pair pairs[] = {
		{ "0", "0" },
		{ "0x1f", "31" },
		{ "0XaB", "171" },
		{ "017", "15" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "9223372036854775808", "0x8000000000000000" },
		{ "0xffffffffffffffff", "0xffffffffffffffff" },
		{ "18446744073709551615", "0xffffffffffffffff" },
		{ "-1", "-1" },
	};

	check(expressions, pairs);
}

static void texts_have_the_escapes_of_c(void)
{
	static const struct pair pairs[] = {
		{ "\"\"", "\"\"" },
		{ "\"a\" \"b\"  \"c\"", "\"abc\"" },
		{ "\"\\n\\t\\\"\\\\\"", "\"\\n\\t\\\"\\\\\"" },
		{ "\"\\a\\b\\v\\f\\r\\e\"", "\"\\x07\\x08\\x0b\\x0c\\x0d\\x1b\"" },
		{ "\"\\101\\x42\\x4g\"", "\"AB\\x04g\"" },
		{ "\"\\.\\$\\'\\q\"", "\".$'q\"" },
		{ "\"a\\0b\"", "\"a\"" },
		{ "\"a\\\nb\"", "\"ab\"" },
		{ "\"\303\244\"", "\"\\xc3\\xa4\"" },
	};

	check(expressions, pairs);
}

static void arrays_are_indexed_and_asked(void)
{
	static const struct pair pairs[] = {
		{ "a[1]", "a[1]" },
		{ "a[b, \"c\", d + 1]", "a[b, \"c\", d + 1]" },
		{ "x in a", "[x] in a" },
		{ "[x, y] in a", "[x, y] in a" },
		{ "[x, *] in a", "[x, *] in a" },
		{ "[*] in a", "[*] in a" },
		{ "!([x] in a)", "!([x] in a)" },
		{ "[x, y] in a || z", "([x, y] in a) || z" },
	};

	check(expressions, pairs);
}

static void values_of_probes_have_paths(void)
{
	static const struct pair pairs[] = {
		{ "$x", "$x" },
		{ "$x->y->z", "$x->y->z" },
		{ "$x[1][i + 1]->y", "$x[1][i + 1]->y" },
		{ "$x$", "$x$" },
		{ "$x->y$$", "$x->y$$" },
		{ "$x->next", "$x->next" },
		{ "$$parms", "$$parms" },
		{ "$$vars$", "$$vars$" },
		{ "$return->x", "$return->x" },
		{ "&$x->y", "&$x->y" },
		{ "a & &$x", "a & (&$x)" },
		{ "@cast(p, \"t\")->m", "@cast(p, \"t\")->m" },
		{ "&@cast(p + 1, \"t\", \"k\")->m[2]", "&@cast(p + 1, \"t\", \"k\")->m[2]" },
		{ "@var(\"v@f.c\", \"m\")->x", "@var(\"v@f.c\", \"m\")->x" },
		{ "&@var(\"v\")", "&@var(\"v\")" },
		{ "@defined($x->y)", "@defined($x->y)" },
		{ "@choose_defined($x, 0)", "@choose_defined($x, 0)" },
		{ "@entry($x)", "@entry($x)" },
		{ "@enum(\"A\")", "@enum(\"A\")" },
		{ "@enumname(3, \"t\")", "@enumname(3, \"t\")" },
	};

	check(expressions, pairs);
}

static void statistics_have_operators(void)
{
	static const struct pair pairs[] = {
		{ "@count(s)", "@count(s)" },
		{ "@sum(a[1]) / @avg(s)", "@sum(a[1]) / @avg(s)" },
		{ "@min(s) + @max(s)", "@min(s) + @max(s)" },
		{ "@variance(s) + @variance(s, 3)", "@variance(s) + @variance(s, 3)" },
		{ "@quantile(s, 99)", "@quantile(s, 99)" },
		{ "@hist_log(s)", "@hist_log(s)" },
		{ "@hist_linear(s, -10, 10, 2)[3]", "@hist_linear(s, -10, 10, 2)[3]" },
		{ "@hist_log(a[x])[b + 1]", "@hist_log(a[x])[b + 1]" },
	};

	check(expressions, pairs);
}

static void functions_and_print_are_called(void)
{
	static const struct pair pairs[] = {
		{ "f()", "f()" },
		{ "f(1, g(x), a = 2)", "f(1, g(x), a = 2)" },
		{ "print(x)", "print(x)" },
		{ "println()", "println()" },
		{ "printd(\",\", a, b)", "printd(\",\", a, b)" },
		{ "sprintf(\"%d\" \"%s\", 1, \"x\")", "sprintf(\"%d%s\", 1, \"x\")" },
	};

	check(expressions, pairs);
}

static void statements_need_no_semicolon(void)
{
	static const struct pair pairs[] = {
		{ "a = 1 b = 2", "\ta = 1;\n\tb = 2;\n" },
		{ "a = 1; b = 2;", "\ta = 1;\n\tb = 2;\n" },
		{ ";", "\t;\n" },
		{ "{ a } { }", "\t{\n\t\ta;\n\t}\n\t{\n\t}\n" },
		{ "if (a) b; else c", "\tif (a)\n\t\tb;\n\telse\n\t\tc;\n" },
		{ "if (a) b else if (c) d else e",
		  "\tif (a)\n\t\tb;\n\telse\n\t\tif (c)\n\t\t\td;\n\t\telse\n\t\t\te;\n" },
		{ "if (a) if (b) c else d",
		  "\tif (a)\n\t\tif (b)\n\t\t\tc;\n\t\telse\n\t\t\td;\n" },
		{ "while (a) { break continue }",
		  "\twhile (a)\n\t{\n\t\tbreak;\n\t\tcontinue;\n\t}\n" },
		{ "for (;;) ;", "\tfor (; ; )\n\t\t;\n" },
		{ "for (i = 0; i < 3; i++) f(i)", "\tfor (i = 0; i < 3; i++)\n\t\tf(i);\n" },
		{ "next", "\tnext;\n" },
		{ "try { a } catch (e) { b }",
		  "\ttry\n\t{\n\t\ta;\n\t}\n\tcatch (e)\n\t{\n\t\tb;\n\t}\n" },
		{ "try { } catch { }", "\ttry\n\t{\n\t}\n\tcatch\n\t{\n\t}\n" },
		{ "delete a delete a[1] delete a[*, 2]",
		  "\tdelete a;\n\tdelete a[1];\n\tdelete a[*, 2];\n" },
	};

	check(statements, pairs);
}

static void foreach_sorts_and_limits(void)
{
	static const struct pair pairs[] = {
		{ "foreach (k in a) f(k)", "\tforeach ([k] in a)\n\t\tf(k);\n" },
		{ "foreach ([k, l] in a) ;", "\tforeach ([k, l] in a)\n\t\t;\n" },
		{ "foreach (v = k in a) ;", "\tforeach (v = [k] in a)\n\t\t;\n" },
		{ "foreach (v = [k, l] in a) ;", "\tforeach (v = [k, l] in a)\n\t\t;\n" },
		{ "foreach (k+ in a) ;", "\tforeach ([k+] in a)\n\t\t;\n" },
		{ "foreach ([k, l-] in a limit 5) ;", "\tforeach ([k, l-] in a limit 5)\n\t\t;\n" },
		{ "foreach (k in a-) ;", "\tforeach ([k] in a-)\n\t\t;\n" },
		{ "foreach (k in a + limit n * 2) ;",
		  "\tforeach ([k] in a+ limit n * 2)\n\t\t;\n" },
		{ "foreach (v- = k in a) ;", "\tforeach (v = [k] in a-)\n\t\t;\n" },
		{ "foreach (v+= k in a) ;", "\tforeach (v = [k] in a+)\n\t\t;\n" },
		{ "foreach (k in a @sum-) ;", "\tforeach ([k] in a @sum-)\n\t\t;\n" },
		{ "foreach ([k, l] in a[*, \"x\"] @avg + limit 3) ;",
		  "\tforeach ([k, l] in a[*, \"x\"] @avg+ limit 3)\n\t\t;\n" },
		{ "foreach (b in @hist_log(s)) ;", "\tforeach ([b] in @hist_log(s))\n\t\t;\n" },
		{ "foreach (b in @hist_linear(a[1], 0, 9, 3)) ;",
		  "\tforeach ([b] in @hist_linear(a[1], 0, 9, 3))\n\t\t;\n" },
	};

	check(statements, pairs);
}

static void probe_points_have_values_wildcards_and_braces(void)
{
	static const struct pair pairs[] = {
		{ "probe begin {}", "probe begin\n{\n}\n" },
		{ "probe begin(-100), end {}", "probe begin(-100), end\n{\n}\n" },
		{ "probe timer.s(1).randomize(5) {}", "probe timer.s(1).randomize(5)\n{\n}\n" },
		{ "probe kernel.function(\"a\" \"b\").return {}",
		  "probe kernel.function(\"ab\").return\n{\n}\n" },
		{ "probe syscall.*, a.b*c*, **, x.** {}",
		  "probe syscall.*, a.b*c*, **, x.**\n{\n}\n" },
		{ "probe syscall.*64 {}", "probe syscall.*64\n{\n}\n" },
		{ "probe a.{b, c(1).d}.e {}", "probe a.b.e, a.c(1).d.e\n{\n}\n" },
		{ "probe {a, b.{c, d}} {}", "probe a, b.c, b.d\n{\n}\n" },
		{ "probe a ?, b!, c {}", "probe a ?, b !, c\n{\n}\n" },
		{ "probe a.{b, c}? if (x > 1) {}",
		  "probe a.b ? if (x > 1), a.c ? if (x > 1)\n{\n}\n" },
		{ "probe process.function(\"f@a.c:3\").return, kernel.data(0x10).rw {}",
		  "probe process.function(\"f@a.c:3\").return, kernel.data(16).rw\n{\n}\n" },
	};

	check(files, pairs);
}

static void aliases_have_prologue_and_epilogue(void)
{
	static const struct pair pairs[] = {
		{ "probe a.b = c, d { x = 1 }", "probe a.b = c, d\n{\n\tx = 1;\n}\n" },
		{ "probe a += b {}", "probe a += b\n{\n}\n" },
		{ "probe a = b { x } , { y }", "probe a = b\n{\n\tx;\n}\n,\n{\n\ty;\n}\n" },
		{ "probe a = b = c ? {}", "probe a = b = c ?\n{\n}\n" },
		{ "private probe a = b {}", "private probe a = b\n{\n}\n" },
	};

	check(files, pairs);
}

static void globals_have_sizes_and_values(void)
{
	static const struct pair pairs[] = {
		{ "global a, b = 3, c[100], d%[50], e%",
		  "global a\nglobal b = 3\nglobal c[100]\nglobal d%[50]\nglobal e%\n" },
		{ "global a = -5, b = \"x\" \"y\";", "global a = -5\nglobal b = \"xy\"\n" },
		{ "private global a", "private global a\n" },
		{ "global a global b;; global c", "global a\nglobal b\nglobal c\n" },
	};

	check(files, pairs);
}

static void functions_have_types_and_priorities(void)
{
	static const struct pair pairs[] = {
		{ "function f() { return 1 }", "function f()\n{\n\treturn 1;\n}\n" },
		{ "function f(a, b) { return }", "function f(a, b)\n{\n\treturn;\n}\n" },
		{ "function f:string(a:long, b:string) { }",
		  "function f:string(a:long, b:string)\n{\n}\n" },
		{ "function f(a):string { }", "function f:string(a)\n{\n}\n" },
		{ "function f(a):3 { next }", "function f(a):3\n{\n\tnext;\n}\n" },
		{ "private function f() { }", "private function f()\n{\n}\n" },
	};

	check(files, pairs);
}

static void comments_of_three_kinds_are_skipped(void)
{
	static const struct pair pairs[] = {
		{ "#!/usr/bin/duet script\n# one\nprobe /* two\n * lines */ a // three\n{}# end",
		  "probe a\n{\n}\n" },
		{ "", "" },
		{ "/**/ /***/ #", "" },
	};

	check(files, pairs);
}

static void point_alone_is_for_listing(void)
{
	struct parsed p;
	uint32_t source = parsed_open(&p, "syscall.*.return ?");

	is(script_parse_point(&p.point, &p.sources, source, &p.m), 0);
	script_print_point(&p.tree, p.point);
	is_text(p.tree.bytes, "syscall.*.return ?");
	parsed_fini(&p);
	source = parsed_open(&p, "a.{b,c}");
	is(script_parse_point(&p.point, &p.sources, source, &p.m), -22);
	is_text(p.m.first, "expected one probe point, without braces");
	parsed_fini(&p);
}

static void height_of_expressions_is_known_and_bounded(void)
{
	struct parsed p;
	struct text sum = { 0 };

	is_text(parse_expression_text(&p, "a + b * -c", false), "a + (b * (-c))");
	is(p.expr->height, 4);
	parsed_fini(&p);
	for (int i = 0; i < 1000; i++)
		text_addf(&sum, "1 + ");
	text_addf(&sum, "1");
	parse_expression_text(&p, sum.bytes, false);
	is(p.err, -7);
	is_text(p.m.first, "this is nested more than 250 deep: compute a part of it before");
	parsed_fini(&p);
	text_fini(&sum);
}

static void deep_nesting_is_refused(void)
{
	static const char *const pieces[][2] = {
		{ "probe a { x = ", "(" },
		{ "probe a { x = ", "-" },
		{ "probe a { x = ", "[" },
		{ "probe a { x = ", "f(" },
		{ "probe a { x = ", "$x[" },
		{ "probe a ", "{" },
		{ "probe a { ", "if (a) " },
		{ "probe ", "{" },
		{ "probe a { ", "x = " },
		{ "probe a { x = ", "a ? b : " },
		{ "probe a { ", "foreach (k in a) " },
		{ "probe a { ", "try { " },
		{ "", "%( 1 == 1 %? " },
		{ "%( ", "(" },
		{ "probe a { x = ", "@count(" },
		{ "probe a { x = ", "++" },
	};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct text t = { 0 };
		struct parsed p;

		text_addf(&t, "%s", pieces[i][0]);
		for (int j = 0; j < 20000; j++)
			text_addf(&t, "%s", pieces[i][1]);
		parse_with(&p, t.bytes, NULL);
		is(p.err, -22);
		ok(p.m.text.size < 8192);
		parsed_fini(&p);
		text_fini(&t);
	}
}

int main(void)
{
	run(operators_bind_as_in_the_reference);
	run(every_assignment_is_there);
	run(numbers_wrap_at_64_bits);
	run(texts_have_the_escapes_of_c);
	run(arrays_are_indexed_and_asked);
	run(values_of_probes_have_paths);
	run(statistics_have_operators);
	run(functions_and_print_are_called);
	run(statements_need_no_semicolon);
	run(foreach_sorts_and_limits);
	run(probe_points_have_values_wildcards_and_braces);
	run(aliases_have_prologue_and_epilogue);
	run(globals_have_sizes_and_values);
	run(functions_have_types_and_priorities);
	run(comments_of_three_kinds_are_skipped);
	run(point_alone_is_for_listing);
	run(height_of_expressions_is_known_and_bounded);
	run(deep_nesting_is_refused);
	return test_status();
}
