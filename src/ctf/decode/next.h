/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/next.h - the step from event to event, inlined into the loop of the caller.
 *
 * An event of a size that its id implies needs its header and one look-up.  All others go to
 * next_body().  This is in a header because three calls for each event cost more than the work
 * itself.
 */
#ifndef CTF_DECODE_NEXT_H
#define CTF_DECODE_NEXT_H

#include <endian.h>

#include "base/atomic.h"
#include "ctf/decode/decode.h"
#include "ctf/decode/vm.h"

static inline uint32_t next_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static inline uint64_t next_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* A narrow time is the low bits of the clock.  If it is less than the last one, the clock has
 * wrapped once. */
static inline uint64_t next_clock(uint64_t clock, uint64_t low, uint32_t bits)
{
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	uint64_t t = (clock & ~mask) | low;

	return bits < 64 && low < (clock & mask) ? t + mask + 1 : t;
}

/* Sets the clock to a complete time.  @from: where the event begins. */
static inline void next_time(struct ctf_reader *r, uint64_t from, uint64_t time)
{
	if (unlikely(time < r->clock && from != r->first && !r->back_at))
		r->back_at = r->at;
	r->clock = time;
}

/* @from: where the event begins; its short header is before @p. */
static inline bool next_extended(struct ctf_reader *r, uint64_t from, const uint8_t *p,
				 uint64_t room, uint32_t *id)
{
	enum { EXTENDED_BITS = 96 };

	if (room < EXTENDED_BITS)
		return false;
	*id = next_u32(p);
	r->at += EXTENDED_BITS;
	next_time(r, from, next_u64(p + 4));
	return true;
}

static inline bool next_compact(struct ctf_reader *r, uint32_t *id)
{
	uint64_t from = r->at, at = vm_align(from, 8);
	const uint8_t *p = r->packet + at / 8;
	uint32_t v;

	if (unlikely(at > r->end || r->end - at < 32))
		return false;
	*id = *p & 31;
	if (unlikely(*id == 31)) {
		r->at = at + 8;
		return next_extended(r, from, p + 1, r->end - at - 8, id);
	}
	v = next_u32(p);
	r->clock = next_clock(r->clock, v >> 5, 27);
	r->at = at + 32;
	return true;
}

static inline bool next_wide(struct ctf_reader *r, uint32_t *id)
{
	uint64_t at = vm_align(r->at, 8);
	const uint8_t *p = r->packet + at / 8;

	if (!next_compact(r, id))
		return false;
	if (likely(*id != 30 ||
		   (*p & 31) != 30)) /* not wide; or class 30 after an extended header */
		return true;
	if (unlikely(r->end - at < 48))
		return false;
	*id = p[4] | (uint32_t)p[5] << 8;
	r->at = at + 48;
	return true;
}

static inline bool next_large(struct ctf_reader *r, uint32_t *id)
{
	uint64_t from = r->at, at = vm_align(from, 8);
	const uint8_t *p = r->packet + at / 8;

	if (unlikely(at > r->end || r->end - at < 48))
		return false;
	*id = p[0] | (uint32_t)p[1] << 8;
	if (unlikely(*id == 65535)) {
		r->at = at + 16;
		return next_extended(r, from, p + 2, r->end - at - 16, id);
	}
	r->clock = next_clock(r->clock, next_u32(p + 2), 32);
	r->at = at + 48;
	return true;
}

static inline bool next_kernel(struct ctf_reader *r, uint32_t *id)
{
	uint64_t at = vm_align(r->at, 8);
	const uint8_t *p = r->packet + at / 8;

	if (unlikely(at > r->end || r->end - at < 48))
		return false;
	*id = p[4] | (uint32_t)p[5] << 8;
	r->clock = next_clock(r->clock, next_u32(p), 32);
	r->at = at + 48;
	return true;
}

/* Decodes any header by its program. */
bool next_generic(struct ctf_reader *r, uint32_t *id);

/* Decodes the event of class @id.  r->at is after its header, which began at @from. */
int next_body(struct ctf_reader *r, struct ctf_event *e, uint64_t from, uint32_t id);
int next_fail(struct ctf_reader *r, uint64_t at, const char *what);

/* The position after @n strings from @at on, or 0.  Inlined, it would slow down events without
 * strings. */
uint64_t next_strings(const struct ctf_reader *r, uint64_t at, uint32_t n);

/* @kind: of the stream's headers.  A caller that reads many events in a loop looks it up once. */
static inline bool next_header_of(struct ctf_reader *r, enum ctf_header kind, uint32_t *id)
{
	switch (kind) {
	case CTF_HEADER_COMPACT:
		return next_compact(r, id);
	case CTF_HEADER_WIDE:
		return next_wide(r, id);
	case CTF_HEADER_LARGE:
		return next_large(r, id);
	case CTF_HEADER_KERNEL:
		return next_kernel(r, id);
	case CTF_HEADER_NONE:
		*id = 0;
		return true;
	case CTF_HEADER_GENERIC:
		break;
	}
	return next_generic(r, id);
}

static inline bool next_header(struct ctf_reader *r, uint32_t *id)
{
	return next_header_of(r, r->stream->header_kind, id);
}

/* Like ctf_reader_next(). */
static inline int next_event(struct ctf_reader *r, struct ctf_event *e)
{
	uint64_t from = r->at, body, at;
	const struct ctf_by_id *known;
	uint32_t id;

	if (unlikely(from >= r->end))
		return 0;
	if (unlikely(!next_header(r, &id)))
		return next_fail(r, from, "an event's header that is cut");
	body = r->at;
	e->packet = r->packet;
	e->slots = r->slots;
	if (unlikely(id >= r->stream->n_by_id))
		return next_body(r, e, from, id);
	known = &r->stream->by_id[id];
	at = body + known->size_bits;
	if (unlikely(body & 7 || body > r->end || known->size_bits > r->end - body))
		return next_body(r, e, from, id);
	if (known->n_strings)
		at = next_strings(r, at, known->n_strings);
	/* of unknown size; or a string is cut, which next_body() reports */
	if (unlikely(at <= body))
		return next_body(r, e, from, id);
	e->class = known->class;
	e->body_bits = body;
	e->end_bits = r->at = at;
	return 1;
}

/* Whether the field lies at a fixed distance from the event's begin; then its number. */
static inline bool ctf_is_quick(const struct ctf_op *op)
{
	return op->is_first_run && op->code == OP_NUMBER && op->type->kind != CTF_FLOAT;
}

static inline int64_t ctf_quick_number(const struct ctf_event *e, const struct ctf_op *op)
{
	uint64_t base = vm_align(e->body_bits, e->class->program->align_bits);

	return (int64_t)vm_number(e->packet, base + op->offset_bits, op);
}

#endif
