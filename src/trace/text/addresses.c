/* SPDX-License-Identifier: MIT */
/* trace/text/addresses.c - resolves addresses of programs by their maps, those of the kernel by
 * kallsyms. */
#include "trace/text/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "symbol/symbol.h"
#include "trace/symbols/public.h"
#include "trace/text/places.h"

struct addresses {
	struct places *places;
	struct kallsyms *kallsyms;
};

int addresses_open(struct addresses **symbols, const char *const *paths, int n, struct diag *d)
{
	struct addresses *w = calloc(1, sizeof *w);
	int err;

	*symbols = NULL;
	if (!w)
		return diag_fail(d, -ENOMEM, "no memory");
	w->kallsyms = kallsyms_open(paths, n);
	err = w->kallsyms ? places_open(&w->places, paths, n, d)
			  : diag_fail(d, -ENOMEM, "no memory");
	if (err) {
		addresses_close(w);
		return err;
	}
	*symbols = w;
	return 0;
}

void addresses_close(struct addresses *w)
{
	if (!w)
		return;
	places_close(w->places);
	kallsyms_close(w->kallsyms);
	free(w);
}

enum address_kind address_kind_of(const char *name, size_t size, bool is_context, bool is_kernel)
{
	static const struct {
		const char *name;
		bool in_context, in_event, in_kernel_event;
		enum address_kind kind;
	} known[] = {
		{ "callstack_user", true, true, true, ADDRESS_RETURN },
		{ "callstack_kernel", true, true, true, ADDRESS_RETURN },
		{ "ip", true, false, false, ADDRESS_RETURN },
		{ "ip", false, false, true, ADDRESS_EXACT },
		{ "func", false, false, true, ADDRESS_EXACT },
		{ "parent_ip", false, false, true, ADDRESS_RETURN },
		{ "ret_ip", false, false, true, ADDRESS_RETURN },
		{ "uaddr", false, false, true, ADDRESS_DATA }, /* of futex() */
		{ "uaddr2", false, false, true, ADDRESS_DATA },
	};

	if (!size ||
	    !strchr("cifpru", *name)) /* their first letters: a fast test, run for each field */
		return ADDRESS_NONE;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == size && !memcmp(name, known[i].name, size) &&
		    (is_context	 ? known[i].in_context
		     : is_kernel ? known[i].in_kernel_event
				 : known[i].in_event))
			return known[i].kind;
	return ADDRESS_NONE;
}

static void add_variable(struct out *o, const struct addresses *w, int64_t pid, uint64_t clock,
			 uint64_t address)
{
	struct text name = { 0 };

	if (places_name(w->places, pid, clock, address, &name)) {
		out_room(o);
		out_literal(o, " (");
		out_text(o, name.bytes, name.size);
		out_byte(o, ')');
	}
	text_fini(&name);
}

void addresses_add(struct out *o, struct addresses *w, int64_t pid, uint64_t clock,
		   uint64_t address, enum address_kind kind)
{
	uint64_t call = address - (address && kind == ADDRESS_RETURN);
	const char *name, *slash;
	struct module_location at;
	bool is_mapped;

	if (!w)
		return;
	if (kind == ADDRESS_DATA) {
		add_variable(o, w, pid, clock, address);
		return;
	}
	is_mapped = modules_find(places_modules(w->places), pid, clock, call, &at);
	name = is_mapped ? symbols_find_written(places_symbols(w->places), at.path, at.build_id,
						at.offset)
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
