/* SPDX-License-Identifier: MIT */
/* code/array.c - elements of arrays, slices, and what statistics say. */
#include "script/code/internal.h"

#include <string.h>

int16_t code_keys(struct code *c, struct script_expr **keys, uint32_t n)
{
	int16_t cells = code_take_cells(c, n);

	for (uint32_t i = 0; i < n; i++)
		if (keys[i])
			code_store(c, BPF_REG_10, cells + 8 * (int32_t)i,
				   code_operand(c, keys[i], code_best(c, keys[i], BPF_REG_1)));
	return cells;
}

uint32_t code_wild(struct script_expr *const *keys, uint32_t n)
{
	uint32_t wild = 0;

	for (uint32_t i = 0; i < n; i++)
		wild |= keys[i] ? 0 : 1u << i;
	return wild;
}

/* Calls @helper on the array and keys of @e, with @n more arguments. */
static void on_element(struct code *c, struct script_place place, struct script_expr *e,
		       uint32_t helper, const struct code_argument *more, uint32_t n)
{
	uint32_t n_keys = e->kind == EXPR_VARIABLE ? 0 : e->n_kids;
	int16_t cells = code_keys(c, e->kids, n_keys);
	struct code_argument arguments[5] = { code_by_number(e->variable->index),
					      code_by_cells(cells) };

	if (n)
		memcpy(arguments + 2, more, n * sizeof *more);
	code_invoke(c, place, helper, arguments, 2 + n);
	code_drop_cells(c, n_keys);
}

void code_element(struct code *c, struct script_expr *e, uint8_t to)
{
	on_element(c, e->place, e, SCRIPT_HELPER_ARRAY_GET, NULL, 0);
	code_move(c, to, BPF_REG_0);
}

void code_in(struct code *c, struct script_expr *e, uint8_t to)
{
	struct code_argument wild = code_by_number(code_wild(e->kids, e->n_kids));

	on_element(c, e->place, e,
		   wild.number ? SCRIPT_HELPER_ARRAY_HAS_SLICE : SCRIPT_HELPER_ARRAY_HAS, &wild,
		   wild.number != 0);
	code_move(c, to, BPF_REG_0);
}

void code_delete(struct code *c, struct script_expr *e)
{
	struct script_variable *v = e->variable;
	struct code_argument argument = code_by_number(v->index);

	if (e->kind == EXPR_ELEMENT) {
		argument.number = code_wild(e->kids, e->n_kids);
		on_element(c, e->place, e,
			   argument.number ? SCRIPT_HELPER_ARRAY_DELETE_SLICE
					   : SCRIPT_HELPER_ARRAY_DELETE,
			   &argument, argument.number != 0);
	} else if (v->is_array || v->type == SCRIPT_STATS) {
		code_invoke(c, e->place, SCRIPT_HELPER_ARRAY_CLEAR, &argument, 1);
	} else {
		code_zero(c, v->type, BPF_REG_3);
		code_at(c, e->place);
		code_set_variable(c, v, BPF_REG_3);
	}
}

enum script_statistic code_statistic_number(const char *name)
{
	static const char *const names[] = {
		[STATISTIC_COUNT] = "count",	   [STATISTIC_SUM] = "sum",
		[STATISTIC_MIN] = "min",	   [STATISTIC_MAX] = "max",
		[STATISTIC_AVG] = "avg",	   [STATISTIC_VARIANCE] = "variance",
		[STATISTIC_QUANTILE] = "quantile",
	};

	for (unsigned i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return i;
	return STATISTIC_COUNT;
}

void code_statistic(struct code *c, struct script_expr *e, uint8_t to)
{
	enum script_statistic which = code_statistic_number(e->text);
	struct code_argument more[] = { code_by_number(which), code_by_number(0) };

	if (!strncmp(e->text, "hist_", 5)) {
		on_element(c, e->place, e->kids[0], SCRIPT_HELPER_STAT_HISTOGRAM, NULL, 0);
	} else {
		if (which == STATISTIC_QUANTILE)
			more[1] = code_by_expr(e->kids[1]);
		on_element(c, e->place, e->kids[0], SCRIPT_HELPER_STAT_GET, more, 2);
	}
	code_move(c, to, BPF_REG_0);
}

void code_bucket(struct code *c, struct script_expr *e, uint8_t to)
{
	struct code_argument bucket = code_by_expr(e->kids[1]);

	on_element(c, e->place, e->kids[0]->kids[0], SCRIPT_HELPER_STAT_BUCKET, &bucket, 1);
	code_move(c, to, BPF_REG_0);
}
