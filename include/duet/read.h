/* SPDX-License-Identifier: MIT */
/*
 * duet/read.h - read CTF traces: those of duet, of LTTng, any in CTF 1.8 or CTF 2.
 *
 *	struct duet_read *r;				link with -lduet-read
 *	struct duet_read_item item;
 *	const char *path = "recording";
 *	char why[DUET_READ_WHY];
 *
 *	if (duet_read_open(&r, &path, 1, NULL, why))
 *		errx(1, "%s", why);
 *	while (duet_read_next(r, &item) > 0)
 *		if (item.kind == DUET_READ_EVENT)
 *			printf("%lld %s\n", (long long)item.time_ns,
 *			       duet_read_class_info(r, item.class_number)->name);
 *	duet_read_close(r);
 *
 * A reader merges the events of all streams by time.  Whatever the files contain, it returns all
 * sound events, reports each damaged place once through a callback, and comes to an end.  Its
 * memory stays in proportion to the files.
 *
 * Threads: one thread at a time uses a reader and all that it lent.  Two threads may use two
 * readers, also readers that duet_read_part() made of one.  No function is for signal handlers.
 *
 * Ownership: the reader lends names and descriptions of classes and streams.  They stay valid and
 * unchanged until it is closed.  The fields of an item, and their texts, are valid until the next
 * duet_read_next(), _previous(), _seek(), _batch() or _rows() of this reader: it reuses the memory
 * of decompressed packets.
 *
 * Errors: a negative errno.  Nothing is printed, and no error ends the program.  If another process
 * truncates a file during reading, SIGBUS may be raised, as for any mapping.
 *
 * C99 and later, C++11 and later.  All since 0.1.  Manual: duet_read(3).
 */
#ifndef DUET_READ_H
#define DUET_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct duet_read;

#define DUET_READ_WHY 1024 /* bytes for a reason, with its NUL */
#define DUET_READ_NO_CPU UINT32_MAX

enum { DUET_READ_END = 0, DUET_READ_EVENT = 1, DUET_READ_LOST = 2 };

/* Where a field is. */
enum { DUET_READ_CONTEXT = 3, DUET_READ_PAYLOAD = 4 };

/* The kind of a value. */
enum duet_read_kind {
	DUET_READ_NONE,	  /* absent: an optional field, or another option of a variant */
	DUET_READ_INT,	  /* i */
	DUET_READ_UINT,	  /* u */
	DUET_READ_REAL,	  /* real */
	DUET_READ_TEXT,	  /* text, size: bytes as recorded, mostly UTF-8; perhaps without a NUL */
	DUET_READ_LABEL,  /* an enum: i or u as is_signed states, and label or NULL */
	DUET_READ_STRUCT, /* its members follow up to DUET_READ_STRUCT_END; read such a field
			     with duet_read_walk() */
	DUET_READ_STRUCT_END,
	DUET_READ_ARRAY, /* u elements follow up to DUET_READ_ARRAY_END */
	DUET_READ_ARRAY_END
};

struct duet_read_options {
	size_t size; /* sizeof *this, so that later versions may add fields */
	void (*damage)(
		void *context,
		const char *text); /* called for each damaged place with file, packet, byte and
				      damage; may be NULL */
	void *context;
	int is_strict; /* not 0: the first damage ends reading with -EINVAL */
	int follows;   /* not 0: the recordings may still grow; see duet_read_wait() */
};

struct duet_read_item {
	uint32_t kind;			    /* DUET_READ_EVENT or _LOST */
	uint32_t class_number;		    /* of an event */
	uint32_t stream;		    /* 0 ... duet_read_n_streams() - 1 */
	uint32_t cpu;			    /* or DUET_READ_NO_CPU */
	int64_t time_ns;		    /* since the Epoch */
	uint64_t lost_events, lost_packets; /* DUET_READ_LOST: lost here, in this stream */
};

struct duet_read_field {
	const char *name;
	uint32_t scope;	    /* DUET_READ_CONTEXT or _PAYLOAD */
	uint32_t kind;	    /* enum duet_read_kind; NONE: a variant, whose kind each event
			       decides */
	uint32_t base;	    /* integers: 2, 8, 10 or 16 */
	uint32_t size_bits; /* of numbers; else 0 */
};

struct duet_read_class {
	const char *name;
	uint32_t id;	   /* unique in its trace */
	int32_t loglevel;  /* -1: none */
	uint32_t n_fields; /* without members of structs and without the implied lengths of
			      sequences */
	const struct duet_read_field *fields; /* contexts first */
	const char *trace;		      /* path of the trace's directory */
	const char *error;		      /* the reason why its events cannot be read; NULL:
						 they can */
};

struct duet_read_stream {
	const char *path;
	const char *trace; /* path of the trace's directory */
	uint32_t n_packets;
	uint32_t reserved;
	uint64_t size_bytes;
	int64_t begin_ns, end_ns; /* as its packets state; 0 if they do not */
};

struct duet_read_value {
	uint32_t kind; /* enum duet_read_kind */
	uint32_t base; /* integers */
	int is_signed; /* labels */
	uint32_t size; /* bytes of text */
	union {
		int64_t i;
		uint64_t u;
		double real;
		const char *text;
	} as;
	const char *label;
	const char *name; /* duet_read_walk(): its name; NULL in arrays */
};

/*
 * duet_read_open - open the traces at @paths and in the directories below them.
 *
 * @n: number of paths.
 * @options: NULL for the defaults.
 * @why: receives the reason of a failure, DUET_READ_WHY bytes; may be NULL.
 *
 * Returns 0 and *@r, which the caller closes; -ENOENT, -ENOTDIR, -EINVAL (metadata), -EACCES,
 * -ENOMEM or another negative errno.
 */
int duet_read_open(struct duet_read **r, const char *const *paths, int n,
		   const struct duet_read_options *options, char *why);
void duet_read_close(struct duet_read *r); /* accepts NULL */

/*
 * duet_read_next, duet_read_previous - return the item after or before the cursor and move the
 * cursor over it.
 *
 * Return DUET_READ_EVENT, DUET_READ_LOST, or DUET_READ_END at the end or the beginning; -EINVAL if
 * the reader is strict and met damage; -ENOMEM.  Reading backward takes twice as long and 400 KiB
 * per stream.
 */
int duet_read_next(struct duet_read *r, struct duet_read_item *item);
int duet_read_previous(struct duet_read *r, struct duet_read_item *item);

/*
 * duet_read_wait - wait for more items after duet_read_next() returned DUET_READ_END.  The reader
 * was opened with `follows`.
 *
 *	do
 *		while (duet_read_next(r, &item) > 0)
 *			...
 *	while (duet_read_wait(r, -1) > 0);
 *
 * @timeout_ms: the longest wait in milliseconds; -1: no limit; 0: check once.
 *
 * Each event is returned once and in order, about a second after it happened: the reader waits
 * until the recorder states that all events up to a time are in the files.
 *
 * Returns 1: there may be more items; 0: all recordings have ended and all items were returned;
 * -ETIMEDOUT; -EINTR: a signal handler ran; -EINVAL: the reader does not follow, or it is strict
 * and met damage; -ENOMEM.
 *
 * Afterwards there may be more classes and streams, with new numbers.  Lent pointers stay valid,
 * but the description of a stream shows its new size.  A reader that follows moves forward only:
 * duet_read_previous() and duet_read_part() return -EINVAL, duet_read_seek() does nothing.  Files
 * that are removed meanwhile, such as old trace chunks, are skipped.
 */
int duet_read_wait(struct duet_read *r, int timeout_ms);

/* For a reader that follows: events skipped because later ones had been returned before they
 * came. */
uint64_t duet_read_n_late(const struct duet_read *r);

/*
 * duet_read_seek - move the cursor before the first item at or after @time_ns.
 *
 * @time_ns: since the Epoch; INT64_MIN: the beginning; INT64_MAX: the end.
 *
 * It skips whole packets.
 */
void duet_read_seek(struct duet_read *r, int64_t time_ns);

/* The reason of the last error of @r, or "".  Valid until the next call. */
const char *duet_read_why(const struct duet_read *r);
uint64_t duet_read_n_damages(const struct duet_read *r); /* so far */

uint32_t duet_read_n_streams(const struct duet_read *r);
uint32_t duet_read_n_classes(const struct duet_read *r);
/* NULL: there is no such number. */
const struct duet_read_stream *duet_read_stream_info(const struct duet_read *r, uint32_t stream);
const struct duet_read_class *duet_read_class_info(const struct duet_read *r,
						   uint32_t class_number);

/*
 * duet_read_part - make a reader for a thread of its own from the streams of @r.
 *
 * @stream: one stream, or DUET_READ_ALL_STREAMS.
 *
 * The new reader begins at the beginning.  With all streams each thread can read one part of the
 * time: it calls duet_read_seek() to the start of its part and stops at the start of the next one.
 * All parts one after the other are all events in order.
 *
 * The new reader borrows the mappings and descriptions of @r: close it before @r.  `damage` is
 * called in the thread that reads, and each reader reports the damage that it meets.
 *
 * Returns 0; -EINVAL: no such stream, or @r is a part or follows; -ENOMEM.
 */
#define DUET_READ_ALL_STREAMS UINT32_MAX
int duet_read_part(const struct duet_read *r, uint32_t stream, struct duet_read **part);

/* duet_read_find - index of field @name in a class, the payload first, then contexts; -ENOENT. */
int duet_read_find(const struct duet_read *r, uint32_t class_number, const char *name);

/*
 * duet_read_get - read field @field of the current event.
 *
 * Returns 0; -EINVAL: there is no event or no such field.  If this event does not have the field
 * the result is 0 and the kind DUET_READ_NONE.
 */
int duet_read_get(struct duet_read *r, uint32_t field, struct duet_read_value *value);

/*
 * duet_read_values - read all fields of the current event at once, which is faster.
 *
 * @values: room for the n_fields of the class.
 *
 * Returns as duet_read_get().
 */
int duet_read_values(struct duet_read *r, struct duet_read_value *values);

/*
 * duet_read_walk - read structs, arrays and variants value by value.
 *
 * Each call returns the next value of the current event in the order of recording, contexts first.
 * Returns 1; or 0 after the last value, and then begins again.
 */
int duet_read_walk(struct duet_read *r, struct duet_read_value *value);

/*
 * duet_read_numbers - after a DUET_READ_ARRAY of duet_read_walk(): read its next elements at once, if they
 * are integers.
 *
 * @value: receives kind and base of all of them.  @numbers: room for @most; signed ones are extended.
 *
 * Returns their number.  0: they are no integers, or none is left; duet_read_walk() goes on.
 */
uint32_t duet_read_numbers(struct duet_read *r, struct duet_read_value *value, uint64_t *numbers,
			   uint32_t most);

/* One field of a row of duet_read_batch().  The description of the class gives its kind. */
struct duet_read_cell {
	union {
		int64_t i; /* integers and labels */
		uint64_t u;
		double real;
		const char *text;
	} as;
	size_t size; /* bytes of a text; undefined for other kinds */
};

struct duet_read_row {
	int64_t time_ns;
	uint32_t class_number, stream, cpu; /* as in struct duet_read_item */
	uint32_t reserved;
	const struct duet_read_cell *cells; /* the n_fields of the class, in their order */
};

/*
 * duet_read_batch - read the next events in order, each with all its fields.  This is the fastest
 * way to read all values.
 *
 *	do
 *		while ((n = duet_read_batch(r, rows, 512)) > 0)
 *			for (i = 0; i < n; i++)
 *				rows[i].cells[0].as.i ...
 *	while (duet_read_next(r, &item) > 0);
 *
 * @rows: room for @n_rows; some hundred are best.
 *
 * Cells and the bytes of their texts are valid until the next call that moves the cursor.
 *
 * Returns the number of rows, which may be below @n_rows at any time.  0: duet_read_next() has to
 * read the next item: it is a loss, the end, or an event with structs, arrays or variants; or the
 * reader follows.
 */
uint32_t duet_read_batch(struct duet_read *r, struct duet_read_row *rows, uint32_t n_rows);

/*
 * duet_read_cell_value - the value of @cell as duet_read_get() would return it, with kind, base and
 * label.
 *
 * @field: the index of the cell in a row of @class_number.
 *
 * Returns 0; -EINVAL: no such class or field, or the rows of the class have no cells.
 */
int duet_read_cell_value(const struct duet_read *r, uint32_t class_number, uint32_t field,
			 const struct duet_read_cell *cell, struct duet_read_value *value);

/* A column of duet_read_rows(): the index of a field, or one of these. */
enum {
	DUET_READ_ROW_TIME = -1,
	DUET_READ_ROW_CPU = -2,
	DUET_READ_ROW_STREAM = -3,
	DUET_READ_ROW_CLASS = -4
};
struct duet_read_column {
	int32_t field;
	uint32_t reserved; /* 0 */
	/* Room for all rows: int64_t for time, integers and labels; uint32_t for cpu, stream and
	 * class; double for reals; struct duet_read_text for texts.  It is 0 where an event does
	 * not have the field. */
	void *rows;
};
struct duet_read_text {
	const char *text;
	size_t size;
};

/*
 * duet_read_rows - read fields of many events into columns, beginning at the cursor.
 *
 * @class_number: events of other classes are skipped; DUET_READ_ANY_CLASS: all events, without
 * fields.
 * @columns: @n_columns of them, at most 64.
 * @n_rows: the most events to read.
 *
 * Returns the number of rows, below @n_rows only at the end; -EINVAL: no such class or field, a
 * field that is neither number nor text nor label, or the reader is strict and met damage.  The
 * cursor is then after the last row.
 */
#define DUET_READ_ANY_CLASS UINT32_MAX
int64_t duet_read_rows(struct duet_read *r, uint32_t class_number,
		       const struct duet_read_column *columns, int n_columns, size_t n_rows);

#ifdef __cplusplus
}
#endif

#endif
