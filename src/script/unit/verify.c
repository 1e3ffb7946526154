/* SPDX-License-Identifier: MIT */
/*
 * unit/verify.c - a unit is checked: its tables, and the form of its instructions.
 *
 * What is checked here holds for every instruction, reached or not, as the translation to native
 * code looks at all of them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/unit/verify.h"

int verify_fail(const struct verify *v, const char *format, ...)
{
	char reason[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	return diag_fail(v->d, -EINVAL, "byte code, instruction %u: %s", v->insn, reason);
}

#define REFUSE(v, ...) diag_fail((v)->d, -EINVAL, "byte code: " __VA_ARGS__)

static bool is_cell_type(uint8_t type)
{
	return type == SCRIPT_LONG || type == SCRIPT_STRING;
}

static bool are_cell_types(const uint8_t *types, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!is_cell_type(types[i]))
			return false;
	return true;
}

/* ---- tables ---- */

static int check_counts(struct verify *v)
{
	const struct script_unit *u = v->u;

	if (u->n_insns > VERIFY_INSNS_MOST)
		return REFUSE(v, "%u instructions: at most %d", u->n_insns, VERIFY_INSNS_MOST);
	if (u->n_functions > VERIFY_FUNCTIONS_MOST)
		return REFUSE(v, "%u functions: at most %d", u->n_functions, VERIFY_FUNCTIONS_MOST);
	if ((u->n_insns && !u->insns) || (u->n_functions && !u->functions) ||
	    (u->n_catches && !u->catches) || (u->n_lines && !u->lines) ||
	    (u->n_strings && !u->strings) || (u->n_globals && !u->globals) ||
	    (u->n_arrays && !u->arrays) || (u->n_formats && !u->formats) ||
	    (u->n_iterations && !u->iterations) || (u->n_regexes && !u->regexes) ||
	    (u->n_columns && !u->columns))
		return REFUSE(v, "a table is not there");
	if (u->n_strings > VERIFY_CONSTANT_MOST || u->n_globals > VERIFY_CONSTANT_MOST ||
	    u->n_arrays > VERIFY_CONSTANT_MOST || u->n_formats > VERIFY_CONSTANT_MOST ||
	    u->n_iterations > VERIFY_CONSTANT_MOST || u->n_regexes > VERIFY_CONSTANT_MOST ||
	    u->n_columns > VERIFY_CONSTANT_MOST)
		return REFUSE(v, "a table has too many rows");
	return 0;
}

static int check_globals(struct verify *v)
{
	uint32_t i;

	for (i = 0; i < v->u->n_globals; i++)
		if (!v->u->globals[i].name || !is_cell_type(v->u->globals[i].type))
			return REFUSE(v, "global %u has no name, or no type of a cell", i);
	for (i = 0; i < v->u->n_strings; i++)
		if (!v->u->strings[i])
			return REFUSE(v, "string %u is not there", i);
	for (i = 0; i < v->u->n_regexes; i++)
		if (!v->u->regexes[i])
			return REFUSE(v, "regular expression %u is not there", i);
	for (i = 0; i < v->u->n_columns; i++)
		if (!v->u->columns[i])
			return REFUSE(v, "column text %u is not there", i);
	return 0;
}

static int check_array(struct verify *v, uint32_t i)
{
	const struct script_array_code *a = &v->u->arrays[i];

	if (!a->name)
		return REFUSE(v, "array %u has no name", i);
	if (a->n_keys > SCRIPT_KEYS_MAX || !are_cell_types(a->keys, a->n_keys))
		return REFUSE(v, "array %u has too many keys, or one that is no cell", i);
	if (!is_cell_type(a->value) && a->value != SCRIPT_STATS)
		return REFUSE(v, "array %u has values of no type", i);
	if (a->histogram > HIST_LINEAR || (a->histogram && a->value != SCRIPT_STATS))
		return REFUSE(v, "array %u has a histogram of no kind", i);
	if (a->histogram == HIST_LINEAR && (a->width <= 0 || a->low >= a->high))
		return REFUSE(v, "array %u has a histogram without buckets", i);
	return 0;
}

static int check_iteration(struct verify *v, uint32_t i)
{
	const struct script_iteration *t = &v->u->iterations[i];
	const struct script_array_code *a;

	if (t->array >= v->u->n_arrays)
		return REFUSE(v, "iteration %u goes over array %u, which is not there", i,
			      t->array);
	a = &v->u->arrays[t->array];
	if (t->sort < -1 || t->sort > 1 || t->sort_key < -1 ||
	    (t->sort_key >= 0 && (uint32_t)t->sort_key >= a->n_keys))
		return REFUSE(v, "iteration %u is sorted by no key", i);
	if (t->statistic > STATISTIC_QUANTILE)
		return REFUSE(v, "iteration %u uses an unknown statistic", i);
	if (t->histogram && (a->value != SCRIPT_STATS || t->histogram != a->histogram))
		return REFUSE(v, "iteration %u goes over a histogram that the array has not", i);
	return 0;
}

static enum script_type conversion_type(char c)
{
	if (c == 's')
		return SCRIPT_STRING;
	return c && strchr("duxXocpbmM", c) ? SCRIPT_LONG : SCRIPT_UNKNOWN;
}

/* The arguments of a format must be what its directives take, in order. */
static int check_format(struct verify *v, uint32_t i)
{
	const struct script_format *f = &v->u->formats[i];
	const struct script_directive *d;
	uint32_t n = 0, k;

	if ((f->n && !f->directives) || (f->n_arguments && !f->arguments))
		return REFUSE(v, "format %u has no table", i);
	for (d = f->directives; d < f->directives + f->n; d++) {
		if (!d->before && d->before_size)
			return REFUSE(v, "format %u has no text", i);
		for (k = (d->width == -2) + (d->precision == -2); k--; n++)
			if (n >= f->n_arguments || f->arguments[n] != SCRIPT_LONG)
				return REFUSE(v, "format %u: the argument of a star is no number",
					      i);
		if (!d->conversion)
			continue;
		if (conversion_type(d->conversion) == SCRIPT_UNKNOWN)
			return REFUSE(v, "format %u has an unknown conversion", i);
		if (n >= f->n_arguments || f->arguments[n++] != conversion_type(d->conversion))
			return REFUSE(v, "format %u: an argument does not fit %%%c", i,
				      d->conversion);
		if (d->conversion == 'b' && d->size != 1 && d->size != 2 && d->size != 4 &&
		    d->size != 8)
			return REFUSE(v, "format %u: %%b of %u bytes", i, d->size);
	}
	return n == f->n_arguments ? 0 : REFUSE(v, "format %u has an argument too many", i);
}

static int check_function(struct verify *v, uint32_t i)
{
	const struct script_function_code *f = &v->u->functions[i];
	uint32_t n;

	if (f->entry >= f->end || f->end > v->u->n_insns)
		return REFUSE(v, "function %u has no instructions", i);
	if (f->stack > SCRIPT_STACK_MAX || f->stack % 8)
		return REFUSE(v, "function %u has a stack of %u bytes", i, f->stack);
	if (f->n_parameters > (f->is_handler ? 0 : SCRIPT_PARAMETERS_MAX) ||
	    (f->n_parameters && !f->parameters) || !are_cell_types(f->parameters, f->n_parameters))
		return REFUSE(v, "function %u has too many parameters, or one that is no cell", i);
	if (f->type > SCRIPT_NOTHING || f->type == SCRIPT_STATS)
		return REFUSE(v, "function %u has a result that is no cell", i);
	if (f->n_slots > (f->is_handler ? SCRIPT_SLOTS_MAX : 0) || (f->n_slots && !f->slots) ||
	    !are_cell_types(f->slots, f->n_slots))
		return REFUSE(v, "function %u has too many slots, or one that is no cell", i);
	if (f->needs >> STANDARD_N)
		return REFUSE(v, "function %u needs a cell that is not there", i);
	for (n = f->entry; n < f->end; n++) {
		if (v->owner[n])
			return REFUSE(v, "functions %u and %u share instruction %u",
				      v->owner[n] - 1, i, n);
		v->owner[n] = i + 1;
	}
	return 0;
}

static int check_each(struct verify *v, uint32_t n, int (*check)(struct verify *v, uint32_t i))
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = check(v, i);
	return err;
}

/* ---- the form of instructions ---- */

static int check_alu(struct verify *v, const struct bpf_insn *i)
{
	uint8_t op = BPF_OP(i->code);
	bool is_register = BPF_SRC(i->code) == BPF_X, is_division = op == BPF_DIV || op == BPF_MOD;

	if (op > BPF_ARSH)
		return verify_fail(v, "unknown operation %#x", i->code);
	if (op == BPF_NEG && (is_register || i->imm))
		return verify_fail(v, "a negation with an operand");
	if (i->off != 0 && !(is_division && i->off == 1))
		return verify_fail(v, "an operation with offset %d", i->off);
	if (is_register ? i->imm != 0 : i->src_reg != 0)
		return verify_fail(v, "an operation with two operands");
	if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && !is_register &&
	    (i->imm < 0 || i->imm > 63))
		return verify_fail(v, "a shift by %d", i->imm);
	return 0;
}

static int check_load(struct verify *v, const struct bpf_insn *i)
{
	uint32_t rows = i->src_reg == SCRIPT_LD_STRING ? v->u->n_strings : v->u->n_globals;

	if (i->off || v->insn + 1 >= v->f->end || i[1].code || i[1].dst_reg || i[1].src_reg ||
	    i[1].off)
		return verify_fail(v, "half a number of 64 bits");
	if (i->src_reg > SCRIPT_LD_GLOBAL)
		return verify_fail(v, "a load of kind %d", i->src_reg);
	if (i->src_reg != SCRIPT_LD_NUMBER && ((uint32_t)i->imm >= rows || i[1].imm))
		return verify_fail(v, "%s %u is not there",
				   i->src_reg == SCRIPT_LD_STRING ? "string" : "global",
				   (uint32_t)i->imm);
	v->marks[v->insn + 1] |= MARK_SECOND;
	return 0;
}

static int check_memory(struct verify *v, const struct bpf_insn *i)
{
	uint8_t class = BPF_CLASS(i->code);

	if (BPF_MODE(i->code) != BPF_MEM || BPF_SIZE(i->code) != BPF_DW)
		return verify_fail(v, "an access that is not of 8 bytes (%#x)", i->code);
	if (class == BPF_ST ? i->src_reg != 0 : i->imm != 0)
		return verify_fail(v, "an access with two operands");
	return 0;
}

static int check_call(struct verify *v, const struct bpf_insn *i)
{
	uint64_t needs;
	bool may_fail;

	if (i->dst_reg || i->off || i->src_reg > BPF_PSEUDO_CALL || BPF_SRC(i->code) != BPF_K)
		return verify_fail(v, "a call of an unknown kind");
	if (i->src_reg != BPF_PSEUDO_CALL)
		return verify_help_signature((uint32_t)i->imm, &may_fail, &needs)
			       ? 0
			       : verify_fail(v, "no helper has number %d", i->imm);
	if ((uint32_t)i->imm >= v->u->n_functions || v->u->functions[i->imm].is_handler)
		return verify_fail(v, "no function has number %d", i->imm);
	return 0;
}

static int check_target(struct verify *v, int64_t target)
{
	if (target < v->f->entry || target >= v->f->end)
		return verify_fail(v, "a jump out of the function, to %lld", (long long)target);
	v->marks[target] |= MARK_TARGET;
	return 0;
}

static int check_jump(struct verify *v, const struct bpf_insn *i)
{
	bool is_long = BPF_CLASS(i->code) == BPF_JMP32, is_register = BPF_SRC(i->code) == BPF_X;
	uint8_t op = BPF_OP(i->code);

	if (op == BPF_CALL)
		return is_long ? verify_fail(v, "unknown operation %#x", i->code)
			       : check_call(v, i);
	if (op == BPF_EXIT)
		return is_long || is_register || i->dst_reg || i->src_reg || i->off || i->imm
			       ? verify_fail(v, "an exit with operands")
			       : 0;
	if (op == BPF_JA) {
		if (is_register || i->dst_reg || i->src_reg || (is_long ? i->off : i->imm))
			return verify_fail(v, "a jump with operands");
		return check_target(v, (int64_t)v->insn + 1 + (is_long ? i->imm : i->off));
	}
	if (is_long || op > BPF_JSLE)
		return verify_fail(v, "unknown operation %#x", i->code);
	if (is_register ? i->imm != 0 : i->src_reg != 0)
		return verify_fail(v, "a comparison with three operands");
	return check_target(v, (int64_t)v->insn + 1 + i->off);
}

static int check_insn(struct verify *v, const struct bpf_insn *i)
{
	uint8_t class = BPF_CLASS(i->code);
	bool is_write = class == BPF_ALU64 || class == BPF_LDX || class == BPF_LD;

	if (i->dst_reg > 10 || i->src_reg > 10 || (i->dst_reg == 10 && is_write))
		return verify_fail(v, "register %d cannot be %s",
				   i->dst_reg > 10 || is_write ? i->dst_reg : i->src_reg,
				   is_write ? "written" : "used");
	switch (class) {
	case BPF_ALU64:
		return check_alu(v, i);
	case BPF_LD:
		return i->code == (BPF_LD | BPF_IMM | BPF_DW)
			       ? check_load(v, i)
			       : verify_fail(v, "unknown operation %#x", i->code);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return check_memory(v, i);
	case BPF_JMP:
	case BPF_JMP32:
		return check_jump(v, i);
	default:
		return verify_fail(v, "unknown operation %#x", i->code);
	}
}

/* The end is no way out. */
static int check_last(struct verify *v, uint32_t last)
{
	const struct bpf_insn *i = &v->u->insns[last];
	uint8_t class = BPF_CLASS(i->code), op = BPF_OP(i->code);
	bool is_jump = (class == BPF_JMP || class == BPF_JMP32) && op == BPF_JA;

	v->insn = last;
	if ((v->marks[last] & MARK_SECOND) || !(is_jump || (class == BPF_JMP && op == BPF_EXIT)))
		return verify_fail(v, "the function goes on behind its end");
	return 0;
}

static int check_insns(struct verify *v, uint32_t function)
{
	const struct script_function_code *f = &v->u->functions[function];
	int err = 0;

	v->f = f;
	v->marks[f->entry] |= MARK_TARGET;
	for (v->insn = f->entry; v->insn < f->end && !err; v->insn++) {
		err = check_insn(v, &v->u->insns[v->insn]);
		if (!err && BPF_CLASS(v->u->insns[v->insn].code) == BPF_LD)
			v->insn++;
	}
	return err ? err : check_last(v, f->end - 1);
}

static int check_catch(struct verify *v, uint32_t n)
{
	const struct script_catch *c = &v->u->catches[n];
	uint32_t owner;

	if (c->begin >= c->end || c->end > v->u->n_insns || c->target >= v->u->n_insns)
		return REFUSE(v, "catch %u has no instructions", n);
	owner = v->owner[c->begin];
	if (!owner || v->owner[c->end - 1] != owner || v->owner[c->target] != owner)
		return REFUSE(v, "catch %u is not inside one function", n);
	v->marks[c->target] |= MARK_TARGET;
	return 0;
}

/* After all jumps are known. */
static int check_targets(struct verify *v)
{
	uint32_t n;

	for (n = 0; n < v->u->n_insns; n++)
		if ((v->marks[n] & (MARK_TARGET | MARK_SECOND)) == (MARK_TARGET | MARK_SECOND)) {
			v->insn = n;
			return verify_fail(v, "a jump into a number of 64 bits");
		}
	return 0;
}

/* ---- what handlers need ---- */

/* Adds what the called functions need.  Returns whether that was something new. */
static bool add_needs(struct verify *v, uint32_t function)
{
	const struct script_function_code *f = &v->u->functions[function];
	uint64_t before = v->needs[function];
	const struct bpf_insn *i;

	for (i = &v->u->insns[f->entry]; i < &v->u->insns[f->end]; i++)
		if (i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_CALL)
			v->needs[function] |= v->needs[i->imm];
	return v->needs[function] != before;
}

static int check_needs(struct verify *v)
{
	bool is_new = true;
	uint64_t missing;
	uint32_t n;

	while (is_new) {
		is_new = false;
		for (n = v->u->n_functions; n--;)
			is_new |= add_needs(v, n);
	}
	for (n = 0; n < v->u->n_functions; n++) {
		missing = v->needs[n] & ~v->u->functions[n].needs;
		if (v->u->functions[n].is_handler && missing)
			return REFUSE(v,
				      "handler %u reads cell %d of its event, which it does not "
				      "list as needed",
				      n, __builtin_ctzll(missing));
	}
	return 0;
}

static int verify(struct verify *v)
{
	const struct script_unit *u = v->u;
	uint32_t i;
	int err;

	v->owner = calloc(u->n_insns + 1u, sizeof *v->owner);
	v->marks = calloc(u->n_insns + 1u, 1);
	v->needs = calloc(u->n_functions + 1u, sizeof *v->needs);
	if (!v->owner || !v->marks || !v->needs)
		return diag_fail(v->d, -ENOMEM, "no memory to verify a script");
	err = check_globals(v);
	if (!err)
		err = check_each(v, u->n_arrays, check_array);
	if (!err)
		err = check_each(v, u->n_iterations, check_iteration);
	if (!err)
		err = check_each(v, u->n_formats, check_format);
	if (!err)
		err = check_each(v, u->n_functions, check_function);
	if (!err)
		err = check_each(v, u->n_functions, check_insns);
	if (!err)
		err = check_each(v, u->n_catches, check_catch);
	if (!err)
		err = check_targets(v);
	for (i = 0; i < u->n_functions && !err; i++) {
		v->f = &u->functions[i];
		err = verify_flow(v);
	}
	return err ? err : check_needs(v);
}

int script_verify(const struct script_unit *unit, struct diag *d)
{
	struct verify v = { .u = unit, .d = d };
	int err = check_counts(&v);

	if (!err)
		err = verify(&v);
	free(v.owner);
	free(v.marks);
	free(v.needs);
	return err;
}
