/* SPDX-License-Identifier: MIT */
/* kernel/convert/gather.c - the fields of a record, one after the other: see gather.h. */
#include "kernel/convert/gather.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "capture/table.h"

struct dynamic {
	const uint8_t *bytes;
	size_t size;
};

/* The place of a dynamic field's data. Returns false if it is not inside the record. A record without
 * words has no data. */
static bool locate(struct dynamic *v, const struct kernel_op *op, const uint8_t *record,
		   size_t length)
{
	uint32_t word, at;

	if (op->offset + sizeof word > length) {
		*v = (struct dynamic){ record, 0 };
		return true;
	}
	memcpy(&word, record + op->offset, sizeof word);
	at = (word & 0xffff) + (op->is_relative ? op->offset + 4u : 0);
	v->size = word >> 16;
	if (at > length || v->size > length - at)
		return false;
	v->bytes = record + at;
	return true;
}

static size_t put_bytes(uint8_t *to, struct dynamic v)
{
	memcpy(to, v.bytes, v.size);
	return v.size;
}

static size_t put_string(uint8_t *to, struct dynamic v)
{
	size_t n = strnlen((const char *)v.bytes, v.size);

	memcpy(to, v.bytes, n);
	to[n] = 0;
	return n + 1;
}

/* An unreadable text is shown as its address. If readable memory ends before the text, its bytes
 * follow, unless they are as many as a text may have. */
static size_t put_user_text(uint8_t *to, struct dynamic v, const uint8_t *record,
			    const struct kernel_op *op)
{
	int64_t args[KERNEL_SYSCALL_N_ARGS];
	uint64_t at;
	size_t n;

	memcpy(args, record + KERNEL_SYSCALL_ARGS, sizeof args);
	if (!capture_text_is_used(op->condition, args))
		v.size = 0;
	if (v.size >= ABI_CAPTURE_TEXT_CUT || (v.size && memchr(v.bytes, 0, v.size)))
		return put_string(to, v);
	memcpy(&at, record + op->size, sizeof at);
	n = (size_t)sprintf((char *)to, v.size ? "0x%llx " : "0x%llx", (unsigned long long)at);
	return n + put_string(to + n, v);
}

static size_t put_sequence(uint8_t *to, struct dynamic v, unsigned element)
{
	uint16_t count = (uint16_t)(v.size / element);

	memcpy(to, &count, sizeof count);
	memcpy(to + sizeof count, v.bytes, (size_t)count * element);
	return sizeof count + (size_t)count * element;
}

/* The most bytes a field's form may need besides its data. */
static size_t op_extra(uint8_t kind)
{
	switch (kind) {
	case KERNEL_OP_COPY:
	case KERNEL_OP_REQUEST:
		return 0;
	case KERNEL_OP_USER_TEXT:
		return sizeof "0x0123456789abcdef ";
	case KERNEL_OP_PARENT:
	case KERNEL_OP_CHILD:
		return sizeof(int32_t);
	default:
		return 2;
	}
}

static size_t put_request(uint8_t *to, struct dynamic v)
{
	uint32_t bits = kernel_layout_request((const char *)v.bytes, v.size);

	memcpy(to, &bits, sizeof bits);
	return sizeof bits;
}

static size_t put_process(struct kernel_processes *p, uint8_t *to, const uint8_t *record,
			  const struct kernel_op *op)
{
	int32_t tid, pid;

	memcpy(&tid, record + op->offset, sizeof tid);
	pid = op->kind == KERNEL_OP_CHILD ? kernel_processes_child(p, tid)
					  : kernel_processes_of(p, tid);
	memcpy(to, &pid, sizeof pid);
	return sizeof pid;
}

static bool is_located(uint8_t kind)
{
	return kind == KERNEL_OP_STRING || kind == KERNEL_OP_SEQUENCE ||
	       kind == KERNEL_OP_USER_TEXT;
}

static size_t put_op(struct kernel_classes *c, uint8_t *to, const struct kernel_op *op,
		     const uint8_t *record, struct dynamic v)
{
	switch (op->kind) {
	case KERNEL_OP_STRING:
		return put_string(to, v);
	case KERNEL_OP_USER_TEXT:
		return put_user_text(to, v, record, op);
	case KERNEL_OP_SEQUENCE:
		return put_sequence(to, v, op->element);
	case KERNEL_OP_REQUEST:
		return put_request(to, v);
	case KERNEL_OP_PARENT:
	case KERNEL_OP_CHILD:
		return put_process(&c->processes, to, record, op);
	default:
		return put_bytes(to, v);
	}
}

bool kernel_gather(struct kernel_classes *c, const struct kernel_layout *l, const uint8_t *record,
		   size_t length, size_t *size)
{
	size_t room = length - KERNEL_COMMON_SIZE + l->growth;

	assert(length >= KERNEL_COMMON_SIZE && room <= c->scratch_size);
	*size = 0;
	for (int i = 0; i < l->n_ops; i++) {
		const struct kernel_op *op = &l->ops[i];
		struct dynamic v = { record + op->offset, op->size };

		if (is_located(op->kind) && !locate(&v, op, record, length))
			return false;
		if (v.size + op_extra(op->kind) > room - *size)
			return false;
		*size += put_op(c, c->scratch + *size, op, record, v);
	}
	return true;
}
