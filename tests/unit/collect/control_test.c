/* SPDX-License-Identifier: MIT */
/* Lines of control requests: what is one, what is none, and that nothing is read beyond the end. */
#include "base/json_line.h"
#include "test.h"

/* Parses a copy that ends where its memory ends, so that a sanitizer sees a byte too many. */
static int parse(struct control_line *l, char **copy, const char *text)
{
	size_t n = strlen(text);

	*copy = malloc(n + !n);
	memcpy(*copy, text, n);
	return control_parse(l, *copy, n);
}

static void members_of_a_line_are_found(void)
{
	struct control_line l;
	char *copy, text[32];
	uint64_t v = 7;

	is(parse(&l, &copy, "{\"verb\":\"a\\\"b\\\\\\n\", \"n\" : 18446744073709551615,\"yes\":true,\"no\":null}\n"), 0);
	is(l.n, 4);
	ok(control_text(&l, "verb", text, sizeof text));
	is_text(text, "a\"b\\\n");
	ok(control_number(&l, "n", &v));
	ok(v == UINT64_MAX);
	ok(control_has(&l, "yes") && control_has(&l, "no") && !control_has(&l, "ye"));
	ok(control_is_true(&l, "yes"));
	ok(!control_is_true(&l, "no"));
	ok(!control_text(&l, "n", text, sizeof text));
	ok(!control_number(&l, "verb", &v));
	ok(!control_text(&l, "verb", text, 5));
	ok(!control_text(&l, "other", text, sizeof text));
	free(copy);
}

static void numbers_that_do_not_fit_are_none(void)
{
	static const char *const lines[] = { "{\"n\":18446744073709551616}", "{\"n\":-1}", "{\"n\":1.5}",
					     "{\"n\":1e3}", "{\"n\":true}" };
	struct control_line l;
	uint64_t v = 7;
	char *copy;

	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		is(parse(&l, &copy, lines[i]), 0);
		ok(!control_number(&l, "n", &v));
		free(copy);
	}
	is(v, 7);
}

static void what_is_no_line_is_refused_and_every_beginning_of_one(void)
{
	static const char whole[] = "{\"a\":\"b\\u0041\",\"c\":1}";
	static const char *const lines[] = { "", "{", "[]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}",
					     "{\"a\":{}}", "{\"a\":[1]}", "{} {}", "{\"a\":\"\n\"}" };
	struct control_line l;
	char *copy, text[sizeof whole];

	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		ok(parse(&l, &copy, lines[i]) < 0);
		free(copy);
	}
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		snprintf(text, sizeof text, "%.*s", (int)n, whole);
		ok(parse(&l, &copy, text) < 0);
		free(copy);
	}
	is(parse(&l, &copy, whole), 0);
	ok(!control_text(&l, "a", text, sizeof text));
	free(copy);
	is(parse(&l, &copy, "{}"), 0);
	free(copy);
}

static void what_is_written_is_read_again(void)
{
	static const char odd[] = "a \"path\"\\with\neverything";
	struct text t = { 0 };
	struct control_line l;
	char text[64];
	uint64_t v;

	control_add_text(&t, "path", odd);
	control_add_number(&t, "n", 42);
	text_addf(&t, "}\n");
	is(control_parse(&l, t.bytes, t.size), 0);
	ok(control_text(&l, "path", text, sizeof text));
	is_text(text, odd);
	ok(control_number(&l, "n", &v));
	is(v, 42);
	text_fini(&t);
}

int main(void)
{
	run(members_of_a_line_are_found);
	run(numbers_that_do_not_fit_are_none);
	run(what_is_no_line_is_refused_and_every_beginning_of_one);
	run(what_is_written_is_read_again);
	return test_status();
}
