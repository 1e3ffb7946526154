/* SPDX-License-Identifier: MIT */
/* tests/unit/script/syntax_message_test.c - the answers to wrong scripts. */
#include "parse_script.h"

static const struct {
	const char *text;
	uint32_t line, column;
	const char *message;
} mistakes[] = {
	/* declarations */
	{ "prob x {}", 1, 1,
	  "expected `probe`, `global` or `function` (did you mean `probe`?), found `prob`" },
	{ "3", 1, 1, "expected `probe`, `global` or `function`, found the number 3" },
	{ "private x", 1, 9,
	  "expected `global`, `function` or `probe` behind `private`, found `x`" },
	{ "private probe x {}", 1, 17, "`private` is for globals, functions and aliases" },
	{ "global 3", 1, 8, "expected the name of a global, found the number 3" },
	{ "global if", 1, 8, "expected the name of a global, found the reserved word `if`" },
	{ "global a[x]", 1, 10, "expected a number of elements, found `x`" },
	{ "global a[0]", 1, 10, "an array has at least one element" },
	{ "global a[3", 1, 11,
	  "expected `]` behind the number of elements, found the end of the text" },
	{ "global a[3] = 1", 1, 13, "an array begins empty: set its elements in `probe begin`" },
	{ "global a = b", 1, 12,
	  "expected a number or a text as the first value of a global, found `b`" },
	{ "global a = -\"b\"", 1, 13,
	  "expected a number or a text as the first value of a global, found the text \"b\"" },
	{ "function 3() {}", 1, 10, "expected the name of a function, found the number 3" },
	{ "function f {}", 1, 12, "expected `(` behind the name of a function, found `{`" },
	{ "function f(a b) {}", 1, 14, "expected `)` or `,` behind a parameter, found `b`" },
	{ "function f(1) {}", 1, 12, "expected the name of a parameter, found the number 1" },
	{ "function f:int() {}", 1, 12, "expected the type `long` or `string`, found `int`" },
	{ "function f():x {}", 1, 14,
	  "expected the priority of the function, a number, found `x`" },
	{ "function f() x", 1, 14, "expected `{` and the body of the function, found `x`" },
	{ "function f() %{ return 1; %}", 1, 14,
	  "embedded C is not supported: write the body in the script language, with functions of "
	  "the library, $variables or @cast(pointer, \"type\")->member" },
	{ "%{ #include <x> %}", 1, 1,
	  "embedded C is not supported: write functions in the script language" },
	{ "probe a { x = %{ 1 %} }", 1, 15,
	  "embedded C is not supported: use functions of the library, $variables or "
	  "@cast(pointer, \"type\")->member" },
	/* probe points */
	{ "probe {", 1, 8, "expected a probe point or a part of one, found the end of the text" },
	{ "probe a", 1, 8,
	  "expected `{`, `,` or `.` behind a probe point, found the end of the text" },
	{ "probe a b {}", 1, 9, "expected `{`, `,` or `.` behind a probe point, found `b`" },
	{ "probe a. {", 1, 11,
	  "expected a probe point or a part of one, found the end of the text" },
	{ "probe a.\"b\" {}", 1, 9,
	  "expected a probe point or a part of one, found the text \"b\"" },
	{ "probe a(x) {}", 1, 9, "expected a number or a text in `a(...)`, found `x`" },
	{ "probe a(-\"x\") {}", 1, 10,
	  "expected a number or a text in `a(...)`, found the text \"x\"" },
	{ "probe a(1 {}", 1, 11, "expected `)` behind the value, found `{`" },
	{ "probe a.{b c} {}", 1, 12,
	  "expected `}` or `,` in the braces of a probe point, found `c`" },
	{ "probe a if x {}", 1, 12, "expected `(` and a condition behind `if`, found `x`" },
	{ "probe a.b* = c {}", 1, 12,
	  "the name of an alias has no values in parentheses and no `*`" },
	{ "probe a ? = c {}", 1, 11, "the name of an alias has no `?`, `!` or condition" },
	{ "probe a = b {}, c", 1, 17, "expected `{` and the epilogue of the alias, found `c`" },
	/* statements */
	{ "probe a {", 1, 9, "this `{` is not closed by `}`" },
	{ "probe a {\n if (x) {\n  y\n }\n", 1, 9, "this `{` is not closed by `}`" },
	{ "probe a { probe b {} }", 1, 11,
	  "`probe` stands inside a body: is a `}` missing before?" },
	{ "probe a { x = }", 1, 15, "expected an expression, found `}`" },
	{ "probe a { if x }", 1, 14, "expected `(` behind `if`, found `x`" },
	{ "probe a { if (x }", 1, 17, "expected `)` behind the condition, found `}`" },
	{ "probe a { else x }", 1, 11, "this `else` belongs to no `if`" },
	{ "probe a { catch { } }", 1, 11, "this `catch` belongs to no `try`" },
	{ "probe a { in }", 1, 11, "expected a statement, found the reserved word `in`" },
	{ "probe a { for x }", 1, 15, "expected `(` behind `for`, found `x`" },
	{ "probe a { for (i = 0, j) }", 1, 21,
	  "expected `;` behind the beginning of the loop, found `,`" },
	{ "probe a { for (x in y) ; }", 1, 22,
	  "write `foreach (key in array)` to go over an array" },
	{ "probe a { for (;) }", 1, 17, "expected an expression, found `)`" },
	{ "probe a { for (;;;) }", 1, 18, "expected an expression, found `;`" },
	{ "probe a { while }", 1, 17, "expected `(` behind `while`, found `}`" },
	{ "probe a { break }", 1, 11, "`break` stands in no loop" },
	{ "probe a { while (1) {} continue }", 1, 24, "`continue` stands in no loop" },
	{ "probe a { return }", 1, 11, "`return` is for functions: `next` ends a probe" },
	{ "probe a { delete 3 }", 1, 18,
	  "expected a variable or an element of an array behind `delete`" },
	{ "probe a { try x }", 1, 15, "expected `{` and statements behind `try`, found `x`" },
	{ "probe a { try {} }", 1, 18, "expected `catch` behind the block of `try`, found `}`" },
	{ "probe a { try {} catch (1) {} }", 1, 25,
	  "expected the name of a variable for the message, found the number 1" },
	{ "probe a { foreach x }", 1, 19, "expected `(` behind `foreach`, found `x`" },
	{ "probe a { foreach (k a) }", 1, 22,
	  "expected `in` and an array behind the keys, found `a`" },
	{ "probe a { foreach (3 in a) }", 1, 20, "expected the name of a key, found the number 3" },
	{ "probe a { foreach ([k in a) }", 1, 23,
	  "expected `]` behind the keys, found the reserved word `in`" },
	{ "probe a { foreach ([k+, l-] in a) ; }", 1, 26,
	  "only one `+` or `-` can order a foreach" },
	{ "probe a { foreach (k in 3) }", 1, 25,
	  "expected an array behind `in`, found the number 3" },
	{ "probe a { foreach (k in a @med-) }", 1, 27,
	  "arrays of statistics are ordered by @count, @sum, @min, @max or @avg, not by @med" },
	{ "probe a { foreach (k in a @sum) }", 1, 31,
	  "expected `+` or `-` behind `@sum`, found `)`" },
	{ "probe a { foreach (k in @count(x)) ; }", 1, 34,
	  "expected an array, @hist_log(x) or @hist_linear(x, low, high, width) behind `in`" },
	{ "probe a { foreach (k in a 5) ; }", 1, 27,
	  "expected `)` behind the array, found the number 5" },
	/* expressions */
	{ "probe a { x = (1 }", 1, 18, "expected `)` behind the expression, found `}`" },
	{ "probe a { 1 = x }", 1, 13,
	  "only a variable can stand on the left of `=` (`==` compares)" },
	{ "probe a { f() += x }", 1, 15, "only a variable can stand on the left of `+=`" },
	{ "probe a { 3++ }", 1, 12, "`++` needs a variable" },
	{ "probe a { --f() }", 1, 11, "`--` needs a variable" },
	{ "probe a { x ? y }", 1, 17, "expected `:` between the two values of `? :`, found `}`" },
	{ "probe a { a[1 }", 1, 15, "expected `]` behind the keys, found `}`" },
	{ "probe a { x = a[*] }", 1, 15, "`*` as a key is for `in`, delete and foreach only" },
	{ "probe a { x[1][2] = 3 }", 1, 15, "elements have no elements: several keys are a[x, y]" },
	{ "probe a { if (x and y) ; }", 1, 17,
	  "expected `)` behind the condition, found `and` (write `&&`)" },
	{ "probe a { [1, 2] }", 1, 18,
	  "expected `in` behind the keys, as in [a, b] in array, found `}`" },
	{ "probe a { x in 3 }", 1, 16,
	  "expected the name of an array behind `in`, found the number 3" },
	{ "probe a { f(1 }", 1, 15, "expected `)` or `,` behind an argument, found `}`" },
	{ "probe a { printf }", 1, 18, "expected `(` behind `printf`, found `}`" },
	{ "probe a { x =~ y }", 1, 16,
	  "expected a regular expression as a text behind `=~`, found `y`" },
	{ "probe a { & x }", 1, 13, "expected a $variable, @cast or @var behind `&`, found `x`" },
	{ "probe a { $x->3 }", 1, 15,
	  "expected the name of a member behind `->`, found the number 3" },
	{ "probe a { $x[1 }", 1, 16, "expected `]` behind the index, found `}`" },
	{ "probe a { @count x }", 1, 18, "expected `(` before the operands, found `x`" },
	{ "probe a { @count(x, 1) }", 1, 22, "`@count` takes 1 operand, not 2" },
	{ "probe a { @hist_linear(x, 1) }", 1, 28, "`@hist_linear` takes 4 operands, not 2" },
	{ "probe a { @cast(p) }", 1, 18,
	  "expected `,` and the name of a type, as in @cast(p, \"task_struct\"), found `)`" },
	{ "probe a { @var(x) }", 1, 16, "expected a text, found `x`" },
	{ "probe a { @hist_log(x)[1 }", 1, 26,
	  "expected `]` behind the number of the bucket, found `}`" },
	/* tokens */
	{ "probe a { x = \"y\n }", 1, 15, "this \" is not closed" },
	{ "probe a { x = 'y' }", 1, 15, "texts stand in double quotes: \"text\"" },
	{ "probe a { /* x }", 1, 11, "this comment is not closed by */" },
	{ "probe a { x = 0x }", 1, 15, "0x without digits" },
	{ "probe a { x = 089 }", 1, 16,
	  "`8' does not belong to a number; one that begins with 0 is octal" },
	{ "probe a { x = 12ab }", 1, 17, "`a' does not belong to a number" },
	{ "probe a { x = 99999999999999999999 }", 1, 15, "this number is more than 64 bits hold" },
	{ "probe a { x = 1.5 }", 1, 16,
	  "a script has no fractions: multiply first, and print with printf(\"%d.%02d\", x / 100, "
	  "x % 100)" },
	{ "probe a { x = ` }", 1, 15, "``` belongs to no script" },
	{ "probe a { x = \001 }", 1, 15, "byte 0x01 belongs to no script" },
	{ "probe a { x = \303\244 }", 1, 15, "byte 0xc3 belongs to no script" },
	{ "probe a { x = @ }", 1, 15, "a name is expected after `@`, as in @count(x)" },
};

static void each_mistake_is_named_at_its_place(void)
{
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		uint32_t line, column;
		struct parsed p;

		parse_with(&p, mistakes[i].text, NULL);
		is(p.err, -22);
		is(p.m.n_errors, 1);
		is_text(p.m.first, mistakes[i].message);
		script_place_line(&p.sources, p.m.first_place, &line, &column);
		if (line != mistakes[i].line || column != mistakes[i].column)
			printf("# %s:\n", mistakes[i].text);
		is(line, mistakes[i].line);
		is(column, mistakes[i].column);
		parsed_fini(&p);
	}
}

static void a_message_shows_line_and_caret(void)
{
	struct parsed p;

	is_text(parse_with(&p, "probe a\n{\n\tx = \"\303\244\" + ;\n}\n", NULL),
		"parse error: expected an expression, found `;`\n"
		" at t.stp:3:13\n"
		"    x = \"\303\244\" + ;\n"
		"              ^\n");
	parsed_fini(&p);
}

static void a_long_line_is_shown_in_part(void)
{
	struct text t = { 0 };
	struct parsed p;

	text_addf(&t, "probe a { x = ");
	for (int i = 0; i < 40; i++)
		text_addf(&t, "%d + ", 1000 + i);
	text_addf(&t, "; y = 2 }");
	is_text(parse_with(&p, t.bytes, NULL),
		"parse error: expected an expression, found `;`\n"
		" at t.stp:1:295\n"
		"    ...033 + 1034 + 1035 + 1036 + 1037 + 1038 + 1039 + ; y = 2 }\n"
		"                                                       ^\n");
	parsed_fini(&p);
	text_fini(&t);
}

static void one_run_finds_a_mistake_in_each_declaration(void)
{
	struct parsed p;

	is_text(parse_with(&p,
			   "probe a { x = }\n"
			   "global g = y\n"
			   "function f( { }\n"
			   "probe b { kernel.function( }\n"
			   "probe c.{function(\"x\"), function(\"y\")} { + }\n"
			   "garbage garbage\n"
			   "probe fine { }\n",
			   NULL),
		"parse error: expected an expression, found `}`\n"
		" at t.stp:1:15\n"
		"    probe a { x = }\n"
		"                  ^\n"
		"parse error: expected a number or a text as the first value of a global, found "
		"`y`\n"
		" at t.stp:2:12\n"
		"    global g = y\n"
		"               ^\n"
		"parse error: expected the name of a parameter, found `{`\n"
		" at t.stp:3:13\n"
		"    function f( { }\n"
		"                ^\n"
		"parse error: expected an expression, found the reserved word `function`\n"
		" at t.stp:4:18\n"
		"    probe b { kernel.function( }\n"
		"                     ^\n"
		"parse error: expected an expression, found `}`\n"
		" at t.stp:5:44\n"
		"    probe c.{function(\"x\"), function(\"y\")} { + }\n"
		"                                               ^\n");
	is(p.file->n_probes, 1);
	is_text(p.file->probes[0]->points[0].at[0].name, "fine");
	parsed_fini(&p);
}

static void a_missing_brace_shows_the_body_that_it_ends(void)
{
	struct parsed p;

	is_text(parse_with(&p,
			   "probe a {\n"
			   "\tif (x) {\n"
			   "\t\ty\n"
			   "}\n"
			   "probe b { }\n",
			   NULL),
		"parse error: `probe` stands inside a body: is a `}` missing before?\n"
		" at t.stp:5:1\n"
		"    probe b { }\n"
		"    ^\n"
		" the body begins at t.stp:1:9\n"
		"    probe a {\n"
		"            ^\n");
	is(p.file->n_probes, 1);
	parsed_fini(&p);
}

static void messages_are_limited_and_counted(void)
{
	struct parsed p;

	parsed_open(&p, "probe a { x = }");
	p.m.most_errors = 2;
	for (uint32_t i = 0; i < 5; i++)
		is(script_error(&p.m, (struct script_place){ .at = i }, "semantic error", "wrong"),
		   -22);
	script_messages_end(&p.m);
	is(p.m.n_errors, 5);
	ok(strstr(p.m.text.bytes, "3 more errors are not shown\n"));
	parsed_fini(&p);
}

static void a_repeated_message_is_shown_once(void)
{
	struct script_place place = { .at = 8 };
	struct parsed p;

	parsed_open(&p, "probe a { x = }");
	script_error(&p.m, place, "semantic error", "wrong %d", 1);
	script_note(&p.m, (struct script_place){ .at = 10 }, "first used");
	script_error(&p.m, place, "semantic error", "wrong %d", 1);
	script_note(&p.m, (struct script_place){ .at = 10 }, "first used");
	script_error(&p.m, place, "semantic error", "wrong %d", 2);
	is_text(parsed_text(&p), "semantic error: wrong 1\n"
				 " at t.stp:1:9\n"
				 "    probe a { x = }\n"
				 "            ^\n"
				 " first used at t.stp:1:11\n"
				 "    probe a { x = }\n"
				 "              ^\n"
				 "semantic error: wrong 2\n"
				 " at t.stp:1:9\n"
				 "    probe a { x = }\n"
				 "            ^\n"
				 "1 repeated message is not shown\n");
	parsed_fini(&p);
}

static void warnings_can_be_hidden_or_be_errors(void)
{
	struct script_place place = { .at = 8 };
	struct parsed p;

	parsed_open(&p, "probe a { x = }");
	is(script_warning(&p.m, place, "odd"), 0);
	is(p.m.n_warnings, 1);
	is(p.m.n_errors, 0);
	ok(!strncmp(p.m.text.bytes, "warning: odd\n at t.stp:1:9\n", 26));
	p.m.hides_warnings = true;
	script_warning(&p.m, place, "odder");
	script_note(&p.m, place, "because");
	ok(!strstr(p.m.text.bytes, "odder") && !strstr(p.m.text.bytes, "because"));
	p.m.warnings_are_errors = true;
	script_warning(&p.m, place, "oddest");
	is(p.m.n_errors, 1);
	parsed_fini(&p);
}

static void nearest(const char *wanted, const char *want)
{
	static const char *const names[] = { "execname", "pid",	 "tid", "count",
					     "printf",	 "exit", "uid", "gettimeofday_ns" };
	struct script_nearest n = { .wanted = wanted };
	char text[160];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		script_nearest_try(&n, names[i]);
	is_text(script_nearest_text(&n, text), want);
}

static void the_nearest_name_is_offered(void)
{
	nearest("exename", " (did you mean `execname`?)");
	nearest("cuont", " (did you mean `count`?)");
	nearest("prntf", " (did you mean `printf`?)");
	nearest("prinf", " (did you mean `printf`?)");
	nearest("gettimeofday", " (did you mean `gettimeofday_ns`?)");
	nearest("pidd", " (did you mean `pid`?)");
	nearest("completely", "");
	nearest("xyz", "");
}

static void memory_is_bounded(void)
{
	struct script_arena a = { .most = 100000 };

	ok(script_allocate(&a, 90000));
	ok(!a.failed);
	ok(!script_allocate(&a, 20000));
	ok(a.failed);
	ok(!script_allocate(&a, SIZE_MAX));
	script_arena_fini(&a);
}

int main(void)
{
	run(each_mistake_is_named_at_its_place);
	run(a_message_shows_line_and_caret);
	run(a_long_line_is_shown_in_part);
	run(one_run_finds_a_mistake_in_each_declaration);
	run(a_missing_brace_shows_the_body_that_it_ends);
	run(messages_are_limited_and_counted);
	run(a_repeated_message_is_shown_once);
	run(warnings_can_be_hidden_or_be_errors);
	run(the_nearest_name_is_offered);
	run(memory_is_bounded);
	return test_status();
}
