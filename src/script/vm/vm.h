/* SPDX-License-Identifier: MIT */
/*
 * script/vm/vm.h - runs the handlers of a script over events.
 *
 * A machine belongs to one thread.  It owns all values of the script: globals, arrays, strings.
 * Strings that a handler makes live until it ends; a string that is replaced or deleted lives until
 * then too, so no register ever holds a dead one.
 *
 * A handler ends: at its end; by `next`; by an error that it does not catch; by a limit.  After an
 * error its changes stay, as in SystemTap.
 */
#ifndef SCRIPT_VM_VM_H
#define SCRIPT_VM_VM_H

#include "script/unit/unit.h"
#include "script/values/values.h"

/* What the surroundings offer to builtins.  Any function may be NULL. */
struct script_services {
	void *context;
	void (*write)(void *context, const char *bytes, size_t size);	    /* print */
	void (*write_error)(void *context, const char *bytes, size_t size); /* warn(), log() */
	void (*exit)(void *context);
	/* The function at @address; "" if unknown.  @pid: 0 for the kernel. @what: 's'ymbol,
	 * 'd' with offset and file, 'm'odule, 'l'ine. */
	void (*symbol)(void *context, int64_t pid, uint64_t address, char what, struct text *to);
	/* target(), argv(), ...: a name's value as text; false: unknown */
	bool (*setting)(void *context, const char *name, struct text *to);
	/* a finished table(): columns and rows as JSON */
	void (*result)(void *context, const char *json, size_t size);
	int (*system)(void *context, const char *command);
	bool is_json;	   /* tables are written as JSON */
	bool keeps_tables; /* tables go to result() alone */
	bool is_terminal;
	bool is_shown; /* people read what is written: strings are escaped (library_add_shown) */
};

struct script_vm;

/*
 * script_vm_open - make a machine for @unit, which stays the caller's and must be verified.
 *
 * @jit: translate to x86-64; if that cannot be done (no executable memory), it interprets.
 * Returns 0 or -errno, reason in @d.
 */
int script_vm_open(struct script_vm **vm, const struct script_unit *unit,
		   const struct script_limits *limits, const struct script_services *services,
		   bool jit, struct diag *d);
void script_vm_close(struct script_vm *vm); /* accepts NULL */
bool script_vm_is_jit(const struct script_vm *vm);

enum script_ended {
	SCRIPT_DONE,
	SCRIPT_FAILED, /* script_vm_error() has the reason */
};
/* script_vm_run - run handler @function (its number in the unit) on @frame. */
enum script_ended script_vm_run(struct script_vm *vm, uint32_t function,
				const struct script_frame *frame);
/* script_vm_error - the last error: text and place; valid until the next run. */
const char *script_vm_error(const struct script_vm *vm, struct script_place *place);
/* script_vm_exiting - whether exit() was called. */
bool script_vm_exiting(const struct script_vm *vm);

/* script_vm_string - a string for a frame, from @bytes; it lives until the next run ends.  Cut to
 * the limit. */
const struct script_string *script_vm_string(struct script_vm *vm, const char *bytes, size_t size);

/* Values of globals, for what the kernel has counted, -G, and what is printed at the end. */
int script_vm_set_global(struct script_vm *vm, const char *name, const char *value, struct diag *d);
/* script_vm_array_add - add @delta to an element of LONG. */
int script_vm_array_add(struct script_vm *vm, uint32_t array, const union script_cell *keys,
			int64_t delta);
int script_vm_stats_add(struct script_vm *vm, uint32_t array, const union script_cell *keys,
			const struct script_stats_delta *delta);
void script_vm_global_add(struct script_vm *vm, uint32_t global, int64_t delta);
/* script_vm_print_global - "name=5\n"; arrays: an element a line.  For globals never read. */
void script_vm_print_global(struct script_vm *vm, const char *name);

/* ---- for helpers and builtins (script/library) ---- */
struct script_values *script_vm_values(struct script_vm *vm);
const struct script_unit *script_vm_unit(const struct script_vm *vm);
const struct script_services *script_vm_services(const struct script_vm *vm);
const struct script_limits *script_vm_limits(const struct script_vm *vm);
const struct script_frame *script_vm_frame(const struct script_vm *vm);
/* script_raise - the helper that calls it returns at once; its result does not count. */
void script_raise(struct script_vm *vm, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void script_vm_exit(struct script_vm *vm);
/* script_vm_spend - a call that walks over @n elements of an array counts as @n / 64 actions, so that
 * loops of such calls end too. */
void script_vm_spend(struct script_vm *vm, uint32_t n);

#endif
