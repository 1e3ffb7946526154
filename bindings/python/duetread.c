/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/duetread.c - Python's door to libduet-read: see README.md beside it.
 *
 * One object per event, its fields a dict made on the spot: names are made once a class, numbers come from
 * Python's cache of small ones or are new.  Columns are arrays of machine numbers behind memoryviews.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <string.h>

#include <duet/read.h>

struct reader {
	PyObject_HEAD
	struct duet_read *read;
	PyObject **names; /* of classes: str */
	PyObject ***keys; /* of fields of classes: str */
	PyObject *damages; /* list of str */
	PyObject *whole; /* of a stream alone: the reader it borrows from */
	struct duet_read_value *values; /* room for the largest class */
	uint32_t n_classes, most_fields;
	unsigned int n_parts; /* readers that borrow from this one */
	int follows;
	double timeout; /* seconds without an event that is an error; negative: none */
};

struct event {
	PyObject_HEAD
	PyObject *name, *fields;
	long long time;
	long cpu; /* -1: unknown */
	unsigned int stream;
	unsigned int class_number;
	unsigned long long lost_events, lost_packets;
};

static PyTypeObject event_type, reader_type;
static PyObject *error_type;

static void event_free(struct event *e)
{
	Py_XDECREF(e->name);
	Py_XDECREF(e->fields);
	PyObject_Free(e);
}

static PyObject *event_repr(struct event *e)
{
	return PyUnicode_FromFormat("<Event %S at %lld: %S>", e->name, e->time, e->fields);
}

static PyObject *event_getitem(PyObject *self, PyObject *key)
{
	PyObject *v = PyDict_GetItemWithError(((struct event *)self)->fields, key);

	if (!v && !PyErr_Occurred())
		PyErr_SetObject(PyExc_KeyError, key);
	Py_XINCREF(v);
	return v;
}

static PyMappingMethods event_mapping = { .mp_subscript = event_getitem };
static PyMemberDef event_members[] = {
	{ "name", T_OBJECT, offsetof(struct event, name), READONLY, "the event's name; None: events were lost here" },
	{ "fields", T_OBJECT, offsetof(struct event, fields), READONLY, "dict of contexts and fields" },
	{ "time", T_LONGLONG, offsetof(struct event, time), READONLY, "nanoseconds since the Epoch" },
	{ "cpu", T_LONG, offsetof(struct event, cpu), READONLY, "number of the CPU, -1 if unknown" },
	{ "stream", T_UINT, offsetof(struct event, stream), READONLY, "number of the stream" },
	{ "class_number", T_UINT, offsetof(struct event, class_number), READONLY, "number of the class" },
	{ "lost_events", T_ULONGLONG, offsetof(struct event, lost_events), READONLY, "events lost here" },
	{ "lost_packets", T_ULONGLONG, offsetof(struct event, lost_packets), READONLY, "packets lost here" },
	{ NULL }
};

static PyTypeObject event_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "duetread.Event",
	.tp_basicsize = sizeof(struct event),
	.tp_dealloc = (destructor)event_free,
	.tp_repr = (reprfunc)event_repr,
	.tp_as_mapping = &event_mapping,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "An event, or (name None) a place where events were lost.  event[field] is a field's value.",
	.tp_members = event_members,
};

static PyObject *text(const char *s, size_t n)
{
	return PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, "replace");
}

/* A value that is no struct and no array. */
static PyObject *plain(const struct duet_read_value *v)
{
	switch (v->kind) {
	case DUET_READ_INT:
		return PyLong_FromLongLong(v->as.i);
	case DUET_READ_UINT:
		return PyLong_FromUnsignedLongLong(v->as.u);
	case DUET_READ_REAL:
		return PyFloat_FromDouble(v->as.real);
	case DUET_READ_TEXT:
		return text(v->as.text, v->size);
	case DUET_READ_LABEL:
		if (v->label)
			return PyUnicode_DecodeUTF8(v->label, (Py_ssize_t)strlen(v->label), "replace");
		return v->is_signed ? PyLong_FromLongLong(v->as.i) : PyLong_FromUnsignedLongLong(v->as.u);
	default:
		Py_RETURN_NONE;
	}
}

/* What the walk gives up to the end of the struct (a dict) or array (a list) just begun; @is_whole: of the event. */
static PyObject *compound(struct duet_read *r, int is_struct, int is_whole)
{
	PyObject *result = is_struct ? PyDict_New() : PyList_New(0);
	struct duet_read_value v;

	while (result && duet_read_walk(r, &v)) {
		PyObject *item;
		int err;

		if (!is_whole && (v.kind == DUET_READ_STRUCT_END || v.kind == DUET_READ_ARRAY_END))
			return result;
		if (v.kind == DUET_READ_STRUCT || v.kind == DUET_READ_ARRAY)
			item = compound(r, v.kind == DUET_READ_STRUCT, 0);
		else
			item = plain(&v);
		if (!item)
			err = -1;
		else
			err = is_struct ? PyDict_SetItemString(result, v.name ? v.name : "", item) :
					  PyList_Append(result, item);
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(result);
	}
	return result;
}

static PyObject *fields_of(struct reader *self, uint32_t number)
{
	const struct duet_read_class *c = duet_read_class_info(self->read, number);
	struct duet_read_value *v = self->values;
	PyObject *d;

	duet_read_values(self->read, v);
	for (uint32_t i = 0; i < c->n_fields; i++)
		if (v[i].kind == DUET_READ_STRUCT || v[i].kind == DUET_READ_ARRAY)
			return compound(self->read, 1, 1);
	d = PyDict_New();
	for (uint32_t i = 0; d && i < c->n_fields; i++) {
		PyObject *item;

		if (v[i].kind == DUET_READ_NONE)
			continue;
		item = plain(&v[i]);
		if (!item || PyDict_SetItem(d, self->keys[number][i], item))
			Py_CLEAR(d);
		Py_XDECREF(item);
	}
	return d;
}

static PyObject *event_of(struct reader *self, const struct duet_read_item *item)
{
	struct event *e = PyObject_New(struct event, &event_type);

	if (!e)
		return NULL;
	e->time = item->time_ns;
	e->cpu = item->cpu == DUET_READ_NO_CPU ? -1 : (long)item->cpu;
	e->stream = item->stream;
	e->class_number = item->class_number;
	e->lost_events = item->lost_events;
	e->lost_packets = item->lost_packets;
	e->name = item->kind == DUET_READ_EVENT ? self->names[item->class_number] : Py_None;
	Py_INCREF(e->name);
	e->fields = item->kind == DUET_READ_EVENT ? fields_of(self, item->class_number) : PyDict_New();
	if (!e->fields)
		Py_CLEAR(e);
	return (PyObject *)e;
}

static int is_open(struct reader *self)
{
	if (!self->read)
		PyErr_SetString(PyExc_ValueError, "the reader is closed");
	return self->read != NULL;
}

static PyObject *got(struct reader *self, int kind, const struct duet_read_item *item)
{
	if (PyErr_Occurred()) /* of the list of damages */
		return NULL;
	if (kind < 0)
		return PyErr_Format(error_type, "%s", duet_read_why(self->read));
	return kind == DUET_READ_END ? NULL : event_of(self, item);
}

static int describe(struct reader *self);

/* 1: there may be more; 0: it has ended; -1: an exception. */
static int wait_for_more(struct reader *self)
{
	enum { TURN_MS = 100 }; /* then Python sees to its signals */
	double left_ms = self->timeout * 1000;
	int got;

	do {
		int ms = self->timeout >= 0 && left_ms < TURN_MS ? (int)left_ms : TURN_MS;
		PyThreadState *others = PyEval_SaveThread();

		got = duet_read_wait(self->read, ms);
		PyEval_RestoreThread(others);
		left_ms -= ms;
		if (PyErr_Occurred() || PyErr_CheckSignals() || describe(self))
			return -1;
	} while ((got == -ETIMEDOUT && (self->timeout < 0 || left_ms > 0)) || got == -EINTR);
	if (got == -ETIMEDOUT)
		PyErr_SetString(PyExc_TimeoutError, duet_read_why(self->read));
	else if (got < 0)
		PyErr_SetString(error_type, duet_read_why(self->read));
	return got < 0 ? -1 : got;
}

static PyObject *reader_next(struct reader *self)
{
	struct duet_read_item item;
	int kind, more = 1;

	if (!is_open(self))
		return NULL;
	while ((kind = duet_read_next(self->read, &item)) == DUET_READ_END && self->follows && more > 0)
		more = wait_for_more(self);
	return got(self, kind, &item);
}

static PyObject *reader_previous(struct reader *self, PyObject *unused)
{
	struct duet_read_item item;
	PyObject *e;

	(void)unused;
	if (!is_open(self))
		return NULL;
	e = got(self, duet_read_previous(self->read, &item), &item);
	if (!e && !PyErr_Occurred())
		Py_RETURN_NONE;
	return e;
}

static PyObject *reader_seek(struct reader *self, PyObject *argument)
{
	long long time = PyLong_AsLongLong(argument);

	if ((time == -1 && PyErr_Occurred()) || !is_open(self))
		return NULL;
	duet_read_seek(self->read, time);
	Py_RETURN_NONE;
}

static void add_damage(void *context, const char *what)
{
	PyGILState_STATE state = PyGILState_Ensure();
	PyObject *s = PyUnicode_DecodeUTF8(what, (Py_ssize_t)strlen(what), "replace");

	if (s)
		PyList_Append(((struct reader *)context)->damages, s);
	Py_XDECREF(s);
	PyGILState_Release(state);
}

static void reader_clear(struct reader *self)
{
	for (uint32_t c = 0; self->names && c < self->n_classes; c++) {
		const struct duet_read_class *class = duet_read_class_info(self->read, c);

		Py_XDECREF(self->names[c]);
		for (uint32_t i = 0; self->keys && self->keys[c] && i < class->n_fields; i++)
			Py_XDECREF(self->keys[c][i]);
		PyMem_Free(self->keys ? self->keys[c] : NULL);
	}
	PyMem_Free(self->names);
	PyMem_Free(self->keys);
	PyMem_Free(self->values);
	self->names = NULL;
	self->keys = NULL;
	self->values = NULL;
	duet_read_close(self->read);
	self->read = NULL;
	if (self->whole)
		((struct reader *)self->whole)->n_parts--;
	Py_CLEAR(self->whole);
}

static void reader_free(struct reader *self)
{
	reader_clear(self);
	Py_XDECREF(self->damages);
	Py_TYPE(self)->tp_free((PyObject *)self);
}

static int describe_class(struct reader *self, uint32_t number)
{
	const struct duet_read_class *c = duet_read_class_info(self->read, number);

	self->names[number] = text(c->name, strlen(c->name));
	self->keys[number] = PyMem_Calloc(c->n_fields + (size_t)1, sizeof **self->keys);
	if (!self->names[number] || !self->keys[number])
		return -1;
	for (uint32_t i = 0; i < c->n_fields; i++) {
		const char *name = c->fields[i].name ? c->fields[i].name : "";

		self->keys[number][i] = text(name, strlen(name));
		if (!self->keys[number][i])
			return -1;
		PyUnicode_InternInPlace(&self->keys[number][i]);
	}
	if (c->n_fields > self->most_fields)
		self->most_fields = c->n_fields;
	return 0;
}

static int describe(struct reader *self)
{
	uint32_t before = self->n_classes, n = duet_read_n_classes(self->read);
	PyObject **names, ***keys;
	struct duet_read_value *values;

	if (self->values && n == before)
		return 0;
	names = PyMem_Realloc(self->names, (n + (size_t)1) * sizeof *names);
	self->names = names ? names : self->names;
	keys = PyMem_Realloc(self->keys, (n + (size_t)1) * sizeof *keys);
	self->keys = keys ? keys : self->keys;
	for (uint32_t i = before; names && keys && i < n; i++) {
		names[i] = NULL;
		keys[i] = NULL;
		self->n_classes = i + 1;
		if (describe_class(self, i))
			return -1;
	}
	values = PyMem_Realloc(self->values, (self->most_fields + (size_t)1) * sizeof *values);
	self->values = values ? values : self->values;
	if (!names || !keys || !values) {
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
		PyErr_SetString(error_type, why);
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
	    !PyArg_ParseTupleAndKeywords(none, options, "|$ppO", names, &is_strict, &follows, &timeout) ||
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
	part->whole = Py_NewRef((PyObject *)self);
	self->n_parts++;
	if (describe(part))
		Py_CLEAR(part);
	return (PyObject *)part;
}

static PyObject *reader_close(struct reader *self, PyObject *unused)
{
	(void)unused;
	if (self->n_parts)
		return PyErr_Format(PyExc_ValueError, "%u readers of single streams are still open", self->n_parts);
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
			if (PyList_Append(fields, self->keys[c][i]))
				Py_CLEAR(fields);
		item = fields ? Py_BuildValue("(ON)", self->names[c], fields) : NULL;
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

enum { COLUMNS_MAX = 64 };
struct columns {
	struct duet_read_column list[COLUMNS_MAX];
	PyObject *room[COLUMNS_MAX]; /* bytearrays */
	char format[COLUMNS_MAX]; /* struct's: q, Q, d, I; s: texts */
	int n;
};

static int add_column(struct reader *self, struct columns *c, uint32_t class, const char *name, size_t rows)
{
	static const struct {
		const char *name;
		int32_t field;
		char format;
	} heads[] = { { "time", DUET_READ_ROW_TIME, 'q' }, { "cpu", DUET_READ_ROW_CPU, 'I' },
		      { "stream", DUET_READ_ROW_STREAM, 'I' }, { "class", DUET_READ_ROW_CLASS, 'I' } };
	struct duet_read_column *column = &c->list[c->n];
	const struct duet_read_class *info = duet_read_class_info(self->read, class);
	char format = 0;
	size_t size;

	column->field = class == DUET_READ_ANY_CLASS ? -ENOENT : duet_read_find(self->read, class, name);
	for (size_t i = 0; column->field < 0 && !format && i < sizeof heads / sizeof *heads; i++)
		if (!strcmp(name, heads[i].name)) {
			column->field = heads[i].field;
			format = heads[i].format;
		}
	if (!format && column->field >= 0) {
		uint32_t kind = info->fields[column->field].kind;
		int is_unsigned = kind == DUET_READ_UINT;

		format = kind == DUET_READ_TEXT ? 's' : kind == DUET_READ_REAL ? 'd' : is_unsigned ? 'Q' : 'q';
	}
	if (!format) {
		PyErr_Format(PyExc_KeyError, "no field %s", name);
		return -1;
	}
	size = format == 's' ? sizeof(struct duet_read_text) : format == 'I' ? 4 : 8;
	c->room[c->n] = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * size));
	if (!c->room[c->n])
		return -1;
	column->rows = PyByteArray_AS_STRING(c->room[c->n]);
	c->format[c->n++] = format;
	return 0;
}

static PyObject *texts(const struct duet_read_text *t, int64_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (int64_t i = 0; list && i < n; i++) {
		PyObject *s = text(t[i].text, t[i].size);

		if (s)
			PyList_SET_ITEM(list, (Py_ssize_t)i, s);
		else
			Py_CLEAR(list);
	}
	return list;
}

/* A memoryview of its bytearray, cut to @n rows; of texts a list. */
static PyObject *view(struct columns *c, int i, int64_t n)
{
	char format[2] = { c->format[i], 0 };
	PyObject *bytes, *result;

	if (c->format[i] == 's')
		return texts(c->list[i].rows, n);
	if (PyByteArray_Resize(c->room[i], (Py_ssize_t)n * (c->format[i] == 'I' ? 4 : 8)))
		return NULL;
	bytes = PyMemoryView_FromObject(c->room[i]);
	result = bytes ? PyObject_CallMethod(bytes, "cast", "s", format) : NULL;
	Py_XDECREF(bytes);
	return result;
}

static PyObject *reader_columns(struct reader *self, PyObject *arguments)
{
	struct columns c = { .n = 0 };
	PyObject *which, *names, *result = NULL;
	uint32_t class = DUET_READ_ANY_CLASS;
	Py_ssize_t rows = 65536;
	int64_t n = 0;

	if (!PyArg_ParseTuple(arguments, "OO!|n", &which, &PyTuple_Type, &names, &rows) || !is_open(self))
		return NULL;
	if (rows < 0 || rows > PY_SSIZE_T_MAX / 32 || PyTuple_GET_SIZE(names) > COLUMNS_MAX)
		return PyErr_Format(PyExc_ValueError, "so many rows, or more than %d columns", COLUMNS_MAX);
	if (which != Py_None) {
		unsigned long number = PyLong_AsUnsignedLong(which);

		if (PyErr_Occurred())
			return NULL;
		class = (uint32_t)number;
		if (number >= self->n_classes)
			return PyErr_Format(PyExc_IndexError, "no class %lu", number);
	}
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
		const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));

		if (!name || add_column(self, &c, class, name, (size_t)rows))
			goto out;
	}
	n = duet_read_rows(self->read, class, c.list, c.n, (size_t)rows);
	if (n < 0) {
		PyErr_Format(n == -EINVAL && duet_read_why(self->read)[0] ? error_type : PyExc_TypeError, "%s",
			     duet_read_why(self->read)[0] ? duet_read_why(self->read) : "a field that is no column");
		goto out;
	}
	result = PyTuple_New(c.n);
	for (int i = 0; result && i < c.n; i++) {
		PyObject *column = PyErr_Occurred() ? NULL : view(&c, i, n);

		if (column)
			PyTuple_SET_ITEM(result, i, column);
		else
			Py_CLEAR(result);
	}
out:
	for (int i = 0; i < c.n; i++)
		Py_XDECREF(c.room[i]);
	return result;
}

static PyMethodDef reader_methods[] = {
	{ "previous", (PyCFunction)reader_previous, METH_NOARGS, "the event before the cursor, which moves; None: there is none" },
	{ "seek", (PyCFunction)reader_seek, METH_O, "seek(time_ns): the cursor before the first event of that time or later" },
	{ "stream", (PyCFunction)reader_stream, METH_O, "stream(n): a reader of that stream alone" },
	{ "columns", (PyCFunction)reader_columns, METH_VARARGS,
	  "columns(class_number or None, (name, ...), rows=65536): the next rows as memoryviews, texts as a list" },
	{ "close", (PyCFunction)reader_close, METH_NOARGS, "let go of the files" },
	{ "__enter__", (PyCFunction)reader_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)reader_exit, METH_VARARGS, NULL },
	{ NULL }
};
static PyGetSetDef reader_getters[] = {
	{ "classes", (getter)reader_classes, NULL, "list of (name, [field, ...]), by class_number", NULL },
	{ "n_streams", (getter)reader_n_streams, NULL, "how many streams there are", NULL },
	{ NULL }
};
static PyMemberDef reader_members[] = {
	{ "damages", T_OBJECT, offsetof(struct reader, damages), READONLY, "list of what was damaged, so far" },
	{ NULL }
};

static PyTypeObject reader_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "duetread.Reader",
	.tp_basicsize = sizeof(struct reader),
	.tp_dealloc = (destructor)reader_free,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "Reader(path, ..., strict=False, follow=False, timeout=None): the events of the traces there, by time; iterate over it.",
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

	if (!m || PyType_Ready(&event_type) || PyType_Ready(&reader_type))
		return NULL;
	error_type = PyErr_NewException("duetread.Error", PyExc_ValueError, NULL);
	if (!error_type || PyModule_AddObjectRef(m, "Error", error_type) ||
	    PyModule_AddObjectRef(m, "Reader", (PyObject *)&reader_type) ||
	    PyModule_AddObjectRef(m, "Event", (PyObject *)&event_type))
		return NULL;
	return m;
}
