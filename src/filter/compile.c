/* SPDX-License-Identifier: MIT */
/*
 * filter/compile.c - parse an expression by precedence climbing and emit byte code in one pass.
 *
 * Operands are emitted before operators.  Constants are computed at compile time, and moved to the
 * right side of comparisons, where linking expects them.  Two adjacent pieces of code may change
 * places, since code contains no positions.
 */
#include "filter/compile.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "filter/compile_lex.h"
#include "filter/number.h"
#include "filter/step.h"

enum kind { KIND_ANY, KIND_NUMBER, KIND_INT, KIND_REAL, KIND_TEXT };

struct operand {
	enum kind kind; /* as far as is known without an event */
	bool is_constant;
	bool is_truth;		   /* 0 or 1 */
	uint32_t begin;		   /* offset of its code, which is the end of the code so far */
	const char *at;		   /* in the expression */
	struct filter_value value; /* constant numbers */
};

struct compiler {
	struct lexer lexer;
	uint32_t code_size, data_size;
	uint8_t code[ABI_FILTER_BYTES_MAX + 16];
	char data[ABI_FILTER_BYTES_MAX];
	uint32_t nesting;
};

enum { NESTING_MAX = 64 };

static int compile_or(struct compiler *c, struct operand *o);

static int too_large(struct compiler *c)
{
	return diag_fail(
		c->lexer.d, -E2BIG,
		"filter: the expression is too long or too deep: at most %d bytes of code, %d "
		"operations, %d nested values\n  split it, or use fewer parentheses",
		ABI_FILTER_BYTES_MAX, ABI_FILTER_STEPS_MAX, ABI_FILTER_DEPTH_MAX);
}

static int emit(struct compiler *c, enum abi_filter_op op, const void *operand, size_t size)
{
	assert(c->code_size <= ABI_FILTER_BYTES_MAX && size == operand_bytes((uint8_t)op));
	if (c->code_size + 1 + size > ABI_FILTER_BYTES_MAX)
		return too_large(c);
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
			return too_large(c);
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

static int emit_name(struct compiler *c, enum abi_filter_op op)
{
	uint8_t operand[3];
	uint16_t at;
	int err = add_data(c, c->lexer.bytes, c->lexer.size, &at);

	if (err)
		return err;
	memcpy(operand, &at, sizeof at);
	operand[2] = (uint8_t)c->lexer.size;
	return emit(c, op, operand, sizeof operand);
}

static int emit_text(struct compiler *c)
{
	uint16_t operand[2] = { 0, (uint16_t)c->lexer.size };
	int err = add_data(c, c->lexer.bytes, c->lexer.size, &operand[0]);

	return err ? err : emit(c, ABI_FILTER_TEXT, operand, sizeof operand);
}

/* Makes a condition's value for && and || and the end. */
static int make_truth(struct compiler *c, struct operand *o)
{
	if (o->kind == KIND_TEXT)
		return lex_fail(&c->lexer, o->at,
				"a text is no condition; compare it, as in name == \"x\"");
	if (o->is_truth)
		return 0;
	*o = (struct operand){ .kind = KIND_INT, .is_truth = true, .begin = o->begin, .at = o->at };
	return emit(c, ABI_FILTER_TRUTH, NULL, 0);
}

static int compile_parentheses(struct compiler *c, struct operand *o)
{
	const char *at = c->lexer.at;
	int err = lex_next(&c->lexer);

	if (!err)
		err = compile_or(c, o);
	if (err)
		return err;
	if (c->lexer.token != TOKEN_CLOSE)
		return c->lexer.token == TOKEN_END ? lex_fail(&c->lexer, at, "this ( is not closed")
						   : lex_fail(&c->lexer, c->lexer.at,
							      "an operator or ) is expected here");
	return lex_next(&c->lexer);
}

static int compile_constant(struct compiler *c, struct operand *o)
{
	struct lexer *l = &c->lexer;

	switch (l->token) {
	case TOKEN_INT:
		return set_constant(c, o, KIND_INT, number_unsigned(l->value));
	case TOKEN_REAL:
		return set_constant(c, o, KIND_REAL, (struct filter_value){ .real = l->real });
	default:
		o->kind = KIND_TEXT;
		o->is_constant = true;
		return emit_text(c);
	}
}

static int compile_primary(struct compiler *c, struct operand *o)
{
	struct lexer *l = &c->lexer;
	int err;

	switch (l->token) {
	case TOKEN_OPEN:
		return compile_parentheses(c, o);
	case TOKEN_INT:
	case TOKEN_REAL:
	case TOKEN_TEXT:
		err = compile_constant(c, o);
		break;
	case TOKEN_FIELD:
	case TOKEN_CONTEXT:
		err = emit_name(c, l->token == TOKEN_FIELD ? ABI_FILTER_FIELD : ABI_FILTER_CONTEXT);
		break;
	case TOKEN_END:
		return l->at == l->text
			       ? lex_fail(l, l->at,
					  "the expression is empty; write one, as in size > 4096")
			       : lex_fail(l, l->at, "a field, a number or a text is missing here");
	default:
		return lex_fail(l, l->at, "a field, a number, a text or ( is expected here");
	}
	return err ? err : lex_next(l);
}

static int compile_unary(struct compiler *c, struct operand *o);

static int compile_not(struct compiler *c, struct operand *o)
{
	int err = compile_unary(c, o);

	if (err)
		return err;
	if (o->kind == KIND_TEXT)
		return lex_fail(&c->lexer, o->at,
				"a text is no condition; compare it, as in name != \"x\"");
	*o = (struct operand){ .kind = KIND_INT, .is_truth = true, .begin = o->begin, .at = o->at };
	return emit(c, ABI_FILTER_NOT, NULL, 0);
}

static int compile_minus(struct compiler *c, struct operand *o)
{
	int err = compile_unary(c, o);

	if (err)
		return err;
	if (o->kind == KIND_TEXT)
		return lex_fail(&c->lexer, o->at, "a text cannot be computed with");
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

static int compile_unary(struct compiler *c, struct operand *o)
{
	struct lexer *l = &c->lexer;
	const char *at = l->at;
	bool is_not = l->token == TOKEN_NOT;
	int err;

	*o = (struct operand){ .begin = c->code_size, .at = at };
	if (++c->nesting > NESTING_MAX)
		return too_large(c);
	if (is_not || (l->token == TOKEN_OPERATOR && l->op == ABI_FILTER_SUB)) {
		err = lex_next(l);
		if (!err)
			err = is_not ? compile_not(c, o) : compile_minus(c, o);
	} else {
		err = compile_primary(c, o);
	}
	o->at = at;
	c->nesting--;
	return err;
}

/* The precedence of a binary operator; 0: none.  Unlike in C, & ^ | bind tighter than
 * comparisons. */
static int strength(const struct lexer *l)
{
	if (l->token != TOKEN_OPERATOR)
		return 0;
	switch (l->op) {
	case ABI_FILTER_OR:
		return 2;
	case ABI_FILTER_XOR:
		return 3;
	case ABI_FILTER_AND:
		return 4;
	case ABI_FILTER_SHIFT_LEFT:
	case ABI_FILTER_SHIFT_RIGHT:
		return 5;
	case ABI_FILTER_ADD:
	case ABI_FILTER_SUB:
		return 6;
	case ABI_FILTER_MUL:
	case ABI_FILTER_DIV:
	case ABI_FILTER_MOD:
		return 7;
	default:
		return 1;
	}
}
enum { STRENGTH_COMPARISON = 1, STRENGTH_MAX = 7 };

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
		return lex_fail(&c->lexer, b->at,
				"a pattern is a text in quotes, as in name ~ \"tmp*\"");
	if ((a->kind == KIND_TEXT && is_surely_number(b)) ||
	    (b->kind == KIND_TEXT && is_surely_number(a)))
		return lex_fail(&c->lexer, b->at, "a text is compared with a number");
	return 0;
}

static int finish_comparison(struct compiler *c, enum abi_filter_op op, struct operand *a,
			     const struct operand *b)
{
	int err = check_comparison(c, op, a, b);

	if (err)
		return err;
	if (strength(&c->lexer) == STRENGTH_COMPARISON)
		return lex_fail(
			&c->lexer, c->lexer.at,
			"comparisons do not chain; write a < b && b < c, or use parentheses");
	if (a->is_constant && !b->is_constant) {
		swap_code(c, a, b);
		op = mirrored(op);
	}
	*a = (struct operand){ .kind = KIND_INT, .is_truth = true, .begin = a->begin, .at = a->at };
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
			     const struct operand *b, const char *at)
{
	bool is_for_reals = op == ABI_FILTER_ADD || op == ABI_FILTER_SUB || op == ABI_FILTER_MUL ||
			    op == ABI_FILTER_DIV;
	bool is_real = a->kind == KIND_REAL || b->kind == KIND_REAL;
	enum kind kind = a->kind == KIND_INT && b->kind == KIND_INT ? KIND_INT : KIND_NUMBER;

	if (a->kind == KIND_TEXT || b->kind == KIND_TEXT)
		return lex_fail(&c->lexer, a->kind == KIND_TEXT ? a->at : b->at,
				"a text cannot be computed with");
	if (is_real && !is_for_reals)
		return lex_fail(&c->lexer, at, "this operator is for integers only");
	if (a->is_constant && b->is_constant)
		return fold(c, op, a, b);
	*a = (struct operand){ .kind = is_real ? KIND_REAL : kind, .begin = a->begin, .at = a->at };
	return emit(c, op, NULL, 0);
}

/* Parses operators of precedence @least and more: precedence climbing. */
static int compile_binary(struct compiler *c, struct operand *a, int least)
{
	struct lexer *l = &c->lexer;
	struct operand b;
	int err = compile_unary(c, a);

	while (!err && strength(l) >= least) {
		int own = strength(l);
		enum abi_filter_op op = l->op;
		const char *at = l->at;

		err = lex_next(l);
		if (!err)
			err = compile_binary(c, &b, own + 1);
		if (err)
			return err;
		err = own == STRENGTH_COMPARISON ? finish_comparison(c, op, a, &b)
						 : finish_arithmetic(c, op, a, &b, at);
	}
	return err;
}

/* a && b && c, or with ||: @operand between them. */
static int compile_chain(struct compiler *c, struct operand *a, enum token token,
			 enum abi_filter_op op, int (*operand)(struct compiler *, struct operand *))
{
	int err = operand(c, a);
	struct operand b;

	while (!err && c->lexer.token == token) {
		uint16_t distance = 0;
		uint32_t at;

		err = make_truth(c, a);
		if (!err)
			err = emit(c, op, &distance, sizeof distance);
		at = c->code_size;
		if (!err)
			err = lex_next(&c->lexer);
		if (!err)
			err = operand(c, &b);
		if (!err)
			err = make_truth(c, &b);
		if (err)
			return err;
		assert(c->code_size > at && c->code_size - at <= UINT16_MAX);
		distance = (uint16_t)(c->code_size - at);
		memcpy(c->code + at - sizeof distance, &distance, sizeof distance);
	}
	return err;
}

static int compile_comparison(struct compiler *c, struct operand *o)
{
	return compile_binary(c, o, STRENGTH_COMPARISON);
}

static int compile_and(struct compiler *c, struct operand *o)
{
	return compile_chain(c, o, TOKEN_AND_THEN, ABI_FILTER_AND_THEN, compile_comparison);
}

static int compile_or(struct compiler *c, struct operand *o)
{
	return compile_chain(c, o, TOKEN_OR_ELSE, ABI_FILTER_OR_ELSE, compile_and);
}

static int check_end(struct compiler *c)
{
	struct lexer *l = &c->lexer;

	if (l->token == TOKEN_END)
		return 0;
	if (l->token == TOKEN_CLOSE)
		return lex_fail(l, l->at, "there is no ( for this )");
	if (l->token == TOKEN_FIELD && l->size == 3 && !memcmp(l->bytes, "and", 3))
		return lex_fail(l, l->at, "write && for and");
	if (l->token == TOKEN_FIELD && l->size == 2 && !memcmp(l->bytes, "or", 2))
		return lex_fail(l, l->at, "write || for or");
	return lex_fail(l, l->at, "an operator is expected here, as == or &&");
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

int filter_compile(const char *text, struct filter_code *code, struct diag *d)
{
	struct compiler c = { .lexer = { .text = text, .p = text, .d = d } };
	struct operand o;
	int err = lex_next(&c.lexer);

	if (!err)
		err = compile_or(&c, &o);
	if (!err)
		err = check_end(&c);
	if (!err)
		err = make_truth(&c, &o);
	if (!err)
		err = emit(&c, ABI_FILTER_END, NULL, 0);
	if (err)
		return err;
	assert(!c.nesting);
	if (!does_fit(&c))
		return too_large(&c);
	put_together(&c, code);
	return 0;
}
