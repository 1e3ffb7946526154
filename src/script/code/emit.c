/* SPDX-License-Identifier: MIT */
/*
 * code/emit.c - instructions, labels and tables of the unit.
 *
 * Jumps hold labels until their function is complete.  Offsets have 16 bits, so a function has at
 * most 32767 instructions.
 */
#include "script/code/internal.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_ROOM = 64 };

int code_fail(struct code *c, int err)
{
	if (!c->error)
		c->error = err;
	return err;
}

void code_too_large(struct code *c, struct script_place place, const char *what)
{
	if (c->error)
		return;
	script_error(c->m, place, "semantic error", "this %s %s", c->of ? "function" : "probe",
		     what);
	code_fail(c, -E2BIG);
}

bool code_room_(struct code *c, void **table, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : FIRST_ROOM;
	void *larger;

	if (n < *room)
		return true;
	larger = script_allocate(c->arena, more * size);
	if (!larger) {
		code_fail(c, -ENOMEM);
		return false;
	}
	if (n)
		memcpy(larger, *table, n * size);
	*table = larger;
	*room = more;
	return true;
}

static void emit(struct code *c, struct bpf_insn insn)
{
	struct script_unit *u = c->unit;

	if (c->is_dead || c->error)
		return;
	if (code_room(c, &u->insns, u->n_insns, &c->insns_room))
		u->insns[u->n_insns++] = insn;
}

void code_at(struct code *c, struct script_place place)
{
	struct script_unit *u = c->unit;
	struct script_code_line *last = u->n_lines ? &u->lines[u->n_lines - 1] : NULL;

	if (c->is_dead || c->error || !place.size)
		return;
	if (last && last->insn == u->n_insns) {
		last->place = place;
		return;
	}
	if (last && last->insn >= c->function->entry && last->place.source == place.source &&
	    last->place.at == place.at && last->place.size == place.size)
		return;
	if (code_room(c, &u->lines, u->n_lines, &c->lines_room))
		u->lines[u->n_lines++] = (struct script_code_line){ u->n_insns, place };
}

void code_alu(struct code *c, uint8_t op, uint8_t to, uint8_t from)
{
	emit(c,
	     (struct bpf_insn){ .code = BPF_ALU64 | BPF_X | op, .dst_reg = to, .src_reg = from });
}

void code_alu_number(struct code *c, uint8_t op, uint8_t to, int32_t number)
{
	emit(c, (struct bpf_insn){ .code = BPF_ALU64 | BPF_K | op, .dst_reg = to, .imm = number });
}

void code_divide(struct code *c, uint8_t op, uint8_t to, uint8_t from)
{
	emit(c, (struct bpf_insn){
			.code = BPF_ALU64 | BPF_X | op, .dst_reg = to, .src_reg = from, .off = 1 });
}

void code_divide_number(struct code *c, uint8_t op, uint8_t to, int32_t number)
{
	emit(c, (struct bpf_insn){
			.code = BPF_ALU64 | BPF_K | op, .dst_reg = to, .off = 1, .imm = number });
}

void code_move(struct code *c, uint8_t to, uint8_t from)
{
	if (to != from)
		code_alu(c, BPF_MOV, to, from);
}

static void wide(struct code *c, uint8_t to, uint8_t kind, uint64_t value)
{
	emit(c, (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW,
				   .dst_reg = to,
				   .src_reg = kind,
				   .imm = (int32_t)value });
	emit(c, (struct bpf_insn){ .imm = (int32_t)(value >> 32) });
}

void code_number(struct code *c, uint8_t to, int64_t number)
{
	if (number == (int32_t)number)
		code_alu_number(c, BPF_MOV, to, (int32_t)number);
	else
		wide(c, to, SCRIPT_LD_NUMBER, (uint64_t)number);
}

static uint32_t add_constant(struct code *c, const char *bytes, uint32_t size, uint32_t *chain)
{
	struct script_unit *u = c->unit;
	struct script_string *s = script_allocate(c->arena, sizeof *s + size + 1);

	if (!s) {
		code_fail(c, -ENOMEM);
		return 0;
	}
	s->size = size;
	memcpy(s->bytes, bytes, size);
	if (!code_room(c, &u->strings, u->n_strings, &c->strings_room) ||
	    !code_room(c, &c->before, u->n_strings, &c->before_room))
		return 0;
	u->strings[u->n_strings] = s;
	c->before[u->n_strings] = *chain;
	*chain = ++u->n_strings;
	return *chain - 1;
}

/* The number of a string constant; equal ones share it. */
static uint32_t constant(struct code *c, const char *bytes, uint32_t size)
{
	const struct script_unit *u = c->unit;
	uint32_t *chain;

	if (size > c->limits.string_bytes - 1)
		size = c->limits.string_bytes - 1;
	chain = &c->chains[hash_bytes(bytes, size) % CODE_CHAINS];
	for (uint32_t i = *chain; i; i = c->before[i - 1])
		if (u->strings[i - 1]->size == size &&
		    !memcmp(u->strings[i - 1]->bytes, bytes, size))
			return i - 1;
	return add_constant(c, bytes, size, chain);
}

void code_text(struct code *c, uint8_t to, const char *bytes, uint32_t size)
{
	if (!c->is_dead && !c->error)
		wide(c, to, SCRIPT_LD_STRING, constant(c, bytes, size));
}

void code_load(struct code *c, uint8_t to, uint8_t base, int32_t offset)
{
	emit(c, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW,
				   .dst_reg = to,
				   .src_reg = base,
				   .off = (int16_t)offset });
}

void code_store(struct code *c, uint8_t base, int32_t offset, uint8_t from)
{
	emit(c, (struct bpf_insn){ .code = BPF_STX | BPF_MEM | BPF_DW,
				   .dst_reg = base,
				   .src_reg = from,
				   .off = (int16_t)offset });
}

void code_global_address(struct code *c, uint8_t to, uint32_t global)
{
	wide(c, to, SCRIPT_LD_GLOBAL, global);
}

void code_helper(struct code *c, uint32_t helper)
{
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = (int32_t)helper });
	if (!script_helper_returns(helper))
		c->is_dead = true;
}

void code_call_function(struct code *c, uint32_t function)
{
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
				   .src_reg = BPF_PSEUDO_CALL,
				   .imm = (int32_t)function });
}

void code_exit(struct code *c)
{
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
	c->is_dead = true;
}

uint32_t code_label(struct code *c)
{
	if (!code_room(c, &c->labels, c->n_labels, &c->labels_room))
		return 0;
	c->labels[c->n_labels] = -1;
	return c->n_labels++;
}

void code_put(struct code *c, uint32_t label, bool is_reached)
{
	if (c->error)
		return;
	c->labels[label] = (int32_t)c->unit->n_insns;
	if (is_reached)
		c->is_dead = false;
	for (uint32_t i = c->n_jumps; c->is_dead && i-- > 0;)
		if (c->jumps[i].label == label)
			c->is_dead = false;
}

static void jump(struct code *c, struct bpf_insn insn, uint32_t label)
{
	if (c->is_dead || c->error || !code_room(c, &c->jumps, c->n_jumps, &c->jumps_room))
		return;
	c->jumps[c->n_jumps++] = (struct code_jump){ c->unit->n_insns, label };
	emit(c, insn);
}

void code_goto(struct code *c, uint32_t label)
{
	jump(c, (struct bpf_insn){ .code = BPF_JMP | BPF_JA }, label);
	c->is_dead = true;
}

void code_goto_if(struct code *c, uint8_t op, uint8_t a, uint8_t b, uint32_t label)
{
	jump(c, (struct bpf_insn){ .code = BPF_JMP | BPF_X | op, .dst_reg = a, .src_reg = b },
	     label);
}

void code_goto_if_number(struct code *c, uint8_t op, uint8_t a, int32_t number, uint32_t label)
{
	jump(c, (struct bpf_insn){ .code = BPF_JMP | BPF_K | op, .dst_reg = a, .imm = number },
	     label);
}

void code_resolve(struct code *c)
{
	for (uint32_t i = 0; i < c->n_jumps && !c->error; i++) {
		int64_t off = (int64_t)c->labels[c->jumps[i].label] - c->jumps[i].insn - 1;

		if (off != (int16_t)off)
			code_too_large(c, c->of ? c->of->decl->place : c->handler->place,
				       "has too much code (most: 32767 instructions); split it up");
		c->unit->insns[c->jumps[i].insn].off = (int16_t)off;
	}
}
