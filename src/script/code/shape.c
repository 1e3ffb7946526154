/* SPDX-License-Identifier: MIT */
/*
 * code/shape.c - what can be seen of an expression before it is compiled.
 *
 * The need for registers follows Sethi and Ullman, "The Generation of Optimal Code for Arithmetic
 * Expressions" (1970), without their reordering: effects show in the order of the script.
 */
#include "script/code/internal.h"

#include <string.h>

enum { RANKED = 6 }; /* R1 .. R5, R0 */

bool code_constant(const struct script_expr *e, int64_t *number)
{
	if (e->kind == EXPR_NUMBER) {
		*number = e->number;
		return true;
	}
	if (e->kind != EXPR_UNARY || !code_constant(e->kids[0], number))
		return false;
	switch (e->op) {
	case SCRIPT_MINUS:
		*number = (int64_t) - (uint64_t)*number;
		return true;
	case SCRIPT_INVERT:
		*number = ~*number;
		return true;
	case SCRIPT_NOT:
		*number = !*number;
		return true;
	}
	return e->op == SCRIPT_PLUS;
}

bool code_small_constant(const struct script_expr *e, int32_t *number)
{
	int64_t wide;

	if (!code_constant(e, &wide) || wide != (int32_t)wide)
		return false;
	*number = (int32_t)wide;
	return true;
}

bool code_is_cell(const struct script_variable *v)
{
	return v->is_global && !v->is_array && v->type != SCRIPT_STATS;
}

bool code_is_slot(const struct script_expr *e)
{
	switch (e->kind) {
	case EXPR_VARIABLE:
		return !e->variable;
	case EXPR_CONTEXT:
	case EXPR_CAST:
	case EXPR_STATIC:
	case EXPR_ENTRY:
		return true;
	case EXPR_CALL:
		return !e->function && !code_is_table(e) && (!e->builtin || e->builtin->is_site);
	}
	return false;
}

/* A function that reads a cell of the frame. */
static bool is_standard(const struct code *c, const struct script_expr *e)
{
	return e->kind == EXPR_CALL && e->builtin && e->builtin->standard >= 0 && c->handler;
}

uint8_t code_register_of(const struct code *c, const struct script_expr *e)
{
	if (e->kind != EXPR_VARIABLE || !e->variable || e->variable->is_global)
		return 0;
	return c->homes[e->variable->index].reg;
}

bool code_is_plain(const struct code *c, const struct script_expr *e)
{
	int64_t number;

	if (e->kind == EXPR_TEXT || code_constant(e, &number) || is_standard(c, e))
		return true;
	if (code_is_slot(e))
		return e->slot >= 0 && !c->handler->slots[e->slot].may_fault;
	return e->kind == EXPR_VARIABLE && (!e->variable->is_global || code_is_cell(e->variable));
}

static unsigned most(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static unsigned needs_of_binary(const struct code *c, const struct script_expr *e)
{
	unsigned left = code_needs(c, e->kids[0]), right = code_needs(c, e->kids[1]);
	int32_t number;

	if (e->op == SCRIPT_CONCAT || e->kids[0]->type == SCRIPT_STRING)
		return CODE_CALLS;
	if (code_small_constant(e->kids[1], &number) || code_register_of(c, e->kids[1]))
		return left;
	return most(left, right + 1);
}

static unsigned needs_of_assignment(const struct code *c, const struct script_expr *e)
{
	const struct script_expr *to = e->kids[0];

	if (to->kind != EXPR_VARIABLE || !to->variable || to->variable->is_array ||
	    to->variable->type != SCRIPT_LONG)
		return CODE_CALLS;
	return (e->kind == EXPR_ASSIGN ? code_needs(c, e->kids[1]) : 0) + 3;
}

unsigned code_needs(const struct code *c, const struct script_expr *e)
{
	unsigned n = CODE_CALLS;

	if (code_is_plain(c, e) || code_is_slot(e))
		n = 1;
	else if (e->kind == EXPR_UNARY)
		n = code_needs(c, e->kids[0]);
	else if (e->kind == EXPR_BINARY)
		n = needs_of_binary(c, e);
	else if (e->kind == EXPR_CONDITION)
		n = most(code_needs(c, e->kids[0]),
			 most(code_needs(c, e->kids[1]), code_needs(c, e->kids[2])));
	else if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP)
		n = needs_of_assignment(c, e);
	return n < CODE_CALLS ? n : CODE_CALLS;
}

static unsigned rank(uint8_t reg)
{
	return code_is_kept(reg) ? 0 : reg == BPF_REG_0 ? RANKED : reg;
}

bool code_fits(const struct code *c, const struct script_expr *e, uint8_t reg)
{
	return code_needs(c, e) <= RANKED + 1 - rank(reg);
}

uint8_t code_best(const struct code *c, const struct script_expr *e, uint8_t reg)
{
	switch (e->kind) {
	case EXPR_ELEMENT:
	case EXPR_IN:
	case EXPR_STATISTIC:
	case EXPR_BUCKET:
	case EXPR_PRINT:
		return BPF_REG_0;
	case EXPR_CALL:
		return code_needs(c, e) < CODE_CALLS ? reg : BPF_REG_0;
	case EXPR_BINARY:
		return e->op == SCRIPT_CONCAT ? BPF_REG_0 : reg;
	}
	return reg;
}

uint8_t code_above(uint8_t reg)
{
	return code_is_kept(reg) ? BPF_REG_1 : reg == BPF_REG_5 ? BPF_REG_0 : reg + 1;
}

bool code_writes(const struct script_expr *e)
{
	if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP || (e->kind == EXPR_CALL && e->function))
		return true;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (e->kids[i] && code_writes(e->kids[i]))
			return true;
	return false;
}

bool code_mentions(const struct script_expr *e, const struct script_variable *v)
{
	if (e->variable == v)
		return true;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (e->kids[i] && code_mentions(e->kids[i], v))
			return true;
	return false;
}
