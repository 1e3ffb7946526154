/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/filter.c - compiles a filter's byte code (abi/filter.h) into BPF instructions, in one
 * pass.
 *
 * The compiler knows the kind of each item on the byte code's stack. Constants and fields stay
 * symbolic; only results exist at run time, in the program's stack, with a fixed place for each
 * depth. So both paths to a jump's target have the result in the same place.
 */
#include "kernel/bpf/filter.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "filter/compile.h"
#include "kernel/bpf/parts.h"

enum kind { CONSTANT, TEXT, FIELD, RESULT };

struct item {
	enum kind kind;
	int64_t value;	  /* CONSTANT */
	const char *text; /* TEXT */
	size_t size;
	struct bpf_filter_field field;
};

struct jump {
	size_t target; /* in the byte code */
	int label;
};

struct making {
	struct bpf_code *c;
	const struct bpf_filter_fields *fields;
	const uint8_t *code, *end;
	const char *data;
	size_t data_size;
	struct item stack[ABI_FILTER_DEPTH_MAX];
	int depth;
	struct jump jumps[ABI_FILTER_DEPTH_MAX];
	int n_jumps;
};

static int place_of(int depth)
{
	assert(depth >= 0 && depth < ABI_FILTER_DEPTH_MAX);
	return STACK_FILTER - 8 * depth;
}

static int push(struct making *m, const struct item *i)
{
	if (m->depth == ABI_FILTER_DEPTH_MAX)
		return -EOPNOTSUPP;
	m->stack[m->depth++] = *i;
	return 0;
}

/* Reads the operand after the operation at @at; false if the code ends before it. */
static bool take(const struct making *m, const uint8_t *at, void *operand, size_t size)
{
	if ((size_t)(m->end - at) < 1 + size)
		return false;
	memcpy(operand, at + 1, size);
	return true;
}

/* ---------------------------------------------------------------- operands */

static int push_integer(struct making *m, const uint8_t *at, size_t size)
{
	struct item i = { .kind = CONSTANT };
	int8_t small;

	if (!take(m, at, size == 1 ? (void *)&small : (void *)&i.value, size))
		return -EOPNOTSUPP;
	if (size == 1)
		i.value = small;
	else if (*at == ABI_FILTER_INT && i.value < 0)
		return -EOPNOTSUPP; /* more than a signed field can hold */
	return push(m, &i);
}

static int push_text(struct making *m, const uint8_t *at)
{
	uint16_t operand[2];

	if (!take(m, at, operand, sizeof operand) || operand[0] > m->data_size ||
	    operand[1] > m->data_size - operand[0])
		return -EOPNOTSUPP;
	return push(m, &(struct item){
			       .kind = TEXT, .text = m->data + operand[0], .size = operand[1] });
}

static int push_field(struct making *m, const uint8_t *at)
{
	struct item i = { .kind = FIELD };
	char name[ABI_FILTER_NAME_MAX + 1];
	uint8_t operand[3];
	uint16_t place;

	if (!take(m, at, operand, sizeof operand))
		return -EOPNOTSUPP;
	memcpy(&place, operand, sizeof place);
	if (place > m->data_size || operand[2] > m->data_size - place || operand[2] >= sizeof name)
		return -EOPNOTSUPP;
	memcpy(name, m->data + place, operand[2]);
	name[operand[2]] = 0;
	return m->fields->find(m->fields, name, &i.field) ? push(m, &i) : -EOPNOTSUPP;
}

/* ---------------------------------------------------------------- operations */

/* Replaces two items by a result and returns its place. */
static int make_result(struct making *m)
{
	assert(m->depth >= 2);
	m->depth--;
	m->stack[m->depth - 1] = (struct item){ .kind = RESULT };
	return place_of(m->depth - 1);
}

/* Whether a field can have this value; the kernel would truncate it. */
static bool can_be(const struct bpf_filter_field *field, int64_t value)
{
	int unused = 64 - 8 * field->size;

	if (field->is_unsigned)
		return value >= 0 && (int64_t)((uint64_t)value << unused >> unused) == value;
	return (int64_t)((uint64_t)value << unused) >> unused == value;
}

static int compare_integer(struct making *m, int op, const struct bpf_filter_field *field,
			   int64_t constant)
{
	static const uint8_t jumps[2][ABI_FILTER_OPS] = {
		{ [ABI_FILTER_EQ] = BPF_JEQ,
		  [ABI_FILTER_NE] = BPF_JNE,
		  [ABI_FILTER_LT] = BPF_JSLT,
		  [ABI_FILTER_LE] = BPF_JSLE,
		  [ABI_FILTER_GT] = BPF_JSGT,
		  [ABI_FILTER_GE] = BPF_JSGE },
		{ [ABI_FILTER_EQ] = BPF_JEQ,
		  [ABI_FILTER_NE] = BPF_JNE,
		  [ABI_FILTER_LT] = BPF_JLT,
		  [ABI_FILTER_LE] = BPF_JLE,
		  [ABI_FILTER_GT] = BPF_JGT,
		  [ABI_FILTER_GE] = BPF_JGE },
	};
	int place, is_so = bpf_label(m->c);

	if (__builtin_add_overflow(constant, field->shift, &constant) || !can_be(field, constant))
		return -EOPNOTSUPP;
	place = make_result(m);
	m->fields->fetch(m->fields, m->c, field);
	bpf_mov64(m->c, R2, (uint64_t)constant);
	if (op == ABI_FILTER_AND) {
		bpf_alu(m->c, BPF_AND, R1, R2);
		bpf_store(m->c, BPF_DW, FP, place, R1);
		bpf_put_label(m->c, is_so);
		return 0;
	}
	bpf_alu_imm(m->c, BPF_MOV, R3, 1);
	bpf_jump_if(m->c, jumps[field->is_unsigned][op], R1, R2, is_so);
	bpf_alu_imm(m->c, BPF_MOV, R3, 0);
	bpf_put_label(m->c, is_so);
	bpf_store(m->c, BPF_DW, FP, place, R3);
	return 0;
}

/* Compares all bytes of the text and its NUL. */
static int compare_text(struct making *m, bool is_equal, const struct bpf_filter_field *field,
			const struct item *text)
{
	uint8_t bytes[32] = { 0 };
	int place, done = bpf_label(m->c);
	size_t n = text->size + 1;
	uint64_t word;

	if (n > field->size || field->size > sizeof bytes || memchr(text->text, 0, text->size))
		return -EOPNOTSUPP;
	memcpy(bytes, text->text, text->size);
	place = make_result(m);
	m->fields->fetch(m->fields, m->c, field);
	bpf_alu_imm(m->c, BPF_MOV, R3, !is_equal);
	for (size_t i = 0; i < n; i += 8) {
		int unwanted = n - i < 8 ? 64 - 8 * (int)(n - i) : 0;

		memcpy(&word, bytes + i, sizeof word);
		bpf_load(m->c, BPF_DW, R1, R8, (int)i);
		if (unwanted)
			bpf_alu_imm(m->c, BPF_LSH, R1, unwanted);
		bpf_mov64(m->c, R2, word << unwanted);
		bpf_jump_if(m->c, BPF_JNE, R1, R2, done);
	}
	bpf_alu_imm(m->c, BPF_MOV, R3, is_equal);
	bpf_put_label(m->c, done);
	bpf_store(m->c, BPF_DW, FP, place, R3);
	return 0;
}

static int compare(struct making *m, int op)
{
	struct item field, constant;

	if (m->depth < 2)
		return -EOPNOTSUPP;
	field = m->stack[m->depth - 2];
	constant = m->stack[m->depth - 1];
	if (field.kind != FIELD)
		return -EOPNOTSUPP;
	if (field.field.is_text)
		return constant.kind == TEXT && (op == ABI_FILTER_EQ || op == ABI_FILTER_NE)
			       ? compare_text(m, op == ABI_FILTER_EQ, &field.field, &constant)
			       : -EOPNOTSUPP;
	return constant.kind == CONSTANT ? compare_integer(m, op, &field.field, constant.value)
					 : -EOPNOTSUPP;
}

/* If the result is 0 (or is not), keeps it and continues at the target; otherwise drops it. */
static int jump(struct making *m, const uint8_t *at, bool if_true)
{
	uint16_t distance;
	int label;

	if (!take(m, at, &distance, sizeof distance) || !m->depth ||
	    m->stack[m->depth - 1].kind != RESULT || m->n_jumps == ABI_FILTER_DEPTH_MAX)
		return -EOPNOTSUPP;
	label = bpf_label(m->c);
	m->jumps[m->n_jumps++] =
		(struct jump){ (size_t)(at - m->code) + 1 + sizeof distance + distance, label };
	m->depth--;
	bpf_load(m->c, BPF_DW, R1, FP, place_of(m->depth));
	bpf_jump_if_imm(m->c, if_true ? BPF_JNE : BPF_JEQ, R1, 0, label);
	return 0;
}

/* Replaces the result by 1 if it is (or is not) 0, otherwise by 0. */
static int to_truth(struct making *m, bool if_zero)
{
	int place, done = bpf_label(m->c);

	if (!m->depth || m->stack[m->depth - 1].kind != RESULT)
		return -EOPNOTSUPP;
	place = place_of(m->depth - 1);
	bpf_load(m->c, BPF_DW, R1, FP, place);
	bpf_alu_imm(m->c, BPF_MOV, R2, if_zero);
	bpf_jump_if_imm(m->c, BPF_JEQ, R1, 0, done);
	bpf_alu_imm(m->c, BPF_MOV, R2, !if_zero);
	bpf_put_label(m->c, done);
	bpf_store(m->c, BPF_DW, FP, place, R2);
	return 0;
}

static int finish(struct making *m, int leave)
{
	if (m->depth != 1 || m->stack[0].kind != RESULT || m->n_jumps)
		return -EOPNOTSUPP;
	bpf_load(m->c, BPF_DW, R1, FP, place_of(0));
	bpf_jump_if_imm(m->c, BPF_JEQ, R1, 0, leave);
	return 0;
}

/* Compiles the operation at @at. Returns its size in bytes, or -EOPNOTSUPP. */
static int step(struct making *m, const uint8_t *at)
{
	int err;

	switch ((enum abi_filter_op) * at) {
	case ABI_FILTER_SMALL:
		err = push_integer(m, at, 1);
		return err ? err : 2;
	case ABI_FILTER_INT:
	case ABI_FILTER_NEGATIVE:
		err = push_integer(m, at, 8);
		return err ? err : 9;
	case ABI_FILTER_TEXT:
		err = push_text(m, at);
		return err ? err : 5;
	case ABI_FILTER_FIELD:
		err = push_field(m, at);
		return err ? err : 4;
	case ABI_FILTER_AND_THEN:
	case ABI_FILTER_OR_ELSE:
		err = jump(m, at, *at == ABI_FILTER_OR_ELSE);
		return err ? err : 3;
	case ABI_FILTER_NOT:
	case ABI_FILTER_TRUTH:
		err = to_truth(m, *at == ABI_FILTER_NOT);
		return err ? err : 1;
	case ABI_FILTER_EQ:
	case ABI_FILTER_NE:
	case ABI_FILTER_LT:
	case ABI_FILTER_LE:
	case ABI_FILTER_GT:
	case ABI_FILTER_GE:
	case ABI_FILTER_AND:
		err = compare(m, *at);
		return err ? err : 1;
	default:
		return -EOPNOTSUPP;
	}
}

static int make(struct making *m, int leave)
{
	for (const uint8_t *at = m->code; at < m->end;) {
		int n;

		while (m->n_jumps && m->jumps[m->n_jumps - 1].target == (size_t)(at - m->code))
			bpf_put_label(m->c, m->jumps[--m->n_jumps].label);
		if (*at == ABI_FILTER_END)
			return finish(m, leave);
		n = step(m, at);
		if (n < 0)
			return n;
		at += n;
	}
	return -EOPNOTSUPP;
}

int bpf_filter(struct bpf_code *c, const char *expression, const struct bpf_filter_fields *f,
	       int leave)
{
	struct making m = { .c = c, .fields = f };
	struct filter_code code;
	struct abi_filter head;

	if (filter_compile(expression, &code, NULL))
		return -EOPNOTSUPP;
	memcpy(&head, code.bytes, sizeof head);
	m.code = code.bytes + sizeof head;
	m.end = m.code + head.code_size;
	m.data = (const char *)m.end;
	m.data_size = head.size - sizeof head - head.code_size;
	return make(&m, leave);
}
