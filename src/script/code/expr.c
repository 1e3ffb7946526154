/* SPDX-License-Identifier: MIT */
/* code/expr.c - an expression to instructions that leave its value in a register. */
#include "script/code/internal.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "script/values/regex.h"

void code_zero(struct code *c, enum script_type type, uint8_t to)
{
	if (type == SCRIPT_STRING)
		code_text(c, to, "", 0);
	else
		code_number(c, to, 0);
}

/* A slot that may be bad raises where it is used, not where the event happened. */
static void check_fault(struct code *c, const struct script_expr *e, uint8_t to)
{
	uint32_t fine = code_label(c);

	code_at(c, e->place);
	code_load(c, to, CODE_FRAME, offsetof(struct script_frame, faults));
	if (e->slot >= 31)
		code_alu_number(c, BPF_RSH, to, e->slot);
	code_alu_number(c, BPF_AND, to, e->slot >= 31 ? 1 : 1 << e->slot);
	code_goto_if_number(c, BPF_JEQ, to, 0, fine);
	code_number(c, BPF_REG_1, e->slot);
	code_helper(c, SCRIPT_HELPER_RAISE_FAULT);
	code_put(c, fine, false);
}

static void slot(struct code *c, const struct script_expr *e, uint8_t to)
{
	assert(c->handler && e->slot >= 0 && (uint32_t)e->slot < c->handler->n_slots);
	if (c->handler->slots[e->slot].may_fault)
		check_fault(c, e, to);
	code_load(c, to, CODE_FRAME, (int32_t)offsetof(struct script_frame, slot) + 8 * e->slot);
}

static void condition(struct code *c, struct script_expr *e, uint8_t to)
{
	uint32_t other = code_label(c), end = code_label(c);

	code_branch(c, e->kids[0], false, other, to);
	code_expr(c, e->kids[1], to);
	code_goto(c, end);
	code_put(c, other, false);
	code_expr(c, e->kids[2], to);
	code_put(c, end, false);
}

static void unary(struct code *c, struct script_expr *e, uint8_t to)
{
	if (e->op == SCRIPT_NOT) {
		code_truth(c, e, to);
		return;
	}
	code_expr(c, e->kids[0], to);
	if (e->op == SCRIPT_MINUS)
		code_alu_number(c, BPF_NEG, to, 0);
	else if (e->op == SCRIPT_INVERT)
		code_alu_number(c, BPF_XOR, to, -1);
}

static uint32_t add_regex(struct code *c, struct script_expr *e)
{
	struct script_unit *u = c->unit;
	struct script_regex *regex;
	struct diag d = { "" };
	uint32_t at;

	if (!code_room(c, &u->regexes, u->n_regexes, &c->regexes_room))
		return 0;
	regex = script_regex_compile(c->arena, e->text, e->size, &at, &d);
	if (!regex) {
		script_error(c->m, e->place, "semantic error", "%s", d.text);
		code_fail(c, -EINVAL);
		return 0;
	}
	u->regexes[u->n_regexes] = regex;
	return u->n_regexes++;
}

static void match(struct code *c, struct script_expr *e, uint8_t to)
{
	struct code_argument arguments[] = { code_by_number(add_regex(c, e->kids[1])),
					     code_by_expr(e->kids[0]) };

	code_invoke(c, e->place, SCRIPT_HELPER_MATCH, arguments, 2);
	code_move(c, to, BPF_REG_0);
	if (e->is_negated)
		code_alu_number(c, BPF_XOR, to, 1);
}

static void any(struct code *c, struct script_expr *e, uint8_t to)
{
	switch (e->kind) {
	case EXPR_TEXT:
		code_text(c, to, e->text, e->size);
		break;
	case EXPR_VARIABLE:
		code_get_variable(c, e->variable, to);
		break;
	case EXPR_ELEMENT:
		code_element(c, e, to);
		break;
	case EXPR_UNARY:
		unary(c, e, to);
		break;
	case EXPR_BINARY:
		code_arithmetic(c, e, to);
		break;
	case EXPR_CONDITION:
		condition(c, e, to);
		break;
	case EXPR_ASSIGN:
		code_assign(c, e, to, true);
		break;
	case EXPR_STEP:
		code_step(c, e, to, true);
		break;
	case EXPR_CALL:
		code_call(c, e, to);
		break;
	case EXPR_IN:
		code_in(c, e, to);
		break;
	case EXPR_MATCH:
		match(c, e, to);
		break;
	case EXPR_STATISTIC:
		code_statistic(c, e, to);
		break;
	case EXPR_BUCKET:
		code_bucket(c, e, to);
		break;
	case EXPR_PRINT:
		code_print(c, e, to);
		if (e->text[0] != 's')
			code_number(c, to, 0);
		break;
	default:
		assert(!"the checker leaves no such expression");
	}
}

void code_expr(struct code *c, struct script_expr *e, uint8_t to)
{
	int64_t number;

	if (c->error || c->is_dead)
		return;
	if (c->depth >= CODE_DEPTH_MOST) {
		code_too_large(c, e->place, "has an expression with too many levels; split it up");
		return;
	}
	c->depth++;
	if (code_constant(e, &number))
		code_number(c, to, number);
	else if (code_is_slot(e))
		slot(c, e, to);
	else
		any(c, e, to);
	c->depth--;
}

uint8_t code_operand(struct code *c, struct script_expr *e, uint8_t reg)
{
	uint8_t at = code_register_of(c, e);

	if (at)
		return at;
	code_expr(c, e, reg);
	return reg;
}

void code_effect(struct code *c, struct script_expr *e)
{
	uint32_t end;

	if (e->is_elided || c->error || c->is_dead)
		return;
	switch (e->kind) {
	case EXPR_ASSIGN:
		code_assign(c, e, e->op ? BPF_REG_1 : code_best(c, e->kids[1], BPF_REG_1), false);
		return;
	case EXPR_STEP:
		code_step(c, e, BPF_REG_1, false);
		return;
	case EXPR_BINARY:
		if (e->op != SCRIPT_AND_THEN && e->op != SCRIPT_OR_ELSE)
			break;
		end = code_label(c);
		code_branch(c, e->kids[0], e->op == SCRIPT_OR_ELSE, end, BPF_REG_1);
		code_effect(c, e->kids[1]);
		code_put(c, end, false);
		return;
	case EXPR_PRINT:
		code_print(c, e, BPF_REG_1);
		return;
	case EXPR_CALL:
		if (!code_is_table(e))
			break;
		code_table(c, e);
		return;
	}
	code_expr(c, e, BPF_REG_1);
}
