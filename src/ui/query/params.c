/* SPDX-License-Identifier: MIT */
/*
 * ui/query/params.c - parameters of requests, refusals, and texts as JSON.
 *
 * Every parameter is untrusted: a number is decimal, whole and within its limits, and given once.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ui/query/internal.h"

const char *const ui_row_kinds[] = { "host",   "group", "cpu",	"process",
				     "thread", "irq",	"disk", "counter" };
const char *const ui_track_kinds[] = { "states", "running", "spans",   "syscalls", "calls",
				       "busy",	 "events",  "samples", "counter" };
const char *const ui_state_names[] = { "unknown",   "user",	"kernel", "irq",
				       "preempted", "runnable", "blocked" };

/* ---------------------------------------------------------------- JSON */

void ui_add_int(struct text *t, int64_t n)
{
	char digits[24], *p = digits + sizeof digits;
	uint64_t v = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (n < 0)
		*--p = '-';
	text_add(t, p, (size_t)(digits + sizeof digits - p));
}

void ui_add_key(struct text *t, const char *name)
{
	char last = t->size ? t->bytes[t->size - 1] : '{';

	add(t, last == '{' || last == '[' ? "\"" : ",\"");
	add(t, name);
	add(t, "\":");
}

void ui_add_member(struct text *t, const char *name, int64_t n)
{
	ui_add_key(t, name);
	ui_add_int(t, n);
}

void ui_add_string(struct text *t, const char *name, const char *value)
{
	ui_add_key(t, name);
	ui_json_string(t, value, strlen(value));
}

void ui_add_id(struct text *t, uint32_t track, uint32_t index)
{
	add(t, "\"");
	ui_add_int(t, track);
	add(t, ".");
	ui_add_int(t, index);
	add(t, "\"");
}

/* One character, which may have to be escaped; "<" too, so that no answer has a tag in it. */
static void add_character(struct text *t, const char *bytes, size_t size)
{
	unsigned char c = (unsigned char)*bytes;
	char escaped[8];

	if (c == '"' || c == '\\') {
		escaped[0] = '\\';
		escaped[1] = (char)c;
		text_add(t, escaped, 2);
	} else if (c < 0x20 || c == 0x7f || c == '<') {
		snprintf(escaped, sizeof escaped, "\\u%04x", c);
		text_add(t, escaped, 6);
	} else {
		text_add(t, bytes, size);
	}
}

void ui_json_string(struct text *t, const char *bytes, size_t size)
{
	add(t, "\"");
	for (size_t i = 0, n; i < size; i += n) {
		n = text_utf8_length(bytes + i, size - i);
		if (n) {
			add_character(t, bytes + i, n);
		} else {
			text_add(t, "\xef\xbf\xbd", 3);
			n = 1;
		}
	}
	add(t, "\"");
}

void ui_refuse(struct ui_answer *a, int status, const char *format, ...)
{
	char reason[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof reason, format, ap);
	va_end(ap);
	text_fini(&a->body);
	a->body = (struct text){ 0 };
	a->status = status;
	a->type = NULL;
	*a->file_name = 0;
	add(&a->body, "{\"error\":");
	ui_json_string(&a->body, reason, strlen(reason));
	add(&a->body, "}");
}

void ui_moment_text(char text[UI_MOMENT_TEXT], int64_t ns)
{
	snprintf(text, UI_MOMENT_TEXT, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
}

/* ---------------------------------------------------------------- parameters */

bool ui_is_cancelled(const struct ui_request *q)
{
	return q->is_cancelled && load(q->is_cancelled);
}

const char *ui_param(const struct ui_request *q, const char *name)
{
	for (int i = 0; i < q->n_params; i++)
		if (!strcmp(q->params[i].name, name))
			return q->params[i].value;
	return NULL;
}

bool ui_param_text(const struct ui_request *q, struct ui_answer *a, const char *name,
		   const char **value)
{
	int n = 0;

	*value = ui_param(q, name);
	for (int i = 0; i < q->n_params; i++)
		n += !strcmp(q->params[i].name, name);
	if (n > 1)
		ui_refuse(a, 400, "%s: parameter %s is given %d times: once is enough", q->path,
			  name, n);
	return n <= 1;
}

/* A decimal number at *@p, which moves behind it. */
static bool read_int(const char **p, int64_t *value)
{
	bool is_negative = **p == '-';
	int64_t v = 0;

	*p += is_negative;
	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; ++*p)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **p - '0', &v))
			return false;
	*value = is_negative ? -v : v;
	return true;
}

bool ui_param_int(const struct ui_request *q, struct ui_answer *a, const char *name, int64_t least,
		  int64_t most, int64_t otherwise, int64_t *value)
{
	const char *p;

	*value = otherwise;
	if (!ui_param_text(q, a, name, &p))
		return false;
	if (!p)
		return true;
	if (read_int(&p, value) && !*p && *value >= least && *value <= most)
		return true;
	ui_refuse(a, 400, "%s: parameter %s is no number from %" PRId64 " to %" PRId64 ": %.60s",
		  q->path, name, least, most, ui_param(q, name));
	return false;
}

bool ui_has_recording(const struct ui_subject *s, struct ui_answer *a)
{
	if (!s->index)
		ui_refuse(a, 404, "no recording is open here: duet ui RECORDING opens one");
	return s->index;
}

bool ui_param_range(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		    int64_t *from, int64_t *to)
{
	struct ui_index_status status;

	ui_index_status(s->index, &status);
	if (!ui_param_int(q, a, "from", -(1ll << 60), 1ll << 60, 0, from) ||
	    !ui_param_int(q, a, "to", -(1ll << 60), 1ll << 60,
			  status.end_ns > *from ? status.end_ns : *from, to))
		return false;
	if (*from > *to)
		ui_refuse(a, 400, "%s: from is after to", q->path);
	return *from <= *to;
}

int ui_param_rows(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		  uint32_t *rows, int most)
{
	uint32_t n_rows = ui_index_n_rows(s->index);
	const char *p;
	int64_t row;
	int n = 0;

	if (!ui_param_text(q, a, "rows", &p))
		return -1;
	if (!p || !*p)
		return 0;
	do {
		p += n && *p == ',';
		if (!read_int(&p, &row) || (*p && *p != ',')) {
			ui_refuse(a, 400, "%s: parameter rows is no list of numbers, as in 1,2,3",
				  q->path);
			return -1;
		}
		if (row < 0 || row >= n_rows) {
			ui_refuse(a, 400,
				  "%s: parameter rows: there is no row %" PRId64
				  ": /api/recording lists them",
				  q->path, row);
			return -1;
		}
		if (n == most) {
			ui_refuse(a, 400, "%s: parameter rows has more than %d rows: ask for fewer",
				  q->path, most);
			return -1;
		}
		rows[n++] = (uint32_t)row;
	} while (*p);
	return n;
}

bool ui_param_row(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		  const char *name, uint32_t *row)
{
	int64_t value, n = ui_index_n_rows(s->index);

	if (!ui_param_int(q, a, name, 0, n - 1, -1, &value))
		return false;
	if (value < 0)
		ui_refuse(a, 400, "%s: parameter %s is missing: the number of a row", q->path,
			  name);
	*row = (uint32_t)value;
	return value >= 0;
}

/* "T.I" at *@p, which moves behind it. */
static bool read_id(const char **p, int64_t *track, int64_t *index)
{
	return read_int(p, track) && *(*p)++ == '.' && read_int(p, index);
}

static bool is_item(struct ui_index *x, int64_t track, int64_t index)
{
	struct ui_interval v;

	return track >= 0 && track < UINT32_MAX && index >= 0 && index < UINT32_MAX &&
	       ui_track_get(x, (uint32_t)track, (uint32_t)index, &v);
}

bool ui_param_id(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		 uint32_t *track, uint32_t *index)
{
	int64_t t = -1, i = -1;
	const char *p;

	if (!ui_param_text(q, a, "id", &p))
		return false;
	if (!p || !read_id(&p, &t, &i) || *p) {
		ui_refuse(a, 400, "%s: parameter id is no item, as in 3.14", q->path);
		return false;
	}
	*track = (uint32_t)t;
	*index = (uint32_t)i;
	if (is_item(s->index, t, i))
		return true;
	ui_refuse(a, 404, "%s: there is no item %" PRId64 ".%" PRId64, q->path, t, i);
	return false;
}

int ui_param_ids(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		 struct ui_id *ids, int most)
{
	const char *p;
	int n = 0;

	if (!ui_param_text(q, a, "ids", &p))
		return -1;
	for (bool has_more = p && *p; has_more; has_more = *p++ == ',') {
		int64_t t = -1, i = -1;

		if (!read_id(&p, &t, &i) || (*p && *p != ',')) {
			ui_refuse(a, 400, "%s: parameter ids is no list of items, as in 3.14,3.15",
				  q->path);
			return -1;
		}
		if (n == most) {
			ui_refuse(a, 400, "%s: parameter ids has more than %d items: ask for fewer",
				  q->path, most);
			return -1;
		}
		if (!is_item(s->index, t, i)) {
			ui_refuse(a, 404, "%s: there is no item %" PRId64 ".%" PRId64, q->path, t,
				  i);
			return -1;
		}
		ids[n++] = (struct ui_id){ (uint32_t)t, (uint32_t)i };
	}
	return n;
}
