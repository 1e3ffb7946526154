/* SPDX-License-Identifier: MIT */
/*
 * code/call.c - arguments into registers, and calls of functions, helpers and builtins.
 *
 * Arguments are computed from left to right.  One that is computed before the last that needs all
 * registers waits in a temporary, unless it is as good to compute it later.
 */
#include "script/code/internal.h"

#include <errno.h>
#include <stddef.h>

enum { IN_REGISTERS = 5 };

enum { NOT_YET, IN_TEMPORARY, IN_PLACE };

struct arguments {
	const struct code_argument *at;
	uint32_t n;
	uint8_t *state;
	struct code_home *homes;
};

static uint8_t register_of(uint32_t i)
{
	return (uint8_t)(BPF_REG_1 + i);
}

/* An expression that changes only the registers from its own upwards, and nothing else. */
static bool is_quiet(const struct code *c, const struct arguments *a, uint32_t i)
{
	const struct script_expr *e = a->at[i].expr;

	if (a->at[i].kind != ARGUMENT_EXPR || code_is_plain(c, e))
		return true;
	return a->n <= IN_REGISTERS && code_fits(c, e, register_of(i)) && !code_writes(e);
}

static bool rest_is_quiet(const struct code *c, const struct arguments *a, uint32_t from)
{
	for (uint32_t i = from; i < a->n; i++)
		if (!is_quiet(c, a, i))
			return false;
	return true;
}

static bool rest_writes(const struct arguments *a, uint32_t from)
{
	for (uint32_t i = from; i < a->n; i++)
		if (a->at[i].kind == ARGUMENT_EXPR && code_writes(a->at[i].expr))
			return true;
	return false;
}

/* Whether argument @i may be computed after those behind it have had their effects. */
static bool can_wait(const struct code *c, const struct arguments *a, uint32_t i)
{
	if (a->at[i].kind != ARGUMENT_EXPR)
		return true;
	if (code_is_plain(c, a->at[i].expr))
		return !rest_writes(a, i + 1);
	return is_quiet(c, a, i) && rest_is_quiet(c, a, i + 1);
}

/* Whether nothing before argument @i needs registers but its own. */
static bool can_be_in_place(const struct code *c, const struct arguments *a, uint32_t i)
{
	if (a->n > IN_REGISTERS || !rest_is_quiet(c, a, i + 1))
		return false;
	for (uint32_t j = 0; j < i; j++)
		if (a->state[j] == NOT_YET && a->at[j].kind == ARGUMENT_EXPR &&
		    !code_is_plain(c, a->at[j].expr))
			return false;
	return true;
}

static void compute(struct code *c, struct arguments *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (can_wait(c, a, i))
			continue;
		if (can_be_in_place(c, a, i)) {
			code_expr(c, a->at[i].expr, register_of(i));
			a->state[i] = IN_PLACE;
		} else {
			a->homes[i] = code_to_temporary(c, a->at[i].expr);
			a->state[i] = IN_TEMPORARY;
		}
	}
}

static void load(struct code *c, const struct arguments *a, uint32_t i, uint8_t to)
{
	const struct code_argument *argument = &a->at[i];

	if (a->state[i] == IN_PLACE)
		return;
	if (a->state[i] == IN_TEMPORARY) {
		code_from_home(c, to, a->homes[i]);
		return;
	}
	switch (argument->kind) {
	case ARGUMENT_EXPR:
		code_expr(c, argument->expr, to);
		break;
	case ARGUMENT_NUMBER:
		code_number(c, to, argument->number);
		break;
	case ARGUMENT_CELLS:
		code_move(c, to, BPF_REG_10);
		if (argument->number)
			code_alu_number(c, BPF_ADD, to, (int32_t)argument->number);
		break;
	case ARGUMENT_HOME:
		code_from_home(c, to, argument->home);
		break;
	}
}

static void pass(struct code *c, const struct arguments *a, uint32_t i, enum script_type type)
{
	load(c, a, i, BPF_REG_2);
	code_number(c, BPF_REG_1, i);
	code_helper(c, type == SCRIPT_STRING ? SCRIPT_HELPER_PASS_STRING : SCRIPT_HELPER_PASS_LONG);
}

/* All arguments where a call expects them.  @types: of the parameters, if there are more than five. */
static void marshal(struct code *c, struct arguments *a, struct script_variable *const *types)
{
	compute(c, a);
	for (uint32_t i = IN_REGISTERS; i < a->n; i++)
		pass(c, a, i, types[i]->type);
	for (uint32_t i = 0; i < a->n && i < IN_REGISTERS; i++)
		load(c, a, i, register_of(i));
	for (uint32_t i = a->n; i-- > 0;)
		if (a->state[i] == IN_TEMPORARY)
			code_drop(c, a->homes[i]);
}

void code_invoke(struct code *c, struct script_place place, uint32_t helper,
		 const struct code_argument *arguments, uint32_t n)
{
	uint8_t state[IN_REGISTERS] = { 0 };
	struct code_home homes[IN_REGISTERS];
	struct arguments a = { arguments, n, state, homes };

	marshal(c, &a, NULL);
	code_at(c, place);
	code_helper(c, helper);
}

static void call_function(struct code *c, struct script_place place, struct script_function *f,
			  const struct code_argument *arguments, uint32_t n)
{
	struct arguments a = { arguments, n, script_allocate(c->arena, n + 1),
			       script_allocate(c->arena, (n + 1) * sizeof *a.homes) };

	if (!a.state || !a.homes) {
		code_fail(c, -ENOMEM);
		return;
	}
	marshal(c, &a, f->parameters);
	code_at(c, place);
	code_call_function(c, f->index);
}

static struct code_argument *some_arguments(struct code *c, uint32_t n)
{
	struct code_argument *a = script_allocate(c->arena, (n + 1) * sizeof *a);

	if (!a)
		code_fail(c, -ENOMEM);
	return a;
}

void code_call_next(struct code *c, struct script_place place)
{
	struct script_function *f = c->of;
	struct code_argument *arguments;

	code_at(c, place);
	if (!f->next) {
		code_helper(c, SCRIPT_HELPER_STEP_NEXT);
		return;
	}
	arguments = some_arguments(c, f->n_parameters);
	for (uint32_t i = 0; arguments && i < f->n_parameters; i++)
		arguments[i] = code_by_home(c->originals[i]);
	if (arguments)
		call_function(c, place, f->next, arguments, f->n_parameters);
}

/* A cell of the event: at hand in a handler. */
static void standard(struct code *c, const struct script_expr *e, uint8_t to)
{
	enum script_standard cell = e->builtin->standard;

	if (c->handler) {
		code_load(c, to, CODE_FRAME,
			  (int32_t)offsetof(struct script_frame, standard) + 8 * (int32_t)cell);
		return;
	}
	code_number(c, BPF_REG_1, cell);
	code_helper(c, script_standard_type(cell) == SCRIPT_STRING ? SCRIPT_HELPER_STANDARD_STRING
								   : SCRIPT_HELPER_STANDARD_LONG);
	code_move(c, to, BPF_REG_0);
}

void code_call(struct code *c, struct script_expr *e, uint8_t to)
{
	struct code_argument *arguments;

	if (!e->function && e->builtin->standard >= 0) {
		standard(c, e, to);
		return;
	}
	arguments = some_arguments(c, e->n_kids);
	for (uint32_t i = 0; arguments && i < e->n_kids; i++)
		arguments[i] = code_by_expr(e->kids[i]);
	if (!arguments)
		return;
	if (e->function)
		call_function(c, e->place, e->function, arguments, e->n_kids);
	else
		code_invoke(c, e->place, SCRIPT_HELPER_BUILTIN + script_builtin_number(e->builtin),
			    arguments, e->n_kids);
	if (e->type != SCRIPT_NOTHING)
		code_move(c, to, BPF_REG_0);
}
