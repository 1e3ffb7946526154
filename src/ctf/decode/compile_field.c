/* SPDX-License-Identifier: MIT */
/* ctf/decode/compile_field.c - compiles a type to operations: runs, and fields of unknown size.
 * See compile.h. */
#include "ctf/decode/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 65536 };
static const uint64_t RUN_BITS_MAX = 1ull << 40;

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static uint32_t low_bit(uint64_t v, uint32_t most)
{
	uint64_t bit = v & -v;

	return v && bit < most ? (uint32_t)bit : most;
}

void compile_fail(struct compiler *c, const char *what, const char *name)
{
	if (c->err)
		return;
	c->err = -EINVAL;
	snprintf(c->why, sizeof c->why, "field `%.60s` %s", name ? name : "?", what);
}

struct ctf_op *compile_emit(struct compiler *c, enum ctf_opcode code)
{
	if (!c->err && c->n_ops >= OPS_MAX)
		compile_fail(c, "makes its event larger than 65536 fields", "...");
	if (!c->err && c->n_ops == c->capacity) {
		uint32_t capacity = c->capacity ? c->capacity * 2 : 64;
		struct ctf_op *ops = realloc(c->ops, capacity * sizeof *ops);

		if (!ops) {
			c->err = -ENOMEM;
		} else {
			c->ops = ops;
			c->capacity = capacity;
		}
	}
	if (c->err) {
		c->discarded = (struct ctf_op){ 0 };
		return &c->discarded;
	}
	c->ops[c->n_ops] =
		(struct ctf_op){ .code = code, .slot = CTF_NO_SLOT, .scope = (uint8_t)c->scope };
	return &c->ops[c->n_ops++];
}

void compile_close_run(struct compiler *c)
{
	struct ctf_op *run;
	uint32_t n = c->n_pending;

	if (c->run < 0 || c->err)
		return;
	run = &c->ops[c->run];
	run->size_bits = 0;
	run->count = c->run_bits;
	run->to = c->n_ops;
	c->known_align = low_bit(c->run_bits, run->align_bits);
	for (uint32_t i = 0; i < n; i++) {
		struct ctf_op save = c->pending[i];

		*compile_emit(c, OP_SAVE) = save;
	}
	c->n_pending = 0;
	c->run = -1;
}

void compile_open_run(struct compiler *c, uint32_t align)
{
	if (c->run >= 0 && c->ops && c->ops[c->run].align_bits < align)
		compile_close_run(c);
	if (c->run < 0) {
		struct ctf_op *run = compile_emit(c, OP_RUN);

		run->align_bits = align > c->known_align ? align : c->known_align;
		if (c->err)
			return;
		c->run = (int32_t)c->n_ops - 1;
		c->run_bits = 0;
	}
	c->run_bits = align_up(c->run_bits, align);
}

static uint32_t add_node(struct compiler *c, const char *name, int32_t parent,
			 const struct ctf_type *t)
{
	uint32_t place = c->n_nodes;

	if (c->n_nodes == c->node_capacity) {
		uint32_t capacity = c->node_capacity ? c->node_capacity * 2 : 64;
		struct node *nodes = realloc(c->nodes, capacity * sizeof *nodes);
		uint8_t *slots = nodes ? realloc(c->slots, capacity) : NULL;

		if (nodes)
			c->nodes = nodes;
		if (!slots) {
			c->err = -ENOMEM;
			return 0;
		}
		memset(slots + c->node_capacity, CTF_NO_SLOT, capacity - c->node_capacity);
		c->slots = slots;
		c->node_capacity = capacity;
	}
	c->nodes[c->n_nodes++] = (struct node){
		.name = name,
		.parent = parent,
		.type = t,
	};
	return place;
}

const char *compile_shown_name(const char *name)
{
	return name && name[0] == '_' ? name + 1 : name;
}

static bool is_big(const struct compiler *c, const struct ctf_type *t)
{
	return (t->order == CTF_NATIVE ? c->meta->order : t->order) == CTF_BIG;
}

static bool is_number(const struct ctf_type *t)
{
	return t->kind == CTF_INTEGER || t->kind == CTF_ENUM || t->kind == CTF_FLOAT;
}

static bool is_padding(const struct compiler *c, const char *name, const struct ctf_type *t)
{
	return c->scope == CTF_PAYLOAD && name && !strncmp(name, "_pad", 4) && name[4] >= '0' &&
	       name[4] <= '9' && t->kind == CTF_ARRAY && t->of->size_bits == 8;
}

static struct ctf_op *emit_shown(struct compiler *c, enum ctf_opcode code, const char *name,
				 const struct ctf_type *t)
{
	struct ctf_op *op = compile_emit(c, code);

	op->name = compile_shown_name(name);
	op->name_size = op->name ? (uint32_t)strlen(op->name) : 0;
	op->type = t;
	op->is_hidden = is_padding(c, name, t);
	return op;
}

static void describe_number(struct compiler *c, struct ctf_op *op, const struct ctf_type *t)
{
	op->size_bits = t->size_bits;
	op->align_bits = t->align_bits;
	op->is_big = is_big(c, t);
	op->is_signed = t->is_signed;
	op->stride_bits = (uint32_t)align_up(t->size_bits, t->align_bits);
}

static void grow_run(struct compiler *c, uint64_t bits, const char *name)
{
	if (bits > RUN_BITS_MAX || c->run_bits > RUN_BITS_MAX)
		return compile_fail(c, "is larger than any packet", name);
	c->run_bits += bits;
}

static void save_number(struct compiler *c, uint8_t slot, const struct ctf_op *compile_number)
{
	struct ctf_op save = *compile_number, *pending;

	pending = realloc(c->pending, (c->n_pending + 1) * sizeof *pending);
	if (!pending) {
		c->err = -ENOMEM;
		return;
	}
	save.code = OP_SAVE;
	save.slot = slot;
	c->pending = pending;
	c->pending[c->n_pending++] = save;
}

/* The alignment is known at compile time only in a run that begins on a byte. */
static bool is_plain(const struct ctf_op *op, const struct ctf_op *run)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && run->align_bits >= 8 &&
	       op->offset_bits % 8 == 0 && op->size_bits % 8 == 0 &&
	       (!op->is_big || op->size_bits == 8);
}

static void compile_number(struct compiler *c, const char *name, const struct ctf_type *t,
			   uint32_t place)
{
	struct ctf_op *op;
	uint64_t at;

	compile_open_run(c, t->align_bits);
	at = c->run_bits;
	op = emit_shown(c, OP_NUMBER, name, t);
	c->nodes[place].op = c->n_ops - 1;
	describe_number(c, op, t);
	op->offset_bits = at;
	op->is_first_run = c->run == 0;
	op->is_plain = !c->err && is_plain(op, &c->ops[c->run]);
	op->sign = op->is_signed ? 1ull << (op->size_bits - 1) : 0;
	grow_run(c, t->size_bits, name);
	if (!c->err && t->kind != CTF_FLOAT && c->slots[place] != CTF_NO_SLOT)
		save_number(c, c->slots[place], op);
}

static void compile_leb128(struct compiler *c, const char *name, const struct ctf_type *t,
			   uint32_t place)
{
	struct ctf_op *op;

	compile_close_run(c);
	op = emit_shown(c, OP_LEB128, name, t);
	op->is_signed = t->is_signed;
	op->size_bits = 64;
	op->slot = c->slots[place];
	c->nodes[place].op = c->n_ops - 1;
	c->known_align = 8;
}

static void compile_number_array(struct compiler *c, const char *name, const struct ctf_type *t)
{
	const struct ctf_type *e = t->of;
	uint64_t stride = align_up(e->size_bits, e->align_bits), bits = 0, at;
	bool is_text = e->kind == CTF_INTEGER && e->is_text && e->size_bits == 8 &&
		       e->align_bits >= 8 && stride == 8;
	struct ctf_op *op;

	compile_open_run(c, t->align_bits);
	at = c->run_bits;
	op = emit_shown(c, is_text ? OP_TEXT_ARRAY : OP_ARRAY, name, t);
	describe_number(c, op, e);
	op->encoding = is_text ? e->encoding : (uint8_t)CTF_UTF8;
	op->offset_bits = at;
	op->count = t->length;
	op->is_first_run = c->run == 0;
	if (t->length && (__builtin_mul_overflow(t->length - 1, stride, &bits) ||
			  __builtin_add_overflow(bits, e->size_bits, &bits)))
		return compile_fail(c, "is larger than any packet", name);
	grow_run(c, bits, name);
}

static void compile_number_sequence(struct compiler *c, const char *name, const struct ctf_type *t,
				    uint8_t slot)
{
	const struct ctf_type *e = t->of;
	bool is_text = e->kind == CTF_INTEGER && e->is_text && e->size_bits == 8 &&
		       e->align_bits >= 8 && align_up(8, e->align_bits) == 8;
	struct ctf_op *op;

	compile_close_run(c);
	op = emit_shown(c, is_text ? OP_TEXT_SEQUENCE : OP_SEQUENCE, name, t);
	describe_number(c, op, e);
	op->encoding = is_text ? e->encoding : (uint8_t)CTF_UTF8;
	op->align_bits = t->align_bits;
	op->slot = slot;
	c->known_align = low_bit(e->size_bits, e->align_bits);
}

static void compile_loop(struct compiler *c, const char *name, const struct ctf_type *t,
			 uint8_t slot, uint32_t place)
{
	struct ctf_op *op;
	uint32_t begin;

	compile_close_run(c);
	if (++c->loops > CTF_LOOPS_MAX)
		compile_fail(c, "is an array in too many arrays", name);
	op = emit_shown(c, OP_LOOP, name, t);
	op->align_bits = t->align_bits;
	op->slot = slot;
	op->count = t->length;
	begin = c->n_ops - 1;
	c->known_align = 1;
	compile_field(c, NULL, t->of, (int32_t)place);
	compile_close_run(c);
	compile_emit(c, OP_AGAIN)->to = begin;
	if (!c->err)
		c->ops[begin].to = c->n_ops - 1;
	emit_shown(c, OP_CLOSE_ARRAY, name, t);
	c->known_align = 1;
	c->loops--;
}

static void compile_array(struct compiler *c, const char *name, const struct ctf_type *t,
			  int32_t parent, uint32_t place)
{
	const struct ctf_type *counter;
	uint8_t slot = CTF_NO_SLOT;
	int32_t node = -1;

	if (t->kind == CTF_SEQUENCE) {
		slot = compile_slot_of(c, parent, t->path, &counter, &node);
		compile_hide_length(c, node, name);
		if (is_number(t->of))
			compile_number_sequence(c, name, t, slot);
		else
			compile_loop(c, name, t, slot, place);
	} else if (is_number(t->of)) {
		compile_number_array(c, name, t);
	} else {
		compile_loop(c, name, t, slot, place);
	}
}

static void compile_structure(struct compiler *c, const char *name, const struct ctf_type *t,
			      uint32_t place)
{
	compile_open_run(c, t->align_bits);
	emit_shown(c, OP_OPEN, name, t);
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		compile_field(c, t->members[i].name, t->members[i].type, (int32_t)place);
	emit_shown(c, OP_CLOSE, name, t);
}

/* The ranges that select an option: the labels of the tag, or in CTF 2 the variant's own ranges. */
struct choice {
	const struct ctf_label *labels;
	uint32_t n;
};

/* The number of cases that @by makes of the options of @t. */
static uint32_t count_cases(const struct ctf_type *t, const struct choice *by)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_members; i++)
		for (uint32_t l = 0; l < by->n; l++)
			n += !strcmp(by->labels[l].text, t->members[i].name);
	return n;
}

/* For an optional field: any other tag selects no field, and continues after it. */
static struct ctf_case default_case(const struct ctf_type *tag, uint32_t to)
{
	if (tag->is_signed)
		return (struct ctf_case){ (uint64_t)INT64_MIN, INT64_MAX, to };
	return (struct ctf_case){ 0, UINT64_MAX, to };
}

static void compile_variant(struct compiler *c, const char *name, const struct ctf_type *t,
			    int32_t parent, uint32_t place)
{
	const struct ctf_type *tag = NULL;
	struct ctf_case *cases;
	struct choice by;
	uint32_t begin, n = 0, *ends;
	int32_t node;
	uint8_t slot = compile_slot_of(c, parent, t->path, &tag, &node);

	if (c->err)
		return;
	if (!t->n_ranges && tag->kind != CTF_ENUM)
		return compile_fail(c, "is a tag, but no enum", t->path);
	by = t->n_ranges ? (struct choice){ t->labels, t->n_ranges }
			 : (struct choice){ tag->labels, tag->n_members };
	c->meta->n_steps += (uint64_t)t->n_members * by.n;
	if (c->meta->n_steps > COMPILE_STEPS_MAX)
		return compile_fail(c, "is a variant with too many cases", name);
	compile_close_run(c);
	cases = ctf_meta_alloc(c->meta, (count_cases(t, &by) + (size_t)1) * sizeof *cases);
	ends = calloc(t->n_members + (size_t)1, sizeof *ends);
	if (!cases || !ends) {
		c->err = -ENOMEM;
		free(ends);
		return;
	}
	begin = c->n_ops;
	emit_shown(c, OP_CHOICE, name, t)->slot = slot;
	for (uint32_t i = 0; i < t->n_members && !c->err; i++) {
		for (uint32_t l = 0; l < by.n; l++)
			if (!strcmp(by.labels[l].text, t->members[i].name))
				cases[n++] = (struct ctf_case){ by.labels[l].first,
								by.labels[l].last, c->n_ops };
		c->known_align = 1;
		c->option = t->members[i].name;
		compile_field(c, name, t->members[i].type, (int32_t)place);
		compile_close_run(c);
		ends[i] = c->n_ops;
		compile_emit(c, OP_JUMP);
	}
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		c->ops[ends[i]].to = c->n_ops;
	if (t->is_optional)
		cases[n++] = default_case(tag, c->n_ops);
	if (!c->err) {
		c->ops[begin].cases = cases;
		c->ops[begin].n_cases = n;
		c->ops[begin].is_tag_signed = tag->is_signed;
	}
	c->known_align = 1;
	free(ends);
}

void compile_field(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent)
{
	uint32_t place;

	if (c->err)
		return;
	/* (1) and (2) of ctf/meta/meta.h. */
	assert(t->depth && t->depth <= CTF_DEPTH_MAX);
	assert(t->align_bits && !(t->align_bits & (t->align_bits - 1)));
	place = add_node(c, c->option ? c->option : name, parent, t);
	c->option = NULL;
	if (c->err)
		return;
	if (c->saves_all && parent < -1 &&
	    (t->kind == CTF_INTEGER || t->kind == CTF_ENUM || t->kind == CTF_LEB128) &&
	    c->slots[place] == CTF_NO_SLOT && c->n_slots < COMPILE_OUTER_MAX)
		c->slots[place] = c->n_slots++;
	switch (t->kind) {
	case CTF_INTEGER:
	case CTF_FLOAT:
	case CTF_ENUM:
		compile_number(c, name, t, place);
		break;
	case CTF_STRING:
		compile_close_run(c);
		emit_shown(c, t->encoding == CTF_UTF8 ? OP_STRING : OP_WIDE_STRING, name, t)
			->encoding = t->encoding;
		c->known_align = 8;
		break;
	case CTF_LEB128:
		compile_leb128(c, name, t, place);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		compile_array(c, name, t, parent, place);
		break;
	case CTF_STRUCT:
		compile_structure(c, name, t, place);
		break;
	case CTF_VARIANT:
		compile_variant(c, name, t, parent, place);
		break;
	}
}
