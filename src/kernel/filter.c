/* SPDX-License-Identifier: MIT */
/*
 * kernel/filter.c - translates duet's filter language into the kernel's, word by word.
 *
 * Both languages have the same grammar, so no tree is built; the kernel itself reports wrong
 * syntax.
 */
#include "kernel/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "filter/compile_lex.h"
#include "kernel/convert/layout.h"

struct translation {
	struct lexer l;
	const char *system;
	const struct kernel_format *format;
	struct text *out;
	size_t field_at;  /* in `out`, the start of the last field */
	int64_t shift;	  /* the kernel's value minus the recorded one */
	bool closes;	  /* a closing parenthesis must follow the next text */
	bool is_negative; /* the next number */
};

static bool has_field(const struct kernel_format *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, name))
			return true;
	return false;
}

static int field(struct translation *t)
{
	char shown[ABI_FILTER_NAME_MAX + 1];
	const char *name;

	snprintf(shown, sizeof shown, "%.*s", (int)t->l.size, t->l.bytes);
	name = kernel_layout_kernel_name(t->system, shown);
	if (!has_field(t->format, name))
		return lex_fail(&t->l, t->l.at, "%s:%s has no field `%s'", t->system,
				t->format->name, shown);
	t->field_at = t->out->size;
	t->shift = kernel_layout_shift(name);
	text_addf(t->out, "%s", name);
	return 0;
}

static int constant_text(struct translation *t)
{
	if (memchr(t->l.bytes, '"', t->l.size))
		return lex_fail(&t->l, t->l.at,
				"the kernel's filters cannot compare with a text that has a "
				"quotation mark");
	text_addf(t->out, "\"%.*s\"%s", (int)t->l.size, t->l.bytes, t->closes ? ")" : "");
	t->closes = false;
	return 0;
}

/* f !~ "x" becomes !(f ~ "x"). */
static int does_not_match(struct translation *t)
{
	char name[ABI_FILTER_NAME_MAX + 1];

	snprintf(name, sizeof name, "%s", t->out->bytes ? t->out->bytes + t->field_at : "");
	t->out->size = t->field_at;
	text_addf(t->out, "!(%s~", name);
	t->closes = true;
	return 0;
}

static int operator(struct translation *t)
{
	static const char *const words[ABI_FILTER_OPS] = {
		[ABI_FILTER_EQ] = "==",	  [ABI_FILTER_NE] = "!=", [ABI_FILTER_LT] = "<",
		[ABI_FILTER_LE] = "<=",	  [ABI_FILTER_GT] = ">",  [ABI_FILTER_GE] = ">=",
		[ABI_FILTER_MATCH] = "~", [ABI_FILTER_AND] = "&", [ABI_FILTER_SUB] = "",
	};

	if (t->l.op == ABI_FILTER_NOT_MATCH)
		return does_not_match(t);
	if (!words[t->l.op])
		return lex_fail(&t->l, t->l.at,
				"the kernel's filters do not compute: they compare a field with a "
				"constant");
	t->is_negative = t->l.op == ABI_FILTER_SUB;
	if (!t->is_negative)
		text_addf(t->out, "%s", words[t->l.op]);
	return 0;
}

static int constant(struct translation *t)
{
	if (t->is_negative || t->shift)
		text_addf(t->out, "%" PRId64,
			  (t->is_negative ? -(int64_t)t->l.value : (int64_t)t->l.value) + t->shift);
	else
		text_addf(t->out, "%" PRIu64, t->l.value);
	t->is_negative = false;
	return 0;
}

static int word(struct translation *t)
{
	if (t->is_negative && t->l.token != TOKEN_INT)
		return lex_fail(&t->l, t->l.at, "a number is expected after -");
	switch (t->l.token) {
	case TOKEN_FIELD:
		return field(t);
	case TOKEN_INT:
		return constant(t);
	case TOKEN_TEXT:
		return constant_text(t);
	case TOKEN_OPEN:
	case TOKEN_CLOSE:
		text_addf(t->out, t->l.token == TOKEN_OPEN ? "(" : ")");
		return 0;
	case TOKEN_AND_THEN:
	case TOKEN_OR_ELSE:
		text_addf(t->out, t->l.token == TOKEN_AND_THEN ? "&&" : "||");
		return 0;
	case TOKEN_NOT:
		text_addf(t->out, "!");
		return 0;
	case TOKEN_OPERATOR:
		return operator(t);
	case TOKEN_REAL:
		return lex_fail(&t->l, t->l.at,
				"the kernel's filters cannot compare with fractions");
	case TOKEN_CONTEXT:
		return lex_fail(&t->l, t->l.at,
				"the kernel's filters can only compare fields of the event");
	case TOKEN_END:
		break;
	}
	return 0;
}

int kernel_filter(const char *expression, const char *system, const struct kernel_format *f,
		  struct text *out, struct diag *d)
{
	struct translation t = { .l = { .text = expression, .p = expression, .d = d },
				 .system = system,
				 .format = f,
				 .out = out };
	int err = lex_next(&t.l);

	while (!err && t.l.token != TOKEN_END) {
		err = word(&t);
		if (!err)
			err = lex_next(&t.l);
	}
	if (!err && (!out->size || out->failed))
		err = out->failed ? -ENOMEM : lex_fail(&t.l, expression, "the filter is empty");
	return err;
}
