/* SPDX-License-Identifier: MIT */
/* syntax/print.c - probe points, statements and declarations as text. */
#include "script/syntax/print.h"

#include <inttypes.h>
#include <string.h>

static void indent_by(struct text *t, unsigned indent)
{
	while (indent--)
		text_addf(t, "\t");
}

void script_print_point(struct text *t, const struct script_point *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct script_component *c = &p->at[i];

		text_addf(t, "%s%s", i ? "." : "", c->name);
		if (c->kind == COMPONENT_NUMBER)
			text_addf(t, "(%" PRId64 ")", c->number);
		if (c->kind != COMPONENT_TEXT)
			continue;
		text_addf(t, "(");
		print_quoted(t, c->text, (uint32_t)strlen(c->text));
		text_addf(t, ")");
	}
	text_addf(t, "%s", p->is_sufficient ? " !" : p->is_optional ? " ?" : "");
	if (!p->condition)
		return;
	text_addf(t, " if (");
	script_print_expr(t, p->condition);
	text_addf(t, ")");
}

static const char *sort_mark(const struct script_foreach *f, int key)
{
	if (!f->sort || f->sort_key != key)
		return "";
	return f->sort > 0 ? "+" : "-";
}

static void print_foreach(struct text *t, const struct script_foreach *f)
{
	text_addf(t, "foreach (");
	if (f->value)
		text_addf(t, "%s = ", f->value->text);
	text_addf(t, "[");
	for (uint32_t i = 0; i < f->n_keys; i++)
		text_addf(t, "%s%s%s", i ? ", " : "", f->keys[i]->text, sort_mark(f, (int)i));
	text_addf(t, "] in ");
	script_print_expr(t, f->array);
	if (f->sort_statistic)
		text_addf(t, " @%s", f->sort_statistic);
	text_addf(t, "%s", sort_mark(f, -1));
	if (f->limit) {
		text_addf(t, " limit ");
		script_print_expr(t, f->limit);
	}
	text_addf(t, ")\n");
}

static void print_optional(struct text *t, const char *before, const struct script_expr *e,
			   const char *behind)
{
	text_addf(t, "%s", before);
	if (e)
		script_print_expr(t, e);
	text_addf(t, "%s", behind);
}

/* The part before the bodies. */
static void print_head(struct text *t, const struct script_stmt *s)
{
	switch ((enum script_stmt_kind)s->kind) {
	case STMT_BLOCK:
		text_addf(t, "{\n");
		break;
	case STMT_EXPR:
		print_optional(t, "", s->expr, ";\n");
		break;
	case STMT_IF:
		print_optional(t, "if (", s->expr, ")\n");
		break;
	case STMT_WHILE:
		print_optional(t, "while (", s->expr, ")\n");
		break;
	case STMT_FOR:
		print_optional(t, "for (", s->init, "; ");
		print_optional(t, "", s->expr, "; ");
		print_optional(t, "", s->step, ")\n");
		break;
	case STMT_FOREACH:
		print_foreach(t, s->foreach);
		break;
	case STMT_BREAK:
		text_addf(t, "break;\n");
		break;
	case STMT_CONTINUE:
		text_addf(t, "continue;\n");
		break;
	case STMT_NEXT:
		text_addf(t, "next;\n");
		break;
	case STMT_RETURN:
		print_optional(t, s->expr ? "return " : "return", s->expr, ";\n");
		break;
	case STMT_DELETE:
		print_optional(t, "delete ", s->expr, ";\n");
		break;
	case STMT_TRY:
		text_addf(t, "try\n");
		break;
	case STMT_EMPTY:
		text_addf(t, ";\n");
	}
}

static void print_catch(struct text *t, const struct script_stmt *s, unsigned indent)
{
	indent_by(t, indent);
	text_addf(t, "catch");
	if (s->variable)
		text_addf(t, " (%s)", s->variable->text);
	text_addf(t, "\n");
}

void script_print_stmt(struct text *t, const struct script_stmt *s, unsigned indent)
{
	bool is_block = s->kind == STMT_BLOCK;

	indent_by(t, indent);
	print_head(t, s);
	for (uint32_t i = 0; i < s->n_body; i++) {
		const struct script_stmt *inner = s->body[i];

		if (!inner)
			continue;
		if (i == 1 && s->kind == STMT_TRY)
			print_catch(t, s, indent);
		if (i == 1 && s->kind == STMT_IF) {
			indent_by(t, indent);
			text_addf(t, "else\n");
		}
		script_print_stmt(t, inner,
				  indent + (is_block || inner->kind != STMT_BLOCK ? 1 : 0));
	}
	if (!is_block)
		return;
	indent_by(t, indent);
	text_addf(t, "}\n");
}

static void print_points(struct text *t, const struct script_point *points, uint32_t n,
			 const char *between)
{
	for (uint32_t i = 0; i < n; i++) {
		text_addf(t, "%s", i ? between : "");
		script_print_point(t, &points[i]);
	}
}

static void print_probe(struct text *t, const struct script_probe_decl *d)
{
	text_addf(t, "%sprobe ", d->is_private ? "private " : "");
	print_points(t, d->names, d->n_names, " = ");
	if (d->n_names)
		text_addf(t, d->body ? " = " : " += ");
	print_points(t, d->points, d->n_points, ", ");
	text_addf(t, "\n");
	if (d->body)
		script_print_stmt(t, d->body, 0);
	if (d->body && d->epilogue)
		text_addf(t, ",\n");
	if (d->epilogue)
		script_print_stmt(t, d->epilogue, 0);
}

static void print_global(struct text *t, const struct script_global_decl *g)
{
	text_addf(t, "%sglobal %s%s", g->is_private ? "private " : "", g->name,
		  g->wraps ? "%" : "");
	if (g->capacity)
		text_addf(t, "[%" PRId64 "]", g->capacity->number);
	if (g->value && g->value->kind == EXPR_NUMBER)
		text_addf(t, " = %" PRId64, g->value->number);
	else if (g->value)
		print_optional(t, " = ", g->value, "");
	text_addf(t, "\n");
}

static const char *type_text(enum script_type type)
{
	return type == SCRIPT_LONG ? ":long" : type == SCRIPT_STRING ? ":string" : "";
}

static void print_function(struct text *t, const struct script_function_decl *f)
{
	text_addf(t, "%sfunction %s%s(", f->is_private ? "private " : "", f->name,
		  type_text(f->type));
	for (uint32_t i = 0; i < f->n_parameters; i++)
		text_addf(t, "%s%s%s", i ? ", " : "", f->parameters[i].name,
			  type_text(f->parameters[i].type));
	text_addf(t, ")");
	if (f->priority != 1)
		text_addf(t, ":%" PRIu64, (uint64_t)f->priority);
	text_addf(t, "\n");
	script_print_stmt(t, f->body, 0);
}

void script_print_file(struct text *t, const struct script_file *file)
{
	for (uint32_t i = 0; i < file->n_globals; i++)
		print_global(t, file->globals[i]);
	for (uint32_t i = 0; i < file->n_functions; i++)
		print_function(t, file->functions[i]);
	for (uint32_t i = 0; i < file->n_aliases; i++)
		print_probe(t, file->aliases[i]);
	for (uint32_t i = 0; i < file->n_probes; i++)
		print_probe(t, file->probes[i]);
}
