/* SPDX-License-Identifier: MIT */
/*
 * patch/stack.c - how an instruction uses the stack above its function's frame.
 *
 * The stub puts three words between the caller's frame and the function's own return address.  So
 * arguments on the stack must be copied down, and these functions cannot be patched: one with
 * stack arguments that have no known end (their address is computed, as for variable arguments), one
 * that reads or changes its return address, one that goes to another stack.
 *
 * Addresses are relative to the CFA: the return address is at -8, arguments begin at 0.
 */
#include "patch/internal.h"

enum { RSP = 4, RBP = 5 };

/* The processor's number of a 64-bit register; 0xff for others. */
static uint8_t number_of(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15
		       ? (uint8_t)(r - ZYDIS_REGISTER_RAX)
		       : 0xff;
}

static void note(const struct patch_step *s, enum patch_trait t)
{
	s->range->traits |= t;
}

static bool is_top(const struct patch_row *row)
{
	return row && row->is_known && row->reg == RSP && row->offset == 8;
}

/* A memory operand with an address known relative to the CFA. */
static void memory(const struct patch_step *s, const ZydisDecodedOperand *o)
{
	int64_t at = o->mem.disp.value - s->row->offset;
	bool has_index = o->mem.index != ZYDIS_REGISTER_NONE;
	uint32_t size = o->size / 8;

	if (has_index && at >= -8) {
		note(s, PATCH_T_VARIADIC);
	} else if (has_index) {
		return;
	} else if (at >= 0) {
		if (at + size > s->range->max_arg)
			s->range->max_arg =
				at + size > INT32_MAX ? INT32_MAX : (uint32_t)(at + size);
	} else if (at + (int64_t)size > -8) {
		note(s, PATCH_T_RETURN);
	}
}

/* An address of the caller's frame is computed. */
static void address(const struct patch_step *s, const ZydisDecodedOperand *operands)
{
	int64_t at = operands[1].mem.disp.value - s->row->offset;
	uint8_t to = number_of(operands[0].reg.value);

	if (to == RSP) {
		if (at > -8)
			note(s, PATCH_T_RETURN);
	} else if (at >= 0) {
		note(s, PATCH_T_VARIADIC);
	} else if (at >= -8) {
		note(s, PATCH_T_RETURN);
	}
}

/* rsp is loaded.  From rbp, or from a register that the compiler made the frame's, it stays the
 * same stack. */
static void load_rsp(const struct patch_step *s, const ZydisDecodedOperand *from)
{
	bool has_frame = s->row && s->row->is_known && s->row->reg != RSP;

	if (!has_frame)
		note(s, PATCH_T_STACK);
	else if (from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 number_of(from->mem.base) != s->row->reg)
		note(s, PATCH_T_STACK);
}

static void move(const struct patch_step *s, const ZydisDecodedOperand *operands)
{
	bool to_rsp = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      number_of(operands[0].reg.value) == RSP;
	bool from_rsp = operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			number_of(operands[1].reg.value) == RSP;

	if (to_rsp)
		load_rsp(s, &operands[1]);
	/* The place of the return address is kept, unless it becomes the frame's register. */
	if (from_rsp && is_top(s->row) &&
	    !(operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && s->next_row &&
	      s->next_row->is_known && s->next_row->reg == number_of(operands[0].reg.value)))
		note(s, PATCH_T_RETURN);
}

static void mnemonic(const struct patch_step *s, const ZydisDecodedOperand *operands)
{
	switch (s->ins.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		move(s, operands);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		for (int i = 0; i < 2; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    number_of(operands[i].reg.value) == RSP)
				note(s, PATCH_T_STACK);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    number_of(operands[0].reg.value) == RSP)
			note(s, PATCH_T_STACK);
		if (is_top(s->row))
			note(s, PATCH_T_RETURN);
		break;
	case ZYDIS_MNEMONIC_ADD:
		if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    number_of(operands[0].reg.value) == RSP && is_top(s->row) &&
		    operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[1].imm.value.s > 0)
			note(s, PATCH_T_RETURN);
		break;
	default:
		break;
	}
}

/* Whether the instruction can have an operand of interest; most have none. */
static bool is_of_interest(const struct patch_step *s)
{
	const ZydisDecodedInstruction *i = &s->ins;
	uint8_t frame = s->row && s->row->is_known ? s->row->reg : RSP;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_POP:
		return true;
	case ZYDIS_MNEMONIC_NOP:
		return false;
	default:
		break;
	}
	if (!(i->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return i->mnemonic == ZYDIS_MNEMONIC_XCHG || i->mnemonic == ZYDIS_MNEMONIC_MOV;
	if (i->raw.modrm.mod == 3)
		return i->raw.modrm.rm == RSP || i->raw.modrm.reg == RSP;
	return i->raw.modrm.rm == RSP || i->raw.modrm.rm == RBP || i->raw.modrm.rm == (frame & 7) ||
	       i->raw.modrm.reg == RSP;
}

void patch_look_at_stack(const struct patch_file *f, const struct patch_step *s)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	bool is_known = s->row && s->row->is_known;

	if (s->ins.mnemonic == ZYDIS_MNEMONIC_RET && s->ins.raw.imm[0].size)
		note(s, PATCH_T_POPS);
	if (s->ins.mnemonic == ZYDIS_MNEMONIC_IRETQ || s->ins.mnemonic == ZYDIS_MNEMONIC_SYSRET)
		note(s, PATCH_T_STACK);
	if (!is_of_interest(s) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&f->decoder, &s->context, &s->ins, operands,
						     s->ins.operand_count)))
		return;
	mnemonic(s, operands);
	for (unsigned i = 0; i < s->ins.operand_count_visible; i++) {
		uint8_t base;

		if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		base = number_of(operands[i].mem.base);
		if (base == RSP && operands[i].mem.disp.value < 0 &&
		    s->ins.mnemonic != ZYDIS_MNEMONIC_LEA)
			note(s, PATCH_T_RED_ZONE);
		if (!is_known) {
			if (base == RSP || base == RBP)
				note(s, PATCH_T_REALIGN);
		} else if (base == s->row->reg) {
			if (s->ins.mnemonic == ZYDIS_MNEMONIC_LEA)
				address(s, operands);
			else
				memory(s, &operands[i]);
		}
	}
}
