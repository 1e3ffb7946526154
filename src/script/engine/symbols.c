/* SPDX-License-Identifier: MIT */
/* script/engine/symbols.c - names of addresses as text: see symbols.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script/engine/symbols.h"
#include "symbol/demangle.h"

/* name+0x10/0x40 [module] */
static void add_data(struct text *to, const char *name, uint64_t offset, uint64_t size,
		     const char *module)
{
	text_addf(to, "%s+0x%" PRIx64, name, offset);
	if (size)
		text_addf(to, "/0x%" PRIx64, size);
	text_addf(to, " [%s]", module);
}

void symbol_add_kernel(struct text *to, struct kallsyms *k, uint64_t address, char what)
{
	uint64_t begin, end;
	const char *name = kallsyms_find_in(k, address, &begin, &end), *module;
	char in[64] = "kernel", function[256];

	if (!name)
		return;
	module = strstr(name, " [");
	snprintf(function, sizeof function, "%.*s", (int)(module ? module - name : 255), name);
	if (module)
		snprintf(in, sizeof in, "%.*s", (int)strcspn(module + 2, "]"), module + 2);
	if (what == 's')
		text_addf(to, "%s", function);
	else if (what == 'd')
		add_data(to, function, address - begin, end ? end - begin : 0, in);
	else if (what == 'm')
		text_addf(to, "%s", in);
}

static void add_line(struct text *to, struct symbol_file *file, uint64_t at)
{
	const struct symbol_frame *frames;

	if (symbol_frames(file, at, &frames) && frames[0].at.source)
		text_addf(to, "%s:%" PRIu32, frames[0].at.source, frames[0].at.line);
}

void symbol_add_user(struct text *to, struct symbols *s, const char *path, const char *build_id,
		     uint64_t offset, char what)
{
	const struct symbol_function *f;
	struct symbol_file *file;
	char written[512]; /* as the source has it: a name of C++ or Rust */
	uint64_t at;

	if (what == 'm') {
		text_addf(to, "%s", path);
		return;
	}
	file = symbols_file(s, path, build_id);
	if (!file || !symbol_address(file, offset, &at))
		return;
	if (what == 'l') {
		add_line(to, file, at);
		return;
	}
	f = symbol_at(file, at);
	if (!f)
		return;
	if (!demangle(f->name, written, sizeof written))
		snprintf(written, sizeof written, "%s", f->name);
	if (what == 's')
		text_addf(to, "%s", written);
	else if (what == 'd')
		add_data(to, written, at - f->begin, f->end - f->begin, path);
}
