/* SPDX-License-Identifier: MIT */
/* unit_format_test.c - formats of printf as directives. */
#include "script/unit/format.h"

#include <errno.h>

#include "test.h"

static struct script_arena arena;
static struct script_format format;
static struct diag diag;

static int parse(const char *text)
{
	uint32_t at;

	return script_format_parse(&format, &arena, text, strlen(text), &at, &diag);
}

/* The types of the arguments: l, s. */
static const char *arguments(void)
{
	static char text[64];
	uint32_t i;

	for (i = 0; i < format.n_arguments; i++)
		text[i] = format.arguments[i] == SCRIPT_STRING ? 's' : 'l';
	text[i] = 0;
	return text;
}

static void text_around_directives_is_kept(void)
{
	is(parse("a %d, %s%%\n"), 0);
	is(format.n, 3);
	is_text(format.directives[0].before, "a ");
	is(format.directives[0].conversion, 'd');
	is_text(format.directives[1].before, ", ");
	is_text(format.directives[2].before, "%\n");
	is(format.directives[2].before_size, 2);
	is(format.directives[2].conversion, 0);
	is_text(arguments(), "ls");
}

static void an_empty_format_has_no_directive(void)
{
	is(parse(""), 0);
	is(format.n, 0);
	is(format.n_arguments, 0);
}

static void flags_width_and_precision_are_read(void)
{
	is(parse("%-+ 0#12.3lx"), 0);
	is(format.n, 1);
	is(format.directives[0].conversion, 'x');
	ok(format.directives[0].minus && format.directives[0].plus && format.directives[0].space &&
	   format.directives[0].zero && format.directives[0].hash);
	is(format.directives[0].width, 12);
	is(format.directives[0].precision, 3);
	is(parse("%5i"), 0);
	is(format.directives[0].conversion, 'd');
	is(format.directives[0].precision, -1);
}

static void a_star_takes_an_argument_before_the_value(void)
{
	is(parse("%*.*s"), 0);
	is(format.directives[0].width, -2);
	is(format.directives[0].precision, -2);
	is_text(arguments(), "lls");
}

static void binary_numbers_have_a_size(void)
{
	is(parse("%2b%b"), 0);
	is(format.directives[0].size, 2);
	is(format.directives[1].size, 8);
	is(parse("%3b"), -EINVAL);
}

static void bad_directives_are_refused_with_a_reason(void)
{
	uint32_t at = 0;

	is(parse("%lld"), -EINVAL);
	is(parse("50%"), -EINVAL);
	is_text(diag.text, "the format ends within a directive");
	is(parse("%99999d"), -EINVAL);
	is(script_format_parse(&format, &arena, "ab %y", 5, &at, &diag), -EINVAL);
	is(at, 3);
	is_text(diag.text, "unknown conversion `%y` in a format (d i u x X o c s p b m M %)");
}

int main(void)
{
	run(text_around_directives_is_kept);
	run(an_empty_format_has_no_directive);
	run(flags_width_and_precision_are_read);
	run(a_star_takes_an_argument_before_the_value);
	run(binary_numbers_have_a_size);
	run(bad_directives_are_refused_with_a_reason);
	script_arena_fini(&arena);
	return test_status();
}
