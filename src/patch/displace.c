/* SPDX-License-Identifier: MIT */
/*
 * patch/displace.c - instructions re-encoded so that they do the same at another address.
 *
 * The decoder says what is relative.  An operand relative to rip keeps its bytes and gets a fixup;
 * short jumps become near ones.  Calls are refused: their return address would lie in the stub, and
 * an unwinder or a look at the caller would find it there.
 */
#include "patch/internal.h"

#include <string.h>

enum { OPCODE_JMP = 0xe9, OPCODE_JMP_SHORT = 0xeb, OPCODE_NEAR = 0x0f, OPCODE_JCC = 0x80 };

static bool put(struct patch_code *c, const void *bytes, size_t size)
{
	if (size > sizeof c->bytes - c->size)
		return false;
	memcpy(c->bytes + c->size, bytes, size);
	c->size += (uint32_t)size;
	return true;
}

/* A 32-bit field @at, of an instruction that ends where the code ends now. */
static bool add_fixup(struct patch_code *c, size_t at, uint64_t target)
{
	if (c->n_fixups == PATCH_SITE_FIXUPS)
		return false;
	c->fixups[c->n_fixups++] = (struct abi_plan_fixup){ .target = target,
							    .at = (uint16_t)at,
							    .end = (uint16_t)c->size };
	return true;
}

static bool has_prefix(const ZydisDecodedInstruction *i, uint8_t value)
{
	for (unsigned n = 0; n < i->raw.prefix_count; n++)
		if (i->raw.prefixes[n].value == value)
			return true;
	return false;
}

static enum patch_reason put_branch(struct patch_code *c, const ZydisDecodedInstruction *i,
				    uint64_t target)
{
	uint8_t bytes[6] = { OPCODE_JMP };
	size_t size = 5;

	if (has_prefix(i, 0x66) || has_prefix(i, 0x67))
		return PATCH_RELATIVE;
	if (i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (i->opcode & 0xf0) == 0x70) {
		bytes[0] = OPCODE_NEAR;
		bytes[1] = (uint8_t)(OPCODE_JCC | (i->opcode & 0x0f));
		size = 6;
	} else if (i->opcode_map == ZYDIS_OPCODE_MAP_0F && (i->opcode & 0xf0) == OPCODE_JCC) {
		bytes[0] = OPCODE_NEAR;
		bytes[1] = i->opcode;
		size = 6;
	} else if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT ||
		   (i->opcode != OPCODE_JMP && i->opcode != OPCODE_JMP_SHORT)) {
		return PATCH_RELATIVE; /* loop, jrcxz, xbegin */
	}
	c->ends = size == 5;
	return put(c, bytes, size) && add_fixup(c, c->size - 4, target) ? PATCH_PATCHABLE
									: PATCH_RELATIVE;
}

static enum patch_reason put_instruction(struct patch_code *c, const ZydisDecodedInstruction *i,
					 const uint8_t *bytes, uint64_t address)
{
	uint64_t target;
	bool is_relative = patch_rip_target(i, address, &target);
	size_t begin = c->size;

	c->n_instructions++;
	c->ends = false;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return PATCH_CALL;
	case ZYDIS_MNEMONIC_SYSCALL: /* libc compares its address, in newer versions */
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_XBEGIN:
		return PATCH_RELATIVE;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		c->ends = true;
		break;
	default:
		break;
	}
	if (is_relative && patch_is_relative_branch(i))
		return put_branch(c, i, target);
	if (is_relative && i->address_width != 64)
		return PATCH_RELATIVE;
	if (!put(c, bytes, i->length) ||
	    (is_relative && !add_fixup(c, begin + i->raw.disp.offset, target)))
		return PATCH_RELATIVE;
	return PATCH_PATCHABLE;
}

enum patch_reason patch_displace(const struct patch_file *f, uint64_t address, uint32_t window,
				 struct patch_code *code)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint64_t size;
	const uint8_t *p = patch_bytes(f, address, &size);

	*code = (struct patch_code){ .size = 0 };
	for (uint32_t at = 0; at < window;) {
		enum patch_reason r;

		if (!p || at >= size || !patch_decode(f, p + at, size - at, &ins, &context))
			return PATCH_UNDECODED;
		r = put_instruction(code, &ins, p + at, address + at);
		if (r)
			return r;
		at += ins.length;
		/* Padding behind the end is replaced, but not displaced. */
		if (code->ends)
			return PATCH_PATCHABLE;
	}
	return PATCH_PATCHABLE;
}
