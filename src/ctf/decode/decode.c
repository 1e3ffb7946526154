/* SPDX-License-Identifier: MIT */
/* ctf/decode/decode.c - decodes numbers, and walks over the fields of an event.  See decode.h. */
#include "ctf/decode/decode.h"

#include "base/atomic.h"
#include "base/text.h"
#include "ctf/decode/vm.h"

/* Reads a number that is not on whole bytes: little-endian numbers begin at the lowest bit of a
 * byte, big-endian ones at the highest. */
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

/* Of a bit map: whether one of the bits @l->first to @l->last is set. */
static bool has_bit(uint64_t value, const struct ctf_label *l)
{
	uint64_t from = l->first < 64 ? value >> l->first : 0;
	uint64_t n = l->last - l->first;

	return n < 63 ? from & ((2ull << n) - 1) : from != 0;
}

const char *ctf_enum_next(const struct ctf_type *t, uint64_t value, uint32_t *i)
{
	while (*i < t->n_members) {
		const struct ctf_label *l = &t->labels[(*i)++];

		if (t->is_bit_map ? has_bit(value, l)
				  : vm_is_within(value, l->first, l->last, t->is_signed))
			return l->text;
	}
	return NULL;
}

const char *ctf_enum_label(const struct ctf_type *t, uint64_t value)
{
	uint32_t i = 0;

	return ctf_enum_next(t, value, &i);
}

const char *ctf_enum_labels(const struct ctf_type *t, uint64_t value, char *buffer, size_t size)
{
	enum { DOTS = 4 }; /* with a NUL */
	struct text all = text_fixed(buffer, size > DOTS ? size - DOTS : size);
	uint32_t i = 0;
	const char *first = ctf_enum_next(t, value, &i), *next;

	if (!first || !t->has_several)
		return first;
	next = ctf_enum_next(t, value, &i);
	if (!next)
		return first;
	for (text_addf(&all, "%s", first); next && !all.failed; next = ctf_enum_next(t, value, &i))
		text_addf(&all, "|%s", next);
	if (all.failed && size > DOTS)
		memcpy(buffer + all.size, "...", DOTS);
	return buffer;
}

/* The first field of a run that reaches beyond the end. */
static const struct ctf_op *first_beyond(const struct ctf_walk *w, const struct ctf_op *op)
{
	uint64_t at = vm_align(w->at, op->align_bits), room = at < w->end ? w->end - at : 0;

	for (op++; op->code >= OP_NUMBER; op++)
		if ((op->code == OP_NUMBER || op->code == OP_ARRAY || op->code == OP_TEXT_ARRAY) &&
		    op->offset_bits + op->size_bits > room)
			return op;
	return op;
}

void vm_explain(const struct ctf_walk *w, struct ctf_fault *f)
{
	const struct ctf_op *op = w->ops + w->op;

	*f = (struct ctf_fault){ .at_bits = w->at, .name = op->name };
	switch (op->code) {
	case OP_RUN:
		f->wanted_bits = vm_align(w->at, op->align_bits) - w->at + op->count;
		f->name = first_beyond(w, op)->name;
		break;
	case OP_STRING:
	case OP_WIDE_STRING:
		f->what = "a string without end";
		break;
	case OP_SEQUENCE:
	case OP_TEXT_SEQUENCE:
		if (__builtin_mul_overflow(w->slots[op->slot], op->stride_bits, &f->wanted_bits))
			f->wanted_bits = UINT64_MAX;
		break;
	case OP_LEB128:
		f->what = "a number without end";
		break;
	case OP_CHOICE:
		f->what = "a tag that selects no option";
		break;
	default:
		f->what = "an endless array of elements without bits";
	}
}

void ctf_walk_event(struct ctf_walk *w, const struct ctf_event *e, enum ctf_scope scope)
{
	const struct ctf_program *p = e->class->program;
	const struct ctf_op *op;

	vm_begin(w, p, e->packet, e->body_bits, e->end_bits, e->slots);
	if (scope != CTF_PAYLOAD)
		return;
	for (op = w->ops; op && (uint32_t)(op - w->ops) < p->payload;)
		op = vm_move(w, op);
	w->op = op ? (uint32_t)(op - w->ops) : p->n_ops - 1;
}

/* IEEE 754 binary16: a double represents it exactly. */
static double half_to_double(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double v = bits & 1023, scale = 1.0 / 16777216; /* 2^-24: the unit of subnormal numbers */

	if (exponent == 31)
		v = bits & 1023 ? __builtin_nan("") : __builtin_inf();
	else if (exponent)
		v = (v + 1024) * (double)(1u << (exponent - 1)) * scale;
	else
		v *= scale;
	return bits & 0x8000 ? -v : v;
}

double ctf_real(const struct ctf_op *op, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	double real;
	float single;

	if (op->size_bits == 16)
		return half_to_double((uint16_t)bits);
	if (op->size_bits == 32) {
		memcpy(&single, &low, sizeof single);
		return (double)single;
	}
	memcpy(&real, &bits, sizeof real);
	return real;
}

static enum ctf_found show_number(const uint8_t *packet, uint64_t at, const struct ctf_op *op,
				  const struct ctf_type *t, struct ctf_value *v)
{
	v->u = vm_number(packet, at, op);
	if (t->kind == CTF_FLOAT) {
		v->is_single = op->size_bits <= 32;
		v->real = ctf_real(op, v->u);
		return CTF_REAL;
	}
	v->base = t->base;
	v->is_signed = op->is_signed;
	v->size_bits = (uint8_t)op->size_bits;
	if (t->kind == CTF_ENUM) {
		v->label = ctf_enum_label(t, v->u);
		v->labels = t->has_several ? t : NULL;
		return CTF_LABEL;
	}
	return op->is_signed ? CTF_INT : CTF_UINT;
}

static enum ctf_found show_leb128(uint64_t number, const struct ctf_op *op, struct ctf_value *v)
{
	v->u = number;
	v->base = op->type->base;
	v->is_signed = op->is_signed;
	v->size_bits = 64;
	v->label = op->type->n_members ? ctf_enum_label(op->type, number) : NULL;
	v->labels = op->type->has_several ? op->type : NULL;
	if (op->type->n_members)
		return CTF_LABEL;
	return op->is_signed ? CTF_INT : CTF_UINT;
}

static enum ctf_found show_text(const uint8_t *text, uint64_t size, const struct ctf_op *op,
				struct ctf_value *v)
{
	const uint8_t *end = text + size;

	v->text = (const char *)text;
	v->encoding = op->encoding;
	if (likely(op->encoding == CTF_UTF8))
		end = vm_nul(text, end);
	else
		end = vm_wide_nul(text, end, op->encoding <= CTF_UTF16_BE ? 2 : 4);
	v->size = (size_t)(end - text);
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

#define LOAD_ALL(type)                                                                             \
	for (uint32_t i = 0; i < n; i++) {                                                         \
		type one;                                                                          \
                                                                                                   \
		memcpy(&one, from + i * sizeof one, sizeof one);                                   \
		to[i] = (uint64_t)(int64_t)one;                                                    \
	}                                                                                          \
	return

/* Whole bytes in the order of this machine, which is little-endian, without gaps. */
static void load_plain(uint64_t *to, const uint8_t *from, uint32_t n, uint32_t bits, bool is_signed)
{
	switch (bits | is_signed) {
	case 8:
		LOAD_ALL(uint8_t);
	case 8 | 1:
		LOAD_ALL(int8_t);
	case 16:
		LOAD_ALL(uint16_t);
	case 16 | 1:
		LOAD_ALL(int16_t);
	case 32:
		LOAD_ALL(uint32_t);
	case 32 | 1:
		LOAD_ALL(int32_t);
	default:
		memcpy(to, from, n * sizeof *to);
	}
}

static bool is_plain_array(const struct ctf_op *op, uint64_t at)
{
	uint32_t bits = op->size_bits;

	return !op->is_big && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && at % 8 == 0 &&
	       op->stride_bits == bits && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
}

uint32_t ctf_walk_numbers(struct ctf_walk *w, struct ctf_value *form, uint64_t *numbers,
			  uint32_t most)
{
	const struct ctf_op *op = w->ops + w->op - 1;
	uint32_t n = w->left < most ? (uint32_t)w->left : most;

	if (!w->is_in_array || !n || op->type->of->kind != CTF_INTEGER)
		return 0;
	form->scope = op->scope;
	form->is_hidden = op->is_hidden;
	form->name = NULL;
	form->base = op->type->of->base;
	form->is_signed = op->is_signed;
	form->size_bits = (uint8_t)op->size_bits;
	if (is_plain_array(op, w->element_at))
		load_plain(numbers, w->packet + w->element_at / 8, n, op->size_bits, op->is_signed);
	else
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = vm_number(w->packet,
					       w->element_at + (uint64_t)i * op->stride_bits, op);
	w->left -= n;
	w->element_at += (uint64_t)n * op->stride_bits;
	return n;
}

const uint8_t *ctf_walk_bytes(struct ctf_walk *w, size_t *n)
{
	const struct ctf_op *op = w->ops + w->op - 1;
	const uint8_t *bytes = w->packet + w->element_at / 8;

	if (!w->is_in_array || op->type->of->kind != CTF_INTEGER || op->size_bits != 8 ||
	    op->is_signed || !is_plain_array(op, w->element_at))
		return NULL;
	*n = w->left;
	w->element_at += w->left * op->stride_bits;
	w->left = 0;
	return bytes;
}

/* Gives out the value of an operation that has moved; CTF_WALK_END: it has none. */
static enum ctf_found show(struct ctf_walk *w, const struct ctf_op *op, struct ctf_value *v)
{
	switch (op->code) {
	case OP_NUMBER:
		return show_number(w->packet, w->base + op->offset_bits, op, op->type, v);
	case OP_STRING:
	case OP_WIDE_STRING:
		return show_text(w->packet + w->base / 8, (w->at - w->base) / 8, op, v);
	case OP_LEB128:
		return show_leb128(w->number, op, v);
	case OP_TEXT_SEQUENCE:
		return show_text(w->packet + w->base / 8, w->slots[op->slot], op, v);
	case OP_TEXT_ARRAY:
		return show_text(w->packet + (w->base + op->offset_bits) / 8, op->count, op, v);
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
		next = op->code >= OP_NUMBER ? op + 1 : vm_move(w, op);
		if (unlikely(!next))
			return CTF_WALK_END;
		w->op = (uint32_t)(next - w->ops);
		v->scope = op->scope;
		v->name = op->name;
		v->name_size = op->name_size;
		v->is_hidden = op->is_hidden;
		found = show(w, op, v);
		if (found != CTF_WALK_END)
			return found;
	}
}

/* Runs the program up to @wanted, so that w->base is that of its run. */
static bool walk_to(struct ctf_walk *w, const struct ctf_event *e, const struct ctf_op *wanted)
{
	const struct ctf_op *op;

	vm_begin(w, e->class->program, e->packet, e->body_bits, e->end_bits, e->slots);
	for (op = w->ops; op && op < wanted;)
		op = vm_move(w, op);
	if (!op || op != wanted)
		return false;
	return op->code >= OP_NUMBER || vm_move(w, op);
}

bool ctf_event_number(const struct ctf_event *e, const struct ctf_op *op, int64_t *value)
{
	struct ctf_walk w;
	uint64_t base;

	if (op && op->code == OP_LEB128 && walk_to(&w, e, op)) {
		*value = (int64_t)w.number;
		return true;
	}
	if (!op || op->code != OP_NUMBER || op->type->kind == CTF_FLOAT)
		return false;
	if (likely(op->is_first_run))
		base = vm_align(e->body_bits, e->class->program->align_bits);
	else if (walk_to(&w, e, op))
		base = w.base;
	else
		return false;
	*value = (int64_t)vm_number(e->packet, base + op->offset_bits, op);
	return true;
}

bool ctf_event_text(const struct ctf_event *e, const struct ctf_op *op, const char **text,
		    size_t *size)
{
	struct ctf_walk w;
	struct ctf_value v;

	if (!op || op->encoding != CTF_UTF8)
		return false;
	if (op->code == OP_TEXT_ARRAY && op->is_first_run) {
		const uint8_t *p =
			e->packet +
			(vm_align(e->body_bits, e->class->program->align_bits) + op->offset_bits) /
				8;

		*text = (const char *)p;
		*size = (size_t)(vm_nul(p, p + op->count) - p);
		return true;
	}
	if (op->code == OP_NUMBER || !walk_to(&w, e, op) || show(&w, op, &v) != CTF_TEXT)
		return false;
	*text = v.text;
	*size = v.size;
	return true;
}

enum ctf_found ctf_event_value(const struct ctf_event *e, const struct ctf_op *wanted,
			       struct ctf_value *v)
{
	const struct ctf_op *op;
	struct ctf_walk w;

	vm_begin(&w, e->class->program, e->packet, e->body_bits, e->end_bits, e->slots);
	for (op = w.ops; op && op < wanted;)
		op = vm_move(&w, op);
	if (op != wanted)
		return CTF_WALK_END;
	w.op = (uint32_t)(op - w.ops);
	if (op->code == OP_CHOICE) {
		op = vm_variant(&w, op);
		while (op && (op->code == OP_RUN || op->code == OP_SAVE)) {
			op = vm_move(&w, op);
		}
		if (!op || op->code == OP_JUMP || op->code == OP_END || op->name != wanted->name)
			return CTF_WALK_END;
		w.op = (uint32_t)(op - w.ops);
	}
	return ctf_walk_next(&w, v);
}
