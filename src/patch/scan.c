/* SPDX-License-Identifier: MIT */
/*
 * patch/scan.c - every instruction of the file, once: where branches lead, how functions use the stack.
 *
 * A range is decoded from its beginning to its end.  Compilers put no data between instructions of
 * a function, so this finds them all.  A range with a byte that is no instruction is refused; it is
 * decoded on from the next byte, so that its branches still count.
 */
#include "patch/internal.h"

#include <stdlib.h>
#include <string.h>

enum { FLAGS_AFTER = 3 }; /* instructions behind a call that may look at its flags */

#define STATUS_FLAGS                                                                               \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |               \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

struct scan {
	struct patch_file *f;
	struct patch_range *range;
	uint32_t number; /* of the range, + 1; 0: none */
	uint64_t *bases; /* addresses computed in it */
	size_t n_bases, bases_capacity;
	uint64_t called;	      /* by the last call */
	unsigned flags_left;	      /* instructions that may look at its flags */
	struct patch_targets *within; /* all targets in the range go here; NULL: the file's list */
};

bool patch_decode(const struct patch_file *f, const uint8_t *bytes, uint64_t size,
		  ZydisDecodedInstruction *ins, ZydisDecoderContext *context)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, context, bytes,
							  size < 16 ? size : 16, ins));
}

bool patch_is_relative_branch(const ZydisDecodedInstruction *ins)
{
	return ins->raw.imm[0].is_relative;
}

bool patch_rip_target(const ZydisDecodedInstruction *ins, uint64_t address, uint64_t *target)
{
	if (ins->raw.imm[0].is_relative) {
		*target = address + ins->length + (uint64_t)ins->raw.imm[0].value.s;
		return true;
	}
	if (!(ins->attributes & ZYDIS_ATTRIB_HAS_MODRM) || ins->raw.modrm.mod ||
	    ins->raw.modrm.rm != 5)
		return false;
	*target = address + ins->length + (uint64_t)ins->raw.disp.value;
	return true;
}

/* ---------------------------------------------------------------- targets */

static void add_target(struct scan *s, uint64_t target, enum patch_target_kind kind)
{
	const struct patch_range *r = s->range;
	bool is_within = r && target >= r->begin && target < r->end;

	if (s->within) {
		if (!is_within)
			return;
		s->within->at = patch_grow(s->f, s->within->at, &s->within->capacity, s->within->n,
					   sizeof *s->within->at);
		if (!s->f->failed)
			s->within->at[s->within->n++] =
				(struct patch_target){ target, s->number, kind };
	} else if (!is_within || target - r->begin < PATCH_NEAR || kind == PATCH_BY_ADDRESS) {
		patch_add_target(s->f, target, s->number, kind);
	}
}

static void add_edge(struct scan *s, const struct patch_range *to, uint64_t target)
{
	struct patch_file *f = s->f;

	f->edges = patch_grow(f, f->edges, &f->edges_capacity, f->n_edges, sizeof *f->edges);
	if (!f->failed)
		f->edges[f->n_edges++] = (struct patch_edge){
			.from = s->number - 1,
			.to = (uint32_t)(to - f->ranges),
			.is_tail = target == to->begin || target == to->begin + 4,
		};
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The slot through which the stub of the PLT at @address jumps; 0: none. */
static uint64_t slot_of_stub(const struct patch_file *f, uint64_t address)
{
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
	uint64_t size, slot;
	const uint8_t *p = patch_bytes(f, address, &size);

	for (int i = 0; p && i < 3 && patch_decode(f, p, size, &ins, &context); i++) {
		if (ins.mnemonic == ZYDIS_MNEMONIC_JMP)
			return !patch_is_relative_branch(&ins) &&
					       patch_rip_target(&ins, address, &slot)
				       ? slot
				       : 0;
		p += ins.length;
		size -= ins.length;
		address += ins.length;
	}
	return 0;
}

/* Control leaves for another file, through @slot, or for an address in a register: 0. */
static void leave_file(struct scan *s, uint64_t slot)
{
	const struct patch_file *f = s->f;

	s->range->traits |= PATCH_T_UNKNOWN_TAIL;
	if (slot && f->n_near_slots &&
	    bsearch(&slot, f->near_slots, f->n_near_slots, sizeof slot, compare_addresses))
		s->range->traits |= PATCH_T_RETURN;
}

static void jump_out(struct scan *s, uint64_t target)
{
	const struct patch_range *to = patch_range_at(s->f, target);
	const struct patch_section *section;

	if (to) {
		add_edge(s, to, target);
		if (target != to->begin && target != to->begin + 4)
			s->range->traits |= PATCH_T_BACK;
		return;
	}
	section = patch_section_at(s->f, target);
	leave_file(s, section && section->is_plt ? slot_of_stub(s->f, target) : 0);
}

/* ---------------------------------------------------------------- instructions */

/* The instructions behind a call: does one look at flags that the call left? */
static void look_at_flags(struct scan *s, const ZydisDecodedInstruction *ins)
{
	const ZydisAccessedFlags *flags = ins->cpu_flags;

	if (!s->flags_left)
		return;
	s->flags_left--;
	if (ins->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
		s->flags_left = 0;
	if (!flags)
		return;
	if (flags->tested & STATUS_FLAGS)
		add_target(s, s->called, PATCH_BY_FLAGS);
	if ((flags->tested | flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
	    STATUS_FLAGS)
		s->flags_left = 0;
}

static bool is_fixed_address(const struct scan *s, const ZydisDecodedInstruction *ins,
			     uint64_t *address)
{
	if (!s->f->is_fixed || ins->raw.imm[0].size < 32 ||
	    (ins->mnemonic != ZYDIS_MNEMONIC_MOV && ins->mnemonic != ZYDIS_MNEMONIC_PUSH))
		return false;
	*address = ins->raw.imm[0].is_signed ? (uint64_t)ins->raw.imm[0].value.s
					     : ins->raw.imm[0].value.u;
	return true;
}

static void compute_address(struct scan *s, uint64_t address)
{
	if (patch_is_code(s->f, address))
		add_target(s, address, PATCH_BY_ADDRESS);
	s->bases = patch_grow(s->f, s->bases, &s->bases_capacity, s->n_bases, sizeof *s->bases);
	if (!s->f->failed)
		s->bases[s->n_bases++] = address;
}

/* Data between functions, as in assembly by hand: it is no padding. */
static void refer(struct scan *s, uint64_t address)
{
	const struct patch_range *r = s->range;

	if (!s->within && !(r && address >= r->begin && address < r->end) &&
	    patch_is_code(s->f, address))
		add_target(s, address, PATCH_BY_SYMBOL);
}

static bool is_as_at_entry(const struct patch_step *s)
{
	return s->row && s->row->is_known && s->row->reg == 4 && s->row->offset == 8;
}

static enum patch_target_kind kind_of(const struct patch_step *s)
{
	if (s->ins.mnemonic == ZYDIS_MNEMONIC_CALL)
		return PATCH_BY_CALL;
	return s->ins.mnemonic == ZYDIS_MNEMONIC_JMP && is_as_at_entry(s) ? PATCH_BY_JUMP
									  : PATCH_BY_BRANCH;
}

static void branch(struct scan *s, const struct patch_step *step)
{
	const struct patch_range *r = s->range;
	bool is_call = step->ins.mnemonic == ZYDIS_MNEMONIC_CALL;
	uint64_t target;

	if (patch_is_relative_branch(&step->ins)) {
		patch_rip_target(&step->ins, step->address, &target);
		add_target(s, target, kind_of(step));
		if (is_call) {
			s->called = target;
			s->flags_left = FLAGS_AFTER;
		} else if (r && !s->within && (target < r->begin || target >= r->end)) {
			jump_out(s, target);
		}
	} else if (step->ins.mnemonic == ZYDIS_MNEMONIC_JMP && r) {
		s->range->traits |= PATCH_T_INDIRECT;
		if (!s->within && (!step->row || !step->row->is_known || is_as_at_entry(step)))
			leave_file(s, patch_rip_target(&step->ins, step->address, &target) ? target
											   : 0);
	}
}

static void look(struct scan *s, const struct patch_step *step)
{
	uint64_t address;

	look_at_flags(s, &step->ins);
	if (step->ins.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
	    patch_is_relative_branch(&step->ins))
		branch(s, step);
	else if (step->ins.mnemonic == ZYDIS_MNEMONIC_LEA &&
		 patch_rip_target(&step->ins, step->address, &address))
		compute_address(s, address);
	else if (patch_rip_target(&step->ins, step->address, &address))
		refer(s, address);
	else if (is_fixed_address(s, &step->ins, &address))
		compute_address(s, address);
	if (s->range && !s->within)
		patch_look_at_stack(s->f, step);
}

/* Calls count: the last one of a function does not return, or code behind it would be there. */
static void note_end(struct scan *s, const struct patch_step *step)
{
	if (!s->range)
		return;
	s->range->traits &= ~(uint32_t)PATCH_T_ENDS;
	switch (step->ins.mnemonic) {
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		s->range->traits |= PATCH_T_ENDS;
		break;
	default:
		break;
	}
}

static const struct patch_row *row_at(const struct patch_file *f, uint32_t *i, uint64_t address)
{
	while (*i + 1 < f->n_rows && f->rows[*i + 1].address <= address)
		++*i;
	return f->n_rows ? &f->rows[*i] : NULL;
}

static void decode_all(struct scan *s, uint64_t begin, uint64_t end)
{
	struct patch_step step = { .range = s->range };
	const struct patch_file *f = s->f;
	uint64_t size;
	const uint8_t *p = patch_bytes(f, begin, &size);
	uint32_t row = 0;

	if (!p)
		return;
	if (end - begin > size) /* sections of a damaged file may overlap */
		end = begin + size;
	for (uint64_t at = begin; at < end && !f->failed;) {
		step.address = at;
		step.bytes = p + (at - begin);
		if (!patch_decode(f, step.bytes, end - at, &step.ins, &step.context)) {
			if (s->range)
				s->range->traits |= PATCH_T_UNDECODED;
			s->flags_left = 0;
			at++;
			continue;
		}
		if (s->range) {
			uint32_t next;

			step.row = row_at(f, &row, at);
			next = row;
			step.next_row = row_at(f, &next, at + step.ins.length);
		}
		look(s, &step);
		note_end(s, &step);
		at += step.ins.length;
	}
}

/* ---------------------------------------------------------------- all of it */

static void visit_table_target(void *arg, uint64_t target)
{
	add_target(arg, target, PATCH_BY_BRANCH);
}

static void scan_range(struct scan *s)
{
	struct patch_range *r = s->range;
	struct patch_file *f = s->f;

	s->n_bases = s->flags_left = 0;
	if (!patch_read_rows(f, r)) {
		f->n_rows = 0;
		r->traits |= PATCH_T_REALIGN;
	}
	r->is_deep =
		!f->n_rows || !f->rows[0].is_known || f->rows[0].reg != 4 || f->rows[0].offset != 8;
	decode_all(s, r->begin, r->end);
	if ((r->traits & PATCH_T_INDIRECT) &&
	    !patch_table_targets(f, r, s->bases, (uint32_t)s->n_bases, visit_table_target, s))
		r->traits |= PATCH_T_UNDECODED;
}

/* Code without unwind information. */
static void scan_gaps(struct scan *s)
{
	const struct patch_file *f = s->f;
	uint32_t range = 0;

	s->range = NULL;
	s->number = 0;
	for (int i = 0; i < f->n_sections; i++) {
		const struct patch_section *c = &f->sections[i];
		uint64_t at = c->address, end = c->address + c->size;

		if (!c->is_code || c->is_plt || !c->bytes)
			continue;
		for (range = 0; range < f->n_ranges && f->ranges[range].begin < end; range++) {
			if (f->ranges[range].end <= at)
				continue;
			if (f->ranges[range].begin > at)
				decode_all(s, at, f->ranges[range].begin);
			at = f->ranges[range].end;
		}
		if (at < end)
			decode_all(s, at, end);
	}
}

void patch_scan(struct patch_file *f)
{
	struct scan s = { .f = f };

	for (uint32_t i = 0; i < f->n_ranges && !f->failed; i++) {
		s.range = &f->ranges[i];
		s.number = i + 1;
		scan_range(&s);
	}
	scan_gaps(&s);
	free(s.bases);
}

bool patch_scan_within(struct patch_file *f, const struct patch_range *r, struct patch_targets *t)
{
	struct patch_range copy = *r;
	struct scan s = { .f = f, .range = &copy, .within = t };
	bool good;

	*t = (struct patch_targets){ .n = 0 };
	f->n_rows = 0;
	copy.traits = 0;
	decode_all(&s, r->begin, r->end);
	good = !(copy.traits & PATCH_T_UNDECODED) && !f->failed &&
	       (!(copy.traits & PATCH_T_INDIRECT) ||
		patch_table_targets(f, r, s.bases, (uint32_t)s.n_bases, visit_table_target, &s));
	free(s.bases);
	patch_sort_targets(t);
	return good;
}
