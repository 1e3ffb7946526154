/* SPDX-License-Identifier: MIT */
/*
 * filter/filter.h - link a filter to one event class, and run it on events.
 *
 * duet compiles an expression to symbolic byte code (filter/compile.h, abi/filter.h).  The party
 * that has the events links it to each of their classes: names become locations, types are fixed,
 * all is checked.  Then the filter runs for each event.  Invariants of a linked filter:
 *
 *   (1) it is one block of memory without pointers: f->size bytes of it may be moved and copied
 *   (2) every jump leads forward: a run takes at most f->n_steps steps
 *   (3) each step finds the values that it expects on the stack, and room for its result
 *
 * Linking and running allocate nothing, lock nothing and call only mem*(): libduet does both inside
 * a traced program, also in signal handlers.  The byte code is untrusted.
 *
 * Numbers: integers from -2^63 to 2^64 - 1, exact; see filter/number.h.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/filter.h"

/* Room for a linked filter.  An expression that needs more, because it names thousands of labels,
 * is refused. */
enum { FILTER_LINKED_BYTES_MAX = 8192 };

struct filter_value {
	union {
		uint64_t bits; /* integers */
		double real;
		const char *text;
	};
	uint64_t more; /* integers: 1 if negative; texts: bytes */
};

enum filter_type {
	FILTER_I8,
	FILTER_I16,
	FILTER_I32,
	FILTER_I64,
	FILTER_U8,
	FILTER_U16,
	FILTER_U32,
	FILTER_U64,
	FILTER_INTEGER, /* only from a source */
	FILTER_F32,
	FILTER_F64,
	FILTER_STRING,
	FILTER_CHARS,
};

/* The location of a value. */
enum { FILTER_PARTS_MAX = 128, FILTER_FROM_SOURCE = 255 };
struct filter_location {
	uint8_t type;	 /* enum filter_type */
	uint8_t from;	 /* the packed payload, after so many parts of varying size; or
			    FILTER_FROM_SOURCE */
	bool is_enum;	 /* an integer that has labels */
	bool is_signed;	 /* for its labels */
	uint32_t offset; /* bytes after these parts; source: the number of the value */
	uint64_t more;	 /* FILTER_CHARS: bytes; elements of sequences: index + 1, offset is the
			    count's */
	uint32_t tag;	 /* for label(): private to the struct filter_names */
};

struct filter_label {
	const char *text;
	size_t size;
	uint64_t first, last;	/* its values, two's complement */
	uint32_t i;		/* 0 for the first label; counts on */
	const char *rest, *end; /* private to label() */
};

enum filter_error {
	FILTER_FINE,
	FILTER_BROKEN, /* the byte code or the schema is not valid */
	FILTER_TOO_LARGE,
	FILTER_NO_FIELD,
	FILTER_NO_CONTEXT,
	FILTER_NO_ELEMENT, /* the array is shorter */
	FILTER_IS_MANY,	   /* an array or struct where a value is needed */
	FILTER_IS_ONE,	   /* an element of a value that is no array */
	FILTER_NO_LABEL,
	FILTER_IS_TEXT,		   /* text where a number is needed */
	FILTER_IS_NUMBER,	   /* a number where text is needed */
	FILTER_IS_REAL,		   /* a real where an integer is needed */
	FILTER_LABEL_NOT_CONSTANT, /* an enumeration compared with text that is no constant */
};

struct filter_problem {
	enum filter_error why;
	char name[ABI_FILTER_NAME_MAX + 1]; /* of the field or context; "" if none is involved */
};

/* The names of an event class. */
struct filter_names {
	/* Finds a field or context.  @name is not NUL-terminated: `a`, `a[3]`, `a.b`. */
	enum filter_error (*find)(const struct filter_names *n, bool is_context, const char *name,
				  size_t size, struct filter_location *place);
	/* Reads the next label of an enumeration; false at the end. */
	bool (*label)(const struct filter_names *n, const struct filter_location *place,
		      struct filter_label *label);
};

/* The values that do not lie in a packed payload, while a filter runs. */
struct filter_source {
	/* False: this event does not have the value, and the filter does not match. */
	bool (*get)(const struct filter_source *s, uint32_t number, struct filter_value *v);
};

struct filter_step {
	uint8_t op;
	uint8_t type; /* as in filter_location */
	uint8_t from;
	uint8_t mode;
	uint32_t offset;
	uint64_t value;
};

struct filter_part {		/* a part of varying size */
	uint32_t before;	/* bytes between the part before and this one */
	uint32_t element_bytes; /* a u32, then so many bytes times it; 0: a string */
};

struct filter {
	uint32_t size; /* bytes, including steps, parts and texts */
	uint16_t n_steps;
	uint16_t n_parts; /* parts that the filter walks over */
	uint32_t parts;	  /* offset of the parts in the filter */
	uint32_t sources; /* bit i: source i is read; 31: that or any above */
	struct filter_step steps[];
};
_Static_assert(sizeof(struct filter_step) == 16 && sizeof(struct filter) == 16,
	       "aligned, without holes");

/*
 * filter_link - link byte code to one event class.
 *
 * @f: receives the filter; room of @capacity bytes, aligned to 8: FILTER_LINKED_BYTES_MAX.  f->size
 * is the room used.
 * @code: @size untrusted bytes, which another process may still be writing.
 * @names: the names of the event class.
 * @problem: receives the reason of a failure; may be NULL.
 *
 * Any thread or signal handler.  Returns false if the code is not valid or does not fit the event
 * class; then the content of @f is undefined.
 */
bool filter_link(struct filter *f, size_t capacity, const void *code, size_t size,
		 const struct filter_names *names, struct filter_problem *problem);

/*
 * filter_run - whether a filter accepts an event.
 *
 * @payload: @size bytes, packed as in the schema that @f was linked to (filter/payload.h); NULL if
 * all values come from @source.  Nothing is read beyond it, whatever its content.
 * @source: NULL if f->sources is 0.
 *
 * If the filter needs a value that the event does not have, the result is false.
 */
bool filter_run(const struct filter *f, const void *payload, size_t size,
		const struct filter_source *source);

/* filter_run_words - the same for a payload of up to 32 bytes that was just stored as @words[4]. */
bool filter_run_words(const struct filter *f, const uint64_t *words, size_t size,
		      const struct filter_source *source);

/* filter_reads_words - whether it needs nothing but integers in the first @size bytes. */
bool filter_reads_words(const struct filter *f, size_t size);

#endif
