/* SPDX-License-Identifier: MIT */
/*
 * script/unit/unit.h - the byte code of a script: what the compiler makes and the machine runs.
 *
 * Instructions are those of BPF (Linux, Documentation/bpf/standardization/instruction-set.rst), 64
 * bits wide: ALU64, JMP, LDX and STX of BPF_DW, LD_IMM64, calls, exit; division is signed (offset
 * 1).  Every value is a cell of 8 bytes: a number, or a pointer to a struct script_string that no
 * instruction looks into.
 *
 *	R0	result
 *	R1-R5	arguments; in a handler R1 is the frame (struct script_frame)
 *	R6-R9	kept over calls
 *	R10	end of the function's stack of `stack` bytes
 *
 * LD_IMM64 has these source registers: 0: a number; SCRIPT_LD_STRING: string constant `imm`;
 * SCRIPT_LD_GLOBAL: the address of global cell `imm`.  A call has source register 0: helper `imm`
 * (unit/helpers.def, then the builtins); BPF_PSEUDO_CALL: function number `imm`, not an offset.
 *
 * Arrays, formats, expressions for =~ and iterations are rows of tables, named by number.  The
 * arguments that a helper takes by K or P lie on the stack: cells in ascending order.
 *
 * What always holds in a unit that script_verify() accepted:
 *   (1) a register or stack cell has one type wherever it is read, and was written before
 *   (2) strings come from constants, frames, cells of their type, and helpers; nothing is computed
 *       with them
 *   (3) no access leaves the frame, the stack or the globals
 */
#ifndef SCRIPT_UNIT_UNIT_H
#define SCRIPT_UNIT_UNIT_H

#include <linux/bpf.h>

#include "script/syntax/ast.h"

enum { SCRIPT_LD_NUMBER, SCRIPT_LD_STRING, SCRIPT_LD_GLOBAL };

struct script_string { /* immutable; with a NUL behind it, and perhaps others in it */
	uint32_t size;
	char bytes[];
};

union script_cell {
	int64_t number;
	const struct script_string *text;
};

/* The cells that every event can have.  The names of the functions that read them: builtins. */
enum script_standard {
	STANDARD_TIME_NS, /* of the event, from the Epoch */
	STANDARD_CPU,
	STANDARD_PID,
	STANDARD_TID,
	STANDARD_PPID,
	STANDARD_UID,
	STANDARD_EUID,
	STANDARD_GID,
	STANDARD_EGID,
	STANDARD_SESSION_ID, /* sid() */
	STANDARD_PGRP,
	STANDARD_TASK,	       /* address of the kernel's task_struct; live only */
	STANDARD_PROCESS_NS,   /* when the process started; 0: unknown */
	STANDARD_CGROUP,       /* its number */
	STANDARD_EXECNAME,     /* string: name of the thread */
	STANDARD_PROCNAME,     /* string: name of the process's first thread */
	STANDARD_PARENT_NAME,  /* string: pexecname() */
	STANDARD_POINT,	       /* string: pp() */
	STANDARD_FUNCTION,     /* string: probefunc(), ppfunc() */
	STANDARD_MODULE,       /* string: probemod() */
	STANDARD_MONOTONIC_NS, /* CLOCK_MONOTONIC of the event; local_clock_ns() */
	STANDARD_KERNEL_STACK, /* string: addresses in hexadecimal, a blank between: backtrace() */
	STANDARD_USER_STACK,   /* string: ubacktrace() */
	STANDARD_ADDRESS,      /* addr(), uaddr(): of the probe, 0: none */
	STANDARD_IS_RETURN,
	STANDARD_IS_USER, /* user_mode() */
	STANDARD_N
};
static inline enum script_type script_standard_type(enum script_standard s)
{
	return (s >= STANDARD_EXECNAME && s <= STANDARD_MODULE) || s == STANDARD_KERNEL_STACK ||
			       s == STANDARD_USER_STACK
		       ? SCRIPT_STRING
		       : SCRIPT_LONG;
}

enum { SCRIPT_SLOTS_MAX = 64 };

/* What a handler gets of an event.  Strings are never NULL, and valid until the handler ends. */
struct script_frame {
	uint64_t faults; /* bit i: slot i could not be read (bad address); its cell is 0 or "" */
	union script_cell standard[STANDARD_N]; /* only those that the handler needs */
	union script_cell slot[];
};

struct script_function_code {
	const char *name;
	uint32_t entry, end; /* instructions */
	uint32_t stack;	     /* bytes, a multiple of 8, at most SCRIPT_STACK_MAX */
	bool is_handler;
	uint32_t n_parameters; /* of a function; those above 5 come by ARGUMENT */
	uint8_t *parameters;   /* enum script_type of each */
	uint8_t type;	       /* of its result */
	/* handlers: */
	uint32_t n_slots;
	uint8_t *slots; /* enum script_type of each */
	uint64_t needs; /* bit: enum script_standard, of the handler and all it calls */
};
enum { SCRIPT_STACK_MAX = 4096, SCRIPT_KEYS_MAX = 9, SCRIPT_PARAMETERS_MAX = 64 };

struct script_catch { /* errors raised in [begin, end) go to target; inner ones come first */
	uint32_t begin, end, target;
};

struct script_code_line {
	uint32_t insn;
	struct script_place place;
};

enum { HIST_NONE, HIST_LOG, HIST_LINEAR };

struct script_array_code { /* also a scalar of statistics: no keys */
	const char *name;
	uint32_t n_keys;
	uint8_t keys[SCRIPT_KEYS_MAX]; /* enum script_type */
	uint8_t value;		       /* LONG, STRING or STATS */
	uint32_t capacity;	       /* entries */
	bool wraps;		       /* a new entry replaces the oldest when full */
	uint8_t histogram;	       /* STATS: HIST_... */
	bool has_quantiles, has_variance;
	int64_t low, high, width; /* HIST_LINEAR */
	uint32_t variance_bits;
};

struct script_global_code { /* a cell */
	const char *name;
	uint8_t type; /* LONG or STRING */
	int64_t number;
	const char *text; /* initial value of a string; NULL: "" */
};

/* One directive of a format, after the text before it. */
struct script_directive {
	const char *before;
	uint32_t before_size;
	char conversion; /* d u x X o c s p b m M; 0: only text, at the end */
	uint8_t size;	 /* %b %m: bytes; 0: not given */
	bool minus, plus, zero, space, hash;
	int32_t width, precision; /* -1: none; -2: the next argument (LONG) */
};
struct script_format {
	struct script_directive *directives;
	uint32_t n, n_arguments;
	uint8_t *arguments; /* enum script_type of each cell */
};

struct script_iteration { /* how a foreach goes */
	uint32_t array;
	int8_t sort;	   /* -1 descending, 0 none, 1 ascending */
	int8_t sort_key;   /* -1: value; else the key's number */
	uint8_t statistic; /* value of STATS: enum script_statistic */
	uint8_t histogram; /* HIST_...: over the buckets of the element K */
	uint16_t wild;	   /* bit i: key i of the slice is `*`; all bits: everything */
};
enum script_statistic {
	STATISTIC_COUNT,
	STATISTIC_SUM,
	STATISTIC_MIN,
	STATISTIC_MAX,
	STATISTIC_AVG,
	STATISTIC_VARIANCE,
	STATISTIC_QUANTILE, /* parameter: per cent */
};

/* Limits, as -D sets them.  Zero: the default. */
struct script_limits {
	uint32_t string_bytes; /* MAXSTRINGLEN 512: with the NUL */
	uint32_t actions;      /* MAXACTION 1000000: loop rounds and calls of one handler */
	uint32_t nesting;      /* MAXNESTING 64: calls inside calls */
	uint32_t entries;      /* MAXMAPENTRIES 65536: of an array without a size */
	uint32_t errors;       /* MAXERRORS 0: uncaught errors that do not end the session */
	uint32_t skipped;      /* MAXSKIPPED 100 */
	uint64_t memory;       /* MAXMEMORY 1 GiB: bytes of all values */
};

struct script_regex; /* values/regex.h */

struct script_unit {
	struct script_arena *arena;
	const struct script_sources *sources; /* may be NULL */
	struct bpf_insn *insns;
	uint32_t n_insns;
	struct script_function_code *functions;
	uint32_t n_functions;
	struct script_catch *catches;
	uint32_t n_catches;
	struct script_code_line *lines; /* ascending */
	uint32_t n_lines;
	const struct script_string **strings;
	uint32_t n_strings;
	struct script_global_code *globals;
	uint32_t n_globals;
	struct script_array_code *arrays;
	uint32_t n_arrays;
	struct script_format *formats;
	uint32_t n_formats;
	struct script_iteration *iterations;
	uint32_t n_iterations;
	struct script_regex **regexes;
	uint32_t n_regexes;
	const char **columns; /* texts of table() and plot() */
	uint32_t n_columns;
};

/*
 * Helpers.  Each is a C function
 *
 *	uint64_t script_help_x(struct script_vm *vm, uint64_t r1, ..., uint64_t r5);
 *
 * Its signature is "RESULT:ARGUMENTS" of these letters:
 *	l long   s string   v nothing (result)
 *	a number of an array, constant     V the value of that array (argument or result)
 *	k cells on the stack: the keys of that array
 *	f number of a format, constant     p cells on the stack: its arguments
 *	i any constant                     t number of an iteration, constant
 *	r number of a regular expression, constant
 *	g number of a string global, constant
 *	x keys of the iteration's array: as k
 * It reports an error by script_raise(); the machine then goes to the catch, or ends the handler.
 */
enum script_helper_number {
	SCRIPT_HELPER_NONE,
#define HELPER(name, signature, may_fail) SCRIPT_HELPER_##name,
#include "script/unit/helpers.def"
#undef HELPER
	SCRIPT_HELPERS_N,
	SCRIPT_HELPER_BUILTIN = 256, /* + number of the builtin */
};

/* Whether a helper returns: those that only raise do not, so nothing behind such a call is reached
 * from it. */
static inline bool script_helper_returns(uint32_t number)
{
	return number != SCRIPT_HELPER_RAISE && number != SCRIPT_HELPER_RAISE_DIVISION &&
	       number != SCRIPT_HELPER_RAISE_FAULT && number != SCRIPT_HELPER_STEP_NEXT;
}

struct script_vm;
typedef uint64_t script_help(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3,
			     uint64_t r4, uint64_t r5);
/* The C functions of the helpers, by number: library/helpers.c. */
extern script_help *const script_helpers[SCRIPT_HELPERS_N];
struct script_helper {
	const char *name, *signature;
	bool may_fail;
};
extern const struct script_helper script_helper_table[SCRIPT_HELPERS_N]; /* unit/helpers.c */

/* A function that scripts call.  The table: library/builtins.def. */
struct script_builtin {
	const char *name;
	const char
		*signature; /* "s:sl"; several rows of one name differ in the number of arguments */
	int standard;	    /* the cell it reads; -1: none */
	bool is_site;	    /* evaluated where the event happens: becomes a slot */
	bool is_pure;	    /* a call whose result is unused may be left out */
	bool may_fail;
	uint64_t needs; /* bits of enum script_standard that it reads */
};
/* The C functions of the builtins, by number; NULL where a cell or the site has the value:
 * library/run.c. */
extern script_help *const script_builtin_run[];

/* script_builtin_find - row @i, from 0, of the rows called @name, or NULL.  script_builtin_number -
 * its number.  script_builtin_at - the builtin of a number, or NULL. */
const struct script_builtin *script_builtin_find(const char *name, unsigned i);
uint32_t script_builtin_number(const struct script_builtin *b);
const struct script_builtin *script_builtin_at(uint32_t number);

/* script_verify - check a unit: 0; -EINVAL with the instruction and the reason in @d.  Any content
 * of instructions and tables is allowed as input. */
int script_verify(const struct script_unit *unit, struct diag *d);
/* script_unit_print - the byte code as text, with source lines (-p3). */
void script_unit_print(struct text *t, const struct script_unit *unit);

#endif
