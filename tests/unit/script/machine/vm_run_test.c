/* SPDX-License-Identifier: MIT */
/* vm_run_test.c - each instruction, calls, errors and limits: the same in both engines. */
#include "make_unit.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t edges[] = {
	0,	   1,	      -1,	 2,	    -2,	     7,		 63,
	64,	   127,	      -128,	 128,	    1000000, INT32_MAX,	 INT32_MIN,
	1ll << 31, 1ll << 32, INT64_MAX, INT64_MIN, -7,	     4294967295, INT64_MIN + 1
};
enum { N_EDGES = sizeof edges / sizeof *edges };

static void native_code_is_made_here(void)
{
	struct script_vm *vm;

	begin();
	handler(0);
	put(EXIT);
	vm = open_vm(true);
#ifdef __x86_64__
	ok(script_vm_is_jit(vm));
#else
	ok(!script_vm_is_jit(vm));
#endif
	script_vm_close(vm);
}

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65 /* Linux 6.3: no memory becomes executable */
#endif

static void without_executable_memory_it_is_interpreted(void)
{
	int status = -1;
	pid_t child;

	begin();
	handler(0);
	put(MOV_K(6, 42), RESULT(6), EXIT);
	child = fork();
	if (!child) {
		struct script_vm *vm;

		if (prctl(PR_SET_MDWE, 1ul, 0ul, 0ul, 0ul))
			_exit(3); /* an older kernel */
		vm = open_vm(true);
		_exit(!vm || script_vm_is_jit(vm) || run_one(vm, 0, NULL) != 42);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
}

static void code_is_never_writable_and_executable(void)
{
	char line[256], flags[5];
	unsigned long from, to;
	int n_code = 0;
	struct script_vm *vm;
	FILE *f;

	begin();
	handler(0);
	put(EXIT);
	vm = open_vm(true);
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3)
			continue;
		ok(!(flags[1] == 'w' && flags[2] == 'x'));
		n_code += from <= (unsigned long)vm->code.memory &&
			  (unsigned long)vm->code.memory < to && flags[2] == 'x';
	}
	if (f)
		fclose(f);
	is(n_code, script_vm_is_jit(vm));
	script_vm_close(vm);
}

static void too_large_a_limit_is_refused(void)
{
	struct script_limits limits = { .nesting = 10001 };
	struct script_vm *vm;
	struct diag d;

	begin();
	handler(0);
	put(EXIT);
	is(script_vm_open(&vm, &made.unit, &limits, NULL, true, &d), -EINVAL);
	is_text(d.text, "MAXNESTING=10001: at most 10000");
}

static void the_deepest_nesting_fits(void)
{
	begin();
	made.limits.nesting = 10000;
	handler(0);
	put(MOV_K(1, 0), CALL(1), RESULT(0), EXIT);
	function("l:l", 4096);
	put(ADD_K(1, 1), LOAD_GLOBAL(2, 0), STORE(2, 0, 1), STORE_K(10, -4096, 1), CALL(1), EXIT);
	is(run_both(0), 10000);
}

static uint64_t expected(uint8_t op, bool is_signed, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 63);
	case BPF_RSH:
		return a >> (b & 63);
	case BPF_ARSH:
		return (uint64_t)((int64_t)a >> (b & 63));
	case BPF_MOV:
		return b;
	case BPF_DIV:
		if (!b)
			return 0;
		return is_signed ? (b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b))
				 : a / b;
	default:
		if (!b)
			return a;
		return is_signed ? (b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b))
				 : a % b;
	}
}

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL,  BPF_OR,	BPF_AND, BPF_XOR,
				   BPF_LSH, BPF_RSH, BPF_ARSH, BPF_MOV, BPF_DIV, BPF_MOD };
enum { N_ALU = sizeof alu_ops };

/* One handler for each pair of numbers: a checksum over all operations. */
static uint64_t mix(uint64_t sum, uint64_t value)
{
	return sum * 31 + value;
}

static void put_operation(uint8_t op, bool is_signed, int to, int from)
{
	put(INSN(BPF_ALU64 | BPF_X | op, to, from, is_signed, 0));
}

/* R6 is the sum. */
static void put_mix(int reg)
{
	put(MUL_K(6, 31), ADD_X(6, reg));
}

static void arithmetic_of_registers_is_right(int to, int from)
{
	uint64_t sum = 0;
	int i, op, is_signed;

	for (i = 0; i < N_EDGES * N_EDGES; i++) {
		uint64_t a = (uint64_t)edges[i / N_EDGES], b = (uint64_t)edges[i % N_EDGES];

		begin();
		handler(0);
		put(MOV_K(6, 0));
		sum = 0;
		for (op = 0; op < N_ALU; op++)
			for (is_signed = 0;
			     is_signed <= (alu_ops[op] == BPF_DIV || alu_ops[op] == BPF_MOD);
			     is_signed++) {
				put(LOAD_64(to, a));
				put(LOAD_64(from, b));
				put_operation(alu_ops[op], is_signed, to, from);
				put_mix(to);
				sum = mix(sum,
					  expected(alu_ops[op], is_signed, to == from ? b : a, b));
				if (to == from)
					continue;
				put_mix(from); /* it is kept */
				sum = mix(sum, b);
			}
		put(RESULT(6), EXIT);
		if (run_both(0) != (int64_t)sum)
			break;
	}
	is(i, N_EDGES * N_EDGES);
}

static void arithmetic_in_all_registers(void)
{
	int to, from;

	for (to = 0; to < 10; to++)
		for (from = to % 3; from < 10; from += 3)
			if (to != 6 && from != 6)
				arithmetic_of_registers_is_right(to, from);
	arithmetic_of_registers_is_right(3, 3);
	arithmetic_of_registers_is_right(0, 2);
	arithmetic_of_registers_is_right(2, 0);
}

static void other_registers_survive_shifts_and_divisions(void)
{
	int op, to, from, r;
	int64_t sum;

	for (op = BPF_DIV; op <= BPF_ARSH; op += 0x10)
		for (to = 0; to < 9; to++)
			for (from = 0; from < 9; from++) {
				if (op == BPF_NEG)
					continue;
				begin();
				handler(0);
				for (r = 0; r < 9; r++)
					put(MOV_K(r, 100 + r));
				put_operation((uint8_t)op, false, to, from);
				put(MOV_K(to, 0), MOV_K(9, 0));
				sum = 0;
				for (r = 0; r < 9; r++) {
					put(MUL_K(9, 31), ADD_X(9, r));
					sum = sum * 31 + (r == to ? 0 : 100 + r);
				}
				put(MOV_X(0, 9), RESULT(0), EXIT);
				is(run_both(0), sum);
			}
}

static void arithmetic_with_numbers_is_right(void)
{
	uint64_t sum = 0;
	int i, op, is_signed, to;

	for (i = 0; i < N_EDGES * N_EDGES; i++) {
		uint64_t a = (uint64_t)edges[i / N_EDGES];
		int64_t b = edges[i % N_EDGES];

		if (b != (int32_t)b)
			continue;
		begin();
		handler(0);
		put(MOV_K(6, 0));
		sum = 0;
		for (op = 0; op < N_ALU; op++) {
			bool is_division = alu_ops[op] == BPF_DIV || alu_ops[op] == BPF_MOD;
			bool is_shift = alu_ops[op] == BPF_LSH || alu_ops[op] == BPF_RSH ||
					alu_ops[op] == BPF_ARSH;

			if (is_shift && (b < 0 || b > 63))
				continue;
			for (is_signed = 0; is_signed <= is_division; is_signed++)
				for (to = 0; to < 6; to++) {
					put(LOAD_64(to, a));
					put(INSN(BPF_ALU64 | BPF_K | alu_ops[op], to, 0,
						 (int16_t)is_signed, (int32_t)b));
					put_mix(to);
					sum = mix(sum,
						  expected(alu_ops[op], is_signed, a, (uint64_t)b));
				}
		}
		put(LOAD_64(8, a), INSN(BPF_ALU64 | BPF_NEG, 8, 0, 0, 0));
		put_mix(8);
		sum = mix(sum, -a);
		put(RESULT(6), EXIT);
		if (!is(run_both(0), (int64_t)sum))
			return;
	}
}

static bool compares(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return (int64_t)a > (int64_t)b;
	case BPF_JSGE:
		return (int64_t)a >= (int64_t)b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	case BPF_JSLE:
		return (int64_t)a <= (int64_t)b;
	default:
		return a & b;
	}
}

static const uint8_t jump_ops[] = { BPF_JEQ,  BPF_JNE,	BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				    BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };

/* Forwards and backwards; a bit for each one. */
static void comparisons_are_right(void)
{
	int i, op;
	uint64_t want;

	for (i = 0; i < N_EDGES * N_EDGES; i++) {
		uint64_t a = (uint64_t)edges[i / N_EDGES], b = (uint64_t)edges[i % N_EDGES];

		begin();
		handler(0);
		put(MOV_K(6, 0), LOAD_64(7, a), LOAD_64(3, b));
		want = 0;
		for (op = 0; op < (int)sizeof jump_ops; op++) {
			bool jumps = compares(jump_ops[op], a, b);

			put(ALU_K(BPF_LSH, 6, 2), JUMP_X(jump_ops[op], 7, 3, 1), ADD_K(6, 1));
			want = want << 2 | !jumps;
			/* back to an addition, and from there behind the loop */
			put(JUMP(2), ADD_K(6, 2), JUMP(1), JUMP_X(jump_ops[op], 7, 3, -3));
			want |= jumps * 2ull;
			if ((int64_t)b != (int32_t)b)
				continue;
			put(MUL_K(6, 3), JUMP_K(jump_ops[op], 7, (int32_t)b, 1), ADD_K(6, 1));
			want = want * 3 + !jumps;
			put(JUMP(2), ADD_K(6, 2), JUMP(1), JUMP_K(jump_ops[op], 7, (int32_t)b, -3));
			want += jumps * 2ull;
		}
		put(RESULT(6), EXIT);
		if (!is(run_both(0), (int64_t)want))
			return;
	}
}

static void a_long_jump_goes_further_than_a_short_one(void)
{
	int i;

	begin();
	handler(0);
	put(MOV_K(6, 1), INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 1000));
	for (i = 0; i < 1000; i++)
		put(ADD_K(6, 7));
	put(RESULT(6), EXIT);
	is(run_both(0), 1);
}

static void the_frame_is_read(void)
{
	struct {
		struct script_frame head;
		union script_cell slots[2];
	} frame = { .head.faults = 2 };
	struct script_function_code *f;
	int slot0 = (int)offsetof(struct script_frame, slot);

	frame.head.standard[STANDARD_PID].number = 4711;
	frame.head.standard[STANDARD_CPU].number = 3;
	frame.slots[0].number = -5;
	begin();
	f = handler(0);
	f->needs = 1u << STANDARD_PID | 1u << STANDARD_CPU;
	add_types(f->slots, &f->n_slots, "ll");
	put(LOAD(6, 1, 8 + 8 * STANDARD_PID), LOAD(7, 1, slot0), LOAD(8, 1, 0), MUL_K(6, 100),
	    ADD_X(6, 7), ADD_X(6, 8));
	put(MOV_K(1, STANDARD_CPU), HELP(STANDARD_LONG), ADD_X(6, 0), RESULT(6), EXIT);
	is(run_both_on(0, &frame.head), 471100 - 5 + 2 + 3);
}

static void cells_of_the_stack_are_read_and_written(void)
{
	begin();
	handler(4096);
	put(MOV_K(6, 77), STORE(10, -8, 6), STORE(10, -4096, 6), STORE_K(10, -200, -3));
	put(MOV_X(2, 10), ADD_K(2, -208), LOAD(3, 2, 8), LOAD(4, 10, -4096), ADD_X(3, 4));
	put(STORE(10, -16, 10), LOAD(5, 10, -16), LOAD(5, 5, -8), ADD_X(3, 5));
	put(RESULT(3), EXIT);
	is(run_both(0), 77 + 77 - 3);
}

static void functions_get_and_give_values(void)
{
	begin();
	handler(16);
	put(MOV_K(6, 1), MOV_K(7, 2), MOV_K(8, 3), STORE_K(10, -8, 1000), STORE_K(10, -16, 5000));
	put(MOV_K(1, 10), MOV_K(2, 20), MOV_K(3, 30), MOV_K(4, 40), MOV_K(5, 50), CALL(1));
	put(ADD_X(0, 6), ADD_X(0, 7), ADD_X(0, 8), LOAD(1, 10, -8), ADD_X(0, 1), LOAD(1, 10, -16),
	    ADD_X(0, 1), RESULT(0), EXIT);
	function("l:lllll", 24);
	put(MOV_K(6, 90), MOV_K(7, 90), MOV_K(8, 90), MOV_K(9, 90), STORE(10, -8, 6),
	    STORE(10, -24, 6));
	put(MOV_X(0, 1), ADD_X(0, 2), ADD_X(0, 3), ADD_X(0, 4), ADD_X(0, 5), EXIT);
	is(run_both(0), 150 + 6 + 6000);
}

static void arguments_above_the_fifth_are_passed(void)
{
	int i;

	begin();
	handler(0);
	for (i = 5; i < 9; i++)
		put(MOV_K(1, i), MOV_K(2, i * 100), HELP(PASS_LONG));
	put(MOV_K(1, 1), MOV_K(2, 2), MOV_K(3, 3), MOV_K(4, 4), MOV_K(5, 5), CALL(1));
	put(RESULT(0), EXIT);
	function("l:lllllllll", 8);
	/* Passing on others does not change those that came. */
	put(STORE(10, -8, 1), MOV_K(6, 0));
	for (i = 5; i < 9; i++)
		put(MOV_K(1, i), MOV_K(2, -1), HELP(PASS_LONG));
	put(MOV_K(1, 0), MOV_K(2, 0), MOV_K(3, 0), MOV_K(4, 0), MOV_K(5, 0), CALL(2));
	for (i = 5; i < 9; i++)
		put(MOV_K(1, i), HELP(ARGUMENT_LONG), MUL_K(6, 3), ADD_X(6, 0));
	put(LOAD(0, 10, -8), ADD_X(0, 6), EXIT);
	function("l:lllllllll", 64);
	put(MOV_K(1, 8), HELP(ARGUMENT_LONG), STORE_K(10, -64, 9), EXIT);
	is(run_both(0), ((500 * 3 + 600) * 3 + 700) * 3 + 800 + 1);
}

static void functions_call_themselves(void)
{
	begin();
	handler(0);
	put(MOV_K(1, 20), CALL(1), RESULT(0), EXIT);
	function("l:l", 0); /* fibonacci */
	put(JUMP_K(BPF_JSGT, 1, 1, 2), MOV_X(0, 1), EXIT);
	put(MOV_X(6, 1), ADD_K(1, -1), CALL(1), MOV_X(7, 0), MOV_X(1, 6), ADD_K(1, -2), CALL(1),
	    ADD_X(0, 7), EXIT);
	is(run_both(0), 6765);
}

static void too_many_calls_inside_each_other_are_an_error(void)
{
	begin();
	made.limits.nesting = 50;
	handler(0);
	put(MOV_K(1, 0), CALL(1), RESULT(0), EXIT);
	function("l:l", 4096);
	put(ADD_K(1, 1), LOAD_GLOBAL(2, 0), STORE(2, 0, 1), STORE_K(10, -4096, 1), CALL(1), EXIT);
	is(run_both(0), 50);
	is_text(made.error,
		"calls are nested too deeply: 50 (limit: -D MAXNESTING)\n"
		" in function f, called\n in function f, called\n in function f, called\n"
		" in function f, called\n in function f, called\n in function f, called\n"
		" in function f, called\n .. and 43 more calls");
}

static void nesting_can_be_caught(void)
{
	begin();
	handler(0);
	put(MOV_K(6, 5), MOV_K(1, 0), CALL(1), EXIT, RESULT(6), EXIT);
	add_catch(0, 4, 4);
	function("l:l", 0);
	put(CALL(1), EXIT);
	made.functions[1].n_parameters = 0;
	is(run_both(0), 5);
	is_text(made.error, "");
}

static void an_endless_loop_ends(void)
{
	begin();
	made.limits.actions = 1000;
	handler(0);
	put(MOV_K(6, 0), ADD_K(6, 1), RESULT(6), JUMP(-5), EXIT);
	is(run_both(0), 1001);
	is_text(made.error,
		"the handler ran too long: 1000 loop rounds and calls (limit: -D MAXACTION)");
	begin();
	handler(0);
	put(JUMP(-1));
	run_both(0);
	ok(*made.error);
}

static void the_end_of_actions_cannot_be_caught(void)
{
	begin();
	made.limits.actions = 1000;
	handler(0);
	put(MOV_K(6, 1), RESULT(6), CALL(1), EXIT, MOV_K(6, 2), RESULT(6), EXIT);
	add_catch(0, 6, 6);
	function("v:", 0);
	put(JUMP(-1));
	is(run_both(0), 1);
	ok(strstr(made.error, "MAXACTION"));
}

static void a_loop_of_errors_ends(void)
{
	begin();
	made.limits.actions = 1000;
	handler(0);
	put(MOV_K(6, 0), ADD_K(6, 1), RESULT(6), HELP(RAISE_DIVISION), EXIT);
	add_catch(0, 6, 1);
	is(run_both(0), 1001);
	ok(strstr(made.error, "MAXACTION"));
}

static void walks_over_arrays_are_actions_too(void)
{
	begin();
	add_array("a", "l", SCRIPT_LONG);
	made.arrays[0].capacity = 6400;
	made.limits.actions = 6400 + 1000;
	handler(8);
	put(MOV_K(6, 0));
	put(ADD_K(6, 1), STORE(10, -8, 6), MOV_K(1, 0), MOV_X(2, 10), ADD_K(2, -8), MOV_K(3, 1),
	    HELP(ARRAY_ADD), JUMP_K(BPF_JLT, 6, 6400, -8));
	put(MOV_K(7, 0));
	put(ADD_K(7, 1), RESULT(7), MOV_K(1, 0), MOV_X(2, 10), ADD_K(2, -8), MOV_K(3, 1),
	    HELP(ARRAY_HAS_SLICE), JUMP(-10));
	put(EXIT);
	is(run_both(0), 10); /* of 100 actions each, and a round */
	ok(strstr(made.error, "MAXACTION"));
}

static void errors_are_caught_by_the_innermost_catch(void)
{
	begin();
	handler(16);
	put(MOV_K(6, 1), MOV_K(7, 20), STORE_K(10, -8, 300)); /* 0 */
	put(HELP(RAISE_DIVISION), EXIT);		      /* 3 */
	put(ADD_X(6, 7), HELP(RAISE_DIVISION), EXIT);	      /* 5 inner */
	put(LOAD(0, 10, -8), ADD_X(6, 0), RESULT(6), EXIT);   /* 8 outer */
	add_catch(3, 5, 5);
	add_catch(0, 8, 8);
	is(run_both(0), 321);
	is_text(made.error, "");
}

static void an_error_leaves_functions_and_keeps_registers(void)
{
	begin();
	handler(8);
	put(MOV_K(6, 1), MOV_K(7, 20), MOV_K(8, 300), STORE_K(10, -8, 4000), CALL(1), EXIT);
	put(MOV_X(0, 6), ADD_X(0, 7), ADD_X(0, 8), LOAD(1, 10, -8), ADD_X(0, 1), RESULT(0), CALL(1),
	    EXIT);
	add_catch(0, 6, 6);
	function("v:", 8);
	put(MOV_K(6, 0), MOV_K(7, 0), STORE_K(10, -8, 0), CALL(2), EXIT);
	function("v:", 8);
	put(MOV_K(8, 0), MOV_K(9, 0), STORE_K(10, -8, 0), MOV_K(0, 5), HELP(RAISE_DIVISION), EXIT);
	is(run_both(0), 4321);
	is_text(made.error, "division by 0\n in function f, called\n in function f, called");
}

static void an_uncaught_error_says_where_it_happened(void)
{
	static const char text[] = "probe x {\n  y = f(1 / 0)\n}\n";
	struct script_source source = { .name = "top.stp", .text = text, .size = sizeof text - 1 };
	struct script_sources sources = { .at = &source, .n = 1 };
	struct script_code_line lines[] = { { 0, { 0, 16, 1 } }, { 2, { 0, 20, 1 } } };
	struct script_place place;
	struct script_vm *vm;

	begin();
	made.unit.sources = &sources;
	made.unit.lines = lines;
	made.unit.n_lines = 2;
	handler(0);
	put(CALL(1), EXIT);
	function("v:", 0);
	put(HELP(RAISE_DIVISION), EXIT);
	run_both(0);
	is_text(made.error, "division by 0 near operator `/` at top.stp:2:11\n"
			    " in function f, called at top.stp:2:7");
	vm = open_vm(true);
	run_one(vm, 0, NULL);
	script_vm_error(vm, &place);
	is(place.at, 20);
	script_vm_close(vm);
}

static void the_text_of_an_error_is_a_string(void)
{
	struct script_vm *vm;
	int jit;

	begin();
	add_global("text", SCRIPT_STRING);
	handler(0);
	put(LOAD_STRING(1, add_string("ouch")), HELP(RAISE), EXIT);
	put(HELP(ERROR_TEXT), MOV_X(2, 0), MOV_K(1, 1), HELP(GLOBAL_SET), EXIT);
	add_catch(0, 4, 4);
	run_both(0);
	is_text(made.error, "");
	for (jit = 0; jit < 2; jit++) {
		vm = open_vm(jit);
		run_one(vm, 0, NULL);
		is_text(values_globals(vm->values)[1].text->bytes, "ouch");
		script_vm_close(vm);
	}
}

static void strings_go_through_functions(void)
{
	struct script_vm *vm;

	begin();
	add_global("text", SCRIPT_STRING);
	handler(8);
	put(LOAD_STRING(1, add_string("a string")), CALL(1), STORE(10, -8, 0));
	put(LOAD(2, 10, -8), MOV_K(1, 1), HELP(GLOBAL_SET), LOAD_GLOBAL(3, 1), LOAD(3, 3, 0), EXIT);
	function("s:s", 0);
	put(MOV_X(0, 1), EXIT);
	run_both(0);
	vm = open_vm(true);
	run_one(vm, 0, NULL);
	is_text(values_globals(vm->values)[1].text->bytes, "a string");
	script_vm_close(vm);
}

static void globals_are_set_and_printed_by_name(void)
{
	struct script_vm *vm;
	struct diag d;

	begin();
	add_global("text", SCRIPT_STRING);
	add_array("many", "l", SCRIPT_LONG);
	handler(0);
	put(EXIT);
	vm = open_vm(false);
	is(script_vm_set_global(vm, "result", "-0x10", &d), 0);
	is(values_globals(vm->values)[0].number, -16);
	is(script_vm_set_global(vm, "result", "18446744073709551615", &d), 0);
	is(values_globals(vm->values)[0].number, -1);
	is(script_vm_set_global(vm, "result", "12x", &d), -EINVAL);
	is_text(d.text, "global result is a number: `12x` is none");
	is(script_vm_set_global(vm, "text", "hello", &d), 0);
	is_text(values_globals(vm->values)[1].text->bytes, "hello");
	is(script_vm_set_global(vm, "many", "1", &d), -EINVAL);
	is(script_vm_set_global(vm, "nothing", "1", &d), -ENOENT);
	script_vm_close(vm);
}

int main(void)
{
	run(native_code_is_made_here);
	run(without_executable_memory_it_is_interpreted);
	run(code_is_never_writable_and_executable);
	run(too_large_a_limit_is_refused);
	run(the_deepest_nesting_fits);
	run(arithmetic_in_all_registers);
	run(other_registers_survive_shifts_and_divisions);
	run(arithmetic_with_numbers_is_right);
	run(comparisons_are_right);
	run(a_long_jump_goes_further_than_a_short_one);
	run(the_frame_is_read);
	run(cells_of_the_stack_are_read_and_written);
	run(functions_get_and_give_values);
	run(arguments_above_the_fifth_are_passed);
	run(functions_call_themselves);
	run(too_many_calls_inside_each_other_are_an_error);
	run(nesting_can_be_caught);
	run(an_endless_loop_ends);
	run(the_end_of_actions_cannot_be_caught);
	run(a_loop_of_errors_ends);
	run(walks_over_arrays_are_actions_too);
	run(errors_are_caught_by_the_innermost_catch);
	run(an_error_leaves_functions_and_keeps_registers);
	run(an_uncaught_error_says_where_it_happened);
	run(the_text_of_an_error_is_a_string);
	run(strings_go_through_functions);
	run(globals_are_set_and_printed_by_name);
	return test_status();
}
