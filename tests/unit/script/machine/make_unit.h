/* SPDX-License-Identifier: MIT */
/*
 * make_unit.h - units put together by hand, and run by both engines.
 *
 *	begin();
 *	handler(16);				bytes of stack
 *	put(MOV_K(1, 6), MUL_K(1, 7), RESULT(1), EXIT);
 *	is(run_both(0), 42);
 *
 * RESULT(r) stores a register in global 0, which run_both() returns; R9 is lost.
 */
#ifndef TESTS_SCRIPT_MAKE_UNIT_H
#define TESTS_SCRIPT_MAKE_UNIT_H

#include "script/vm/internal.h"
#include "test.h"

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define ALU_K(op, d, i) INSN(BPF_ALU64 | BPF_K | (op), d, 0, 0, i)
#define ALU_X(op, d, s) INSN(BPF_ALU64 | BPF_X | (op), d, s, 0, 0)
#define MOV_K(d, i) ALU_K(BPF_MOV, d, i)
#define MOV_X(d, s) ALU_X(BPF_MOV, d, s)
#define ADD_K(d, i) ALU_K(BPF_ADD, d, i)
#define ADD_X(d, s) ALU_X(BPF_ADD, d, s)
#define MUL_K(d, i) ALU_K(BPF_MUL, d, i)
#define SDIV_K(d, i) INSN(BPF_ALU64 | BPF_K | BPF_DIV, d, 0, 1, i)
#define SDIV_X(d, s) INSN(BPF_ALU64 | BPF_X | BPF_DIV, d, s, 1, 0)
#define SMOD_X(d, s) INSN(BPF_ALU64 | BPF_X | BPF_MOD, d, s, 1, 0)
#define JUMP(o) INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define JUMP_K(op, d, i, o) INSN(BPF_JMP | BPF_K | (op), d, 0, o, i)
#define JUMP_X(op, d, s, o) INSN(BPF_JMP | BPF_X | (op), d, s, o, 0)
#define LOAD(d, s, o) INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, o, s) INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE_K(d, o, i) INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, i)
#define HALF(i) INSN(0, 0, 0, 0, i)
#define LOAD_KIND(d, kind, i) INSN(BPF_LD | BPF_IMM | BPF_DW, d, kind, 0, i), HALF(0)
#define LOAD_64(d, n)                                                                              \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, 0, 0, (int32_t)(uint64_t)(n)),                          \
		HALF((int32_t)((uint64_t)(n) >> 32))
#define LOAD_STRING(d, i) LOAD_KIND(d, SCRIPT_LD_STRING, i)
#define LOAD_GLOBAL(d, i) LOAD_KIND(d, SCRIPT_LD_GLOBAL, i)
#define CALL(f) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, f)
#define HELP_N(n) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, n)
#define HELP(name) HELP_N(SCRIPT_HELPER_##name)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define RESULT(r) LOAD_GLOBAL(9, 0), STORE(9, 0, r)

#define put(...)                                                                                   \
	put_insns((const struct bpf_insn[]){ __VA_ARGS__ },                                        \
		  sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))

enum { MAKE_INSNS = 4096, MAKE_ROWS = 32 };

static struct {
	struct script_unit unit;
	struct bpf_insn insns[MAKE_INSNS];
	struct script_function_code functions[MAKE_ROWS];
	uint8_t types[MAKE_ROWS][SCRIPT_PARAMETERS_MAX], slots[MAKE_ROWS][SCRIPT_SLOTS_MAX];
	struct script_catch catches[MAKE_ROWS];
	const struct script_string *strings[MAKE_ROWS];
	struct script_global_code globals[MAKE_ROWS];
	struct script_array_code arrays[MAKE_ROWS];
	struct script_limits limits;
	char error[1024]; /* of the last run, "" if it went well */
	struct diag d;
} made;

static inline uint32_t add_global(const char *name, enum script_type type)
{
	made.globals[made.unit.n_globals] =
		(struct script_global_code){ .name = name, .type = type };
	return made.unit.n_globals++;
}

static inline void begin(void)
{
	memset(&made, 0, sizeof made);
	made.unit.insns = made.insns;
	made.unit.functions = made.functions;
	made.unit.catches = made.catches;
	made.unit.strings = made.strings;
	made.unit.globals = made.globals;
	made.unit.arrays = made.arrays;
	add_global("result", SCRIPT_LONG);
}

static inline uint32_t add_string(const char *text)
{
	static struct {
		struct script_string head;
		char bytes[64];
	} rooms[MAKE_ROWS];
	uint32_t i = made.unit.n_strings++;

	rooms[i].head.size = (uint32_t)strlen(text);
	strcpy(rooms[i].head.bytes, text);
	made.strings[i] = &rooms[i].head;
	return i;
}

static inline struct script_function_code *add_function(uint32_t stack)
{
	uint32_t i = made.unit.n_functions++;

	made.functions[i] = (struct script_function_code){
		.name = "f",
		.entry = made.unit.n_insns,
		.end = made.unit.n_insns,
		.stack = stack,
		.parameters = made.types[i],
		.slots = made.slots[i],
	};
	return &made.functions[i];
}

static inline struct script_function_code *handler(uint32_t stack)
{
	struct script_function_code *f = add_function(stack);

	f->is_handler = true;
	return f;
}

static inline void add_types(uint8_t *types, uint32_t *n, const char *letters)
{
	for (; *letters; letters++)
		types[(*n)++] = *letters == 's' ? SCRIPT_STRING : SCRIPT_LONG;
}

/* A function of "RESULT:ARGUMENTS", as signatures of helpers. */
static inline struct script_function_code *function(const char *signature, uint32_t stack)
{
	struct script_function_code *f = add_function(stack);

	f->type = *signature == 's'   ? SCRIPT_STRING
		  : *signature == 'l' ? SCRIPT_LONG
				      : SCRIPT_NOTHING;
	add_types(f->parameters, &f->n_parameters, signature + 2);
	return f;
}

/* To the last function. */
static inline void put_insns(const struct bpf_insn *insns, size_t n)
{
	memcpy(&made.insns[made.unit.n_insns], insns, n * sizeof *insns);
	made.unit.n_insns += (uint32_t)n;
	made.functions[made.unit.n_functions - 1].end = made.unit.n_insns;
}

static inline void add_catch(uint32_t begin_insn, uint32_t end_insn, uint32_t target)
{
	made.catches[made.unit.n_catches++] = (struct script_catch){ begin_insn, end_insn, target };
}

static inline uint32_t add_array(const char *name, const char *keys, enum script_type value)
{
	struct script_array_code *a = &made.arrays[made.unit.n_arrays];

	*a = (struct script_array_code){ .name = name, .value = (uint8_t)value, .capacity = 1024 };
	add_types(a->keys, &a->n_keys, keys);
	return made.unit.n_arrays++;
}

/* Stacks hold different garbage in the two engines, so that whoever reads it is found out. */
static inline struct script_vm *open_vm(bool jit)
{
	struct script_vm *vm;

	if (script_vm_open(&vm, &made.unit, &made.limits, NULL, jit, &made.d)) {
		printf("# %s\n", made.d.text);
		return NULL;
	}
	memset(vm->stack, jit ? 0xa5 : 0x5a, vm->stack_size);
	memset(vm->pass, jit ? 0xa5 : 0x5a, sizeof vm->pass);
	return vm;
}

static inline int64_t run_one(struct script_vm *vm, uint32_t handler_number,
			      const struct script_frame *frame)
{
	made.error[0] = 0;
	if (script_vm_run(vm, handler_number, frame) == SCRIPT_FAILED)
		snprintf(made.error, sizeof made.error, "%s", script_vm_error(vm, NULL));
	return values_globals(vm->values)[0].number;
}

/* Verified, and run by both engines: the content of global 0, which must be the same. */
static inline int64_t run_both_on(uint32_t handler_number, const struct script_frame *frame)
{
	struct script_vm *plain, *native;
	int64_t a, b;
	char error[sizeof made.error];

	if (!is(script_verify(&made.unit, &made.d), 0)) {
		printf("# %s\n", made.d.text);
		return 0;
	}
	plain = open_vm(false);
	native = open_vm(true);
	if (!ok(plain && native))
		return 0;
	a = run_one(plain, handler_number, frame);
	strcpy(error, made.error);
	b = run_one(native, handler_number, frame);
	is(b, a);
	is_text(made.error, error);
	script_vm_close(plain);
	script_vm_close(native);
	return a;
}

static inline int64_t run_both(uint32_t handler_number)
{
	static const struct {
		struct script_frame head;
		union script_cell slots[4];
	} nothing;

	return run_both_on(handler_number, &nothing.head);
}

#endif
