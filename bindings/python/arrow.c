/* SPDX-License-Identifier: MIT */
/*
 * bindings/python/arrow.c - a table in the Arrow C data interface, in capsules as Python's protocol
 * for it (__arrow_c_array__) has them: pyarrow, polars, DuckDB and others read these.
 *
 * https://arrow.apache.org/docs/format/CDataInterface.html.  The array is a struct of the columns.
 * Nothing is copied: the array keeps the table.  Parent, children and dictionaries are in one block of
 * memory.  A consumer may move a child elsewhere and release it after its parent, so each is a user of
 * the block, which the last one frees.
 */
#include "duetread.h"

struct arrow_schema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct arrow_schema **children, *dictionary;
	void (*release)(struct arrow_schema *);
	void *private_data;
};

struct arrow_array {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct arrow_array **children, *dictionary;
	void (*release)(struct arrow_array *);
	void *private_data;
};

static int is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030d0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

/* The memory of all parts of one schema or array. A consumer may move a part elsewhere. */
struct shared {
	PyObject *table;
	size_t n_users; /* parts that are not released */
};

/* Some consumers release their arrays when the process ends, after the interpreter.  Its objects are
 * gone then, or cannot be reached: the memory goes with the process. */
static void leave(struct shared *s)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized() || is_finalizing())
		return;
	state = PyGILState_Ensure();
	if (!--s->n_users) {
		Py_DECREF(s->table);
		PyMem_RawFree(s);
	}
	PyGILState_Release(state);
}

static void release_schema(struct arrow_schema *s)
{
	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
	if (s->dictionary && s->dictionary->release)
		s->dictionary->release(s->dictionary);
	s->release = NULL;
	leave(s->private_data);
}

static void release_array(struct arrow_array *a)
{
	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
	if (a->dictionary && a->dictionary->release)
		a->dictionary->release(a->dictionary);
	a->release = NULL;
	leave(a->private_data);
}

static void *allocate(PyObject *table, size_t size)
{
	struct shared *s = PyMem_RawCalloc(1, size);

	if (s)
		s->table = Py_NewRef(table);
	return s;
}

static struct arrow_schema schema_of(struct shared *s, const char *format, const char *name)
{
	s->n_users++;
	return (struct arrow_schema){
		.format = format, .name = name, .release = release_schema, .private_data = s
	};
}

static int make_schema(PyObject *table, const struct arrow_column *columns, uint32_t n,
		       struct arrow_schema *result)
{
	struct shared *s = allocate(table, sizeof *s + n * (sizeof(struct arrow_schema *) +
							    2 * sizeof(struct arrow_schema)));
	struct arrow_schema **list = (struct arrow_schema **)(void *)(s + 1);
	struct arrow_schema *parts = (struct arrow_schema *)(void *)(list + n);

	if (!s)
		return -1;
	*result = schema_of(s, "+s", "");
	result->n_children = n;
	result->children = list;
	for (uint32_t i = 0; i < n; i++) {
		list[i] = &parts[2 * i];
		*list[i] = schema_of(s, columns[i].format, columns[i].name);
		if (columns[i].texts) {
			list[i]->dictionary = &parts[2 * i + 1];
			*list[i]->dictionary = schema_of(s, "U", "");
		}
	}
	return 0;
}

static struct arrow_array array_of(struct shared *s, int64_t length, const void **buffers, int n)
{
	s->n_users++;
	return (struct arrow_array){ .length = length,
				     .n_buffers = n,
				     .buffers = buffers,
				     .release = release_array,
				     .private_data = s };
}

/* buffers[0], which would mark missing values, is NULL: none is. */
static int make_array(PyObject *table, const struct arrow_column *columns, uint32_t n, int64_t rows,
		      struct arrow_array *result)
{
	enum { BUFFERS = 5 }; /* of a column: 2, and 3 of its dictionary */
	struct shared *s = allocate(
		table, sizeof *s +
			       n * (sizeof(struct arrow_array *) + 2 * sizeof(struct arrow_array)) +
			       (n * BUFFERS + 1) * sizeof(void *));
	struct arrow_array **list = (struct arrow_array **)(void *)(s + 1);
	struct arrow_array *parts = (struct arrow_array *)(void *)(list + n);
	const void **buffers = (const void **)(void *)(parts + 2 * (size_t)n);

	if (!s)
		return -1;
	*result = array_of(s, rows, buffers++, 1);
	result->n_children = n;
	result->children = list;
	for (uint32_t i = 0; i < n; i++, buffers += BUFFERS) {
		list[i] = &parts[2 * i];
		*list[i] = array_of(s, rows, buffers, 2);
		buffers[1] = columns[i].rows;
		if (columns[i].texts) {
			list[i]->dictionary = &parts[2 * i + 1];
			*list[i]->dictionary = array_of(s, columns[i].n_texts, buffers + 2, 3);
			buffers[3] = columns[i].offsets;
			buffers[4] = columns[i].texts;
		}
	}
	return 0;
}

static void free_schema(PyObject *capsule)
{
	struct arrow_schema *s = PyCapsule_GetPointer(capsule, "arrow_schema");

	if (s->release)
		s->release(s);
	PyMem_Free(s);
}

static void free_array(PyObject *capsule)
{
	struct arrow_array *a = PyCapsule_GetPointer(capsule, "arrow_array");

	if (a->release)
		a->release(a);
	PyMem_Free(a);
}

PyObject *duetread_arrow(PyObject *table, const struct arrow_column *columns, uint32_t n,
			 int64_t rows)
{
	struct arrow_schema *schema = PyMem_Calloc(1, sizeof *schema);
	struct arrow_array *array = PyMem_Calloc(1, sizeof *array);
	PyObject *first = NULL, *second = NULL;

	if (schema && array && !make_schema(table, columns, n, schema) &&
	    !make_array(table, columns, n, rows, array)) {
		first = PyCapsule_New(schema, "arrow_schema", free_schema);
		second = first ? PyCapsule_New(array, "arrow_array", free_array) : NULL;
	}
	if (second)
		return Py_BuildValue("(NN)", first, second);
	if (array && array->release)
		array->release(array);
	PyMem_Free(array);
	if (!first && schema && schema->release)
		schema->release(schema);
	if (!first)
		PyMem_Free(schema);
	Py_XDECREF(first);
	return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
