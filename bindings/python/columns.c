/* SPDX-License-Identifier: MIT */
/* bindings/python/columns.c - fields of many events: numbers as memoryviews of arrays, texts as
 * lists. */
#include "duetread.h"

enum { COLUMNS_MAX = 64 };
struct columns {
	struct duet_read_column list[COLUMNS_MAX];
	PyObject *buffers[COLUMNS_MAX]; /* bytearrays */
	char format[COLUMNS_MAX];	/* as in Python's struct: q, Q, d, I; s: texts */
	int n;
};

static int add_column(struct reader *self, struct columns *c, uint32_t class, const char *name,
		      size_t rows)
{
	static const struct {
		const char *name;
		int32_t field;
		char format;
	} properties[] = { { "time", DUET_READ_ROW_TIME, 'q' },
			   { "cpu", DUET_READ_ROW_CPU, 'I' },
			   { "stream", DUET_READ_ROW_STREAM, 'I' },
			   { "class", DUET_READ_ROW_CLASS, 'I' } };
	struct duet_read_column *column = &c->list[c->n];
	const struct duet_read_class *info = duet_read_class_info(self->read, class);
	char format = 0;
	size_t size;

	column->field =
		class == DUET_READ_ANY_CLASS ? -ENOENT : duet_read_find(self->read, class, name);
	for (size_t i = 0;
	     column->field < 0 && !format && i < sizeof properties / sizeof *properties; i++)
		if (!strcmp(name, properties[i].name)) {
			column->field = properties[i].field;
			format = properties[i].format;
		}
	if (!format && column->field >= 0) {
		uint32_t kind = info->fields[column->field].kind;
		int is_unsigned = kind == DUET_READ_UINT;

		format = kind == DUET_READ_TEXT	  ? 's'
			 : kind == DUET_READ_REAL ? 'd'
			 : is_unsigned		  ? 'Q'
						  : 'q';
	}
	if (!format) {
		PyErr_Format(PyExc_KeyError, "no field %s", name);
		return -1;
	}
	size = format == 's' ? sizeof(struct duet_read_text) : format == 'I' ? 4 : 8;
	c->buffers[c->n] = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * size));
	if (!c->buffers[c->n])
		return -1;
	column->rows = PyByteArray_AS_STRING(c->buffers[c->n]);
	c->format[c->n++] = format;
	return 0;
}

static PyObject *texts(const struct duet_read_text *t, int64_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (int64_t i = 0; list && i < n; i++) {
		PyObject *s = duetread_text(t[i].text, t[i].size);

		if (s)
			PyList_SET_ITEM(list, (Py_ssize_t)i, s);
		else
			Py_CLEAR(list);
	}
	return list;
}

/* Returns a memoryview of the bytearray, cut to @n rows; for texts a list. */
static PyObject *view(struct columns *c, int i, int64_t n)
{
	char format[2] = { c->format[i], 0 };
	PyObject *bytes, *result;

	if (c->format[i] == 's')
		return texts(c->list[i].rows, n);
	if (PyByteArray_Resize(c->buffers[i], (Py_ssize_t)n * (c->format[i] == 'I' ? 4 : 8)))
		return NULL;
	bytes = PyMemoryView_FromObject(c->buffers[i]);
	result = bytes ? PyObject_CallMethod(bytes, "cast", "s", format) : NULL;
	Py_XDECREF(bytes);
	return result;
}

static PyObject *columns_of(struct reader *self, PyObject *arguments)
{
	struct columns c = { .n = 0 };
	PyObject *class_or_none, *names, *result = NULL;
	uint32_t class = DUET_READ_ANY_CLASS;
	Py_ssize_t rows = 65536;
	int64_t n = 0;

	if (!PyArg_ParseTuple(arguments, "OO!|n", &class_or_none, &PyTuple_Type, &names, &rows))
		return NULL;
	if (rows < 0 || rows > PY_SSIZE_T_MAX / 32 || PyTuple_GET_SIZE(names) > COLUMNS_MAX)
		return PyErr_Format(PyExc_ValueError,
				    "rows: not a valid number; or more than %d columns",
				    COLUMNS_MAX);
	if (class_or_none != Py_None) {
		unsigned long number = PyLong_AsUnsignedLong(class_or_none);

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
	if (reader_unread(self))
		goto out;
	n = duet_read_rows(self->read, class, c.list, c.n, (size_t)rows);
	if (n < 0) {
		PyErr_Format(n == -EINVAL && duet_read_why(self->read)[0] ? duetread_error
									  : PyExc_TypeError,
			     "%s",
			     duet_read_why(self->read)[0] ? duet_read_why(self->read)
							  : "a field that cannot be a column");
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
		Py_XDECREF(c.buffers[i]);
	return result;
}

PyObject *reader_columns(struct reader *self, PyObject *arguments)
{
	PyObject *result;

	if (!reader_begin(self))
		return NULL;
	result = columns_of(self, arguments);
	reader_end(self);
	return result;
}
