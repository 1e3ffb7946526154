/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/duetread.h - shared by duetread.c (the reader), events.c (events and their
 * values) and columns.c.
 */
#ifndef DUETREAD_H
#define DUETREAD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <string.h>

#include <duet/read.h>

/* The last object made for a field: contexts have the same value in many events. */
struct last_value {
	uint64_t bits;	 /* of a number */
	PyObject *value; /* NULL: none yet */
};

/*
 * The dict of fields that the last event returned.  If the caller has dropped it, the next event reuses it and
 * sets only the values that differ.  Its version tag (Python up to 3.11) shows whether the caller changed it.
 */
struct used_dict {
	PyObject *dict;	   /* NULL: none */
	PyObject **values; /* of its fields; the dict owns them */
	uint64_t version;
};
#define DUETREAD_USES_AGAIN (PY_VERSION_HEX < 0x030C0000)
enum { USED_DICTS = 2 }; /* a loop holds the last event while it fetches the next one */

struct class
{
	PyObject *name;	 /* str */
	PyObject **keys; /* of fields: str */
	/* a dict with all keys, copied for each row; NULL: few fields, a new dict is faster */
	PyObject *pattern;
	struct last_value *last; /* one for each field */
	struct used_dict used[USED_DICTS];
	uint32_t n_used; /* dicts that were kept so far */
	uint32_t n_fields;
	int has_compounds; /* a field is a struct or an array: all are walked */
};

enum { ROWS = 256 };

struct reader {
	PyObject_HEAD struct duet_read *read;
	struct class *classes;
	PyObject *damages;		/* list of str */
	PyObject *parent;		/* of a part: the reader it borrows from */
	struct duet_read_value *values; /* room for the largest class */
	uint32_t n_classes, most_fields;
	unsigned int n_parts; /* readers that borrow from this one */
	int follows;
	int is_busy;	/* in a call, which may let other threads and finalizers run */
	double timeout; /* seconds without an event until TimeoutError; negative: no limit */
	struct duet_read_row
		/* ROWS of them, allocated on demand; the cursor of `read` is behind the last */
		*rows;
	uint32_t n_rows, row; /* the next to return */
	/* events to read one by one before the next batch; the same after the next empty batch */
	uint32_t n_single, n_single_next;
};

extern PyTypeObject duetread_event_type;
extern PyObject *duetread_error;

PyObject *duetread_text(const char *s, size_t n);

/* duetread_item - make an event from the result of duet_read_next() or duet_read_previous(). */
PyObject *duetread_item(struct reader *self, const struct duet_read_item *item);
PyObject *duetread_row(struct reader *self, const struct duet_read_row *row);

/* reader_begin - claim the reader for one call.  Returns 1, then call reader_end(); or 0 with an
 * exception. */
int reader_begin(struct reader *self);
void reader_end(struct reader *self);
/* reader_unread - move `read` back to the position of the iteration.  0, or -1: an exception. */
int reader_unread(struct reader *self);

/* reader_table - all events of one name as columns: table.c. */
PyObject *reader_table(struct reader *self, PyObject *arguments, PyObject *options);
/* Adds the type to the module.  0, or an exception. */
int duetread_add_table(PyObject *module);

/* duetread_arrow - a table of @rows rows as a pair of capsules: arrow.c.  The columns' memory belongs
 * to @table, which is kept. */
struct arrow_column {
	const char *name, *format;
	const void *rows;
	uint32_t n_texts;	     /* of a dictionary */
	const void *offsets, *texts; /* NULL: rows are numbers themselves */
};
PyObject *duetread_arrow(PyObject *table, const struct arrow_column *columns, uint32_t n,
			 int64_t rows);

PyObject *reader_columns(struct reader *self, PyObject *arguments);

#endif
