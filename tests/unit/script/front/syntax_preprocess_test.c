/* SPDX-License-Identifier: MIT */
/* tests/unit/script/syntax_preprocess_test.c - arguments, macros and conditions. */
#include "parse_script.h"

static const char *config(void *context, const char *name)
{
	(void)context;
	return !strcmp(name, "CONFIG_HZ") ? "250" : !strcmp(name, "CONFIG_SMP") ? "y" : NULL;
}

static const char *const arguments[] = { "42", "a + b", "", "\"x\" $1" };
static const struct script_parse_options options = {
	.arguments = arguments,
	.n_arguments = 4,
	.kernel_version = "6.10.3-7-amd64",
	.arch = "x86_64",
	.config = config,
};

/* @text as the body of a probe gives the statement @tree, or the message @tree. */
static void body_is(const char *text, const char *tree)
{
	struct text whole = { 0 }, want = { 0 };
	struct parsed p;

	text_addf(&whole, "probe x {\n%s\n}", text);
	text_addf(&want, "probe x\n{\n\t%s;\n}\n", tree);
	parse_with(&p, whole.bytes, &options);
	if (p.err)
		is_text(p.m.first, tree);
	else
		is_text(p.tree.bytes, want.bytes);
	parsed_fini(&p);
	text_fini(&whole);
	text_fini(&want);
}

static void arguments_are_put_in(void)
{
	body_is("x = $1", "x = 42");
	body_is("x = @1", "x = \"42\"");
	body_is("x = $2 * 2", "x = a + (b * 2)");
	body_is("x = @2", "x = \"a + b\"");
	body_is("x = 1 $3", "x = 1");
	body_is("x = @3", "x = \"\"");
	body_is("x = $# . @#", "x = 4 . \"4\"");
	body_is("x = @1 \"y\"", "x = \"42y\"");
	body_is("x = $9", "argument 9 is missing: the script got 4");
	body_is("x = @12", "argument 12 is missing: the script got 4");
	body_is("x = $0", "arguments are counted from 1");
	body_is("x = $4", "an argument cannot stand for another argument");
}

static void macros_are_replaced_by_their_tokens(void)
{
	body_is("@define one %( 1 %) x = @one + @one", "x = 1 + 1");
	body_is("@define twice(a) %( (@a) * 2 %) x = @twice(b + c)", "x = (b + c) * 2");
	body_is("@define f(a, b) %( @a - @b %) x = @f(g(1, 2), h[3, 4])", "x = g(1, 2) - h[3, 4]");
	body_is("@define f(a) %( @a + 1 %) @define g(a) %( @f(@a * 2) %) x = @g(3)",
		"x = (3 * 2) + 1");
	body_is("@define f() %( 7 %) x = @f()", "x = 7");
	body_is("@define f(a) %( @a %) x = @f((1, 2)[3])",
		"expected `)` behind the expression, found `,`");
	body_is("@define add(op) %( x @op 1 %) @add(+=)", "x += 1");
	body_is("@define opt(a) %( 5 @a %) x = @opt()", "x = 5");
	body_is("@define v(k) %( %( @k > 1 %? \"many\" %: \"one\" %) %) x = @v(3)", "x = \"many\"");
	body_is("@define a(n) %( @n $1 %) x = @a(1 +)", "x = 1 + 42");
}

static void wrong_macros_are_explained(void)
{
	body_is("@define f(a) %( @a %) @f(1, 2)", "macro `@f` takes 1 arguments, not 2");
	body_is("@define f(a) %( @a %) @f", "macro `@f` takes 1 arguments, not 0");
	body_is("@define f(a) %( @a %) @f(1", "the arguments of macro `@f` have no `)`");
	body_is("@define f %( 1", "the text of macro `@f` has no `%)`");
	body_is("@define 1", "expected the name of a macro, as in @define twice(x) %( (@x) * 2 %)");
	body_is("@define f 1", "expected `%(` and the text of macro `@f`");
	body_is("@define f(1) %( %)", "expected names of parameters and `)`");
	body_is("@define f %( @f %) @f", "macro `@f` uses itself");
	body_is("@define f %( @g %) @define g %( @f %) @g", "macro `@g` uses itself");
	body_is("@define f %( 1 %) @define f %( 2 %)", "macro `@f` is defined already");
	body_is("@define count %( 1 %)", "`@count` is built in: choose another name");
	body_is("@define fourty %( 1 %) @forty",
		"there is no operator and no macro `@forty` (did you mean `@fourty`?)");
	body_is("@cuont(x)", "there is no operator and no macro `@cuont` (did you mean `@count`?)");
}

static void a_mistake_in_a_macro_shows_its_use(void)
{
	struct parsed p;

	is_text(parse_with(&p,
			   "@define f(a) %( @a + ) %)\n"
			   "@define g %( @f(2) %)\n"
			   "probe x {\n"
			   "\ty = @g\n"
			   "}\n",
			   &options),
		"parse error: expected an expression, found `)`\n"
		" at t.stp:1:22\n"
		"    @define f(a) %( @a + ) %)\n"
		"                         ^\n"
		" in macro @f, used at t.stp:2:14\n"
		"    @define g %( @f(2) %)\n"
		"                 ^\n"
		" in macro @g, used at t.stp:4:6\n"
		"    y = @g\n"
		"        ^\n");
	parsed_fini(&p);
}

static void macros_of_the_library_can_be_replaced(void)
{
	struct parsed p;
	uint32_t library = parsed_open(&p, "@define f %( 1 %)\n@define g %( 2 %)");
	int64_t own =
		script_sources_add(&p.sources, "own", "@define f %( 3 %) probe x { @f @g }", 35);
	struct script_macros *macros = script_macros_new(&p.arena);

	p.sources.at[library].is_library = true;
	is(script_parse(&p.file, &p.sources, library, NULL, macros, &p.m), 0);
	is(script_parse(&p.file, &p.sources, (uint32_t)own, NULL, macros, &p.m), 0);
	script_print_file(&p.tree, p.file);
	is_text(p.tree.bytes, "probe x\n{\n\t3;\n\t2;\n}\n");
	parsed_fini(&p);
}

static void too_many_tokens_are_refused(void)
{
	struct text t = { 0 };
	struct parsed p;

	text_addf(&t, "@define m0 %%( 1 + %%)\n");
	for (int i = 1; i < 40; i++)
		text_addf(&t, "@define m%d %%( @m%d @m%d %%)\n", i, i - 1, i - 1);
	text_addf(&t, "probe x { y = @m39 1 }");
	parse_with(&p, t.bytes, NULL);
	ok(p.err);
	parsed_fini(&p);
	text_fini(&t);
}

/* Whether a condition holds: 1, 0, or -1: a mistake. */
static int condition(const char *text)
{
	struct text whole = { 0 };
	struct parsed p;
	int result;

	text_addf(&whole, "%%( %s %%? probe a {} %%: probe b {} %%)", text);
	parse_with(&p, whole.bytes, &options);
	result = p.err || p.file->n_probes != 1 ? -1
						: p.file->probes[0]->points[0].at[0].name[0] == 'a';
	parsed_fini(&p);
	text_fini(&whole);
	return result;
}

static void versions_compare_by_their_numbers(void)
{
	is(condition("kernel_v >= \"6.9\""), 1);
	is(condition("kernel_v == \"6.10.3\""), 1);
	is(condition("kernel_v < \"6.10.3\""), 0);
	is(condition("kernel_v > \"6.10\""), 1);
	is(condition("kernel_v > \"10.0\""), 0);
	is(condition("kernel_v == \"6.*\""), 1);
	is(condition("kernel_vr == \"6.10.3-7-amd64\""), 1);
	is(condition("kernel_vr != \"*amd64\""), 0);
	is(condition("systemtap_v >= \"1.8\""), 1);
}

static void conditions_know_the_machine_and_the_kernel(void)
{
	is(condition("arch == \"x86_64\""), 1);
	is(condition("arch == \"x86*\" && arch != \"arm64\""), 1);
	is(condition("CONFIG_SMP == \"y\""), 1);
	is(condition("CONFIG_HZ == \"2*\""), 1);
	is(condition("CONFIG_NONE == \"y\""), 0);
	is(condition("CONFIG_NONE != \"y\""), 1);
	is(condition("CONFIG_NONE == \"undefined\" && CONFIG_NONE == \"n\""), 1);
	is(condition("CONFIG_HZ >= 250 && CONFIG_HZ < 1000"), 1);
	is(condition("CONFIG_NONE == 1 || CONFIG_SMP == 1"), 0);
	is(condition("CONFIG_NONE != 1"), 1);
	is(condition("guru_mode == 0"), 1);
	is(condition("runtime == \"duet\""), 1);
	is(condition("systemtap_privilege == \"stapdev\""), 1);
}

static void conditions_compute(void)
{
	is(condition("1 < 2"), 1);
	is(condition("-1 < 2 && 3 >= 3"), 1);
	is(condition("\"a\" < \"b\""), 1);
	is(condition("\"a\" \"b\" == \"ab\""), -1);
	is(condition("1 == 2 && 1 == 2 || 1 == 1"), 1);
	is(condition("1 == 1 || 1 == 2 && 1 == 2"), 1);
	is(condition("(1 == 1 || 1 == 2) && 1 == 2"), 0);
	is(condition("$# == 4 && $1 == 42"), 1);
	is(condition("@1 == \"42\""), 1);
	is(condition("$# > 5 && $6 == 1"), 0);
	is(condition("$# < 5 || $6 == 1"), 1);
}

static void wrong_conditions_are_explained(void)
{
	body_is("%( foo == 1 %? %)",
		"`foo` is no name of the preprocessor: there are kernel_v, "
		"kernel_vr, arch, CONFIG_..., systemtap_v, runtime and guru_mode");
	body_is("%( 1 == \"1\" %? %)", "a number is compared with a text");
	body_is("%( \"6.1\" < kernel_v %? %)", "the name stands on the left side of the condition");
	body_is("%( 1 %? %)", "expected a comparison in the condition, as in kernel_v >= \"6.1\"");
	body_is("%( 1 == 1 %)", "expected `%?` behind the condition");
	body_is("%( == 1 %? %)", "expected a name, a number or a text in the condition");
	body_is("%( 1 == 1 %? x", "this `%(` has no `%)`");
	body_is("%( (1 == 1 %? x %)", "expected `)` in the condition");
	body_is("%( $6 == 1 %? %)", "argument 6 is missing: the script got 4");
	body_is("%)", "expected an expression, found `%)`");
}

static void branches_nest_and_hide_mistakes(void)
{
	body_is("%( 1 == 1 %? %( 1 == 2 %? a %: b %) %: %( 1 == 1 %? c %: d %) %)", "b");
	body_is("x = %( 1 == 2 %? 1 %) 2", "x = 2");
	body_is("x = %( 1 == 2 %? ' $9 @zzz 0x 9z %: 3 %)", "x = 3");
	body_is("%( 1 == 2 %? %( nonsense %? %( %) %: %) %: y %)", "y");
	body_is("x = 1%(1==1%? + 2 %)", "x = 1 + 2");
}

int main(void)
{
	run(arguments_are_put_in);
	run(macros_are_replaced_by_their_tokens);
	run(wrong_macros_are_explained);
	run(a_mistake_in_a_macro_shows_its_use);
	run(macros_of_the_library_can_be_replaced);
	run(too_many_tokens_are_refused);
	run(versions_compare_by_their_numbers);
	run(conditions_know_the_machine_and_the_kernel);
	run(conditions_compute);
	run(wrong_conditions_are_explained);
	run(branches_nest_and_hide_mistakes);
	return test_status();
}
