/* SPDX-License-Identifier: MIT */
/*
 * script/engine/symbols.h - names of addresses, as symname(), symdata(), symline() and the functions
 * that print stacks show them.
 *
 * @what, as in script_services.symbol: 's' the function; 'd' function, offset, size and file; 'm' the
 * file or module; 'l' the source line.  Nothing is added if it is not known.
 */
#ifndef SCRIPT_ENGINE_SYMBOLS_H
#define SCRIPT_ENGINE_SYMBOLS_H

#include "base/text.h"
#include "symbol/symbol.h"
#include "trace/symbols/public.h"

void symbol_add_kernel(struct text *to, struct kallsyms *k, uint64_t address, char what);
/* Byte @offset of the file @path with this build ID ("": any). */
void symbol_add_user(struct text *to, struct symbols *s, const char *path, const char *build_id,
		     uint64_t offset, char what);

#endif
