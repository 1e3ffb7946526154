/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/conversions.c - each conversion of printf in a mark, and what snprintf
 * makes of the same arguments, on standard output: "NAME<tab>TEXT".  A bar stands between conversions.
 *
 * C99 and C++11; built in every way that the test knows.  A typed event is beside the marks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "duet/duet.h"

DUET_EVENT(conv, typed, (i32, id), (f64, price), (str, item), (seq(u16), list),
	   (enumeration(u8, A, B = 5), kind));

#define CASE(name, ...)                                                                            \
	do {                                                                                       \
		char as_text[3000];                                                                \
                                                                                                   \
		trace_mark(conv, name, __VA_ARGS__);                                               \
		snprintf(as_text, sizeof as_text, __VA_ARGS__);                                    \
		printf("%s\t%s\n", #name, as_text);                                                \
	} while (0)

struct bits {
	unsigned three : 3;
	signed five : 5;
};
enum colour { RED, GREEN = 7 };

static void integers(void)
{
	struct bits bits = { 5, -3 };
	bool yes = true;

	CASE(hh, "%hhd|%hhu|%hhx", (signed char)-7, (unsigned char)250, (unsigned char)0xab);
	CASE(h, "%hd|%hu|%ho", (short)-300, (unsigned short)65000, (unsigned short)8);
	CASE(plain, "%d|%i|%u|%o|%x|%X", -5, 6, 4000000000u, 64u, 0xbeefu, 0xCAFEu);
	CASE(l, "%ld|%lu|%lx", -5000000000l, 5000000000ul, 0x123456789abul);
	CASE(ll, "%lld|%llu|%llx", -5000000001ll, 18446744073709551615ull, 0xfedcba9876543210ull);
	CASE(jzt, "%jd|%ju|%zd|%zu|%td", (intmax_t)-1, (uintmax_t)2, (ssize_t)-3, (size_t)4,
	     (ptrdiff_t)-5);
	CASE(macros, "%" PRId64 "|%" PRIx32 "|%" PRIu8, (int64_t)-9, (uint32_t)0xff, (uint8_t)200);
	CASE(flags, "%5d|%-5d|%+d|%#x|%05d|% d|%'d", 1, 2, 3, 0x4u, 5, 6, 7);
	CASE(promoted, "%d|%d|%u|%d", yes, (int)GREEN, bits.three + 0u, bits.five);
	CASE(character, "%c|%c", 'x', '~');
	CASE(pointer, "%p", (void *)&duet_i_zero);
}

static void reals(void)
{
	CASE(real, "%f|%e|%g|%a|%F|%E|%G|%A", 1.5, -2.25e10, 3.125, 0.5, 6.0, 7e-3, 8.0, 9.0);
	CASE(longer, "%Lf|%Lg|%lf", 1.25L, -2.5L, 3.75);
	CASE(rounded, "%10.3f|%-8.2e|%+.0f", 1.125, 16.0, 3.0);
}

static void strings(void)
{
	static const char text[] = "abcd";
	static const wchar_t wide[] = L"h\u00e9 \u20ac \U0001f600", three[] = L"\u20acxyz";
	static wchar_t large[900];

	CASE(string, "%s|%20s|%-5s|%s", "tea", "", "x y", "\xc3\xa9");
	CASE(cut, "%.3s|%.*s|%.0s|%.s", text, 2, text, text, text);
	CASE(wide, "%ls|%lc|%.4ls|%.*ls|%.2ls", wide, (wint_t)L'\u20ac', three, 3, three, three);
	CASE(wide_plain, "%S|%C|%-9ls", L"abc", (wint_t)L'z', L"def");
	wmemset(large, L'\u20ac', 899);
	CASE(wide_large, "%ls", large);
	CASE(star, "%*d|%-*d|%.*f", 6, 42, 7, 43, 1, 2.5);
	CASE(percent, "%d|%%|%5%|%d", 5, 6);
	trace_mark(conv, nothing, "no %% at all");
	errno = ENOENT;
	trace_mark(conv, error, "error %m after %d", 3);
}

int main(void)
{
	static const uint16_t list[] = { 1, 2, 65535 };

	setlocale(LC_ALL, "C.UTF-8");
	printf("pid\t%d\n", (int)getpid());
	integers();
	reals();
	strings();
	trace_conv_typed(-1, 2.5, "tea", list, 3, 5);
	return 0;
}
