/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/source.h - texts of a script, places in them, and messages that show the place.
 *
 * All of a script is allocated from one arena and freed at once, so nothing of it is freed alone.
 *
 * A message has a kind, what is wrong, the place as FILE:LINE:COLUMN, the source line and a caret:
 *
 *	semantic error: `count` is a string here, and a number elsewhere
 *	 at top.stp:3:9
 *	    print(count)
 *	          ^
 *	 first used as a number at top.stp:2:3
 *	    count++
 *	    ^
 */
#ifndef SCRIPT_SYNTAX_SOURCE_H
#define SCRIPT_SYNTAX_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

struct script_arena {
	struct script_arena_block *blocks;
	size_t size, most; /* bytes in use, and the limit; 0: 64 MiB */
	bool failed;	   /* a request could not be served */
};

/* script_allocate - @size zeroed bytes, aligned to 8, valid until script_arena_fini(); or NULL and
 * `failed`. */
void *script_allocate(struct script_arena *a, size_t size);
/* script_copy - a copy of @size bytes, with a NUL behind them. */
char *script_copy(struct script_arena *a, const char *bytes, size_t size);
void script_arena_fini(struct script_arena *a);

/* One text: a file, the argument of -e, the library, or the text of a macro. */
struct script_source {
	const char *name; /* as messages show it: "top.stp", "<command line>" */
	const char *text; /* with a NUL behind it */
	size_t size;
	bool is_library;  /* unused probes and variables of it are no warnings */
	const char *path; /* the directory and file as opened; NULL: no file */
};

struct script_place {
	uint32_t source; /* index in struct script_sources */
	uint32_t at;	 /* byte */
	uint32_t size;	 /* bytes; 0: unknown */
};

struct script_sources {
	struct script_source *at;
	uint32_t n, n_rooms;
	struct script_arena *arena;
};

/* script_sources_add - the index of a new source, whose text and name are copied; or -ENOMEM. */
int64_t script_sources_add(struct script_sources *s, const char *name, const char *text,
			   size_t size);
/* script_place_line - line and column, from 1, of a place. */
void script_place_line(const struct script_sources *s, struct script_place place, uint32_t *line,
		       uint32_t *column);

/* Messages of one run of the front end. */
struct script_messages {
	const struct script_sources *sources;
	struct text text; /* all messages */
	uint32_t n_errors, n_warnings;
	uint32_t most_errors;	  /* 0: 20; behind it only a count is added */
	bool warnings_are_errors; /* -W */
	bool hides_warnings;	  /* -w */
	uint64_t seen[64];	  /* hashes of messages, so that none is repeated */
	uint32_t n_repeated;
	bool is_silent;			 /* the last message was not shown: nor are its notes */
	struct script_place first_place; /* of the first error */
	char first[512];		 /* its text without kind and place */
};

/*
 * script_error, script_warning - add a message for @place.
 *
 * @kind: "parse error", "semantic error"; @format: one line, without a full stop.
 * Returns -EINVAL (script_warning: 0), so that a caller can return it.
 */
int script_error(struct script_messages *m, struct script_place place, const char *kind,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
int script_warning(struct script_messages *m, struct script_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* script_note - another place that belongs to the message before: " first used at ...". */
void script_note(struct script_messages *m, struct script_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* script_messages_end - add how many messages were not shown. */
void script_messages_end(struct script_messages *m);

/* The nearest of the names offered, for "did you mean": zeroed but for @wanted. */
struct script_nearest {
	const char *wanted;
	size_t wanted_size;
	char best[128];
	unsigned distance;
};
void script_nearest_try(struct script_nearest *n, const char *name);
/* " (did you mean `x`?)", or "": valid until the next call for @n. */
const char *script_nearest_text(struct script_nearest *n, char text[160]);

#endif
