/* SPDX-License-Identifier: MIT */
/* ctf/decode/events.c - the step from event to event: the parts of next.h that are not inlined. */
#include <errno.h>

#include "ctf/decode/next.h"

static bool is_time(const struct ctf_op *op)
{
	const char *role = ctf_op_role(op);

	return op->type->clock || !strcmp(role, "timestamp") || !strcmp(role, "=clock");
}

/* The last `id` counts, because LTTng's extended header has a second one.  The same holds for
 * numbers that show a clock. */
bool next_generic(struct ctf_reader *r, uint32_t *id)
{
	struct ctf_walk w;
	const struct ctf_op *op, *next;
	uint64_t v, clock = r->clock, from = r->at;
	uint32_t bits;

	vm_begin(&w, r->stream->header_program, r->packet, r->at, r->end, r->slots);
	w.idle = r->idle;
	*id = 0;
	for (op = w.ops; op->code != OP_END; op = next) {
		next = vm_move(&w, op);
		if (!next) {
			w.op = (uint32_t)(op - w.ops);
			vm_explain(&w, &r->fault);
			return false;
		}
		if (!vm_integer(&w, op, &v, &bits))
			continue;
		if (is_time(op))
			clock = next_clock(clock, bits < 64 ? v & ((1ull << bits) - 1) : v, bits);
		else if (!strcmp(ctf_op_role(op), "id"))
			*id = (uint32_t)v;
	}
	r->at = w.at;
	r->idle = w.idle;
	next_time(r, from, clock);
	return true;
}

/* Runs the operations of the rare kinds, from @op on. */
static bool skip_slowly(struct ctf_reader *r, struct ctf_walk *w, const struct ctf_op *op)
{
	const struct ctf_op *next;

	for (; op->code != OP_END; op = next) {
		next = op->code == OP_RUN ? vm_run(w, op) : vm_move(w, op);
		if (unlikely(!next)) {
			w->op = (uint32_t)(op - w->ops);
			vm_explain(w, &r->fault);
			return false;
		}
		if (op->code == OP_RUN)
			next = w->ops + op->to;
	}
	/* Walks over the event have a limit of their own, vm_begin(): beyond it they would end early. */
	if (unlikely(r->idle - w->idle > w->at - r->at + CTF_IDLE_MIN)) {
		next_fail(r, r->at, "an endless array of elements without bits");
		return false;
	}
	r->at = w->at;
	r->idle = w->idle;
	return true;
}

/* Runs a program to its end without giving out values.  False, with r->fault: the event does not
 * fit. The most frequent operations run here, with the position in registers.  The first other
 * one, or one that does not fit, continues in skip_slowly(). */
static bool skip_body(struct ctf_reader *r, const struct ctf_program *p)
{
	const struct ctf_op *op = p->ops;
	uint64_t at = r->at, base = at, end = r->end, from, after;
	const uint8_t *packet = r->packet;
	struct ctf_walk w;

	for (;;) {
		switch (op->code) {
		case OP_RUN:
			from = vm_align(at, op->align_bits);
			if (unlikely(from > end || op->count > end - from))
				break;
			base = from;
			at = from + op->count;
			op = p->ops + op->to;
			continue;
		case OP_SAVE:
			r->slots[op->slot] = vm_number(packet, base + op->offset_bits, op);
			op++;
			continue;
		case OP_STRING:
			from = vm_align(at, 8);
			if (unlikely(from >= end))
				break;
			after = (uint64_t)(vm_nul(packet + from / 8, packet + end / 8) - packet) *
					8 +
				8;
			if (unlikely(after > end))
				break;
			base = from;
			at = after;
			op++;
			continue;
		case OP_SEQUENCE:
			from = vm_align(at, op->align_bits);
			after = r->slots[op->slot];
			/* longer ones, and those that do not fit, as all others */
			if (unlikely(from > end || after > UINT16_MAX ||
				     after * op->stride_bits > end - from))
				break;
			base = from;
			at = after ? from + (after - 1) * op->stride_bits + op->size_bits : from;
			op++;
			continue;
		case OP_END:
			r->at = at;
			return true;
		}
		vm_begin(&w, p, packet, r->at, end, r->slots);
		w.at = at;
		w.base = base;
		w.idle = r->idle;
		return skip_slowly(r, &w, op);
	}
}

int next_fail(struct ctf_reader *r, uint64_t at, const char *what)
{
	if (!r->fault.what && !r->fault.wanted_bits)
		r->fault = (struct ctf_fault){ .at_bits = at, .what = what };
	return -EINVAL;
}

void ctf_reader_init(struct ctf_reader *r, const uint8_t *packet,
		     const struct ctf_packet_info *info, uint64_t *slots)
{
	*r = (struct ctf_reader){
		.stream = info->stream,
		.packet = packet,
		.at = info->body_bits,
		.end = info->content_bits,
		.clock = info->begin,
		.idle = info->content_bits - info->body_bits + CTF_IDLE_MIN,
		.slots = slots,
		.first = info->body_bits,
	};
}

int next_body(struct ctf_reader *r, struct ctf_event *e, uint64_t from, uint32_t id)
{
	const struct ctf_event_class *class = ctf_stream_event(r->stream, id);

	if (!class)
		return next_fail(r, from, "an event of unknown id");
	if (!class->program)
		return next_fail(r, from, class->error);
	e->class = class;
	e->body_bits = r->at;
	if (!skip_body(r, class->program))
		return next_fail(r, r->at, "an event that is cut");
	e->end_bits = r->at;
	return r->at == from ? next_fail(r, from, "an event of no bits") : 1;
}

uint64_t next_strings(const struct ctf_reader *r, uint64_t at, uint32_t n)
{
	const uint8_t *p = r->packet + at / 8, *stop = r->packet + r->end / 8;

	do {
		p = vm_nul(p, stop);
		if (unlikely(p == stop))
			return 0;
		p++;
	} while (--n);
	return (uint64_t)(p - r->packet) * 8;
}

int ctf_reader_next(struct ctf_reader *r, struct ctf_event *e)
{
	return next_event(r, e);
}
