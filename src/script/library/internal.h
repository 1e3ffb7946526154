/* SPDX-License-Identifier: MIT */
/*
 * library/internal.h - what the files of this room share.
 *
 * What the library keeps of a running script lies in struct library, which the script's values
 * own.
 */
#ifndef SCRIPT_LIBRARY_INTERNAL_H
#define SCRIPT_LIBRARY_INTERNAL_H

#include <string.h>

#include "script/values/regex.h"
#include "script/vm/vm.h"

struct indents;

struct library {
	struct text text;		 /* scratch: for the output or result of one call */
	struct text matched;		 /* the text of the last =~ that matched */
	struct script_regex *searched;	 /* its expression; NULL: `match` is known */
	struct script_regex_match match; /* the place of it, found when it is asked for */
	struct text tokens;		 /* the string that tokenize() goes through */
	size_t next_token;
	struct indents *indents;
	uint64_t random;
};

/* The library of @vm; never NULL: without memory it is one that cannot keep anything. */
struct library *library_of(struct script_vm *vm);
/* Its scratch text, empty. */
struct text *library_text(struct script_vm *vm);

#define HELP(name)                                                                                 \
	uint64_t name(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,    \
		      uint64_t r5)
#define UNUSED3 (void)r3, (void)r4, (void)r5
#define UNUSED2 (void)r2, UNUSED3
#define UNUSED1 (void)r1, UNUSED2
#define UNUSED0 (void)vm, UNUSED1

/* Declarations of all C functions of builtins.def: library_strlen and so on. */
#define CELL(name, signature, cell)
#define SITE(name, signature)
#define CALL(name, signature, properties, needs, function) script_help library_##function;
#include "script/library/builtins.def"
#undef CELL
#undef SITE
#undef CALL

static inline const struct script_string *string_of(uint64_t r)
{
	return (const struct script_string *)(uintptr_t)r;
}

static inline uint64_t of_string(const struct script_string *s)
{
	return (uint64_t)(uintptr_t)s;
}

static inline const union script_cell *cells_of(uint64_t r)
{
	return (const union script_cell *)(uintptr_t)r;
}

static inline uint64_t new_text(struct script_vm *vm, const char *bytes, size_t size)
{
	const struct script_string *s = values_string(script_vm_values(vm), bytes, size);

	if (__builtin_expect(size && !s->size, 0))
		script_raise(vm, "no memory for a string (limit: -D MAXMEMORY)");
	return of_string(s);
}

/* A number of the frame of the event. */
static inline int64_t standard_long(struct script_vm *vm, enum script_standard which)
{
	const struct script_frame *f = script_vm_frame(vm);

	return f ? f->standard[which].number : 0;
}

/* Writes to the output. */
void library_write(struct script_vm *vm, const char *bytes, size_t size);
/* The same for names from files: see library_add_shown. */
void library_write_shown(struct script_vm *vm, const char *bytes, size_t size);

/*
 * library_add_shown - append the string @bytes to the text that is written.
 *
 * If people read it (is_shown), characters that a terminal must not be given are escaped, except
 * newlines and tabs, and except a string of the script's own text, as "\033[1m": a string of an event
 * can do no more than the script itself does.
 */
void library_add_shown(struct script_vm *vm, struct text *to, const char *bytes, size_t size);

/* library/format.c: a format with its arguments as text; -EINVAL: an error was raised. */
int library_format(struct script_vm *vm, struct text *to, const struct script_format *f,
		   const union script_cell *cells);
/* The same for a text that is written. */
int library_format_shown(struct script_vm *vm, struct text *to, const struct script_format *f,
			 const union script_cell *cells);
void library_escape(struct text *to, const char *bytes, size_t size);
/* Escaped, and in quotes, as JSON. */
void library_json_string(struct text *to, const char *bytes, size_t size);

/* library/table.c */
void library_table(struct script_vm *vm, uint32_t iteration, const char *columns, bool is_plot,
		   int64_t limit);
void library_raise(struct script_vm *vm, enum values_error error, uint32_t array);

/* library/indent.c */
void indents_free(struct indents *i);

#endif
