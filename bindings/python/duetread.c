/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/duetread.c - the Python module for libduet-read: see README.md beside it.
 *
 * Events are read ahead in batches, which is several times as fast as one by one; Python objects
 * are made on demand.  Any other move first brings the reader back to the position of the
 * iteration.
 */
#include "duetread.h"

/* Events to read one by one after a change of direction, so that moving to and fro does not read a
 * batch each time. */
enum { SINGLE = 16 };

/* Fields that fit into Python's smallest dict.  A larger dict would grow several times; it is
 * copied from a pattern instead. */
enum { SMALL_DICT = 5 };

static PyTypeObject reader_type;
PyObject *duetread_error;

static int is_open(struct reader *self)
{
	if (!self->read)
		PyErr_SetString(PyExc_ValueError, "the reader is closed");
	return self->read != NULL;
}

/* One call at a time.  Calls from code that Python runs meanwhile, in a finalizer or another
 * thread, are refused. */
int reader_begin(struct reader *self)
{
	if (!is_open(self))
		return 0;
	if (self->is_busy) {
		PyErr_SetString(PyExc_ValueError, "the reader is in use by another call");
		return 0;
	}
	return self->is_busy = 1;
}

void reader_end(struct reader *self)
{
	self->is_busy = 0;
}

static void drop_rows(struct reader *self)
{
	self->n_rows = self->row = 0;
	self->n_single = SINGLE;
}

int reader_unread(struct reader *self)
{
	uint32_t n = self->n_rows - self->row;
	struct duet_read_item item;

	drop_rows(self);
	for (; n; n--)
		if (duet_read_previous(self->read, &item) < 0) {
			PyErr_Format(duetread_error, "%s", duet_read_why(self->read));
			return -1;
		}
	return PyErr_Occurred() ? -1 : 0;
}

/* Returns the next event of a batch; NULL: read the next event alone. */
static const struct duet_read_row *next_row(struct reader *self)
{
	if (self->row < self->n_rows)
		return &self->rows[self->row++];
	if (self->follows || self->n_single) {
		self->n_single -= self->n_single > 0;
		return NULL;
	}
	if (!self->rows)
		self->rows = PyMem_Malloc(ROWS * sizeof *self->rows);
	self->row = 0;
	self->n_rows = self->rows ? duet_read_batch(self->read, self->rows, ROWS) : 0;
	if (self->n_rows) {
		self->n_single_next = self->n_rows < SINGLE ? self->n_single_next : 0;
		return &self->rows[self->row++];
	}
	/* Where few events are rows, batches are tried less often. */
	self->n_single = self->n_single_next;
	self->n_single_next = self->n_single < SINGLE ? 2 * self->n_single + 1 : SINGLE;
	return NULL;
}

static PyObject *result_of(struct reader *self, int kind, const struct duet_read_item *item)
{
	if (PyErr_Occurred()) /* from the list of damages */
		return NULL;
	if (kind < 0)
		return PyErr_Format(duetread_error, "%s", duet_read_why(self->read));
	return kind == DUET_READ_END ? NULL : duetread_item(self, item);
}

static int describe(struct reader *self);

/* Returns 1: there may be more events; 0: the recording has ended; -1: an exception. */
static int wait_for_more(struct reader *self)
{
	enum { TURN_MS = 100 }; /* then Python handles its signals */
	double left_ms = self->timeout * 1000;
	int result_of;

	do {
		int ms = self->timeout >= 0 && left_ms < TURN_MS ? (int)left_ms : TURN_MS;
		PyThreadState *others = PyEval_SaveThread();

		result_of = duet_read_wait(self->read, ms);
		PyEval_RestoreThread(others);
		left_ms -= ms;
		if (PyErr_Occurred() || PyErr_CheckSignals() || describe(self))
			return -1;
	} while ((result_of == -ETIMEDOUT && (self->timeout < 0 || left_ms > 0)) ||
		 result_of == -EINTR);
	if (result_of == -ETIMEDOUT)
		PyErr_SetString(PyExc_TimeoutError, duet_read_why(self->read));
	else if (result_of < 0)
		PyErr_SetString(duetread_error, duet_read_why(self->read));
	return result_of < 0 ? -1 : result_of;
}

static PyObject *read_next(struct reader *self)
{
	const struct duet_read_row *row = next_row(self);
	struct duet_read_item item;
	int kind, more = 1;

	if (PyErr_Occurred()) { /* from the list of damages */
		self->row -= row != NULL;
		return NULL;
	}
	if (row)
		return duetread_row(self, row);
	while ((kind = duet_read_next(self->read, &item)) == DUET_READ_END && self->follows &&
	       more > 0)
		more = wait_for_more(self);
	return result_of(self, kind, &item);
}

static PyObject *reader_next(struct reader *self)
{
	PyObject *e;

	if (!reader_begin(self))
		return NULL;
	e = read_next(self);
	reader_end(self);
	return e;
}

static PyObject *reader_previous(struct reader *self, PyObject *unused)
{
	struct duet_read_item item;
	PyObject *e = NULL;

	(void)unused;
	if (!reader_begin(self))
		return NULL;
	if (!reader_unread(self))
		e = result_of(self, duet_read_previous(self->read, &item), &item);
	reader_end(self);
	if (!e && !PyErr_Occurred())
		Py_RETURN_NONE;
	return e;
}

static PyObject *reader_seek(struct reader *self, PyObject *argument)
{
	long long time = PyLong_AsLongLong(argument);

	if ((time == -1 && PyErr_Occurred()) || !reader_begin(self))
		return NULL;
	drop_rows(self);
	duet_read_seek(self->read, time);
	reader_end(self);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static void add_damage(void *context, const char *what)
{
	PyGILState_STATE state = PyGILState_Ensure();
	PyObject *s = duetread_text(what, strlen(what));

	if (s)
		PyList_Append(((struct reader *)context)->damages, s);
	Py_XDECREF(s);
	PyGILState_Release(state);
}

static void class_clear(struct class *c)
{
	Py_XDECREF(c->name);
	Py_XDECREF(c->pattern);
	for (uint32_t i = 0; i < c->n_fields; i++) {
		Py_XDECREF(c->keys ? c->keys[i] : NULL);
		Py_XDECREF(c->last ? c->last[i].value : NULL);
	}
	for (int i = 0; i < USED_DICTS; i++) {
		Py_XDECREF(c->used[i].dict);
		PyMem_Free(c->used[i].values);
	}
	PyMem_Free(c->keys);
	PyMem_Free(c->last);
}

static void reader_clear(struct reader *self)
{
	for (uint32_t i = 0; i < self->n_classes; i++)
		class_clear(&self->classes[i]);
	PyMem_Free(self->classes);
	PyMem_Free(self->values);
	PyMem_Free(self->rows);
	self->classes = NULL;
	self->values = NULL;
	self->rows = NULL;
	self->n_classes = self->n_rows = self->row = 0;
	duet_read_close(self->read);
	self->read = NULL;
	if (self->parent)
		((struct reader *)self->parent)->n_parts--;
	Py_CLEAR(self->parent);
}

static void reader_free(struct reader *self)
{
	reader_clear(self);
	Py_XDECREF(self->damages);
	Py_TYPE(self)->tp_free((PyObject *)self);
}

static int describe_class(struct class *c, const struct duet_read_class *info)
{
	c->n_fields = info->n_fields;
	c->name = duetread_text(info->name, strlen(info->name));
	c->keys = PyMem_Calloc(c->n_fields + (size_t)1, sizeof *c->keys);
	c->last = PyMem_Calloc(c->n_fields + (size_t)1, sizeof *c->last);
	c->pattern = c->n_fields > SMALL_DICT ? PyDict_New() : NULL;
	if (!c->name || !c->keys || !c->last || (c->n_fields > SMALL_DICT && !c->pattern))
		return -1;
	for (uint32_t i = 0; i < c->n_fields; i++) {
		const char *name = info->fields[i].name ? info->fields[i].name : "";

		c->has_compounds |= info->fields[i].kind == DUET_READ_STRUCT ||
				    info->fields[i].kind == DUET_READ_ARRAY;
		c->keys[i] = duetread_text(name, strlen(name));
		if (!c->keys[i])
			return -1;
		PyUnicode_InternInPlace(&c->keys[i]);
		if (c->pattern && PyDict_SetItem(c->pattern, c->keys[i], Py_None))
			return -1;
	}
	return 0;
}

static int describe(struct reader *self)
{
	uint32_t n = duet_read_n_classes(self->read);
	struct duet_read_value *values;
	struct class *classes;

	if (self->values && n == self->n_classes)
		return 0;
	classes = PyMem_Realloc(self->classes, (n + (size_t)1) * sizeof *classes);
	self->classes = classes ? classes : self->classes;
	while (classes && self->n_classes < n) {
		struct class *c = &classes[self->n_classes];

		*c = (struct class){ .n_fields = 0 };
		if (describe_class(c, duet_read_class_info(self->read, self->n_classes++)))
			return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
		self->most_fields =
			c->n_fields > self->most_fields ? c->n_fields : self->most_fields;
	}
	values = PyMem_Realloc(self->values, (self->most_fields + (size_t)1) * sizeof *values);
	self->values = values ? values : self->values;
	if (!classes || !values) {
		PyErr_NoMemory();
		return -1;
	}
	return 0;
}

static int open_paths(struct reader *self, PyObject *paths, int is_strict)
{
	struct duet_read_options o = { sizeof o, add_damage, self, is_strict, self->follows };
	Py_ssize_t n = PyTuple_GET_SIZE(paths);
	const char **list = PyMem_Calloc((size_t)n + 1, sizeof *list);
	PyObject *bytes = PyTuple_New(n);
	char why[DUET_READ_WHY];
	int err = list && bytes ? 0 : -1;

	for (Py_ssize_t i = 0; !err && i < n; i++) {
		PyObject *b;

		if (!PyUnicode_FSConverter(PyTuple_GET_ITEM(paths, i), &b)) {
			err = -1;
			break;
		}
		PyTuple_SET_ITEM(bytes, i, b);
		list[i] = PyBytes_AS_STRING(b);
	}
	if (!err && duet_read_open(&self->read, list, (int)n, &o, why)) {
		PyErr_SetString(duetread_error, why);
		err = -1;
	}
	PyMem_Free(list);
	Py_XDECREF(bytes);
	return err ? err : describe(self);
}

static int set_following(struct reader *self, int follows, PyObject *timeout)
{
	self->follows = follows;
	self->timeout = timeout == Py_None ? -1 : PyFloat_AsDouble(timeout);
	if (PyErr_Occurred())
		return -1;
	if (timeout == Py_None || (self->timeout >= 0 && self->timeout < 1e6))
		return 0;
	PyErr_SetString(PyExc_ValueError, "timeout: seconds, from 0 to a million");
	return -1;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *paths, PyObject *options)
{
	static char *names[] = { "strict", "follow", "timeout", NULL };
	struct reader *self = (struct reader *)type->tp_alloc(type, 0);
	PyObject *none = PyTuple_New(0);
	PyObject *timeout = Py_None;
	int is_strict = 0, follows = 0;

	if (!self || !none || !(self->damages = PyList_New(0)) ||
	    !PyArg_ParseTupleAndKeywords(none, options, "|$ppO", names, &is_strict, &follows,
					 &timeout) ||
	    set_following(self, follows, timeout) ||
	    (type == &reader_type && open_paths(self, paths, is_strict)))
		Py_CLEAR(self);
	Py_XDECREF(none);
	return (PyObject *)self;
}

static PyObject *reader_stream(struct reader *self, PyObject *argument)
{
	unsigned long number = PyLong_AsUnsignedLong(argument);
	struct reader *part;

	if (PyErr_Occurred() || !is_open(self))
		return NULL;
	part = (struct reader *)reader_type.tp_alloc(&reader_type, 0);
	if (!part)
		return NULL;
	part->damages = PyList_New(0);
	if (!part->damages || number > UINT32_MAX ||
	    duet_read_part(self->read, (uint32_t)number, &part->read)) {
		Py_DECREF(part);
		return PyErr_Format(PyExc_IndexError, "no stream %lu, or this is one", number);
	}
	part->parent = Py_NewRef((PyObject *)self);
	self->n_parts++;
	if (describe(part))
		Py_CLEAR(part);
	return (PyObject *)part;
}

static PyObject *reader_close(struct reader *self, PyObject *unused)
{
	(void)unused;
	if (self->read && !reader_begin(self))
		return NULL;
	reader_end(self);
	if (self->n_parts)
		return PyErr_Format(PyExc_ValueError, "%u readers of single streams are still open",
				    self->n_parts);
	reader_clear(self);
	Py_RETURN_NONE;
}

static PyObject *reader_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return Py_NewRef(self);
}

static PyObject *reader_exit(struct reader *self, PyObject *unused)
{
	return reader_close(self, unused);
}

static PyObject *reader_classes(struct reader *self, void *unused)
{
	PyObject *list = is_open(self) ? PyList_New(0) : NULL;

	(void)unused;
	for (uint32_t c = 0; list && c < self->n_classes; c++) {
		const struct duet_read_class *class = duet_read_class_info(self->read, c);
		PyObject *fields = PyList_New(0), *item;

		for (uint32_t i = 0; fields && i < class->n_fields; i++)
			if (PyList_Append(fields, self->classes[c].keys[i]))
				Py_CLEAR(fields);
		item = fields ? Py_BuildValue("(ON)", self->classes[c].name, fields) : NULL;
		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

static PyObject *reader_n_streams(struct reader *self, void *unused)
{
	(void)unused;
	return is_open(self) ? PyLong_FromUnsignedLong(duet_read_n_streams(self->read)) : NULL;
}

static PyObject *convert(struct reader *self, PyObject *arguments, PyObject *options,
			 const char *method)
{
	PyObject *table = reader_table(self, arguments, options);
	PyObject *result = table ? PyObject_CallMethod(table, method, NULL) : NULL;

	Py_XDECREF(table);
	return result;
}

static PyObject *reader_to_pandas(struct reader *self, PyObject *arguments, PyObject *options)
{
	return convert(self, arguments, options, "to_pandas");
}

static PyObject *reader_to_arrow(struct reader *self, PyObject *arguments, PyObject *options)
{
	return convert(self, arguments, options, "to_arrow");
}

static PyMethodDef reader_methods[] = {
	{ "previous", (PyCFunction)reader_previous, METH_NOARGS,
	  "the event before the cursor, which moves; None: there is none" },
	{ "seek", (PyCFunction)reader_seek, METH_O,
	  "seek(time_ns): the cursor before the first event of that time or later" },
	{ "stream", (PyCFunction)reader_stream, METH_O,
	  "stream(n): a reader of that stream alone" },
	{ "columns", (PyCFunction)reader_columns, METH_VARARGS,
	  "columns(class_number or None, (name, ...), rows=65536): the next rows as memoryviews, "
	  "texts as a list" },
	{ "table", (PyCFunction)(void (*)(void))reader_table, METH_VARARGS | METH_KEYWORDS,
	  "table(event, fields=None): all events of that name or class number from the cursor on, "
	  "as "
	  "columns" },
	{ "to_pandas", (PyCFunction)(void (*)(void))reader_to_pandas, METH_VARARGS | METH_KEYWORDS,
	  "table(...).to_pandas()" },
	{ "to_arrow", (PyCFunction)(void (*)(void))reader_to_arrow, METH_VARARGS | METH_KEYWORDS,
	  "table(...).to_arrow()" },
	{ "close", (PyCFunction)reader_close, METH_NOARGS, "close the files" },
	{ "__enter__", (PyCFunction)reader_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)reader_exit, METH_VARARGS, NULL },
	{ NULL }
};
static PyGetSetDef reader_getters[] = { { "classes", (getter)reader_classes, NULL,
					  "list of (name, [field, ...]), by class_number", NULL },
					{ "n_streams", (getter)reader_n_streams, NULL,
					  "how many streams there are", NULL },
					{ NULL } };
static PyMemberDef reader_members[] = { { "damages", T_OBJECT, offsetof(struct reader, damages),
					  READONLY, "list of the damages found so far" },
					{ NULL } };

static PyTypeObject reader_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "duetread.Reader",
	.tp_basicsize = sizeof(struct reader),
	.tp_dealloc = (destructor)reader_free,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "Reader(path, ..., strict=False, follow=False, timeout=None): the events of the "
		  "traces there, by time; iterate over it.",
	.tp_new = reader_new,
	.tp_iter = PyObject_SelfIter,
	.tp_iternext = (iternextfunc)reader_next,
	.tp_methods = reader_methods,
	.tp_getset = reader_getters,
	.tp_members = reader_members,
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "duetread",
	.m_doc = "CTF traces: duet's, LTTng's and others, read by libduet-read.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit_duetread(void);
PyMODINIT_FUNC PyInit_duetread(void)
{
	PyObject *m = PyModule_Create(&module);

	if (!m || PyType_Ready(&duetread_event_type) || PyType_Ready(&reader_type) ||
	    duetread_add_table(m))
		return NULL;
	duetread_error = PyErr_NewException("duetread.Error", PyExc_ValueError, NULL);
	if (!duetread_error || PyModule_AddObjectRef(m, "Error", duetread_error) ||
	    PyModule_AddObjectRef(m, "Reader", (PyObject *)&reader_type) ||
	    PyModule_AddObjectRef(m, "Event", (PyObject *)&duetread_event_type))
		return NULL;
	return m;
}
