/* SPDX-License-Identifier: MIT */
/* library/run.c - the C functions of builtins.def, by number. */
#include "script/library/internal.h"

script_help *const script_builtin_run[] = {
#define CELL(name, signature, cell) NULL,
#define SITE(name, signature) NULL,
#define CALL(name, signature, properties, needs, function) library_##function,
#include "script/library/builtins.def"
};
