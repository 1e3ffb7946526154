/* SPDX-License-Identifier: MIT */
/*
 * code/assign.c - variables and elements of arrays, read and changed.
 *
 * The keys of an element are computed before the value that it gets.
 */
#include "script/code/internal.h"

void code_get_variable(struct code *c, const struct script_variable *v, uint8_t to)
{
	if (!v->is_global) {
		code_from_home(c, to, c->homes[v->index]);
		return;
	}
	code_global_address(c, to, v->index);
	code_load(c, to, to, 0);
}

void code_set_variable(struct code *c, const struct script_variable *v, uint8_t from)
{
	uint8_t address = from == BPF_REG_0 ? BPF_REG_1 : BPF_REG_0;

	if (!v->is_global) {
		code_to_home(c, c->homes[v->index], from);
	} else if (v->type == SCRIPT_STRING) {
		code_move(c, BPF_REG_2, from);
		code_number(c, BPF_REG_1, v->index);
		code_helper(c, SCRIPT_HELPER_GLOBAL_SET);
	} else {
		code_global_address(c, address, v->index);
		code_store(c, address, 0, from);
	}
}

/* Whether the last instruction of @e is the first one that can change its result register: an error
 * on the way, which a catch of this function sees, leaves the local as it was. */
static bool is_single_step(const struct code *c, const struct script_expr *e)
{
	if (code_is_plain(c, e))
		return true;
	return e->kind == EXPR_BINARY && e->op != SCRIPT_DIV && e->op != SCRIPT_MOD &&
	       e->op < SCRIPT_CONCAT && code_is_plain(c, e->kids[0]) &&
	       code_is_plain(c, e->kids[1]);
}

/* Whether @e can be computed in the register where @v itself lives. */
static bool can_be_in_place(const struct code *c, const struct script_variable *v,
			    const struct script_expr *e)
{
	if (c->n_tries && !is_single_step(c, e))
		return false;
	if (!code_mentions(e, v))
		return true;
	return e->kind == EXPR_BINARY && e->op < SCRIPT_CONCAT &&
	       e->kids[0]->kind == EXPR_VARIABLE && e->kids[0]->variable == v &&
	       !code_mentions(e->kids[1], v);
}

static void set_local(struct code *c, const struct script_variable *v, struct script_expr *value,
		      uint8_t to, bool is_used)
{
	struct code_home home = c->homes[v->index];

	/* Inside an expression other registers than @to and those above may be in use. */
	if (home.reg && !is_used && can_be_in_place(c, v, value)) {
		code_expr(c, value, home.reg);
		return;
	}
	code_expr(c, value, to);
	code_to_home(c, home, to);
}

static void set_cell(struct code *c, const struct script_variable *v, struct script_expr *value,
		     uint8_t to, bool is_used)
{
	struct code_argument arguments[] = { code_by_number(v->index), code_by_expr(value) };

	if (v->type != SCRIPT_STRING) {
		code_expr(c, value, to);
		code_set_variable(c, v, to);
		return;
	}
	code_invoke(c, value->place, SCRIPT_HELPER_GLOBAL_SET, arguments, 2);
	if (is_used)
		code_get_variable(c, v, to);
}

static void set_variable(struct code *c, struct script_expr *e, uint8_t to, bool is_used)
{
	struct script_variable *v = e->kids[0]->variable;
	struct script_expr sum = *e, *value = e->kids[1];

	if (e->op != SCRIPT_NO_OP) {
		sum.kind = EXPR_BINARY; /* x op= y as x = x op y */
		sum.variable = NULL;
		sum.type = v->type;
		value = &sum;
	}
	if (v->is_global)
		set_cell(c, v, value, to, is_used);
	else
		set_local(c, v, value, to, is_used);
}

/* @helper on an element, with a value. */
static void invoke_element(struct code *c, struct script_expr *e, uint32_t helper, int16_t cells,
			   struct code_argument value)
{
	struct code_argument arguments[] = { code_by_number(e->kids[0]->variable->index),
					     code_by_cells(cells), value };

	code_invoke(c, e->place, helper, arguments, 3);
}

/* The value is needed after the call that stores it. */
static void store_and_keep(struct code *c, struct script_expr *e, uint32_t helper, int16_t cells,
			   uint8_t to)
{
	struct code_home value = code_to_temporary(c, e->kids[1]);

	invoke_element(c, e, helper, cells, code_by_home(value));
	code_from_home(c, to, value);
	code_drop(c, value);
}

static void add_to_element(struct code *c, struct script_expr *e, int16_t cells, uint8_t to,
			   bool is_used)
{
	struct script_expr minus = { .kind = EXPR_UNARY,
				     .op = SCRIPT_MINUS,
				     .place = e->place,
				     .n_kids = 1,
				     .kids = &e->kids[1],
				     .type = SCRIPT_LONG };
	struct script_expr *value = e->op == SCRIPT_SUB ? &minus : e->kids[1];

	invoke_element(c, e, SCRIPT_HELPER_ARRAY_ADD, cells, code_by_expr(value));
	if (is_used)
		code_move(c, to, BPF_REG_0);
}

/* R0 = R0 op @with. */
static void operate_with(struct code *c, struct script_expr *e, struct code_home with)
{
	struct code_argument arguments[2];
	struct code_home old;

	if (e->op != SCRIPT_CONCAT) {
		code_from_home(c, BPF_REG_1, with);
		code_at(c, e->place);
		code_operate(c, e->op, BPF_REG_0, BPF_REG_1);
		return;
	}
	old = code_take(c);
	code_to_home(c, old, BPF_REG_0);
	arguments[0] = code_by_home(old);
	arguments[1] = code_by_home(with);
	code_invoke(c, e->place, SCRIPT_HELPER_CONCAT, arguments, 2);
	code_drop(c, old);
}

static void change_element(struct code *c, struct script_expr *e, int16_t cells, uint8_t to,
			   bool is_used)
{
	struct code_home with = code_to_temporary(c, e->kids[1]), value;
	struct code_argument arguments[] = { code_by_number(e->kids[0]->variable->index),
					     code_by_cells(cells) };

	code_invoke(c, e->place, SCRIPT_HELPER_ARRAY_GET, arguments, 2);
	operate_with(c, e, with);
	value = code_take(c);
	code_to_home(c, value, BPF_REG_0);
	invoke_element(c, e, SCRIPT_HELPER_ARRAY_SET, cells, code_by_home(value));
	if (is_used)
		code_from_home(c, to, value);
	code_drop(c, value);
	code_drop(c, with);
}

static void set_element(struct code *c, struct script_expr *e, uint8_t to, bool is_used)
{
	struct script_expr *element = e->kids[0];
	uint32_t n = element->kind == EXPR_ELEMENT ? element->n_kids : 0, helper;
	int16_t cells = code_keys(c, element->kids, n);

	helper = e->op == SCRIPT_COLLECT ? SCRIPT_HELPER_STAT_ADD : SCRIPT_HELPER_ARRAY_SET;
	if (e->op == SCRIPT_COLLECT || e->op == SCRIPT_NO_OP) {
		if (is_used)
			store_and_keep(c, e, helper, cells, to);
		else
			invoke_element(c, e, helper, cells, code_by_expr(e->kids[1]));
	} else if (e->op == SCRIPT_ADD || e->op == SCRIPT_SUB) {
		add_to_element(c, e, cells, to, is_used);
	} else {
		change_element(c, e, cells, to, is_used);
	}
	code_drop_cells(c, n);
}

void code_assign(struct code *c, struct script_expr *e, uint8_t to, bool is_used)
{
	struct script_variable *v = e->kids[0]->variable;

	if (v->is_array || v->type == SCRIPT_STATS)
		set_element(c, e, to, is_used);
	else
		set_variable(c, e, to, is_used);
}

static void step_variable(struct code *c, struct script_expr *e, uint8_t to, bool is_used)
{
	struct script_variable *v = e->kids[0]->variable;
	uint8_t at = code_register_of(c, e->kids[0]);
	int32_t by = e->op == SCRIPT_ADD ? 1 : -1;

	if (at) {
		if (is_used && !e->is_prefix)
			code_move(c, to, at);
		code_alu_number(c, BPF_ADD, at, by);
		if (is_used && e->is_prefix)
			code_move(c, to, at);
		return;
	}
	code_get_variable(c, v, to);
	code_alu_number(c, BPF_ADD, to, by);
	code_set_variable(c, v, to);
	if (is_used && !e->is_prefix)
		code_alu_number(c, BPF_ADD, to, -by);
}

void code_step(struct code *c, struct script_expr *e, uint8_t to, bool is_used)
{
	struct script_expr *element = e->kids[0];
	int32_t by = e->op == SCRIPT_ADD ? 1 : -1;
	int16_t cells;

	if (element->kind != EXPR_ELEMENT) {
		step_variable(c, e, to, is_used);
		return;
	}
	cells = code_keys(c, element->kids, element->n_kids);
	invoke_element(c, e, SCRIPT_HELPER_ARRAY_ADD, cells, code_by_number(by));
	code_drop_cells(c, element->n_kids);
	if (!is_used)
		return;
	code_move(c, to, BPF_REG_0);
	if (!e->is_prefix)
		code_alu_number(c, BPF_ADD, to, -by);
}
