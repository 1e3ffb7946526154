/* SPDX-License-Identifier: MIT */
/*
 * code/table.c - table() and plot(): an array, a text with its columns, perhaps a number of rows.
 *
 * The rows with the largest values come first; of strings, those with the least keys.  A plot over
 * one number, as a time, goes along it.
 */
#include "script/code/internal.h"

#include <errno.h>
#include <string.h>

#include "script/unit/columns.h"

bool code_is_table(const struct script_expr *e)
{
	return e->kind == EXPR_CALL && !e->function && !e->builtin &&
	       (!strcmp(e->text, "table") || !strcmp(e->text, "plot"));
}

static struct script_iteration order(struct code *c, struct script_expr *e)
{
	const struct script_variable *v = e->kids[0]->variable;
	struct script_iteration how = { .array = v->index, .wild = UINT16_MAX };
	struct script_column columns[SCRIPT_COLUMNS_MAX];
	struct diag d = { "" };

	how.sort = v->type == SCRIPT_STRING ? 1 : -1;
	how.sort_key = v->type == SCRIPT_STRING && v->n_keys ? 0 : -1;
	if (!strcmp(e->text, "plot") && v->n_keys == 1 && v->keys[0] == SCRIPT_LONG) {
		how.sort = 1;
		how.sort_key = 0;
	}
	if (script_columns_parse(columns, e->kids[1]->text, v->n_keys, v->type == SCRIPT_STATS,
				 &d) < 0) {
		script_error(c->m, e->kids[1]->place, "semantic error", "%s", d.text);
		code_fail(c, -EINVAL);
		return how;
	}
	how.statistic = columns[v->n_keys].statistic;
	if (how.statistic == STATISTIC_QUANTILE || how.statistic == STATISTIC_VARIANCE)
		how.statistic = STATISTIC_COUNT;
	return how;
}

void code_table(struct code *c, struct script_expr *e)
{
	struct script_unit *u = c->unit;
	struct script_expr *element = e->kids[0];
	struct script_iteration how = order(c, e);
	struct code_argument arguments[4];

	if (element->kind == EXPR_ELEMENT &&
	    code_wild(element->kids, element->n_kids) != (1u << element->n_kids) - 1) {
		script_error(c->m, element->place, "semantic error",
			     "%s() shows a whole array, not a slice of it", e->text);
		code_fail(c, -EINVAL);
	}
	if (c->error || !code_room(c, &u->columns, u->n_columns, &c->columns_room))
		return;
	u->columns[u->n_columns] = e->kids[1]->text;
	arguments[0] = code_by_number(code_add_iteration(c, &how));
	arguments[1] = code_by_number(u->n_columns++);
	arguments[2] = code_by_number(!strcmp(e->text, "plot"));
	arguments[3] = e->n_kids > 2 ? code_by_expr(e->kids[2]) : code_by_number(-1);
	code_invoke(c, e->place, SCRIPT_HELPER_TABLE, arguments, 4);
}
