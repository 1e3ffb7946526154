/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/columns.h - decodes all fields of an event at once: see ctf_event_columns() and
 * ctf_reader_batch().
 *
 * An event that has only numbers and texts has a second program, of loads.  Neighbours of one
 * kind are one load, and a load occupies only 24 bytes.
 */
#ifndef CTF_DECODE_COLUMNS_H
#define CTF_DECODE_COLUMNS_H

#include "ctf/decode/vm.h"

enum ctf_load_code {
	LOAD_U8, /* n numbers, one after another, in the byte order of this machine */
	LOAD_I8,
	LOAD_U16,
	LOAD_I16,
	LOAD_I24, /* vpid and vtid of duet: the only one that no type of C has */
	LOAD_U32,
	LOAD_I32,
	LOAD_64,
	LOAD_NUMBER,	 /* any other number, and floats: see its operation */
	LOAD_TEXT_ARRAY, /* count bytes */
	LOAD_STRING,
	LOAD_TEXT_SEQUENCE, /* as many bytes as the slot says, aligned to n */
	LOAD_SAVE,	    /* store the number of operation n in its slot */
	LOAD_RUN,	    /* align to n, check count bits */
	LOAD_END,
};

struct ctf_load {
	uint8_t code;
	uint8_t slot;
	uint32_t n;
	uint64_t at; /* bytes from the begin of the run */
	uint64_t count;
};

/* ctf_columns_compile - list the columns of @p and their loads, if it has only numbers and texts.
 * Returns 0 or -ENOMEM. */
int ctf_columns_compile(struct ctf_meta *m, struct ctf_program *p);

static inline void columns_number(const struct ctf_op *op, const uint8_t *packet, uint64_t base,
				  struct ctf_column *cell)
{
	cell->u = vm_number(packet, base + op->offset_bits, op);
	if (op->type->kind == CTF_FLOAT)
		cell->real = ctf_real(op, cell->u);
}

static inline void columns_i24(struct ctf_column *cell, const uint8_t *p, uint32_t n)
{
	for (; n; n--, p += 3)
		cell++->i = (int32_t)((uint32_t)p[0] << 8 | (uint32_t)p[1] << 16 |
				      (uint32_t)p[2] << 24) >>
			    8;
}

static inline void columns_text(struct ctf_column *c, const uint8_t *p, uint64_t size)
{
	c->text = (const char *)p;
	c->size = (size_t)(vm_nul(p, p + size) - p);
}

#define CELLS_LOAD(type)                                                                           \
	do {                                                                                       \
		const uint8_t *number = packet + base / 8 + l->at;                                 \
		type v;                                                                            \
                                                                                                   \
		for (uint32_t i = l->n; i; i--, number += sizeof v) {                              \
			memcpy(&v, number, sizeof v);                                              \
			cell++->i = (int64_t)v;                                                    \
		}                                                                                  \
	} while (0)

/* Decodes the columns of an event from bit @at on.  Returns its end, or 0 if it does not fit
 * before @end. */
static inline __attribute__((always_inline)) uint64_t
columns_take(const struct ctf_program *p, const uint8_t *packet, uint64_t at, uint64_t end,
	     uint64_t *slots, struct ctf_column *columns)
{
	uint64_t base = at, from;
	struct ctf_column *cell = columns;

	for (const struct ctf_load *l = p->loads;; l++) {
		switch ((enum ctf_load_code)l->code) {
		case LOAD_U8:
			CELLS_LOAD(uint8_t);
			break;
		case LOAD_I8:
			CELLS_LOAD(int8_t);
			break;
		case LOAD_U16:
			CELLS_LOAD(uint16_t);
			break;
		case LOAD_I16:
			CELLS_LOAD(int16_t);
			break;
		case LOAD_I24:
			columns_i24(cell, packet + base / 8 + l->at, l->n);
			cell += l->n;
			break;
		case LOAD_U32:
			CELLS_LOAD(uint32_t);
			break;
		case LOAD_I32:
			CELLS_LOAD(int32_t);
			break;
		case LOAD_64:
			CELLS_LOAD(uint64_t);
			break;
		case LOAD_NUMBER:
			columns_number(p->columns[cell - columns], packet, base, cell);
			cell++;
			break;
		case LOAD_TEXT_ARRAY:
			columns_text(cell++, packet + base / 8 + l->at, l->count);
			break;
		case LOAD_STRING:
			from = vm_align(at, 8);
			columns_text(cell, packet + from / 8, from < end ? (end - from) / 8 : 0);
			at = from + (cell++->size + 1) * 8;
			if (unlikely(at > end))
				return 0;
			break;
		case LOAD_TEXT_SEQUENCE:
			from = vm_align(at, l->n);
			if (unlikely(from > end || slots[l->slot] > (end - from) / 8))
				return 0;
			columns_text(cell++, packet + from / 8, slots[l->slot]);
			at = from + slots[l->slot] * 8;
			break;
		case LOAD_SAVE:
			slots[l->slot] =
				vm_number(packet, base + p->ops[l->n].offset_bits, &p->ops[l->n]);
			break;
		case LOAD_RUN:
			from = vm_align(at, l->n);
			if (unlikely(from > end || l->count > end - from))
				return 0;
			base = from;
			at = from + l->count;
			break;
		case LOAD_END:
			return at;
		}
	}
}

#endif
