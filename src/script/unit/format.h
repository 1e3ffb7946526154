/* SPDX-License-Identifier: MIT */
/* script/unit/format.h - formats of printf, parsed once: for the checker and the compiler. */
#ifndef SCRIPT_UNIT_FORMAT_H
#define SCRIPT_UNIT_FORMAT_H

#include "script/unit/unit.h"

enum { SCRIPT_WIDTH_MAX = 4096 };

/*
 * script_format_parse - parse the literal of a printf.
 *
 * @f: becomes the directives, and the types of the arguments in order; its memory lies in @a.
 * @at: becomes the byte of the literal at which the last directive begins.
 * Returns 0; -EINVAL with the reason in @d; -ENOMEM.
 */
int script_format_parse(struct script_format *f, struct script_arena *a, const char *literal,
			size_t size, uint32_t *at, struct diag *d);

#endif
