/* SPDX-License-Identifier: MIT */
/*
 * inproc/mark.c - parse the printf format of a mark, once, when its site registers.
 *
 * Each conversion becomes a schema word named by the identifier before it ("arg %d other %s": arg,
 * other), and a code that states how to fetch and store the argument:
 *
 *   i int   h short   b char   l 64 bits   d double   D long double   p pointer   s string
 *   .N   the string that follows has at most N bytes, and need not end with a NUL
 *   w    an int that is this limit ("%.*s"); below 0: there is none
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "inproc/process.h"

struct fields {
	char *schema, *codes;
	size_t schema_left, codes_left;
	int n;
	char names[127][32];
};

/* The identifier that ends before @end, or argN; made unique. */
static void name_field(struct fields *f, const char *begin, const char *end, char *name)
{
	const char *b;

	while (end > begin && !isalnum((unsigned char)end[-1]) && end[-1] != '_')
		end--;
	for (b = end; b > begin && (isalnum((unsigned char)b[-1]) || b[-1] == '_'); b--)
		;
	while (b < end && isdigit((unsigned char)*b))
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

/* Length modifiers as one of: 'b' (hh), 'h', 'i' (none), 'l' (64 bits), 'L' (long double). */
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
	case 't':
		(*p)++;
		return sizeof(size_t) == 8 ? 'l' : 'i';
	case 'L':
	case 'q':
		(*p)++;
		return 'L';
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

static bool add_string(struct fields *f, int precision, const char *name)
{
	char limit[16];

	snprintf(limit, sizeof limit, ".%d", precision);
	if (precision >= 0 && !add_codes(f, limit))
		return false;
	return add_field(f, "str", 's', name);
}

static bool add_conversion(struct fields *f, char conversion, char length, int precision,
			   const char *name)
{
	switch (conversion) {
	case 'd':
	case 'i':
		return add_integer(f, 'i', length, name);
	case 'u':
	case 'o':
		return add_integer(f, 'u', length, name);
	case 'x':
	case 'X':
		return add_integer(f, 'x', length, name);
	case 'c':
		return length != 'l' && add_field(f, "chr[1]", 'b', name);
	case 's':
		return length != 'l' && add_string(f, precision, name);
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
	for (; **p && strchr("-+ #0123456789'*", **p); (*p)++)
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
	for (; isdigit((unsigned char)**p); (*p)++)
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
		if (!*p || !add_conversion(&f, *p, length, precision, name))
			return false;
		text = p + 1;
	}
	return true;
}
