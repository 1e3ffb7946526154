/* SPDX-License-Identifier: MIT */
/*
 * syntax/macro.c - @define, and arguments and macros replaced by their tokens.
 *
 * The arguments of a macro are expanded where it is used, its text where it ends up.  A macro that
 * is being expanded is not expanded again inside itself: that is a mistake.
 */
#include "script/syntax/internal.h"
#include "script/syntax/preprocess.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct macro {
	struct macro *next;
	const char *name;
	const char **parameters;
	uint32_t n_parameters;
	struct token *body;
	uint32_t n_body;
	bool is_active, is_library;
};

struct script_macros {
	struct macro *first;
	struct script_arena *arena;
};

struct script_macros *script_macros_new(struct script_arena *a)
{
	struct script_macros *m = script_allocate(a, sizeof *m);

	if (m)
		m->arena = a;
	return m;
}

/* The parameters of the macro that is being expanded. */
struct scope {
	const struct macro *macro;
	struct token_list *arguments; /* of each parameter */
};

struct expander {
	struct script_sources *sources;
	struct script_arena *arena;
	const struct script_parse_options *o;
	struct script_macros *macros;
	uint32_t n_tokens; /* handled, also those that end up in several places */
};
enum { HANDLED_MOST = 1 << 21 };

/* A row of tokens, read one by one. */
struct reader {
	const struct token *at, *end; /* *end: a token too, of the end */
	const struct expansion *from;
};

static int expand(struct expander *x, struct reader *r, const struct scope *scope,
		  struct token_list *out);

int preprocess_bad(struct token_list *out, struct script_arena *a, const struct token *at,
		   const char *format, ...)
{
	struct token t = { .kind = TOKEN_BAD, .place = at->place, .from = at->from };
	char reason[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof reason, format, ap);
	va_end(ap);
	t.size = (uint32_t)strlen(reason);
	t.text = script_copy(a, reason, t.size);
	return t.text ? token_list_add(out, &t) : -ENOMEM;
}

static int add_token(struct token_list *out, const struct token *t, const struct expansion *from)
{
	struct token copy = *t;

	if (!copy.from)
		copy.from = from;
	return token_list_add(out, &copy);
}

static const struct expansion *enter(struct expander *x, const char *what, const struct token *at,
				     const struct expansion *outer)
{
	struct expansion *e = script_allocate(x->arena, sizeof *e);

	if (e)
		*e = (struct expansion){ .what = what,
					 .place = at->place,
					 .outer = outer,
					 .depth = outer ? outer->depth + 1 : 1 };
	return e;
}

/* Arguments of the script. */

static int add_argument_tokens(struct expander *x, const struct token *t, struct token_list *out)
{
	const char *text = x->o->arguments[t->number - 1];
	struct token_list list = { 0 };
	const struct expansion *from;
	char name[32];
	int64_t source;
	int err;

	snprintf(name, sizeof name, "argument %lld", (long long)t->number);
	source = script_sources_add(x->sources, name, text, strlen(text));
	if (source < 0)
		return (int)source;
	from = enter(x, x->sources->at[source].name, t, t->from);
	err = from ? lex(&list, x->sources, (uint32_t)source, false) : -ENOMEM;
	for (uint32_t i = 0; !err && i + 1 < list.n; i++)
		if (list.at[i].kind == TOKEN_ARGUMENT)
			err = preprocess_bad(out, x->arena, t,
					     "an argument cannot stand for another argument");
		else
			err = add_token(out, &list.at[i], from);
	token_list_fini(&list);
	return err;
}

static int expand_argument(struct expander *x, const struct token *t, struct token_list *out)
{
	struct token new = { .kind = TOKEN_NUMBER, .place = t->place, .from = t->from };
	int n = x->o ? x->o->n_arguments : 0;
	char digits[24];

	if (t->number > n)
		return preprocess_bad(out, x->arena, t,
				      "argument %lld is missing: the script got %d",
				      (long long)t->number, n);
	if (t->number && !t->is_text)
		return add_argument_tokens(x, t, out);
	new.number = n;
	if (t->is_text) {
		snprintf(digits, sizeof digits, "%d", n);
		new.kind = TOKEN_TEXT;
		new.text = t->number ? x->o->arguments[t->number - 1] : digits;
		new.size = (uint32_t)strlen(new.text);
		new.text = script_copy(x->arena, new.text, new.size);
		if (!new.text)
			return -ENOMEM;
	}
	return token_list_add(out, &new);
}

/* Definitions. */

static struct macro *find(const struct script_macros *m, const char *name)
{
	for (struct macro *macro = m->first; macro; macro = macro->next)
		if (!strcmp(macro->name, name))
			return macro;
	return NULL;
}

static bool is_built_in(const char *name)
{
	static const char *const names[] = {
		"define",      "count",	   "sum",      "min",	   "max",
		"avg",	       "variance", "quantile", "hist_log", "cast",
		"hist_linear", "var",	   "defined",  "entry",	   "choose_defined",
		"enum",	       "enumname",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* The names in parentheses; returns false if they are none. */
static bool read_parameters(struct expander *x, struct reader *r, struct macro *m)
{
	const struct token *t = r->at + 1;
	uint32_t n = 0;

	for (; t < r->end && t->kind == TOKEN_NAME; t++, n++)
		if (!token_is(++t, ","))
			break;
	m->parameters = script_allocate(x->arena, (n + 1) * sizeof *m->parameters);
	if (!m->parameters)
		return false;
	for (t = r->at + 1; t < r->end && t->kind == TOKEN_NAME; t++) {
		m->parameters[m->n_parameters++] = t->text;
		if (!token_is(++t, ","))
			break;
	}
	r->at = t;
	if (t >= r->end || !token_is(t, ")"))
		return false;
	r->at++;
	return true;
}

/* The tokens up to the %) that belongs to the %( before; returns false if there is none. */
static bool read_body(struct expander *x, struct reader *r, struct macro *m)
{
	const struct token *begin = r->at;
	uint32_t depth = 1;

	for (; r->at < r->end; r->at++) {
		depth += token_is(r->at, "%(");
		depth -= token_is(r->at, "%)");
		if (!depth)
			break;
	}
	if (depth)
		return false;
	m->n_body = (uint32_t)(r->at - begin);
	m->body = script_allocate(x->arena, (m->n_body + 1) * sizeof *m->body);
	if (!m->body)
		return false;
	memcpy(m->body, begin, m->n_body * sizeof *m->body);
	m->body[m->n_body] = (struct token){ .kind = TOKEN_END, .place = r->at->place, .text = "" };
	r->at++;
	return true;
}

/* @define NAME(PARAMETERS) %( BODY %); the reader is behind @define. */
static int define(struct expander *x, struct reader *r, struct token_list *out)
{
	const struct token *name = r->at;
	struct macro *m = script_allocate(x->arena, sizeof *m), *old;

	if (!m)
		return -ENOMEM;
	if (name->kind != TOKEN_NAME && name->kind != TOKEN_WORD)
		return preprocess_bad(out, x->arena, name,
				      "expected the name of a macro, as in @define twice(x) %%( "
				      "(@x) * 2 %%)");
	m->name = name->text;
	m->is_library = x->sources->at[name->place.source].is_library;
	r->at++;
	if (token_is(r->at, "(") && !read_parameters(x, r, m))
		return x->arena->failed ? -ENOMEM
					: preprocess_bad(out, x->arena, r->at,
							 "expected names of parameters and `)`");
	if (!token_is(r->at, "%("))
		return preprocess_bad(out, x->arena, r->at,
				      "expected `%%(` and the text of macro `@%s`", m->name);
	r->at++;
	if (!read_body(x, r, m))
		return x->arena->failed
			       ? -ENOMEM
			       : preprocess_bad(out, x->arena, name,
						"the text of macro `@%s` has no `%%)`", m->name);
	if (is_built_in(m->name))
		return preprocess_bad(out, x->arena, name, "`@%s` is built in: choose another name",
				      m->name);
	old = find(x->macros, m->name);
	if (old && old->is_library == m->is_library)
		return preprocess_bad(out, x->arena, name, "macro `@%s` is defined already",
				      m->name);
	m->next = x->macros->first;
	x->macros->first = m;
	return 0;
}

/* Uses. */

static int opens(const struct token *t)
{
	if (token_is(t, "(") || token_is(t, "[") || token_is(t, "{") || token_is(t, "%("))
		return 1;
	return -(token_is(t, ")") || token_is(t, "]") || token_is(t, "}") || token_is(t, "%)"));
}

/* Where the argument at @t ends: at a comma or the closing parenthesis. */
static const struct token *argument_end(const struct token *t, const struct token *end)
{
	for (int depth = 0; t < end; t++) {
		int step = opens(t);

		if (!depth && (step < 0 || token_is(t, ",")))
			break;
		depth += step;
	}
	return t;
}

/* Reads and expands the arguments of @m at @r; returns how many, or an error. */
static int read_arguments(struct expander *x, struct reader *r, const struct scope *scope,
			  const struct macro *m, struct token_list *arguments)
{
	uint32_t n = 0;
	int err = 0;

	for (r->at++; !err; r->at++, n++) {
		const struct token *end = argument_end(r->at, r->end);
		struct reader part = { .at = r->at, .end = end, .from = r->from };

		if (n < m->n_parameters)
			err = expand(x, &part, scope, &arguments[n]);
		r->at = end;
		if (!token_is(end, ","))
			break;
	}
	if (err)
		return err;
	if (!token_is(r->at, ")"))
		return -EINVAL;
	r->at++;
	return (int)n + 1;
}

static int paste(struct expander *x, struct macro *m, const struct token *at,
		 struct token_list *arguments, const struct expansion *outer,
		 struct token_list *out)
{
	struct scope scope = { .macro = m, .arguments = arguments };
	struct reader r = { .at = m->body, .end = m->body + m->n_body };
	char what[64];
	const char *name;
	int err;

	if (m->is_active)
		return preprocess_bad(out, x->arena, at, "macro `@%s` uses itself", m->name);
	if (outer && outer->depth == PREPROCESS_DEPTH_MAX)
		return preprocess_bad(out, x->arena, at, "macros are nested more than %d deep",
				      PREPROCESS_DEPTH_MAX);
	snprintf(what, sizeof what, "macro @%s", m->name);
	name = script_copy(x->arena, what, strlen(what));
	r.from = name ? enter(x, name, at, outer) : NULL;
	if (!r.from)
		return -ENOMEM;
	m->is_active = true;
	err = expand(x, &r, &scope, out);
	m->is_active = false;
	return err;
}

static int use(struct expander *x, struct reader *r, const struct scope *scope, struct macro *m,
	       const struct token *at, struct token_list *out)
{
	struct token_list *arguments =
		script_allocate(x->arena, (m->n_parameters + 1) * sizeof *arguments);
	const struct expansion *outer = at->from ? at->from : r->from;
	int n = 0, err = arguments ? 0 : -ENOMEM;

	if (!err && m->n_parameters && token_is(r->at, "("))
		n = read_arguments(x, r, scope, m, arguments);
	else if (!err && !m->n_parameters && token_is(r->at, "(") && r->at + 1 < r->end &&
		 token_is(r->at + 1, ")"))
		r->at += 2;
	if (n == -EINVAL)
		err = preprocess_bad(out, x->arena, at, "the arguments of macro `@%s` have no `)`",
				     m->name);
	else if (n < 0)
		err = n;
	else if (!err && (uint32_t)n != m->n_parameters)
		err = preprocess_bad(out, x->arena, at, "macro `@%s` takes %u arguments, not %d",
				     m->name, m->n_parameters, n);
	else if (!err)
		err = paste(x, m, at, arguments, outer, out);
	for (uint32_t i = 0; arguments && i < m->n_parameters; i++)
		token_list_fini(&arguments[i]);
	return err;
}

static const struct token_list *find_argument(const struct scope *scope, const char *name)
{
	for (uint32_t i = 0; scope && i < scope->macro->n_parameters; i++)
		if (!strcmp(scope->macro->parameters[i], name))
			return &scope->arguments[i];
	return NULL;
}

static int expand_operator(struct expander *x, struct reader *r, const struct scope *scope,
			   struct token_list *out)
{
	const struct token *t = r->at++;
	const struct token_list *argument = find_argument(scope, t->text);
	struct macro *m;
	int err = 0;

	if (argument) {
		x->n_tokens += argument->n;
		if (x->n_tokens > HANDLED_MOST)
			return -E2BIG;
		for (uint32_t i = 0; !err && i < argument->n; i++)
			err = token_list_add(out, &argument->at[i]);
		return err;
	}
	if (!strcmp(t->text, "define"))
		return define(x, r, out);
	m = find(x->macros, t->text);
	return m ? use(x, r, scope, m, t, out) : add_token(out, t, r->from);
}

static int expand(struct expander *x, struct reader *r, const struct scope *scope,
		  struct token_list *out)
{
	int err = 0;

	while (!err && r->at < r->end) {
		struct token t = *r->at;

		if (++x->n_tokens > HANDLED_MOST)
			return -E2BIG;
		if (!t.from)
			t.from = r->from;
		if (t.kind == TOKEN_OPERATOR) {
			err = expand_operator(x, r, scope, out);
			continue;
		}
		r->at++;
		err = t.kind == TOKEN_ARGUMENT ? expand_argument(x, &t, out)
					       : token_list_add(out, &t);
	}
	return err;
}

int preprocess_expand(struct token_list *out, const struct token_list *in,
		      struct script_sources *sources, const struct script_parse_options *o,
		      struct script_macros *macros)
{
	struct expander x = {
		.sources = sources, .arena = sources->arena, .o = o, .macros = macros
	};
	struct reader r = { .at = in->at, .end = in->at + in->n - 1 };
	int err = expand(&x, &r, NULL, out);

	return err ? err : token_list_add(out, r.end);
}

void script_macros_each(const struct script_macros *m,
			void (*report)(void *context, const char *name), void *context)
{
	for (const struct macro *macro = m->first; macro; macro = macro->next)
		report(context, macro->name);
}
