/* SPDX-License-Identifier: MIT */
/*
 * duet/read.h - read CTF traces: duet's, LTTng's, any in CTF 1.8 or CTF 2.  Link with -lduet-read.
 *
 *	struct duet_read *r;
 *	struct duet_read_item item;
 *	const char *path = "recording";
 *	char why[DUET_READ_WHY];
 *
 *	if (duet_read_open(&r, &path, 1, NULL, why))
 *		errx(1, "%s", why);
 *	while (duet_read_next(r, &item) > 0)
 *		if (item.kind == DUET_READ_EVENT)
 *			printf("%lld %s\n", (long long)item.time_ns, duet_read_class_info(r,
 *item.class_number)->name); duet_read_close(r);
 *
 * Events of all streams come as one, by time.  Whatever the files hold: everything sound is given,
 *damage is told once through a callback, memory stays in proportion to the files, and reading ends.
 *
 * Threads: a reader, and all it lent, is used by one thread at a time; any two readers by any two
 *threads, also those made by duet_read_part() of one another.  No call is for signal handlers.
 *
 * Ownership: names, and class and stream descriptions are lent by the reader and stay valid and
 *unchanged until it is closed.  An item's fields may be asked for, and texts of fields are lent,
 *until the next duet_read_next(), _previous(), _seek(), _batch() or _rows() of the same reader:
 *what was decompressed is given back as it is read.
 *
 * Errors: a negative errno.  Nothing is printed; nothing ends the program.  A file that is cut by
 *others while it is read may raise SIGBUS, as any map.  In C99 and later, C++11 and later.  Manual:
 *duet_read(3).
 */
#ifndef DUET_READ_H
#define DUET_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct duet_read;

#define DUET_READ_WHY 1024 /* bytes for a reason, its NUL included */
#define DUET_READ_NO_CPU UINT32_MAX

enum { DUET_READ_END = 0, DUET_READ_EVENT = 1, DUET_READ_LOST = 2 };

/* Where a field is. */
enum { DUET_READ_CONTEXT = 3, DUET_READ_PAYLOAD = 4 };

/* What a value is. */
enum duet_read_kind {
	DUET_READ_NONE, /* the event has not got it (an optional field, another option of a variant)
			 */
	DUET_READ_INT,	/* i */
	DUET_READ_UINT, /* u */
	DUET_READ_REAL, /* real */
	DUET_READ_TEXT, /* text, size: bytes as recorded, mostly UTF-8; no NUL is promised behind
			   them */
	DUET_READ_LABEL,  /* an enum: i or u as is_signed says, label or NULL */
	DUET_READ_STRUCT, /* what follows up to DUET_READ_STRUCT_END; as a field: look with
			     duet_read_walk() */
	DUET_READ_STRUCT_END,
	DUET_READ_ARRAY, /* u elements up to DUET_READ_ARRAY_END */
	DUET_READ_ARRAY_END
};

struct duet_read_options {
	size_t size; /* sizeof *this, so that later versions may add fields */
	void (*damage)(
		void *context,
		const char *text); /* each damaged place: file, packet, byte, what; may be NULL */
	void *context;
	int is_strict; /* not 0: the first damage ends reading, with -EINVAL */
	int follows;   /* not 0: recordings may be written still: see duet_read_wait() */
};

struct duet_read_item {
	uint32_t kind;			    /* DUET_READ_EVENT or _LOST */
	uint32_t class_number;		    /* events */
	uint32_t stream;		    /* 0 ... duet_read_n_streams() - 1 */
	uint32_t cpu;			    /* DUET_READ_NO_CPU: unknown */
	int64_t time_ns;		    /* since the Epoch */
	uint64_t lost_events, lost_packets; /* DUET_READ_LOST: at this place, in this stream */
};

struct duet_read_field {
	const char *name;
	uint32_t scope;	    /* DUET_READ_CONTEXT or _PAYLOAD */
	uint32_t kind;	    /* enum duet_read_kind; NONE: a variant, of what each event says */
	uint32_t base;	    /* integers: 2, 8, 10 or 16 */
	uint32_t size_bits; /* numbers, else 0 */
};

struct duet_read_class {
	const char *name;
	uint32_t id;	   /* in its trace */
	int32_t loglevel;  /* -1: not given */
	uint32_t n_fields; /* not counting members of structs and lengths that their sequence
			      implies */
	const struct duet_read_field *fields; /* contexts first */
	const char *trace;		      /* path of its directory */
	const char *error;		      /* why its events cannot be read; NULL: they can */
};

struct duet_read_stream {
	const char *path;
	const char *trace; /* path of its directory */
	uint32_t n_packets;
	uint32_t reserved;
	uint64_t size_bytes;
	int64_t begin_ns, end_ns; /* as its packets claim, 0 if they do not */
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
	const char *name; /* duet_read_walk(): NULL in arrays */
};

/*
 * duet_read_open - open the traces at @paths and below them.
 *
 * @n: how many.  @options: may be NULL.  @why: DUET_READ_WHY bytes for the reason of a failure, or
 * NULL.
 *
 * Returns 0 and *@r, to be closed; -ENOENT, -ENOTDIR, -EINVAL (metadata), -EACCES, -ENOMEM, ...
 * Since 0.1, like all here.
 */
int duet_read_open(struct duet_read **r, const char *const *paths, int n,
		   const struct duet_read_options *options, char *why);
void duet_read_close(struct duet_read *r); /* NULL is accepted */

/*
 * duet_read_next, duet_read_previous - the item after the cursor, or before it; the cursor moves
 * over it.
 *
 * Return DUET_READ_EVENT, DUET_READ_LOST, or DUET_READ_END at the end or beginning; -EINVAL if
 * strict and damaged, -ENOMEM.  Backward costs twice as much and 400 KiB a stream.
 */
int duet_read_next(struct duet_read *r, struct duet_read_item *item);
int duet_read_previous(struct duet_read *r, struct duet_read_item *item);

/*
 * duet_read_wait - with `follows`, after duet_read_next() said DUET_READ_END: wait until there may
 *be more.
 *
 *	do
 *		while (duet_read_next(r, &item) > 0)
 *			...
 *	while (duet_read_wait(r, -1) > 0);
 *
 * Events are given in order and once, up to when the recorder says that all is in the files: about
 *a second after they happened.  @timeout_ms: at most; -1: without limit; 0: look once.
 *
 * Returns 1: there may be; 0: all recordings have ended, and all was given; -ETIMEDOUT; -EINTR: a
 *signal's handler ran; -EINVAL: the reader does not follow, or strict and damaged; -ENOMEM.  There
 *may be more classes and streams after it, with new numbers; what was lent stays, but a stream's
 *description tells its new size.  A reader that follows goes forward only: duet_read_previous() and
 *duet_read_part() are -EINVAL, duet_read_seek() does nothing.  What is removed meanwhile, as old
 * pieces are, is passed over.
 */
int duet_read_wait(struct duet_read *r, int timeout_ms);

/* Of a reader that follows: events left out, since later ones had been given when they came. */
uint64_t duet_read_n_late(const struct duet_read *r);

/* duet_read_seek - the cursor before the first item of @time_ns (since the Epoch) or later;
 * INT64_MIN: the beginning, INT64_MAX: the end.  Passes over whole packets. */
void duet_read_seek(struct duet_read *r, int64_t time_ns);

/* The reason of the last error of @r, or "".  Lent until the next call. */
const char *duet_read_why(const struct duet_read *r);
uint64_t duet_read_n_damages(const struct duet_read *r); /* met so far */

uint32_t duet_read_n_streams(const struct duet_read *r);
uint32_t duet_read_n_classes(const struct duet_read *r);
/* NULL: no such number. */
const struct duet_read_stream *duet_read_stream_info(const struct duet_read *r, uint32_t stream);
const struct duet_read_class *duet_read_class_info(const struct duet_read *r,
						   uint32_t class_number);

/*
 * duet_read_part - a reader of stream @stream of @r alone, or of DUET_READ_ALL_STREAMS, from its
 * beginning, for a thread of its own.
 *
 * With all streams each thread can take a part of the time: duet_read_seek() to where it begins,
 * and up to where the next one does; all parts, one after the other, are all events in order.
 *
 * It borrows @r's maps and descriptions: close it before @r.  `damage` is called by the thread that
 * reads; each reader tells what it meets.  Returns 0; -EINVAL: no such stream, or @r is a part or
 * follows; -ENOMEM.
 */
#define DUET_READ_ALL_STREAMS UINT32_MAX
int duet_read_part(const struct duet_read *r, uint32_t stream, struct duet_read **part);

/* duet_read_find - index of the field @name of a class, payload before contexts; -ENOENT. */
int duet_read_find(const struct duet_read *r, uint32_t class_number, const char *name);

/* duet_read_get - field @field of the current event.  Returns 0; -EINVAL: no event, or no such
 * field; if this event has not got it, 0 and DUET_READ_NONE. */
int duet_read_get(struct duet_read *r, uint32_t field, struct duet_read_value *value);

/* duet_read_values - all fields of the current event at once, faster.  @values: room for the
 * class's n_fields.  As duet_read_get(). */
int duet_read_values(struct duet_read *r, struct duet_read_value *values);

/*
 * duet_read_walk - look into structs, arrays and variants: each call gives the next value of the
 * current event, contexts first, in the order of recording.  Returns 1, or 0 behind the last; then
 * it begins again.
 */
int duet_read_walk(struct duet_read *r, struct duet_read_value *value);

/* A field of duet_read_batch(): what it is says the class's description. */
struct duet_read_cell {
	union {
		int64_t i; /* integers and labels */
		uint64_t u;
		double real;
		const char *text;
	} as;
	size_t size; /* bytes of text; of others nothing */
};

struct duet_read_row {
	int64_t time_ns;
	uint32_t class_number, stream, cpu; /* as in struct duet_read_item */
	uint32_t reserved;
	const struct duet_read_cell *cells; /* the class's n_fields, in their order */
};

/*
 * duet_read_batch - the next events, in order, each with all its fields: the fastest way to every
 *value.
 *
 *	do
 *		while ((n = duet_read_batch(r, rows, 512)) > 0)
 *			for (i = 0; i < n; i++)
 *				rows[i].cells[0].as.i ...
 *	while (duet_read_next(r, &item) > 0);
 *
 * @rows: room for @n_rows; some hundred are best.  Cells, and the bytes of their texts, are lent
 *until the next call that moves the cursor.
 *
 * Returns how many rows there are; they may be fewer at any time.  0: what comes next is a loss, an
 *event that has structs, arrays or variants, or the end, or the reader follows: it is for
 *duet_read_next().
 */
uint32_t duet_read_batch(struct duet_read *r, struct duet_read_row *rows, uint32_t n_rows);

/* duet_read_cell_value - @cell, field @field of a row of the class, as duet_read_get() would show
 * it: with kind, base and label. Returns 0; -EINVAL: no such class or field, or its rows have no
 * cells. */
int duet_read_cell_value(const struct duet_read *r, uint32_t class_number, uint32_t field,
			 const struct duet_read_cell *cell, struct duet_read_value *value);

/* A column of duet_read_rows(): a field by its index, or one of these. */
enum {
	DUET_READ_ROW_TIME = -1,
	DUET_READ_ROW_CPU = -2,
	DUET_READ_ROW_STREAM = -3,
	DUET_READ_ROW_CLASS = -4
};
struct duet_read_column {
	int32_t field;
	uint32_t reserved; /* 0 */
	/* Room for all rows: of int64_t (time, integers, labels), uint32_t (cpu, stream, class),
	 * double (reals), or struct duet_read_text (texts).  What an event has not got is 0. */
	void *rows;
};
struct duet_read_text {
	const char *text;
	size_t size;
};

/*
 * duet_read_rows - many events' fields as columns, beginning at the cursor.
 *
 * @class_number: events of others are passed over; DUET_READ_ANY_CLASS: all, without fields.
 * @columns: @n_columns of them, at most 64.  @n_rows: at most so many events.
 *
 * Returns how many rows there were, fewer than @n_rows only at the end; -EINVAL: no such class or
 * field, or one that is no number, text or label, or strict and damaged.  The cursor is behind the
 * last row.
 */
#define DUET_READ_ANY_CLASS UINT32_MAX
int64_t duet_read_rows(struct duet_read *r, uint32_t class_number,
		       const struct duet_read_column *columns, int n_columns, size_t n_rows);

#ifdef __cplusplus
}
#endif

#endif
