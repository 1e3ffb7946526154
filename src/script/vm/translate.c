/* SPDX-License-Identifier: MIT */
/*
 * vm/translate.c - byte code into x86-64.
 *
 *	R0	rax		R5	r9		the machine	r12
 *	R1	rsi		R6	rbx		free		rdi r10 r11
 *	R2	rdx		R7	r13
 *	R3	rcx		R8	r14
 *	R4	r8		R9	r15		R10		rbp
 *
 * R1 to R5 are where C expects the second to the sixth argument, so a call of a helper only adds the
 * machine as the first.  rbp points into the machine's own stack; the program's stack holds return
 * addresses and what functions keep of R6 to R9, and handlers of rbp and r12, as C calls them.  It
 * is aligned to 16 everywhere in a function.
 *
 * What happens rarely stands behind each function: an error after a call, or a limit reached, names
 * its instruction and goes to one of three common pieces, which ask where to go on.
 *
 * The code is laid out again and again until no jump becomes shorter.  Memory is written first and
 * made executable then; it is never both.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "script/vm/internal.h"
#include "script/vm/translate.h"

enum label_kind { AT, ON_ERROR, ON_ACTIONS, ON_NESTING, KINDS };
enum { PASSES_MOST = 8, FAR = 1 << 30, CODE_MOST = 1 << 28, VM = R12 };

struct translation {
	struct x86 x;
	struct script_vm *vm;
	const struct script_unit *u;
	const struct script_function_code *f;
	uint32_t *at;		 /* labels: KINDS for each instruction */
	uint8_t *is_cold;	 /* bit: enum label_kind, of each instruction */
	uint32_t *start, *leave; /* of each function */
	uint32_t common[KINDS];
	uint32_t kept; /* bit: R6 + i is kept by the function */
	bool only_far;
};

#define FIELD(name) ((int32_t)offsetof(struct script_vm, name))

static uint32_t *label(struct translation *t, enum label_kind kind, uint32_t insn)
{
	return &t->at[(size_t)insn * KINDS + kind];
}

static void jump(struct translation *t, enum x86_condition c, uint32_t target)
{
	x86_jump(&t->x, c, target, !t->only_far);
}

static void jump_rarely(struct translation *t, enum x86_condition c, enum label_kind kind,
			uint32_t insn)
{
	t->is_cold[insn] |= (uint8_t)(1 << kind);
	jump(t, c, *label(t, kind, insn));
}

static void count_action(struct translation *t, uint32_t insn)
{
	x86_mi32(&t->x, X86_SUB, VM, FIELD(actions), 1);
	jump_rarely(t, CC_NEGATIVE, ON_ACTIONS, insn);
}

/* ---- jumps and calls ---- */

static enum x86_condition condition(uint8_t code)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return CC_EQUAL;
	case BPF_JNE:
	case BPF_JSET:
		return CC_NOT_EQUAL;
	case BPF_JGT:
		return CC_ABOVE;
	case BPF_JGE:
		return CC_NOT_BELOW;
	case BPF_JLT:
		return CC_BELOW;
	case BPF_JLE:
		return CC_NOT_ABOVE;
	case BPF_JSGT:
		return CC_GREATER;
	case BPF_JSGE:
		return CC_NOT_LESS;
	case BPF_JSLT:
		return CC_LESS;
	default:
		return CC_NOT_GREATER;
	}
}

static void compare(struct x86 *x, const struct bpf_insn *i)
{
	int to = vm_registers[i->dst_reg], from = vm_registers[i->src_reg];
	bool is_set = BPF_OP(i->code) == BPF_JSET;

	if (BPF_SRC(i->code) == BPF_X) {
		x86_rr(x, true, is_set ? X86_TEST : X86_CMP, from, to);
	} else if (is_set) {
		x86_mov_imm(x, R11, (uint64_t)(int64_t)i->imm);
		x86_rr(x, true, X86_TEST, R11, to);
	} else if (!i->imm) {
		x86_rr(x, true, X86_TEST, to, to);
	} else {
		x86_ri(x, X86_CMP, to, i->imm);
	}
}

static void jump_insn(struct translation *t, uint32_t n, const struct bpf_insn *i)
{
	bool is_always = BPF_OP(i->code) == BPF_JA;
	int32_t off = BPF_CLASS(i->code) == BPF_JMP32 ? i->imm : i->off;
	uint32_t over = 0, target = (uint32_t)((int64_t)n + 1 + off);
	enum x86_condition c = is_always ? CC_ALWAYS : condition(i->code);

	if (!is_always)
		compare(&t->x, i);
	if (off >= 0) {
		jump(t, c, *label(t, AT, target));
		return;
	}
	if (!is_always)
		over = x86_skip_if(&t->x, 0x70 | (c ^ 1)); /* the opposite */
	count_action(t, n);
	jump(t, CC_ALWAYS, *label(t, AT, target));
	if (!is_always)
		x86_land(&t->x, over);
}

static void call_c(struct x86 *x, const void *function)
{
	x86_mov_imm(x, RAX, (uint64_t)(uintptr_t)function);
	x86_call_register(x, RAX);
}

static void check_error(struct translation *t, uint32_t n)
{
	x86_mi32(&t->x, X86_CMP, VM, FIELD(error), 0);
	jump_rarely(t, CC_NOT_EQUAL, ON_ERROR, n);
}

/* [base + 8 * rsi + offset]: load to rax, or store rdx. */
static void indexed(struct x86 *x, bool is_load, int base, int32_t offset)
{
	x86_byte(x, 0x48 | base >> 3);
	x86_byte(x, is_load ? 0x8b : 0x89);
	x86_byte(x, 0x84 | (is_load ? RAX : RDX) << 3);
	x86_byte(x, 0xc0 | RSI << 3 | (base & 7));
	x86_bytes(x, (uint64_t)(int64_t)offset, 4);
}

static void help(struct translation *t, uint32_t n, uint32_t number)
{
	const struct vm_direct *direct = vm_direct_at(t->vm, n);
	struct x86 *x = &t->x;

	switch (number) {
	case SCRIPT_HELPER_STANDARD_LONG:
	case SCRIPT_HELPER_STANDARD_STRING:
		x86_load(x, R11, VM, FIELD(frame));
		indexed(x, true, R11, (int32_t)offsetof(struct script_frame, standard));
		return;
	case SCRIPT_HELPER_ARGUMENT_LONG:
	case SCRIPT_HELPER_ARGUMENT_STRING:
		x86_unary(x, X86_NEG, RSI);
		indexed(x, true, RBP, vm_parameter_at(t->f, 0));
		return;
	case SCRIPT_HELPER_PASS_LONG:
	case SCRIPT_HELPER_PASS_STRING:
		indexed(x, false, VM, FIELD(pass) - 8 * VM_IN_REGISTERS);
		return;
	}
	x86_mov(x, RDI, VM);
	if (direct)
		x86_mov_imm(x, RSI, direct->r1);
	call_c(x, direct ? (const void *)direct->help : (const void *)vm_help(number));
	if (vm_help_may_fail(number))
		check_error(t, n);
}

static void call_function(struct translation *t, uint32_t n, uint32_t function)
{
	int32_t bytes = (int32_t)vm_frame_bytes(t->f);

	count_action(t, n);
	x86_mi32(&t->x, X86_SUB, VM, FIELD(nesting), 1);
	jump_rarely(t, CC_NEGATIVE, ON_NESTING, n);
	if (bytes)
		x86_ri(&t->x, X86_SUB, RBP, bytes);
	x86_call(&t->x, t->start[function]);
	if (bytes)
		x86_ri(&t->x, X86_ADD, RBP, bytes);
	x86_mi32(&t->x, X86_ADD, VM, FIELD(nesting), 1);
	check_error(t, n);
}

static uint64_t constant(const struct translation *t, const struct bpf_insn *i)
{
	switch (i->src_reg) {
	case SCRIPT_LD_STRING:
		return (uint64_t)(uintptr_t)t->u->strings[i->imm];
	case SCRIPT_LD_GLOBAL:
		return (uint64_t)(uintptr_t)&values_globals(t->vm->values)[i->imm];
	default:
		return (uint32_t)i[0].imm | (uint64_t)(uint32_t)i[1].imm << 32;
	}
}

static void jump_or_call(struct translation *t, uint32_t n, const struct bpf_insn *i)
{
	if (BPF_OP(i->code) == BPF_CALL && i->src_reg == BPF_PSEUDO_CALL)
		call_function(t, n, (uint32_t)i->imm);
	else if (BPF_OP(i->code) == BPF_CALL)
		help(t, n, (uint32_t)i->imm);
	else if (BPF_OP(i->code) != BPF_EXIT)
		jump_insn(t, n, i);
	else if (n + 1 != t->f->end) /* else it falls into the end */
		jump(t, CC_ALWAYS, t->leave[t->f - t->u->functions]);
}

static void translate_insn(struct translation *t, uint32_t n)
{
	const struct bpf_insn *i = &t->u->insns[n];

	*label(t, AT, n) = t->x.n;
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU64:
		if (BPF_SRC(i->code) == BPF_X)
			vm_translate_register(&t->x, i);
		else
			vm_translate_number(&t->x, i);
		break;
	case BPF_LDX:
		x86_load(&t->x, vm_registers[i->dst_reg], vm_registers[i->src_reg], i->off);
		break;
	case BPF_STX:
		x86_store(&t->x, vm_registers[i->dst_reg], i->off, vm_registers[i->src_reg]);
		break;
	case BPF_ST:
		x86_store_imm(&t->x, vm_registers[i->dst_reg], i->off, i->imm);
		break;
	case BPF_LD:
		x86_mov_imm(&t->x, vm_registers[i->dst_reg], constant(t, i));
		break;
	default:
		jump_or_call(t, n, i);
	}
}

/* ---- functions ---- */

static uint32_t kept_registers(const struct translation *t)
{
	uint32_t i, kept = 0;

	for (i = t->f->entry; i < t->f->end; i++)
		if (t->u->insns[i].dst_reg >= 6 && t->u->insns[i].dst_reg <= 9)
			kept |= 1u << (t->u->insns[i].dst_reg - 6);
	return kept;
}

/* The address of return is there already, and a handler keeps two registers more. */
static bool needs_padding(const struct translation *t)
{
	return __builtin_popcount(t->kept) % 2 == 0;
}

static void begin_function(struct translation *t)
{
	struct x86 *x = &t->x;
	uint32_t i;

	if (t->f->is_handler) {
		x86_push(x, RBP);
		x86_push(x, VM);
	}
	for (i = 0; i < 4; i++)
		if (t->kept & 1u << i)
			x86_push(x, vm_registers[6 + i]);
	if (needs_padding(t))
		x86_ri(x, X86_SUB, RSP, 8);
	if (t->f->is_handler) { /* (machine, frame, stack) */
		x86_mov(x, VM, RDI);
		x86_mov(x, RBP, RDX);
	}
	for (i = VM_IN_REGISTERS; i < t->f->n_parameters && !t->f->is_handler; i++) {
		x86_load(x, R11, VM, FIELD(pass) + 8 * (int32_t)(i - VM_IN_REGISTERS));
		x86_store(x, RBP, vm_parameter_at(t->f, i), R11);
	}
}

static void end_function(struct translation *t)
{
	struct x86 *x = &t->x;
	int i;

	if (needs_padding(t))
		x86_ri(x, X86_ADD, RSP, 8);
	for (i = 3; i >= 0; i--)
		if (t->kept & 1u << i)
			x86_pop(x, vm_registers[6 + i]);
	if (t->f->is_handler) {
		x86_pop(x, VM);
		x86_pop(x, RBP);
	}
	x86_byte(x, 0xc3);
}

static void translate_rare(struct translation *t, uint32_t n)
{
	uint32_t kind;

	for (kind = ON_ERROR; kind < KINDS; kind++) {
		if (!(t->is_cold[n] & 1 << kind))
			continue;
		*label(t, kind, n) = t->x.n;
		x86_mov_imm(&t->x, RSI, n);
		jump(t, CC_ALWAYS, t->common[kind]);
	}
}

static void translate_function(struct translation *t, uint32_t function)
{
	uint32_t n;

	t->f = &t->u->functions[function];
	t->kept = kept_registers(t);
	t->start[function] = t->x.n;
	begin_function(t);
	for (n = t->f->entry; n < t->f->end; n++) {
		translate_insn(t, n);
		n += t->u->insns[n].code == (BPF_LD | BPF_IMM | BPF_DW);
	}
	t->leave[function] = t->x.n;
	end_function(t);
	for (n = t->f->entry; n < t->f->end; n++)
		translate_rare(t, n);
}

static const uint8_t *go_on(struct script_vm *vm, uint32_t insn)
{
	int64_t next = vm_unwind(vm, insn);

	if (next >= 0)
		return vm->code.memory + vm->code.at[next];
	return vm->code.memory + vm->code.leave[vm_function_at(vm->unit, insn)];
}

static const uint8_t *no_actions(struct script_vm *vm, uint32_t insn)
{
	vm_raise_actions(vm);
	return go_on(vm, insn);
}

static const uint8_t *no_nesting(struct script_vm *vm, uint32_t insn)
{
	vm->nesting++;
	vm_raise_nesting(vm);
	return go_on(vm, insn);
}

static void translate_common(struct translation *t)
{
	const void *functions[KINDS] = { NULL, (const void *)go_on, (const void *)no_actions,
					 (const void *)no_nesting };
	struct x86 *x = &t->x;
	int i;

	for (i = ON_ERROR; i < KINDS; i++) {
		t->common[i] = x->n;
		x86_mov(x, RDI, VM);
		call_c(x, functions[i]);
		x86_jump_register(x, RAX);
	}
}

static void translate_all(struct translation *t)
{
	uint32_t i;

	t->x.n = 0;
	translate_common(t);
	for (i = 0; i < t->u->n_functions; i++)
		translate_function(t, i);
}

/* Lays the code out until nothing moves.  Distances only shrink, so it ends; a layout that takes
 * long gets no short jumps. */
static bool lay_out(struct translation *t)
{
	uint32_t pass, before = 0;

	for (pass = 0; pass < PASSES_MOST; pass++) {
		translate_all(t);
		if (t->x.n == before || t->x.n > CODE_MOST)
			return t->x.n <= CODE_MOST;
		before = t->x.n;
	}
	t->only_far = true;
	translate_all(t);
	return true;
}

static int make_executable(struct translation *t, struct vm_code *code)
{
	void *memory;

	code->size = t->x.n;
	memory = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	code->memory = memory;
	t->x.bytes = memory;
	t->x.capacity = (uint32_t)code->size;
	translate_all(t);
	if (mprotect(memory, code->size, PROT_READ | PROT_EXEC))
		return -errno;
	return 0;
}

static int allocate(struct translation *t, struct vm_code *code)
{
	size_t i, n = (size_t)t->u->n_insns + 1, labels = n * KINDS;
	uint32_t n_functions = t->u->n_functions + 1;

	t->at = malloc(labels * sizeof *t->at);
	t->is_cold = calloc(n, 1);
	code->at = malloc(n * sizeof *code->at);
	t->start = code->start = malloc(n_functions * sizeof *code->start);
	t->leave = code->leave = malloc(n_functions * sizeof *code->leave);
	if (!t->at || !t->is_cold || !code->at || !code->start || !code->leave)
		return -ENOMEM;
	for (i = 0; i < labels; i++)
		t->at[i] = FAR;
	for (i = 0; i < n_functions; i++)
		code->start[i] = code->leave[i] = FAR;
	return 0;
}

static int translate(struct translation *t, struct vm_code *code)
{
	uint32_t i;
	int err = allocate(t, code);

	if (!err)
		err = lay_out(t) ? make_executable(t, code) : -E2BIG;
	if (err)
		return err;
	for (i = 0; i < t->u->n_insns; i++)
		code->at[i] = *label(t, AT, i);
	return 0;
}

int vm_translate(struct script_vm *vm)
{
	struct translation t = { .vm = vm, .u = vm->unit };
	int err = translate(&t, &vm->code);

	free(t.at);
	free(t.is_cold);
	if (err)
		vm_translate_undo(vm);
	return err;
}

void vm_translate_undo(struct script_vm *vm)
{
	if (vm->code.memory)
		munmap(vm->code.memory, vm->code.size);
	free(vm->code.at);
	free(vm->code.start);
	free(vm->code.leave);
	vm->code = (struct vm_code){ 0 };
}
