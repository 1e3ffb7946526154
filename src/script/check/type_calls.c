/* SPDX-License-Identifier: MIT */
/* check/type_calls.c - types of calls, of printed values, and of statistics. */
#include "script/check/internal.h"
#include "script/unit/columns.h"
#include "script/unit/format.h"

static enum script_type of_letter(char letter)
{
	switch (letter) {
	case 'l':
		return SCRIPT_LONG;
	case 's':
		return SCRIPT_STRING;
	default:
		return SCRIPT_NOTHING;
	}
}

/* ---- functions of the script ---- */

/* The overloads that `next` tries have the types of the first one. */
static void agree(struct check *c, struct script_function *f, struct script_function *next)
{
	for (uint32_t i = 0; i < f->n_parameters; i++) {
		check_type_variable(c, next->parameters[i], f->parameters[i]->type,
				    f->parameters[i]->typed_at);
		check_type_variable(c, f->parameters[i], next->parameters[i]->type,
				    next->parameters[i]->typed_at);
	}
	if (next->type == f->type)
		return;
	if (next->type && f->type && next->type != SCRIPT_NOTHING && f->type != SCRIPT_NOTHING) {
		semantic(c, next->decl->place, "`%s` returns %s here, and %s elsewhere", f->name,
			 check_type_name(next->type), check_type_name(f->type));
		script_note(c->m, f->typed_at, "first used as %s", check_type_name(f->type));
		return;
	}
	if (!f->type || (f->type == SCRIPT_NOTHING && next->type)) {
		f->type = next->type;
		f->typed_at = next->typed_at;
	} else {
		next->type = f->type;
		next->typed_at = f->typed_at;
	}
	c->changed = true;
}

static enum script_type function(struct check *c, struct script_expr *e, enum script_type wanted)
{
	struct script_function *f = e->function;

	for (uint32_t i = 0; i < e->n_kids && i < f->n_parameters; i++) {
		struct script_variable *p = f->parameters[i];
		enum script_type type;

		if (p->type)
			check_because(c, p->typed_at, "parameter `%s` of `%s`", p->name, f->name);
		type = check_infer(c, e->kids[i], p->type);
		if (!p->type)
			check_type_variable(c, p, type, e->kids[i]->place);
	}
	if (f->next)
		agree(c, f, f->next);
	if (!f->type && (wanted == SCRIPT_LONG || wanted == SCRIPT_STRING)) {
		f->type = wanted;
		f->typed_at = e->place;
		c->changed = true;
	}
	if (!f->type && c->is_last && wanted != SCRIPT_NOTHING)
		semantic(c, e->place,
			 "the type of `%s()` is not known: nothing says whether it is a "
			 "number or a string",
			 f->name);
	return f->type;
}

/* ---- table() and plot() ---- */

/* What the columns say of the statistics that they show: their quantiles are kept. */
static void columns(struct check *c, struct script_expr *e, struct script_variable *v)
{
	struct script_column at[SCRIPT_COLUMNS_MAX];
	struct diag d = { "" };
	int n = script_columns_parse(at, e->kids[1]->text, v->n_keys, v->type == SCRIPT_STATS, &d);

	if (n < 0 && c->is_last)
		semantic(c, e->kids[1]->place, "%s", d.text);
	for (int i = (int)v->n_keys; v->type == SCRIPT_STATS && i < n; i++) {
		v->has_quantiles |= at[i].statistic == STATISTIC_QUANTILE;
		v->has_variance |= at[i].statistic == STATISTIC_VARIANCE;
	}
}

static enum script_type table(struct check *c, struct script_expr *e)
{
	struct script_expr *array = e->kids[0];
	struct script_variable *v = array->variable;

	if (e->n_kids > 2)
		check_infer(c, e->kids[2], SCRIPT_LONG);
	if (e->kids[1]->kind != EXPR_TEXT) {
		semantic(c, e->kids[1]->place, "the names of the columns are a string constant");
		return SCRIPT_NOTHING;
	}
	if (!v)
		return SCRIPT_NOTHING;
	if (array->kind == EXPR_ELEMENT) {
		check_keys(c, v, array->kids, array->n_kids, array->place, true);
	} else if (!v->is_array && c->is_last) {
		semantic(c, array->place, "`%s` is no array: there are no rows", v->name);
		return SCRIPT_NOTHING;
	}
	array->type = v->type;
	if (v->type)
		columns(c, e, v);
	return SCRIPT_NOTHING;
}

enum script_type check_infer_call(struct check *c, struct script_expr *e, enum script_type wanted)
{
	const char *letters;

	if (e->function)
		return function(c, e, wanted);
	if (!e->builtin)
		return !strcmp(e->text, "table") || !strcmp(e->text, "plot") ? table(c, e)
									     : SCRIPT_UNKNOWN;
	letters = e->builtin->signature;
	for (uint32_t i = 0; i < e->n_kids; i++) {
		enum script_type type = of_letter(letters[i + 2]);

		check_because(c, e->place, "argument %u of `%s()`", i + 1, e->text);
		check_infer(c, e->kids[i], type);
	}
	return of_letter(letters[0]);
}

/* ---- print ---- */

static void print_format(struct check *c, struct script_expr *e)
{
	struct script_format f;
	struct diag d = { "" };
	struct script_place place;
	uint32_t at = 0;
	int err;

	if (!e->n_kids || e->kids[0]->kind != EXPR_TEXT) {
		semantic(c, e->n_kids ? e->kids[0]->place : e->place,
			 "the format of %s is a string constant", e->text);
		return;
	}
	e->kids[0]->type = SCRIPT_STRING;
	place = e->kids[0]->place;
	err = script_format_parse(&f, c->arena, e->kids[0]->text, e->kids[0]->size, &at, &d);
	if (err == -ENOMEM)
		longjmp(c->full, 1);
	if (err) {
		semantic(c, place, "%s", d.text);
		return;
	}
	if (f.n_arguments > e->n_kids - 1) {
		semantic(c, place, "the format has %u argument%s, and %u %s given", f.n_arguments,
			 f.n_arguments == 1 ? "" : "s", e->n_kids - 1,
			 e->n_kids == 2 ? "is" : "are");
		return;
	}
	for (uint32_t i = 1; i < e->n_kids; i++) {
		if (i > f.n_arguments) {
			semantic(c, e->kids[i]->place,
				 "the format has no directive for this argument");
			return;
		}
		check_because(c, place, "directive %u of the format", i);
		check_infer(c, e->kids[i], (enum script_type)f.arguments[i - 1]);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

void check_infer_print(struct check *c, struct script_expr *e)
{
	uint32_t first = 0;

	if (ends_with(e->text, "printf")) {
		print_format(c, e);
		return;
	}
	if (ends_with(e->text, "printd") || ends_with(e->text, "printdln")) {
		if (e->n_kids < 2) {
			semantic(c, e->place, "%s takes a delimiter and at least one value",
				 e->text);
			return;
		}
		check_because(c, e->place, "the delimiter of %s", e->text);
		check_infer(c, e->kids[0], SCRIPT_STRING);
		first = 1;
	}
	if (!e->n_kids && !ends_with(e->text, "println"))
		semantic(c, e->place, "%s needs a value", e->text);
	for (uint32_t i = first; i < e->n_kids; i++)
		check_infer(c, e->kids[i], SCRIPT_UNKNOWN);
}

/* ---- statistics ---- */

static bool constant(struct check *c, const struct script_expr *e, uint32_t i, int64_t *n)
{
	const struct script_expr *k = i < e->n_kids ? e->kids[i] : NULL;

	if (k && k->kind == EXPR_UNARY && k->op == SCRIPT_MINUS &&
	    k->kids[0]->kind == EXPR_NUMBER) {
		*n = (int64_t)(0 - (uint64_t)k->kids[0]->number);
		return true;
	}
	if (k && k->kind == EXPR_NUMBER) {
		*n = k->number;
		return true;
	}
	semantic(c, k ? k->place : e->place, "@%s needs a constant here", e->text);
	return false;
}

static void set_shape(struct check *c, struct script_expr *e, struct script_variable *v, int shape,
		      const int64_t bounds[3])
{
	struct check_variable *of = (struct check_variable *)v;

	if (v->histogram == HIST_NONE) {
		v->histogram = (uint8_t)shape;
		v->low = bounds[0];
		v->high = bounds[1];
		v->width = bounds[2];
		of->shape_at = e->place;
		return;
	}
	if (v->histogram == shape && v->low == bounds[0] && v->high == bounds[1] &&
	    v->width == bounds[2])
		return;
	semantic(c, e->place, "`%s` has another histogram elsewhere: it can have one shape",
		 v->name);
	script_note(c->m, of->shape_at, "first shape");
}

enum { MOST_BUCKETS = 4096 };

static void linear(struct check *c, struct script_expr *e, struct script_variable *v)
{
	int64_t bounds[3], range;

	if (e->n_kids != 4) {
		semantic(c, e->place,
			 "@hist_linear takes a statistic, the least value, the greatest "
			 "value and the width of a bucket");
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		if (!constant(c, e, i + 1, &bounds[i]))
			return;
	if (bounds[2] <= 0 || bounds[1] <= bounds[0]) {
		semantic(c, e->place,
			 "a histogram goes up: its least value is below its greatest, "
			 "and buckets have a width of at least 1");
		return;
	}
	if (__builtin_sub_overflow(bounds[1], bounds[0], &range) ||
	    range / bounds[2] >= MOST_BUCKETS) {
		semantic(c, e->place, "a histogram has at most %d buckets: make them wider",
			 MOST_BUCKETS);
		return;
	}
	set_shape(c, e, v, HIST_LINEAR, bounds);
}

static void other_parameters(struct check *c, struct script_expr *e, struct script_variable *v)
{
	bool is_quantile = !strcmp(e->text, "quantile"), is_variance = !strcmp(e->text, "variance");
	int64_t n = 0;

	if (is_variance) {
		v->has_variance = true;
		if (e->n_kids == 2 && constant(c, e, 1, &n)) {
			if (n < 0 || n > 30)
				semantic(c, e->kids[1]->place,
					 "@variance keeps 0 to 30 bits behind the point");
			else if (n > v->variance_bits)
				v->variance_bits = (uint32_t)n;
		}
	}
	if (is_quantile) {
		v->has_quantiles = true;
		if (e->n_kids != 2) {
			semantic(c, e->place,
				 "@quantile takes a statistic and a number of per cent");
			return;
		}
		check_infer(c, e->kids[1], SCRIPT_LONG);
		if (e->kids[1]->kind == EXPR_NUMBER &&
		    (e->kids[1]->number < 0 || e->kids[1]->number > 99999))
			semantic(c, e->kids[1]->place,
				 "a quantile is 0 to 100 per cent, or 999 for 99.9");
	}
	if (e->n_kids > (is_quantile || is_variance ? 2u : 1u))
		semantic(c, e->place, "@%s takes no more arguments", e->text);
}

void check_infer_statistic(struct check *c, struct script_expr *e)
{
	static const int64_t none[3];
	struct script_expr *of = e->n_kids ? e->kids[0] : NULL;

	if (!of || (of->kind != EXPR_VARIABLE && of->kind != EXPR_ELEMENT)) {
		semantic(c, e->place, "@%s reads a statistic: a global, or an element of an array",
			 e->text);
		return;
	}
	if (of->kind == EXPR_VARIABLE && of->variable && !of->variable->is_global) {
		semantic(c, of->place, "`%s` is no global that <<< fills", of->text);
		return;
	}
	if (of->variable && of->variable->type && of->variable->type != SCRIPT_STATS) {
		semantic(c, of->place, "`%s` is %s, not a statistic, which <<< fills", of->text,
			 check_type_name(of->variable->type));
		script_note(c->m, of->variable->typed_at, "first used as %s",
			    check_type_name(of->variable->type));
		return;
	}
	check_infer(c, of, SCRIPT_STATS);
	e->type = SCRIPT_LONG;
	if (!of->variable)
		return;
	if (!strcmp(e->text, "hist_log")) {
		set_shape(c, e, of->variable, HIST_LOG, none);
		if (e->n_kids != 1)
			semantic(c, e->place, "@hist_log takes a statistic only");
	} else if (!strcmp(e->text, "hist_linear")) {
		linear(c, e, of->variable);
	} else {
		other_parameters(c, e, of->variable);
	}
}
