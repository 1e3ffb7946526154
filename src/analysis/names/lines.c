/* SPDX-License-Identifier: MIT */
/* analysis/names/lines.c - see lines.h. */
#include "analysis/names/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"

struct lines {
	struct symbols *symbols;
};

struct lines *lines_open(void)
{
	struct lines *l = calloc(1, sizeof *l);

	if (l)
		l->symbols = symbols_open();
	if (l && l->symbols)
		return l;
	free(l);
	return NULL;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	symbols_close(l->symbols);
	free(l);
}

const char *lines_of(struct symbols *s, const char *path, const char *build_id, uint64_t address,
		     char buffer[LINE_BYTES])
{
	struct symbol_file *f = *path == '/' ? symbols_file(s, path, build_id) : NULL;
	struct symbol_line at = { NULL, 0, 0 };
	const char *slash;

	*buffer = 0;
	if (f && symbol_has_dwarf(f))
		at = symbol_line_of(f, address);
	if (!at.source || !at.line)
		return buffer;
	slash = strrchr(at.source, '/');
	snprintf(buffer, LINE_BYTES, "%.80s:%" PRIu32, slash ? slash + 1 : at.source, at.line);
	return buffer;
}

const char *lines_text(struct lines *l, const char *path, const char *build_id, uint64_t address,
		       char buffer[LINE_BYTES])
{
	*buffer = 0;
	return l ? lines_of(l->symbols, path, build_id, address, buffer) : buffer;
}

void lines_build_id(const uint8_t *id, size_t size, char *text, size_t room)
{
	size_t n = 0;

	*text = 0;
	for (size_t i = 0; i < size && n + 3 <= room; i++)
		n += (size_t)snprintf(text + n, room - n, "%02x", id[i]);
}
