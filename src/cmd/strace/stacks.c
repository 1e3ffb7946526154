/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/stacks.c - the lines of -k: " > file(function+0xoffset) [0xaddress]".
 *
 * Files are found by the maps of the recording.  They grow while it is made: then they are read
 * again.
 */
#include "cmd/strace/stacks.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/public.h"
#include "symbol/symbol.h"
#include "trace/symbols/public.h"

static const uint64_t USER_END = 1ull << 56; /* behind all addresses of programs */

struct strace_stacks {
	const char *const *paths;
	int n_paths;
	struct modules *modules;
	struct symbols *symbols;
	uint64_t size; /* of the maps that were read */
	bool is_live;
	int n_waits;
	uint64_t waited_at; /* the size at the last wait */
};

int strace_stacks_open(struct strace_stacks **s, const char *const *paths, int n, bool is_live,
		       struct diag *d)
{
	*s = calloc(1, sizeof **s);
	if (*s)
		**s = (struct strace_stacks){
			.paths = paths, .n_paths = n, .is_live = is_live, .symbols = symbols_open()
		};
	if (*s && (*s)->symbols)
		return 0;
	strace_stacks_close(*s);
	*s = NULL;
	return diag_fail(d, -ENOMEM, "no memory for call stacks");
}

void strace_stacks_close(struct strace_stacks *s)
{
	if (!s)
		return;
	modules_close(s->modules);
	symbols_close(s->symbols);
	free(s);
}

/* Reads the maps again if there are more. */
static bool read_more(struct strace_stacks *s)
{
	uint64_t size = modules_size(s->paths, s->n_paths);
	struct modules *m;
	struct diag d = { "" };

	if ((s->modules && size == s->size) || modules_open(&m, s->paths, s->n_paths, &d))
		return false;
	modules_close(s->modules);
	s->modules = m;
	s->size = size;
	return true;
}

/* While it is recorded, the maps are written a little after the first events: they are waited for once,
 * until they grow again. */
static bool may_wait(struct strace_stacks *s)
{
	enum { TIMES = 10, PAUSE_MS = 20 };

	if (!s->is_live || (s->n_waits && s->waited_at == s->size && s->n_waits >= TIMES))
		return false;
	s->n_waits = s->waited_at == s->size ? s->n_waits + 1 : 1;
	s->waited_at = s->size;
	poll(NULL, 0, PAUSE_MS);
	return true;
}

static bool find(struct strace_stacks *s, int64_t pid, uint64_t clock, uint64_t address,
		 struct module_location *at)
{
	if (s->modules && modules_find(s->modules, pid, clock, address, at))
		return true;
	do {
		if (read_more(s) && modules_find(s->modules, pid, clock, address, at))
			return true;
	} while (may_wait(s));
	return false;
}

static void add_frame(struct strace_stacks *s, struct out *o, int64_t pid, uint64_t clock,
		      uint64_t address, bool is_innermost)
{
	uint64_t before = address && !is_innermost; /* a call may be the last instruction */
	const struct symbol_function *f = NULL;
	struct symbol_file *file;
	struct module_location at;
	uint64_t own;
	char text[64];

	out_room(o);
	if (!find(s, pid, clock, address - before, &at)) {
		snprintf(text, sizeof text, " > [0x%" PRIx64 "]", address);
		out_text(o, text, strlen(text));
		return out_byte(o, '\n');
	}
	file = symbols_file(s->symbols, at.path, at.build_id);
	own = at.offset;
	if (file && symbol_address(file, at.offset, &own))
		f = symbol_at(file, own);
	out_literal(o, " > ");
	out_text(o, at.path, strlen(at.path));
	out_byte(o, '(');
	if (f) {
		const char *name = symbol_written(s->symbols, f->name);

		out_text(o, name, strlen(name));
		snprintf(text, sizeof text, "+0x%" PRIx64, own + before - f->begin);
		out_text(o, text, strlen(text));
	}
	snprintf(text, sizeof text, ") [0x%" PRIx64 "]", own + before);
	out_text(o, text, strlen(text));
	out_byte(o, '\n');
}

void strace_stacks_add(struct strace_stacks *s, struct out *o, int64_t pid,
		       const struct pairing_item *item)
{
	int n = callstack_without_loop(item->stack, item->n_stack);

	assert(item->n_stack <= PAIRING_FRAMES_MAX);
	/* Code without frame pointers has other values in the register: there is no code at them. */
	for (int i = 0; i < n && item->stack[i] && item->stack[i] < USER_END; i++)
		add_frame(s, o, pid, item->clock, item->stack[i], !i);
}
