/* SPDX-License-Identifier: MIT */
/*
 * random_unit.h - units made at random, mostly sound; half of them are then damaged in a few places.
 *
 * Whoever includes it defines draw(), the source of chance.
 */
#ifndef TESTS_SCRIPT_RANDOM_UNIT_H
#define TESTS_SCRIPT_RANDOM_UNIT_H

#include "both_engines.h"

enum { N_FUNCTIONS = 5 };
enum kind { UNSET, NUMBER, TEXT };

static uint64_t n_accepted;

/* A number below @below. */
static uint64_t draw(uint64_t below);

static bool one_in(uint64_t n)
{
	return !draw(n);
}

/* ---- functions ---- */

/* What the maker knows of the registers and the cells of the stack. */
static struct known {
	enum kind reg[10], cell[16];
} known;
static struct script_function_code *made_function;
/* A bold maker uses registers and cells that may hold nothing; mostly that is refused. */
static bool is_bold;

static int cell_offset(int cell)
{
	return -8 * (cell + 1);
}

static int some_reg(enum kind kind)
{
	int first = (int)draw(10), i;

	if (is_bold && one_in(30))
		return first;
	for (i = 0; i < 10; i++)
		if (known.reg[(first + i) % 10] == kind)
			return (first + i) % 10;
	return -1;
}

static int32_t some_number(void)
{
	static const int32_t numbers[] = { 0,	1,   -1,   2,	3,	 7,	    63,	      64,
					   127, 128, -128, 255, 1000000, INT32_MAX, INT32_MIN };

	return one_in(3) ? (int32_t)draw(10) : numbers[draw(sizeof numbers / sizeof *numbers)];
}

static void set_number(int reg)
{
	if (one_in(6))
		put(LOAD_64(reg, (uint64_t)some_number() << draw(33)));
	else
		put(MOV_K(reg, some_number()));
	known.reg[reg] = NUMBER;
}

static void set_text(int reg)
{
	put(LOAD_STRING(reg, (int32_t)draw(made.unit.n_strings)));
	known.reg[reg] = TEXT;
}

/* Register @reg gets something of @kind, from elsewhere if it can. */
static void set(int reg, enum kind kind)
{
	int from = some_reg(kind);

	if (from >= 0 && !one_in(3))
		put(MOV_X(reg, from));
	else if (kind == TEXT)
		set_text(reg);
	else
		set_number(reg);
	known.reg[reg] = kind;
}

static void put_alu(void)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
				       BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH };
	uint8_t op = ops[draw(sizeof ops)];
	int to = some_reg(NUMBER), from = some_reg(NUMBER);
	bool is_shift = op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH;
	int16_t is_signed = (op == BPF_DIV || op == BPF_MOD) && !one_in(3);

	if (to < 0)
		return;
	if (one_in(12))
		put(INSN(BPF_ALU64 | BPF_NEG, to, 0, 0, 0));
	else if (one_in(2))
		put(INSN(BPF_ALU64 | BPF_X | op, to, from, is_signed, 0));
	else
		put(INSN(BPF_ALU64 | BPF_K | op, to, 0, is_signed,
			 is_shift ? (int32_t)draw(64) : some_number()));
}

static void put_memory(void)
{
	int cell = (int)draw(made_function->stack / 8 - made_function->is_handler),
	    reg = (int)draw(10);

	switch (draw(5)) {
	case 0:
		if (known.reg[reg] != UNSET) {
			put(STORE(10, cell_offset(cell), reg));
			known.cell[cell] = known.reg[reg];
		}
		break;
	case 1:
		if (known.cell[cell] != UNSET || (is_bold && one_in(10))) {
			put(LOAD(reg, 10, cell_offset(cell)));
			known.reg[reg] = known.cell[cell];
		}
		break;
	case 2:
		put(STORE_K(10, cell_offset(cell), some_number()));
		known.cell[cell] = NUMBER;
		break;
	case 3:
		cell = (int)draw(3);
		put(LOAD_GLOBAL(reg, cell), LOAD(reg, reg, 0));
		known.reg[reg] = cell == 2 ? TEXT : NUMBER;
		break;
	default:
		cell = some_reg(NUMBER);
		if (cell < 0 || cell == reg)
			break;
		put(LOAD_GLOBAL(reg, (int32_t)draw(2)), STORE(reg, 0, cell));
		known.reg[reg] = UNSET;
	}
}

/* In a handler the frame is R1 at the beginning and kept in the cell furthest from the end. */
static void put_frame(void)
{
	static const struct {
		int cell;
		enum kind kind;
	} cells[] = { { STANDARD_PID, NUMBER },
		      { STANDARD_EXECNAME, TEXT },
		      { STANDARD_N, NUMBER },
		      { STANDARD_N + 1, TEXT },
		      { -1, NUMBER } };
	int reg = (int)draw(10), i = (int)draw(5);

	if (made_function->n_parameters > 5 && one_in(2)) {
		i = 5 + (int)draw(3);
		put(MOV_K(1, i),
		    HELP_N(i == 7 ? SCRIPT_HELPER_ARGUMENT_STRING : SCRIPT_HELPER_ARGUMENT_LONG));
		memset(&known.reg[1], 0, 5 * sizeof *known.reg);
		known.reg[0] = i == 7 ? TEXT : NUMBER;
		return;
	}
	if (!made_function->is_handler) {
		put(MOV_K(1, i & 1 ? STANDARD_PID : STANDARD_EXECNAME),
		    HELP_N(i & 1 ? SCRIPT_HELPER_STANDARD_LONG : SCRIPT_HELPER_STANDARD_STRING));
		memset(&known.reg[1], 0, 5 * sizeof *known.reg);
		known.reg[0] = i & 1 ? NUMBER : TEXT;
		return;
	}
	put(LOAD(reg, 10, -(int)made_function->stack), LOAD(reg, reg, 8 + 8 * cells[i].cell));
	known.reg[reg] = cells[i].kind;
}

static void put_cell(int cell, enum kind kind)
{
	int reg = some_reg(kind);

	if (reg < 0)
		set(reg = 9, kind);
	put(STORE(10, cell_offset(cell), reg));
	known.cell[cell] = kind;
}

static enum kind kind_of(uint8_t type)
{
	return type == SCRIPT_STRING ? TEXT : type == SCRIPT_LONG ? NUMBER : UNSET;
}

/* Cells of @types in ascending order, ending at the last cells of the stack but one. */
static void put_cells(int reg, const uint8_t *types, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		put_cell((int)(n - 1 - i), kind_of(types[i]));
	put(MOV_X(reg, 10), ADD_K(reg, -8 * (int32_t)n));
	known.reg[reg] = UNSET;
}

/* An array that @helper takes. */
static uint32_t some_array(uint32_t helper)
{
	static const uint32_t cells[] = { 0, 1, 2, 5 };

	switch (helper) {
	case SCRIPT_HELPER_ARRAY_GET:
	case SCRIPT_HELPER_ARRAY_SET:
		return cells[draw(4)];
	case SCRIPT_HELPER_ARRAY_ADD:
		return (uint32_t)draw(2);
	case SCRIPT_HELPER_STAT_ADD:
	case SCRIPT_HELPER_STAT_GET:
		return 3 + (uint32_t)draw(2);
	case SCRIPT_HELPER_STAT_BUCKET:
	case SCRIPT_HELPER_STAT_HISTOGRAM:
		return 4;
	default:
		return (uint32_t)draw(N_ARRAYS);
	}
}

static void put_arguments(uint32_t helper, const char *letters)
{
	const struct script_array_code *a = NULL;
	const struct script_format *f = NULL;
	const struct script_iteration *t = NULL;
	uint32_t row = some_array(helper), form = (uint32_t)draw(2), n;
	int reg, pass;

	/* Cells first: making them takes registers. */
	for (pass = 0; pass < 2; pass++) {
		if (pass)
			memset(&known.reg[1], 0, 5 * sizeof *known.reg);
		for (reg = 1; letters[reg - 1]; reg++)
			switch (letters[reg - 1]) {
			case 'a':
				a = &made.arrays[row];
				if (pass)
					put(MOV_K(reg, (int32_t)row));
				break;
			case 'f':
				f = &formats[form];
				if (pass)
					put(MOV_K(reg, (int32_t)form));
				break;
			case 't':
				t = &iterations[row % N_ITERATIONS];
				if (pass)
					put(MOV_K(reg, (int32_t)(row % N_ITERATIONS)));
				break;
			case 'k':
			case 'p':
			case 'x':
				if (letters[reg - 1] == 'x')
					a = &made.arrays[t->array];
				n = letters[reg - 1] == 'p' ? f->n_arguments : a->n_keys;
				if (!pass)
					put_cells(reg,
						  letters[reg - 1] == 'p' ? f->arguments : a->keys,
						  n);
				else
					put(MOV_X(reg, 10), ADD_K(reg, -8 * (int32_t)n));
				break;
			case 'i':
				if (pass)
					put(MOV_K(reg, helper == SCRIPT_HELPER_TABLE
							       ? 0
							       : (int32_t)draw(4)));
				break;
			case 'g':
				if (pass)
					put(MOV_K(reg, 2));
				break;
			case 'V':
				if (pass)
					set(reg, kind_of(a->value) == UNSET ? NUMBER
									    : kind_of(a->value));
				break;
			case 's':
			case 'l':
				if (pass)
					set(reg, letters[reg - 1] == 's' ? TEXT : NUMBER);
				break;
			}
	}
	known.reg[0] = a && a->value == SCRIPT_STRING ? TEXT : NUMBER; /* of V */
}

static uint32_t some_helper(const char **signature)
{
	const struct script_builtin *b;
	uint32_t number;

	for (;;) {
		number = (uint32_t)draw(SCRIPT_HELPERS_N + 20);
		if (number >= SCRIPT_HELPERS_N) {
			number = (uint32_t)draw(200);
			b = script_builtin_at(number);
			if (!b || b->is_site || b->standard >= 0 || is_unsteady(b) ||
			    (b->may_fail && !one_in(6)))
				continue;
			*signature = b->signature;
			return SCRIPT_HELPER_BUILTIN + number;
		}
		if (number == SCRIPT_HELPER_NONE || number == SCRIPT_HELPER_MATCH ||
		    number == SCRIPT_HELPER_RAISE_FAULT ||
		    (number >= SCRIPT_HELPER_STANDARD_LONG &&
		     number <= SCRIPT_HELPER_PASS_STRING) ||
		    (!script_helper_returns(number) && !one_in(12)) ||
		    (number >= SCRIPT_HELPER_ITER_KEY_LONG &&
		     number <= SCRIPT_HELPER_ITER_VALUE_STRING && !one_in(6)))
			continue;
		*signature = script_helper_table[number].signature;
		return number;
	}
}

static void put_help(void)
{
	const char *signature;
	uint32_t number = some_helper(&signature);

	put_arguments(number, signature + 2);
	put(HELP_N((int32_t)number));
	memset(&known.reg[1], 0, 5 * sizeof *known.reg);
	if (*signature != 'V')
		known.reg[0] = *signature == 's' ? TEXT : *signature == 'l' ? NUMBER : UNSET;
}

static const char *const signatures[N_FUNCTIONS] = { NULL, NULL, "l:l", "s:sl", "l:llllllls" };

static void put_call(void)
{
	uint32_t f = 2 + (uint32_t)draw(3);
	const char *letters = signatures[f] + 2;
	uint32_t i, n = (uint32_t)strlen(letters);

	for (i = 5; i < n; i++) {
		set(2, letters[i] == 's' ? TEXT : NUMBER);
		put(MOV_K(1, (int32_t)i), HELP_N(letters[i] == 's' ? SCRIPT_HELPER_PASS_STRING
								   : SCRIPT_HELPER_PASS_LONG));
		memset(known.reg, 0, 6 * sizeof *known.reg);
	}
	for (i = 0; i < 5 && i < n; i++)
		set((int)i + 1, letters[i] == 's' ? TEXT : NUMBER);
	put(CALL((int32_t)f));
	memset(&known.reg[1], 0, 5 * sizeof *known.reg);
	known.reg[0] = *signatures[f] == 's' ? TEXT : NUMBER;
}

static void put_exit(void)
{
	uint8_t type = made_function->type;

	if (!made_function->is_handler)
		set(0, type == SCRIPT_STRING ? TEXT : NUMBER);
	put(EXIT);
}

static void join(const struct known *other)
{
	int i;

	for (i = 0; i < 10; i++)
		if (known.reg[i] != other->reg[i])
			known.reg[i] = UNSET;
	for (i = 0; i < 16; i++)
		if (known.cell[i] != other->cell[i])
			known.cell[i] = UNSET;
}

static void put_block(int depth);

/* A comparison, whose offset is set when the way over is known. */
static uint32_t put_compare(void)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };
	uint8_t op = ops[draw(sizeof ops)];
	int a, b;

	if (some_reg(NUMBER) < 0)
		set_number((int)draw(10));
	a = some_reg(NUMBER), b = some_reg(NUMBER);
	if (one_in(2))
		put(JUMP_X(op, a, b, 0));
	else
		put(JUMP_K(op, a, some_number(), 0));
	return made.unit.n_insns - 1;
}

static void land(uint32_t jump)
{
	made.insns[jump].off = (int16_t)(made.unit.n_insns - jump - 1);
}

static void put_if(int depth)
{
	uint32_t jump = put_compare(), over;
	struct known before = known, then;

	put_block(depth + 1);
	if (one_in(2)) {
		land(jump);
		join(&before);
		return;
	}
	put(JUMP(0));
	over = made.unit.n_insns - 1;
	land(jump);
	then = known;
	known = before;
	put_block(depth + 1);
	land(over);
	join(&then);
}

static void put_loop(int depth)
{
	uint32_t top = made.unit.n_insns, jump;

	/* What the loop takes away, or makes something else, is not there at its top. */
	known = (struct known){ 0 };
	put_block(depth + 1);
	jump = put_compare();
	made.insns[jump].off = (int16_t)((int32_t)top - (int32_t)jump - 1);
}

static void put_try(int depth)
{
	uint32_t top = made.unit.n_insns, over;
	struct known after;

	put(MOV_K(9, 0));
	known.reg[9] = NUMBER;
	put_block(depth + 1);
	put(JUMP(0));
	over = made.unit.n_insns - 1;
	if (made.unit.n_catches < MAKE_ROWS)
		add_catch(top, over, made.unit.n_insns);
	after = known;
	known = (struct known){ 0 };
	put_block(depth + 1);
	land(over);
	join(&after);
}

static void put_some(int depth)
{
	switch (draw(12)) {
	case 0:
		if (depth < 3)
			put_if(depth);
		break;
	case 1:
		if (depth < 3 && one_in(2))
			put_loop(depth);
		break;
	case 2:
		if (depth < 3)
			put_try(depth);
		break;
	case 3:
		put_frame();
		break;
	case 4:
	case 5:
		put_memory();
		break;
	case 6:
	case 7:
	case 8:
		put_help();
		break;
	case 9:
		put_call();
		break;
	case 10:
		set((int)draw(10), one_in(2) ? TEXT : NUMBER);
		break;
	default:
		put_alu();
	}
}

static void put_block(int depth)
{
	int n = 1 + (int)draw(depth ? 6 : 14);

	while (n-- && made.unit.n_insns < MAKE_INSNS - 600)
		put_some(depth);
}

static void make_function(uint32_t i)
{
	uint32_t k;

	known = (struct known){ 0 };
	if (i < 2) {
		made_function = handler(8 * (4 + (uint32_t)draw(12)));
		made_function->needs = 1u << STANDARD_PID | 1u << STANDARD_EXECNAME;
		add_types(made_function->slots, &made_function->n_slots, "ls");
		put(STORE(10, -(int)made_function->stack, 1));
	} else {
		made_function = function(signatures[i], 8 * (4 + (uint32_t)draw(12)));
		for (k = 0; k < 5 && k < made_function->n_parameters; k++)
			known.reg[k + 1] = kind_of(made_function->parameters[k]);
	}
	put_block(0);
	put_exit();
}

static void damage(void)
{
	struct bpf_insn *i = &made.insns[draw(made.unit.n_insns)];

	switch (draw(9)) {
	case 0:
		i->dst_reg = draw(11) & 15;
		break;
	case 1:
		i->src_reg = draw(11) & 15;
		break;
	case 2:
		i->off = (int16_t)(i->off + (int)draw(17) - 8);
		break;
	case 3:
		i->imm = (int32_t)((uint32_t)i->imm + (uint32_t)draw(5) - 2);
		break;
	case 4:
		i->imm = some_number();
		break;
	case 5:
		i->code = (uint8_t)draw(256);
		break;
	case 6:
		*i = made.insns[draw(made.unit.n_insns)];
		break;
	case 7:
		if (made.unit.n_catches)
			made.catches[draw(made.unit.n_catches)].target =
				(uint32_t)draw(made.unit.n_insns);
		break;
	default:
		made.functions[draw(N_FUNCTIONS)].stack = 8 * (uint32_t)draw(20);
	}
}

/* A unit is made; false: it is accepted, and the engines do not agree. */
static bool round_is_good(void)
{
	uint64_t n;
	uint32_t i;

	make_tables();
	is_bold = one_in(4);
	for (i = 0; i < N_FUNCTIONS; i++)
		make_function(i);
	for (n = one_in(2) ? 1 + draw(3) : 0; n--;)
		damage();
	if (!is_steady() || script_verify(&made.unit, &made.d))
		return true;
	n_accepted++;
	return runs_the_same();
}

#endif
