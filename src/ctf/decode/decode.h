/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/decode.h - decodes the bytes of a packet to events and fields.
 *
 * Positions are in bits from the begin of the packet.  No byte at or after `end` is read,
 * whatever the packet contains: a field that would reach beyond it ends the decoding.  There is
 * no object for each field: ctf_walk_next() returns one field at a time, in order, from its place
 * in the packet.
 */
#ifndef CTF_DECODE_DECODE_H
#define CTF_DECODE_DECODE_H

#include <string.h>

#include "ctf/decode/class.h"
#include "ctf/decode/link.h"

/* The position of a number of the packet context. */
struct ctf_location {
	uint64_t at_bits;
	uint32_t size_bits; /* 0: there is no such number */
	bool is_big;
};

struct ctf_packet_info {
	const struct ctf_stream_class *stream;
	uint64_t body_bits; /* where events begin */
	uint64_t
		content_bits; /* where they end; at least body_bits, not checked against the file */
	uint64_t packet_bits; /* not less than content_bits */
	uint64_t begin, end;  /* by the clock */
	uint64_t sequence, discarded;
	uint64_t instance;
	uint32_t cpu; /* UINT32_MAX: unknown */
	/* byte of a uuid that is not that of the metadata, never at 0; 0: there is none */
	uint32_t other_uuid_at;
	bool has_size, has_begin, has_end, has_sequence, has_discarded;
	struct ctf_location content_at, packet_at, begin_at, end_at, sequence_at, discarded_at;
};

/* A packet may have this many elements of zero bits more than it has bits. */
enum { CTF_IDLE_MIN = 1024 };

/* Where and why decoding stopped. */
struct ctf_fault {
	uint64_t at_bits;
	uint64_t wanted_bits; /* 0: see `what` */
	const char *name;     /* of the field, may be NULL */
	const char *what;
};

/*
 * ctf_packet_read - decode the header and context of the packet that begins at @bytes.
 *
 * @size: bytes from there to the end of the file.
 * @slots: CTF_SLOTS of them, kept for the packet's events.
 *
 * Returns 0, or -EINVAL with the reason in @fault; then @info is undefined.
 */
int ctf_packet_read(const struct ctf_meta *m, const uint8_t *bytes, uint64_t size,
		    struct ctf_packet_info *info, uint64_t *slots, struct ctf_fault *fault);

/* One event in its packet.  All pointers are lent. */
struct ctf_event {
	const struct ctf_event_class *class;
	const uint8_t *packet;
	uint64_t body_bits; /* after the header */
	uint64_t end_bits;  /* of the event */
	uint64_t *slots;
};

/* Reads the events of one packet, one after another. */
struct ctf_reader {
	const struct ctf_stream_class *stream;
	const uint8_t *packet;
	uint64_t at, end; /* bits */
	uint64_t clock;	  /* of the last event; at first, of the packet */
	uint64_t idle;	  /* elements of zero bits that are still allowed: a limit on work */
	uint64_t *slots;
	/* Only a header with a complete time can be earlier than the event before it. */
	uint64_t first;	  /* the event that begins here has none before it */
	uint64_t back_at; /* behind the header of the first event that is earlier; 0: none */
	struct ctf_fault fault;
};

void ctf_reader_init(struct ctf_reader *r, const uint8_t *packet,
		     const struct ctf_packet_info *info, uint64_t *slots);

/* ctf_reader_next - the next event.  Returns 1; 0 at the end of the packet; -EINVAL with r->fault
 * if no valid event follows. */
int ctf_reader_next(struct ctf_reader *r, struct ctf_event *e);

/* The results of ctf_walk_next(). */
enum ctf_found {
	CTF_WALK_END,
	CTF_INT,   /* i */
	CTF_UINT,  /* u */
	CTF_REAL,  /* real */
	CTF_TEXT,  /* text, size */
	CTF_LABEL, /* enum: i or u, label (NULL: none matches) */
	CTF_OPEN,  /* struct: its members follow up to CTF_CLOSE */
	CTF_CLOSE,
	CTF_OPEN_ARRAY, /* u elements up to CTF_CLOSE_ARRAY */
	CTF_CLOSE_ARRAY,
};

struct ctf_value {
	uint8_t scope; /* enum ctf_scope */
	uint8_t base;  /* integers, enums */
	bool is_signed;
	bool is_hidden; /* a length that its sequence implies, or padding */
	bool is_single; /* CTF_REAL: from 32 bits */
	uint8_t size_bits;
	uint8_t encoding; /* CTF_TEXT: enum ctf_encoding; if not CTF_UTF8, see encoding.h */
	uint32_t name_size;
	const char *name; /* NULL: an element of an array */
	union {
		int64_t i;
		uint64_t u;
		double real;
	};
	const char *label; /* the first one */
	/* CTF_LABEL: if the value has more than one label, for ctf_enum_next(); else NULL */
	const struct ctf_type *labels;
	const char *text;
	size_t size; /* bytes of text, without its NUL */
};

struct ctf_walk {
	const struct ctf_op *ops;
	uint32_t op;
	const uint8_t *packet;
	uint64_t at, base, end;
	uint64_t *slots;
	uint64_t idle;
	uint64_t number; /* of the last LEB128 */
	uint64_t left;	 /* remaining elements of the current array */
	uint64_t element_at;
	int depth; /* nested loops */
	bool is_in_array;
	struct ctf_loop {
		uint32_t op;
		uint64_t left;
		uint64_t at; /* where this iteration began */
	} loops[CTF_LOOPS_MAX];
};

/* ctf_walk_event - begin to walk over the fields of @e, from @scope on: CTF_CONTEXT or
 * CTF_PAYLOAD. */
void ctf_walk_event(struct ctf_walk *w, const struct ctf_event *e, enum ctf_scope scope);
enum ctf_found ctf_walk_next(struct ctf_walk *w, struct ctf_value *v);

/*
 * ctf_walk_numbers - after CTF_OPEN_ARRAY: return the next elements at once, if they are integers.
 *
 * @form: receives the element as ctf_walk_next() returns it, except for its value.  @numbers: room for @most.
 *
 * Returns their number.  0: they are no integers, or none is left; ctf_walk_next() goes on.
 */
uint32_t ctf_walk_numbers(struct ctf_walk *w, struct ctf_value *form, uint64_t *numbers,
			  uint32_t most);

/* ctf_walk_bytes - the same for elements that are unsigned bytes: all that are left, as they lie in the
 * packet.  NULL: they are none. */
const uint8_t *ctf_walk_bytes(struct ctf_walk *w, size_t *n);

/* ctf_event_number, ctf_event_text - decode one field that ctf_class_find() returned.  False if
 * the event does not have it (another case of a variant), or if it has another kind or encoding. */
bool ctf_event_number(const struct ctf_event *e, const struct ctf_op *op, int64_t *value);
bool ctf_event_text(const struct ctf_event *e, const struct ctf_op *op, const char **text,
		    size_t *size);

/* ctf_event_value - decode the field of operation @op: the result is that of ctf_walk_next() for
 * it, and the begin of it for structs and arrays.  CTF_WALK_END if the event does not have it.
 * For a variant it is the selected option. */
enum ctf_found ctf_event_value(const struct ctf_event *e, const struct ctf_op *op,
			       struct ctf_value *v);

/* One field of an event that has only numbers and texts. */
struct ctf_column {
	union {
		int64_t i;
		uint64_t u;
		double real;
		const char *text;
	};
	size_t size; /* texts: bytes without the NUL; numbers: unchanged */
};

/*
 * ctf_event_columns - decode all fields of an event at once, except hidden ones.  It costs a
 * fraction of a walk over the fields.
 *
 * @columns: e->class->program->n_columns of them, at most CTF_COLUMNS_MAX.  program->columns[i] is
 *           the operation of each.
 *
 * False if the program has no loads (the event has structs, arrays of numbers, or variants): use
 * a walk.
 */
bool ctf_event_columns(const struct ctf_event *e, struct ctf_column *columns);

/* An event of ctf_reader_batch(), and of trace_batch(). */
struct ctf_row {
	int64_t time_ns;       /* from the Epoch */
	uint32_t class_number; /* class->number */
	uint32_t stream;       /* its number */
	uint32_t cpu;
	uint32_t reserved;
	const struct ctf_column *columns; /* all its fields: class->program->n_columns */
};

enum { CTF_ROWS = 128, CTF_ROW_COLUMNS = 1024, CTF_FAST_CLASSES = 64 };

/* A class whose events have a fixed number of bytes, then a fixed number of strings; and its
 * rows, whose numbers are not decoded yet. */
struct ctf_fast_class {
	const struct ctf_event_class *class;
	uint32_t number, n_columns, n_strings;
	uint32_t size;
	uint32_t n;
	/* not uint8_t, which may alias everything: the compiler would reload all variables after
	 * each store */
	uint16_t rows[CTF_ROWS];
};

/* Used only by ctf/decode/batch.c: the classes that occur often. */
struct ctf_fast_classes {
	const struct ctf_stream_class *stream; /* NULL: empty */
	const uint8_t *packet;
	uint32_t ids[CTF_FAST_CLASSES]; /* at id % CTF_FAST_CLASSES; UINT32_MAX: none */
	uint32_t n_used;
	uint8_t used[CTF_FAST_CLASSES]; /* indexes of `entries` in use */
	const uint8_t *body[CTF_ROWS];
	struct ctf_fast_class entries[CTF_FAST_CLASSES];
};

struct ctf_batch {
	/* Set by the caller: the time of a row is base_ns + clock; stream and cpu are copied into
	 * each row. */
	uint64_t base_ns;
	uint32_t stream, cpu;
	bool is_mixed; /* classes alternate: a guess for the next events */
	uint32_t n, n_columns;
	struct ctf_row rows[CTF_ROWS];
	uint64_t clock[CTF_ROWS];
	uint64_t from[CTF_ROWS]; /* where its header begins, in bits */
	struct ctf_column columns[CTF_ROW_COLUMNS];
	struct ctf_fast_classes fast;
};

/*
 * ctf_reader_batch - append the next events of the packet, with all their fields, to @rows.
 *
 * It stops when @rows is full, and before an event without columns, damage, or the end of the
 * packet. ctf_reader_next() then returns which of these it is.
 */
void ctf_reader_batch(struct ctf_reader *r, struct ctf_batch *rows);
double ctf_real(const struct ctf_op *op, uint64_t bits);

uint64_t ctf_read_bits(const uint8_t *bytes, uint64_t at, uint32_t size, bool is_big);
/* ctf_enum_label - the first label of @value; NULL: it has none. */
const char *ctf_enum_label(const struct ctf_type *t, uint64_t value);
/* ctf_enum_next - the label of @value at or behind *@i, which is set behind it; NULL: no more. */
const char *ctf_enum_next(const struct ctf_type *t, uint64_t value, uint32_t *i);
/* ctf_enum_labels - all labels of @value with a `|` between them: @buffer of @size bytes if there
 * are several, else the label itself.  NULL: none.  Labels that do not fit become "...". */
const char *ctf_enum_labels(const struct ctf_type *t, uint64_t value, char *buffer, size_t size);

#endif
