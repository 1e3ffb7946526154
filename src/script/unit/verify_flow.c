/* SPDX-License-Identifier: MIT */
/*
 * unit/verify_flow.c - what each instruction of a function does with values, on every way.
 *
 * The function is run over what is known of values instead of over values (abstract interpretation,
 * Cousot and Cousot 1977).  Where ways meet, what they do not agree about becomes unset; so what is
 * known there only shrinks, and the run ends.  States are kept at targets of jumps and catches only.
 *
 * An instruction that may fail has a way to its catch: R0 to R5 are unset there, all else is as
 * before it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "script/unit/verify.h"

struct flow {
	struct verify *v;
	const struct script_function_code *f;
	const struct bpf_insn *insns;
	uint32_t *state_of; /* of each instruction of the function: its state, if it is a target */
	struct verify_value *states;
	uint32_t n_states;
	bool is_dirty; /* a state behind the walk has changed */
};

static const struct verify_value unset = { KIND_UNSET, 0 }, number = { KIND_NUMBER, 0 };

static struct verify_value *state_at(const struct flow *w, uint32_t insn)
{
	return &w->states[(size_t)w->state_of[insn - w->f->entry] * w->v->n_values];
}

static struct verify_value join(struct verify_value a, struct verify_value b)
{
	if (a.kind == b.kind && a.value == b.value)
		return a;
	return verify_is_number(a) && verify_is_number(b) ? number : unset;
}

/* The state @from comes to target @insn. */
static void arrive(struct flow *w, uint32_t insn, const struct verify_value *from)
{
	struct verify_value *to = state_at(w, insn), joined;
	uint8_t *mark = &w->v->marks[insn];
	uint32_t i;

	if (!(*mark & MARK_SEEN)) {
		*mark |= MARK_SEEN | MARK_DIRTY;
		memcpy(to, from, w->v->n_values * sizeof *to);
		w->is_dirty = true;
		return;
	}
	for (i = 0; i < w->v->n_values; i++) {
		joined = join(to[i], from[i]);
		if (joined.kind == to[i].kind && joined.value == to[i].value)
			continue;
		to[i] = joined;
		*mark |= MARK_DIRTY;
		w->is_dirty = true;
	}
}

static int arrive_at_catch(struct flow *w)
{
	const struct script_unit *u = w->v->u;
	struct verify_value *state;
	uint32_t i, n = w->v->insn;

	for (i = 0; i < u->n_catches; i++)
		if (n >= u->catches[i].begin && n < u->catches[i].end)
			break;
	if (i == u->n_catches)
		return 0;
	state = malloc(w->v->n_values * sizeof *state);
	if (!state)
		return diag_fail(w->v->d, -ENOMEM, "no memory to verify a script");
	memcpy(state, w->v->now, w->v->n_values * sizeof *state);
	memset(state, 0, 6 * sizeof *state);
	memset(state + VERIFY_REGISTERS + w->v->n_stack, 0, w->v->n_pass * sizeof *state);
	arrive(w, u->catches[i].target, state);
	free(state);
	return 0;
}

/* ---- single instructions ---- */

static struct verify_value constant(int64_t value)
{
	if (value < 0 || value >= VERIFY_CONSTANT_MOST)
		return number;
	return (struct verify_value){ KIND_CONSTANT, (uint32_t)value };
}

static int expect_number(const struct flow *w, int reg)
{
	struct verify_value value = w->v->now[reg];

	if (verify_is_number(value))
		return 0;
	return verify_fail(w->v, "r%d must be a number; it is %s", reg, verify_kind_text(value));
}

static int move_stack(struct flow *w, const struct bpf_insn *i)
{
	struct verify_value *to = &w->v->now[i->dst_reg];
	int64_t by = BPF_OP(i->code) == BPF_ADD ? -(int64_t)i->imm : i->imm, at = to->value + by;

	if (at < 0 || at > w->f->stack || at % 8)
		return verify_fail(w->v, "an address leaves the stack, or is not aligned");
	to->value = (uint32_t)at;
	return 0;
}

static int do_alu(struct flow *w, const struct bpf_insn *i)
{
	struct verify_value *now = w->v->now;
	uint8_t op = BPF_OP(i->code);
	bool is_register = BPF_SRC(i->code) == BPF_X;
	int err;

	if (op == BPF_MOV) {
		if (is_register && now[i->src_reg].kind == KIND_UNSET)
			return verify_fail(w->v, "r%d was not written on each way", i->src_reg);
		now[i->dst_reg] = is_register ? now[i->src_reg] : constant(i->imm);
		return 0;
	}
	if (now[i->dst_reg].kind == KIND_STACK && !is_register && (op == BPF_ADD || op == BPF_SUB))
		return move_stack(w, i);
	err = expect_number(w, i->dst_reg);
	if (!err && is_register)
		err = expect_number(w, i->src_reg);
	now[i->dst_reg] = number;
	return err;
}

static int do_load_imm(struct flow *w, const struct bpf_insn *i)
{
	struct verify_value *to = &w->v->now[i->dst_reg];

	if (i->src_reg == SCRIPT_LD_STRING)
		*to = (struct verify_value){ KIND_STRING, 0 };
	else if (i->src_reg == SCRIPT_LD_GLOBAL)
		*to = (struct verify_value){ KIND_GLOBAL, (uint32_t)i->imm };
	else
		*to = i[1].imm ? number : constant((uint32_t)i->imm);
	return 0;
}

/* The cell of the stack at @off from register @reg. */
static int stack_cell(const struct flow *w, int reg, int off, struct verify_value **cell)
{
	int64_t below = (int64_t)w->v->now[reg].value - off;

	if (below < 8 || below > w->f->stack || below % 8)
		return verify_fail(w->v, "an access leaves the stack, or is not aligned");
	*cell = &w->v->now[VERIFY_REGISTERS + below / 8 - 1];
	return 0;
}

static int frame_cell(const struct flow *w, int off, struct verify_value *value)
{
	uint32_t first = offsetof(struct script_frame, standard), cell;

	if (off < 0 || off % 8)
		return verify_fail(w->v, "an access leaves the frame, or is not aligned");
	*value = number;
	if (off == offsetof(struct script_frame, faults))
		return 0;
	cell = ((uint32_t)off - first) / 8;
	if (cell < STANDARD_N) {
		if (!(w->f->needs >> cell & 1))
			return verify_fail(w->v,
					   "cell %u of the event is read, and not listed as "
					   "needed",
					   cell);
		*value = verify_of(script_standard_type(cell));
		return 0;
	}
	if (cell - STANDARD_N >= w->f->n_slots)
		return verify_fail(w->v, "slot %u is not there", cell - STANDARD_N);
	*value = verify_of(w->f->slots[cell - STANDARD_N]);
	return 0;
}

static int do_load(struct flow *w, const struct bpf_insn *i)
{
	struct verify_value *now = w->v->now, from = now[i->src_reg], value = unset, *cell;
	int err = 0;

	switch (from.kind) {
	case KIND_STACK:
		err = stack_cell(w, i->src_reg, i->off, &cell);
		value = err ? unset : *cell;
		break;
	case KIND_FRAME:
		err = frame_cell(w, i->off, &value);
		break;
	case KIND_GLOBAL:
		if (i->off)
			return verify_fail(w->v, "an access leaves a global");
		value = verify_of(w->v->u->globals[from.value].type);
		break;
	default:
		return verify_fail(w->v, "r%d must be an address; it is %s", i->src_reg,
				   verify_kind_text(from));
	}
	if (!err && value.kind == KIND_UNSET)
		return verify_fail(w->v, "the cell was not written on each way");
	now[i->dst_reg] = value;
	return err;
}

static int do_store(struct flow *w, const struct bpf_insn *i)
{
	bool is_register = BPF_CLASS(i->code) == BPF_STX;
	struct verify_value *now = w->v->now, to = now[i->dst_reg], *cell;
	struct verify_value value = is_register ? now[i->src_reg] : constant(i->imm);
	int err;

	if (value.kind == KIND_UNSET)
		return verify_fail(w->v, "r%d was not written on each way", i->src_reg);
	if (to.kind == KIND_STACK) {
		err = stack_cell(w, i->dst_reg, i->off, &cell);
		if (!err)
			*cell = value;
		return err;
	}
	if (to.kind != KIND_GLOBAL)
		return verify_fail(w->v, "nothing can be stored there: r%d is %s", i->dst_reg,
				   verify_kind_text(to));
	if (i->off)
		return verify_fail(w->v, "an access leaves a global");
	if (w->v->u->globals[to.value].type != SCRIPT_LONG || !verify_is_number(value))
		return verify_fail(w->v, "only a number is stored in a global that is a number");
	return 0;
}

static int call_function(struct flow *w, uint32_t function)
{
	const struct script_function_code *f = &w->v->u->functions[function];
	struct verify_value *now = w->v->now, *pass = now + VERIFY_REGISTERS + w->v->n_stack, value;
	uint32_t i;

	for (i = 0; i < f->n_parameters; i++) {
		value = i < 5 ? now[1 + i] : w->v->n_pass ? pass[i - 5] : unset;
		if (!verify_is(value, f->parameters[i]))
			return verify_fail(w->v, "argument %u of function %u must be %s; it is %s",
					   i, function, verify_type_text(f->parameters[i]),
					   verify_kind_text(value));
	}
	memset(&now[1], 0, 5 * sizeof *now);
	memset(pass, 0, w->v->n_pass * sizeof *pass);
	now[0] = verify_of(f->type);
	return 0;
}

static int do_call(struct flow *w, const struct bpf_insn *i)
{
	bool is_function = i->src_reg == BPF_PSEUDO_CALL, may_fail = true;
	uint64_t needs;
	int err = 0;

	if (!is_function)
		verify_help_signature((uint32_t)i->imm, &may_fail, &needs);
	if (may_fail)
		err = arrive_at_catch(w);
	if (err)
		return err;
	return is_function ? call_function(w, (uint32_t)i->imm)
			   : verify_help(w->v, (uint32_t)i->imm);
}

static int do_exit(struct flow *w)
{
	enum script_type type = w->f->is_handler ? SCRIPT_NOTHING : w->f->type;

	if ((type == SCRIPT_LONG || type == SCRIPT_STRING) && !verify_is(w->v->now[0], type))
		return verify_fail(w->v, "the function's result must be %s; it is %s",
				   verify_type_text(type), verify_kind_text(w->v->now[0]));
	return 0;
}

static int do_jump(struct flow *w, const struct bpf_insn *i)
{
	bool is_always = BPF_OP(i->code) == BPF_JA;
	int64_t off = BPF_CLASS(i->code) == BPF_JMP32 ? i->imm : i->off;
	int err = 0;

	if (!is_always)
		err = expect_number(w, i->dst_reg);
	if (!err && !is_always && BPF_SRC(i->code) == BPF_X)
		err = expect_number(w, i->src_reg);
	if (!err)
		arrive(w, (uint32_t)((int64_t)w->v->insn + 1 + off), w->v->now);
	return err;
}

/* @ends: the next instruction is not reached from here. */
static int step(struct flow *w, const struct bpf_insn *i, bool *ends)
{
	uint8_t op = BPF_OP(i->code);

	*ends = false;
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU64:
		return do_alu(w, i);
	case BPF_LD:
		return do_load_imm(w, i);
	case BPF_LDX:
		return do_load(w, i);
	case BPF_ST:
	case BPF_STX:
		return do_store(w, i);
	}
	if (op == BPF_CALL) {
		*ends = i->src_reg != BPF_PSEUDO_CALL && !script_helper_returns((uint32_t)i->imm);
		return do_call(w, i);
	}
	*ends = op == BPF_EXIT || op == BPF_JA;
	return op == BPF_EXIT ? do_exit(w) : do_jump(w, i);
}

/* ---- the run ---- */

/* From target @n to the next target or the end of the way. */
static int run_from(struct flow *w, uint32_t n)
{
	struct verify *v = w->v;
	bool ends;
	int err;

	v->marks[n] &= (uint8_t)~MARK_DIRTY;
	memcpy(v->now, state_at(w, n), v->n_values * sizeof *v->now);
	for (;;) {
		v->insn = n;
		err = step(w, &w->insns[n], &ends);
		if (err || ends)
			return err;
		n += BPF_CLASS(w->insns[n].code) == BPF_LD ? 2 : 1;
		if (v->marks[n] & MARK_TARGET) {
			arrive(w, n, v->now);
			return 0;
		}
	}
}

static int run(struct flow *w)
{
	uint32_t n;
	int err;

	do {
		w->is_dirty = false;
		for (n = w->f->entry; n < w->f->end; n++) {
			if (!(w->v->marks[n] & MARK_DIRTY))
				continue;
			err = run_from(w, n);
			if (err)
				return err;
		}
	} while (w->is_dirty);
	return 0;
}

static void begin(struct flow *w)
{
	struct verify_value *now = w->v->now;
	uint32_t i;

	memset(now, 0, w->v->n_values * sizeof *now);
	now[10] = (struct verify_value){ KIND_STACK, 0 };
	if (w->f->is_handler)
		now[1] = (struct verify_value){ KIND_FRAME, 0 };
	for (i = 0; i < w->f->n_parameters && i < 5; i++)
		now[1 + i] = verify_of(w->f->parameters[i]);
	arrive(w, w->f->entry, now);
}

static bool passes_arguments(const struct flow *w)
{
	const struct bpf_insn *i;

	for (i = &w->insns[w->f->entry]; i < &w->insns[w->f->end]; i++)
		if (i->code == (BPF_JMP | BPF_CALL) && !i->src_reg &&
		    (i->imm == SCRIPT_HELPER_PASS_LONG || i->imm == SCRIPT_HELPER_PASS_STRING))
			return true;
	return false;
}

static int allocate(struct flow *w)
{
	struct verify *v = w->v;
	uint32_t n;

	v->n_stack = w->f->stack / 8;
	v->n_pass = passes_arguments(w) ? VERIFY_PASS_CELLS : 0;
	v->n_values = VERIFY_REGISTERS + v->n_stack + v->n_pass;
	w->state_of = calloc(w->f->end - w->f->entry, sizeof *w->state_of);
	v->now = calloc(v->n_values, sizeof *v->now);
	if (!w->state_of || !v->now)
		return -ENOMEM;
	for (n = w->f->entry; n < w->f->end; n++)
		if (v->marks[n] & MARK_TARGET)
			w->state_of[n - w->f->entry] = w->n_states++;
	if ((uint64_t)w->n_states * v->n_values * sizeof *w->states > VERIFY_MEMORY_MOST)
		return -E2BIG;
	w->states = malloc((size_t)w->n_states * v->n_values * sizeof *w->states);
	return w->states ? 0 : -ENOMEM;
}

int verify_flow(struct verify *v)
{
	struct flow w = { .v = v, .f = v->f, .insns = v->u->insns };
	int err = allocate(&w);

	v->insn = v->f->entry;
	if (err == -E2BIG)
		err = verify_fail(v, "the function is too large to be verified");
	else if (err)
		err = diag_fail(v->d, err, "no memory to verify a script");
	if (!err) {
		begin(&w);
		err = run(&w);
	}
	free(w.state_of);
	free(w.states);
	free(v->now);
	v->now = NULL;
	return err;
}
