/* SPDX-License-Identifier: MIT */
/* syntax/parse_declaration.c - probes, aliases, globals and functions. */
#include "script/syntax/internal.h"

/* A number with its sign, or a text: the first value of a global. */
static struct script_expr *parse_constant(struct parser *p)
{
	const struct token *at = p->at;
	bool is_negative = parse_accept(p, "-");
	struct script_expr *e;

	if (!is_negative)
		parse_accept(p, "+");
	if (p->at->kind != TOKEN_NUMBER && (p->at->kind != TOKEN_TEXT || p->at != at))
		parse_expected(p, "a number or a text as the first value of a global");
	e = parse_expr_new(p, p->at->kind == TOKEN_TEXT ? EXPR_TEXT : EXPR_NUMBER, at);
	if (e->kind == EXPR_TEXT) {
		e->text = parse_text(p, &e->size);
		return e;
	}
	e->number = parse_take(p)->number;
	if (is_negative)
		e->number = (int64_t)(0 - (uint64_t)e->number);
	return e;
}

static void parse_capacity(struct parser *p, struct script_global_decl *g)
{
	g->capacity = parse_expr_new(p, EXPR_NUMBER, p->at);
	if (p->at->kind != TOKEN_NUMBER)
		parse_expected(p, "a number of elements");
	else if (p->at->number <= 0)
		parse_error(p, p->at, "an array has at least one element");
	g->capacity->number = parse_take(p)->number;
	parse_expect(p, "]", "behind the number of elements");
}

static void parse_global(struct parser *p, struct script_file *file, bool is_private)
{
	struct script_global_decl *g = parse_new(p, sizeof *g);

	if (!g)
		return;
	g->place = p->at->place;
	g->is_private = is_private;
	g->name = parse_name(p, "the name of a global")->text;
	g->wraps = parse_accept(p, "%");
	if (parse_accept(p, "["))
		parse_capacity(p, g);
	if (parse_is(p, "=") && (g->wraps || g->capacity))
		parse_error(p, p->at, "an array begins empty: set its elements in `probe begin`");
	if (parse_accept(p, "="))
		g->value = parse_constant(p);
	if (!p->failed)
		parse_add(p, file->globals, file->n_globals, g);
}

static void parse_globals(struct parser *p, struct script_file *file, bool is_private)
{
	do
		parse_global(p, file, is_private);
	while (parse_accept(p, ","));
	parse_accept(p, ";");
}

static enum script_type parse_type(struct parser *p)
{
	if (!parse_accept(p, ":"))
		return SCRIPT_UNKNOWN;
	if (parse_accept(p, "string"))
		return SCRIPT_STRING;
	if (!parse_accept(p, "long"))
		parse_expected(p, "the type `long` or `string`");
	return SCRIPT_LONG;
}

static void parse_parameters(struct parser *p, struct script_function_decl *f)
{
	parse_expect(p, "(", "behind the name of a function");
	if (parse_accept(p, ")"))
		return;
	do {
		struct script_parameter parameter = { .place = p->at->place };

		parameter.name = parse_name(p, "the name of a parameter")->text;
		parameter.type = parse_type(p);
		parse_add(p, f->parameters, f->n_parameters, parameter);
	} while (parse_accept(p, ","));
	parse_expect(p, ")", "or `,` behind a parameter");
}

static void parse_function(struct parser *p, struct script_file *file, bool is_private)
{
	struct script_function_decl *f = parse_new(p, sizeof *f);

	if (!f)
		return;
	f->place = p->at->place;
	f->is_private = is_private;
	f->priority = 1;
	f->name = parse_name(p, "the name of a function")->text;
	f->type = parse_type(p);
	parse_parameters(p, f);
	if (f->type == SCRIPT_UNKNOWN && parse_is(p, ":") && p->at[1].kind == TOKEN_WORD)
		f->type = parse_type(p);
	if (parse_accept(p, ":")) {
		if (p->at->kind != TOKEN_NUMBER)
			parse_expected(p, "the priority of the function, a number");
		f->priority = parse_take(p)->number;
	}
	p->in_function = true;
	f->body = parse_block(p, "the body of the function");
	p->in_function = false;
	if (!p->failed)
		parse_add(p, file->functions, file->n_functions, f);
}

/* The points read so far are the names of an alias. */
static void take_names(struct parser *p, struct script_probe_decl *d, const struct token *at)
{
	for (uint32_t i = 0; i < d->n_points; i++) {
		const struct script_point *name = &d->points[i];

		if (name->is_optional || name->condition)
			parse_error(p, at, "the name of an alias has no `?`, `!` or condition");
		for (uint32_t j = 0; j < name->n; j++)
			if (name->at[j].kind != COMPONENT_PLAIN || strchr(name->at[j].name, '*'))
				parse_error(p, at,
					    "the name of an alias has no values in "
					    "parentheses and no `*`");
		parse_add(p, d->names, d->n_names, *name);
	}
	d->points = NULL;
	d->n_points = 0;
}

static void parse_body(struct parser *p, struct script_probe_decl *d, bool is_epilogue)
{
	struct script_stmt *body;

	p->in_probe = true;
	body = parse_block(p, d->n_names ? "the body of the alias" : "the body of the probe");
	if (is_epilogue)
		d->epilogue = body;
	else
		d->body = body;
	if (d->n_names && !is_epilogue && parse_accept(p, ","))
		d->epilogue = parse_block(p, "the epilogue of the alias");
	p->in_probe = false;
}

static void parse_probe(struct parser *p, struct script_file *file, bool is_private)
{
	struct script_probe_decl *d = parse_new(p, sizeof *d);
	bool is_epilogue = false;

	if (!d)
		return;
	d->place = p->at[-1].place;
	d->is_private = is_private;
	for (;;) {
		parse_points(p, &d->points, &d->n_points);
		if (parse_is(p, "=") || parse_is(p, "+=")) {
			is_epilogue |= parse_is(p, "+=");
			take_names(p, d, p->at);
			parse_take(p);
		} else if (!parse_accept(p, ",")) {
			break;
		}
	}
	if (is_private && !d->n_names)
		parse_error(p, p->at, "`private` is for globals, functions and aliases");
	if (!parse_is(p, "{") && p->at->kind != TOKEN_EMBEDDED)
		parse_expected(p, "`{`, `,` or `.` behind a probe point");
	parse_body(p, d, is_epilogue);
	if (p->failed)
		return;
	if (d->n_names)
		parse_add(p, file->aliases, file->n_aliases, d);
	else
		parse_add(p, file->probes, file->n_probes, d);
}

static void refuse(struct parser *p)
{
	static const char *const words[] = { "probe", "global", "function", "private" };
	struct script_nearest nearest = { .wanted = p->at->text };
	char text[160] = "";

	if (p->at->kind == TOKEN_EMBEDDED) {
		parse_error(p, p->at,
			    "embedded C is not supported: write functions in the script "
			    "language");
		return;
	}
	if (p->at->kind == TOKEN_NAME)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			script_nearest_try(&nearest, words[i]);
	parse_expected(p, "`probe`, `global` or `function`%s", script_nearest_text(&nearest, text));
}

void parse_declaration(struct parser *p, struct script_file *file)
{
	bool is_private;

	if (parse_accept(p, ";"))
		return;
	is_private = parse_accept(p, "private");
	if (parse_accept(p, "probe"))
		parse_probe(p, file, is_private);
	else if (parse_accept(p, "global"))
		parse_globals(p, file, is_private);
	else if (parse_accept(p, "function"))
		parse_function(p, file, is_private);
	else if (is_private)
		parse_expected(p, "`global`, `function` or `probe` behind `private`");
	else
		refuse(p);
}
