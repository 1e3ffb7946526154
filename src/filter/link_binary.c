/* SPDX-License-Identifier: MIT */
/*
 * filter/link_binary.c - choose the step for an operation on two values by their types.
 *
 * Two common pairs need no stack when the filter runs.  An integer's load and the constant that it
 * is compared with become one step.  The labels of an enumeration are looked up at link time.
 */
#include "rules/pattern.h"
#include "filter/internal.h"
#include "filter/number.h"

/* A comparison whose right side is a constant made by the last step: then the step of the left side
 * is the one before it, unless several steps make it. */
static struct filter_step *left_load(struct linker *l)
{
	const struct item *a = top(l) - 1, *b = top(l);
	struct filter_step *s = l->f->steps;

	if (a->step < 0 || b->step != l->f->n_steps - 1 || a->step != b->step - 1 ||
	    s[a->step].op != STEP_LOAD)
		return NULL;
	return &s[a->step];
}

/* The ranges are adjacent, since nothing else takes room meanwhile. */
static uint32_t find_labels(struct linker *l, const struct filter_location *p,
			    enum abi_filter_op op, const char *text, size_t size, uint32_t *at)
{
	struct filter_label label = { .i = 0 };
	bool is_glob = op == ABI_FILTER_MATCH || op == ABI_FILTER_NOT_MATCH;
	uint32_t n = 0;

	for (; l->names->label(l->names, p, &label); label.i++) {
		struct step_range range = { label.first, label.last };
		uint32_t to;

		if (is_glob ? !pattern_glob(text, text + size, label.text, label.text + label.size)
			    : label.size != size || memcmp(label.text, text, size))
			continue;
		to = take_room(l, sizeof range, 8);
		if (!to)
			return UINT32_MAX;
		memcpy((char *)l->f + to, &range, sizeof range);
		if (!n++)
			*at = to;
	}
	return n;
}

static bool is_equality(enum abi_filter_op op)
{
	return op == ABI_FILTER_EQ || op == ABI_FILTER_NE || op == ABI_FILTER_MATCH ||
	       op == ABI_FILTER_NOT_MATCH;
}

static uint8_t equality(enum abi_filter_op op)
{
	return op == ABI_FILTER_EQ || op == ABI_FILTER_MATCH ? ABI_FILTER_EQ : ABI_FILTER_NE;
}

/* Compares an enumeration with a text: finds the values of that text at link time. */
static bool link_label(struct linker *l, enum abi_filter_op op)
{
	struct item *a = top(l) - 1;
	struct filter_step *load = left_load(l), *text = &l->f->steps[l->f->n_steps - 1];
	struct filter_location p;
	uint32_t n, at = 0;

	if (!load || !a->name_size)
		return fail_item(l, FILTER_IS_NUMBER, a);
	if (!find_name(l, load->mode, a->name, a->name_size, &p))
		return false;
	if (!p.is_enum)
		return fail_item(l, FILTER_IS_NUMBER, a);
	if (text->op != STEP_TEXT || !is_equality(op))
		return fail_item(l, FILTER_LABEL_NOT_CONSTANT, a);
	n = find_labels(l, &p, op, (const char *)l->f + text->offset, text->value, &at);
	if (n == UINT32_MAX)
		return fail(l, FILTER_TOO_LARGE, NULL, 0);
	if (!n)
		return fail_item(l, FILTER_NO_LABEL, a);
	*text = (struct filter_step){ .op = STEP_IN,
				      .type = p.is_signed ? FILTER_I64 : FILTER_U64,
				      .mode = equality(op),
				      .offset = at,
				      .value = n };
	l->depth--;
	*top(l) = (struct item){ .kind = KIND_INT, .step = (int16_t)(l->f->n_steps - 1) };
	return true;
}

/* Replaces two values by a number that @step makes. */
static bool join(struct linker *l, enum kind kind, struct filter_step step)
{
	add_step(l, step);
	l->depth--;
	*top(l) = (struct item){ .kind = (uint8_t)kind, .step = (int16_t)(l->f->n_steps - 1) };
	return true;
}

static bool link_match(struct linker *l, enum abi_filter_op op)
{
	struct item *a = top(l) - 1, *b = top(l);

	/* A pattern's size is limited at compile time, and so is the time to match it. */
	if (b->kind != KIND_TEXT || b->step < 0 || l->f->steps[b->step].op != STEP_TEXT)
		return b->kind == KIND_TEXT ? broken(l) : fail_item(l, FILTER_IS_NUMBER, b);
	if (a->kind != KIND_TEXT)
		return link_label(l, op);
	return join(l, KIND_INT, (struct filter_step){ .op = STEP_MATCH, .mode = equality(op) });
}

static uint8_t which_are_ints(const struct item *a, const struct item *b)
{
	return (uint8_t)((a->kind == KIND_INT ? STEP_LEFT_IS_INT : 0) |
			 (b->kind == KIND_INT ? STEP_RIGHT_IS_INT : 0));
}

/* The smallest and the largest value of an integer type. */
static void bounds_of(uint8_t type, struct filter_value *min, struct filter_value *max)
{
	unsigned spare = 64 - (8u << (type & 3));

	*min = type < FILTER_U8 ? number_signed(INT64_MIN >> spare) : number_unsigned(0);
	*max = type < FILTER_U8 ? number_signed(INT64_MAX >> spare)
				: number_unsigned(UINT64_MAX >> spare);
}

/* Merges a load and a comparison with @c into one step: see step.h. */
static void make_test(struct filter_step *s, enum abi_filter_op op, struct filter_value c)
{
	uint8_t shift = (uint8_t)(64 - (8u << (s->type & 3)));
	bool is_signed = s->type < FILTER_U8, is_equal = op == ABI_FILTER_EQ || op == ABI_FILTER_NE;
	bool is_opposite = op == ABI_FILTER_NE || op == ABI_FILTER_GE || op == ABI_FILTER_GT;
	bool is_up_to =
		op == ABI_FILTER_LE || op == ABI_FILTER_GT; /* below the next, or its negation */
	struct filter_value min, max;
	uint64_t value;

	bounds_of(s->type, &min, &max);
	value = c.bits << shift ^ (is_signed ? 1ull << 63 : 0);
	if (is_up_to)
		value += 1ull << shift;
	if (number_is_less(c, min) || number_is_less(max, c) ||
	    (is_up_to && number_is_same(c, max))) {
		/* no integer of the type is below 0 in that order: always false, or always true */
		is_opposite ^= !is_equal && !number_is_less(c, min);
		is_equal = false;
		value = 0;
	}
	s->op = STEP_TEST;
	s->type = shift;
	s->value = value;
	s->mode = (uint8_t)((is_equal ? TEST_IS_EQUAL : 0) | (is_opposite ? TEST_IS_OPPOSITE : 0) |
			    (is_signed ? TEST_IS_SIGNED : 0));
}

static bool link_compare(struct linker *l, enum abi_filter_op op)
{
	struct item *a = top(l) - 1, *b = top(l);
	struct filter_step *load = left_load(l), *right = &l->f->steps[l->f->n_steps - 1];

	if (a->kind == KIND_TEXT && b->kind == KIND_TEXT)
		return join(l, KIND_INT,
			    (struct filter_step){ .op = STEP_COMPARE_TEXT, .mode = (uint8_t)op });
	if (a->kind != KIND_TEXT && b->kind == KIND_TEXT)
		return link_label(l, op);
	if (a->kind == KIND_TEXT)
		return a->name_size ? fail_item(l, FILTER_IS_TEXT, a)
				    : fail_item(l, FILTER_IS_NUMBER, b);
	if (a->kind == KIND_REAL || b->kind == KIND_REAL)
		return join(l, KIND_INT,
			    (struct filter_step){ .op = STEP_COMPARE_REAL,
						  .mode = (uint8_t)(op | which_are_ints(a, b)) });
	if (!load || right->op != STEP_INT || load->value)
		return join(l, KIND_INT,
			    (struct filter_step){ .op = STEP_COMPARE, .mode = (uint8_t)op });
	if (load->from == FILTER_FROM_SOURCE)
		*load = (struct filter_step){ .op = STEP_TEST_SOURCE,
					      .from = FILTER_FROM_SOURCE,
					      .mode = (uint8_t)(op | right->mode),
					      .offset = load->offset,
					      .value = right->value };
	else
		make_test(load, op,
			  (struct filter_value){ .bits = right->value, .more = right->mode >> 7 });
	l->f->n_steps--;
	l->depth--;
	*top(l) = (struct item){ .kind = KIND_INT, .step = (int16_t)(l->f->n_steps - 1) };
	return true;
}

static bool link_compute(struct linker *l, enum abi_filter_op op)
{
	struct item *a = top(l) - 1, *b = top(l);
	bool is_for_reals = op == ABI_FILTER_ADD || op == ABI_FILTER_SUB || op == ABI_FILTER_MUL ||
			    op == ABI_FILTER_DIV;
	bool is_real = a->kind == KIND_REAL || b->kind == KIND_REAL;

	for (struct item *i = a; i <= b; i++) {
		if (i->kind == KIND_TEXT)
			return fail_item(l, FILTER_IS_TEXT, i);
		if (i->kind == KIND_REAL && !is_for_reals)
			return fail_item(l, FILTER_IS_REAL, i);
	}
	return join(l, is_real ? KIND_REAL : KIND_INT,
		    (struct filter_step){
			    .op = is_real ? STEP_COMPUTE_REAL : STEP_COMPUTE,
			    .mode = (uint8_t)(is_real ? op | which_are_ints(a, b) : op),
		    });
}

bool filter_link_binary(struct linker *l, enum abi_filter_op op)
{
	if (!has(l, 2))
		return broken(l);
	if (op == ABI_FILTER_MATCH || op == ABI_FILTER_NOT_MATCH)
		return link_match(l, op);
	return op <= ABI_FILTER_GE ? link_compare(l, op) : link_compute(l, op);
}
