/* SPDX-License-Identifier: MIT */
/*
 * filter/compile.c - byte code from the tree of a filter, in one walk.
 *
 * Operands are emitted before operators.  Constants are computed at compile time, and moved to the
 * right side of comparisons, where linking expects them.  Two adjacent pieces of code may change
 * places, since code contains no positions.
 */
#include "filter/compile.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "filter/number.h"
#include "filter/step.h"
#include "filter/compile_tree.h"

enum kind { KIND_ANY, KIND_NUMBER, KIND_INT, KIND_REAL, KIND_TEXT };

struct operand {
	enum kind kind; /* as far as is known without an event */
	bool is_constant;
	bool is_truth;		   /* 0 or 1 */
	uint32_t begin;		   /* offset of its code, which is the end of the code so far */
	struct script_place place; /* where it begins */
	struct filter_value value; /* constant numbers */
};

struct compiler {
	struct diag *d;
	uint32_t code_size, data_size;
	uint8_t code[ABI_FILTER_BYTES_MAX + 16];
	char data[ABI_FILTER_BYTES_MAX];
};

static int compile(struct compiler *c, const struct script_expr *e, struct operand *o);

static int too_large(struct diag *d)
{
	return diag_fail(
		d, -E2BIG,
		"filter: the expression is too long or too deep: at most %d bytes of code, %d "
		"operations, %d nested values\n  split it, or use fewer parentheses",
		ABI_FILTER_BYTES_MAX, ABI_FILTER_STEPS_MAX, ABI_FILTER_DEPTH_MAX);
}

static int emit(struct compiler *c, enum abi_filter_op op, const void *operand, size_t size)
{
	assert(c->code_size <= ABI_FILTER_BYTES_MAX && size == operand_bytes((uint8_t)op));
	if (c->code_size + 1 + size > ABI_FILTER_BYTES_MAX)
		return too_large(c->d);
	c->code[c->code_size] = (uint8_t)op;
	if (size)
		memcpy(c->code + c->code_size + 1, operand, size);
	c->code_size += 1 + (uint32_t)size;
	return 0;
}

/* The offset of @bytes in the data; equal bytes are stored once. */
static int add_data(struct compiler *c, const char *bytes, size_t size, uint16_t *at)
{
	const char *found = memmem(c->data, c->data_size, bytes, size);

	if (!found) {
		if (size > sizeof c->data - c->data_size)
			return too_large(c->d);
		memcpy(c->data + c->data_size, bytes, size);
		found = c->data + c->data_size;
		c->data_size += (uint32_t)size;
	}
	*at = (uint16_t)(found - c->data);
	return 0;
}

static int emit_int(struct compiler *c, struct filter_value v)
{
	int8_t small = (int8_t)v.bits;

	if (number_is_same(number_signed(small), v))
		return emit(c, ABI_FILTER_SMALL, &small, 1);
	return emit(c, v.more ? ABI_FILTER_NEGATIVE : ABI_FILTER_INT, &v.bits, 8);
}

/* A constant replaces the code from @begin on. */
static int set_constant(struct compiler *c, struct operand *o, enum kind kind,
			struct filter_value v)
{
	assert(o->begin <= c->code_size);
	c->code_size = o->begin;
	o->kind = kind;
	o->is_constant = true;
	o->is_truth = false;
	o->value = v;
	return kind == KIND_REAL ? emit(c, ABI_FILTER_REAL, &v.real, 8) : emit_int(c, v);
}

static int emit_name(struct compiler *c, enum abi_filter_op op, const struct script_expr *e)
{
	uint8_t operand[3];
	uint16_t at;
	int err;

	if (e->size > ABI_FILTER_NAME_MAX)
		return filter_fail(c->d, e->place, "this name is longer than %d characters",
				   ABI_FILTER_NAME_MAX);
	err = add_data(c, e->text, e->size, &at);
	if (err)
		return err;
	memcpy(operand, &at, sizeof at);
	operand[2] = (uint8_t)e->size;
	return emit(c, op, operand, sizeof operand);
}

static int emit_text(struct compiler *c, const struct script_expr *e)
{
	uint16_t operand[2] = { 0, (uint16_t)e->size };
	int err = add_data(c, e->text, e->size, &operand[0]);

	return err ? err : emit(c, ABI_FILTER_TEXT, operand, sizeof operand);
}

/* An expression whose value is 0 or 1. */
static void set_truth(struct operand *o)
{
	*o = (struct operand){
		.kind = KIND_INT, .is_truth = true, .begin = o->begin, .place = o->place
	};
}

/* Makes a condition's value for && and || and the end. */
static int make_truth(struct compiler *c, struct operand *o)
{
	if (o->kind == KIND_TEXT)
		return filter_fail(c->d, o->place,
				   "a text is no condition; compare it, as in name == \"x\"");
	if (o->is_truth)
		return 0;
	set_truth(o);
	return emit(c, ABI_FILTER_TRUTH, NULL, 0);
}

static int compile_literal(struct compiler *c, const struct script_expr *e, struct operand *o)
{
	switch (e->kind) {
	case EXPR_NUMBER:
		return set_constant(c, o, KIND_INT, number_unsigned((uint64_t)e->number));
	case EXPR_REAL:
		return set_constant(c, o, KIND_REAL, (struct filter_value){ .real = e->real });
	default:
		o->kind = KIND_TEXT;
		o->is_constant = true;
		return emit_text(c, e);
	}
}

static int compile_not(struct compiler *c, struct operand *o)
{
	if (o->kind == KIND_TEXT)
		return filter_fail(c->d, o->place,
				   "a text is no condition; compare it, as in name != \"x\"");
	set_truth(o);
	return emit(c, ABI_FILTER_NOT, NULL, 0);
}

static int compile_minus(struct compiler *c, struct operand *o)
{
	if (o->kind == KIND_TEXT)
		return filter_fail(c->d, o->place, "a text cannot be computed with");
	if (o->is_constant)
		return o->kind == KIND_REAL
			       ? set_constant(c, o, KIND_REAL,
					      (struct filter_value){ .real = -o->value.real })
			       : set_constant(c, o, KIND_INT,
					      number_subtract(number_unsigned(0), o->value));
	if (o->kind == KIND_ANY)
		o->kind = KIND_NUMBER;
	o->is_truth = false;
	return emit(c, ABI_FILTER_NEGATE, NULL, 0);
}

static int compile_unary(struct compiler *c, const struct script_expr *e, struct operand *o)
{
	int err = compile(c, e->kids[0], o);

	if (!err)
		err = e->op == SCRIPT_NOT ? compile_not(c, o) : compile_minus(c, o);
	o->place = e->place;
	return err;
}

static const uint8_t operators[] = {
	[SCRIPT_ADD] = ABI_FILTER_ADD,
	[SCRIPT_SUB] = ABI_FILTER_SUB,
	[SCRIPT_MUL] = ABI_FILTER_MUL,
	[SCRIPT_DIV] = ABI_FILTER_DIV,
	[SCRIPT_MOD] = ABI_FILTER_MOD,
	[SCRIPT_SHL] = ABI_FILTER_SHIFT_LEFT,
	[SCRIPT_SHR] = ABI_FILTER_SHIFT_RIGHT,
	[SCRIPT_AND] = ABI_FILTER_AND,
	[SCRIPT_XOR] = ABI_FILTER_XOR,
	[SCRIPT_OR] = ABI_FILTER_OR,
	[SCRIPT_EQ] = ABI_FILTER_EQ,
	[SCRIPT_NE] = ABI_FILTER_NE,
	[SCRIPT_LT] = ABI_FILTER_LT,
	[SCRIPT_LE] = ABI_FILTER_LE,
	[SCRIPT_GT] = ABI_FILTER_GT,
	[SCRIPT_GE] = ABI_FILTER_GE,
	[SCRIPT_AND_THEN] = ABI_FILTER_AND_THEN,
	[SCRIPT_OR_ELSE] = ABI_FILTER_OR_ELSE,
	[SCRIPT_LIKE] = ABI_FILTER_MATCH,
	[SCRIPT_UNLIKE] = ABI_FILTER_NOT_MATCH,
};

static enum abi_filter_op mirrored(enum abi_filter_op op)
{
	switch (op) {
	case ABI_FILTER_LT:
		return ABI_FILTER_GT;
	case ABI_FILTER_LE:
		return ABI_FILTER_GE;
	case ABI_FILTER_GT:
		return ABI_FILTER_LT;
	case ABI_FILTER_GE:
		return ABI_FILTER_LE;
	default:
		return op;
	}
}

/* Swaps the code of @a and that of @b after it. */
static void swap_code(struct compiler *c, const struct operand *a, const struct operand *b)
{
	uint8_t first[ABI_FILTER_BYTES_MAX];
	uint32_t n = b->begin - a->begin, rest = c->code_size - b->begin;

	assert(a->begin <= b->begin && b->begin <= c->code_size);
	memcpy(first, c->code + a->begin, n);
	memmove(c->code + a->begin, c->code + b->begin, rest);
	memcpy(c->code + a->begin + rest, first, n);
}

static bool is_surely_number(const struct operand *o)
{
	return o->kind == KIND_NUMBER || o->kind == KIND_INT || o->kind == KIND_REAL;
}

static int check_comparison(struct compiler *c, enum abi_filter_op op, const struct operand *a,
			    const struct operand *b)
{
	bool is_match = op == ABI_FILTER_MATCH || op == ABI_FILTER_NOT_MATCH;

	if (is_match && (b->kind != KIND_TEXT || !b->is_constant))
		return filter_fail(c->d, b->place,
				   "a pattern is a text in quotes, as in name ~ \"tmp*\"");
	if ((a->kind == KIND_TEXT && is_surely_number(b)) ||
	    (b->kind == KIND_TEXT && is_surely_number(a)))
		return filter_fail(c->d, b->place, "a text is compared with a number");
	return 0;
}

static int finish_comparison(struct compiler *c, enum abi_filter_op op, struct operand *a,
			     const struct operand *b)
{
	int err = check_comparison(c, op, a, b);

	if (err)
		return err;
	if (a->is_constant && !b->is_constant) {
		swap_code(c, a, b);
		op = mirrored(op);
	}
	set_truth(a);
	return emit(c, op, NULL, 0);
}

static int fold(struct compiler *c, enum abi_filter_op op, struct operand *a,
		const struct operand *b)
{
	double x = a->kind == KIND_REAL ? a->value.real : number_to_real(a->value);
	double y = b->kind == KIND_REAL ? b->value.real : number_to_real(b->value);

	if (a->kind == KIND_INT && b->kind == KIND_INT)
		return set_constant(c, a, KIND_INT, number_compute(op, a->value, b->value));
	return set_constant(c, a, KIND_REAL,
			    (struct filter_value){ .real = real_compute(op, x, y) });
}

static int finish_arithmetic(struct compiler *c, enum abi_filter_op op, struct operand *a,
			     const struct operand *b, struct script_place at)
{
	bool is_for_reals = op == ABI_FILTER_ADD || op == ABI_FILTER_SUB || op == ABI_FILTER_MUL ||
			    op == ABI_FILTER_DIV;
	bool is_real = a->kind == KIND_REAL || b->kind == KIND_REAL;
	enum kind kind = a->kind == KIND_INT && b->kind == KIND_INT ? KIND_INT : KIND_NUMBER;

	if (a->kind == KIND_TEXT || b->kind == KIND_TEXT)
		return filter_fail(c->d, a->kind == KIND_TEXT ? a->place : b->place,
				   "a text cannot be computed with");
	if (is_real && !is_for_reals)
		return filter_fail(c->d, at, "this operator is for integers only");
	if (a->is_constant && b->is_constant)
		return fold(c, op, a, b);
	*a = (struct operand){ .kind = is_real ? KIND_REAL : kind,
			       .begin = a->begin,
			       .place = a->place };
	return emit(c, op, NULL, 0);
}

/* The left side, the operator with the distance over the right side, the right side. */
static int compile_chain(struct compiler *c, const struct script_expr *e, struct operand *a)
{
	uint16_t distance = 0;
	struct operand b;
	uint32_t at;
	int err = compile(c, e->kids[0], a);

	if (!err)
		err = make_truth(c, a);
	if (!err)
		err = emit(c, (enum abi_filter_op)operators[e->op], &distance, sizeof distance);
	at = c->code_size;
	if (!err)
		err = compile(c, e->kids[1], &b);
	if (!err)
		err = make_truth(c, &b);
	if (err)
		return err;
	assert(c->code_size > at && c->code_size - at <= UINT16_MAX);
	distance = (uint16_t)(c->code_size - at);
	memcpy(c->code + at - sizeof distance, &distance, sizeof distance);
	return 0;
}

static bool is_comparison(enum abi_filter_op op)
{
	return op == ABI_FILTER_MATCH || op == ABI_FILTER_NOT_MATCH ||
	       (op >= ABI_FILTER_EQ && op <= ABI_FILTER_GE);
}

static int compile_binary(struct compiler *c, const struct script_expr *e, struct operand *a)
{
	enum abi_filter_op op = (enum abi_filter_op)operators[e->op];
	struct operand b;
	int err;

	assert(e->op < sizeof operators && op);
	if (op == ABI_FILTER_AND_THEN || op == ABI_FILTER_OR_ELSE)
		return compile_chain(c, e, a);
	err = compile(c, e->kids[0], a);
	if (!err)
		err = compile(c, e->kids[1], &b);
	if (err)
		return err;
	return is_comparison(op) ? finish_comparison(c, op, a, &b)
				 : finish_arithmetic(c, op, a, &b, e->place);
}

/* Recursion follows the height of the tree, which the parser bounds. */
static int compile(struct compiler *c, const struct script_expr *e, struct operand *o)
{
	*o = (struct operand){ .begin = c->code_size, .place = e->place };
	switch (e->kind) {
	case EXPR_UNARY:
		return compile_unary(c, e, o);
	case EXPR_BINARY:
		return compile_binary(c, e, o);
	case EXPR_VARIABLE:
		return emit_name(c, ABI_FILTER_FIELD, e);
	case EXPR_CONTEXT:
		return emit_name(c, ABI_FILTER_CONTEXT, e);
	default:
		return compile_literal(c, e, o);
	}
}

/* Follows how the stack grows and shrinks. */
static int effect(uint8_t op)
{
	if (op == ABI_FILTER_AND_THEN || op == ABI_FILTER_OR_ELSE || op >= ABI_FILTER_EQ)
		return -1;
	return op >= ABI_FILTER_SMALL && op <= ABI_FILTER_CONTEXT;
}

/* Whether linking has room: the limits of abi/filter.h. */
static bool does_fit(const struct compiler *c)
{
	uint32_t targets[ABI_FILTER_DEPTH_MAX], n_jumps = 0, n = 0, depth = 0;

	for (uint32_t at = 0; at < c->code_size; n++) {
		uint8_t op = c->code[at];
		uint16_t distance;

		while (n_jumps && targets[n_jumps - 1] == at)
			n_jumps--;
		memcpy(&distance, c->code + at + 1, sizeof distance);
		at += 1 + operand_bytes(op);
		depth += (uint32_t)effect(op);
		if (depth > ABI_FILTER_DEPTH_MAX)
			return false;
		if (op != ABI_FILTER_AND_THEN && op != ABI_FILTER_OR_ELSE)
			continue;
		if (n_jumps == ABI_FILTER_DEPTH_MAX)
			return false;
		targets[n_jumps++] = at + distance;
	}
	assert(depth == 1 && !n_jumps);
	return n <= ABI_FILTER_STEPS_MAX &&
	       sizeof(struct abi_filter) + c->code_size + c->data_size <= ABI_FILTER_BYTES_MAX;
}

static void put_together(const struct compiler *c, struct filter_code *code)
{
	struct abi_filter head = {
		.magic = ABI_FILTER_MAGIC,
		.size = (uint16_t)(sizeof head + c->code_size + c->data_size),
		.code_size = (uint16_t)c->code_size,
	};

	assert(head.size <= sizeof code->bytes);
	memcpy(code->bytes, &head, sizeof head);
	memcpy(code->bytes + sizeof head, c->code, c->code_size);
	memcpy(code->bytes + sizeof head + c->code_size, c->data, c->data_size);
	code->size = head.size;
}

int filter_compile_tree(const struct script_expr *e, struct filter_code *code, struct diag *d)
{
	struct compiler c = { .d = d };
	struct operand o;
	int err = compile(&c, e, &o);

	if (!err)
		err = make_truth(&c, &o);
	if (!err)
		err = emit(&c, ABI_FILTER_END, NULL, 0);
	if (err)
		return err;
	if (!does_fit(&c))
		return too_large(d);
	put_together(&c, code);
	return 0;
}

int filter_compile(const char *text, struct filter_code *code, struct diag *d)
{
	struct filter_tree tree;
	int err = filter_parse(&tree, text, d);

	if (!err)
		err = filter_compile_tree(tree.root, code, d);
	else if (err == -E2BIG)
		too_large(d);
	filter_tree_fini(&tree);
	return err;
}
