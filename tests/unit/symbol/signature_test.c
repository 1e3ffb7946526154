/* SPDX-License-Identifier: MIT */
/* tests/unit/symbol/signature_test.c - signatures given as text: types, places, errors. */
#include "symbol/signature.h"

#include "base/schema.h"
#include "test.h"

static struct signature parsed(const char *text)
{
	struct signature s;
	struct diag d = { "" };

	if (signature_parse(text, &s, &d)) {
		is_text(d.text, "");
		s = (struct signature){ .n = 0 };
	}
	return s;
}

static void is_value(const struct signature_value *v, const char *name, const char *type,
		     enum abi_operand_place place, int reg, int bytes)
{
	is_text(v->name, name);
	is_text(v->type, type);
	is(v->at.place, place);
	is(v->at.reg, reg);
	is(v->at.bytes, bytes);
	is(v->at.index, ABI_OPERAND_NONE);
	is(v->at.is_text, !strcmp(type, "str"));
	is(v->at.is_signed, *type == 'i');
}

static void a_declaration_gives_types_and_places(void)
{
	struct signature s =
		parsed("int32 f(const char *name, size_t n, float x, uint8_t b, void *)");

	is_text(s.name, "f");
	is(s.n, 5);
	is_value(&s.parameters[0], "name", "str", ABI_OPERAND_REGISTER, 7, 8);
	is_value(&s.parameters[1], "n", "u64", ABI_OPERAND_REGISTER, 6, 8);
	is_value(&s.parameters[2], "x", "f32", ABI_OPERAND_VECTOR, 0, 4);
	is_value(&s.parameters[3], "b", "u8", ABI_OPERAND_REGISTER, 2, 1);
	is_value(&s.parameters[4], "arg5", "p64", ABI_OPERAND_REGISTER, 1, 8);
	ok(s.has_result && !s.is_variadic);
	is_value(&s.result, "result", "i32", ABI_OPERAND_REGISTER, 0, 4);
}

static void parameters_behind_the_sixth_are_on_the_stack(void)
{
	struct signature s = parsed("double g(int a, int b, int c, int d, int e, int f, "
				    "unsigned long g, double x, short h)");

	is(s.n, 9);
	is_value(&s.parameters[5], "f", "i32", ABI_OPERAND_REGISTER, 9, 4);
	is_value(&s.parameters[6], "g", "u64", ABI_OPERAND_MEMORY, 4, 8);
	is(s.parameters[6].at.value, 8);
	is_value(&s.parameters[7], "x", "f64", ABI_OPERAND_VECTOR, 0, 8);
	is_value(&s.parameters[8], "h", "i16", ABI_OPERAND_MEMORY, 4, 2);
	is(s.parameters[8].at.value, 16);
	is_value(&s.result, "result", "f64", ABI_OPERAND_VECTOR, 0, 8);
}

static void types_of_c_are_known(void)
{
	struct signature s = parsed("void f(unsigned char a, long long int b, unsigned c, char d, "
				    "int64_t e, const struct stat *f, char **g, enum color h, "
				    "int (*compare)(const void *, const void *), int list[4]);");
	static const char *const types[] = { "u8",  "i64", "u32", "i8",	 "i64",
					     "p64", "p64", "u32", "p64", "p64" };

	ok(!s.has_result);
	is(s.n, 10);
	for (unsigned i = 0; i < s.n; i++)
		is_text(s.parameters[i].type, types[i]);
	is_text(s.parameters[8].name, "compare");
	is_text(s.parameters[9].name, "list");
}

static void no_parameters_and_variable_ones_are_known(void)
{
	is(parsed("int f(void)").n, 0);
	is(parsed("int f()").n, 0);
	is(parsed("int printf(const char *format, ...)").n, 1);
	ok(parsed("int printf(const char *format, ...)").is_variadic);
	is_text(parsed("char *f(int x)").result.type, "str");
}

static void more_parameters_than_a_plan_has_are_left_out(void)
{
	struct signature s = parsed("int f(int, int, int, int, int, int, int, int, int, int, int, "
				    "int, int, int)");

	is(s.n, SIGNATURE_PARAMETERS);
	is(s.n_left_out, 2);
}

static void equal_names_are_numbered(void)
{
	struct signature s = parsed("int f(int a, int a)");

	is_text(s.parameters[0].name, "a");
	is_text(s.parameters[1].name, "arg2");
}

static void an_error_says_where_and_what(void)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ "int f(foo x)", "the size of this type is not known: foo" },
		{ "int f(struct stat x)", "the size of this type is not known: stat" },
		{ "int f(long double x)", "the size of this type is not known: long double" },
		{ "int f(void x)", "the size of this type is not known: void" },
		{ "int f(int x", "expected , or )" },
		{ "int f", "expected ( after the name f" },
		{ "int (int)", "the function's name is missing" },
		{ "", "a type is missing" },
		{ "int f(int) x", "something stands behind the declaration" },
		{ "int f(..., int)", "expected ) after ..." },
		{ "int f(int,)", "a type is missing" },
		{ "int f(int (*g)(int)", "expected , or )" },
		{ "int f(int a[3)", "expected ]" },
		{ "int f(int 9x)", "expected , or )" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct signature s;
		struct diag d = { "" };

		is(signature_parse(bad[i].text, &s, &d), -22);
		if (!strstr(d.text, bad[i].want))
			is_text(d.text, bad[i].want);
		ok(strstr(d.text, "at character"));
	}
}

/* Each type is one that an event's field can have. */
static void types_are_those_of_fields(void)
{
	struct signature s = parsed("uintptr_t f(bool a, double b, char *c, void *d, float e)");
	struct schema_type t;

	for (unsigned i = 0; i < s.n; i++)
		ok(schema_read_type(
			(struct schema_text){ s.parameters[i].type,
					      s.parameters[i].type + strlen(s.parameters[i].type) },
			&t));
	is_text(s.result.type, "x64");
	is(s.result.at.bytes, 8);
}

int main(void)
{
	run(a_declaration_gives_types_and_places);
	run(parameters_behind_the_sixth_are_on_the_stack);
	run(types_of_c_are_known);
	run(no_parameters_and_variable_ones_are_known);
	run(more_parameters_than_a_plan_has_are_left_out);
	run(equal_names_are_numbered);
	run(an_error_says_where_and_what);
	run(types_are_those_of_fields);
	return test_status();
}
