/* SPDX-License-Identifier: MIT */
/* cmd/view/symbols.c - resolves addresses of programs by their maps, those of the kernel by
 * kallsyms. */
#include "cmd/view/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "trace/symbols/public.h"

struct view_symbols {
	struct modules *modules;
	struct symbols *symbols;
	struct kallsyms *kallsyms;
};

int view_symbols_open(struct view_symbols **symbols, const char *const *paths, int n,
		      struct diag *d)
{
	struct view_symbols *w = calloc(1, sizeof *w);
	int err;

	*symbols = NULL;
	if (!w)
		return diag_fail(d, -ENOMEM, "no memory");
	w->symbols = symbols_open();
	w->kallsyms = kallsyms_open(paths, n);
	err = w->symbols && w->kallsyms ? modules_open(&w->modules, paths, n, d)
					: diag_fail(d, -ENOMEM, "no memory");
	if (err) {
		view_symbols_close(w);
		return err;
	}
	*symbols = w;
	return 0;
}

void view_symbols_close(struct view_symbols *w)
{
	if (!w)
		return;
	modules_close(w->modules);
	symbols_close(w->symbols);
	kallsyms_close(w->kallsyms);
	free(w);
}

enum view_address_kind view_address_kind_of(const char *name, size_t size, bool is_context,
					    bool is_kernel)
{
	static const struct {
		const char *name;
		bool in_context, in_event, in_kernel_event;
		enum view_address_kind kind;
	} known[] = {
		{ "callstack_user", true, true, true, VIEW_ADDRESS_RETURN },
		{ "callstack_kernel", true, true, true, VIEW_ADDRESS_RETURN },
		{ "ip", true, false, false, VIEW_ADDRESS_RETURN },
		{ "ip", false, false, true, VIEW_ADDRESS_EXACT },
		{ "func", false, false, true, VIEW_ADDRESS_EXACT },
		{ "parent_ip", false, false, true, VIEW_ADDRESS_RETURN },
		{ "ret_ip", false, false, true, VIEW_ADDRESS_RETURN },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == size && !memcmp(name, known[i].name, size) &&
		    (is_context	 ? known[i].in_context
		     : is_kernel ? known[i].in_kernel_event
				 : known[i].in_event))
			return known[i].kind;
	return VIEW_ADDRESS_NONE;
}

void view_symbols_add(struct out *o, struct view_symbols *w, int64_t pid, uint64_t clock,
		      uint64_t address, enum view_address_kind kind)
{
	uint64_t call = address - (address && kind == VIEW_ADDRESS_RETURN);
	const char *name, *slash;
	struct module_location at;
	bool is_mapped;

	if (!w)
		return;
	is_mapped = modules_find(w->modules, pid, clock, call, &at);
	name = is_mapped ? symbols_find_written(w->symbols, at.path, at.build_id, at.offset)
			 : kallsyms_find(w->kallsyms, call);
	if (!is_mapped && !name)
		return;
	out_room(o);
	out_literal(o, " (");
	if (name) {
		out_text(o, name, strlen(name));
	} else {
		slash = strrchr(at.path, '/');
		slash = slash ? slash + 1 : at.path;
		out_text(o, slash, strlen(slash));
		out_byte(o, '+');
		out_base(o, at.offset, 16);
	}
	out_byte(o, ')');
}
