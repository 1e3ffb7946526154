/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/vm.h - the operations that move, inlined where they run.
 *
 * A machine is a struct ctf_walk that gives out no values.  Each function returns the next
 * operation, or NULL if the packet does not contain what this operation needs; w->at is then
 * where that should begin.
 */
#ifndef CTF_DECODE_VM_H
#define CTF_DECODE_VM_H

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/atomic.h"
#include "ctf/decode/decode.h"

static inline uint64_t vm_extend_sign(uint64_t v, uint32_t bits)
{
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

/* The number of @op at bit @at.  Signed numbers are extended; floats are their bits.  A plain
 * number is the upper end of the eight bytes that end where it ends: so no byte after it is read,
 * whatever its size, and none before the packet. */
static inline uint64_t vm_number(const uint8_t *packet, uint64_t at, const struct ctf_op *op)
{
	uint64_t v, end = at + op->size_bits;

	if (likely(op->is_plain && end >= 64)) {
		memcpy(&v, packet + end / 8 - 8, sizeof v);
		return ((v >> (64 - op->size_bits)) ^ op->sign) - op->sign;
	}
	v = ctf_read_bits(packet, at, op->size_bits, op->is_big);
	return op->is_signed ? vm_extend_sign(v, op->size_bits) : v;
}

/* The position of the first NUL from @p on, or @stop.  Texts are short: to compare eight or
 * sixteen bytes at a time is faster than a call.  (Zero byte in a word: Mycroft 1987, exact for
 * the lowest.) */
static inline const uint8_t *vm_nul(const uint8_t *p, const uint8_t *stop)
{
	uint64_t v, zero;

#ifdef __SSE2__
	for (; stop - p >= 16; p += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)p);
		int nuls = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));

		if (nuls)
			return p + __builtin_ctz((unsigned)nuls);
	}
#endif
	for (; stop - p >= 8; p += 8) {
		memcpy(&v, p, sizeof v);
		v = le64toh(v);
		zero = (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
		if (zero)
			return p + __builtin_ctzll(zero) / 8;
	}
	while (p < stop && *p)
		p++;
	return p;
}

static inline uint64_t vm_align(uint64_t at, uint64_t align)
{
	return (at + align - 1) & ~(align - 1);
}

static inline bool vm_is_within(uint64_t v, uint64_t first, uint64_t last, bool is_signed)
{
	if (is_signed)
		return (int64_t)v >= (int64_t)first && (int64_t)v <= (int64_t)last;
	return v >= first && v <= last;
}

static inline const struct ctf_op *vm_run(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, op->align_bits);

	if (unlikely(at > w->end || op->count > w->end - at))
		return NULL;
	w->base = at;
	w->at = at + op->count;
	return op + 1;
}

static inline const struct ctf_op *vm_string(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, 8);
	const uint8_t *nul;

	if (at >= w->end)
		return NULL;
	nul = vm_nul(w->packet + at / 8, w->packet + w->end / 8);
	if (nul == w->packet + w->end / 8)
		return NULL;
	w->base = at;
	w->at = (uint64_t)(nul + 1 - w->packet) * 8;
	return op + 1;
}

/* The first unit of @unit bytes from @p on that is 0; @stop: there is none. */
static inline const uint8_t *vm_wide_nul(const uint8_t *p, const uint8_t *stop, size_t unit)
{
	static const uint8_t nul[4];

	for (; (size_t)(stop - p) >= unit; p += unit)
		if (!memcmp(p, nul, unit))
			return p;
	return stop;
}

static inline const struct ctf_op *vm_wide_string(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, 8);
	uint32_t unit = op->encoding <= CTF_UTF16_BE ? 2 : 4;
	const uint8_t *stop = w->packet + w->end / 8, *nul;

	if (at >= w->end)
		return NULL;
	nul = vm_wide_nul(w->packet + at / 8, stop, unit);
	if (nul == stop)
		return NULL;
	w->base = at;
	w->at = (uint64_t)(nul + unit - w->packet) * 8;
	return op + 1;
}

static inline const struct ctf_op *vm_sequence(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, op->align_bits), n = w->slots[op->slot];

	if (at > w->end)
		return NULL;
	if (n && (n - 1 > (w->end - at) / op->stride_bits ||
		  (n - 1) * op->stride_bits + op->size_bits > w->end - at))
		return NULL;
	w->base = at;
	w->at = n ? at + (n - 1) * op->stride_bits + op->size_bits : at;
	return op + 1;
}

static inline const struct ctf_op *vm_loop(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, op->align_bits);
	uint64_t n = op->slot == CTF_NO_SLOT ? op->count : w->slots[op->slot];

	if (at > w->end)
		return NULL;
	w->at = at;
	if (!n)
		return w->ops + op->to + 1;
	w->loops[w->depth++] = (struct ctf_loop){ (uint32_t)(op - w->ops), n, at };
	return op + 1;
}

/* An iteration that used no bits could be repeated for ever: such iterations are limited by
 * w->idle. */
static inline const struct ctf_op *vm_again(struct ctf_walk *w, const struct ctf_op *op)
{
	struct ctf_loop *l = &w->loops[w->depth - 1];

	if (w->at == l->at && !w->idle--) {
		w->idle = 0;
		return NULL;
	}
	l->at = w->at;
	if (--l->left)
		return w->ops + op->to + 1;
	w->depth--;
	return op + 1;
}

/* Little-endian base 128 (DWARF 4, 7.6): at most ten bytes; bits beyond 64 are dropped. */
static inline const struct ctf_op *vm_leb128(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, 8), v = 0;
	uint32_t shift = 0;
	uint8_t byte;

	w->base = at;
	do {
		if (at + 8 > w->end || shift >= 70)
			return NULL;
		byte = w->packet[at / 8];
		v |= (uint64_t)(byte & 127) << shift;
		shift += 7;
		at += 8;
	} while (byte & 128);
	if (op->is_signed && shift < 64 && byte & 64)
		v |= UINT64_MAX << shift;
	w->number = v;
	if (op->slot != CTF_NO_SLOT)
		w->slots[op->slot] = v;
	w->at = at;
	return op + 1;
}

static inline const struct ctf_op *vm_variant(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t tag = w->slots[op->slot];

	for (uint32_t i = 0; i < op->n_cases; i++)
		if (vm_is_within(tag, op->cases[i].first, op->cases[i].last, op->is_tag_signed))
			return w->ops + op->cases[i].to;
	return NULL;
}

static inline const struct ctf_op *vm_move(struct ctf_walk *w, const struct ctf_op *op)
{
	switch (op->code) {
	case OP_RUN:
		return vm_run(w, op);
	case OP_SAVE:
		w->slots[op->slot] = vm_number(w->packet, w->base + op->offset_bits, op);
		return op + 1;
	case OP_STRING:
		return vm_string(w, op);
	case OP_WIDE_STRING:
		return vm_wide_string(w, op);
	case OP_LEB128:
		return vm_leb128(w, op);
	case OP_SEQUENCE:
	case OP_TEXT_SEQUENCE:
		return vm_sequence(w, op);
	case OP_LOOP:
		return vm_loop(w, op);
	case OP_AGAIN:
		return vm_again(w, op);
	case OP_CHOICE:
		return vm_variant(w, op);
	case OP_JUMP:
		return w->ops + op->to;
	default:
		return op + 1;
	}
}

static inline void vm_begin(struct ctf_walk *w, const struct ctf_program *p, const uint8_t *packet,
			    uint64_t at, uint64_t end, uint64_t *slots)
{
	w->ops = p->ops;
	w->op = 0;
	w->packet = packet;
	w->at = at;
	w->base = at;
	w->end = end;
	w->slots = slots;
	w->idle = end - at + CTF_IDLE_MIN;
	w->left = 0;
	w->depth = 0;
	w->is_in_array = false;
}

/* The integer of @op, which has just moved; false if it has none. */
static inline bool vm_integer(const struct ctf_walk *w, const struct ctf_op *op, uint64_t *v,
			      uint32_t *bits)
{
	if (op->code == OP_LEB128) {
		*v = w->number;
		*bits = (uint32_t)(w->at - w->base) / 8 * 7;
		return true;
	}
	if (op->code != OP_NUMBER || op->type->kind == CTF_FLOAT)
		return false;
	*v = vm_number(w->packet, w->base + op->offset_bits, op);
	*bits = op->size_bits;
	return true;
}

/* vm_explain - the reason why w->op did not move. */
void vm_explain(const struct ctf_walk *w, struct ctf_fault *f);

#endif
