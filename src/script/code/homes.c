/* SPDX-License-Identifier: MIT */
/*
 * code/homes.c - where locals and temporaries live.
 *
 * Uses are counted, those in loops eight times for each loop.  The locals with the most uses get
 * the registers that are kept over calls; what is left of these serves temporaries.
 */
#include "script/code/internal.h"

#include <errno.h>
#include <string.h>

enum { LOOP_WEIGHT = 8, WEIGHT_MOST = 1 << 20 };

struct count {
	uint64_t *uses; /* of each local */
	bool uses_frame;
};

static void count_expr(struct count *n, const struct script_expr *e, uint32_t weight)
{
	if (!e)
		return;
	if (e->variable && !e->variable->is_global)
		n->uses[e->variable->index] += weight;
	if (code_is_slot(e) || (e->kind == EXPR_CALL && e->builtin && e->builtin->standard >= 0))
		n->uses_frame = true;
	if (code_is_slot(e))
		return;
	for (uint32_t i = 0; i < e->n_kids; i++)
		count_expr(n, e->kids[i], weight);
}

static void count_foreach(struct count *n, const struct script_foreach *f, uint32_t weight,
			  uint32_t inner)
{
	for (uint32_t i = 0; i < f->n_keys; i++)
		count_expr(n, f->keys[i], inner);
	count_expr(n, f->value, inner);
	count_expr(n, f->array, weight);
	count_expr(n, f->limit, weight);
}

static void count_stmt(struct count *n, const struct script_stmt *s, uint32_t weight)
{
	bool is_loop = s->kind == STMT_WHILE || s->kind == STMT_FOR || s->kind == STMT_FOREACH;
	uint32_t inner = is_loop && weight < WEIGHT_MOST ? LOOP_WEIGHT * weight : weight;

	count_expr(n, s->init, weight);
	count_expr(n, s->expr, inner);
	count_expr(n, s->step, inner);
	count_expr(n, s->variable, weight);
	if (s->foreach)
		count_foreach(n, s->foreach, weight, inner);
	for (uint32_t i = 0; i < s->n_body; i++)
		if (s->body[i])
			count_stmt(n, s->body[i], inner);
}

/* The local that is used most and has no home; -1: none that is used. */
static int64_t hottest(const struct code *c, const uint64_t *uses, uint32_t n)
{
	int64_t best = -1;

	for (uint32_t i = 0; i < n; i++)
		if (uses[i] && !c->homes[i].reg && !c->homes[i].at &&
		    (best < 0 || uses[i] > uses[best]))
			best = i;
	return best;
}

static void use_stack(struct code *c, uint32_t bytes)
{
	c->stack += bytes;
	if (c->stack > SCRIPT_STACK_MAX) {
		code_too_large(c, c->of ? c->of->decl->place : c->handler->place,
			       "needs too much stack for its variables; split it up");
		c->stack = 0;
	}
	if (c->stack > c->function->stack)
		c->function->stack = c->stack;
}

static void give_homes(struct code *c, const uint64_t *uses, uint32_t n)
{
	int64_t i;

	while (c->free_registers && (i = hottest(c, uses, n)) >= 0) {
		c->homes[i].reg = (uint8_t)__builtin_ctz(c->free_registers);
		c->free_registers &= c->free_registers - 1;
	}
	while (!c->error && (i = hottest(c, uses, n)) >= 0) {
		use_stack(c, 8);
		c->homes[i].at = (int16_t)-c->stack;
	}
}

static void load_parameters(struct code *c)
{
	for (uint32_t i = 0; c->of && i < c->of->n_parameters; i++) {
		struct code_home home = c->homes[i];

		if (i >= 5 && (home.reg || home.at)) {
			code_number(c, BPF_REG_1, i);
			code_helper(c, c->of->parameters[i]->type == SCRIPT_STRING
					       ? SCRIPT_HELPER_ARGUMENT_STRING
					       : SCRIPT_HELPER_ARGUMENT_LONG);
		}
		if (home.reg || home.at)
			code_to_home(c, home, i < 5 ? (uint8_t)(BPF_REG_1 + i) : BPF_REG_0);
	}
}

static void clear_locals(struct code *c, struct script_variable *const *locals, uint32_t first,
			 uint32_t n, enum script_type type)
{
	bool is_loaded = false;

	for (uint32_t i = first; i < n; i++) {
		struct code_home home = c->homes[i];

		if ((locals[i]->type == SCRIPT_STRING) != (type == SCRIPT_STRING))
			continue;
		if (home.reg)
			code_zero(c, type, home.reg);
		else if (home.at && !is_loaded)
			code_zero(c, type, BPF_REG_0), is_loaded = true;
		if (!home.reg && home.at)
			code_store(c, BPF_REG_10, home.at, BPF_REG_0);
	}
}

void code_homes(struct code *c, struct script_variable *const *locals, uint32_t n,
		struct script_stmt *const *body, uint32_t n_body, struct script_expr *condition)
{
	struct count count = { .uses = script_allocate(c->arena, (n + 1) * sizeof(uint64_t)) };

	c->homes = script_allocate(c->arena, (n + 1) * sizeof *c->homes);
	if (!count.uses || !c->homes) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		locals[i]->index = i;
	for (uint32_t i = 0; i < n_body; i++)
		if (body[i])
			count_stmt(&count, body[i], 1);
	count_expr(&count, condition, 1);
	for (uint32_t i = 0; c->of && c->of->next && i < c->of->n_parameters; i++)
		count.uses[i]++; /* `next` may pass it on */
	c->free_registers = 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9;
	if (c->handler && count.uses_frame) {
		c->free_registers = 1 << 7 | 1 << 8 | 1 << 9;
		code_move(c, CODE_FRAME, BPF_REG_1);
	}
	give_homes(c, count.uses, n);
	load_parameters(c);
	clear_locals(c, locals, c->of ? c->of->n_parameters : 0, n, SCRIPT_LONG);
	clear_locals(c, locals, c->of ? c->of->n_parameters : 0, n, SCRIPT_STRING);
}

struct code_home code_take(struct code *c)
{
	struct code_home home = { 0 };

	if (c->free_registers) {
		home.reg = (uint8_t)__builtin_ctz(c->free_registers);
		c->free_registers &= c->free_registers - 1;
		return home;
	}
	use_stack(c, 8);
	home.at = (int16_t)-c->stack;
	return home;
}

void code_drop(struct code *c, struct code_home home)
{
	if (home.reg)
		c->free_registers |= (uint16_t)(1 << home.reg);
	else
		c->stack -= c->stack ? 8 : 0;
}

int16_t code_take_cells(struct code *c, uint32_t n)
{
	use_stack(c, 8 * n);
	return (int16_t)-c->stack;
}

void code_drop_cells(struct code *c, uint32_t n)
{
	c->stack -= c->stack >= 8 * n ? 8 * n : 0;
}

void code_from_home(struct code *c, uint8_t to, struct code_home home)
{
	if (home.reg)
		code_move(c, to, home.reg);
	else
		code_load(c, to, BPF_REG_10, home.at);
}

void code_to_home(struct code *c, struct code_home home, uint8_t from)
{
	if (home.reg)
		code_move(c, home.reg, from);
	else
		code_store(c, BPF_REG_10, home.at, from);
}

struct code_home code_to_temporary(struct code *c, struct script_expr *e)
{
	struct code_home home = code_take(c);
	uint8_t reg = home.reg ? home.reg : code_best(c, e, BPF_REG_1);

	code_expr(c, e, reg);
	code_to_home(c, home, reg);
	return home;
}
