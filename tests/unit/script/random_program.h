/* SPDX-License-Identifier: MIT */
/*
 * random_program.h - random scripts: functions, loops, arrays, statistics, strings, try, output.
 *
 * Most of them are well typed.  One in eight has a few wrong types, names or characters.  Loops may
 * be endless and functions may call themselves: limits end them.
 */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H

#include <stdint.h>

#include "base/text.h"

/* random_program - append a script to @t.  @seed: not 0; the next one follows from it. */
void random_program(struct text *t, uint64_t *seed);

#endif
