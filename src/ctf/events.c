/* SPDX-License-Identifier: MIT */
/* ctf/events.c - from event to event within a packet.  See decode.h. */
#include <endian.h>
#include <errno.h>

#include "base/atomic.h"
#include "ctf/decode.h"
#include "ctf/machine.h"

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* The place after the NUL that ends the string at @at, or 0.  Strings are short: eight bytes at a time
 * beat a call.  (Zero byte in a word: Mycroft 1987, exact for the lowest.) */
static inline uint64_t after_string(const uint8_t *packet, uint64_t at, uint64_t end)
{
	const uint8_t *p = packet + at / 8, *stop = packet + end / 8;
	uint64_t v, zero;

	for (; stop - p >= 8; p += 8) {
		v = get_u64(p);
		zero = (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
		if (zero)
			return (uint64_t)(p - packet) * 8 + ((uint64_t)__builtin_ctzll(zero) | 7) + 1;
	}
	for (; p < stop; p++)
		if (!*p)
			return (uint64_t)(p + 1 - packet) * 8;
	return 0;
}

/* Runs a program to its end without showing anything.  False: it does not fit; w->op is where.
 * The commonest operations run here, with the place in registers. */
static bool skip(struct ctf_walk *w)
{
	const struct ctf_op *op = w->ops, *next;
	uint64_t at = w->at, base = at, end = w->end, from;

	for (;;) {
		switch (op->code) {
		case OP_RUN:
			from = machine_align(at, op->align_bits);
			if (unlikely(from > end || op->count > end - from))
				break;
			base = from;
			at = from + op->count;
			op = w->ops + op->to;
			continue;
		case OP_SAVE:
			w->slots[op->slot] = machine_number(w->packet, base + op->offset_bits, op);
			op++;
			continue;
		case OP_STRING:
			from = machine_align(at, 8);
			at = from < end ? after_string(w->packet, from, end) : 0;
			if (unlikely(!at)) {
				at = from;
				break;
			}
			base = from;
			op++;
			continue;
		case OP_END:
			w->at = at;
			return true;
		}
		w->at = at;
		w->base = base;
		next = machine_move(w, op);
		if (unlikely(!next)) {
			w->op = (uint32_t)(op - w->ops);
			return false;
		}
		at = w->at;
		base = w->base;
		op = next;
	}
}

/* A narrow time is the low bits of the clock; it has wrapped once if it is less than the last. */
static inline uint64_t clock_after(uint64_t clock, uint64_t low, uint32_t bits)
{
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	uint64_t t = (clock & ~mask) | low;

	return bits < 64 && low < (clock & mask) ? t + mask + 1 : t;
}

static bool read_extended(struct ctf_reader *r, const uint8_t *p, uint64_t room, uint32_t *id)
{
	enum { EXTENDED_BITS = 96 };

	if (room < EXTENDED_BITS)
		return false;
	*id = get_u32(p);
	r->clock = get_u64(p + 4);
	r->at += EXTENDED_BITS;
	return true;
}

static inline bool read_compact(struct ctf_reader *r, uint32_t *id)
{
	uint64_t at = machine_align(r->at, 8);
	const uint8_t *p = r->packet + at / 8;
	uint32_t v;

	if (unlikely(at > r->end || r->end - at < 32))
		return false;
	*id = *p & 31;
	if (unlikely(*id == 31)) {
		r->at = at + 8;
		return read_extended(r, p + 1, r->end - at - 8, id);
	}
	v = get_u32(p);
	r->clock = clock_after(r->clock, v >> 5, 27);
	r->at = at + 32;
	return true;
}

static inline bool read_large(struct ctf_reader *r, uint32_t *id)
{
	uint64_t at = machine_align(r->at, 8);
	const uint8_t *p = r->packet + at / 8;

	if (unlikely(at > r->end || r->end - at < 48))
		return false;
	*id = p[0] | (uint32_t)p[1] << 8;
	if (unlikely(*id == 65535)) {
		r->at = at + 16;
		return read_extended(r, p + 2, r->end - at - 16, id);
	}
	r->clock = clock_after(r->clock, get_u32(p + 2), 32);
	r->at = at + 48;
	return true;
}

static inline bool read_kernel(struct ctf_reader *r, uint32_t *id)
{
	uint64_t at = machine_align(r->at, 8);
	const uint8_t *p = r->packet + at / 8;

	if (unlikely(at > r->end || r->end - at < 48))
		return false;
	*id = p[4] | (uint32_t)p[5] << 8;
	r->clock = clock_after(r->clock, get_u32(p), 32);
	r->at = at + 48;
	return true;
}

static bool is_time(const struct ctf_op *op)
{
	return op->type->clock || (op->name && !strcmp(op->name, "timestamp"));
}

/* The last `id` counts: LTTng's extended header has a second one.  So does any number that shows a
 * clock. */
static bool read_generic(struct ctf_reader *r, uint32_t *id)
{
	struct ctf_walk w;
	const struct ctf_op *op, *next;

	machine_begin(&w, r->stream->header_program, r->packet, r->at, r->end, r->slots);
	*id = 0;
	for (op = w.ops; op->code != OP_END; op = next) {
		next = machine_move(&w, op);
		if (!next) {
			w.op = (uint32_t)(op - w.ops);
			machine_explain(&w, &r->fault);
			return false;
		}
		if (op->code != OP_NUMBER || op->type->kind == CTF_FLOAT)
			continue;
		if (is_time(op))
			r->clock = clock_after(r->clock,
					       ctf_read_bits(r->packet, w.base + op->offset_bits,
							     op->size_bits, op->is_big),
					       op->size_bits);
		else if (op->name && !strcmp(op->name, "id"))
			*id = (uint32_t)machine_number(r->packet, w.base + op->offset_bits, op);
	}
	r->at = w.at;
	return true;
}

static inline bool read_header(struct ctf_reader *r, uint32_t *id)
{
	switch (r->stream->header_kind) {
	case CTF_HEADER_COMPACT:
		return read_compact(r, id);
	case CTF_HEADER_LARGE:
		return read_large(r, id);
	case CTF_HEADER_KERNEL:
		return read_kernel(r, id);
	case CTF_HEADER_NONE:
		*id = 0;
		return true;
	default:
		return read_generic(r, id);
	}
}

static bool skip_body(struct ctf_reader *r, const struct ctf_program *p)
{
	struct ctf_walk w;

	machine_begin(&w, p, r->packet, r->at, r->end, r->slots);
	w.idle = r->idle;
	if (!skip(&w)) {
		machine_explain(&w, &r->fault);
		return false;
	}
	r->idle = w.idle;
	r->at = w.at;
	return true;
}

static int fail(struct ctf_reader *r, uint64_t at, const char *what)
{
	if (!r->fault.what && !r->fault.wanted_bits)
		r->fault = (struct ctf_fault){ .at_bits = at, .what = what };
	return -EINVAL;
}

void ctf_reader_init(struct ctf_reader *r, const uint8_t *packet, const struct ctf_packet_info *info,
		     uint64_t *slots)
{
	*r = (struct ctf_reader){
		.stream = info->stream,
		.packet = packet,
		.at = info->body_bits,
		.end = info->content_bits,
		.clock = info->begin,
		.idle = info->content_bits - info->body_bits,
		.slots = slots,
	};
}

/* The event after whose header r->at is, of a class whose size is not known beforehand. */
static int read_body(struct ctf_reader *r, struct ctf_event *e, uint64_t from, uint32_t id)
{
	const struct ctf_event_class *class = ctf_stream_event(r->stream, id);

	if (!class)
		return fail(r, from, "an event of unknown id");
	if (!class->program)
		return fail(r, from, class->error);
	e->class = class;
	e->body_bits = r->at;
	if (!skip_body(r, class->program))
		return fail(r, r->at, "an event that is cut");
	e->end_bits = r->at;
	return r->at == from ? fail(r, from, "an event of no bits") : 1;
}

int ctf_reader_next(struct ctf_reader *r, struct ctf_event *e)
{
	uint64_t from = r->at;
	const struct ctf_by_id *known;
	uint32_t id;

	if (from >= r->end)
		return 0;
	if (unlikely(!read_header(r, &id)))
		return fail(r, from, "an event's header that is cut");
	e->packet = r->packet;
	e->slots = r->slots;
	if (unlikely(id >= r->stream->n_by_id))
		return read_body(r, e, from, id);
	known = &r->stream->by_id[id];
	if (!known->size_bits || r->at & 7 || r->at > r->end || known->size_bits > r->end - r->at)
		return read_body(r, e, from, id);
	e->class = known->class;
	e->body_bits = r->at;
	e->end_bits = r->at += known->size_bits;
	return 1;
}
