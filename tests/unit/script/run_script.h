/* SPDX-License-Identifier: MIT */
/*
 * run_script.h - runs a script in a test, on a world of its own.
 *
 * The world offers probe event(N): N events, numbered from 0, one after the other.  Event i has
 *
 *	$number:long	i
 *	$text:string	"t" and i modulo 5
 *	$bad:long	10 i; a bad address if i is odd
 *	$name:string	"n" and i; a bad address if i is even
 *
 * and the standard cells pid() 100 + i modulo 3, tid() 200 + i, cpu() i modulo 2, execname() "proc"
 * and i modulo 3, gettimeofday_ns() 1000 i; all others are 0 and "".  The order: begin handlers,
 * events of each probe, end handlers; an error that is not caught ends it, as MAXERRORS is 0.
 */
#ifndef TESTS_RUN_SCRIPT_H
#define TESTS_RUN_SCRIPT_H

#include <stdbool.h>

#include "script/code/code.h"
#include "script/vm/vm.h"

struct made_script {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_world world;
	struct script_file *file;
	struct script_program *program; /* NULL: refused */
	struct script_unit *unit;	/* NULL: refused */
};
extern bool made_scripts_keep_unused; /* -u: nothing is left out */

/* make_script - parse, check, compile and verify @text.  False: refused, the reason in
 * made->messages.text; a unit that is not verified is a failed test. */
bool make_script(struct made_script *made, const char *text, const struct script_limits *limits);
void free_script(struct made_script *made); /* accepts what make_script left */

/*
 * run_made - run it once.
 *
 * @to: receives what the script writes; warnings with "warning: " before; after an error "ERROR: "
 * and its text.
 */
void run_made(const struct made_script *made, const struct script_limits *limits, bool jit,
	      struct text *to);

/* run_script - make and run @text by the interpreter, or translated; messages if it is refused. */
void run_script(const char *text, const struct script_limits *limits, bool jit, struct text *to);

/* event_frame - the frame of event @i of @probe, for machine @vm; to be freed. */
struct script_frame *event_frame(struct script_vm *vm, const struct script_probe *probe, int64_t i);

#endif
