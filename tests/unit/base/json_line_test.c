/* SPDX-License-Identifier: MIT */
/* Lines of control requests: sound ones are parsed, others refused, and nothing is read beyond
 * the end. */
#include "base/json_line.h"
#include "test.h"

/* Parses a copy that ends where its memory ends, so that a sanitizer sees a byte too many. */
static int parse(struct json_line *l, char **copy, const char *text)
{
	size_t n = strlen(text);

	*copy = malloc(n + !n);
	memcpy(*copy, text, n);
	return json_line_parse(l, *copy, n);
}

static void members_of_a_line_are_found(void)
{
	struct json_line l;
	char *copy, text[32];
	uint64_t v = 7;

	is(parse(&l, &copy,
		 "{\"verb\":\"a\\\"b\\\\\\n\", \"n\" : "
		 "18446744073709551615,\"yes\":true,\"no\":null}\n"),
	   0);
	is(l.n, 4);
	ok(json_line_text(&l, "verb", text, sizeof text));
	is_text(text, "a\"b\\\n");
	ok(json_line_number(&l, "n", &v));
	ok(v == UINT64_MAX);
	ok(json_line_has(&l, "yes") && json_line_has(&l, "no") && !json_line_has(&l, "ye"));
	ok(json_line_is_true(&l, "yes"));
	ok(!json_line_is_true(&l, "no"));
	ok(!json_line_text(&l, "n", text, sizeof text));
	ok(!json_line_number(&l, "verb", &v));
	ok(!json_line_text(&l, "verb", text, 5));
	ok(!json_line_text(&l, "other", text, sizeof text));
	free(copy);
}

static void numbers_that_do_not_fit_are_none(void)
{
	static const char *const lines[] = { "{\"n\":18446744073709551616}", "{\"n\":-1}",
					     "{\"n\":1.5}", "{\"n\":1e3}", "{\"n\":true}" };
	struct json_line l;
	uint64_t v = 7;
	char *copy;

	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		is(parse(&l, &copy, lines[i]), 0);
		ok(!json_line_number(&l, "n", &v));
		free(copy);
	}
	is(v, 7);
}

static void malformed_lines_and_prefixes_of_lines_are_refused(void)
{
	static const char whole[] = "{\"a\":\"b\\u0041\",\"c\":1}";
	static const char *const lines[] = {
		"",	      "{",	    "[]",	   "{\"a\"}", "{\"a\":}",      "{a:1}",
		"{\"a\":1,}", "{\"a\":{}}", "{\"a\":[1]}", "{} {}",   "{\"a\":\"\n\"}"
	};
	struct json_line l;
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
	ok(!json_line_text(&l, "a", text, sizeof text));
	free(copy);
	is(parse(&l, &copy, "{}"), 0);
	free(copy);
}

static void written_members_are_read_again(void)
{
	static const char odd[] = "a \"path\"\\with\neverything";
	struct text t = { 0 };
	struct json_line l;
	char text[64];
	uint64_t v;

	json_line_add_text(&t, "path", odd);
	json_line_add_number(&t, "n", 42);
	text_addf(&t, "}\n");
	is(json_line_parse(&l, t.bytes, t.size), 0);
	ok(json_line_text(&l, "path", text, sizeof text));
	is_text(text, odd);
	ok(json_line_number(&l, "n", &v));
	is(v, 42);
	text_fini(&t);
}

int main(void)
{
	run(members_of_a_line_are_found);
	run(numbers_that_do_not_fit_are_none);
	run(malformed_lines_and_prefixes_of_lines_are_refused);
	run(written_members_are_read_again);
	return test_status();
}
