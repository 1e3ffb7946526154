/* SPDX-License-Identifier: MIT */
/*
 * script/replay/symbols.c - names of addresses, from what the recordings noted.
 *
 * Functions of the kernel come from the recording alone; those of programs from the recorded mappings
 * and the files with these build IDs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script/engine/symbols.h"
#include "script/replay/internal.h"

int replay_symbols_open(struct replay *r)
{
	if (!r->kernel)
		r->kernel = kallsyms_open(r->o.paths, r->o.n_paths);
	if (!r->modules && modules_open(&r->modules, r->o.paths, r->o.n_paths, NULL))
		return -ENOMEM;
	if (!r->symbols)
		r->symbols = symbols_open();
	return r->kernel && r->symbols ? 0 : -ENOMEM;
}

static void user_symbol(struct replay *r, int64_t pid, uint64_t address, char what, struct text *to)
{
	struct module_location m;

	if (modules_find(r->modules, pid, r->clock, address, &m))
		symbol_add_user(to, r->symbols, m.path, m.build_id, m.offset, what);
}

void replay_symbol(struct script_world *world, int64_t pid, uint64_t address, char what,
		   struct text *to)
{
	struct replay *r = (struct replay *)world;

	if (replay_symbols_open(r))
		return;
	if (!pid)
		symbol_add_kernel(to, r->kernel, address, what);
	else
		user_symbol(r, pid, address, what, to);
}
