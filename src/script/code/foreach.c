/* SPDX-License-Identifier: MIT */
/*
 * code/foreach.c - foreach over an array, a slice of one, or the buckets of a histogram.
 *
 * The iteration is open from ITER_BEGIN until ITER_NEXT says that there is nothing left, or
 * ITER_END.  Every way out of the loop ends it; after an error the catch does.
 */
#include "script/code/internal.h"

#include <errno.h>
#include <string.h>

uint32_t code_add_iteration(struct code *c, const struct script_iteration *how)
{
	struct script_unit *u = c->unit;

	if (!code_room(c, &u->iterations, u->n_iterations, &c->iterations_room))
		return 0;
	u->iterations[u->n_iterations] = *how;
	return u->n_iterations++;
}

static uint32_t add_iteration(struct code *c, const struct script_foreach *f,
			      const struct script_expr *element)
{
	bool is_histogram = f->array->kind == EXPR_STATISTIC;
	bool is_ascending = f->sort >= 0 && (!f->sort || f->sort_key == 0);
	struct script_iteration how = {
		.array = element->variable->index,
		.sort = (int8_t)f->sort,
		.sort_key = (int8_t)f->sort_key,
		.statistic = (uint8_t)code_statistic_number(f->sort_statistic),
		.wild = UINT16_MAX,
	};

	if (is_histogram) {
		how.histogram = element->variable->histogram;
		how.sort = 0;
		how.sort_key = -1;
		if (!is_ascending) {
			script_error(c->m, f->array->place, "semantic error",
				     "buckets of a histogram come in ascending order only");
			code_fail(c, -EINVAL);
		}
	}
	if (element->kind == EXPR_ELEMENT)
		how.wild = (uint16_t)code_wild(element->kids, element->n_kids);
	else if (is_histogram)
		how.wild = 0;
	return code_add_iteration(c, &how);
}

/* Begins; R0: the handle. */
static void begin(struct code *c, struct script_stmt *s, struct script_expr *element)
{
	struct script_foreach *f = s->foreach;
	uint32_t n = element->kind == EXPR_ELEMENT ? element->n_kids : 0;
	int16_t cells = code_keys(c, element->kids, n);
	struct code_argument arguments[] = {
		code_by_number(add_iteration(c, f, element)),
		code_by_cells(cells),
		f->limit ? code_by_expr(f->limit) : code_by_number(-1),
	};

	code_invoke(c, f->array->place, SCRIPT_HELPER_ITER_BEGIN, arguments, 3);
	code_drop_cells(c, n);
}

static void take(struct code *c, struct code_home handle, struct script_expr *to, bool is_key,
		 uint32_t key)
{
	bool is_string = to->variable->type == SCRIPT_STRING;

	code_from_home(c, BPF_REG_1, handle);
	if (is_key) {
		code_number(c, BPF_REG_2, key);
		code_helper(c, is_string ? SCRIPT_HELPER_ITER_KEY_STRING
					 : SCRIPT_HELPER_ITER_KEY_LONG);
	} else {
		code_helper(c, is_string ? SCRIPT_HELPER_ITER_VALUE_STRING
					 : SCRIPT_HELPER_ITER_VALUE_LONG);
	}
	if (!to->variable->is_global) {
		code_to_home(c, c->homes[to->variable->index], BPF_REG_0);
		return;
	}
	code_move(c, BPF_REG_3, BPF_REG_0);
	code_set_variable(c, to->variable, BPF_REG_3);
}

void code_foreach(struct code *c, struct script_stmt *s)
{
	struct script_foreach *f = s->foreach;
	struct script_expr *element =
		f->array->kind == EXPR_STATISTIC ? f->array->kids[0] : f->array;
	struct code_loop l = { .up = c->loop,
			       .is_foreach = true,
			       .break_to = code_label(c),
			       .continue_to = code_label(c) };

	begin(c, s, element);
	l.handle = code_take(c);
	code_to_home(c, l.handle, BPF_REG_0);
	code_put(c, l.continue_to, !c->is_dead);
	code_at(c, s->place);
	code_from_home(c, BPF_REG_1, l.handle);
	code_helper(c, SCRIPT_HELPER_ITER_NEXT);
	code_goto_if_number(c, BPF_JEQ, BPF_REG_0, 0, l.break_to);
	for (uint32_t i = 0; i < f->n_keys; i++)
		take(c, l.handle, f->keys[i], true, i);
	if (f->value)
		take(c, l.handle, f->value, false, 0);
	c->loop = &l;
	if (s->body[0])
		code_stmt(c, s->body[0]);
	c->loop = l.up;
	code_at(c, s->place);
	code_goto(c, l.continue_to);
	code_put(c, l.break_to, false);
	code_drop(c, l.handle);
}
