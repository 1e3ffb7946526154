/* SPDX-License-Identifier: MIT */
/* code_limits_test.c - scripts that are too large in some way are refused with a message, or run. */
#include "run_script.h"
#include "test.h"

/* What the script says, from the interpreter and translated, which must agree. */
static char *said(const struct text *script)
{
	struct text a = { 0 }, b = { 0 };

	run_script(script->bytes, NULL, false, &a);
#ifdef __x86_64__
	run_script(script->bytes, NULL, true, &b);
	is_text(b.bytes ? b.bytes : "", a.bytes ? a.bytes : "");
	text_fini(&b);
#endif
	return a.bytes ? a.bytes : calloc(1, 1);
}

static void says(struct text *script, const char *part)
{
	char *text = said(script);

	if (!ok(strstr(text, part) != NULL))
		printf("# %.400s\n# has not: %s\n", text, part);
	free(text);
	text_fini(script);
}

/* "x0 + x1 + ... " */
static void sum(struct text *t, int n, const char *format)
{
	for (int i = 0; i < n; i++) {
		text_addf(t, i ? " + " : "");
		text_addf(t, format, i);
	}
}

static void with_locals(struct text *t, int n)
{
	text_addf(t, "probe begin {\n");
	for (int i = 0; i < n; i++)
		text_addf(t, "x%d = %d + pid() - 100\n", i, i);
	text_addf(t, "println(");
	for (int i = 0; i < n; i += 50) {
		text_addf(t, i ? " + " : "");
		text_addf(t, "x%d", i);
	}
	text_addf(t, ")\n");
	for (int i = 0; i < n; i++)
		text_addf(t, "print(x%d ? \"\" : \"\")\n", i);
	text_addf(t, "}\n");
}

static void five_hundred_locals_have_room(void)
{
	struct text t = { 0 };

	with_locals(&t, 500);
	says(&t, "2250\n");
}

static void six_hundred_locals_do_not(void)
{
	struct text t = { 0 };

	with_locals(&t, 600);
	says(&t, "needs too much stack for its variables");
}

static void a_sum_of_a_hundred_calls_has_room(void)
{
	struct text t = { 0 };

	text_addf(&t, "function id(x) { return x }\nprobe begin { println(");
	sum(&t, 100, "id(%d)");
	text_addf(&t, ") }\n");
	says(&t, "4950\n");
}

static void nested_calls_need_the_stack_or_are_refused(void)
{
	struct text t = { 0 };
	char *text;

	text_addf(&t, "function f(a, b) { return a + b }\nprobe begin { println(");
	for (int i = 0; i < 200; i++)
		text_addf(&t, "f(%d, ", i);
	text_addf(&t, "0");
	for (int i = 0; i < 200; i++)
		text_addf(&t, ")");
	text_addf(&t, ") }\n");
	text = said(&t);
	ok(!strcmp(text, "19900\n") || strstr(text, "error: "));
	free(text);
	text_fini(&t);
}

static void a_handler_of_many_statements_is_refused_or_runs(void)
{
	struct text t = { 0 };
	char *text;

	text_addf(&t, "global g\nprobe begin {\nwhile (g < 1) {\n");
	for (int i = 0; i < 12000; i++)
		text_addf(&t, "g++\n");
	text_addf(&t, "}\nprintln(g) }\n");
	text = said(&t);
	ok(strstr(text, "has too much code"));
	free(text);
	text_fini(&t);
}

static void many_handlers_run(void)
{
	struct text t = { 0 };

	text_addf(&t, "global g\n");
	for (int i = 0; i < 300; i++)
		text_addf(&t, "probe begin { g += %d }\n", i);
	text_addf(&t, "probe end { println(g) }\n");
	says(&t, "44850\n");
}

static void loops_nest_to_some_depth(void)
{
	struct text t = { 0 };

	text_addf(&t, "probe begin {\n");
	for (int i = 0; i < 20; i++)
		text_addf(&t, "for (i%d = 0; i%d < 1; i%d++)\n", i, i, i);
	text_addf(&t, "println(\"in\") }\n");
	says(&t, "in\n");
}

static void iterations_that_nest_too_deep_are_an_error(void)
{
	struct text t = { 0 };

	text_addf(&t, "global a, g\nfunction f(n) { g++; foreach (k in a) f(n + 1) }\n"
		      "probe begin { a[1] = 1; f(0); println(\"never\") }\n");
	says(&t, "ERROR: ");
}

static void a_parameter_too_many_is_refused(void)
{
	struct text t = { 0 };

	text_addf(&t, "function f(");
	for (int i = 0; i < 80; i++)
		text_addf(&t, "%sa%d", i ? ", " : "", i);
	text_addf(&t, ") { return a0 + a79 }\nprobe begin { println(f(");
	for (int i = 0; i < 80; i++)
		text_addf(&t, "%s%d", i ? ", " : "", i);
	text_addf(&t, ")) }\n");
	says(&t, "error: ");
}

static void sixty_four_parameters_arrive(void)
{
	struct text t = { 0 };

	text_addf(&t, "function f(");
	for (int i = 0; i < 64; i++)
		text_addf(&t, "%sa%d", i ? ", " : "", i);
	text_addf(&t, ") { return ");
	sum(&t, 64, "a%d");
	text_addf(&t, " }\nprobe begin { println(f(");
	for (int i = 0; i < 64; i++)
		text_addf(&t, "%s%d", i ? ", " : "", i);
	text_addf(&t, ")) }\n");
	says(&t, "2016\n");
}

int main(void)
{
	run(five_hundred_locals_have_room);
	run(six_hundred_locals_do_not);
	run(a_sum_of_a_hundred_calls_has_room);
	run(nested_calls_need_the_stack_or_are_refused);
	run(a_handler_of_many_statements_is_refused_or_runs);
	run(many_handlers_run);
	run(loops_nest_to_some_depth);
	run(iterations_that_nest_too_deep_are_an_error);
	run(a_parameter_too_many_is_refused);
	run(sixty_four_parameters_arrive);
	return test_status();
}
