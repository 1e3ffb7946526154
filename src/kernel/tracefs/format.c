/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/format.c - parses the text of a `format` file, line by line.
 *
 * 	name: sched_process_exec
 * 	ID: 365
 * 	format:
 * 		field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
 * 		field:pid_t pid;	offset:12;	size:4;	signed:1;
 *
 * Parsing stops at `print fmt:`, because the text after it may hold anything. */
#include "kernel/tracefs/format.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct span {
	const char *at, *end;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct span trimmed(struct span s)
{
	while (s.at < s.end && isspace((unsigned char)*s.at))
		s.at++;
	while (s.at < s.end && isspace((unsigned char)s.end[-1]))
		s.end--;
	return s;
}

static bool span_is(struct span s, const char *text)
{
	return (size_t)(s.end - s.at) == strlen(text) && !memcmp(s.at, text, strlen(text));
}

static bool take_prefix(struct span *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n))
		return false;
	s->at += n;
	return true;
}

static bool span_has(struct span s, char c)
{
	return s.at < s.end && memchr(s.at, c, (size_t)(s.end - s.at));
}

/* Decimal, at most @max, and nothing else. */
static bool read_number(struct span s, unsigned max, unsigned *value)
{
	s = trimmed(s);
	if (s.at == s.end)
		return false;
	for (*value = 0; s.at < s.end; s.at++) {
		if (*s.at < '0' || *s.at > '9')
			return false;
		*value = *value * 10 + (unsigned)(*s.at - '0');
		if (*value > max)
			return false;
	}
	return true;
}

/* Takes "key:value;" from the front of @s. */
static bool take_key(struct span *s, const char *key, struct span *value)
{
	const char *end;

	*s = trimmed(*s);
	if (!take_prefix(s, key) || s->at == s->end)
		return false;
	end = memchr(s->at, ';', (size_t)(s->end - s->at));
	if (!end)
		return false;
	*value = (struct span){ s->at, end };
	s->at = end + 1;
	return true;
}

/* Sizes of integer types by name, on a 64-bit machine. */
static const struct {
	const char *name;
	uint8_t size;
	bool is_signed;
} types[] = {
	{ "char", 1, true },	  { "unsigned char", 1, false },
	{ "s8", 1, true },	  { "__s8", 1, true },
	{ "u8", 1, false },	  { "__u8", 1, false },
	{ "bool", 1, false },	  { "short", 2, true },
	{ "s16", 2, true },	  { "u16", 2, false },
	{ "__u16", 2, false },	  { "unsigned short", 2, false },
	{ "umode_t", 2, false },  { "int", 4, true },
	{ "s32", 4, true },	  { "__s32", 4, true },
	{ "u32", 4, false },	  { "__u32", 4, false },
	{ "unsigned", 4, false }, { "unsigned int", 4, false },
	{ "pid_t", 4, true },	  { "uid_t", 4, false },
	{ "gid_t", 4, false },	  { "clockid_t", 4, true },
	{ "timer_t", 4, true },	  { "mqd_t", 4, true },
	{ "key_t", 4, true },	  { "key_serial_t", 4, true },
	{ "qid_t", 4, false },	  { "rwf_t", 4, true },
	{ "long", 8, true },	  { "unsigned long", 8, false },
	{ "s64", 8, true },	  { "__s64", 8, true },
	{ "u64", 8, false },	  { "__u64", 8, false },
	{ "long long", 8, true }, { "unsigned long long", 8, false },
	{ "loff_t", 8, true },	  { "off_t", 8, true },
	{ "size_t", 8, false },
};

static void name_type(struct kernel_field *f, struct span type)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (span_is(type, types[i].name)) {
			f->type_size = types[i].size;
			f->type_is_signed = types[i].is_signed;
			f->is_text = f->is_array && span_is(type, "char");
		}
}

/* "unsigned long args[6]", "__data_loc char[] name", "const char * filename" */
static bool read_declaration(struct kernel_field *f, struct span s, unsigned *n_elements)
{
	const char *name, *bracket;

	s = trimmed(s);
	*n_elements = 0;
	if (take_prefix(&s, "__data_loc "))
		f->place = KERNEL_DATA_LOC;
	else if (take_prefix(&s, "__rel_loc "))
		f->place = KERNEL_REL_LOC;
	if (s.at < s.end && s.end[-1] == ']') {
		for (bracket = s.end - 1; bracket > s.at && *bracket != '['; bracket--)
			;
		/* An array length that is no number is the name of a macro: then the field is shown
		 * as bytes. */
		read_number((struct span){ bracket + 1, s.end - 1 }, UINT16_MAX, n_elements);
		f->is_array = true;
		s = trimmed((struct span){ s.at, bracket });
	}
	for (name = s.end; name > s.at && is_word(name[-1]); name--)
		;
	if (name == s.end || (size_t)(s.end - name) >= sizeof f->name)
		return false;
	memcpy(f->name, name, (size_t)(s.end - name));
	s = trimmed((struct span){ s.at, name });
	if (f->place != KERNEL_IN_RECORD) {
		f->is_array = true;
		if (s.end - s.at >= 2 && s.end[-1] == ']' && s.end[-2] == '[')
			s = trimmed((struct span){ s.at, s.end - 2 });
	}
	f->is_pointer = span_has(s, '*');
	f->is_const = take_prefix(&s, "const ");
	f->is_chars = span_is(s, "char *");
	name_type(f, s);
	return true;
}

static bool is_scalar_size(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void fix_elements(struct kernel_field *f, unsigned n_elements)
{
	if (f->place != KERNEL_IN_RECORD)
		f->element = f->type_size ? f->type_size : 1;
	else if (!f->is_array && is_scalar_size(f->size))
		f->element = (uint8_t)f->size;
	else if (n_elements && f->size % n_elements == 0 && is_scalar_size(f->size / n_elements))
		f->element = (uint8_t)(f->size / n_elements);
	else
		f->element = 1;
	if (f->element == 1 && f->size > 1)
		f->is_array = true;
}

static bool read_field(struct kernel_field *f, struct span line)
{
	unsigned offset, size, is_signed, n_elements;
	struct span decl, value;

	*f = (struct kernel_field){ 0 };
	if (!take_key(&line, "field:", &decl) || !read_declaration(f, decl, &n_elements))
		return false;
	if (!take_key(&line, "offset:", &value) || !read_number(value, UINT16_MAX, &offset) ||
	    !take_key(&line, "size:", &value) || !read_number(value, UINT16_MAX, &size) ||
	    !take_key(&line, "signed:", &value) || !read_number(value, 1, &is_signed))
		return false;
	if (f->place != KERNEL_IN_RECORD && size != 4)
		return false;
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed;
	fix_elements(f, n_elements);
	return true;
}

/* Sorts by offset. Bytes may be moved down in this order without overwriting a later field. */
static void sort_fields(struct kernel_format *f)
{
	for (int i = 1; i < f->n_fields; i++)
		for (int k = i; k > 0 && f->fields[k].offset < f->fields[k - 1].offset; k--) {
			struct kernel_field t = f->fields[k];

			f->fields[k] = f->fields[k - 1];
			f->fields[k - 1] = t;
		}
}

static int read_line(struct kernel_format *f, struct span line, bool *has_id)
{
	unsigned id;

	if (take_prefix(&line, "name:")) {
		line = trimmed(line);
		if (line.at == line.end || (size_t)(line.end - line.at) >= sizeof f->name)
			return -EINVAL;
		for (const char *p = line.at; p < line.end; p++)
			if (!is_word(*p))
				return -EINVAL;
		memcpy(f->name, line.at, (size_t)(line.end - line.at));
	} else if (take_prefix(&line, "ID:")) {
		if (!read_number(line, UINT16_MAX, &id))
			return -EINVAL;
		f->id = (uint16_t)id;
		*has_id = true;
	} else if (take_prefix(&line, "field:")) {
		if (f->n_fields == KERNEL_FIELDS_MAX)
			return -E2BIG;
		line.at -= strlen("field:");
		if (!read_field(&f->fields[f->n_fields], line))
			return -EINVAL;
		/* A size of 0 marks the tail of some old events, and the arguments of functions. */
		if (!f->fields[f->n_fields].size && f->fields[f->n_fields].is_array &&
		    f->fields[f->n_fields].type_size == 8)
			f->tail_offset = f->fields[f->n_fields].offset;
		f->n_fields += f->fields[f->n_fields].offset >= KERNEL_COMMON_SIZE &&
			       f->fields[f->n_fields].size;
	}
	return 0;
}

int kernel_format_parse(struct kernel_format *f, const char *text, const char *what, struct diag *d)
{
	bool has_id = false;
	int n = 0, err;

	f->name[0] = f->id = f->n_fields = f->tail_offset = 0;
	memset(f->name, 0, sizeof f->name);
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		struct span line = trimmed((struct span){ text, end });

		n++;
		if (take_prefix(&line, "print fmt:"))
			break;
		err = read_line(f, line, &has_id);
		if (err == -E2BIG)
			return diag_fail(d, err, "%s: more than %d fields", what,
					 KERNEL_FIELDS_MAX);
		if (err)
			return diag_fail(d, err, "%s: line %d is not a format's: %.*s", what, n,
					 (int)(line.end - line.at), line.at);
		text = *end ? end + 1 : end;
	}
	if (!f->name[0] || !has_id)
		return diag_fail(d, -EINVAL, "%s: no %s", what, f->name[0] ? "ID" : "name");
	assert(f->n_fields <= KERNEL_FIELDS_MAX);
	sort_fields(f);
	return 0;
}
