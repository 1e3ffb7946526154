/* SPDX-License-Identifier: MIT */
/* unit_verify_test.c - the verifier refuses what is not safe, and says why. */
#include "make_unit.h"

/* The last unit is refused, and the reason contains @reason. */
static void refused(const char *reason)
{
	made.d.text[0] = 0;
	if (!ok(script_verify(&made.unit, &made.d) < 0) || !ok(strstr(made.d.text, reason)))
		printf("# \"%s\", not \"%s\"\n", made.d.text, reason);
}

static void accepted(void)
{
	made.d.text[0] = 0;
	if (!is(script_verify(&made.unit, &made.d), 0))
		printf("# %s\n", made.d.text);
}

#define refuse(reason, ...)                                                                        \
	do {                                                                                       \
		begin();                                                                           \
		handler(16);                                                                       \
		put(__VA_ARGS__);                                                                  \
		refused(reason);                                                                   \
	} while (0)

static void unknown_instructions_are_refused(void)
{
	refuse("unknown operation", INSN(BPF_ALU | BPF_ADD, 0, 0, 0, 0), EXIT);
	refuse("unknown operation", INSN(BPF_ALU64 | BPF_END, 0, 0, 0, 0), EXIT);
	refuse("unknown operation", INSN(BPF_ALU64 | 0xe0, 0, 0, 0, 0), EXIT);
	refuse("unknown operation", INSN(BPF_JMP32 | BPF_JEQ, 0, 0, 0, 0), EXIT);
	refuse("unknown operation", INSN(BPF_JMP32 | BPF_CALL, 0, 0, 0, 1), EXIT);
	refuse("unknown operation", INSN(BPF_JMP | 0xe0, 0, 0, 0, 0), EXIT);
	refuse("unknown operation", INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT);
	refuse("not of 8 bytes", INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -8, 0), EXIT);
	refuse("not of 8 bytes", INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 0, -8, 0), EXIT);
	refuse("offset 1", INSN(BPF_ALU64 | BPF_ADD, 0, 0, 1, 0), EXIT);
	refuse("offset 8", INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 8, 0), EXIT);
	refuse("two operands", INSN(BPF_ALU64 | BPF_MOV, 0, 1, 0, 1), EXIT);
	refuse("a negation with an operand", INSN(BPF_ALU64 | BPF_NEG, 0, 0, 0, 1), EXIT);
	refuse("a shift by 64", ALU_K(BPF_LSH, 0, 64), EXIT);
	refuse("a shift by -1", ALU_K(BPF_ARSH, 0, -1), EXIT);
	refuse("an exit with operands", INSN(BPF_JMP | BPF_EXIT, 1, 0, 0, 0));
	refuse("a call of an unknown kind", INSN(BPF_JMP | BPF_CALL, 0, 2, 0, 1), EXIT);
	refuse("half a number", INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0), EXIT);
	refuse("half a number", INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0));
	refuse("a load of kind 3", LOAD_KIND(0, 3, 0), EXIT);
	refuse("register 10 cannot be written", MOV_K(10, 0), EXIT);
	refuse("register 11 cannot be written", MOV_K(11, 0), EXIT);
	refuse("cannot be used", STORE(10, -8, 15), EXIT);
}

static void ways_out_of_a_function_are_refused(void)
{
	refuse("goes on behind its end", MOV_K(0, 0));
	refuse("goes on behind its end", LOAD_64(0, 0));
	refuse("a jump out of the function, to 2", JUMP(1), EXIT);
	refuse("a jump out of the function, to -1", JUMP(-2), EXIT);
	refuse("a jump out", INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, INT32_MAX), EXIT);
	refuse("a jump out", INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, INT32_MIN), EXIT);
	refuse("a jump into a number of 64 bits", JUMP(1), LOAD_64(0, 0), EXIT);
	begin();
	handler(0);
	put(JUMP(1), EXIT);
	function("v:", 0);
	put(EXIT);
	refused("a jump out of the function");
}

static void registers_that_were_not_written_are_refused(void)
{
	refuse("r2 was not written", MOV_X(0, 2), EXIT);
	refuse("r0 must be a number; it is nothing", ADD_K(0, 1), EXIT);
	refuse("r3 must be a number", MOV_K(0, 1), ADD_X(0, 3), EXIT);
	refuse("r6 must be a number", JUMP_K(BPF_JEQ, 6, 0, 0), EXIT);
	refuse("r2 was not written", STORE(10, -8, 2), EXIT);
	refuse("the cell was not written", LOAD(0, 10, -8), EXIT);
	/* on one of two ways only */
	refuse("r6 must be a number", LOAD(2, 1, 0), JUMP_K(BPF_JEQ, 2, 0, 1), MOV_K(6, 1),
	       ADD_K(6, 1), EXIT);
	refuse("the cell was not written", LOAD(2, 1, 0), JUMP_K(BPF_JEQ, 2, 0, 1),
	       STORE_K(10, -8, 1), LOAD(6, 10, -8), EXIT);
	/* a call takes R1 to R5 away, and in a loop only the second time */
	refuse("r1 must be a number", MOV_K(1, 1), HELP(ITER_DEPTH), ADD_K(1, 1), EXIT);
	refuse("r2 must be a number", MOV_K(2, 1), ADD_K(2, 1), HELP(ITER_DEPTH), JUMP(-3));
}

static void kinds_are_not_mixed(void)
{
	begin();
	handler(16);
	put(LOAD_STRING(2, add_string("a")), ADD_K(2, 1), EXIT);
	refused("r2 must be a number; it is a string");
	begin();
	handler(16);
	put(LOAD_STRING(2, add_string("a")), JUMP_K(BPF_JEQ, 2, 0, 0), EXIT);
	refused("r2 must be a number; it is a string");
	begin();
	handler(16);
	put(LOAD_STRING(2, add_string("a")), LOAD(2, 2, 0), EXIT);
	refused("r2 must be an address; it is a string");
	begin();
	handler(16);
	put(LOAD_STRING(2, add_string("a")), LOAD_GLOBAL(3, 0), STORE(3, 0, 2), EXIT);
	refused("only a number is stored");
	refuse("r1 must be a number; it is the frame", ADD_K(1, 8), EXIT);
	refuse("r1 must be a number; it is the frame", MOV_K(2, 1), ADD_X(2, 1), EXIT);
	refuse("r2 must be a number; it is an address of the stack", MOV_X(2, 10), MUL_K(2, 2),
	       EXIT);
	refuse("r2 must be a number; it is an address of the stack", MOV_X(2, 10), ADD_X(2, 2),
	       EXIT);
	refuse("only a number is stored", LOAD_GLOBAL(2, 0), STORE(2, 0, 2), EXIT);
	/* a string or a number */
	begin();
	handler(16);
	put(LOAD(2, 1, 0), MOV_K(3, 0), JUMP_K(BPF_JEQ, 2, 0, 2), LOAD_STRING(3, add_string("a")),
	    MOV_X(4, 3), EXIT);
	refused("r3 was not written on each way");
}

static void accesses_out_of_bounds_are_refused(void)
{
	refuse("leaves the stack", STORE_K(10, 0, 1), EXIT);
	refuse("leaves the stack", STORE_K(10, -24, 1), EXIT);
	refuse("leaves the stack", STORE_K(10, -12, 1), EXIT);
	refuse("leaves the stack", STORE_K(10, 8, 1), EXIT);
	refuse("leaves the stack", MOV_X(2, 10), ADD_K(2, -24), EXIT);
	refuse("leaves the stack", MOV_X(2, 10), ADD_K(2, 8), EXIT);
	refuse("not aligned", MOV_X(2, 10), ADD_K(2, -4), EXIT);
	refuse("leaves the stack", MOV_X(2, 10), ALU_K(BPF_SUB, 2, INT32_MIN), EXIT);
	refuse("leaves a global", LOAD_GLOBAL(2, 0), LOAD(3, 2, 8), EXIT);
	refuse("leaves a global", LOAD_GLOBAL(2, 0), STORE_K(2, -8, 8), EXIT);
	refuse("leaves the frame", LOAD(2, 1, -8), EXIT);
	refuse("leaves the frame", LOAD(2, 1, 4), EXIT);
	refuse("slot 0 is not there", LOAD(2, 1, 8 + 8 * STANDARD_N), EXIT);
	refuse("slot 3068 is not there", LOAD(2, 1, 32760 - 8 * 1000), EXIT);
	refuse("not listed as needed", LOAD(2, 1, 8 + 8 * STANDARD_PID), EXIT);
	refuse("r1 is the frame", STORE_K(1, 0, 1), EXIT);
	refuse("r0 is nothing", STORE_K(0, 0, 1), EXIT);
	refuse("global 1 is not there", LOAD_GLOBAL(2, 1), EXIT);
	refuse("global 4294967295 is not there", LOAD_GLOBAL(2, -1), EXIT);
	refuse("string 0 is not there", LOAD_STRING(2, 0), EXIT);
}

static void calls_fit_their_functions(void)
{
	refuse("no function has number 1", CALL(1), EXIT);
	refuse("no function has number 0", CALL(0), EXIT); /* a handler */
	refuse("no helper has number 0", HELP_N(0), EXIT);
	refuse("no helper has number 200", HELP_N(200), EXIT);
	refuse("no helper has number -1", HELP_N(-1), EXIT);
	refuse("no helper has number", HELP_N(SCRIPT_HELPER_BUILTIN), EXIT); /* a cell */
	begin();
	handler(0);
	put(MOV_K(1, 1), CALL(1), EXIT);
	function("l:s", 0);
	put(MOV_K(0, 1), EXIT);
	refused("argument 0 of function 1 must be a string; it is a number");
	begin();
	handler(0);
	put(MOV_K(1, 1), MOV_K(2, 1), MOV_K(3, 1), MOV_K(4, 1), MOV_K(5, 1), CALL(1), EXIT);
	function("l:llllll", 0);
	put(MOV_K(0, 1), EXIT);
	refused("argument 5 of function 1 must be a number; it is nothing");
	begin();
	handler(0);
	put(EXIT);
	function("s:", 0);
	put(MOV_K(0, 1), EXIT);
	refused("the function's result must be a string; it is a number");
	begin();
	handler(0);
	put(EXIT);
	function("l:l", 0);
	put(MOV_K(1, 5), HELP(ARGUMENT_LONG), EXIT);
	refused("parameter 5 is not a number on the stack");
	refuse("cannot be passed", MOV_K(1, 4), MOV_K(2, 4), HELP(PASS_LONG), EXIT);
	refuse("cannot be passed", MOV_K(1, 64), MOV_K(2, 4), HELP(PASS_LONG), EXIT);
}

static void passed_arguments_do_not_outlive_a_call(void)
{
	begin();
	handler(0);
	put(MOV_K(1, 5), MOV_K(2, 4), HELP(PASS_LONG));
	put(MOV_K(1, 1), MOV_K(2, 1), MOV_K(3, 1), MOV_K(4, 1), MOV_K(5, 1), CALL(1));
	put(MOV_K(1, 1), MOV_K(2, 1), MOV_K(3, 1), MOV_K(4, 1), MOV_K(5, 1), CALL(1), EXIT);
	function("l:llllll", 0);
	put(MOV_K(0, 1), EXIT);
	refused("argument 5 of function 1");
}

static void arguments_of_helpers_fit(void)
{
	refuse("argument 1 of a call must be a string; it is a number", MOV_K(1, 1), HELP(RAISE),
	       EXIT);
	refuse("must be a constant", LOAD(1, 1, 0), HELP(STANDARD_LONG), EXIT);
	refuse("cell 14 of an event is not a number", MOV_K(1, STANDARD_EXECNAME),
	       HELP(STANDARD_LONG), EXIT);
	refuse("cell 26 of an event", MOV_K(1, STANDARD_N), HELP(STANDARD_LONG), EXIT);
	refuse("reads cell 2 of its event", MOV_K(1, STANDARD_PID), HELP(STANDARD_LONG), EXIT);
	refuse("slot 0 is not there", MOV_K(1, 0), HELP(RAISE_FAULT), EXIT);
	refuse("array 0 is not there", MOV_K(1, 0), MOV_X(2, 10), HELP(ARRAY_GET), EXIT);
	refuse("regular expression 0 is not there", MOV_K(1, 0), HELP(MATCH), EXIT);
	refuse("format 0 is not there", MOV_K(1, 0), MOV_X(2, 10), HELP(PRINT), EXIT);
	refuse("iteration 7 is not there", MOV_K(1, 7), HELP(ITER_BEGIN), EXIT);
	refuse("global 0 is no string", MOV_K(1, 0), HELP(GLOBAL_SET), EXIT);
}

#define refuse_array(reason, ...)                                                                  \
	do {                                                                                       \
		begin();                                                                           \
		add_array("numbers", "ls", SCRIPT_LONG);                                           \
		add_array("stats", "l", SCRIPT_STATS);                                             \
		handler(16);                                                                       \
		put(__VA_ARGS__);                                                                  \
		refused(reason);                                                                   \
	} while (0)

static void keys_are_cells_of_their_types(void)
{
	refuse_array("must be an address of the stack", MOV_K(1, 0), MOV_K(2, 0), HELP(ARRAY_GET),
		     EXIT);
	refuse_array("2 cells leave the stack", MOV_K(1, 0), MOV_X(2, 10), HELP(ARRAY_GET), EXIT);
	refuse_array("2 cells leave the stack", STORE_K(10, -8, 1), MOV_K(1, 0), MOV_X(2, 10),
		     ADD_K(2, -8), HELP(ARRAY_GET), EXIT);
	refuse_array("cell 0 of argument 2 of a call must be a number; it is nothing", MOV_K(1, 0),
		     MOV_X(2, 10), ADD_K(2, -16), HELP(ARRAY_GET), EXIT);
	refuse_array("cell 1 of argument 2 of a call must be a string; it is a number", MOV_K(1, 0),
		     STORE_K(10, -8, 1), STORE_K(10, -16, 1), MOV_X(2, 10), ADD_K(2, -16),
		     HELP(ARRAY_GET), EXIT);
	refuse_array("array stats holds statistics", MOV_K(1, 1), STORE_K(10, -8, 1), MOV_X(2, 10),
		     ADD_K(2, -8), HELP(ARRAY_GET), EXIT);
	refuse_array("array stats holds no numbers", MOV_K(1, 1), STORE_K(10, -8, 1), MOV_X(2, 10),
		     ADD_K(2, -8), MOV_K(3, 1), HELP(ARRAY_ADD), EXIT);
	refuse_array("array stats has no histogram", MOV_K(1, 1), STORE_K(10, -8, 1), MOV_X(2, 10),
		     ADD_K(2, -8), HELP(STAT_HISTOGRAM), EXIT);
	refuse_array("statistic 7 is not there", MOV_K(1, 1), STORE_K(10, -8, 1), MOV_X(2, 10),
		     ADD_K(2, -8), MOV_K(3, 7), MOV_K(4, 0), HELP(STAT_GET), EXIT);
	refuse_array("does not keep statistic 6", MOV_K(1, 1), STORE_K(10, -8, 1), MOV_X(2, 10),
		     ADD_K(2, -8), MOV_K(3, STATISTIC_QUANTILE), MOV_K(4, 0), HELP(STAT_GET), EXIT);
	begin();
	add_array("numbers", "ls", SCRIPT_LONG);
	handler(16);
	put(MOV_K(1, 0), STORE_K(10, -16, 1), MOV_X(2, 10), ADD_K(2, -16), MOV_K(3, 2),
	    HELP(ARRAY_HAS_SLICE), EXIT);
	accepted(); /* the second key is `*` */
}

static void a_catch_knows_no_results(void)
{
	begin();
	handler(0);
	put(MOV_K(2, 1), HELP(RAISE_DIVISION), EXIT, ADD_K(2, 1), EXIT);
	add_catch(0, 3, 3);
	refused("r2 must be a number; it is nothing");
	begin();
	handler(8);
	put(HELP(RAISE_DIVISION), STORE_K(10, -8, 1), EXIT, LOAD(2, 10, -8), EXIT);
	add_catch(0, 3, 3);
	refused("the cell was not written on each way");
	begin();
	handler(8);
	put(MOV_K(6, 1), HELP(RAISE_DIVISION), EXIT, ADD_K(6, 1), EXIT);
	add_catch(0, 3, 3);
	accepted();
}

static void catches_lie_in_one_function(void)
{
	begin();
	handler(0);
	put(EXIT);
	function("v:", 0);
	put(EXIT);
	add_catch(0, 2, 0);
	refused("catch 0 is not inside one function");
	made.catches[0] = (struct script_catch){ 0, 1, 1 };
	refused("catch 0 is not inside one function");
	made.catches[0] = (struct script_catch){ 0, 0, 0 };
	refused("catch 0 has no instructions");
	made.catches[0] = (struct script_catch){ 0, 9, 0 };
	refused("catch 0 has no instructions");
	begin();
	handler(0);
	put(LOAD_64(0, 5), EXIT);
	add_catch(0, 3, 1);
	refused("a jump into a number of 64 bits");
}

static void tables_are_checked(void)
{
	uint8_t argument = SCRIPT_LONG;
	struct script_directive directive = { .conversion = 's', .width = -1, .precision = -1 };
	struct script_format format = { &directive, 1, 1, &argument };
	struct script_iteration iteration = { .array = 0, .sort_key = -1 };

	begin();
	handler(12)->needs = 0;
	put(EXIT);
	refused("a stack of 12 bytes");
	made.functions[0].stack = 4104;
	refused("a stack of 4104 bytes");
	made.functions[0].stack = 0;
	accepted();
	made.functions[0].needs = 1ull << STANDARD_N;
	refused("needs a cell that is not there");
	made.functions[0].needs = 0;
	made.functions[0].n_slots = 65;
	refused("too many slots");
	made.functions[0].n_slots = 1;
	refused("one that is no cell");
	made.functions[0].n_slots = 0;
	made.functions[0].end = 5;
	refused("has no instructions");
	made.functions[0].end = 1;
	made.functions[1] = made.functions[0];
	made.unit.n_functions = 2;
	refused("functions 0 and 1 share instruction 0");
	made.unit.n_functions = 1;
	made.unit.formats = &format;
	made.unit.n_formats = 1;
	refused("an argument does not fit %s");
	directive.conversion = 'd';
	accepted();
	directive.width = -2;
	refused("does not fit");
	directive.width = -1;
	directive.conversion = 'n';
	refused("unknown conversion");
	directive.conversion = 0;
	refused("an argument too many");
	made.unit.n_formats = 0;
	made.unit.iterations = &iteration;
	made.unit.n_iterations = 1;
	refused("array 0, which is not there");
	add_array("a", "l", SCRIPT_LONG);
	accepted();
	iteration.sort_key = 1;
	refused("sorted by no key");
	iteration.sort_key = 0;
	iteration.histogram = HIST_LOG;
	refused("a histogram that the array has not");
	iteration.histogram = HIST_NONE;
	made.arrays[0].keys[0] = SCRIPT_STATS;
	refused("array 0 has too many keys, or one that is no cell");
	made.arrays[0].n_keys = 10;
	refused("array 0 has too many keys");
	made.arrays[0].n_keys = 0;
	made.arrays[0].value = SCRIPT_NOTHING;
	refused("values of no type");
	made.unit.n_insns = 1 << 30;
	refused("instructions: at most");
}

static void what_functions_need_is_needed_by_their_handler(void)
{
	begin();
	handler(0);
	put(CALL(1), EXIT);
	function("v:", 0);
	put(CALL(2), EXIT);
	function("v:", 0);
	put(CALL(1), MOV_K(1, STANDARD_UID), HELP(STANDARD_LONG), EXIT);
	refused("handler 0 reads cell 5 of its event");
	made.functions[0].needs = 1u << STANDARD_UID;
	accepted();
}

int main(void)
{
	run(unknown_instructions_are_refused);
	run(ways_out_of_a_function_are_refused);
	run(registers_that_were_not_written_are_refused);
	run(kinds_are_not_mixed);
	run(accesses_out_of_bounds_are_refused);
	run(calls_fit_their_functions);
	run(passed_arguments_do_not_outlive_a_call);
	run(arguments_of_helpers_fit);
	run(keys_are_cells_of_their_types);
	run(a_catch_knows_no_results);
	run(catches_lie_in_one_function);
	run(tables_are_checked);
	run(what_functions_need_is_needed_by_their_handler);
	return test_status();
}
