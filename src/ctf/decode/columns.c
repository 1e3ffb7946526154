/* SPDX-License-Identifier: MIT */
/* ctf/decode/columns.c - compiles the loads of an event class, and decodes one event with them. */
#include "ctf/decode/columns.h"

#include <errno.h>
#include <stdlib.h>

static bool is_column(const struct ctf_op *op)
{
	return !op->is_hidden && op->encoding == CTF_UTF8 &&
	       (op->code == OP_NUMBER || op->code == OP_STRING || op->code == OP_TEXT_ARRAY ||
		op->code == OP_TEXT_SEQUENCE);
}

static bool is_in_run(const struct ctf_op *op)
{
	return op->code == OP_NUMBER || op->code == OP_TEXT_ARRAY || op->code == OP_ARRAY;
}

/* A hidden field that moves would have to be skipped: such a class has no columns. */
static bool is_eligible(const struct ctf_program *p)
{
	uint32_t n = 0;

	for (const struct ctf_op *op = p->ops; op->code != OP_END; op++) {
		if (op->code != OP_RUN && op->code != OP_SAVE && !is_column(op) &&
		    !(op->is_hidden && is_in_run(op)))
			return false;
		n += is_column(op);
	}
	return n <= CTF_COLUMNS_MAX;
}

static enum ctf_load_code number_code(const struct ctf_op *op)
{
	if (!op->is_plain || op->type->kind == CTF_FLOAT)
		return LOAD_NUMBER;
	switch (op->size_bits) {
	case 8:
		return op->is_signed ? LOAD_I8 : LOAD_U8;
	case 16:
		return op->is_signed ? LOAD_I16 : LOAD_U16;
	case 24:
		return op->is_signed ? LOAD_I24 : LOAD_NUMBER;
	case 32:
		return op->is_signed ? LOAD_I32 : LOAD_U32;
	case 64:
		return LOAD_64;
	}
	return LOAD_NUMBER;
}

static struct ctf_load load_of(const struct ctf_program *p, const struct ctf_op *op)
{
	struct ctf_load l = {
		.slot = op->slot, .n = 1, .at = op->offset_bits / 8, .count = op->count
	};

	switch (op->code) {
	case OP_RUN:
		l.code = LOAD_RUN;
		l.n = op->align_bits;
		break;
	case OP_SAVE:
		l.code = LOAD_SAVE;
		l.n = (uint32_t)(op - p->ops);
		break;
	case OP_STRING:
		l.code = LOAD_STRING;
		break;
	case OP_TEXT_SEQUENCE:
		l.code = LOAD_TEXT_SEQUENCE;
		l.n = op->align_bits;
		break;
	case OP_TEXT_ARRAY:
		l.code = LOAD_TEXT_ARRAY;
		break;
	case OP_NUMBER:
		l.code = (uint8_t)number_code(op);
		l.count = op->size_bits / 8;
		break;
	default:
		l.code = LOAD_END;
	}
	return l;
}

/* Whether @l has the kind of @before, and follows it directly. */
static bool continues(const struct ctf_load *before, const struct ctf_load *l)
{
	return l->code < LOAD_NUMBER && l->code == before->code &&
	       l->at == before->at + before->n * before->count;
}

/* Returns the number of loads; there are no more than operations. */
static uint32_t list_loads(const struct ctf_program *p, struct ctf_load *loads,
			   const struct ctf_op **columns)
{
	uint32_t n = 0, n_columns = 0;

	for (const struct ctf_op *op = p->ops;; op++) {
		if (is_in_run(op) && !is_column(op))
			continue;
		loads[n] = load_of(p, op);
		if (is_column(op))
			columns[n_columns++] = op;
		if (n && continues(&loads[n - 1], &loads[n]))
			loads[n - 1].n++;
		else
			n++;
		if (op->code == OP_END)
			return n;
	}
}

int ctf_columns_compile(struct ctf_meta *m, struct ctf_program *p)
{
	const struct ctf_op *columns[CTF_COLUMNS_MAX];
	struct ctf_load *loads, *kept;
	uint32_t n;

	if (!is_eligible(p))
		return 0;
	for (const struct ctf_op *op = p->ops; op->code != OP_END; op++)
		p->n_columns += is_column(op);
	loads = calloc(p->n_ops, sizeof *loads);
	n = loads ? list_loads(p, loads, columns) : 0;
	kept = ctf_meta_alloc(m, n * sizeof *kept);
	p->columns = ctf_meta_alloc(m, (p->n_columns + (size_t)1) * sizeof *p->columns);
	if (!loads || !kept || !p->columns) {
		free(loads);
		return -ENOMEM;
	}
	memcpy(kept, loads, n * sizeof *kept);
	memcpy(p->columns, columns, p->n_columns * sizeof *columns);
	p->loads = kept;
	free(loads);
	return 0;
}

bool ctf_event_columns(const struct ctf_event *e, struct ctf_column *columns)
{
	const struct ctf_program *p = e->class->program;

	return p->loads && columns_take(p, e->packet, e->body_bits, e->end_bits, e->slots, columns);
}
