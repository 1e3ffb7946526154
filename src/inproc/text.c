/* SPDX-License-Identifier: MIT */
/* inproc/text.c - copy an event's string, bounded and in one pass. */
#include <string.h>
#include <wchar.h>

#include "inproc/emit.h"

/* The lowest-addressed byte that zero_bytes() marks. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_BYTE(zeros) (__builtin_ctzll(zeros) / 8)
#else
#error "duet: big-endian programs are not known yet"
#endif

/* Whether one of the 8 bytes is 0: Mycroft's test (1987). */
static inline uint64_t zero_bytes(uint64_t v)
{
	return (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
}

/*
 * text_copy - copy @s and its NUL to @p in one pass.
 *
 * A string that changes meanwhile still ends where the event states.  See site.h for @end and @cut.
 * Words are read from aligned addresses only: such a read never leaves the page of its first byte.
 */
__attribute__((no_sanitize("address"))) char *text_copy(char *p, char *end, const char *s, int *cut)
{
	typedef uint64_t __attribute__((may_alias)) word;
	char *begin = p;

	if (!s)
		s = "(null)";
	if ((uintptr_t)s % 8 && end - p >= 8) {
		unsigned before = (uintptr_t)s % 8;
		uint64_t v = *(const volatile word *)(s - before) >> 8 * before;
		uint64_t zeros = zero_bytes(v | ~0ull << 8 * (8 - before));

		memcpy(p, &v, 8); /* the last `before` bytes are written again */
		if (zeros)
			return p + FIRST_BYTE(zeros) + 1;
		s += 8 - before;
		p += 8 - before;
	}
	for (; end - p >= 8 && (uintptr_t)s % 8 == 0; s += 8, p += 8) {
		uint64_t v = *(const volatile word *)s, zeros = zero_bytes(v);

		memcpy(p, &v, 8);
		if (zeros)
			return p + FIRST_BYTE(zeros) + 1;
	}
	while (p < end)
		if (!(*p++ = *s++))
			return p;
	if (!*cut) {
		*cut = 1;
		return begin;
	}
	if (p > begin)
		p[-1] = 0;
	else
		*p++ = 0;
	return p;
}

/* Byte by byte: @s may end, without a NUL, at the end of a page. */
char *text_copy_limited(char *p, char *end, const char *s, size_t limit, int *cut)
{
	char *begin = p;

	if (!s)
		s = "(null)";
	for (; p < end; limit--)
		if (!limit || !(*p++ = *s++)) {
			if (!limit)
				*p++ = 0;
			return p;
		}
	if (!*cut) {
		*cut = 1;
		return begin;
	}
	if (p > begin)
		p[-1] = 0;
	else
		*p++ = 0;
	return p;
}

/* One character in UTF-8; printf would fail at what is none, here it becomes U+FFFD.  Returns its
 * bytes. */
static unsigned encode(char out[4], uint32_t c)
{
	if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (unsigned i = n; --i; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(0xf00u >> n | c);
	return n;
}

size_t text_size_wide(const wchar_t *s, size_t limit)
{
	char c[4];
	size_t n = 0;

	for (unsigned bytes; n < limit && *s; n += bytes, s++) {
		bytes = encode(c, (uint32_t)*s);
		if (bytes > limit - n)
			break;
	}
	return n;
}

char *text_copy_wide(char *p, char *end, const wchar_t *s, size_t limit, int *cut)
{
	char *begin = p, c[4];

	/* As printf, nothing behind the limit is read. */
	while (limit && *s) {
		unsigned n = encode(c, (uint32_t)*s++);

		if (n > limit)
			break;
		if (end - p <= (ptrdiff_t)n) { /* the NUL needs a byte too */
			if (!*cut) {
				*cut = 1;
				return begin;
			}
			break;
		}
		memcpy(p, c, n);
		p += n;
		limit -= n;
	}
	if (p >= end && !*cut) {
		*cut = 1;
		return begin;
	}
	*p++ = 0;
	return p;
}
