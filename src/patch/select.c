/* SPDX-License-Identifier: MIT */
/*
 * patch/select.c - patterns on files and their functions: FILE:FUNCTION, FILE:@SOURCE, `!` excludes.
 *
 * FILE matches the last component of the path, or the library's own name (DT_SONAME): libstdc++.so.6
 * is a link to a file of another name.
 */
#include "patch/internal.h"

#include <string.h>

#include "rules/pattern.h"

static const char *without_mark(const char *pattern)
{
	return pattern + (*pattern == '!');
}

static bool matches(const char *glob, const char *end, const char *text)
{
	return pattern_glob(glob, end, text, text + strlen(text));
}

bool patch_file_is(const char *pattern, const char *path, const char *soname)
{
	const char *file = without_mark(pattern), *colon = strchr(file, ':');
	const char *slash = strrchr(path, '/');

	if (!colon)
		return false;
	return matches(file, colon, slash ? slash + 1 : path) || matches(file, colon, path) ||
	       (*soname && matches(file, colon, soname));
}

bool patch_selects(const struct patch_file *f, const struct patch_function *fn, const char *pattern)
{
	const char *glob = strchr(without_mark(pattern), ':');
	const struct symbol_function *s;
	const struct patch_export *e;
	uint32_t n;

	if (!glob)
		return false;
	glob++;
	if (*glob == '@')
		return symbol_source_is(f->names, fn->address, glob + 1);
	if (!strcmp(glob, "*"))
		return true;
	s = patch_named(f, fn->address);
	e = patch_exports(f, fn->address, &n);
	for (uint32_t i = 0; i < n; i++)
		if (matches(glob, glob + strlen(glob), e[i].name))
			return true;
	return s && symbol_is(f->names, s, glob);
}

bool patch_function_is(const struct patch_file *f, uint32_t i, const char *pattern)
{
	assert(i < f->n_functions);
	return patch_file_is(pattern, f->path, f->soname) &&
	       patch_selects(f, &f->functions[i], pattern);
}

bool patch_mark_is(const struct patch_file *f, const struct patch_mark *m, const char *pattern)
{
	const char *glob = strchr(pattern, ':'), *colon;

	if (!glob || !patch_file_is(pattern, f->path, f->soname))
		return false;
	glob++;
	colon = strchr(glob, ':');
	return colon && matches(glob, colon, m->provider) &&
	       matches(colon + 1, colon + strlen(colon), m->name);
}
