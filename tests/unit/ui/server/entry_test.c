/* SPDX-License-Identifier: MIT */
/* unit/ui/server/entry_test.c - heads, names, secrets, passwords and bodies, as text. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ui/server/access.h"
#include "ui/server/head.h"
#include "ui/server/login.h"
#include "ui/sessions/body.h"

static int head(const char *text)
{
	return head_check(text, strlen(text));
}

static void a_head_is_whole_at_its_empty_line_and_not_before(void)
{
	static const char text[] =
		"GET /a?b=%20c HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n";

	for (size_t n = 0; n < sizeof text - 1; n++)
		is(head_check(text, n), HEAD_IS_PART);
	is(head(text), HEAD_IS_WHOLE);
	is(head("GET / HTTP/1.0\r\n\r\n"), HEAD_IS_WHOLE);
	is(head("GET / HTTP/1.1\r\nA:\r\nB:\tx y\r\nC: \xc3\xa4\r\n\r\nrest\n"), HEAD_IS_WHOLE);
}

static void what_is_no_head_is_refused(void)
{
	static const char *const wrong[] = {
		"\r\n",
		"\n",
		"GET\r\n",
		"GET /\r\n",
		" GET / HTTP/1.1\r\n",
		"GET / HTTP/1.2\r\n",
		"GET  / HTTP/1.1\r\n",
		"GET / HTTP/1.1 \r\n",
		"GET / http/1.1\r\n",
		"GET /\t HTTP/1.1\r\n",
		"GET * HTTP/1.1\r\n",
		"GET a HTTP/1.1\r\n",
		"G(T / HTTP/1.1\r\n",
		"GET / HTTP/1.1\n",
		"GET / HTTP/1.1\r\nA\r\n",
		"GET / HTTP/1.1\r\nA : b\r\n",
		"GET / HTTP/1.1\r\n b: c\r\n",
		"GET / HTTP/1.1\r\nA: b\rc\r\n",
		"GET / HTTP/1.1\r\nA: \x7f\r\n",
		"GET / HTTP/1.1\r\nContent-Length: \r\n",
		"GET / HTTP/1.1\r\nContent-length: 1 \r\n",
		"GET / HTTP/1.1\r\ncontent-length: 0x1\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 1,1\r\n",
		"ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\n",
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (!is(head(wrong[i]), 400))
			printf("# %s", wrong[i]);
	is(head("GET / HTTP/2.0\r\n"), 505);
	is(head("GET / HTTP/1.1\r\nContent-Length: 1000000000\r\n"), 413);
	is(head_check("GET / HTTP/1.1\r\nA: \0\r\n", 22), 400);
	is(head_check("\0\0\0\0", 4), 400);
}

static void a_head_is_bounded(void)
{
	static char text[HEAD_MAX + 100];

	memset(text, 'a', sizeof text);
	memcpy(text, "GET /", 5);
	is(head_check(text, HEAD_MAX - 1), HEAD_IS_PART);
	is(head_check(text, HEAD_MAX), 431);
	memcpy(text + HEAD_MAX - 30, " HTTP/1.1\r\n\r\n", 13);
	is(head_check(text, sizeof text), HEAD_IS_WHOLE);
}

/* ---------------------------------------------------------------- names and secrets */

static void names_are_those_of_loopback(void)
{
	static const char *const right[] = { "localhost",   "LocalHost:80", "127.0.0.1",
					     "127.0.0.1:1", "[::1]",	    "[::1]:65535" };
	static const char *const wrong[] = {
		"",	      "localhost:",	  "localhost:1x",    "localhost.x",
		"xlocalhost", "127.0.0.1.x",	  "127.0.0.10",	     "[::1",
		"[::1]x",     "localhost:123456", "localhost:80:80", "::1"
	};
	const struct ui_access a = { .is_beyond = false, .names = { "web", "" } };

	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		ok(access_is_host(&a, right[i], NULL));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(!access_is_host(&a, wrong[i], NULL));
	ok(!access_is_host(&a, NULL, NULL));
	ok(!access_is_host(&a, "web", NULL));
	ok(!access_is_host(&a, "10.0.0.1", "10.0.0.1"));
}

static void beyond_loopback_there_are_more_names(void)
{
	const struct ui_access a = { .is_beyond = true, .names = { "web", "" } };

	ok(access_is_host(&a, "web:7", NULL));
	ok(access_is_host(&a, "10.0.0.1:7", "10.0.0.1"));
	ok(access_is_host(&a, "[fe80::1]:7", "fe80::1"));
	ok(!access_is_host(&a, "10.0.0.2", "10.0.0.1"));
	ok(!access_is_host(&a, "", "10.0.0.1"));
	ok(!access_is_host(&a, ":7", NULL));
	ok(access_is_origin(&a, "https://web:7", "web:7"));
	ok(!access_is_origin(&a, "http://web:7", "web:7"));
}

static void an_origin_is_the_host_itself(void)
{
	const struct ui_access a = { .is_beyond = false };

	ok(access_is_origin(&a, "http://localhost:7", "localhost:7"));
	ok(!access_is_origin(&a, "http://localhost:8", "localhost:7"));
	ok(!access_is_origin(&a, "https://localhost:7", "localhost:7"));
	ok(!access_is_origin(&a, "null", "localhost:7"));
	ok(!access_is_origin(&a, "", ""));
	ok(access_is_site(NULL) && access_is_site("none") && access_is_site("same-origin"));
	ok(!access_is_site("same-site") && !access_is_site("cross-site") && !access_is_site(""));
}

static void secrets_differ_and_only_the_same_text_is_equal(void)
{
	struct ui_access a = { 0 }, b = { 0 };
	char other[ACCESS_SECRET_BYTES + 1];

	is(access_open(&a, 80, NULL), 0);
	is(access_open(&b, 81, NULL), 0);
	is(strlen(a.token), 32);
	ok(strcmp(a.token, b.token) && strcmp(a.token, a.cookie));
	ok(strcmp(a.cookie_name, b.cookie_name));
	ok(access_is_equal(a.token, a.token));
	ok(!access_is_equal(a.token, NULL) && !access_is_equal(a.token, ""));
	for (int i = 0; i < 32; i++) {
		snprintf(other, sizeof other, "%s", a.token);
		other[i] ^= 1;
		ok(!access_is_equal(a.token, other));
		other[i] = 0;
		ok(!access_is_equal(a.token, other));
	}
	snprintf(other, sizeof other, "%s0", a.token);
	ok(!access_is_equal(a.token, other));
}

/* ---------------------------------------------------------------- a password */

static int read_password(struct login *l, const char *text, mode_t mode)
{
	char path[] = "/tmp/duet-password-XXXXXX";
	int fd = mkstemp(path), err;

	is(write(fd, text, strlen(text)), (long long)strlen(text));
	fchmod(fd, mode);
	close(fd);
	err = login_read(l, path, NULL);
	unlink(path);
	return err;
}

static enum login_result try(struct login *l, const char *body, uint64_t now_ns)
{
	return login_try(l, body, strlen(body), now_ns);
}

static void guesses_are_limited_and_come_back_with_time(void)
{
	struct login l;
	uint64_t now = 1000;

	is(read_password(&l, "open sesame %\nmore\n", 0600), 0);
	is(try(&l, "password=open+sesame+%25", now), LOGIN_RIGHT);
	is(try(&l, "password=open%20sesame%20%25&x=y", now), LOGIN_RIGHT);
	for (int i = 0; i < LOGIN_GUESSES; i++)
		is(try(&l, i % 2 ? "password=open" : "", now), LOGIN_WRONG);
	is(try(&l, "password=open+sesame+%25", now), LOGIN_LATER);
	is(try(&l, "password=open+sesame+%25", now + LOGIN_GUESS_NS - 1), LOGIN_LATER);
	now += LOGIN_GUESS_NS;
	is(try(&l, "password=x", now), LOGIN_WRONG);
	is(try(&l, "password=x", now), LOGIN_LATER);
	now += 100 * LOGIN_GUESS_NS;
	for (int i = 0; i < LOGIN_GUESSES; i++)
		is(try(&l, "password=open+sesame+%25%00", now), LOGIN_WRONG);
	is(try(&l, "password=x", now), LOGIN_LATER);
}

static void a_password_file_is_its_owners_and_not_short(void)
{
	struct login l;
	char text[400];

	ok(read_password(&l, "open sesame", 0640) < 0);
	ok(read_password(&l, "open sesame", 0604) < 0);
	ok(read_password(&l, "short12\nlonger", 0600) < 0);
	ok(read_password(&l, "", 0600) < 0);
	memset(text, 'x', sizeof text);
	text[LOGIN_MOST + 1] = 0;
	ok(read_password(&l, text, 0600) < 0);
	text[LOGIN_MOST] = 0;
	is(read_password(&l, text, 0400), 0);
	ok(login_read(&l, "/no/such/file", NULL) < 0);
}

/* ---------------------------------------------------------------- bodies */

static int parse(struct body *b, const char *text)
{
	return body_parse(b, text, strlen(text), NULL);
}

static void an_object_is_pairs(void)
{
	struct body b;

	is(parse(&b, " { \"a\" : \"b\\u00e4\\n\\ud83d\\ude00\" , \"c\":[\"d\",\"e\"],\"f\":true, "
		     "\"g\":null,\"h\":[ ],\"i\":false}\n"),
	   0);
	is(b.n, 5);
	is_text(body_value(&b, "a"), "b\xc3\xa4\n\xf0\x9f\x98\x80");
	is_text(body_value(&b, "c"), "d");
	is_text(b.pairs[2].value, "e");
	is_text(body_value(&b, "f"), "true");
	is_text(body_value(&b, "i"), "false");
	ok(!body_value(&b, "g") && !body_value(&b, "h"));
	body_fini(&b);
	is(parse(&b, "{}"), 0);
	is(b.n, 0);
	body_fini(&b);
}

static void what_is_no_object_of_texts_is_refused(void)
{
	static const char *const wrong[] = {
		"",
		"{",
		"}",
		"[]",
		"\"a\"",
		"null",
		"{}x",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1}",
		"{\"a\":{}}",
		"{\"a\":[[\"b\"]]}",
		"{\"a\":[\"b\"}",
		"{\"a\":\"b\",}",
		"{,}",
		"{\"a\":\"b\" \"c\":\"d\"}",
		"{\"a\":\"b}",
		"{\"a\":\"\\",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\\udc00\"}",
		"{\"a\":\"\\ud800\\u0041\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\n\"}",
		"{a:\"b\"}",
		"{\"a\":truex}",
		"{\"a\":[true]}",
		"{\"a\":\"\\ud800\\",
	};
	struct body b;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		if (!ok(parse(&b, wrong[i]) < 0))
			printf("# %s\n", wrong[i]);
		body_fini(&b);
	}
}

static void pairs_are_bounded(void)
{
	static char text[20 * BODY_PAIRS_MAX] = "{\"a\":[\"0\"";
	struct body b;

	for (int i = 1; i < BODY_PAIRS_MAX; i++)
		strcat(text, ",\"x\"");
	strcat(text, "]}");
	is(parse(&b, text), 0);
	is(b.n, BODY_PAIRS_MAX);
	body_fini(&b);
	strcpy(text + strlen(text) - 2, ",\"x\"]}");
	ok(parse(&b, text) < 0);
	body_fini(&b);
}

int main(void)
{
	run(a_head_is_whole_at_its_empty_line_and_not_before);
	run(what_is_no_head_is_refused);
	run(a_head_is_bounded);
	run(names_are_those_of_loopback);
	run(beyond_loopback_there_are_more_names);
	run(an_origin_is_the_host_itself);
	run(secrets_differ_and_only_the_same_text_is_equal);
	run(guesses_are_limited_and_come_back_with_time);
	run(a_password_file_is_its_owners_and_not_short);
	run(an_object_is_pairs);
	run(what_is_no_object_of_texts_is_refused);
	run(pairs_are_bounded);
	return test_status();
}
