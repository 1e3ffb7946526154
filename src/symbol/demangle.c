/* SPDX-License-Identifier: MIT */
/*
 * symbol/demangle.c - libiberty's demanglers, bounded, and a table of their results.
 *
 * libiberty knows the Itanium C++ ABI, and both manglings of Rust.  __cxa_demangle() of libstdc++
 * would be the obvious choice, but nothing bounds its result: a name of 200 bytes, repeating itself
 * by substitutions, can have one of gigabytes.  libiberty hands over its result in pieces, and the
 * work ends by longjmp() when they are too long.  It holds no memory then, except for some bytes
 * of a Rust name that is not ASCII.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rules/pattern.h"

enum { NAME_MAX_BYTES = 8192 };

/* ---------------------------------------------------------------- one name */

struct result {
	char *to;
	size_t used, size;
	jmp_buf too_long;
};

static void on_piece(const char *piece, size_t n, void *arg)
{
	struct result *r = arg;

	if (n >= r->size - r->used)
		longjmp(r->too_long, 1);
	if (n) /* the piece of an empty name is NULL */
		memcpy(r->to + r->used, piece, n);
	r->used += n;
}

/* libiberty's functions return 0 for a name that is not theirs. */
static bool attempt(int (*by)(const char *, int, demangle_callbackref, void *), const char *name,
		    char *to, size_t size)
{
	struct result r = { .to = to, .size = size };

	if (setjmp(r.too_long))
		return false;
	if (!by(name, DMGL_PARAMS | DMGL_ANSI, on_piece, &r) || !r.used)
		return false;
	to[r.used] = 0;
	return true;
}

bool demangle(const char *name, char *to, size_t size)
{
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES || !size)
		return false;
	/* Rust's older names are names of C++, too: ask for Rust first. */
	return attempt(rust_demangle_callback, name, to, size) ||
	       (name[1] == 'Z' && attempt(cplus_demangle_v3_callback, name, to, size));
}

/* ---------------------------------------------------------------- patterns */

static bool matches(const char *pattern, const char *name, size_t size)
{
	return pattern_glob(pattern, pattern + strlen(pattern), name, name + size);
}

/* The size of "ns::operator()(int) const" up to the parenthesis that the last one closes. */
static size_t size_without_parameters(const char *written)
{
	const char *end = strrchr(written, ')');
	int depth = 0;

	for (const char *p = end; p && p >= written; p--) {
		depth += (*p == ')') - (*p == '(');
		if (!depth)
			return (size_t)(p - written);
	}
	return strlen(written);
}

bool demangled_is(const char *name, const char *written, const char *pattern)
{
	if (matches(pattern, name, strcspn(name, "@")))
		return true;
	return written && written != name &&
	       (matches(pattern, written, strlen(written)) ||
		matches(pattern, written, size_without_parameters(written)));
}

/* ---------------------------------------------------------------- the table */

struct entry {
	uint64_t hash;
	char *name;    /* NULL: free */
	char *written; /* NULL: it cannot be demangled */
};

struct demangled {
	struct entry *entries;
	size_t n, n_rooms; /* a power of two, at most half of them used */
	char text[DEMANGLED_MAX];
};

struct demangled *demangled_open(void)
{
	return calloc(1, sizeof(struct demangled));
}

void demangled_close(struct demangled *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_rooms; i++) {
		free(d->entries[i].name);
		free(d->entries[i].written);
	}
	free(d->entries);
	free(d);
}

static struct entry *find(const struct demangled *d, uint64_t hash, const char *name)
{
	size_t i = hash & (d->n_rooms - 1);

	while (d->entries[i].name &&
	       (d->entries[i].hash != hash || strcmp(d->entries[i].name, name) != 0))
		i = (i + 1) & (d->n_rooms - 1);
	return &d->entries[i];
}

static bool grow(struct demangled *d)
{
	struct demangled wider = { .n_rooms = d->n_rooms ? d->n_rooms * 2 : 1024 };

	if (d->n * 2 < d->n_rooms)
		return true;
	wider.entries = calloc(wider.n_rooms, sizeof *wider.entries);
	if (!wider.entries)
		return false;
	for (size_t i = 0; i < d->n_rooms; i++)
		if (d->entries[i].name)
			*find(&wider, d->entries[i].hash, d->entries[i].name) = d->entries[i];
	free(d->entries);
	d->entries = wider.entries;
	d->n_rooms = wider.n_rooms;
	return true;
}

const char *demangled_name(struct demangled *d, const char *name)
{
	uint64_t hash;
	struct entry *e;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || !grow(d))
		return name;
	hash = hash_bytes(name, strlen(name));
	e = find(d, hash, name);
	if (!e->name) {
		e->name = strdup(name);
		if (!e->name)
			return name;
		e->hash = hash;
		if (demangle(name, d->text, sizeof d->text))
			e->written = strdup(d->text);
		d->n++;
	}
	return e->written ? e->written : name;
}
