/* SPDX-License-Identifier: MIT */
/*
 * script/code/code.h - from a checked script to byte code.
 *
 * One function of the unit for each function and each handler, with the same numbers as in the
 * program (`index`).  Numbers of globals: cells for LONG and STRING without keys, arrays for all
 * others; script_variable.index is the number in its table.
 */
#ifndef SCRIPT_CODE_CODE_H
#define SCRIPT_CODE_CODE_H

#include "script/check/program.h"

/*
 * script_code - compile @program; sets `index` of its globals, functions and handlers.
 *
 * Returns 0; -E2BIG with the message in @m: a function needs too much stack or code; -ENOMEM.
 * The unit lies in the program's arena.
 */
int script_code(struct script_unit **unit, struct script_program *program,
		const struct script_limits *limits, struct script_messages *m);

#endif
