/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/events.c - makes Python objects of events.
 *
 * An event has a dict of its fields; the names are made once per class.  If a field of a row has
 * the same value as in the row before, the same object is used again.  So are the event and its dict if
 * the script has dropped them.
 */
#include "duetread.h"

struct event {
	PyObject_HEAD PyObject *name, *fields;
	long long time;
	long cpu; /* -1: unknown */
	unsigned int stream;
	unsigned int class_number;
	unsigned long long lost_events, lost_packets;
};

/* The last event that was freed; the lock of the interpreter protects it. */
static struct event *spare;

static void event_free(struct event *e)
{
	Py_XDECREF(e->name);
	Py_XDECREF(e->fields);
	PyObject_Free(spare);
	spare = e;
}

static struct event *event_new(void)
{
	struct event *e = spare;

	if (!e)
		return PyObject_New(struct event, &duetread_event_type);
	spare = NULL;
	PyObject_Init((PyObject *)e, &duetread_event_type);
	return e;
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
	{ "name", T_OBJECT, offsetof(struct event, name), READONLY,
	  "the event's name; None: events were lost here" },
	{ "fields", T_OBJECT, offsetof(struct event, fields), READONLY,
	  "dict of contexts and fields" },
	{ "time", T_LONGLONG, offsetof(struct event, time), READONLY,
	  "nanoseconds since the Epoch" },
	{ "cpu", T_LONG, offsetof(struct event, cpu), READONLY,
	  "number of the CPU, -1 if unknown" },
	{ "stream", T_UINT, offsetof(struct event, stream), READONLY, "number of the stream" },
	{ "class_number", T_UINT, offsetof(struct event, class_number), READONLY,
	  "number of the class" },
	{ "lost_events", T_ULONGLONG, offsetof(struct event, lost_events), READONLY,
	  "events lost here" },
	{ "lost_packets", T_ULONGLONG, offsetof(struct event, lost_packets), READONLY,
	  "packets lost here" },
	{ NULL }
};

PyTypeObject duetread_event_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "duetread.Event",
	.tp_basicsize = sizeof(struct event),
	.tp_dealloc = (destructor)event_free,
	.tp_repr = (reprfunc)event_repr,
	.tp_as_mapping = &event_mapping,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "An event, or (name None) a place where events were lost.  event[field] is a "
		  "field's value.",
	.tp_members = event_members,
};

PyObject *duetread_text(const char *s, size_t n)
{
	return PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, "replace");
}

/* Makes an object for a value that is neither struct nor array. */
static PyObject *scalar(const struct duet_read_value *v)
{
	switch (v->kind) {
	case DUET_READ_INT:
		return PyLong_FromLongLong(v->as.i);
	case DUET_READ_UINT:
		return PyLong_FromUnsignedLongLong(v->as.u);
	case DUET_READ_REAL:
		return PyFloat_FromDouble(v->as.real);
	case DUET_READ_TEXT:
		return duetread_text(v->as.text, v->size);
	case DUET_READ_LABEL:
		if (v->label)
			return duetread_text(v->label, strlen(v->label));
		return v->is_signed ? PyLong_FromLongLong(v->as.i)
				    : PyLong_FromUnsignedLongLong(v->as.u);
	default:
		Py_RETURN_NONE;
	}
}

static PyObject *compound(struct duet_read *r, const struct duet_read_value *v);

/* An object for any value of a walk. */
static PyObject *value_of(struct duet_read *r, const struct duet_read_value *v)
{
	return v->kind == DUET_READ_STRUCT || v->kind == DUET_READ_ARRAY ? compound(r, v)
									 : scalar(v);
}

static int is_end(const struct duet_read_value *v)
{
	return v->kind == DUET_READ_STRUCT_END || v->kind == DUET_READ_ARRAY_END;
}

/* Makes a list of an array's @size elements if they are integers, else an empty one. */
static PyObject *list_of_numbers(struct duet_read *r, uint64_t size)
{
	enum { NUMBERS = 64 };
	struct duet_read_value form;
	uint64_t numbers[NUMBERS];
	uint32_t n = duet_read_numbers(r, &form, numbers, NUMBERS);
	PyObject *list = PyList_New(n ? (Py_ssize_t)size : 0);

	for (uint64_t at = 0; list && n; n = duet_read_numbers(r, &form, numbers, NUMBERS))
		for (uint32_t i = 0; list && i < n && at < size; i++) {
			PyObject *item = form.is_signed ? PyLong_FromLongLong((long long)numbers[i])
							: PyLong_FromUnsignedLongLong(numbers[i]);

			if (item)
				PyList_SET_ITEM(list, (Py_ssize_t)at++, item);
			else
				Py_CLEAR(list);
		}
	return list;
}

/* Makes a dict (struct) or list (array) of the values up to the end of @of. */
static PyObject *compound(struct duet_read *r, const struct duet_read_value *of)
{
	int is_struct = of->kind == DUET_READ_STRUCT;
	PyObject *result = is_struct ? PyDict_New() : list_of_numbers(r, of->as.u);
	struct duet_read_value v;

	while (result && duet_read_walk(r, &v) && !is_end(&v)) {
		PyObject *item = value_of(r, &v);
		int err;

		if (!item)
			err = -1;
		else
			err = is_struct ? PyDict_SetItemString(result, v.name ? v.name : "", item)
					: PyList_Append(result, item);
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(result);
	}
	return result;
}

/* The names of values are those of fields, in their order, but for fields that are not there. */
static PyObject *key_of(const struct class *class, const struct duet_read_class *info,
			const char *name, uint32_t *field)
{
	for (uint32_t i = *field; i < class->n_fields; i++)
		if (info->fields[i].name == name) {
			*field = i + 1;
			return Py_NewRef(class->keys[i]);
		}
	return duetread_text(name ? name : "", name ? strlen(name) : 0);
}

/* After an exception the walk goes on to its end, or the next one would begin there. */
static PyObject *walk_compounds(struct reader *self, uint32_t number)
{
	const struct duet_read_class *info = duet_read_class_info(self->read, number);
	PyObject *d = PyDict_New();
	struct duet_read_value v;
	uint32_t field = 0;

	while (duet_read_walk(self->read, &v)) {
		PyObject *key, *item;

		if (!d)
			continue;
		key = key_of(&self->classes[number], info, v.name, &field);
		item = key ? value_of(self->read, &v) : NULL;
		if (!item || PyDict_SetItem(d, key, item))
			Py_CLEAR(d);
		Py_XDECREF(key);
		Py_XDECREF(item);
	}
	return d;
}

static PyObject *walk_fields(struct reader *self, uint32_t number)
{
	const struct duet_read_class *c = duet_read_class_info(self->read, number);
	struct duet_read_value *v = self->values;
	PyObject *d;

	if (self->classes[number].has_compounds)
		return walk_compounds(self, number);
	duet_read_values(self->read, v);
	for (uint32_t i = 0; i < c->n_fields; i++)
		if (v[i].kind == DUET_READ_STRUCT || v[i].kind == DUET_READ_ARRAY)
			return walk_compounds(self, number);
	d = PyDict_New();
	for (uint32_t i = 0; d && i < c->n_fields; i++) {
		PyObject *item;

		if (v[i].kind == DUET_READ_NONE)
			continue;
		item = scalar(&v[i]);
		if (!item || PyDict_SetItem(d, self->classes[number].keys[i], item))
			Py_CLEAR(d);
		Py_XDECREF(item);
	}
	return d;
}

/* A comparison is cheaper than a new object. */
static int is_same_text(PyObject *last, const struct duet_read_cell *c)
{
	return last && PyUnicode_IS_COMPACT_ASCII(last) &&
	       (size_t)PyUnicode_GET_LENGTH(last) == c->size &&
	       !memcmp(PyUnicode_DATA(last), c->as.text, c->size);
}

/* Makes an object for field @i of a row.  Returns a new reference. */
static PyObject *value_of_cell(struct reader *self, uint32_t number, uint32_t i, uint32_t kind,
			       const struct duet_read_cell *c)
{
	struct last_value *last = &self->classes[number].last[i];
	struct duet_read_value v = { .as.u = c->as.u };
	PyObject *value;

	if (kind == DUET_READ_TEXT) {
		if (is_same_text(last->value, c))
			return Py_NewRef(last->value);
		value = duetread_text(c->as.text, c->size);
	} else {
		if (last->value && last->bits == c->as.u)
			return Py_NewRef(last->value);
		v.kind = kind;
		if (kind == DUET_READ_LABEL)
			duet_read_cell_value(self->read, number, i, c, &v);
		value = scalar(&v);
		last->bits = c->as.u;
	}
	Py_XSETREF(last->value, Py_XNewRef(value));
	return value;
}

static uint64_t version_of(PyObject *dict)
{
#if DUETREAD_USES_AGAIN
	return ((PyDictObject *)dict)->ma_version_tag;
#else
	(void)dict;
	return 0;
#endif
}

/* A dict of the class that only it still has, as it was given away; NULL: none. */
static struct used_dict *find_used(struct class *class)
{
	for (int i = 0; i < USED_DICTS && DUETREAD_USES_AGAIN; i++) {
		struct used_dict *u = &class->used[i];

		if (u->dict && Py_REFCNT(u->dict) == 1 && version_of(u->dict) == u->version)
			return u;
	}
	return NULL;
}

/* Keeps @dict, which has @values, in the place of an older one.  Not if two fields have one name. */
static void keep_used(struct class *class, PyObject *dict, PyObject **values)
{
	struct used_dict *u = &class->used[class->n_used % USED_DICTS];

	if (!DUETREAD_USES_AGAIN || PyDict_GET_SIZE(dict) != (Py_ssize_t) class->n_fields)
		return;
	if (!u->values &&
	    !(u->values = PyMem_Calloc(class->n_fields + (size_t)1, sizeof *u->values)))
		return;
	memcpy(u->values, values, class->n_fields * sizeof *values);
	Py_XSETREF(u->dict, Py_NewRef(dict));
	u->version = version_of(dict);
	class->n_used++;
}

/* Sets the fields of @row in @d, but for those that are in @values already.  False: an exception. */
static int set_fields(struct reader *self, const struct duet_read_row *row, PyObject *d,
		      PyObject **values)
{
	const struct duet_read_class *info = duet_read_class_info(self->read, row->class_number);
	const struct class *class = &self->classes[row->class_number];

	for (uint32_t i = 0; i < class->n_fields; i++) {
		PyObject *value = value_of_cell(self, row->class_number, i, info->fields[i].kind,
						&row->cells[i]);

		if (!value || (values[i] != value && PyDict_SetItem(d, class->keys[i], value))) {
			Py_XDECREF(value);
			return 0;
		}
		values[i] = value; /* the dict has it */
		Py_DECREF(value);
	}
	return 1;
}

static PyObject *fields_again(struct reader *self, const struct duet_read_row *row,
			      struct used_dict *u)
{
	if (!set_fields(self, row, u->dict, u->values)) {
		Py_CLEAR(u->dict);
		return NULL;
	}
	u->version = version_of(u->dict);
	return Py_NewRef(u->dict);
}

static PyObject *fields_of_row(struct reader *self, const struct duet_read_row *row)
{
	enum { FEW = 32 }; /* dicts of more fields are not used again */
	struct class *class = &self->classes[row->class_number];
	struct used_dict *u = find_used(class);
	PyObject *d, *few[FEW] = { NULL }, **values = few;

	if (u)
		return fields_again(self, row, u);
	if (class->n_fields > FEW)
		values = PyMem_Calloc(class->n_fields, sizeof *values);
	if (!values)
		return PyErr_NoMemory();
	d = class->pattern ? PyDict_Copy(class->pattern) : PyDict_New();
	if (d && !set_fields(self, row, d, values))
		Py_CLEAR(d);
	if (d && values == few)
		keep_used(class, d, values);
	if (values != few)
		PyMem_Free(values);
	return d;
}

/* Takes ownership of @fields; NULL: an exception. */
static struct event *event_of(long long time, uint32_t cpu, uint32_t stream, uint32_t class_number,
			      PyObject *name, PyObject *fields)
{
	struct event *e = fields ? event_new() : NULL;

	if (!e) {
		Py_XDECREF(fields);
		return NULL;
	}
	e->time = time;
	e->cpu = cpu == DUET_READ_NO_CPU ? -1 : (long)cpu;
	e->stream = stream;
	e->class_number = class_number;
	e->lost_events = e->lost_packets = 0;
	e->name = Py_NewRef(name);
	e->fields = fields;
	return e;
}

PyObject *duetread_item(struct reader *self, const struct duet_read_item *item)
{
	int is_event = item->kind == DUET_READ_EVENT;
	PyObject *fields = is_event ? walk_fields(self, item->class_number) : PyDict_New();
	struct event *e =
		event_of(item->time_ns, item->cpu, item->stream, item->class_number,
			 is_event ? self->classes[item->class_number].name : Py_None, fields);

	if (e) {
		e->lost_events = item->lost_events;
		e->lost_packets = item->lost_packets;
	}
	return (PyObject *)e;
}

PyObject *duetread_row(struct reader *self, const struct duet_read_row *row)
{
	return (PyObject *)event_of(row->time_ns, row->cpu, row->stream, row->class_number,
				    self->classes[row->class_number].name,
				    fields_of_row(self, row));
}
