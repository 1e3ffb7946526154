/* SPDX-License-Identifier: MIT */
/* ctf/decode.c - the machine that runs the programs of class.c.  See decode.h. */
#include "ctf/decode.h"

#include <endian.h>
#include <errno.h>

#include "base/atomic.h"

/* Bits that are not whole bytes: little-endian numbers begin at a byte's lowest bit, big-endian ones
 * at its highest. */
static uint64_t read_odd_bits(const uint8_t *bytes, uint64_t at, uint32_t size, bool is_big)
{
	uint64_t v = 0;

	for (uint32_t done = 0; done < size;) {
		uint32_t skip = (uint32_t)(at + done) & 7;
		uint32_t n = 8 - skip < size - done ? 8 - skip : size - done;
		uint32_t byte = bytes[(at + done) >> 3];

		if (is_big)
			v = v << n | (byte >> (8 - skip - n) & ((1u << n) - 1));
		else
			v |= (uint64_t)(byte >> skip & ((1u << n) - 1)) << done;
		done += n;
	}
	return v;
}

uint64_t ctf_read_bits(const uint8_t *bytes, uint64_t at, uint32_t size, bool is_big)
{
	const uint8_t *p = bytes + (at >> 3);
	bool is_swapped = is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	if (at & 7)
		return read_odd_bits(bytes, at, size, is_big);
	switch (size) {
	case 8:
		return *p;
	case 16:
		memcpy(&v16, p, sizeof v16);
		return is_swapped ? __builtin_bswap16(v16) : v16;
	case 32:
		memcpy(&v32, p, sizeof v32);
		return is_swapped ? __builtin_bswap32(v32) : v32;
	case 64:
		memcpy(&v64, p, sizeof v64);
		return is_swapped ? __builtin_bswap64(v64) : v64;
	default:
		return read_odd_bits(bytes, at, size, is_big);
	}
}

static uint64_t extend_sign(uint64_t v, uint32_t bits)
{
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

static inline uint64_t read_number(const uint8_t *packet, uint64_t at, const struct ctf_op *op)
{
	uint64_t v = ctf_read_bits(packet, at, op->size_bits, op->is_big);

	return op->is_signed ? extend_sign(v, op->size_bits) : v;
}

static inline uint64_t align_up(uint64_t at, uint64_t align)
{
	return (at + align - 1) & ~(align - 1);
}

static bool is_within(uint64_t v, uint64_t first, uint64_t last, bool is_signed)
{
	if (is_signed)
		return (int64_t)v >= (int64_t)first && (int64_t)v <= (int64_t)last;
	return v >= first && v <= last;
}

const char *ctf_enum_label(const struct ctf_type *t, uint64_t value)
{
	for (uint32_t i = 0; i < t->n_members; i++)
		if (is_within(value, t->labels[i].first, t->labels[i].last, t->is_signed))
			return t->labels[i].text;
	return NULL;
}

/*
 * The operations that move.  Each returns the next operation, or NULL if the packet does not hold
 * what it needs; w->at is then where that should begin.
 */

static const struct ctf_op *do_run(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = align_up(w->at, op->align_bits);

	if (unlikely(at > w->end || op->count > w->end - at))
		return NULL;
	w->base = at;
	w->at = at + op->count;
	return op + 1;
}

static const struct ctf_op *do_string(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = align_up(w->at, 8);
	const uint8_t *nul;

	if (at >= w->end)
		return NULL;
	nul = memchr(w->packet + at / 8, 0, (w->end - at) / 8);
	if (!nul)
		return NULL;
	w->base = at;
	w->at = (uint64_t)(nul + 1 - w->packet) * 8;
	return op + 1;
}

static const struct ctf_op *do_sequence(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = align_up(w->at, op->align_bits), n = w->slots[op->slot];

	if (at > w->end)
		return NULL;
	if (n && (n - 1 > (w->end - at) / op->stride_bits ||
		  (n - 1) * op->stride_bits + op->size_bits > w->end - at))
		return NULL;
	w->base = at;
	w->at = n ? at + (n - 1) * op->stride_bits + op->size_bits : at;
	return op + 1;
}

static const struct ctf_op *do_loop(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = align_up(w->at, op->align_bits);
	uint64_t n = op->slot == CTF_NO_SLOT ? op->count : w->slots[op->slot];

	if (at > w->end)
		return NULL;
	w->at = at;
	if (!n)
		return w->ops + op->to + 1;
	w->loops[w->depth++] = (struct ctf_loop){ (uint32_t)(op - w->ops), n, at };
	return op + 1;
}

/* A turn that used no bits could be repeated for ever: such turns are paid from w->idle. */
static const struct ctf_op *do_again(struct ctf_walk *w, const struct ctf_op *op)
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

static const struct ctf_op *do_choice(struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t tag = w->slots[op->slot];

	for (uint32_t i = 0; i < op->n_cases; i++)
		if (is_within(tag, op->cases[i].first, op->cases[i].last, op->is_tag_signed))
			return w->ops + op->cases[i].to;
	return NULL;
}

static const struct ctf_op *do_move(struct ctf_walk *w, const struct ctf_op *op)
{
	switch (op->code) {
	case OP_RUN:
		return do_run(w, op);
	case OP_SAVE:
		w->slots[op->slot] = read_number(w->packet, w->base + op->offset_bits, op);
		return op + 1;
	case OP_STRING:
		return do_string(w, op);
	case OP_SEQUENCE:
	case OP_TEXT_SEQUENCE:
		return do_sequence(w, op);
	case OP_LOOP:
		return do_loop(w, op);
	case OP_AGAIN:
		return do_again(w, op);
	case OP_CHOICE:
		return do_choice(w, op);
	case OP_JUMP:
		return w->ops + op->to;
	default:
		return op + 1;
	}
}

static void begin(struct ctf_walk *w, const struct ctf_program *p, const uint8_t *packet, uint64_t at,
		  uint64_t end, uint64_t *slots)
{
	w->ops = p->ops;
	w->op = 0;
	w->packet = packet;
	w->at = at;
	w->base = at;
	w->end = end;
	w->slots = slots;
	w->idle = end - at;
	w->left = 0;
	w->depth = 0;
	w->is_in_array = false;
}

/* Runs a program to its end without showing anything.  False: it does not fit; w->op is where. */
static bool skip(struct ctf_walk *w)
{
	const struct ctf_op *op = w->ops, *next;

	while (op->code != OP_END) {
		next = do_move(w, op);
		if (unlikely(!next)) {
			w->op = (uint32_t)(op - w->ops);
			return false;
		}
		op = op->code == OP_RUN ? w->ops + op->to : next;
	}
	return true;
}

/* Which field of a run is the first beyond the end. */
static const struct ctf_op *first_beyond(const struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = align_up(w->at, op->align_bits), room = at < w->end ? w->end - at : 0;

	for (op++; op->code >= OP_NUMBER; op++)
		if ((op->code == OP_NUMBER || op->code == OP_ARRAY || op->code == OP_TEXT_ARRAY) &&
		    op->offset_bits + op->size_bits > room)
			return op;
	return op;
}

static void explain(const struct ctf_walk *w, struct ctf_fault *f)
{
	const struct ctf_op *op = w->ops + w->op;

	*f = (struct ctf_fault){ .at_bits = w->at, .name = op->name };
	switch (op->code) {
	case OP_RUN:
		f->wanted_bits = align_up(w->at, op->align_bits) - w->at + op->count;
		f->name = first_beyond(w, op)->name;
		break;
	case OP_STRING:
		f->what = "a string without end";
		break;
	case OP_SEQUENCE:
	case OP_TEXT_SEQUENCE:
		if (__builtin_mul_overflow(w->slots[op->slot], op->stride_bits, &f->wanted_bits))
			f->wanted_bits = UINT64_MAX;
		break;
	case OP_CHOICE:
		f->what = "a tag that chooses nothing";
		break;
	default:
		f->what = "an array without bits that does not end";
	}
}

void ctf_walk_event(struct ctf_walk *w, const struct ctf_event *e, enum ctf_scope scope)
{
	const struct ctf_program *p = e->class->program;
	const struct ctf_op *op;

	begin(w, p, e->packet, e->body_bits, e->end_bits, e->slots);
	if (scope != CTF_PAYLOAD)
		return;
	for (op = w->ops; op && (uint32_t)(op - w->ops) < p->payload;)
		op = do_move(w, op);
	w->op = op ? (uint32_t)(op - w->ops) : p->n_ops - 1;
}

static enum ctf_found show_number(const uint8_t *packet, uint64_t at, const struct ctf_op *op,
				  const struct ctf_type *t, struct ctf_value *v)
{
	union {
		uint32_t u;
		float f;
	} single;

	v->u = read_number(packet, at, op);
	if (t->kind == CTF_FLOAT) {
		v->is_single = op->size_bits == 32;
		if (v->is_single) {
			single.u = (uint32_t)v->u;
			v->real = (double)single.f;
		}
		return CTF_REAL;
	}
	v->base = t->base;
	v->is_signed = op->is_signed;
	v->size_bits = (uint8_t)op->size_bits;
	if (t->kind == CTF_ENUM) {
		v->label = ctf_enum_label(t, v->u);
		return CTF_LABEL;
	}
	return op->is_signed ? CTF_INT : CTF_UINT;
}

static enum ctf_found show_text(const uint8_t *text, uint64_t size, struct ctf_value *v)
{
	v->text = (const char *)text;
	v->size = strnlen(v->text, size);
	return CTF_TEXT;
}

static enum ctf_found show_array(struct ctf_walk *w, uint64_t at, uint64_t n, struct ctf_value *v)
{
	w->is_in_array = true;
	w->element_at = at;
	w->left = n;
	v->u = n;
	return CTF_OPEN_ARRAY;
}

static enum ctf_found show_element(struct ctf_walk *w, struct ctf_value *v)
{
	const struct ctf_op *op = w->ops + w->op - 1;
	uint64_t at = w->element_at;

	v->scope = op->scope;
	v->is_hidden = op->is_hidden;
	if (!w->left) {
		w->is_in_array = false;
		v->name = op->name;
		return CTF_CLOSE_ARRAY;
	}
	w->left--;
	w->element_at += op->stride_bits;
	v->name = NULL;
	return show_number(w->packet, at, op, op->type->of, v);
}

/* What an operation shows once it has moved; CTF_WALK_END: nothing. */
static enum ctf_found show(struct ctf_walk *w, const struct ctf_op *op, struct ctf_value *v)
{
	switch (op->code) {
	case OP_NUMBER:
		return show_number(w->packet, w->base + op->offset_bits, op, op->type, v);
	case OP_STRING:
		return show_text(w->packet + w->base / 8, (w->at - w->base) / 8, v);
	case OP_TEXT_SEQUENCE:
		return show_text(w->packet + w->base / 8, w->slots[op->slot], v);
	case OP_TEXT_ARRAY:
		return show_text(w->packet + (w->base + op->offset_bits) / 8, op->count, v);
	case OP_SEQUENCE:
		return show_array(w, w->base, w->slots[op->slot], v);
	case OP_ARRAY:
		return show_array(w, w->base + op->offset_bits, op->count, v);
	case OP_LOOP:
		v->u = op->slot == CTF_NO_SLOT ? op->count : w->slots[op->slot];
		return CTF_OPEN_ARRAY;
	case OP_OPEN:
		return CTF_OPEN;
	case OP_CLOSE:
		return CTF_CLOSE;
	case OP_CLOSE_ARRAY:
		return CTF_CLOSE_ARRAY;
	default:
		return CTF_WALK_END;
	}
}

enum ctf_found ctf_walk_next(struct ctf_walk *w, struct ctf_value *v)
{
	enum ctf_found found;

	if (w->is_in_array)
		return show_element(w, v);
	for (;;) {
		const struct ctf_op *op = w->ops + w->op, *next;

		if (op->code == OP_END)
			return CTF_WALK_END;
		next = op->code >= OP_NUMBER ? op + 1 : do_move(w, op);
		if (unlikely(!next))
			return CTF_WALK_END;
		w->op = (uint32_t)(next - w->ops);
		v->scope = op->scope;
		v->name = op->name;
		v->is_hidden = op->is_hidden;
		found = show(w, op, v);
		if (found != CTF_WALK_END)
			return found;
	}
}

/* Runs the program up to @op, so that w->base is that of its run. */
static bool walk_to(struct ctf_walk *w, const struct ctf_event *e, const struct ctf_op *wanted)
{
	const struct ctf_op *op;

	begin(w, e->class->program, e->packet, e->body_bits, e->end_bits, e->slots);
	for (op = w->ops; op && op < wanted;)
		op = do_move(w, op);
	if (!op || op != wanted)
		return false;
	return op->code >= OP_NUMBER || do_move(w, op);
}

bool ctf_event_number(const struct ctf_event *e, const struct ctf_op *op, int64_t *value)
{
	struct ctf_walk w;
	uint64_t base;

	if (!op || op->code != OP_NUMBER || op->type->kind == CTF_FLOAT)
		return false;
	if (likely(op->is_first_run))
		base = align_up(e->body_bits, e->class->program->align_bits);
	else if (walk_to(&w, e, op))
		base = w.base;
	else
		return false;
	*value = (int64_t)read_number(e->packet, base + op->offset_bits, op);
	return true;
}

bool ctf_event_text(const struct ctf_event *e, const struct ctf_op *op, const char **text, size_t *size)
{
	struct ctf_walk w;
	struct ctf_value v;

	if (!op || op->code == OP_NUMBER || !walk_to(&w, e, op) || show(&w, op, &v) != CTF_TEXT)
		return false;
	*text = v.text;
	*size = v.size;
	return true;
}

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
	uint64_t at = align_up(r->at, 8);
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
	uint64_t at = align_up(r->at, 8);
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
	uint64_t at = align_up(r->at, 8);
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

	begin(&w, r->stream->header_program, r->packet, r->at, r->end, r->slots);
	*id = 0;
	for (op = w.ops; op->code != OP_END; op = next) {
		next = do_move(&w, op);
		if (!next) {
			w.op = (uint32_t)(op - w.ops);
			explain(&w, &r->fault);
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
			*id = (uint32_t)read_number(r->packet, w.base + op->offset_bits, op);
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

	if (likely(p->is_fixed)) {
		uint64_t at = align_up(r->at, p->align_bits);

		if (likely(at <= r->end && p->size_bits <= r->end - at)) {
			r->at = at + p->size_bits;
			return true;
		}
	}
	begin(&w, p, r->packet, r->at, r->end, r->slots);
	w.idle = r->idle;
	if (!skip(&w)) {
		explain(&w, &r->fault);
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

int ctf_reader_next(struct ctf_reader *r, struct ctf_event *e)
{
	uint64_t from = r->at;
	const struct ctf_event_class *class;
	uint32_t id;

	if (from >= r->end)
		return 0;
	if (unlikely(!read_header(r, &id)))
		return fail(r, from, "an event's header that is cut");
	class = likely(id < r->stream->n_by_id) ? r->stream->by_id[id] : ctf_stream_event(r->stream, id);
	if (unlikely(!class))
		return fail(r, from, "an event of unknown id");
	if (unlikely(!class->program))
		return fail(r, from, class->error);
	e->class = class;
	e->packet = r->packet;
	e->body_bits = r->at;
	e->slots = r->slots;
	if (unlikely(!skip_body(r, class->program)))
		return fail(r, r->at, "an event that is cut");
	e->end_bits = r->at;
	if (unlikely(r->at == from))
		return fail(r, from, "an event of no bits");
	return 1;
}

static void note(struct ctf_packet_info *info, const char *name, uint64_t v, uint32_t *size_seen)
{
	if (!strcmp(name, "timestamp_begin")) {
		info->begin = v;
		info->has_begin = true;
	} else if (!strcmp(name, "timestamp_end")) {
		info->end = v;
		info->has_end = true;
	} else if (!strcmp(name, "content_size")) {
		info->content_bits = v;
		*size_seen |= 1;
	} else if (!strcmp(name, "packet_size")) {
		info->packet_bits = v;
		*size_seen |= 2;
	} else if (!strcmp(name, "packet_seq_num")) {
		info->sequence = v;
		info->has_sequence = true;
	} else if (!strcmp(name, "events_discarded")) {
		info->discarded = v;
		info->has_discarded = true;
	} else if (!strcmp(name, "cpu_id")) {
		info->cpu = (uint32_t)v;
	}
}

static int packet_fault(struct ctf_fault *f, uint64_t at, const char *what)
{
	if (what)
		*f = (struct ctf_fault){ .at_bits = at, .what = what };
	return -EINVAL;
}

/* Magic, uuid, and which stream. */
static int read_packet_header(const struct ctf_meta *m, struct ctf_walk *w, struct ctf_packet_info *info,
			      uint64_t *stream_id, struct ctf_fault *f)
{
	const struct ctf_op *op, *next;

	for (op = w->ops; op->code != OP_END; op = next) {
		uint64_t at, v;

		next = do_move(w, op);
		if (!next) {
			w->op = (uint32_t)(op - w->ops);
			explain(w, f);
			return -EINVAL;
		}
		at = w->base + op->offset_bits;
		if (op->code == OP_ARRAY && op->name && !strcmp(op->name, "uuid") && op->count == 16 &&
		    op->size_bits == 8 && m->has_uuid && at % 8 == 0 &&
		    memcmp(w->packet + at / 8, m->uuid, 16))
			return packet_fault(f, at, "a packet of another trace (its uuid differs)");
		if (op->code != OP_NUMBER || !op->name)
			continue;
		v = read_number(w->packet, at, op);
		if (!strcmp(op->name, "magic") && v != 0xC1FC1FC1)
			return packet_fault(f, at, "no packet: the magic number is wrong");
		if (!strcmp(op->name, "stream_id"))
			*stream_id = v;
		else if (!strcmp(op->name, "stream_instance_id"))
			info->instance = v;
	}
	return 0;
}

static int read_packet_context(struct ctf_walk *w, struct ctf_packet_info *info, uint64_t file_bits,
			       struct ctf_fault *f)
{
	const struct ctf_op *op, *next;
	uint32_t seen = 0;

	for (op = w->ops; op->code != OP_END; op = next) {
		next = do_move(w, op);
		if (!next) {
			w->op = (uint32_t)(op - w->ops);
			explain(w, f);
			return -EINVAL;
		}
		if (op->code == OP_NUMBER && op->name)
			note(info, op->name, read_number(w->packet, w->base + op->offset_bits, op), &seen);
	}
	info->has_size = seen;
	if (!(seen & 2))
		info->packet_bits = seen & 1 ? info->content_bits : file_bits;
	if (!(seen & 1))
		info->content_bits = info->packet_bits;
	return 0;
}

int ctf_packet_read(const struct ctf_meta *m, const uint8_t *bytes, uint64_t size,
		    struct ctf_packet_info *info, uint64_t *slots, struct ctf_fault *f)
{
	uint64_t stream_id = 0, bits = size * 8;
	struct ctf_walk w;
	bool has_id;

	*info = (struct ctf_packet_info){ .cpu = UINT32_MAX };
	begin(&w, m->packet_header_program, bytes, 0, bits, slots);
	if (read_packet_header(m, &w, info, &stream_id, f))
		return -EINVAL;
	info->stream = ctf_meta_stream(m, stream_id);
	has_id = stream_id || info->stream;
	if (!has_id && !m->streams->next)
		info->stream = m->streams;
	if (!info->stream)
		return packet_fault(f, 0, "a packet of a stream that the metadata do not describe");
	begin(&w, info->stream->packet_program, bytes, w.at, bits, slots);
	if (read_packet_context(&w, info, bits, f))
		return -EINVAL;
	info->body_bits = w.at;
	if (info->content_bits < info->body_bits)
		return packet_fault(f, 0, "a packet that claims to be shorter than its own header");
	if (info->packet_bits < info->content_bits)
		return packet_fault(f, 0, "a packet that claims less room than content");
	if (info->packet_bits % 8)
		return packet_fault(f, 0, "a packet that claims no whole number of bytes");
	return 0;
}
