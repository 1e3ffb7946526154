/* SPDX-License-Identifier: MIT */
/*
 * inproc/mark.c - parse the printf format of a mark, once, when its site registers.
 *
 * Each conversion becomes a schema word named by the identifier before it ("arg %d other %s": arg,
 * other), and a code that states how to fetch and store the argument:
 *
 *   i int   h short   b char   l 64 bits   d double   D long double   p pointer   s string
 *   S    a string of wchar_t ("%ls"), and W one wint_t ("%lc"): recorded in UTF-8
 *   m    no argument: errno ("%m")
 *   .N   the string that follows has at most N bytes, and need not end with a NUL
 *   w    an int that is this limit ("%.*s"); below 0: there is none
 *
 * Whatever include/duet/check.h accepts is read here.  What no compiler has checked, because it lies
 * too far behind, is refused here too.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "inproc/mark.h"

struct fields {
	char *schema, *codes;
	size_t schema_left, codes_left;
	int n;
	char names[127][32];
};

/* Not those of <ctype.h>, which ask the program's locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* The identifier that ends before @end, or argN; made unique. */
static void name_field(struct fields *f, const char *begin, const char *end, char *name)
{
	const char *b;

	while (end > begin && !is_of_name(end[-1]))
		end--;
	for (b = end; b > begin && is_of_name(b[-1]); b--)
		;
	while (b < end && is_digit(*b))
		b++;
	if (b == end)
		snprintf(name, 32, "arg%d", f->n);
	else
		snprintf(name, 32, "%.*s", (int)(end - b < 27 ? end - b : 27), b);
	for (int i = 0; i < f->n; i++)
		if (!strcmp(f->names[i], name)) {
			snprintf(name + strlen(name), 32 - strlen(name), "_%d", f->n);
			break;
		}
}

static bool add_codes(struct fields *f, const char *codes)
{
	size_t n = strlen(codes);

	if (n >= f->codes_left)
		return false;
	memcpy(f->codes, codes, n + 1);
	f->codes += n;
	f->codes_left -= n;
	return true;
}

static bool add_field(struct fields *f, const char *type, char code, const char *name)
{
	int n = snprintf(f->schema, f->schema_left, " %s %s", type, name);

	if (n < 0 || (size_t)n >= f->schema_left || f->n >= 127 ||
	    !add_codes(f, (char[]){ code, 0 }))
		return false;
	f->schema += n;
	f->schema_left -= (size_t)n;
	memcpy(f->names[f->n++], name, strlen(name) + 1);
	return true;
}

/* A number of bits as the length of an int that is passed by value; 0: there is none. */
static char length_of_bits(unsigned long bits)
{
	return bits == 8 ? 'b' : bits == 16 ? 'h' : bits == 32 ? 'i' : bits == 64 ? 'l' : 0;
}

/* "w8" ... "w64", "wf8" ... "wf64" of C23; glibc's int_fast16_t and int_fast32_t are longs. */
static char read_width_length(const char **p)
{
	bool is_fast = **p == 'f';
	unsigned long bits = 0;

	*p += is_fast;
	for (; is_digit(**p) && bits < 100; (*p)++)
		bits = 10 * bits + (unsigned long)(**p - '0');
	if (is_fast && (bits == 16 || bits == 32))
		bits = 8 * sizeof(int_fast16_t);
	return length_of_bits(bits);
}

/* Length modifiers as one of: 'b' (hh), 'h', 'i' (none), 'l' (64 bits), 'L' (long double).  0: there
 * is no such length. */
static char read_length(const char **p)
{
	char c = **p;

	switch (c) {
	case 'h':
		(*p)++;
		if (**p != 'h')
			return 'h';
		(*p)++;
		return 'b';
	case 'l':
		(*p)++;
		if (**p == 'l')
			(*p)++;
		else if (sizeof(long) == 4)
			return 'i';
		return 'l';
	case 'j':
		(*p)++;
		return 'l';
	case 'z':
	case 'Z':
	case 't':
		(*p)++;
		return sizeof(size_t) == 8 ? 'l' : 'i';
	case 'L':
	case 'q':
		(*p)++;
		return 'L';
	case 'w':
		(*p)++;
		return read_width_length(p);
	}
	return 'i';
}

static bool add_integer(struct fields *f, char sign, char length, const char *name)
{
	char type[8];
	int bits = length == 'b' ? 8 : length == 'h' ? 16 : length == 'i' ? 32 : 64;

	snprintf(type, sizeof type, "%c%d", sign, bits);
	return add_field(f, type, length == 'L' ? 'l' : length, name);
}

/* The limit of a string: printf reads no byte behind it, so neither does the mark. */
enum { NO_PRECISION = -1, PRECISION_IN_ARGUMENT = -2 };

static bool add_string(struct fields *f, char code, int precision, const char *name)
{
	char limit[16];

	snprintf(limit, sizeof limit, ".%d", precision);
	if (precision >= 0 && !add_codes(f, limit))
		return false;
	return add_field(f, "str", code, name);
}

static bool add_conversion(struct fields *f, char conversion, char length, int precision,
			   const char *name)
{
	switch (conversion) {
	case '%':
		return true;
	case 'd':
	case 'i':
		return add_integer(f, 'i', length, name);
	case 'u':
	case 'o':
		return add_integer(f, 'u', length, name);
	case 'x':
	case 'X':
	case 'b':
	case 'B':
		return add_integer(f, 'x', length, name);
	case 'c':
		return length == 'l' ? add_field(f, "str", 'W', name)
				     : add_field(f, "chr[1]", 'b', name);
	case 'C':
		return add_field(f, "str", 'W', name);
	case 's':
		return add_string(f, length == 'l' ? 'S' : 's', precision, name);
	case 'S':
		return add_string(f, 'S', precision, name);
	case 'm':
		return add_field(f, "i32", 'm', name);
	case 'p':
		return add_field(f, sizeof(void *) == 8 ? "p64" : "p32", 'p', name);
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		return add_field(f, "f64", length == 'L' ? 'D' : 'd', name);
	}
	return false;
}

/* A `*` takes an int of its own. */
static bool add_star(struct fields *f, char code)
{
	char name[40];

	snprintf(name, sizeof name, "width%d", f->n);
	return add_field(f, "i32", code, name);
}

static bool skip_width(struct fields *f, const char **p)
{
	for (; **p && strchr("-+ #0123456789'I*", **p); (*p)++)
		if (**p == '*' && !add_star(f, 'i'))
			return false;
	return true;
}

/* ".N", ".", ".*" or nothing.  A number that is no int limits nothing that exists. */
static bool read_precision(struct fields *f, const char **p, int *precision)
{
	*precision = NO_PRECISION;
	if (**p != '.')
		return true;
	(*p)++;
	if (**p == '*') {
		(*p)++;
		*precision = PRECISION_IN_ARGUMENT;
		return add_star(f, 'w');
	}
	*precision = 0;
	for (; is_digit(**p); (*p)++)
		if (__builtin_mul_overflow(*precision, 10, precision) ||
		    __builtin_add_overflow(*precision, **p - '0', precision))
			*precision = INT_MAX / 10;
	return true;
}

bool mark_schema(const char *format, char *schema, size_t schema_size, char *codes,
		 size_t codes_size)
{
	struct fields f = { schema, codes, schema_size, codes_size, 0, { { 0 } } };
	const char *text = format;
	char name[40], length;
	int precision;

	*schema = *codes = 0;
	for (const char *p = format; *p; p++) {
		const char *percent = p;

		if (*p != '%')
			continue;
		p++;
		if (*p == '%')
			continue;
		name_field(&f, text, percent, name);
		if (!skip_width(&f, &p) || !read_precision(&f, &p, &precision))
			return false;
		length = read_length(&p);
		if (!length || !*p || !add_conversion(&f, *p, length, precision, name))
			return false;
		text = p + 1;
	}
	return true;
}

/* ---------------------------------------------------------------- the plan */

#if defined __x86_64__ /* integers of a call with `...` lie in the same registers as without */
static uint32_t bytes_of(char code)
{
	return code == 'i' ? 4 : code == 'h' ? 2 : code == 'b' ? 1 : 8;
}

static char plan_of_integers(const char *codes, size_t n, uint32_t *bytes)
{
	*bytes = 0;
	if (n > 4 || strspn(codes, "ilphb") < n)
		return MARK_BY_CODES;
	for (size_t i = 0; i < n; i++)
		*bytes += bytes_of(codes[i]);
	if (strspn(codes, "i") >= n)
		return MARK_WORDS_32;
	return strspn(codes, "lp") >= n ? MARK_WORDS_64 : MARK_WORDS_MIXED;
}

static char plan_of_text(const char *codes, size_t n, uint32_t *bytes)
{
	char plan = n <= 3 ? plan_of_integers(codes, n, bytes) : MARK_BY_CODES;

	if (plan == MARK_WORDS_32)
		return MARK_TEXT_32;
	return plan == MARK_WORDS_64 && n <= 2 ? MARK_TEXT_64 : MARK_BY_CODES;
}

char mark_plan(const char *codes, uint32_t *fixed_size)
{
	size_t n = strlen(codes);

	if (n && codes[n - 1] == 's')
		return plan_of_text(codes, n - 1, fixed_size);
	return plan_of_integers(codes, n, fixed_size);
}
#else
char mark_plan(const char *codes, uint32_t *fixed_size)
{
	(void)codes;
	*fixed_size = 0;
	return MARK_BY_CODES;
}
#endif
