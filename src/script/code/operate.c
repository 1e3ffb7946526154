/* SPDX-License-Identifier: MIT */
/*
 * code/operate.c - operators of numbers and strings, and jumps that depend on them.
 *
 * Numbers wrap at 64 bits.  Shifts take the lowest six bits of their count, as the instructions do.
 * Division truncates toward zero; the least number by -1 is itself, as in SystemTap.
 */
#include "script/code/internal.h"

struct pair { /* both operands of a binary expression */
	uint8_t left, right;
	bool is_number; /* the right one */
	int32_t number;
};

/* The right operand needs all registers: the left one waits. */
static void pair_with_call(struct code *c, struct script_expr *e, uint8_t to, struct pair *p)
{
	struct script_expr *left = e->kids[0], *right = e->kids[1];
	struct code_home home;

	p->right = to == BPF_REG_1 ? BPF_REG_2 : BPF_REG_1;
	if (code_is_kept(to)) {
		code_expr(c, left, to);
		code_expr(c, right, p->right);
	} else if (code_is_plain(c, left) && !code_writes(right)) {
		code_expr(c, right, p->right);
		code_expr(c, left, to);
	} else {
		home = code_to_temporary(c, left);
		code_expr(c, right, p->right);
		code_from_home(c, to, home);
		code_drop(c, home);
	}
}

/* @is_copy: the left operand is changed, so it must be in @to. */
static void get_pair(struct code *c, struct script_expr *e, uint8_t to, bool is_copy,
		     struct pair *p)
{
	struct script_expr *left = e->kids[0], *right = e->kids[1];
	uint8_t at = code_register_of(c, left);

	*p = (struct pair){ .left = to, .right = code_register_of(c, right) };
	p->is_number = code_small_constant(right, &p->number);
	if (!is_copy && at && !code_writes(right)) {
		p->left = at;
		if (!p->is_number && !p->right) {
			p->right = code_is_kept(to) ? BPF_REG_1 : to;
			code_expr(c, right, p->right);
		}
	} else if (p->is_number || p->right) {
		code_expr(c, left, to);
	} else if (to != BPF_REG_0 && code_fits(c, right, code_above(to))) {
		p->right = code_above(to);
		code_expr(c, left, to);
		code_expr(c, right, p->right);
	} else {
		pair_with_call(c, e, to, p);
	}
}

static uint8_t instruction(enum script_op op)
{
	switch (op) {
	case SCRIPT_ADD:
		return BPF_ADD;
	case SCRIPT_SUB:
		return BPF_SUB;
	case SCRIPT_MUL:
		return BPF_MUL;
	case SCRIPT_DIV:
		return BPF_DIV;
	case SCRIPT_MOD:
		return BPF_MOD;
	case SCRIPT_SHL:
		return BPF_LSH;
	case SCRIPT_SHR:
		return BPF_ARSH;
	case SCRIPT_SHR_LOGICAL:
		return BPF_RSH;
	case SCRIPT_AND:
		return BPF_AND;
	case SCRIPT_XOR:
		return BPF_XOR;
	default:
		return BPF_OR;
	}
}

static bool is_shift(enum script_op op)
{
	return op == SCRIPT_SHL || op == SCRIPT_SHR || op == SCRIPT_SHR_LOGICAL;
}

void code_operate(struct code *c, enum script_op op, uint8_t to, uint8_t from)
{
	uint32_t fine;

	if (op != SCRIPT_DIV && op != SCRIPT_MOD) {
		code_alu(c, instruction(op), to, from);
		return;
	}
	fine = code_label(c);
	code_goto_if_number(c, BPF_JNE, from, 0, fine);
	code_helper(c, SCRIPT_HELPER_RAISE_DIVISION);
	code_put(c, fine, false);
	code_divide(c, instruction(op), to, from);
}

void code_operate_number(struct code *c, enum script_op op, uint8_t to, int32_t number)
{
	if (op != SCRIPT_DIV && op != SCRIPT_MOD)
		code_alu_number(c, instruction(op), to, is_shift(op) ? number & 63 : number);
	else if (number)
		code_divide_number(c, instruction(op), to, number);
	else
		code_helper(c, SCRIPT_HELPER_RAISE_DIVISION);
}

static bool is_commutative(enum script_op op)
{
	return op == SCRIPT_ADD || op == SCRIPT_MUL || op == SCRIPT_AND || op == SCRIPT_OR ||
	       op == SCRIPT_XOR;
}

static void concatenate(struct code *c, struct script_expr *e, uint8_t to)
{
	struct code_argument arguments[] = { code_by_expr(e->kids[0]), code_by_expr(e->kids[1]) };

	code_invoke(c, e->place, SCRIPT_HELPER_CONCAT, arguments, 2);
	code_move(c, to, BPF_REG_0);
}

void code_arithmetic(struct code *c, struct script_expr *e, uint8_t to)
{
	int32_t number;
	struct pair p;

	if (e->op == SCRIPT_CONCAT) {
		concatenate(c, e, to);
		return;
	}
	if (e->op >= SCRIPT_EQ && e->op <= SCRIPT_OR_ELSE) {
		code_truth(c, e, to);
		return;
	}
	if (is_commutative(e->op) && code_small_constant(e->kids[0], &number)) {
		code_expr(c, e->kids[1], to);
		code_operate_number(c, e->op, to, number);
		return;
	}
	get_pair(c, e, to, true, &p);
	code_at(c, e->place);
	if (p.is_number)
		code_operate_number(c, e->op, to, p.number);
	else
		code_operate(c, e->op, to, p.right);
}

/* The jump that is taken if @op holds, or if it does not. */
static uint8_t jump_if(enum script_op op, bool sense)
{
	switch (op) {
	case SCRIPT_EQ:
		return sense ? BPF_JEQ : BPF_JNE;
	case SCRIPT_NE:
		return sense ? BPF_JNE : BPF_JEQ;
	case SCRIPT_LT:
		return sense ? BPF_JSLT : BPF_JSGE;
	case SCRIPT_LE:
		return sense ? BPF_JSLE : BPF_JSGT;
	case SCRIPT_GT:
		return sense ? BPF_JSGT : BPF_JSLE;
	default:
		return sense ? BPF_JSGE : BPF_JSLT;
	}
}

static enum script_op mirrored(enum script_op op)
{
	switch (op) {
	case SCRIPT_LT:
		return SCRIPT_GT;
	case SCRIPT_LE:
		return SCRIPT_GE;
	case SCRIPT_GT:
		return SCRIPT_LT;
	case SCRIPT_GE:
		return SCRIPT_LE;
	default:
		return op;
	}
}

static void compare_strings(struct code *c, struct script_expr *e, bool sense, uint32_t label)
{
	struct code_argument arguments[] = { code_by_expr(e->kids[0]), code_by_expr(e->kids[1]) };
	bool is_equality = e->op == SCRIPT_EQ || e->op == SCRIPT_NE;

	code_invoke(c, e->place, is_equality ? SCRIPT_HELPER_EQUAL : SCRIPT_HELPER_COMPARE,
		    arguments, 2);
	if (is_equality)
		code_goto_if_number(c, sense == (e->op == SCRIPT_EQ) ? BPF_JNE : BPF_JEQ, BPF_REG_0,
				    0, label);
	else
		code_goto_if_number(c, jump_if(e->op, sense), BPF_REG_0, 0, label);
}

static void compare(struct code *c, struct script_expr *e, bool sense, uint32_t label, uint8_t reg)
{
	int32_t number;
	struct pair p;

	if (e->kids[0]->type == SCRIPT_STRING) {
		compare_strings(c, e, sense, label);
		return;
	}
	if (code_small_constant(e->kids[0], &number)) {
		code_goto_if_number(c, jump_if(mirrored(e->op), sense),
				    code_operand(c, e->kids[1], reg), number, label);
		return;
	}
	get_pair(c, e, reg, false, &p);
	if (p.is_number)
		code_goto_if_number(c, jump_if(e->op, sense), p.left, p.number, label);
	else
		code_goto_if(c, jump_if(e->op, sense), p.left, p.right, label);
}

/* && and ||: @both: whether both must have that truth for the jump. */
static void branch_twice(struct code *c, struct script_expr *e, bool sense, uint32_t label,
			 uint8_t reg)
{
	bool both = (e->op == SCRIPT_AND_THEN) == sense;
	uint32_t behind;

	if (!both) {
		code_branch(c, e->kids[0], sense, label, reg);
		code_branch(c, e->kids[1], sense, label, reg);
		return;
	}
	behind = code_label(c);
	code_branch(c, e->kids[0], !sense, behind, reg);
	code_branch(c, e->kids[1], sense, label, reg);
	code_put(c, behind, false);
}

static void branch_once(struct code *c, struct script_expr *e, bool sense, uint32_t label,
			uint8_t reg)
{
	struct pair p;

	if (e->kind == EXPR_BINARY && e->op >= SCRIPT_EQ && e->op <= SCRIPT_GE) {
		compare(c, e, sense, label, reg);
	} else if (e->kind == EXPR_BINARY && e->op == SCRIPT_AND && sense) {
		get_pair(c, e, reg, false, &p);
		if (p.is_number)
			code_goto_if_number(c, BPF_JSET, p.left, p.number, label);
		else
			code_goto_if(c, BPF_JSET, p.left, p.right, label);
	} else {
		reg = code_operand(c, e, code_best(c, e, reg));
		code_goto_if_number(c, sense ? BPF_JNE : BPF_JEQ, reg, 0, label);
	}
}

void code_branch(struct code *c, struct script_expr *e, bool sense, uint32_t label, uint8_t reg)
{
	int64_t number;

	if (c->error || c->is_dead)
		return;
	if (c->depth >= CODE_DEPTH_MOST) {
		code_too_large(c, e->place, "has an expression with too many levels; split it up");
		return;
	}
	if (code_is_kept(reg))
		reg = BPF_REG_1;
	c->depth++;
	if (code_constant(e, &number)) {
		if (!number == !sense)
			code_goto(c, label);
	} else if (e->kind == EXPR_UNARY && e->op == SCRIPT_NOT) {
		code_branch(c, e->kids[0], !sense, label, reg);
	} else if (e->kind == EXPR_BINARY &&
		   (e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE)) {
		branch_twice(c, e, sense, label, reg);
	} else {
		branch_once(c, e, sense, label, reg);
	}
	c->depth--;
}

void code_truth(struct code *c, struct script_expr *e, uint8_t to)
{
	uint32_t yes = code_label(c), end = code_label(c);

	code_branch(c, e, true, yes, to);
	code_number(c, to, 0);
	code_goto(c, end);
	code_put(c, yes, false);
	code_number(c, to, 1);
	code_put(c, end, false);
}
