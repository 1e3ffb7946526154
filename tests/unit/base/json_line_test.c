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
	ok(json_line_text(&l, "a", text, sizeof text) && !strcmp(text, "bA"));
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

/* Whatever bytes a request held: its answer is JSON for strict parsers, and nothing of it is lost. */
static void any_bytes_are_written_as_json_and_read_again(void)
{
	static const char *const odd[] = { "\x80",	   "a\xff\xfe", "\xc3\xa9t\xe9",
					   "\xed\xa0\x80", "\xc0\xaf",	"\x1b]0;title\x07",
					   "\x7f",	   "\t\r\b",	"\xf0\x9f\x90\x9f",
					   "\xc3" };
	unsigned seed = 1;

	for (unsigned i = 0; i < 20000; i++) {
		char value[24], text[64];
		struct text t = { 0 };
		struct json_line l;
		size_t n = i % (sizeof value - 1);

		for (size_t k = 0; k < n; k++) {
			seed = seed * 1103515245 + 12345;
			value[k] = (char)(seed >> 16 & 0xff ? seed >> 16 : 1);
			value[k] = value[k] ? value[k] : 1;
		}
		value[n] = 0;
		if (i < sizeof odd / sizeof *odd)
			strcpy(value, odd[i]);
		json_line_add_text(&t, "v", value);
		is(json_line_end(&t), 0);
		is(json_line_parse(&l, t.bytes, t.size), 0);
		for (const char *p = t.bytes; *p; p += text_utf8_length(p, strlen(p)))
			if (!text_utf8_length(p, strlen(p)) ||
			    ((unsigned char)*p < ' ' && *p != '\n')) {
				ok(!"strict JSON");
				break;
			}
		is(json_line_text(&l, "v", text, sizeof text) && !strcmp(text, value), 1);
		text_fini(&t);
	}
}

static void escapes_that_are_none_are_refused(void)
{
	static const char *const lines[] = { "{\"v\":\"\\u\"}",	    "{\"v\":\"\\u12\"}",
					     "{\"v\":\"\\u000g\"}", "{\"v\":\"\\u0000\"}",
					     "{\"v\":\"\\ud800\"}", "{\"v\":\"\\udc7f\"}",
					     "{\"v\":\"\\x41\"}" };
	struct json_line l;
	char *copy, text[32];

	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		is(parse(&l, &copy, lines[i]), 0);
		ok(!json_line_text(&l, "v", text, sizeof text));
		free(copy);
	}
}

static void escaped_characters_become_utf_8(void)
{
	struct json_line l;
	char *copy, text[32];

	is(parse(&l, &copy,
		 "{\"v\":\"\\u00e9\\u2028\\ud83e\\uDD86\\udce9\",\"w\":\"\\ud83e\\u0041\"}"),
	   0);
	ok(json_line_text(&l, "v", text, sizeof text));
	ok(!strcmp(text, "\xc3\xa9\xe2\x80\xa8\xf0\x9f\xa6\x86\xe9"));
	ok(!json_line_text(&l, "v", text, 10));
	ok(!json_line_text(&l, "w", text, sizeof text));
	free(copy);
}

int main(void)
{
	run(members_of_a_line_are_found);
	run(numbers_that_do_not_fit_are_none);
	run(malformed_lines_and_prefixes_of_lines_are_refused);
	run(written_members_are_read_again);
	run(any_bytes_are_written_as_json_and_read_again);
	run(escapes_that_are_none_are_refused);
	run(escaped_characters_become_utf_8);
	return test_status();
}
