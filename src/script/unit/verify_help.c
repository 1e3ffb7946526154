/* SPDX-License-Identifier: MIT */
/* unit/verify_help.c - a call of a helper or builtin fits its signature and the tables. */
#include <string.h>

#include "script/unit/verify.h"

struct call {
	struct verify *v;
	uint32_t number;
	const struct script_array_code *array; /* named by an argument before */
	const struct script_format *format;
	const struct script_iteration *iteration;
};

const char *verify_type_text(enum script_type type)
{
	return type == SCRIPT_LONG ? "a number" : type == SCRIPT_STRING ? "a string" : "a value";
}

const char *verify_kind_text(struct verify_value value)
{
	static const char *const texts[] = {
		[KIND_UNSET] = "nothing that was written on each way",
		[KIND_NUMBER] = "a number",
		[KIND_CONSTANT] = "a number",
		[KIND_STRING] = "a string",
		[KIND_FRAME] = "the frame",
		[KIND_STACK] = "an address of the stack",
		[KIND_GLOBAL] = "the address of a global",
	};

	return texts[value.kind];
}

const char *verify_help_signature(uint32_t number, bool *may_fail, uint64_t *needs)
{
	const struct script_builtin *b;

	*needs = 0;
	if (number > SCRIPT_HELPER_NONE && number < SCRIPT_HELPERS_N) {
		*may_fail = script_helper_table[number].may_fail;
		return script_helper_table[number].signature;
	}
	if (number < SCRIPT_HELPER_BUILTIN)
		return NULL;
	b = script_builtin_at(number - SCRIPT_HELPER_BUILTIN);
	if (!b || b->is_site || b->standard >= 0)
		return NULL;
	*may_fail = b->may_fail;
	*needs = b->needs;
	return b->signature;
}

static struct verify_value argument(const struct call *c, int reg)
{
	return c->v->now[reg];
}

static int expect(const struct call *c, int reg, enum script_type type)
{
	if (verify_is(argument(c, reg), type))
		return 0;
	return verify_fail(c->v, "argument %d of a call must be %s; it is %s", reg,
			   verify_type_text(type), verify_kind_text(argument(c, reg)));
}

/* A constant below @n. */
static int expect_row(const struct call *c, int reg, uint32_t n, const char *table)
{
	struct verify_value value = argument(c, reg);

	if (value.kind != KIND_CONSTANT)
		return verify_fail(c->v, "argument %d of a call must be a constant", reg);
	if (value.value >= n)
		return verify_fail(c->v, "%s %u is not there", table, value.value);
	return 0;
}

/* Argument @reg is the address of @n cells of @types; bit i of @wild: cell i is not read. */
static int expect_cells(const struct call *c, int reg, const uint8_t *types, uint32_t n,
			uint32_t wild)
{
	struct verify_value value = argument(c, reg), cell;
	uint32_t i;

	if (!n || (n < 32 && (wild & ((1u << n) - 1)) == (1u << n) - 1))
		return 0;
	if (value.kind != KIND_STACK)
		return verify_fail(c->v,
				   "argument %d of a call must be an address of the stack; "
				   "it is %s",
				   reg, verify_kind_text(value));
	if (value.value > 8 * c->v->n_stack || value.value / 8 < n)
		return verify_fail(c->v, "argument %d of a call: %u cells leave the stack", reg, n);
	for (i = 0; i < n; i++) {
		cell = c->v->now[VERIFY_REGISTERS + value.value / 8 - 1 - i];
		if (!(i < 32 && wild >> i & 1) && !verify_is(cell, types[i]))
			return verify_fail(c->v,
					   "cell %u of argument %d of a call must be %s; it "
					   "is %s",
					   i, reg, verify_type_text(types[i]),
					   verify_kind_text(cell));
	}
	return 0;
}

/* Which keys are `*`: a constant in R3 of the calls with slices. */
static uint32_t wild_keys(const struct call *c)
{
	struct verify_value mask = argument(c, 3);

	if (c->number != SCRIPT_HELPER_ARRAY_HAS_SLICE &&
	    c->number != SCRIPT_HELPER_ARRAY_DELETE_SLICE)
		return 0;
	return mask.kind == KIND_CONSTANT ? mask.value : 0;
}

static int expect_iterated_keys(const struct call *c, int reg)
{
	const struct script_array_code *a = &c->v->u->arrays[c->iteration->array];

	return expect_cells(c, reg, a->keys, a->n_keys,
			    c->iteration->histogram ? 0 : c->iteration->wild);
}

static int expect_value(const struct call *c, int reg)
{
	if (c->array->value == SCRIPT_STATS)
		return verify_fail(c->v, "array %s holds statistics", c->array->name);
	return reg ? expect(c, reg, c->array->value) : 0;
}

static int expect_global(const struct call *c, int reg)
{
	int err = expect_row(c, reg, c->v->u->n_globals, "global");

	if (!err && c->v->u->globals[argument(c, reg).value].type != SCRIPT_STRING)
		err = verify_fail(c->v, "global %u is no string", argument(c, reg).value);
	return err;
}

static int check_argument(struct call *c, int reg, char letter)
{
	const struct script_unit *u = c->v->u;
	uint32_t row = argument(c, reg).value;
	int err;

	switch (letter) {
	case 'l':
		return expect(c, reg, SCRIPT_LONG);
	case 's':
		return expect(c, reg, SCRIPT_STRING);
	case 'i':
		return expect_row(c, reg, VERIFY_CONSTANT_MOST, "number");
	case 'a':
		err = expect_row(c, reg, u->n_arrays, "array");
		c->array = err ? NULL : &u->arrays[row];
		return err;
	case 'f':
		err = expect_row(c, reg, u->n_formats, "format");
		c->format = err ? NULL : &u->formats[row];
		return err;
	case 't':
		err = expect_row(c, reg, u->n_iterations, "iteration");
		c->iteration = err ? NULL : &u->iterations[row];
		return err;
	case 'r':
		return expect_row(c, reg, u->n_regexes, "regular expression");
	case 'g':
		return expect_global(c, reg);
	case 'V':
		return expect_value(c, reg);
	case 'k':
		return expect_cells(c, reg, c->array->keys, c->array->n_keys, wild_keys(c));
	case 'p':
		return expect_cells(c, reg, c->format->arguments, c->format->n_arguments, 0);
	case 'x':
		return expect_iterated_keys(c, reg);
	default:
		return verify_fail(c->v, "a helper with signature letter %c", letter);
	}
}

/* ---- what signatures do not say ---- */

static int check_standard(struct call *c, enum script_type type)
{
	uint32_t cell = argument(c, 1).value;

	if (cell >= STANDARD_N || script_standard_type(cell) != type)
		return verify_fail(c->v, "cell %u of an event is not %s", cell,
				   verify_type_text(type));
	c->v->needs[c->v->f - c->v->u->functions] |= 1ull << cell;
	return 0;
}

static int check_parameter(const struct call *c, enum script_type type)
{
	const struct script_function_code *f = c->v->f;
	uint32_t i = argument(c, 1).value;

	if (i < 5 || i >= f->n_parameters || f->parameters[i] != type)
		return verify_fail(c->v, "parameter %u is not %s on the stack", i,
				   verify_type_text(type));
	return 0;
}

static int check_pass(struct call *c, enum script_type type)
{
	uint32_t i = argument(c, 1).value;

	if (i < 5 || i >= SCRIPT_PARAMETERS_MAX)
		return verify_fail(c->v, "argument %u cannot be passed on the stack", i);
	c->v->now[VERIFY_REGISTERS + c->v->n_stack + i - 5] = verify_of(type);
	return 0;
}

static int check_statistic(const struct call *c)
{
	uint32_t which = argument(c, 3).value;

	if (c->array->value != SCRIPT_STATS)
		return verify_fail(c->v, "array %s holds no statistics", c->array->name);
	if (which > STATISTIC_QUANTILE)
		return verify_fail(c->v, "statistic %u is not there", which);
	if ((which == STATISTIC_QUANTILE && !c->array->has_quantiles) ||
	    (which == STATISTIC_VARIANCE && !c->array->has_variance))
		return verify_fail(c->v, "array %s does not keep statistic %u", c->array->name,
				   which);
	return 0;
}

static int check_histogram(const struct call *c)
{
	if (c->array->value != SCRIPT_STATS || !c->array->histogram)
		return verify_fail(c->v, "array %s has no histogram", c->array->name);
	return 0;
}

static int check_more(struct call *c)
{
	switch (c->number) {
	case SCRIPT_HELPER_RAISE_FAULT:
		if (argument(c, 1).value >= c->v->f->n_slots)
			return verify_fail(c->v, "slot %u is not there", argument(c, 1).value);
		return 0;
	case SCRIPT_HELPER_STANDARD_LONG:
		return check_standard(c, SCRIPT_LONG);
	case SCRIPT_HELPER_STANDARD_STRING:
		return check_standard(c, SCRIPT_STRING);
	case SCRIPT_HELPER_ARGUMENT_LONG:
		return check_parameter(c, SCRIPT_LONG);
	case SCRIPT_HELPER_ARGUMENT_STRING:
		return check_parameter(c, SCRIPT_STRING);
	case SCRIPT_HELPER_PASS_LONG:
		return check_pass(c, SCRIPT_LONG);
	case SCRIPT_HELPER_PASS_STRING:
		return check_pass(c, SCRIPT_STRING);
	case SCRIPT_HELPER_ARRAY_ADD:
		return c->array->value == SCRIPT_LONG ? 0
						      : verify_fail(c->v,
								    "array %s holds no "
								    "numbers",
								    c->array->name);
	case SCRIPT_HELPER_STAT_ADD:
		return c->array->value == SCRIPT_STATS ? 0
						       : verify_fail(c->v,
								     "array %s holds no "
								     "statistics",
								     c->array->name);
	case SCRIPT_HELPER_STAT_GET:
		return check_statistic(c);
	case SCRIPT_HELPER_STAT_BUCKET:
	case SCRIPT_HELPER_STAT_HISTOGRAM:
		return check_histogram(c);
	case SCRIPT_HELPER_TABLE:
		return expect_row(c, 2, c->v->u->n_columns, "column text");
	default:
		return 0;
	}
}

static enum script_type result_type(const struct call *c, char letter)
{
	switch (letter) {
	case 'l':
		return SCRIPT_LONG;
	case 's':
		return SCRIPT_STRING;
	case 'V':
		return c->array->value;
	default:
		return SCRIPT_NOTHING;
	}
}

int verify_help(struct verify *v, uint32_t number)
{
	struct call c = { .v = v, .number = number };
	const char *signature, *letter;
	enum script_type type;
	uint64_t needs;
	bool may_fail;
	int err, reg;

	signature = verify_help_signature(number, &may_fail, &needs);
	for (letter = signature + 2, reg = 1; *letter; letter++, reg++) {
		err = check_argument(&c, reg, *letter);
		if (err)
			return err;
	}
	if (*signature == 'V' && (err = expect_value(&c, 0)))
		return err;
	err = check_more(&c);
	if (err)
		return err;
	v->needs[v->f - v->u->functions] |= needs;
	type = result_type(&c, *signature);
	memset(&v->now[1], 0, 5 * sizeof *v->now);
	v->now[0] = verify_of(type);
	return 0;
}
