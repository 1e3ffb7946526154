/* SPDX-License-Identifier: MIT */
/*
 * syntax/condition.c - the preprocessor's conditions: %( CONDITION %? TOKENS %: TOKENS %).
 *
 * A part that decides nothing, as the right side of a false &&, may be wrong.
 */
#include "script/syntax/preprocess.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

/* The release of SystemTap whose language this is, for scripts that ask. */
#define LANGUAGE_VERSION "5.2"

struct chooser {
	struct script_arena *arena;
	const struct script_parse_options *o;
	const struct token *at; /* the last one is TOKEN_END */
	struct token_list *out;
	struct utsname uname;
	char kernel_base[sizeof(((struct utsname *)0)->release)];
	uint32_t depth;
	int err; /* no memory, or too much */
};

enum value_kind { VALUE_NUMBER, VALUE_TEXT, VALUE_VERSION };

struct value {
	enum value_kind kind;
	bool is_name;	/* asked by a name, not a literal */
	bool is_option; /* CONFIG_x */
	int64_t number;
	const char *text;
};

/* Whether a condition holds; NO_CONDITION: a mistake was reported. */
enum truth { NO_CONDITION = -1, FALSE, TRUE };

static enum truth read_or(struct chooser *c, bool decides);

/* A part that does not decide may be wrong. */
static enum truth fail(struct chooser *c, const struct token *at, bool decides, const char *what)
{
	if (decides && !c->err)
		c->err = preprocess_bad(c->out, c->arena, at, "%s", what);
	return NO_CONDITION;
}

static const char *machine(const struct chooser *c)
{
	static const char *const names[][2] = { { "aarch64", "arm64" },
						{ "i686", "i386" },
						{ "ppc64le", "powerpc" },
						{ "ppc64", "powerpc" },
						{ "s390x", "s390" } };
	const char *name = c->o && c->o->arch ? c->o->arch : c->uname.machine;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

/* The value of a name of the preprocessor; returns false if there is none. */
static bool name_value(const struct chooser *c, const char *name, struct value *v)
{
	*v = (struct value){ .kind = VALUE_TEXT, .is_name = true };
	if (!strncmp(name, "CONFIG_", 7)) {
		v->is_option = true;
		v->text = c->o && c->o->config ? c->o->config(c->o->context, name) : NULL;
		return true;
	}
	if (!strcmp(name, "guru_mode")) {
		v->kind = VALUE_NUMBER;
		return true;
	}
	if (!strcmp(name, "kernel_v") || !strcmp(name, "kernel_vr") ||
	    !strcmp(name, "systemtap_v")) {
		v->kind = VALUE_VERSION;
		v->text = name[0] == 's' ? LANGUAGE_VERSION
			  : name[8]	 ? c->uname.release
					 : c->kernel_base;
		return true;
	}
	v->text = !strcmp(name, "arch")			 ? machine(c)
		  : !strcmp(name, "runtime")		 ? "duet"
		  : !strcmp(name, "systemtap_privilege") ? "stapdev"
							 : NULL;
	return v->text;
}

static enum truth fail_name(struct chooser *c, const struct token *t, bool decides)
{
	char what[256];

	snprintf(what, sizeof what,
		 "`%.80s` is no name of the preprocessor: there are kernel_v, kernel_vr, arch, "
		 "CONFIG_..., systemtap_v, runtime and guru_mode",
		 t->text);
	return fail(c, t, decides, what);
}

static enum truth read_value(struct chooser *c, bool decides, struct value *v)
{
	const struct token *t = c->at;

	*v = (struct value){ .kind = VALUE_TEXT, .text = t->text };
	switch (t->kind) {
	case TOKEN_MARK:
		if (!token_is(t, "-") || t[1].kind != TOKEN_NUMBER)
			break;
		c->at += 2;
		*v = (struct value){ .number = (int64_t)(0 - (uint64_t)t[1].number) };
		return TRUE;
	case TOKEN_NUMBER:
		*v = (struct value){ .number = t->number };
		c->at++;
		return TRUE;
	case TOKEN_TEXT:
		c->at++;
		return TRUE;
	case TOKEN_NAME:
		c->at++;
		if (name_value(c, t->text, v))
			return TRUE;
		return fail_name(c, t, decides);
	case TOKEN_BAD:
		c->at++;
		if (decides && !c->err)
			c->err = token_list_add(c->out, t);
		return NO_CONDITION;
	default:
		break;
	}
	return fail(c, t, true, "expected a name, a number or a text in the condition");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parts of digits compare as numbers, others as text: 6.10 is above 6.9. */
static int compare_versions(const char *a, const char *b)
{
	while (*a || *b) {
		if (is_digit(*a) && is_digit(*b)) {
			char *end_a, *end_b;
			unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a = end_a;
			b = end_b;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return 0;
}

static int order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static bool holds(const struct token *op, int sign)
{
	return token_is(op, "==")   ? sign == 0
	       : token_is(op, "!=") ? sign != 0
	       : token_is(op, "<")  ? sign < 0
	       : token_is(op, "<=") ? sign <= 0
	       : token_is(op, ">")  ? sign > 0
				    : sign >= 0;
}

static bool is_comparison(const struct token *t)
{
	return token_is(t, "==") || token_is(t, "!=") || token_is(t, "<") || token_is(t, "<=") ||
	       token_is(t, ">") || token_is(t, ">=");
}

/* An option that is not set is "undefined", and also "n". */
static int compare_texts(const struct token *op, const struct value *a, const struct value *b)
{
	bool is_equality = token_is(op, "==") || token_is(op, "!=");

	if (!a->text)
		return is_equality && (!strcmp(b->text, "undefined") || !strcmp(b->text, "n")) ? 0
											       : -1;
	if (is_equality && a->is_name && strpbrk(b->text, "*?["))
		return fnmatch(b->text, a->text, 0) ? 1 : 0;
	return a->kind == VALUE_VERSION ? compare_versions(a->text, b->text)
					: strcmp(a->text, b->text);
}

/* CONFIG_HZ >= 250; an option that is not set is no number. */
static enum truth compare_option(const struct token *op, const struct value *a, int64_t number)
{
	char *end = NULL;
	int64_t value = a->text ? strtoll(a->text, &end, 0) : 0;

	if (!a->text || end == a->text || *end)
		return token_is(op, "!=");
	return holds(op, order(value, number));
}

static enum truth read_test(struct chooser *c, bool decides)
{
	const struct token *begin = c->at, *op;
	struct value a, b;
	enum truth t;

	if (token_is(begin, "(")) {
		if (++c->depth > PREPROCESS_DEPTH_MAX)
			return fail(c, begin, true, "the condition is nested too deep");
		c->at++;
		t = read_or(c, decides);
		c->depth--;
		if (t != NO_CONDITION && !token_is(c->at, ")"))
			return fail(c, c->at, true, "expected `)` in the condition");
		c->at += token_is(c->at, ")");
		return t;
	}
	if (read_value(c, decides, &a) == NO_CONDITION && (decides || c->err))
		return NO_CONDITION;
	op = c->at;
	if (!is_comparison(op))
		return fail(c, op, true,
			    "expected a comparison in the condition, as in kernel_v "
			    ">= \"6.1\"");
	c->at++;
	if (read_value(c, decides, &b) == NO_CONDITION || !decides)
		return decides ? NO_CONDITION : FALSE;
	if (!a.is_name && b.is_name)
		return fail(c, begin, true, "the name stands on the left side of the condition");
	if (b.is_name && !b.text && b.kind != VALUE_NUMBER)
		b.text = "undefined";
	if (a.is_option && b.kind == VALUE_NUMBER)
		return compare_option(op, &a, b.number);
	if ((a.kind == VALUE_NUMBER) != (b.kind == VALUE_NUMBER))
		return fail(c, begin, true, "a number is compared with a text");
	return holds(op, a.kind == VALUE_NUMBER ? order(a.number, b.number)
						: compare_texts(op, &a, &b));
}

static enum truth read_and(struct chooser *c, bool decides)
{
	enum truth t = read_test(c, decides);

	while (t != NO_CONDITION && token_is(c->at, "&&")) {
		enum truth right;

		c->at++;
		right = read_test(c, decides && t == TRUE);
		t = right == NO_CONDITION ? right : t && right;
	}
	return t;
}

static enum truth read_or(struct chooser *c, bool decides)
{
	enum truth t = read_and(c, decides);

	while (t != NO_CONDITION && token_is(c->at, "||")) {
		enum truth right;

		c->at++;
		right = read_and(c, decides && t == FALSE);
		t = right == NO_CONDITION ? right : t || right;
	}
	return t;
}

/* Goes to the end, or to the next %? %: %) of this condition. */
static void skip(struct chooser *c)
{
	for (uint32_t depth = 0; c->at->kind != TOKEN_END; c->at++) {
		if (!depth &&
		    (token_is(c->at, "%:") || token_is(c->at, "%)") || token_is(c->at, "%?")))
			return;
		depth += token_is(c->at, "%(");
		depth -= token_is(c->at, "%)");
	}
}

static void choose(struct chooser *c, bool is_inner);

static void choose_branch(struct chooser *c, bool is_taken)
{
	if (is_taken)
		choose(c, true);
	else
		skip(c);
}

/* At %( . */
static void choose_one(struct chooser *c)
{
	const struct token *open = c->at++;
	enum truth t;

	if (++c->depth > PREPROCESS_DEPTH_MAX) {
		fail(c, open, true, "conditions are nested too deep");
		while (c->at->kind != TOKEN_END)
			c->at++;
		return;
	}
	t = read_or(c, true);
	if (t != NO_CONDITION && !token_is(c->at, "%?"))
		t = fail(c, c->at, true, "expected `%?` behind the condition");
	skip(c);
	if (token_is(c->at, "%?")) {
		c->at++;
		choose_branch(c, t == TRUE);
	}
	if (token_is(c->at, "%:")) {
		c->at++;
		choose_branch(c, t == FALSE);
	}
	if (token_is(c->at, "%)"))
		c->at++;
	else
		fail(c, open, t != NO_CONDITION, "this `%(` has no `%)`");
	c->depth--;
}

/* Copies tokens up to the end, or of the branch if @is_inner. */
static void choose(struct chooser *c, bool is_inner)
{
	while (c->at->kind != TOKEN_END && !c->err) {
		if (is_inner && (token_is(c->at, "%:") || token_is(c->at, "%)")))
			return;
		if (token_is(c->at, "%("))
			choose_one(c);
		else
			c->err = token_list_add(c->out, c->at++);
	}
}

int preprocess_choose(struct token_list *out, const struct token_list *in,
		      struct script_arena *arena, const struct script_parse_options *o)
{
	struct chooser c = { .arena = arena, .o = o, .at = in->at, .out = out };

	if (uname(&c.uname))
		c.uname = (struct utsname){ .release = "0" };
	if (o && o->kernel_version)
		snprintf(c.uname.release, sizeof c.uname.release, "%s", o->kernel_version);
	snprintf(c.kernel_base, sizeof c.kernel_base, "%.*s", (int)strcspn(c.uname.release, "-+"),
		 c.uname.release);
	choose(&c, false);
	return c.err ? c.err : token_list_add(out, &in->at[in->n - 1]);
}

int preprocess(struct token_list *out, struct script_sources *sources, uint32_t source,
	       const struct script_parse_options *o, struct script_macros *macros)
{
	struct token_list raw = { 0 }, expanded = { 0 };
	int err = lex(&raw, sources, source, false);

	if (!err)
		err = preprocess_expand(&expanded, &raw, sources, o, macros);
	if (!err)
		err = preprocess_choose(out, &expanded, sources->arena, o);
	token_list_fini(&raw);
	token_list_fini(&expanded);
	return err;
}
