/* SPDX-License-Identifier: MIT */
/* bindings/python/texts.c - finds texts by their hash: see texts.h. */
#include "texts.h"

#include <unistd.h>

enum { FIRST_TEXTS = 64 };

/* SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein, 2012) with a key of this process: the writer of a
 * recording cannot choose texts that collide, which would take the square of their number. */
static uint64_t key[2];

static uint64_t turn(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = turn(v[1], 13) ^ v[0];
	v[3] = turn(v[3], 16) ^ v[2];
	v[0] = turn(v[0], 32) + v[3];
	v[2] += v[1];
	v[1] = turn(v[1], 17) ^ v[2];
	v[3] = turn(v[3], 21) ^ v[0];
	v[2] = turn(v[2], 32);
}

static uint64_t hash(const char *s, size_t size)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			  key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
	uint64_t word = 0, last = (uint64_t)size << 56;

	for (; size >= 8; s += 8, size -= 8) {
		memcpy(&word, s, sizeof word);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = 0;
	memcpy(&word, s, size);
	v[3] ^= last | word;
	sip_round(v);
	v[0] ^= last | word;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static int is_text(const struct texts *t, uint32_t number, const char *s, size_t size)
{
	const int64_t *at = texts_offsets(t) + number;

	return (size_t)(at[1] - at[0]) == size &&
	       !memcmp(PyByteArray_AS_STRING(t->bytes) + at[0], s, size);
}

static int32_t *find_slot(const struct texts *t, const char *s, size_t size)
{
	uint32_t i = (uint32_t)hash(s, size) & (t->n_slots - 1);

	while (t->slots[i] && !is_text(t, (uint32_t)t->slots[i] - 1, s, size))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

/* Makes room for one more text of @size bytes. */
static int grow_texts(struct texts *t, size_t size)
{
	uint64_t room = (uint64_t)PyByteArray_GET_SIZE(t->bytes);
	uint32_t n = t->n_slots ? t->n_slots * 2 : FIRST_TEXTS;
	int32_t *slots;

	if (t->size + size > room &&
	    PyByteArray_Resize(t->bytes, (Py_ssize_t)((t->size + size) * 2)))
		return -1;
	if (t->n + 1 < t->n_offsets && t->n < t->n_slots / 2)
		return 0;
	if (t->n >= INT32_MAX / 4) {
		PyErr_SetString(PyExc_OverflowError, "too many different texts in a column");
		return -1;
	}
	slots = PyMem_Calloc(n, sizeof *slots);
	if (!slots || PyByteArray_Resize(t->offsets, (Py_ssize_t)((n + 1) * sizeof(int64_t)))) {
		PyMem_Free(slots);
		return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
	}
	PyMem_Free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	t->n_offsets = n + 1;
	if (!t->n)
		texts_offsets(t)[0] = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const int64_t *at = texts_offsets(t) + i;

		*find_slot(t, PyByteArray_AS_STRING(t->bytes) + at[0], (size_t)(at[1] - at[0])) =
			(int32_t)i + 1;
	}
	return 0;
}

/* Returns the number of the text, which is added if it is new; -1: an exception. */
static int32_t number_of(struct texts *t, const char *s, size_t size)
{
	int32_t *slot;

	if (t->n && is_text(t, t->last, s, size))
		return (int32_t)t->last;
	slot = t->n_slots ? find_slot(t, s, size) : NULL;
	if (!slot || !*slot) {
		if (grow_texts(t, size))
			return -1;
		slot = find_slot(t, s, size);
		memcpy(PyByteArray_AS_STRING(t->bytes) + t->size, s, size);
		t->size += size;
		texts_offsets(t)[++t->n] = (int64_t)t->size;
		*slot = (int32_t)t->n;
	}
	t->last = (uint32_t)*slot - 1;
	return (int32_t)t->last;
}

int texts_add(struct texts *t, const char *s, size_t size, int32_t *number)
{
	PyObject *text;
	Py_ssize_t n;
	const char *valid;

	for (size_t i = 0; i < size; i++) {
		if (!((unsigned char)s[i] & 0x80))
			continue;
		text = duetread_text(s, size);
		valid = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
		*number = valid ? number_of(t, valid, (size_t)n) : -1;
		Py_XDECREF(text);
		return *number < 0 ? -1 : 0;
	}
	*number = number_of(t, s, size);
	return *number < 0 ? -1 : 0;
}

int texts_begin(void)
{
	if (!getentropy(key, sizeof key))
		return 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}
