/* SPDX-License-Identifier: MIT */
/*
 * script/library/library.h - the part of the library that is written in the script language.
 *
 * Aliases (scheduler.wakeup, ioblock.request, ...) and functions lie in the program as texts
 * (library/texts).  A text is parsed only if a script names something of it, so that the library
 * costs a script nothing that does not use it.
 */
#ifndef SCRIPT_LIBRARY_LIBRARY_H
#define SCRIPT_LIBRARY_LIBRARY_H

#include "script/syntax/parse.h"

/*
 * script_library_parse - parse the texts of the library that @sources name, and those that they name.
 *
 * It may be called again after more sources were added.
 * @files: @most rooms, @n in use; the new ones go behind them.  Their sources are marked is_library.
 * Returns 0, -ENOMEM, or -E2BIG: there is no room.
 */
int script_library_parse(struct script_file **files, uint32_t *n, uint32_t most,
			 struct script_sources *sources, const struct script_parse_options *o,
			 struct script_macros *macros, struct script_messages *m);

/* script_library_name - name @i of all texts, of an alias or a function; NULL: there are no more. */
const char *script_library_name(uint32_t i);
/* script_library_text - text @i of the library, for tests and lists; NULL: there are no more. */
const char *script_library_text(uint32_t i, const char **name);

#endif
