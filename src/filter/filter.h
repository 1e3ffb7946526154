/* SPDX-License-Identifier: MIT */
/*
 * filter/filter.h - which events are wanted: a filter linked to one event class, and run.
 *
 * duet compiles an expression to symbolic byte code (filter/compile.h, abi/filter.h).  Whoever has
 * events links it to each class of them: names become places, types are settled, everything is
 * checked. Then it is run for each event.  What always holds of a linked filter:
 *
 *   (1) it is one block of memory without pointers: it may be moved and copied, f->size bytes of it
 *   (2) every jump leads forward: running it takes at most f->n_steps steps
 *   (3) each step finds on the stack what it expects, and room
 *
 * Linking and running allocate nothing, lock nothing and call nothing but mem*(): libduet does both
 * inside a traced program, in signal handlers too.  The byte code may come from anybody.
 *
 * Numbers: integers from -2^63 to 2^64 - 1, exact; see filter/number.h.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/filter.h"

/* Room for what can be linked; an expression that needs more, because it names thousands of labels,
 * is refused. */
enum { FILTER_LINKED_BYTES_MAX = 8192 };

struct filter_value {
	union {
		uint64_t bits; /* integers */
		double real;
		const char *text;
	};
	uint64_t more; /* integers: 1 if it is negative; texts: bytes */
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

/* Where a value comes from. */
enum { FILTER_PARTS_MAX = 128, FILTER_FROM_SOURCE = 255 };
struct filter_location {
	uint8_t type;	 /* enum filter_type */
	uint8_t from;	 /* the packed payload, behind so many parts of varying size; or
			    FILTER_FROM_SOURCE */
	bool is_enum;	 /* an integer that has labels */
	bool is_signed;	 /* its labels are */
	uint32_t offset; /* bytes behind them; source: the number it is asked for by */
	uint64_t more;	 /* FILTER_CHARS: bytes; elements of sequences: index + 1, offset is the
			    count's */
	uint32_t tag;	 /* for label(): its finder's own */
};

struct filter_label {
	const char *text;
	size_t size;
	uint64_t first, last;	/* what it stands for, two's complement */
	uint32_t i;		/* 0 asks for the first; counts on */
	const char *rest, *end; /* label()'s own */
};

enum filter_error {
	FILTER_FINE,
	FILTER_BROKEN, /* no byte code, or no schema, of ours */
	FILTER_TOO_LARGE,
	FILTER_NO_FIELD,
	FILTER_NO_CONTEXT,
	FILTER_NO_ELEMENT, /* the array is shorter */
	FILTER_IS_MANY,	   /* an array or struct, where a value is needed */
	FILTER_IS_ONE,	   /* an element of what is no array */
	FILTER_NO_LABEL,
	FILTER_IS_TEXT,		   /* where a number is needed */
	FILTER_IS_NUMBER,	   /* where a text is needed */
	FILTER_IS_REAL,		   /* where an integer is needed */
	FILTER_LABEL_NOT_CONSTANT, /* an enumeration and a text that is no constant */
};

struct filter_problem {
	enum filter_error why;
	char name[ABI_FILTER_NAME_MAX + 1]; /* whose; "" if nothing of a name */
};

/* Who knows an event class. */
struct filter_names {
	/* Tells where a field or context is.  @name is not NUL-terminated: `a`, `a[3]`, `a.b`. */
	enum filter_error (*find)(const struct filter_names *n, bool is_context, const char *name,
				  size_t size, struct filter_location *place);
	/* The next label of an enumeration; false at the end. */
	bool (*label)(const struct filter_names *n, const struct filter_location *place,
		      struct filter_label *label);
};

/* Who gives values while a filter runs: what does not lie in a packed payload. */
struct filter_source {
	/* False: there is none in this event; then the filter does not match. */
	bool (*get)(const struct filter_source *s, uint32_t number, struct filter_value *v);
};

struct filter_step {
	uint8_t op;
	uint8_t type; /* as in filter_location */
	uint8_t from;
	uint8_t how;
	uint32_t offset;
	uint64_t value;
};

struct filter_part {		/* a part of varying size */
	uint32_t before;	/* bytes between the part before and this one */
	uint32_t element_bytes; /* a u32, then so many bytes times it; 0: a string */
};

struct filter {
	uint32_t size; /* bytes, all of it */
	uint16_t n_steps;
	uint16_t n_parts; /* behind which something is looked up */
	uint32_t parts;	  /* where they are, from the beginning of the filter */
	uint32_t sources; /* bit i: source i is asked; 31: or above */
	struct filter_step steps[];
};
_Static_assert(sizeof(struct filter_step) == 16 && sizeof(struct filter) == 16,
	       "aligned, without holes");

/*
 * filter_link - make byte code fit for one event class.
 *
 * @f: room of @capacity bytes, aligned to 8: FILTER_LINKED_BYTES_MAX.  f->size tells what is used.
 * @code: @size bytes that anybody may have written, and may still be writing.
 * @problem: why not; may be NULL.
 *
 * Any thread, any signal handler.  False if the code is broken, or does not fit the event class:
 * then
 * @f holds nothing of use.
 */
bool filter_link(struct filter *f, size_t capacity, const void *code, size_t size,
		 const struct filter_names *names, struct filter_problem *problem);

/*
 * filter_run - whether an event is wanted.
 *
 * @payload: @size bytes, packed as the schema says that @f was linked to (filter/payload.h); NULL
 * if everything comes from @source.  Nothing is read beyond it, whatever it holds.
 * @source: NULL if f->sources is 0.
 *
 * A value the event does not have, once it is needed, makes it false.
 */
bool filter_run(const struct filter *f, const void *payload, size_t size,
		const struct filter_source *source);

#endif
