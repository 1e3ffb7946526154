/* SPDX-License-Identifier: MIT */
/* Every kind of event once, with values that ../sample.py knows.  C99 and C++11. */
#include <dlfcn.h>
#include <duet/context.h>
#include <stdint.h>
#include <string.h>

#include "events.h"

static void numbers(void)
{
	trace_abi_numbers(INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX,
			  UINT32_MAX, UINT64_MAX, 0xab, 0xabcd, 0xabcdef01u, 0xabcdef0123456789u,
			  0.5f, -1e300);
	trace_abi_c_names(-1, -2, -3, -4, 1, 2, 3, 4, -5, -6, -7, 8, 9, 1, 1.5f, 2.5, 'x');
	trace_abi_wide(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40);
}

static void texts_and_arrays(void)
{
	static const int32_t integers[3] = { 1, -2, 3 };
	static const double reals[SAMPLE_ELEMENTS] = { 0.25, -0.5, 4 };
	static const void *const pointers[2] = { (void *)0x10, (void *)0x20 };
	static const uint8_t bytes[3] = { 1, 2, 0xff };
	static const uint16_t some[4] = { 1, 2, 3, 65535 };

	trace_abi_texts("tea", NULL, "four", "early", (void *)0x1234);
	trace_abi_arrays(integers, reals, some, 4, NULL, 0);
	trace_abi_names(5, -1);
	trace_abi_pointers(pointers, 2, pointers, bytes, 3);
	trace_abi_bounds(UINT64_MAX, -128);
	trace_abi_clash(bytes, 3, 4, 5);
	trace_abi_warned("level 4");
}

/* Does not fit on the stack: written straight into the buffer. */
static void large(void)
{
	static char big[3001];

	memset(big, 'b', sizeof big - 1);
	trace_abi_warned(big);
	trace_mark(abi, large_mark, "big %s after %d", big, 7);
}

static void marks(void)
{
	long width = -3;

	trace_mark(abi, empty, "");
	trace_mark(abi, plain, "just words, 100%%");
	trace_mark(abi, mark, "id %d by %s at %p share %5.2f%% hex %#lx c %c", 42, "who",
		   (void *)0x10, 12.5, 255ul, 'q');
	trace_mark(abi, lengths, "hh %hhd h %hd l %ld ll %lld z %zu j %jd w %*d", (signed char)1,
		   (short)2, width, -4ll, (size_t)5, (intmax_t)6, 7, 8);
	trace_mark_level(abi, level, DUET_ERR, "bare %d", 1);
	if (trace_abi_one_enabled())
		trace_abi_one(1);
}

/* Its own sites come and go with it. */
static int plug(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*plugin)(int);
	void *found;

	if (!handle)
		return 1;
	found = dlsym(handle, "plugin");
	if (!found)
		return 1;
	memcpy(&plugin, &found, sizeof plugin);
	plugin(1);
	return dlclose(handle);
}

static void contexts(void)
{
	static const unsigned char id[16] = { 1, 2, 3 };

	duet_context_set(id);
	duet_context_refresh();
	duet_context_clear();
}

int main(int argc, char **argv)
{
	contexts();
	trace_abi_nothing();
	numbers();
	texts_and_arrays();
	large();
	marks();
	in_header(1);
	second();
	archived();
#ifdef SAMPLE_EXTRA
	extra();
#endif
	for (int i = 0; argc > 1 && i < 3; i++)
		if (plug(argv[1]))
			return 1;
	trace_abi_one(99);
	return 0;
}
