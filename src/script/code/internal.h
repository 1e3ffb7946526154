/* SPDX-License-Identifier: MIT */
/*
 * code/internal.h - what the files of the compiler share.
 *
 * Registers: R6 holds the frame in handlers that use it.  The hottest locals of a function live in
 * the rest of R6-R9, the others in stack cells.  An expression is computed into a register that its
 * user names:
 *
 *   (1) one that calls nothing and fits (code_fits) changes that register and those ranked above
 *       it: R1 .. R5, R0
 *   (2) any other one changes R0-R5, so what is needed behind it lies in a temporary: a free one of
 *       R6-R9, or a stack cell
 *
 * Values are computed from left to right, as their effects show.  Code that cannot be reached is
 * not emitted.  Errors are remembered: the first one is reported once, at the end.
 */
#ifndef SCRIPT_CODE_INTERNAL_H
#define SCRIPT_CODE_INTERNAL_H

#include "script/code/code.h"

enum {
	CODE_DEPTH_MOST = 1000, /* expressions and statements inside each other */
	CODE_CALLS = 100,	/* code_needs: it calls, or is as large */
	CODE_FRAME = BPF_REG_6,
	CODE_CHAINS = 1024,
};

/* Where a local or a temporary lives. */
struct code_home {
	uint8_t reg; /* R6 .. R9; 0: on the stack */
	int16_t at;  /* from R10 */
};

struct code_loop {
	struct code_loop *up;
	uint32_t break_to, continue_to; /* labels */
	bool is_foreach;
	struct code_home handle;
};

struct code_jump {
	uint32_t insn, label;
};

struct code {
	struct script_unit *unit;
	struct script_program *program;
	struct script_arena *arena;
	struct script_messages *m;
	struct script_limits limits; /* none is 0 */
	uint32_t insns_room, lines_room, strings_room, formats_room, iterations_room, catches_room,
		regexes_room, columns_room;
	/* Strings with the same hash: the last one, and the one before each, as number + 1. */
	uint32_t chains[CODE_CHAINS], *before, before_room;
	int error; /* the first one */

	/* the function at hand */
	struct script_function_code *function;
	struct script_function *of; /* NULL: a handler */
	struct script_handler *handler;
	struct code_home *homes;     /* of its locals, by index */
	struct code_home *originals; /* parameters as they came, for `next`; or NULL */
	int32_t *labels;	     /* instruction of each; -1: not placed yet */
	uint32_t n_labels, labels_room;
	struct code_jump *jumps;
	uint32_t n_jumps, jumps_room;
	uint32_t stack;		 /* bytes in use; function->stack: the most */
	uint16_t free_registers; /* bit: register */
	struct code_loop *loop;
	uint32_t n_tries; /* around the statement at hand */
	uint32_t depth;
	bool is_dead; /* the next instruction cannot be reached */
};

/* ---- emit.c ---- */
int code_fail(struct code *c, int err);
/* code_too_large - reports at @place that the function is too large; once. */
void code_too_large(struct code *c, struct script_place place, const char *what);
/* code_room - room for one more in a table of the unit; false: no memory. */
bool code_room_(struct code *c, void **table, uint32_t n, uint32_t *room, size_t size);
#define code_room(c, table, n, room)                                                               \
	code_room_(c, (void **)(void *)(table), n, room, sizeof **(table))
/* code_at - what follows comes from @place: errors show it. */
void code_at(struct code *c, struct script_place place);
void code_alu(struct code *c, uint8_t op, uint8_t to, uint8_t from);
void code_alu_number(struct code *c, uint8_t op, uint8_t to, int32_t number);
/* Signed division and remainder. */
void code_divide(struct code *c, uint8_t op, uint8_t to, uint8_t from);
void code_divide_number(struct code *c, uint8_t op, uint8_t to, int32_t number);
void code_move(struct code *c, uint8_t to, uint8_t from); /* nothing if they are the same */
void code_number(struct code *c, uint8_t to, int64_t number);
void code_text(struct code *c, uint8_t to, const char *bytes, uint32_t size);
void code_load(struct code *c, uint8_t to, uint8_t base, int32_t offset);
void code_store(struct code *c, uint8_t base, int32_t offset, uint8_t from);
void code_global_address(struct code *c, uint8_t to, uint32_t global);
void code_helper(struct code *c, uint32_t helper);
void code_call_function(struct code *c, uint32_t function);
void code_exit(struct code *c);
uint32_t code_label(struct code *c);
/* code_put - @label is here; @is_reached: even if no jump to it was emitted yet. */
void code_put(struct code *c, uint32_t label, bool is_reached);
void code_goto(struct code *c, uint32_t label);
void code_goto_if(struct code *c, uint8_t op, uint8_t a, uint8_t b, uint32_t label);
void code_goto_if_number(struct code *c, uint8_t op, uint8_t a, int32_t number, uint32_t label);
void code_resolve(struct code *c); /* the jumps of the function */

/* ---- homes.c ---- */
/* code_homes - give the locals of a function their homes, and emit their first values. */
void code_homes(struct code *c, struct script_variable *const *locals, uint32_t n,
		struct script_stmt *const *body, uint32_t n_body, struct script_expr *condition);
struct code_home code_take(struct code *c);	       /* a temporary */
void code_drop(struct code *c, struct code_home home); /* in the reverse order */
int16_t code_take_cells(struct code *c, uint32_t n);   /* ascending from the result */
void code_drop_cells(struct code *c, uint32_t n);
void code_from_home(struct code *c, uint8_t to, struct code_home home);
void code_to_home(struct code *c, struct code_home home, uint8_t from);
/* code_to_temporary - compute @e into a temporary. */
struct code_home code_to_temporary(struct code *c, struct script_expr *e);

/* ---- shape.c: what can be seen of an expression ---- */
bool code_constant(const struct script_expr *e, int64_t *number);
bool code_small_constant(const struct script_expr *e, int32_t *number);
/* Registers that @e needs, from the named one upwards; CODE_CALLS. */
unsigned code_needs(const struct code *c, const struct script_expr *e);
bool code_fits(const struct code *c, const struct script_expr *e, uint8_t reg);
/* Whether the value is one load that neither fails nor has an effect. */
bool code_is_plain(const struct code *c, const struct script_expr *e);
/* Whether variables may change. */
bool code_writes(const struct script_expr *e);
bool code_mentions(const struct script_expr *e, const struct script_variable *v);
/* The register of a local, if @e is one that lives in a register; else 0. */
uint8_t code_register_of(const struct code *c, const struct script_expr *e);
/* Where @e is computed at the least cost: R0 for what a call returns, else @reg. */
uint8_t code_best(const struct code *c, const struct script_expr *e, uint8_t reg);
uint8_t code_above(uint8_t reg); /* the register ranked above; R1 for R6 .. R9 */
static inline bool code_is_kept(uint8_t reg)
{
	return reg >= BPF_REG_6;
}
bool code_is_cell(const struct script_variable *v); /* a global in a cell */
bool code_is_slot(const struct script_expr *e);

/* ---- expr.c ---- */
void code_expr(struct code *c, struct script_expr *e, uint8_t to);
void code_effect(struct code *c, struct script_expr *e); /* its value is not used */
/* code_operand - the register that holds @e: @reg, or that of a local. */
uint8_t code_operand(struct code *c, struct script_expr *e, uint8_t reg);
void code_zero(struct code *c, enum script_type type, uint8_t to); /* 0 or "" */

/* ---- operate.c ---- */
void code_arithmetic(struct code *c, struct script_expr *e, uint8_t to);
/* code_operate - @to op= @from; a zero divisor raises. */
void code_operate(struct code *c, enum script_op op, uint8_t to, uint8_t from);
void code_operate_number(struct code *c, enum script_op op, uint8_t to, int32_t number);
/* code_branch - jump to @label if the truth of @e is @sense; it computes in @reg. */
void code_branch(struct code *c, struct script_expr *e, bool sense, uint32_t label, uint8_t reg);
void code_truth(struct code *c, struct script_expr *e, uint8_t to); /* as 0 or 1 */

/* ---- assign.c ---- */
void code_assign(struct code *c, struct script_expr *e, uint8_t to, bool is_used);
void code_step(struct code *c, struct script_expr *e, uint8_t to, bool is_used);
/* code_set_variable - store @from in a local or a cell.  A cell of a number: R0 is used too, or R1 if
 * @from is R0; of a string: it calls. */
void code_set_variable(struct code *c, const struct script_variable *v, uint8_t from);
void code_get_variable(struct code *c, const struct script_variable *v, uint8_t to);

/* ---- call.c ---- */
struct code_argument {
	enum { ARGUMENT_EXPR, ARGUMENT_NUMBER, ARGUMENT_CELLS, ARGUMENT_HOME } kind;
	struct script_expr *expr;
	int64_t number; /* or the place of the cells */
	struct code_home home;
};
static inline struct code_argument code_by_number(int64_t number)
{
	return (struct code_argument){ .kind = ARGUMENT_NUMBER, .number = number };
}
static inline struct code_argument code_by_cells(int16_t at)
{
	return (struct code_argument){ .kind = ARGUMENT_CELLS, .number = at };
}
static inline struct code_argument code_by_expr(struct script_expr *e)
{
	return (struct code_argument){ .kind = ARGUMENT_EXPR, .expr = e };
}
static inline struct code_argument code_by_home(struct code_home home)
{
	return (struct code_argument){ .kind = ARGUMENT_HOME, .home = home };
}
/* code_invoke - call @helper with @n arguments in R1 .. R5. */
void code_invoke(struct code *c, struct script_place place, uint32_t helper,
		 const struct code_argument *arguments, uint32_t n);
void code_call(struct code *c, struct script_expr *e, uint8_t to);
void code_call_next(struct code *c, struct script_place place); /* another overload; or it raises */

/* ---- array.c ---- */
/* code_keys - compute keys into cells; the place of the first.  That of a NULL key (`*`) stays
 * unset. */
int16_t code_keys(struct code *c, struct script_expr **keys, uint32_t n);
uint32_t code_wild(struct script_expr *const *keys, uint32_t n); /* bit: key is `*` */
void code_element(struct code *c, struct script_expr *e, uint8_t to);
void code_in(struct code *c, struct script_expr *e, uint8_t to);
void code_delete(struct code *c, struct script_expr *e);
void code_statistic(struct code *c, struct script_expr *e, uint8_t to);
void code_bucket(struct code *c, struct script_expr *e, uint8_t to);
uint32_t code_add_iteration(struct code *c, const struct script_iteration *how);
enum script_statistic code_statistic_number(const char *name);

/* ---- print.c, table.c ---- */
bool code_is_table(const struct script_expr *e); /* table() or plot() */
void code_table(struct code *c, struct script_expr *e);
/* code_print - print, println, ..; those with s before leave a string in @to. */
void code_print(struct code *c, struct script_expr *e, uint8_t to);

/* ---- stmt.c, foreach.c ---- */
void code_stmt(struct code *c, struct script_stmt *s);
void code_foreach(struct code *c, struct script_stmt *s);
void code_end_iterations(struct code *c); /* of all loops around: the function is left */

#endif
