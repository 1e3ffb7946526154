/* SPDX-License-Identifier: MIT */
/* tests/unit/cmd/output_test.c - numbers and quoted text as `duet view` writes them, against printf. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text/public.h"
#include "test.h"

static struct out o;

/* The text written since the last call. */
static const char *written(void)
{
	*o.at = 0;
	o.at = o.bytes;
	return o.bytes;
}

static bool is_written_as_printf_does(uint64_t v)
{
	char want[64];

	snprintf(want, sizeof want, "%" PRIu64 " %" PRId64 " %09" PRIu64, v, (int64_t)v,
		 v % 1000000000);
	out_u64(&o, v);
	out_byte(&o, ' ');
	out_i64(&o, (int64_t)v);
	out_byte(&o, ' ');
	out_digits9(&o, (uint32_t)(v % 1000000000));
	return !strcmp(written(), want);
}

static void numbers_around_every_power_of_ten_and_two(void)
{
	bool all = true;

	for (uint64_t p = 1; p <= UINT64_MAX / 10; p *= 10)
		for (uint64_t d = 0; d < 3; d++)
			all = all && is_written_as_printf_does(p - 1 + d) &&
			      is_written_as_printf_does(p * 9 + d);
	for (int i = 0; i < 64; i++)
		for (uint64_t d = 0; d < 3; d++)
			all = all && is_written_as_printf_does((1ull << i) - 1 + d);
	ok(all);
	ok(is_written_as_printf_does(UINT64_MAX));
}

static void every_number_of_eight_digits_that_a_stride_meets(void)
{
	bool all = true;

	for (uint64_t v = 0; v < 200000000 && all; v += 997)
		all = is_written_as_printf_does(v);
	ok(all);
}

/* The slow reference: byte by byte. */
static void every_byte_at_every_place_of_a_word(void)
{
	static const char special[] = "\"\\\n\t\r\b\f", letters[] = "\"\\ntrbf";
	bool all = true;

	for (int byte = 1; byte < 0x80; byte++) {
		for (int at = 0; at < 20; at++) {
			char text[24] = "abcdefghijklmnopqrst", want[64], trace_chunk[8];

			text[at] = (char)byte;
			if (strchr(special, byte))
				snprintf(trace_chunk, sizeof trace_chunk, "\\%c",
					 letters[strchr(special, byte) - special]);
			else
				snprintf(trace_chunk, sizeof trace_chunk,
					 byte >= 0x20 && byte != 0x7f ? "%c" : "\\x%02x", byte);
			snprintf(want, sizeof want, "\"%.*s%s%s\"", at, text, trace_chunk,
				 text + at + 1);
			out_quoted(&o, text, 20);
			if (strcmp(written(), want))
				printf("# byte %d at %d: %s is not %s\n", byte, at, o.bytes, want),
					all = false;
		}
	}
	ok(all);
}

static void text_that_is_no_utf_8_is_escaped(void)
{
	out_quoted(&o,
		   "0123456\xff"
		   "89\xc3\xa9\xc2\x85z",
		   15);
	ok(!strcmp(written(), "\"0123456\\xff89\xc3\xa9\\xc2\\x85z\""));
}

int main(void)
{
	if (out_init(&o, -1))
		return 1;
	run(numbers_around_every_power_of_ten_and_two);
	run(every_number_of_eight_digits_that_a_stride_meets);
	run(every_byte_at_every_place_of_a_word);
	run(text_that_is_no_utf_8_is_escaped);
	o.at = o.bytes; /* nothing is left to write */
	out_fini(&o);
	return test_status();
}
