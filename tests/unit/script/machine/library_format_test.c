/* SPDX-License-Identifier: MIT */
/* tests/unit/script/library_format_test.c - printf, print and sprintf; and concatenation. */
#include <inttypes.h>

#include "library_for_test.h"

static struct script_format formats[1];

static void parse(const char *literal)
{
	uint32_t at;
	struct diag d;

	if (script_format_parse(formats, &machine.arena, literal, strlen(literal), &at, &d))
		printf("# %s: %s\n", literal, d.text);
	machine.unit.formats = formats;
	machine.unit.n_formats = 1;
}

static const char *printed(const char *literal, const union script_cell *cells)
{
	parse(literal);
	script_helpers[SCRIPT_HELPER_PRINT](&machine, 0, (uint64_t)(uintptr_t)cells, 0, 0, 0);
	return written();
}

static const char *number(const char *literal, int64_t n)
{
	union script_cell cell = { .number = n };

	return printed(literal, &cell);
}

static const char *string(const char *literal, const char *s)
{
	union script_cell cell = { .text = (const struct script_string *)(uintptr_t)text(s) };

	return printed(literal, &cell);
}

/* For numbers the C library is the model: all flags, widths and precisions. */
static void numbers_are_written_as_libc_does(void)
{
	static const int64_t values[] = { 0, 1, -1, 42, -42, 123456789, INT64_MAX, INT64_MIN };
	static const char *const flags[] = { "",   "-",	 "0",  "+",  " ", "#",
					     "-0", "+0", "#0", "-#", "+-" };
	static const char *const sizes[] = {
		"", "1", "12", "25", ".0", ".3", ".22", "12.5", "30.22"
	};
	static const char conversions[] = "duxXo";
	int n_wrong = 0;

	open_machine();
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (const char *c = conversions; *c; c++)
				for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
					char ours[32], theirs[32], want[64];

					if ((*c == 'u' || *c == 'd') && strchr(flags[i], '#'))
						continue;
					snprintf(ours, sizeof ours, "%%%s%s%c", flags[i], sizes[k],
						 *c);
					snprintf(theirs, sizeof theirs, "%%%s%sl%c", flags[i],
						 sizes[k], *c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
					snprintf(want, sizeof want, theirs, (long)values[v]);
#pragma GCC diagnostic pop
					if (!is_text(number(ours, values[v]), want)) {
						printf("# %s of %" PRIi64 "\n", ours, values[v]);
						if (++n_wrong > 10)
							return;
					}
				}
	close_machine();
}

static void text_and_other_directives_are_written(void)
{
	union script_cell cells[4];

	open_machine();
	is_text(printed("no arguments, 100%%\n", NULL), "no arguments, 100%\n");
	is_text(string("[%s]", "tea"), "[tea]");
	is_text(string("[%6s]", "tea"), "[   tea]");
	is_text(string("[%-6s]", "tea"), "[tea   ]");
	is_text(string("[%.2s]", "tea"), "[te]");
	is_text(string("[%-5.1s]", "tea"), "[t    ]");
	is_text(number("%c%%", 'x'), "x%");
	is_text(number("[%3c]", 'x'), "[  x]");
	is_text(number("%p", 0x7f00), "0x7f00");
	is_text(number("%p", 0), "0x0");
	is_text(number("%2b", 0x4241), "AB");
	is_text(number("%ld", -5), "-5");
	cells[0].number = -6;
	cells[1].number = 42;
	cells[2].number = 3;
	cells[3].text = (const struct script_string *)(uintptr_t)text("abcdef");
	is_text(printed("[%*d] [%.*s]", cells), "[42    ] [abc]");
	close_machine();
}

static void zero_bytes_are_written(void)
{
	union script_cell cell = { .number = 0 };

	open_machine();
	parse("a%cb%1b");
	script_helpers[SCRIPT_HELPER_PRINT](
		&machine, 0, (uint64_t)(uintptr_t)(union script_cell[]){ cell, cell }, 0, 0, 0);
	is(machine.out.size, 4);
	ok(!memcmp(machine.out.bytes, "a\0b\0", 4));
	close_machine();
}

static void memory_that_was_not_recorded_is_an_error(void)
{
	open_machine();
	is_text(number("%4m", 4096), "");
	ok(strstr(raised(), "0x1000 was not recorded"));
	close_machine();
}

static void sprintf_is_cut_and_printf_is_not(void)
{
	char bytes[500];
	union script_cell cells[3];
	const struct script_string *result;

	memset(bytes, 'x', sizeof bytes - 1);
	bytes[sizeof bytes - 1] = 0;
	open_machine();
	cells[0].text = cells[1].text = cells[2].text =
		(const struct script_string *)(uintptr_t)text(bytes);
	parse("%s%s%s");
	result = (const struct script_string *)(uintptr_t)script_helpers[SCRIPT_HELPER_FORMAT](
		&machine, 0, (uint64_t)(uintptr_t)cells, 0, 0, 0);
	is(result->size, 511);
	is(strlen(printed("%s%s%s", cells)), 3 * 499);
	close_machine();
}

static void strings_are_joined_and_compared(void)
{
	open_machine();
	is_text(of(script_helpers[SCRIPT_HELPER_CONCAT](&machine, text("ab"), text("cd"), 0, 0, 0)),
		"abcd");
	is_text(of(script_helpers[SCRIPT_HELPER_CONCAT](&machine, text(""), text("cd"), 0, 0, 0)),
		"cd");
	is(script_helpers[SCRIPT_HELPER_EQUAL](&machine, text("ab"), text("ab"), 0, 0, 0), 1);
	is(script_helpers[SCRIPT_HELPER_EQUAL](&machine, text("ab"), text("abc"), 0, 0, 0), 0);
	is(script_helpers[SCRIPT_HELPER_COMPARE](&machine, text("ab"), text("b"), 0, 0, 0), -1);
	close_machine();
}

static void string_without_memory_is_an_error(void)
{
	char bytes[500];
	uint64_t once;
	int i;

	memset(bytes, 'x', sizeof bytes - 1);
	bytes[sizeof bytes - 1] = 0;
	machine.limits.memory = 1 << 20;
	open_machine();
	once = text(bytes);
	for (i = 0; i < 10000 && !*machine.raised; i++)
		call1("text_str", once);
	ok(i > 500 && i < 3000);
	ok(strstr(raised(), "no memory for a string"));
	close_machine();
}

int main(void)
{
	run(numbers_are_written_as_libc_does);
	run(text_and_other_directives_are_written);
	run(zero_bytes_are_written);
	run(memory_that_was_not_recorded_is_an_error);
	run(sprintf_is_cut_and_printf_is_not);
	run(strings_are_joined_and_compared);
	run(string_without_memory_is_an_error);
	return test_status();
}
