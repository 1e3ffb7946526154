/* SPDX-License-Identifier: MIT */
/*
 * library/builtins.c - what the front end knows of the functions that scripts call: builtins.def as
 * rows.
 *
 * The C functions are a table of their own (library/run.c), so that checking a script links no
 * machine.
 */
#include "script/unit/unit.h"

#include <string.h>

enum { PURE = 1, FAILS = 2 };
#define N(cell) (1ull << STANDARD_##cell)

#define CELL(name_, signature_, cell)                                                              \
	{ .name = #name_,                                                                          \
	  .signature = signature_,                                                                 \
	  .standard = STANDARD_##cell,                                                             \
	  .is_pure = true,                                                                         \
	  .needs = N(cell) },
#define SITE(name_, signature_)                                                                    \
	{ .name = #name_,                                                                          \
	  .signature = signature_,                                                                 \
	  .standard = -1,                                                                          \
	  .is_site = true,                                                                         \
	  .is_pure = true,                                                                         \
	  .may_fail = true },
#define CALL(name_, signature_, properties, needs_, function)                                      \
	{ .name = #name_,                                                                          \
	  .signature = signature_,                                                                 \
	  .standard = -1,                                                                          \
	  .is_pure = ((properties)&PURE) != 0,                                                     \
	  .may_fail = ((properties)&FAILS) != 0,                                                   \
	  .needs = (needs_) },
static const struct script_builtin rows[] = {
#include "script/library/builtins.def"
};
#undef CELL
#undef SITE
#undef CALL

enum { N_ROWS = sizeof rows / sizeof *rows };

const struct script_builtin *script_builtin_find(const char *name, unsigned i)
{
	for (uint32_t row = 0; row < N_ROWS; row++)
		if (!strcmp(rows[row].name, name) && !i--)
			return &rows[row];
	return NULL;
}

uint32_t script_builtin_number(const struct script_builtin *b)
{
	return (uint32_t)(b - rows);
}

const struct script_builtin *script_builtin_at(uint32_t number)
{
	return number < N_ROWS ? &rows[number] : NULL;
}
