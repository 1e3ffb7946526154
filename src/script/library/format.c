/* SPDX-License-Identifier: MIT */
/*
 * library/format.c - printf and its relatives: directives with their arguments as text.
 *
 * The checker has compared types and number of the arguments.
 */
#include <errno.h>

#include "script/library/internal.h"

enum { WIDTH_MOST = 4096, DIGITS_MOST = 64 + 1 };

struct field {
	bool minus, zero, plus, space, hash;
	int64_t width, precision; /* -1: none */
};

static void add_many(struct text *to, char c, int64_t n)
{
	char bytes[64];

	memset(bytes, c, sizeof bytes);
	for (; n > 0; n -= (int64_t)sizeof bytes)
		text_add(to, bytes, n < (int64_t)sizeof bytes ? (size_t)n : sizeof bytes);
}

/* @sign, zeros up to @n_zeros, and @digits, in the width. */
static void add_padded(struct text *to, const struct field *f, const char *sign, int64_t n_zeros,
		       const char *digits, size_t n)
{
	size_t n_sign = strlen(sign);
	int64_t padding = f->width - (int64_t)(n + n_sign) - n_zeros;

	if (!f->minus && !f->zero)
		add_many(to, ' ', padding);
	text_add(to, sign, n_sign);
	if (!f->minus && f->zero)
		add_many(to, '0', padding);
	add_many(to, '0', n_zeros);
	text_add(to, digits, n);
	if (f->minus)
		add_many(to, ' ', padding);
}

/* Digits of @value, written to the end of @digits; the first one. */
static char *to_digits(uint64_t value, unsigned base, bool is_upper, char digits[DIGITS_MOST])
{
	const char *all = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char *p = digits + DIGITS_MOST;

	if (base == 10)
		for (; value; value /= 10)
			*--p = (char)('0' + value % 10);
	else
		for (; value; value /= base)
			*--p = all[value % base];
	return p;
}

static void add_number(struct text *to, struct field *f, char conversion, int64_t value)
{
	unsigned base = conversion == 'o' ? 8 : strchr("xXp", conversion) ? 16 : 10;
	bool is_signed = conversion == 'd';
	uint64_t magnitude = is_signed && value < 0 ? -(uint64_t)value : (uint64_t)value;
	const char *sign = "";
	char digits[DIGITS_MOST], *first = to_digits(magnitude, base, conversion == 'X', digits);
	int64_t n = digits + DIGITS_MOST - first, n_zeros;

	if (is_signed)
		sign = value < 0 ? "-" : f->plus ? "+" : f->space ? " " : "";
	else if (conversion == 'p' || (f->hash && base == 16 && value))
		sign = conversion == 'X' ? "0X" : "0x";
	if (f->precision >= 0)
		f->zero = false;
	n_zeros = (f->precision < 0 ? 1 : f->precision) - n;
	if (conversion == 'o' && f->hash && n_zeros < 1)
		n_zeros = 1;
	add_padded(to, f, sign, n_zeros > 0 ? n_zeros : 0, first, (size_t)n);
}

static void add_string(struct script_vm *vm, struct text *to, struct field *f, const char *bytes,
		       size_t size)
{
	(void)vm;
	if (f->precision >= 0 && (uint64_t)f->precision < size)
		size = (size_t)f->precision;
	f->zero = false;
	add_padded(to, f, "", 0, bytes, size);
}

/* A width or precision; a star takes the next argument. */
static int64_t size_of(int32_t given, const union script_cell **cells)
{
	int64_t size = given == -2 ? (*cells)++->number : given;

	return size > WIDTH_MOST ? WIDTH_MOST : size < -WIDTH_MOST ? -WIDTH_MOST : size;
}

static bool are_plain(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)(bytes[i] - ' ') >= 0x7f - ' ')
			return false;
	return true;
}

/* A string that is written; width and precision count the bytes that it has. */
static void add_written(struct script_vm *vm, struct text *to, struct field *f, const char *bytes,
			size_t size)
{
	struct text shown = { 0 };

	if (are_plain(bytes, size)) {
		add_string(vm, to, f, bytes, size);
		return;
	}
	if (f->precision >= 0 && (uint64_t)f->precision < size)
		size = (size_t)f->precision;
	f->precision = -1;
	library_add_shown(vm, &shown, bytes, size);
	add_string(vm, to, f, shown.bytes ? shown.bytes : "", shown.size);
	to->failed |= shown.failed;
	text_fini(&shown);
}

/* Binary output is for programs. */
static void add_binary(struct text *to, const char *bytes, size_t size, bool is_shown)
{
	if (is_shown)
		text_add_printable(to, bytes, size);
	else
		text_add(to, bytes, size);
}

static int add_value(struct script_vm *vm, struct text *to, const struct script_directive *d,
		     struct field *f, union script_cell cell, bool is_written)
{
	const struct script_services *s = script_vm_services(vm);
	bool is_shown = is_written && s->is_shown;
	void (*add)(struct script_vm * vm, struct text * to, struct field * f, const char *bytes,
		    size_t size) = is_shown ? add_written : add_string;
	char byte = (char)cell.number;

	switch (d->conversion) {
	case 's':
		add(vm, to, f, cell.text->bytes, cell.text->size);
		return 0;
	case 'c':
		f->precision = -1;
		add(vm, to, f, &byte, 1);
		return 0;
	case 'b':
		add_binary(to, (const char *)&cell.number, d->size && d->size <= 8 ? d->size : 8,
			   is_shown && s->is_terminal);
		return 0;
	case 'm':
	case 'M':
		script_raise(vm,
			     "%%%c: the memory at 0x%llx was not recorded; "
			     "kernel_buffer_quoted() or user_buffer_quoted() of a $variable is",
			     d->conversion, (unsigned long long)cell.number);
		return -EINVAL;
	default:
		add_number(to, f, d->conversion, cell.number);
		return 0;
	}
}

static int add_format(struct script_vm *vm, struct text *to, const struct script_format *format,
		      const union script_cell *cells, bool is_written)
{
	for (uint32_t i = 0; i < format->n; i++) {
		const struct script_directive *d = &format->directives[i];
		struct field f = { .minus = d->minus,
				   .zero = d->zero,
				   .plus = d->plus,
				   .space = d->space,
				   .hash = d->hash };

		text_add(to, d->before, d->before_size);
		if (!d->conversion)
			continue;
		f.width = size_of(d->width, &cells);
		f.precision = size_of(d->precision, &cells);
		if (d->width == -2 && f.width < 0) {
			f.minus = true;
			f.width = -f.width;
		}
		if (add_value(vm, to, d, &f, *cells++, is_written))
			return -EINVAL;
	}
	if (!to->failed)
		return 0;
	script_raise(vm, "no memory for the output of a printf");
	return -ENOMEM;
}

int library_format(struct script_vm *vm, struct text *to, const struct script_format *format,
		   const union script_cell *cells)
{
	return add_format(vm, to, format, cells, false);
}

int library_format_shown(struct script_vm *vm, struct text *to, const struct script_format *format,
			 const union script_cell *cells)
{
	return add_format(vm, to, format, cells, true);
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 127 && c != '"' && c != '\\';
}

void library_escape(struct text *to, const char *bytes, size_t size)
{
	static const char names[] = "\nn\tt\rr\"\"\\\\\aa\bb\vv\ff";

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		const char *name = NULL;

		for (size_t k = 0; k < sizeof names - 1; k += 2)
			if (names[k] == (char)c)
				name = &names[k + 1];
		if (is_plain(c))
			text_add(to, bytes + i, 1);
		else if (name)
			text_addf(to, "\\%c", *name);
		else
			text_addf(to, "\\%03o", c);
	}
}

static void add_hidden(struct text *to, uint32_t character)
{
	if (character < 0x10000)
		text_addf(to, "\\u%04x", character);
	else
		text_addf(to, "\\u%04x\\u%04x", 0xd800 + ((character - 0x10000) >> 10),
			  0xdc00 | (character & 0x3ff));
}

/* Bytes that are no UTF-8 become the characters of Latin 1. */
void library_json_string(struct text *to, const char *bytes, size_t size)
{
	size_t length;

	text_add(to, "\"", 1);
	for (size_t i = 0; i < size; i += length ? length : 1) {
		unsigned char c = (unsigned char)bytes[i];

		length = text_utf8_length(bytes + i, size - i);
		if (c == '"' || c == '\\')
			text_addf(to, "\\%c", c);
		else if (!length)
			text_addf(to, "\\u%04x", c);
		else if (!text_shown_length(bytes + i, length))
			add_hidden(to, text_code_point(bytes + i, length));
		else
			text_add(to, bytes + i, length);
	}
	text_add(to, "\"", 1);
}
