/* SPDX-License-Identifier: MIT */
/*
 * filter/link.c - make steps for one event class from symbolic byte code.
 *
 * The byte code is first copied to the end of the room given, since another process may change it;
 * the steps are built from the front.  One pass over the code keeps the type of each value that
 * will be on the stack, and the step that makes it.  Jumps lead forward to a place with the same
 * stack: they nest like parentheses.  Within one no step touches values below its own, so both ways
 * to its target agree.
 *
 * It uses some hundred bytes of stack, as it may run in a signal handler.
 */
#include "filter/internal.h"

#include "filter/number.h"

/* The value that the last step makes. */
static bool push(struct linker *l, enum kind kind)
{
	if (l->depth == ABI_FILTER_DEPTH_MAX)
		return broken(l);
	l->stack[l->depth++] =
		(struct item){ .kind = (uint8_t)kind, .step = (int16_t)(l->f->n_steps - 1) };
	return true;
}

static uint16_t operand16(const struct linker *l, uint32_t i)
{
	uint16_t v;

	memcpy(&v, l->code + l->at + 1 + i, sizeof v);
	return v;
}

static uint64_t operand64(const struct linker *l)
{
	uint64_t v;

	memcpy(&v, l->code + l->at + 1, sizeof v);
	return v;
}

static bool link_int(struct linker *l, enum abi_filter_op op)
{
	struct filter_value v = op == ABI_FILTER_SMALL ? number_signed((int8_t)l->code[l->at + 1])
						       : number_unsigned(operand64(l));

	if (op == ABI_FILTER_NEGATIVE) {
		if (!(v.bits >> 63))
			return broken(l);
		v.more = 1;
	}
	add_step(l, (struct filter_step){
			    .op = STEP_INT, .value = v.bits, .mode = v.more ? STEP_NEGATIVE : 0 });
	return push(l, KIND_INT);
}

/* Copies the bytes of a text into the filter. */
static bool link_text(struct linker *l)
{
	uint32_t from = operand16(l, 0), size = operand16(l, 2), to;

	if (from > l->data_size || size > l->data_size - from)
		return broken(l);
	to = take_room(l, size, 1);
	if (!to)
		return fail(l, FILTER_TOO_LARGE, NULL, 0);
	memcpy((char *)l->f + to, l->data + from, size);
	add_step(l, (struct filter_step){ .op = STEP_TEXT, .offset = to, .value = size });
	return push(l, KIND_TEXT);
}

/* Names are printed later: only printable ASCII is accepted. */
static bool is_name(const uint8_t *p, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (p[i] <= 0x20 || p[i] >= 0x7f)
			return false;
	return size > 0 && size <= ABI_FILTER_NAME_MAX;
}

static enum kind kind_of(uint8_t type)
{
	return type <= FILTER_INTEGER ? KIND_INT : type <= FILTER_F64 ? KIND_REAL : KIND_TEXT;
}

static bool link_name(struct linker *l, bool is_context)
{
	uint32_t at = operand16(l, 0), size = l->code[l->at + 3];
	struct filter_location p;

	if (at > l->data_size || size > l->data_size - at || !is_name(l->data + at, size))
		return broken(l);
	if (!find_name(l, is_context, at, size, &p))
		return false;
	if (p.from == FILTER_FROM_SOURCE)
		l->f->sources |= 1u << (p.offset < 31 ? p.offset : 31);
	else if (p.from > l->f->n_parts)
		l->f->n_parts = p.from;
	add_step(l, (struct filter_step){ .op = STEP_LOAD,
					  .type = p.type,
					  .from = p.from,
					  .mode = is_context,
					  .offset = p.offset,
					  .value = p.more });
	if (!push(l, kind_of(p.type)))
		return false;
	top(l)->name = (uint16_t)at;
	top(l)->name_size = (uint8_t)size;
	return true;
}

static bool link_jump(struct linker *l, enum step_op op)
{
	uint32_t target = l->at + 3 + operand16(l, 0);

	if (!has(l, 1) || top(l)->kind != KIND_INT || l->n_jumps == ABI_FILTER_DEPTH_MAX)
		return broken(l);
	l->jumps[l->n_jumps++] = (struct jump){ target, l->f->n_steps, (uint16_t)l->depth };
	add_step(l, (struct filter_step){ .op = (uint8_t)op });
	l->depth--;
	return true;
}

/* Resolves the jumps that lead here: both ways leave one number.  A target that is skipped, as by
 * jumps that cross, or that never comes (see END), is not valid. */
static bool land(struct linker *l)
{
	while (l->n_jumps && l->jumps[l->n_jumps - 1].target <= l->at) {
		const struct jump *j = &l->jumps[--l->n_jumps];

		if (j->target != l->at || j->depth != l->depth || top(l)->kind != KIND_INT)
			return broken(l);
		l->f->steps[j->step].offset = l->f->n_steps;
		*top(l) = (struct item){ .kind = KIND_INT, .step = -1 };
	}
	return true;
}

static bool link_one(struct linker *l, enum step_op for_int, enum step_op for_real, bool is_truth)
{
	struct item *i;
	bool is_real;

	if (!has(l, 1))
		return broken(l);
	i = top(l);
	is_real = i->kind == KIND_REAL;
	if (i->kind == KIND_TEXT)
		return fail_item(l, FILTER_IS_TEXT, i);
	add_step(l, (struct filter_step){ .op = (uint8_t)(is_real ? for_real : for_int) });
	*i = (struct item){ .kind = is_truth || !is_real ? KIND_INT : KIND_REAL,
			    .step = (int16_t)(l->f->n_steps - 1) };
	return true;
}

static bool link_op(struct linker *l, enum abi_filter_op op)
{
	switch (op) {
	case ABI_FILTER_SMALL:
	case ABI_FILTER_INT:
	case ABI_FILTER_NEGATIVE:
		return link_int(l, op);
	case ABI_FILTER_REAL:
		return add_step(l,
				(struct filter_step){ .op = STEP_REAL, .value = operand64(l) }) &&
		       push(l, KIND_REAL);
	case ABI_FILTER_TEXT:
		return link_text(l);
	case ABI_FILTER_FIELD:
	case ABI_FILTER_CONTEXT:
		return link_name(l, op == ABI_FILTER_CONTEXT);
	case ABI_FILTER_AND_THEN:
		return link_jump(l, STEP_AND_THEN);
	case ABI_FILTER_OR_ELSE:
		return link_jump(l, STEP_OR_ELSE);
	case ABI_FILTER_NOT:
		return link_one(l, STEP_NOT, STEP_NOT_REAL, true);
	case ABI_FILTER_NEGATE:
		return link_one(l, STEP_NEGATE, STEP_NEGATE_REAL, false);
	case ABI_FILTER_TRUTH:
		return link_one(l, STEP_TRUTH, STEP_TRUTH_REAL, true);
	case ABI_FILTER_END:
		if (l->depth != 1 || l->n_jumps || top(l)->kind != KIND_INT)
			return broken(l);
		return add_step(l, (struct filter_step){ .op = STEP_END });
	default:
		return filter_link_binary(l, op);
	}
}

/* Takes room for the steps: one per operation, the last of them END. */
static bool count_steps(struct linker *l)
{
	uint32_t n = 0, at = 0;
	uint8_t op = ABI_FILTER_END;

	for (; at < l->code_size; n++) {
		op = l->code[at];
		if (op >= ABI_FILTER_OPS || (op == ABI_FILTER_END && at != l->code_size - 1))
			return broken(l);
		at += 1u + operand_bytes(op);
	}
	if (!n || n > ABI_FILTER_STEPS_MAX || at != l->code_size || op != ABI_FILTER_END)
		return broken(l);
	return take_room(l, n * sizeof(struct filter_step), 8) ||
	       fail(l, FILTER_TOO_LARGE, NULL, 0);
}

/* All later reads use the private copy. */
static bool copy_code(struct linker *l, const void *code, size_t size, size_t capacity)
{
	struct abi_filter head;
	uint8_t *copy;

	if (size < sizeof head || size > ABI_FILTER_BYTES_MAX)
		return broken(l);
	if (capacity < sizeof *l->f + size)
		return fail(l, FILTER_TOO_LARGE, NULL, 0);
	copy = (uint8_t *)l->f + capacity - size;
	memmove(copy, code, size);
	memcpy(&head, copy, sizeof head);
	if (head.magic != ABI_FILTER_MAGIC || head.size != size ||
	    head.code_size > size - sizeof head)
		return broken(l);
	l->capacity = capacity - size;
	l->used = sizeof *l->f;
	l->code = copy + sizeof head;
	l->code_size = head.code_size;
	l->data = l->code + head.code_size;
	l->data_size = (uint32_t)(size - sizeof head - head.code_size);
	memset(l->f, 0, sizeof *l->f);
	return true;
}

/* A jump to a jump of the same kind leads to the target of that one. */
static void shorten_jumps(struct filter *f)
{
	for (uint32_t i = f->n_steps; i-- > 0;) {
		struct filter_step *s = &f->steps[i];

		if ((s->op == STEP_AND_THEN || s->op == STEP_OR_ELSE) &&
		    f->steps[s->offset].op == s->op)
			s->offset = f->steps[s->offset].offset;
	}
}

bool filter_link(struct filter *f, size_t capacity, const void *code, size_t size,
		 const struct filter_names *names, struct filter_problem *problem)
{
	struct linker l = { .f = f, .names = names, .problem = problem };

	if (!copy_code(&l, code, size, capacity) || !count_steps(&l))
		return false;
	for (; l.at < l.code_size; l.at += 1u + operand_bytes(l.code[l.at]))
		if (!land(&l) || !link_op(&l, (enum abi_filter_op)l.code[l.at]))
			return false;
	shorten_jumps(f);
	f->size = (uint32_t)l.used;
	if (problem)
		*problem = (struct filter_problem){ .why = FILTER_FINE };
	return true;
}

uint32_t filter_extend(struct filter *f, size_t capacity, size_t bytes)
{
	struct linker l = { .f = f, .used = f->size, .capacity = capacity };
	uint32_t at = take_room(&l, bytes, 8);

	f->size = (uint32_t)l.used;
	return at;
}
