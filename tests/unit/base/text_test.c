/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "base/text.h"
#include "test.h"

static void added_text_is_there_and_terminated(void)
{
	struct text t = { 0 };

	text_add(&t, "abc", 2);
	is_text(t.bytes, "ab");
	text_addf(&t, "-%d-%s", 42, "x");
	is_text(t.bytes, "ab-42-x");
	is(t.size, 7);
	ok(!t.failed);
	text_fini(&t);
}

static void nothing_added_is_an_empty_string(void)
{
	struct text t = { 0 };

	text_addf(&t, "%s", "");
	is_text(t.bytes, "");
	text_fini(&t);
	is(t.size, 0);
	ok(!t.bytes);
}

/* Around every size at which it grows. */
static void a_text_grows_and_loses_nothing(void)
{
	struct text t = { 0 };
	size_t n = 0;

	for (int i = 0; i < 3000; i++) {
		text_addf(&t, "%c", 'a' + i % 26);
		n++;
		if (t.size != n || t.bytes[n] || t.bytes[n - 1] != 'a' + i % 26)
			break;
	}
	is(n, 3000);
	is(t.size, 3000);
	text_fini(&t);
}

static void one_long_addition_fits(void)
{
	struct text t = { 0 };

	text_addf(&t, "%*s", 100000, "x");
	is(t.size, 100000);
	is(t.bytes[99999], 'x');
	text_fini(&t);
}

/* An address space that cannot hold it stands for memory that ran out. */
static void without_memory_a_text_keeps_its_content_and_reports_it(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
	printf("# not under a sanitizer, which ends the program instead\n");
#else
	struct rlimit old, tight;
	struct text t = { 0 };
	char *block = malloc(1 << 20);

	text_add(&t, "kept", 4);
	memset(block, 'x', 1 << 20);
	getrlimit(RLIMIT_AS, &old);
	tight = old;
	tight.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_AS, &tight);
	for (int i = 0; i < 64; i++)
		text_add(&t, block, 1 << 20);
	setrlimit(RLIMIT_AS, &old);
	ok(t.failed);
	ok(t.bytes && !memcmp(t.bytes, "kept", 4));
	is(t.bytes[t.size], 0);
	text_add(&t, "ignored", 7);
	ok(t.failed);
	text_fini(&t);
	ok(!t.failed);
	free(block);
#endif
}

static void a_text_of_fixed_size_fails_when_it_is_full(void)
{
	char bytes[8];
	struct text t = text_fixed(bytes, sizeof bytes);

	text_add(&t, "1234567", 7);
	ok(!t.failed && t.bytes == bytes && !strcmp(bytes, "1234567"));
	text_add(&t, "8", 1);
	ok(t.failed && !strcmp(bytes, "1234567"));
	text_fini(&t);
	t = text_fixed(bytes, sizeof bytes);
	text_addf(&t, "%d", 1234);
	text_addf(&t, "%d", 5678); /* what was there stays */
	ok(t.failed && t.size == 4 && !strcmp(bytes, "1234"));
	text_fini(&t);
}

static void a_printable_text_has_neither_controls_nor_turns(void)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "plain \xc3\xa4\xe2\x82\xac", "plain \xc3\xa4\xe2\x82\xac" },
		{ "\x1b]0;x\x07", "\\x1b]0;x\\x07" },
		{ "a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f" },
		{ "\xc2\x9b", "\\xc2\\x9b" }, /* CSI as one character */
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\xe2\x80\xae|\xe2\x81\xa6|\xd8\x9c",
		  "\\xe2\\x80\\xae|\\xe2\\x81\\xa6|\\xd8\\x9c" },
		{ "\xff\xc3", "\\xff\\xc3" },
		/* separators, no width, tags; a number sign and the selector of an emoji are seen */
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
		{ "\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "\\xe2\\x80\\x8b\\xef\\xbb\\xbf\\xc2\\xad" },
		{ "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },
		{ "\xd8\x80\xe2\x9d\xa4\xef\xb8\x8f", "\xd8\x80\xe2\x9d\xa4\xef\xb8\x8f" },
		{ "", "" },
	};
	char shown[64], small[8];

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(!strcmp(text_printable(shown, sizeof shown, cases[i].from), cases[i].to));
	ok(!strcmp(text_printable(small, sizeof small, "12345\x1b"), "12345"));
}

static void a_text_of_ours_keeps_its_lines(void)
{
	struct text lines = { 0 }, message = { 0 };

	text_add_shown(&lines, "a\tb\nc\x1b\r", 7, TEXT_KEEP_LINES);
	ok(!strcmp(lines.bytes, "a\tb\nc\\x1b\\x0d"));
	text_add_shown(&message, "no\n  do\nfake\t", 13, TEXT_KEEP_INDENTED);
	ok(!strcmp(message.bytes, "no\n  do\\x0afake\\x09"));
	text_fini(&lines);
	text_fini(&message);
}

int main(void)
{
	run(added_text_is_there_and_terminated);
	run(nothing_added_is_an_empty_string);
	run(a_text_grows_and_loses_nothing);
	run(one_long_addition_fits);
	run(without_memory_a_text_keeps_its_content_and_reports_it);
	run(a_text_of_fixed_size_fails_when_it_is_full);
	run(a_printable_text_has_neither_controls_nor_turns);
	run(a_text_of_ours_keeps_its_lines);
	return test_status();
}
