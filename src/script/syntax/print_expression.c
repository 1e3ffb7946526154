/* SPDX-License-Identifier: MIT */
/*
 * syntax/print_expression.c - an expression as text.
 *
 * Operands that are operators stand in parentheses, so the text does not depend on precedences.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script/syntax/print.h"

void print_quoted(struct text *t, const char *text, uint32_t size)
{
	text_addf(t, "\"");
	for (uint32_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			text_addf(t, "\\%c", c);
		else if (c == '\n' || c == '\t')
			text_addf(t, "%s", c == '\n' ? "\\n" : "\\t");
		else if (c < 0x20 || c >= 0x7f)
			text_addf(t, "\\x%02x", c); /* in filters too */
		else
			text_add(t, text + i, 1);
	}
	text_addf(t, "\"");
}

static bool is_operator(const struct script_expr *e)
{
	switch (e->kind) {
	case EXPR_UNARY:
	case EXPR_BINARY:
	case EXPR_CONDITION:
	case EXPR_ASSIGN:
	case EXPR_STEP:
	case EXPR_IN:
	case EXPR_MATCH:
		return true;
	default:
		return e->is_address;
	}
}

static void print_operand(struct text *t, const struct script_expr *e)
{
	bool is_inner = e && is_operator(e);

	text_addf(t, "%s", is_inner ? "(" : "");
	script_print_expr(t, e);
	text_addf(t, "%s", is_inner ? ")" : "");
}

static void print_list(struct text *t, const struct script_expr *e, uint32_t from, char open,
		       char close)
{
	text_addf(t, "%c", open);
	for (uint32_t i = from; i < e->n_kids; i++) {
		text_addf(t, "%s", i > from ? ", " : "");
		script_print_expr(t, e->kids[i]);
	}
	text_addf(t, "%c", close);
}

static void print_path(struct text *t, const struct script_expr *e)
{
	for (uint32_t i = 0; i < e->n_path; i++) {
		const struct script_path *p = &e->path[i];

		switch (p->kind) {
		case PATH_MEMBER:
			text_addf(t, "->%s", p->name);
			break;
		case PATH_INDEX:
			text_addf(t, "[");
			script_print_expr(t, p->index);
			text_addf(t, "]");
			break;
		case PATH_PRETTY:
		case PATH_PRETTY_DEEP:
			text_addf(t, "%s", p->kind == PATH_PRETTY ? "$" : "$$");
			break;
		}
	}
}

static void print_strings(struct text *t, const struct script_expr *e)
{
	if (e->type_name) {
		text_addf(t, ", ");
		print_quoted(t, e->type_name, (uint32_t)strlen(e->type_name));
	}
	if (e->module) {
		text_addf(t, ", ");
		print_quoted(t, e->module, (uint32_t)strlen(e->module));
	}
	text_addf(t, ")");
	print_path(t, e);
}

/* A number with its sign would be read as an operator and a number. */
static void print_number(struct text *t, int64_t number)
{
	text_addf(t, number < 0 ? "0x%" PRIx64 : "%" PRId64, number);
}

static void print_real(struct text *t, double real)
{
	char digits[40];

	snprintf(digits, sizeof digits, "%.17g", real);
	text_addf(t, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void print_binary(struct text *t, const struct script_expr *e, const char *op)
{
	print_operand(t, e->kids[0]);
	text_addf(t, " %s ", op);
	print_operand(t, e->kids[1]);
}

static void print_operator(struct text *t, const struct script_expr *e)
{
	const char *op = print_op((enum script_op)e->op);

	switch (e->kind) {
	case EXPR_UNARY:
		text_addf(t, "%s", op);
		print_operand(t, e->kids[0]);
		break;
	case EXPR_CONDITION:
		print_binary(t, e, "?");
		text_addf(t, " : ");
		print_operand(t, e->kids[2]);
		break;
	case EXPR_ASSIGN:
		print_operand(t, e->kids[0]);
		text_addf(t, " %s%s ", e->op ? op : "", e->op == SCRIPT_COLLECT ? "" : "=");
		script_print_expr(t, e->kids[1]); /* nothing binds weaker */
		break;
	case EXPR_STEP:
		text_addf(t, "%s", e->is_prefix ? (e->op == SCRIPT_ADD ? "++" : "--") : "");
		script_print_expr(t, e->kids[0]);
		text_addf(t, "%s", e->is_prefix ? "" : (e->op == SCRIPT_ADD ? "++" : "--"));
		break;
	case EXPR_IN:
		print_list(t, e, 0, '[', ']');
		text_addf(t, " in %s", e->text);
		break;
	default:
		print_binary(t, e, e->kind == EXPR_BINARY ? op : e->is_negated ? "!~" : "=~");
	}
}

static void print_special(struct text *t, const struct script_expr *e)
{
	switch (e->kind) {
	case EXPR_CAST:
		text_addf(t, "@cast(");
		script_print_expr(t, e->kids[0]);
		print_strings(t, e);
		break;
	case EXPR_STATIC:
		text_addf(t, "@var(");
		print_quoted(t, e->text, e->size);
		print_strings(t, e);
		break;
	case EXPR_BUCKET:
		script_print_expr(t, e->kids[0]);
		text_addf(t, "[");
		script_print_expr(t, e->kids[1]);
		text_addf(t, "]");
		break;
	default: /* statistics, @defined, @choose_defined, @entry, @enum */
		text_addf(t, "@%s", e->text);
		print_list(t, e, 0, '(', ')');
	}
}

void script_print_expr(struct text *t, const struct script_expr *e)
{
	if (!e) {
		text_addf(t, "*");
		return;
	}
	text_addf(t, "%s", e->is_address ? "&" : "");
	switch (e->kind) {
	case EXPR_NUMBER:
		print_number(t, e->number);
		break;
	case EXPR_REAL:
		print_real(t, e->real);
		break;
	case EXPR_TEXT:
		print_quoted(t, e->text, e->size);
		break;
	case EXPR_VARIABLE:
		text_addf(t, "%s", e->text);
		print_path(t, e);
		break;
	case EXPR_CONTEXT:
		text_addf(t, "$%s", e->text);
		print_path(t, e);
		break;
	case EXPR_ELEMENT:
		text_addf(t, "%s", e->text);
		print_list(t, e, 0, '[', ']');
		break;
	case EXPR_CALL:
	case EXPR_PRINT:
		text_addf(t, "%s", e->text);
		print_list(t, e, 0, '(', ')');
		break;
	default:
		if (is_operator(e) && !e->is_address)
			print_operator(t, e);
		else
			print_special(t, e);
	}
}
