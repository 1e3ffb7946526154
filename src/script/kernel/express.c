/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/express.c - expressions over values of the event, with the machine's meaning.
 *
 * Numbers are 64 bits, signed, and wrap.  Only operations that can neither fail nor call are here
 * (kernel_can_express()): a division needs a constant that is not 0.  R0 is the result; the value it is
 * joined with waits on the stack.
 */
#include <string.h>

#include "script/kernel/emit.h"

enum { DEPTH_MAX = 16 };

/* ---------------------------------------------------------------- checks */

/* A text of at most 16 bytes that is compared or is a key. */
static bool is_short_text(const struct kernel_section *s, const struct script_expr *x)
{
	int leaf = kernel_leaf(s, x);
	const struct kernel_fetch *f = leaf < 0 ? NULL : &s->capture.fetches[leaf];

	return f &&
	       (f->what == FETCH_COMM ||
		(f->what == FETCH_BYTES && f->size == COMM_BYTES && f->base != FETCH_RECORD &&
		 f->user_from == FETCH_NEVER_USER)) &&
	       !f->may_fault;
}

static bool is_number(const struct kernel_section *s, const struct script_expr *x)
{
	int leaf = kernel_leaf(s, x);

	return leaf >= 0 && !fetch_is_text(&s->capture.fetches[leaf]);
}

/* A number that stays the same while the script runs: target(), or a global that nothing writes. */
static bool is_constant(const struct script_expr *x)
{
	const struct script_variable *v = x->kind == EXPR_VARIABLE ? x->variable : NULL;

	if (v)
		return v->is_global && !v->is_array && v->type == SCRIPT_LONG && !v->is_written;
	return x->kind == EXPR_CALL && x->builtin && !x->function && !x->n_kids &&
	       !strcmp(x->builtin->name, "target");
}

static int64_t constant_of(const struct kernel_emit *e, const struct script_expr *x)
{
	if (x->kind == EXPR_CALL)
		return e->source->k->options.target;
	return values_globals(script_vm_values(e->source->source.vm))[x->variable->index].number;
}

static bool can_operate(const struct kernel_section *s, const struct script_expr *x, int depth)
{
	const struct script_expr *a = x->kids[0], *b = x->kids[1];

	if (a->type == SCRIPT_STRING || b->type == SCRIPT_STRING) {
		if (x->op != SCRIPT_EQ && x->op != SCRIPT_NE)
			return false;
		return (is_short_text(s, a) && b->kind == EXPR_TEXT &&
			b->size == strlen(b->text)) ||
		       (is_short_text(s, b) && a->kind == EXPR_TEXT && a->size == strlen(a->text));
	}
	if (!kernel_can_express(s, a, depth) || !kernel_can_express(s, b, depth))
		return false;
	switch (x->op) {
	case SCRIPT_DIV:
	case SCRIPT_MOD:
		return b->kind == EXPR_NUMBER && b->number > 0 && b->number <= INT32_MAX;
	case SCRIPT_CONCAT:
	case SCRIPT_COLLECT:
		return false;
	default:
		return x->op >= SCRIPT_ADD && x->op <= SCRIPT_OR_ELSE;
	}
}

bool kernel_can_express(const struct kernel_section *s, const struct script_expr *x, int depth)
{
	if (depth >= DEPTH_MAX || x->type == SCRIPT_STRING)
		return false;
	switch (x->kind) {
	case EXPR_NUMBER:
		return true;
	case EXPR_UNARY:
		return kernel_can_express(s, x->kids[0], depth + 1);
	case EXPR_BINARY:
		return can_operate(s, x, depth + 1);
	case EXPR_CONDITION:
		return kernel_can_express(s, x->kids[0], depth + 1) &&
		       kernel_can_express(s, x->kids[1], depth + 1) &&
		       kernel_can_express(s, x->kids[2], depth + 1);
	default:
		return is_number(s, x) || is_constant(x);
	}
}

/* ---------------------------------------------------------------- on the stack */

void emit_needed(struct kernel_emit *e, const struct kernel_section *s, const struct script_expr *x)
{
	int leaf = kernel_leaf(s, x);

	if (leaf >= 0 && !e->at[leaf]) {
		const struct kernel_fetch *f = &s->capture.fetches[leaf];

		e->at[leaf] = (int16_t)emit_cell(e, fetch_cells(f));
		if (fetch_is_text(f)) {
			emit_key_text(e, f, e->at[leaf]);
		} else {
			emit_number(e, f, (uint32_t)leaf);
			bpf_store(e->c, BPF_DW, FP, e->at[leaf], R1);
		}
	}
	if (leaf >= 0)
		return;
	for (uint32_t i = 0; i < x->n_kids; i++)
		if (x->kids[i])
			emit_needed(e, s, x->kids[i]);
}

/* ---------------------------------------------------------------- operators */

static void set_boolean(struct bpf_code *c, int jump, int from)
{
	int yes = bpf_label(c), done = bpf_label(c);

	bpf_jump_if(c, jump, R0, from, yes);
	bpf_alu_imm(c, BPF_MOV, R0, 0);
	bpf_jump(c, done);
	bpf_put_label(c, yes);
	bpf_alu_imm(c, BPF_MOV, R0, 1);
	bpf_put_label(c, done);
}

/* R0 becomes whether the text at @at on the stack is @text: its NUL belongs to it. */
static void compare_text(struct kernel_emit *e, int at, const char *text, bool is_equal)
{
	struct bpf_code *c = e->c;
	uint8_t bytes[COMM_BYTES] = { 0 };
	size_t n = strlen(text) + 1; /* with the NUL */
	int no = bpf_label(c), done = bpf_label(c);

	if (n > COMM_BYTES) {
		bpf_jump(c, no);
	} else {
		memcpy(bytes, text, n);
		for (size_t i = 0; i < n; i += 8) {
			uint64_t word, mask = n - i >= 8 ? UINT64_MAX : (1ull << 8 * (n - i)) - 1;

			memcpy(&word, bytes + i, 8);
			bpf_load(c, BPF_DW, R0, FP, at + (int)i);
			bpf_mov64(c, R1, mask);
			bpf_alu(c, BPF_AND, R0, R1);
			bpf_mov64(c, R1, word & mask);
			bpf_jump_if(c, BPF_JNE, R0, R1, no);
		}
	}
	bpf_alu_imm(c, BPF_MOV, R0, is_equal);
	bpf_jump(c, done);
	bpf_put_label(c, no);
	bpf_alu_imm(c, BPF_MOV, R0, !is_equal);
	bpf_put_label(c, done);
}

/* R0 is divided by @by > 0, toward zero; instructions for signed division are young. */
static void divide(struct bpf_code *c, int op, int32_t by)
{
	int positive = bpf_label(c), done = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JSGE, R0, 0, positive);
	bpf_alu_imm(c, BPF_MUL, R0, -1);
	bpf_alu_imm(c, op, R0, by);
	bpf_alu_imm(c, BPF_MUL, R0, -1);
	bpf_jump(c, done);
	bpf_put_label(c, positive);
	bpf_alu_imm(c, op, R0, by);
	bpf_put_label(c, done);
}

/* R0 := R0 op R1. */
static void operate(struct bpf_code *c, enum script_op op)
{
	switch (op) {
	case SCRIPT_ADD:
		return bpf_alu(c, BPF_ADD, R0, R1);
	case SCRIPT_SUB:
		return bpf_alu(c, BPF_SUB, R0, R1);
	case SCRIPT_MUL:
		return bpf_alu(c, BPF_MUL, R0, R1);
	case SCRIPT_SHL:
		return bpf_alu(c, BPF_LSH, R0, R1);
	case SCRIPT_SHR:
		return bpf_alu(c, BPF_ARSH, R0, R1);
	case SCRIPT_SHR_LOGICAL:
		return bpf_alu(c, BPF_RSH, R0, R1);
	case SCRIPT_AND:
		return bpf_alu(c, BPF_AND, R0, R1);
	case SCRIPT_OR:
		return bpf_alu(c, BPF_OR, R0, R1);
	case SCRIPT_XOR:
		return bpf_alu(c, BPF_XOR, R0, R1);
	case SCRIPT_EQ:
		return set_boolean(c, BPF_JEQ, R1);
	case SCRIPT_NE:
		return set_boolean(c, BPF_JNE, R1);
	case SCRIPT_LT:
		return set_boolean(c, BPF_JSLT, R1);
	case SCRIPT_LE:
		return set_boolean(c, BPF_JSLE, R1);
	case SCRIPT_GT:
		return set_boolean(c, BPF_JSGT, R1);
	case SCRIPT_GE:
		return set_boolean(c, BPF_JSGE, R1);
	default:
		c->failed = true;
	}
}

static void both(struct kernel_emit *e, const struct kernel_section *s, const struct script_expr *x)
{
	const struct script_expr *b = x->kids[1];
	uint32_t used = e->used;
	int at;

	emit_expression(e, s, x->kids[0]);
	if (x->op == SCRIPT_DIV || x->op == SCRIPT_MOD)
		return divide(e->c, x->op == SCRIPT_DIV ? BPF_DIV : BPF_MOD, (int32_t)b->number);
	if (b->kind == EXPR_NUMBER) {
		bpf_mov64(e->c, R1, (uint64_t)b->number);
	} else if (kernel_leaf(s, b) >= 0) {
		bpf_load(e->c, BPF_DW, R1, FP, e->at[kernel_leaf(s, b)]);
	} else {
		at = emit_cell(e, 1);
		bpf_store(e->c, BPF_DW, FP, at, R0);
		emit_expression(e, s, b);
		bpf_alu(e->c, BPF_MOV, R1, R0);
		bpf_load(e->c, BPF_DW, R0, FP, at);
		e->used = used;
	}
	if (x->op == SCRIPT_SHL || x->op == SCRIPT_SHR || x->op == SCRIPT_SHR_LOGICAL)
		bpf_alu_imm(e->c, BPF_AND, R1, 63);
	operate(e->c, x->op);
}

/* && and ||: 0 or 1. */
static void either(struct kernel_emit *e, const struct kernel_section *s,
		   const struct script_expr *x)
{
	struct bpf_code *c = e->c;
	int decided = bpf_label(c), done = bpf_label(c);
	bool is_and = x->op == SCRIPT_AND_THEN;

	for (int i = 0; i < 2; i++) {
		emit_expression(e, s, x->kids[i]);
		bpf_jump_if_imm(c, is_and ? BPF_JEQ : BPF_JNE, R0, 0, decided);
	}
	bpf_alu_imm(c, BPF_MOV, R0, is_and);
	bpf_jump(c, done);
	bpf_put_label(c, decided);
	bpf_alu_imm(c, BPF_MOV, R0, !is_and);
	bpf_put_label(c, done);
}

static void unary(struct kernel_emit *e, const struct script_expr *x)
{
	struct bpf_code *c = e->c;

	if (x->op == SCRIPT_MINUS)
		bpf_alu_imm(c, BPF_MUL, R0, -1);
	else if (x->op == SCRIPT_INVERT)
		bpf_alu_imm(c, BPF_XOR, R0, -1);
	else if (x->op == SCRIPT_NOT) {
		bpf_alu_imm(c, BPF_MOV, R1, 0);
		set_boolean(c, BPF_JEQ, R1);
	}
}

static void choose(struct kernel_emit *e, const struct kernel_section *s,
		   const struct script_expr *x)
{
	int otherwise = bpf_label(e->c), done = bpf_label(e->c);

	emit_expression(e, s, x->kids[0]);
	bpf_jump_if_imm(e->c, BPF_JEQ, R0, 0, otherwise);
	emit_expression(e, s, x->kids[1]);
	bpf_jump(e->c, done);
	bpf_put_label(e->c, otherwise);
	emit_expression(e, s, x->kids[2]);
	bpf_put_label(e->c, done);
}

void emit_expression(struct kernel_emit *e, const struct kernel_section *s,
		     const struct script_expr *x)
{
	int leaf = kernel_leaf(s, x);

	if (leaf >= 0) {
		bpf_load(e->c, BPF_DW, R0, FP, e->at[leaf]);
		return;
	}
	switch (x->kind) {
	case EXPR_NUMBER:
		bpf_mov64(e->c, R0, (uint64_t)x->number);
		break;
	case EXPR_UNARY:
		emit_expression(e, s, x->kids[0]);
		unary(e, x);
		break;
	case EXPR_BINARY:
		if (x->kids[0]->type == SCRIPT_STRING)
			compare_text(
				e, e->at[kernel_leaf(s, x->kids[x->kids[0]->kind == EXPR_TEXT])],
				x->kids[x->kids[0]->kind != EXPR_TEXT]->text, x->op == SCRIPT_EQ);
		else if (x->op == SCRIPT_AND_THEN || x->op == SCRIPT_OR_ELSE)
			either(e, s, x);
		else
			both(e, s, x);
		break;
	case EXPR_CONDITION:
		choose(e, s, x);
		break;
	default:
		if (is_constant(x))
			bpf_mov64(e->c, R0, (uint64_t)constant_of(e, x));
		else
			e->failed = true;
	}
}
