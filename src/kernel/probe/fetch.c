/* SPDX-License-Identifier: MIT */
/* kernel/probe/fetch.c - translates arguments of probes into the kernel's fetch expressions.
 *
 * Registers and operands are those of this architecture. An operand that the kernel cannot fetch is
 * left out and counted, because the rest of a marker is still useful. */
#include "kernel/probe/fetch.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 31, OPERANDS_MAX = 12, WORD_BYTES = 256 };

static bool is_name(const char *p, size_t n)
{
	if (!n || n > NAME_MAX_BYTES || isdigit((unsigned char)*p))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && p[i] != '_')
			return false;
	return true;
}

/* ---------------------------------------------------------------- the user's words */

/* The registers of a function's first six integers. */
#if defined(__x86_64__)
static const char *const arguments[] = { "%di", "%si", "%dx", "%cx", "%r8", "%r9" };
#else
static const char *const arguments[] = { "%x0", "%x1", "%x2", "%x3", "%x4", "%x5" };
#endif

/* For its own functions the kernel accepts the number of an argument. */
static const char *const own_arguments[] = { "$arg1", "$arg2", "$arg3", "$arg4", "$arg5", "$arg6" };

static const char *translate(const char *expression, bool in_kernel)
{
	if (!strcmp(expression, "retval"))
		return "$retval";
	if (!strncmp(expression, "arg", 3) && expression[3] >= '1' && expression[3] <= '6' &&
	    !expression[4])
		return in_kernel ? own_arguments[expression[3] - '1']
				 : arguments[expression[3] - '1'];
	return expression;
}

static void add(struct text *t, const char *name, const char *expression, const char *type,
		bool in_kernel)
{
	if (!strcmp(type, "str"))
		text_addf(t, " %s=+0(%s):%sstring", name, expression, in_kernel ? "" : "u");
	else
		text_addf(t, " %s=%s:%s", name, expression, type);
}

int kernel_fetch_argument(const char *word, size_t size, bool in_kernel, struct text *t,
			  struct diag *d)
{
	char w[WORD_BYTES], *expression, *type;

	if (size >= sizeof w)
		return diag_fail(d, -EINVAL, "an argument is longer than %d characters",
				 WORD_BYTES - 1);
	memcpy(w, word, size);
	w[size] = 0;
	if (in_kernel && !strcmp(w, "$arg*")) {
		text_addf(t, " %s", w);
		return 0;
	}
	expression = strchr(w, '=');
	if (!expression || !is_name(w, (size_t)(expression - w)))
		return diag_fail(d, -EINVAL,
				 "%s: NAME=EXPRESSION[:TYPE] expected, such as id=arg1:s32", w);
	*expression++ = 0;
	type = strrchr(expression, ':');
	if (type)
		*type++ = 0;
	for (const char *p = expression; *p; p++)
		if (!isgraph((unsigned char)*p))
			return diag_fail(d, -EINVAL, "%s: this is not an expression for arguments",
					 w);
	if (!*expression || (type && !*type))
		return diag_fail(d, -EINVAL, "%s: an expression, or its type, is missing", w);
	add(t, w, translate(expression, in_kernel), type ? type : "u64", in_kernel);
	return 0;
}

/* ---------------------------------------------------------------- operands of notes */

/* Reads the number at *@p and moves *@p behind it. */
static bool take_number(const char **p, long long *n)
{
	char *end;

	*n = strtoll(*p, &end, 0);
	if (end == *p)
		return false;
	*p = end;
	return true;
}

#if defined(__x86_64__)
/* The kernel's name is "ax" for "eax", "rax" and "al", and "r8" for "r8d". */
static bool take_register(const char *name, size_t size, char to[8])
{
	static const char *const kernel[] = { "ax", "bx", "cx", "dx", "si", "di", "bp", "sp" };
	char *end;
	long n;

	if (size >= 2 && *name == 'r' && isdigit((unsigned char)name[1])) {
		n = strtol(name + 1, &end, 10);
		if (n < 8 || n > 15 ||
		    (end != name + size && (end + 1 != name + size || !strchr("dwb", *end))))
			return false;
		snprintf(to, 8, "r%ld", n);
		return true;
	}
	if (size == 3 && (*name == 'r' || *name == 'e'))
		name++, size--;
	else if (size == 3 && name[2] == 'l')
		size--; /* dil */
	for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
		if ((size == 2 && !memcmp(name, kernel[i], 2)) ||
		    (size == 2 && name[1] == 'l' && i < 4 && *name == *kernel[i])) {
			snprintf(to, 8, "%s", kernel[i]);
			return true;
		}
	return false;
}

/* "%edi", "$5", "-16(%rbp)". The kernel cannot fetch other operands: an index, a symbol. */
static bool take_operand(const char *p, size_t size, char to[64])
{
	const char *end = p + size;
	long long n = 0;
	char reg[8];

	if (*p == '$') {
		p++;
		if (!take_number(&p, &n) || p != end)
			return false;
		snprintf(to, 64, "\\%lld", n);
		return true;
	}
	if (*p == '%' && take_register(p + 1, size - 1, reg)) {
		snprintf(to, 64, "%%%s", reg);
		return true;
	}
	if (*p != '(' && !take_number(&p, &n))
		return false;
	if (end - p < 4 || p[0] != '(' || p[1] != '%' || end[-1] != ')' ||
	    !take_register(p + 2, (size_t)(end - p) - 3, reg))
		return false;
	snprintf(to, 64, "%+lld(%%%s)", n, reg);
	return true;
}
#else
/* "x0", "w1", "sp", "5", "[sp, 12]", "[x1]". */
static bool take_register(const char *name, size_t size, char to[8])
{
	if (size < 2 || size > 3 ||
	    !((*name == 'x' || *name == 'w') ? isdigit((unsigned char)name[1])
					     : !memcmp(name, "sp", 2)))
		return false;
	snprintf(to, 8, "%s%.*s", *name == 's' ? "s" : "x", (int)size - 1, name + 1);
	return true;
}

static bool take_operand(const char *p, size_t size, char to[64])
{
	const char *end = p + size, *comma;
	long long n = 0;
	char reg[8];

	if (*p == '-' || isdigit((unsigned char)*p)) {
		if (!take_number(&p, &n) || p != end)
			return false;
		snprintf(to, 64, "\\%lld", n);
		return true;
	}
	if (*p != '[') {
		if (!take_register(p, size, reg))
			return false;
		snprintf(to, 64, "%%%s", reg);
		return true;
	}
	comma = memchr(p, ',', size);
	if (end[-1] != ']' ||
	    !take_register(p + 1, (size_t)((comma ? comma : end - 1) - p) - 1, reg))
		return false;
	if (comma) {
		comma++;
		if (!take_number(&comma, &n) || comma != end - 1)
			return false;
	}
	snprintf(to, 64, "%+lld(%%%s)", n, reg);
	return true;
}
#endif

/* The size up to a blank that is not within brackets. */
static size_t operand_size(const char *p)
{
	size_t n = 0;

	for (int depth = 0; p[n] && (p[n] != ' ' || depth); n++)
		depth += (p[n] == '[') - (p[n] == ']');
	return n;
}

struct named {
	char name[NAME_MAX_BYTES + 1];
	bool is_text;
};

/* The next word of @names, or "arg<i>". */
static int take_name(const char **names, int i, struct named *n, struct diag *d)
{
	size_t size, name;

	*n = (struct named){ .is_text = false };
	*names += strspn(*names, " ,\t");
	size = strcspn(*names, " ,\t");
	name = size > 4 && !memcmp(*names + size - 4, ":str", 4) ? size - 4 : size;
	if (!size) {
		snprintf(n->name, sizeof n->name, "arg%d", i);
		return 0;
	}
	if (!is_name(*names, name))
		return diag_fail(d, -EINVAL, "%.*s: a name of an argument expected, or NAME:str",
				 (int)size, *names);
	snprintf(n->name, sizeof n->name, "%.*s", (int)name, *names);
	n->is_text = name != size;
	*names += size;
	return 0;
}

/* "-4@%edi" */
static bool add_operand(const char *p, size_t size, const struct named *n, struct text *t)
{
	bool is_signed = *p == '-';
	char expression[64], type[8];
	long long bytes;
	const char *at = p + is_signed;

	if (!take_number(&at, &bytes) || *at != '@' ||
	    (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || at + 1 >= p + size ||
	    !take_operand(at + 1, size - (size_t)(at + 1 - p), expression))
		return false;
	snprintf(type, sizeof type, "%c%lld", is_signed ? 's' : 'u', bytes * 8);
	add(t, n->name, expression, n->is_text ? "str" : type, false);
	return true;
}

int kernel_fetch_operands(const char *operands, const char *names, bool is_one, struct text *t,
			  struct diag *d)
{
	int n_left_out = 0, i = 1;

	for (size_t size; *(operands += strspn(operands, " ")); operands += size, i++) {
		struct named n;
		int err = take_name(&names, i, &n, d);

		if (err)
			return err;
		size = operand_size(operands);
		n_left_out += i > OPERANDS_MAX || !add_operand(operands, size, &n, t);
	}
	if (is_one && *(names += strspn(names, " ,\t")))
		return diag_fail(d, -EINVAL, "%s: the marker has only %d arguments", names, i - 1);
	return n_left_out;
}
