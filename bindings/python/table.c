/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/table.c - all events of one name as columns: for NumPy, pandas and Arrow.
 *
 * Rows are decoded by libduet-read and put into buffers without a Python object for any of them.
 * Texts and labels become numbers into a list of the different texts (a pandas Categorical, an Arrow
 * dictionary), as traces repeat them.  A table owns its buffers; arrays made of it keep it alive.
 */
#include "texts.h"

enum { NAME_ROWS = 512, FIXED = 3, FIRST_ROWS = 4096 };

struct column {
	PyObject *name;	 /* str, of this column alone */
	PyObject *field; /* str, the name in the recording; NULL: time, cpu, stream */
	PyObject *rows;	 /* bytearray */
	Py_buffer pin;	 /* of `rows`: it cannot be resized while arrays point into it */
	uint32_t kind;	 /* enum duet_read_kind */
	uint8_t width;	 /* bytes of a row */
	char format;	 /* as in Python's struct: q, Q, d, i */
	struct texts texts;
};

struct table {
	PyObject_HEAD struct column *columns; /* FIXED first: time, cpu, stream */
	uint32_t n_columns;
	int64_t n_rows, capacity;
};

static PyTypeObject table_type;

/* ---------------------------------------------------------------- rows */

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->n_columns; i++) {
		struct column *c = &t->columns[i];

		PyBuffer_Release(&c->pin);
		Py_XDECREF(c->name);
		Py_XDECREF(c->field);
		Py_XDECREF(c->rows);
		Py_XDECREF(c->texts.bytes);
		Py_XDECREF(c->texts.offsets);
		PyMem_Free(c->texts.slots);
	}
	PyMem_Free(t->columns);
	PyObject_Free(t);
}

/* Notes that @name is taken, and the number to try next for another of that name. */
static int take_name(PyObject *used, PyObject *name, unsigned long number)
{
	PyObject *next = PyLong_FromUnsignedLong(number);
	int err = next ? PyDict_SetItem(used, name, next) : -1;

	Py_XDECREF(next);
	return err;
}

/* @used: the names that columns have.  Returns @name, or the first free one of NAME.1, NAME.2, ... as
 * pandas numbers them; a new reference, or NULL. */
static PyObject *free_name(PyObject *used, PyObject *name)
{
	PyObject *next = PyDict_GetItemWithError(used, name), *result = NULL;
	unsigned long i = next ? PyLong_AsUnsignedLong(next) : 0;
	int is_used = !!next;

	if (PyErr_Occurred())
		return NULL;
	for (result = Py_NewRef(name); result && is_used > 0; i++) {
		Py_SETREF(result, PyUnicode_FromFormat("%U.%lu", name, i));
		is_used = result ? PyDict_Contains(used, result) : -1;
	}
	if (is_used < 0 || (next && take_name(used, name, i)) || take_name(used, result, 1))
		Py_CLEAR(result);
	return result;
}

static int add_column(struct table *t, PyObject *name, PyObject *field, uint32_t kind, char format)
{
	struct column *c = &t->columns[t->n_columns++];
	int has_texts = kind == DUET_READ_TEXT || kind == DUET_READ_LABEL;

	*c = (struct column){
		.name = Py_XNewRef(name), .field = Py_XNewRef(field), .kind = kind, .format = format
	};
	c->width = format == 'i' ? 4 : 8;
	c->rows = PyByteArray_FromStringAndSize(NULL, 0);
	if (has_texts) {
		c->texts.bytes = PyByteArray_FromStringAndSize(NULL, 0);
		c->texts.offsets = PyByteArray_FromStringAndSize("\0\0\0\0\0\0\0", 8);
	}
	return !name || !c->rows || (has_texts && (!c->texts.bytes || !c->texts.offsets)) ? -1 : 0;
}

static int resize(struct table *t, int64_t rows)
{
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (PyByteArray_Resize(t->columns[i].rows, (Py_ssize_t)rows * t->columns[i].width))
			return -1;
	t->capacity = rows;
	return 0;
}

static void put(const struct column *c, int64_t row, uint64_t v)
{
	char *at = PyByteArray_AS_STRING(c->rows) + row * c->width;
	int32_t small = (int32_t)v;

	if (c->width == 4)
		memcpy(at, &small, sizeof small);
	else
		memcpy(at, &v, sizeof v);
}

/* Cuts the columns to their rows, for good. */
static int finish(struct table *t)
{
	if (resize(t, t->n_rows))
		return -1;
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (PyObject_GetBuffer(t->columns[i].rows, &t->columns[i].pin, PyBUF_SIMPLE))
			return -1;
	return 0;
}

/* Begins a row.  0, or -1: an exception. */
static int begin_row(struct table *t, int64_t time_ns, uint32_t cpu, uint32_t stream)
{
	if (t->n_rows == t->capacity &&
	    resize(t, t->capacity ? t->capacity * 2 : (int64_t)FIRST_ROWS))
		return -1;
	put(&t->columns[0], t->n_rows, (uint64_t)time_ns);
	put(&t->columns[1], t->n_rows, (uint64_t)(int64_t)(int32_t)cpu); /* unknown: -1 */
	put(&t->columns[2], t->n_rows, stream);
	return 0;
}

static int put_value(struct column *c, int64_t row, const struct duet_read_value *v)
{
	char digits[24];
	int32_t number = 0;
	int n;

	if (c->kind == DUET_READ_TEXT) {
		if (texts_add(&c->texts, v->as.text, v->size, &number))
			return -1;
	} else if (c->kind == DUET_READ_LABEL && v->label) {
		if (texts_add(&c->texts, v->label, strlen(v->label), &number))
			return -1;
	} else if (c->kind == DUET_READ_LABEL) {
		n = v->is_signed
			    ? snprintf(digits, sizeof digits, "%lld", (long long)v->as.i)
			    : snprintf(digits, sizeof digits, "%llu", (unsigned long long)v->as.u);
		if (texts_add(&c->texts, digits, (size_t)n, &number))
			return -1;
	} else {
		put(c, row, v->as.u);
		return 0;
	}
	put(c, row, (uint64_t)number);
	return 0;
}

/* The field of each column, by class; -1: the class is another event's. */
struct plan {
	int32_t *fields; /* n_columns for each class */
	uint32_t n_columns;
	uint32_t *numbers; /* by class: 0: not wanted; else its place in `fields`, from 1 */
};

static const int32_t *fields_of(const struct plan *p, uint32_t class_number)
{
	uint32_t place = p->numbers[class_number];

	return place ? p->fields + (size_t)(place - 1) * p->n_columns : NULL;
}

static int add_row(struct reader *self, struct table *t, const int32_t *fields,
		   const struct duet_read_row *row)
{
	if (begin_row(t, row->time_ns, row->cpu, row->stream))
		return -1;
	for (uint32_t i = FIXED; i < t->n_columns; i++) {
		const struct duet_read_cell *cell = &row->cells[fields[i]];
		struct duet_read_value v = { .as.u = cell->as.u, .size = (uint32_t)cell->size };

		if (t->columns[i].kind == DUET_READ_LABEL)
			duet_read_cell_value(self->read, row->class_number, (uint32_t)fields[i],
					     cell, &v);
		if (put_value(&t->columns[i], t->n_rows, &v))
			return -1;
	}
	t->n_rows++;
	return 0;
}

static int add_item(struct reader *self, struct table *t, const int32_t *fields,
		    const struct duet_read_item *item)
{
	if (begin_row(t, item->time_ns, item->cpu, item->stream))
		return -1;
	for (uint32_t i = FIXED; i < t->n_columns; i++) {
		struct duet_read_value v = { .kind = DUET_READ_NONE };

		duet_read_get(self->read, (uint32_t)fields[i], &v);
		if (v.kind == DUET_READ_NONE)
			v = (struct duet_read_value){ 0 };
		if (v.kind == DUET_READ_NONE && t->columns[i].kind == DUET_READ_TEXT)
			v.as.text = "";
		if (put_value(&t->columns[i], t->n_rows, &v))
			return -1;
	}
	t->n_rows++;
	return 0;
}

static int read_rows(struct reader *self, struct table *t, const struct plan *p)
{
	struct duet_read_row rows[NAME_ROWS];
	struct duet_read_item item;
	const int32_t *fields;
	uint32_t n;
	int kind;

	for (;;) {
		while ((n = duet_read_batch(self->read, rows, NAME_ROWS))) {
			for (uint32_t i = 0; i < n; i++) {
				fields = fields_of(p, rows[i].class_number);
				if (fields && add_row(self, t, fields, &rows[i]))
					return -1;
			}
			if (PyErr_CheckSignals() || PyErr_Occurred())
				return -1;
		}
		kind = duet_read_next(self->read, &item);
		if (PyErr_Occurred())
			return -1;
		if (kind < 0) {
			PyErr_Format(duetread_error, "%s", duet_read_why(self->read));
			return -1;
		}
		if (kind == DUET_READ_END)
			return finish(t);
		fields = kind == DUET_READ_EVENT ? fields_of(p, item.class_number) : NULL;
		if (fields && add_item(self, t, fields, &item))
			return -1;
	}
}

/* ---------------------------------------------------------------- a table is made */

static int is_column(const struct duet_read_field *f)
{
	return f->kind >= DUET_READ_INT && f->kind <= DUET_READ_LABEL;
}

static int is_wanted(PyObject *names, PyObject *name)
{
	return names == Py_None ? 1 : PySequence_Contains(names, name);
}

static int add_fixed(struct table *t, PyObject *used)
{
	static const char *const fixed[FIXED] = { "time", "cpu", "stream" };

	for (int i = 0; i < FIXED; i++) {
		PyObject *name = PyUnicode_FromString(fixed[i]);
		int err = !name || take_name(used, name, 1) ||
			  add_column(t, name, NULL, DUET_READ_INT, i ? 'i' : 'q');

		Py_XDECREF(name);
		if (err)
			return -1;
	}
	return 0;
}

static char format_of(uint32_t kind)
{
	return kind == DUET_READ_REAL	? 'd'
	       : kind == DUET_READ_UINT ? 'Q'
	       : kind == DUET_READ_INT	? 'q'
					: 'i';
}

static int add_field(struct table *t, PyObject *used, PyObject *field, uint32_t kind)
{
	PyObject *name = free_name(used, field);
	int err = name ? add_column(t, name, field, kind, format_of(kind)) : -1;

	Py_XDECREF(name);
	return err;
}

static int add_columns(struct reader *self, struct table *t, uint32_t class_number, PyObject *names)
{
	const struct duet_read_class *info = duet_read_class_info(self->read, class_number);
	PyObject *used = PyDict_New();
	int err;

	t->columns = PyMem_Calloc(info->n_fields + (size_t)FIXED, sizeof *t->columns);
	if (!t->columns || !used) {
		Py_XDECREF(used);
		return PyErr_NoMemory(), -1;
	}
	err = add_fixed(t, used);
	for (uint32_t i = 0; !err && i < info->n_fields; i++) {
		PyObject *field = self->classes[class_number].keys[i];
		int wanted = is_column(&info->fields[i]) ? is_wanted(names, field) : 0;

		err = wanted < 0 || (wanted && add_field(t, used, field, info->fields[i].kind));
	}
	Py_DECREF(used);
	return err ? -1 : 0;
}

/* The fields that the columns have in class @number. */
static int plan_class(struct reader *self, const struct table *t, uint32_t number, int32_t *fields)
{
	const struct duet_read_class *info = duet_read_class_info(self->read, number);
	uint32_t column = FIXED;

	for (uint32_t i = 0; i < info->n_fields && column < t->n_columns; i++)
		if (is_column(&info->fields[i]) &&
		    info->fields[i].kind == t->columns[column].kind &&
		    PyUnicode_Compare(self->classes[number].keys[i], t->columns[column].field) == 0)
			fields[column++] = (int32_t)i;
	if (column == t->n_columns)
		return 0;
	PyErr_Format(PyExc_TypeError,
		     "%U: traces have events of this name with different fields; name a class by "
		     "its number",
		     self->classes[number].name);
	return -1;
}

/* Whether class @number is meant by @event, a name or a number. */
static int is_meant(struct reader *self, PyObject *event, uint32_t number)
{
	if (PyLong_Check(event))
		return PyLong_AsUnsignedLong(event) == number;
	return PyUnicode_Compare(event, self->classes[number].name) == 0;
}

static int make_plan(struct reader *self, struct table *t, PyObject *event, PyObject *names,
		     struct plan *p)
{
	uint32_t n = 0;

	p->numbers = PyMem_Calloc(self->n_classes + (size_t)1, sizeof *p->numbers);
	for (uint32_t i = 0; p->numbers && i < self->n_classes; i++)
		if (is_meant(self, event, i))
			p->numbers[i] = ++n;
	if (PyErr_Occurred())
		return -1;
	if (p->numbers && !n) {
		PyErr_SetObject(PyExc_KeyError, event);
		return -1;
	}
	for (uint32_t i = 0; p->numbers && i < self->n_classes; i++) {
		if (!p->numbers[i])
			continue;
		if (!t->columns) {
			if (add_columns(self, t, i, names))
				return -1;
			p->n_columns = t->n_columns;
			p->fields = PyMem_Calloc((size_t)n * p->n_columns, sizeof *p->fields);
			if (!p->fields)
				break;
		}
		if (plan_class(self, t, i, p->fields + (size_t)(p->numbers[i] - 1) * p->n_columns))
			return -1;
	}
	return p->fields ? 0 : (PyErr_NoMemory(), -1);
}

static PyObject *make_table(struct reader *self, PyObject *event, PyObject *names)
{
	struct table *t = PyObject_New(struct table, &table_type);
	struct plan p = { 0 };
	int err;

	if (!t)
		return NULL;
	t->columns = NULL;
	t->n_columns = 0;
	t->n_rows = t->capacity = 0;
	err = make_plan(self, t, event, names, &p);
	if (!err)
		err = reader_unread(self);
	if (!err)
		err = read_rows(self, t, &p);
	PyMem_Free(p.fields);
	PyMem_Free(p.numbers);
	if (err)
		Py_CLEAR(t);
	return (PyObject *)t;
}

PyObject *reader_table(struct reader *self, PyObject *arguments, PyObject *options)
{
	static char *keys[] = { "event", "fields", NULL };
	PyObject *event, *names = Py_None, *result;

	if (!PyArg_ParseTupleAndKeywords(arguments, options, "O|O", keys, &event, &names))
		return NULL;
	if (!PyUnicode_Check(event) && !PyLong_Check(event))
		return PyErr_Format(PyExc_TypeError, "event: a name, or the number of a class");
	/* "abc" contains "b", but names no field b */
	if (PyUnicode_Check(names) || PyBytes_Check(names))
		return PyErr_Format(PyExc_TypeError,
				    "fields: a tuple, list or set of names, not one text");
	if (self->follows)
		return PyErr_Format(PyExc_ValueError, "a reader that follows makes no tables");
	if (!reader_begin(self))
		return NULL;
	result = make_table(self, event, names);
	reader_end(self);
	return result;
}

/* ---------------------------------------------------------------- for NumPy and pandas */

static PyObject *list_of_texts(const struct texts *t)
{
	PyObject *list = PyList_New((Py_ssize_t)t->n);

	for (uint32_t i = 0; list && i < t->n; i++) {
		const int64_t *at = texts_offsets(t) + i;
		PyObject *s = duetread_text(PyByteArray_AS_STRING(t->bytes) + at[0],
					    (size_t)(at[1] - at[0]));

		if (s)
			PyList_SET_ITEM(list, (Py_ssize_t)i, s);
		else
			Py_CLEAR(list);
	}
	return list;
}

/* (name, format, bytearray, texts or None) of each column. */
static PyObject *table_columns(struct table *t, void *unused)
{
	PyObject *list = PyList_New(0);

	(void)unused;
	for (uint32_t i = 0; list && i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		PyObject *texts = c->texts.bytes ? list_of_texts(&c->texts) : Py_NewRef(Py_None);
		PyObject *item =
			texts ? Py_BuildValue("(OCON)", c->name, c->format, c->rows, texts) : NULL;

		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/* Makes no Python object for a row. Written in Python, because it calls NumPy and pandas. */
static const char glue[] = "def to_numpy(table):\n"
			   "    import numpy\n"
			   "    out = {}\n"
			   "    for name, form, rows, texts in table.columns:\n"
			   "        a = numpy.frombuffer(rows, dtype={'q': 'i8', 'Q': 'u8', 'd': "
			   "'f8', 'i': 'i4'}[form])\n"
			   "        out[name] = a.view('datetime64[ns]') if name == 'time' and not "
			   "out else (a, texts)\n"
			   "    return out\n"
			   "def to_pandas(table):\n"
			   "    import pandas\n"
			   "    out = to_numpy(table)\n"
			   "    for name, v in out.items():\n"
			   "        if isinstance(v, tuple):\n"
			   "            out[name] = v[0] if v[1] is None else "
			   "pandas.Categorical.from_codes(v[0], v[1])\n"
			   "    return pandas.DataFrame(out, copy=False)\n"
			   "def to_arrow(table):\n"
			   "    import pyarrow\n"
			   "    return pyarrow.record_batch(table)\n";

static PyObject *call_glue(PyObject *self, const char *function)
{
	static PyObject *globals;
	PyObject *result = NULL;

	if (!globals) {
		PyObject *made = PyDict_New();

		if (made && !PyDict_SetItemString(made, "__builtins__", PyEval_GetBuiltins()))
			result = PyRun_String(glue, Py_file_input, made, made);
		if (!result) {
			Py_XDECREF(made);
			return NULL;
		}
		Py_DECREF(result);
		globals = made;
	}
	return PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, function), self, NULL);
}

static PyObject *table_to_pandas(PyObject *self, PyObject *unused)
{
	(void)unused;
	return call_glue(self, "to_pandas");
}

static PyObject *table_to_arrow(PyObject *self, PyObject *unused)
{
	(void)unused;
	return call_glue(self, "to_arrow");
}

static Py_ssize_t table_length(PyObject *self)
{
	return (Py_ssize_t)((struct table *)self)->n_rows;
}

/* ---------------------------------------------------------------- for Arrow */

static PyObject *table_arrow(PyObject *self, PyObject *arguments, PyObject *options)
{
	static char *keys[] = { "requested_schema", NULL };
	const struct table *t = (const struct table *)self;
	struct arrow_column *columns;
	PyObject *requested, *result;

	if (!PyArg_ParseTupleAndKeywords(arguments, options, "|O", keys, &requested))
		return NULL;
	columns = PyMem_Calloc(t->n_columns, sizeof *columns);
	if (!columns)
		return PyErr_NoMemory();
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		columns[i] = (struct arrow_column){
			.name = PyUnicode_AsUTF8(c->name),
			.format = !i		     ? "tsn:UTC"
				  : c->format == 'q' ? "l"
				  : c->format == 'Q' ? "L"
				  : c->format == 'd' ? "g"
						     : "i",
			.rows = PyByteArray_AS_STRING(c->rows),
		};
		if (c->texts.bytes) {
			columns[i].n_texts = c->texts.n;
			columns[i].offsets = PyByteArray_AS_STRING(c->texts.offsets);
			columns[i].texts = PyByteArray_AS_STRING(c->texts.bytes);
		}
	}
	result = duetread_arrow(self, columns, t->n_columns, t->n_rows);
	PyMem_Free(columns);
	return result;
}

static PyMethodDef table_methods[] = {
	{ "to_pandas", table_to_pandas, METH_NOARGS,
	  "a pandas.DataFrame; texts and labels are categories" },
	{ "to_arrow", table_to_arrow, METH_NOARGS, "a pyarrow.RecordBatch" },
	{ "__arrow_c_array__", (PyCFunction)(void (*)(void))table_arrow,
	  METH_VARARGS | METH_KEYWORDS, "the Arrow C data interface" },
	{ NULL }
};
static PyGetSetDef table_getters[] = { { "columns", (getter)table_columns, NULL,
					 "list of (name, format, bytearray, texts or None)", NULL },
				       { NULL } };
static PySequenceMethods table_sequence = { .sq_length = table_length };

static PyTypeObject table_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "duetread.Table",
	.tp_basicsize = sizeof(struct table),
	.tp_dealloc = (destructor)table_free,
	.tp_as_sequence = &table_sequence,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "The events of one name, as columns: of Reader.table().",
	.tp_methods = table_methods,
	.tp_getset = table_getters,
};

int duetread_add_table(PyObject *module)
{
	return texts_begin() || PyType_Ready(&table_type) ||
	       PyModule_AddObjectRef(module, "Table", (PyObject *)&table_type);
}
