/* SPDX-License-Identifier: MIT */
/*
 * code/print.c - print, println, printd, printdln, printf, and the same with s before.
 *
 * All of them are formats: print(a, "x") is that of "%d%s".
 */
#include "script/code/internal.h"

#include <errno.h>
#include <string.h>

#include "script/unit/format.h"

static bool is_histogram(const struct script_expr *e)
{
	return e->kind == EXPR_STATISTIC && !strncmp(e->text, "hist_", 5);
}

static bool is_string(const struct script_expr *e)
{
	return e->type == SCRIPT_STRING || is_histogram(e);
}

/* The format of values that follow each other, with @between and @end. */
static int format_of_values(struct code *c, struct script_format *f, struct script_expr **values,
			    uint32_t n, const struct script_expr *between, bool has_end)
{
	f->directives = script_allocate(c->arena, (n + 1) * sizeof *f->directives);
	f->arguments = script_allocate(c->arena, n + 1);
	if (!f->directives || !f->arguments)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		f->arguments[i] = is_string(values[i]) ? SCRIPT_STRING : SCRIPT_LONG;
		f->directives[i] = (struct script_directive){
			.before = i && between ? between->text : "",
			.before_size = i && between ? between->size : 0,
			.conversion = is_string(values[i]) ? 's' : 'd',
			.width = -1,
			.precision = -1,
		};
	}
	f->directives[n] = (struct script_directive){
		.before = "\n", .before_size = 1, .width = -1, .precision = -1
	};
	f->n = n + has_end;
	f->n_arguments = n;
	return 0;
}

/* @first: becomes the number of the first value among the arguments. */
static int make_format(struct code *c, struct script_expr *e, struct script_format *f,
		       uint32_t *first)
{
	const char *name = e->text + (*e->text == 's');
	bool has_end = strlen(name) > 2 && !strcmp(name + strlen(name) - 2, "ln");
	uint32_t at;

	*first = strcmp(name, "print") && strcmp(name, "println");
	if (!strcmp(name, "printf"))
		return script_format_parse(f, c->arena, e->kids[0]->text, e->kids[0]->size, &at,
					   NULL);
	return format_of_values(c, f, e->kids + *first, e->n_kids - *first,
				*first ? e->kids[0] : NULL, has_end);
}

void code_print(struct code *c, struct script_expr *e, uint8_t to)
{
	struct script_unit *u = c->unit;
	struct code_argument arguments[2];
	struct script_format f = { 0 };
	uint32_t first, n;
	int16_t cells;
	int err = make_format(c, e, &f, &first);

	if (err || !code_room(c, &u->formats, u->n_formats, &c->formats_room)) {
		code_fail(c, err ? err : -ENOMEM);
		return;
	}
	n = e->n_kids - first;
	u->formats[u->n_formats] = f;
	arguments[0] = code_by_number(u->n_formats++);
	cells = code_keys(c, e->kids + first, n);
	arguments[1] = code_by_cells(cells);
	code_invoke(c, e->place, *e->text == 's' ? SCRIPT_HELPER_FORMAT : SCRIPT_HELPER_PRINT,
		    arguments, 2);
	code_drop_cells(c, n);
	if (*e->text == 's')
		code_move(c, to, BPF_REG_0);
}
