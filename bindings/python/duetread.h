/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/duetread.h - inside the extension: duetread.c (the reader), events.c (its events
 * and their values), columns.c.
 */
#ifndef DUETREAD_H
#define DUETREAD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <string.h>

#include <duet/read.h>

/* The last value made of a cell: what contexts say stays the same for many events. */
struct handover {
	uint64_t bits;	 /* numbers */
	PyObject *value; /* NULL: none yet */
};

struct class
{
	PyObject *name;	   /* str */
	PyObject **keys;   /* of fields: str */
	PyObject *pattern; /* a dict with all keys, of which those of rows are copies; NULL: a new
			      one costs less */
	struct handover *kept; /* of fields */
	uint32_t n_fields;
};

enum { ROWS = 256 };

struct reader {
	PyObject_HEAD struct duet_read *read;
	struct class *classes;
	PyObject *damages;		/* list of str */
	PyObject *whole;		/* of a stream alone: the reader it borrows from */
	struct duet_read_value *values; /* room for the largest class */
	uint32_t n_classes, most_fields;
	unsigned int n_parts; /* readers that borrow from this one */
	int follows;
	int is_busy;	/* in a call, which may let other threads and finalizers run */
	double timeout; /* seconds without an event that is an error; negative: none */
	struct duet_read_row
		*rows; /* ROWS of them, made when needed; the cursor of `read` is behind the last */
	uint32_t n_rows, row;		  /* the next to give */
	uint32_t n_single, n_single_next; /* events to give one by one before the next batch; after
					     one that is empty */
};

extern PyTypeObject duetread_event_type;
extern PyObject *duetread_error;

PyObject *duetread_text(const char *s, size_t n);

/* What duet_read_next() or duet_read_previous() gave. */
PyObject *duetread_item(struct reader *self, const struct duet_read_item *item);
PyObject *duetread_row(struct reader *self, const struct duet_read_row *row);

/* reader_begin - whether the reader may be used now, or an exception; then reader_end(). */
int reader_begin(struct reader *self);
void reader_end(struct reader *self);
/* reader_unread - `read` to where Python's iteration is.  0, or -1: an exception. */
int reader_unread(struct reader *self);

PyObject *reader_columns(struct reader *self, PyObject *arguments);

#endif
