/* SPDX-License-Identifier: MIT */
/*
 * base/schema.h - the language in which programs describe the fields of their events.
 *
 *	TYPE FIELD TYPE FIELD ...
 *
 *	TYPE: i8..i64 u8..u64 x8..x64 (hexadecimal) p32 p64 (address) f32 f64 str
 *	      chr[N]  T[N]  T[]  enum(T:A, B = 5, C)
 *
 * T is any type but str and chr; for enum an integer.
 *
 * Header only: libduet and the collector accept the same text.  libduet refuses a class that the
 * collector could not describe in metadata: if a reader does not know the fields of a class, it
 * cannot read anything after its first event.
 *
 * The text is untrusted: nothing is read beyond its end.
 */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SCHEMA_FIELDS_MAX = 128, SCHEMA_LABEL_MAX = 127, SCHEMA_ARRAY_MAX = 1 << 20 };

/* The rest of a text, or a part of it. */
struct schema_text {
	const char *p, *end;
};

enum schema_shape { SCHEMA_ONE, SCHEMA_ARRAY, SCHEMA_SEQUENCE, SCHEMA_ENUM };

struct schema_type {
	char base;    /* i, u, x (hexadecimal), p (address), f, s (string), c (characters) */
	uint8_t bits; /* for i u x p f */
	enum schema_shape shape;
	uint32_t count;		   /* SCHEMA_ARRAY: elements */
	struct schema_text labels; /* SCHEMA_ENUM: for schema_next_label */
};

static inline void schema_skip_spaces(struct schema_text *t)
{
	while (t->p < t->end && *t->p == ' ')
		t->p++;
}

static inline bool schema_is(struct schema_text t, const char *text)
{
	return (size_t)(t.end - t.p) == strlen(text) && !memcmp(t.p, text, strlen(text));
}

/* The next word, up to a space outside parentheses; empty at the end. */
static inline struct schema_text schema_next_word(struct schema_text *t)
{
	struct schema_text w;
	int depth = 0;

	schema_skip_spaces(t);
	w.p = t->p;
	for (; t->p < t->end && (*t->p != ' ' || depth > 0); t->p++)
		depth += (*t->p == '(') - (*t->p == ')');
	w.end = t->p;
	return w;
}

static inline int schema_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* A number in C's syntax, at most @max; @t moves past it. */
static inline bool schema_read_number(struct schema_text *t, uint64_t max, uint64_t *value)
{
	uint64_t base = 10;
	const char *begin;

	if (t->end - t->p > 1 && *t->p == '0') {
		bool is_hex = (t->p[1] | 0x20) == 'x';

		base = is_hex ? 16 : 8;
		t->p += is_hex ? 2 : 0;
	}
	begin = t->p;
	for (*value = 0; t->p < t->end && (uint64_t)schema_digit(*t->p) < base; t->p++) {
		uint64_t digit = (uint64_t)schema_digit(*t->p);

		if (*value > (max - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	return t->p > begin;
}

static inline bool schema_read_bits(struct schema_text t, struct schema_type *type)
{
	static const uint8_t sizes[] = { 8, 16, 32, 64 };
	struct schema_text n = { t.p + 1, t.end };

	if (t.p == t.end || !memchr("iuxpf", *t.p, 5))
		return false;
	for (unsigned i = 0; i < sizeof sizes; i++) {
		char text[3] = { (char)('0' + sizes[i] / 10), (char)('0' + sizes[i] % 10), 0 };

		if (!schema_is(n, sizes[i] < 10 ? text + 1 : text))
			continue;
		type->base = *t.p;
		type->bits = sizes[i];
		return *t.p != 'f' || sizes[i] >= 32;
	}
	return false;
}

/* Whether @value, taken as signed if @is_negative, fits into the integer. */
static inline bool schema_fits(const struct schema_type *type, uint64_t value, bool is_negative)
{
	uint64_t max = UINT64_MAX >> (64 - type->bits);

	if (type->base != 'i')
		return !is_negative && value <= max;
	return value <= max / 2 + is_negative;
}

/*
 * schema_next_label - read the next `LABEL` or `LABEL = NUMBER` of an enumeration, and the comma.
 *
 * @value: the label's value modulo 2^64.  It is -1 in the first call, then as the last call left
 * it.
 *
 * Returns false if the text is malformed, or the value does not fit @type.
 */
static inline bool schema_next_label(const struct schema_type *type, struct schema_text *labels,
				     struct schema_text *label, uint64_t *value)
{
	bool is_negative = false;
	uint64_t size;

	schema_skip_spaces(labels);
	label->p = labels->p;
	while (labels->p < labels->end &&
	       (schema_digit(*labels->p) < 16 || *labels->p == '_' ||
		((*labels->p | 0x20) >= 'a' && (*labels->p | 0x20) <= 'z')))
		labels->p++;
	label->end = labels->p;
	schema_skip_spaces(labels);
	if (label->end == label->p || label->end - label->p > SCHEMA_LABEL_MAX)
		return false;
	++*value;
	size = *value;
	if (labels->p < labels->end && *labels->p == '=') {
		labels->p++;
		schema_skip_spaces(labels);
		is_negative = labels->p < labels->end && *labels->p == '-';
		labels->p += is_negative;
		if (!schema_read_number(labels, UINT64_MAX, &size))
			return false;
		*value = is_negative ? -size : size;
		while (labels->p < labels->end && memchr("uUlL", *labels->p, 4))
			labels->p++;
		schema_skip_spaces(labels);
	} else if (type->base == 'i' && (int64_t)*value < 0) {
		is_negative = true; /* the one after -2 */
		size = -*value;
	}
	if (!schema_fits(type, size, is_negative))
		return false;
	if (labels->p == labels->end)
		return true;
	return *labels->p++ == ',';
}

/* enum(T:A, B = 5, C) */
static inline bool schema_read_enum(struct schema_text word, struct schema_type *type)
{
	size_t size = (size_t)(word.end - word.p);
	const char *colon;
	struct schema_text labels, label;
	uint64_t value = UINT64_MAX;

	if (size < 7 || memcmp(word.p, "enum(", 5) || word.end[-1] != ')')
		return false;
	colon = (const char *)memchr(word.p, ':', size);
	if (!colon || !schema_read_bits((struct schema_text){ word.p + 5, colon }, type) ||
	    type->base == 'f')
		return false;
	type->shape = SCHEMA_ENUM;
	labels = type->labels = (struct schema_text){ colon + 1, word.end - 1 };
	do
		if (!schema_next_label(type, &labels, &label, &value))
			return false;
	while (labels.p < labels.end);
	return labels.end[-1] != ',';
}

/* T[N], T[], chr[N] */
static inline bool schema_read_array(struct schema_text word, const char *bracket,
				     struct schema_type *type)
{
	struct schema_text element = { word.p, bracket }, n = { bracket + 1, word.end };
	uint64_t count = 0;

	type->shape = n.p < n.end && *n.p == ']' ? SCHEMA_SEQUENCE : SCHEMA_ARRAY;
	if (type->shape == SCHEMA_ARRAY && !schema_read_number(&n, SCHEMA_ARRAY_MAX, &count))
		return false;
	type->count = (uint32_t)count;
	if (n.end - n.p != 1 || *n.p != ']')
		return false;
	if (schema_is(element, "chr")) {
		type->base = 'c';
		return type->shape == SCHEMA_ARRAY;
	}
	return schema_read_bits(element, type);
}

/* schema_read_type - parse the word of a type.  False if it is not valid. */
static inline bool schema_read_type(struct schema_text word, struct schema_type *type)
{
	const char *bracket;

	*type = (struct schema_type){ .shape = SCHEMA_ONE };
	if (schema_is(word, "str")) {
		type->base = 's';
		return true;
	}
	if (word.end - word.p > 5 && !memcmp(word.p, "enum(", 5))
		return schema_read_enum(word, type);
	bracket = word.p < word.end ? (const char *)memchr(word.p, '[', (size_t)(word.end - word.p))
				    : NULL;
	return bracket ? schema_read_array(word, bracket, type) : schema_read_bits(word, type);
}

/* schema_is_sound - whether events with the fields @words can be recorded. */
static inline bool schema_is_sound(struct schema_text words)
{
	struct schema_type type;

	for (int n = 0;; n++) {
		struct schema_text word = schema_next_word(&words),
				   field = schema_next_word(&words);

		if (word.p == word.end)
			return true;
		if (field.p == field.end || n == SCHEMA_FIELDS_MAX ||
		    !schema_read_type(word, &type))
			return false;
	}
}

#endif
