/* SPDX-License-Identifier: MIT */
/* analysis/values.c - numbers the different values of a context or field, and keeps a text of
 * each. */
#include "analysis/values.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/index.h"
#include "analysis/pass.h"

struct values {
	struct match_value *value;
	struct index keys; /* (type, number), or (type, hash, size) for texts; its index is the
			    * value's number - 1 */
	char **texts;	   /* by number */
	uint32_t n_rooms;
};

int values_open(struct values **result, const struct trace *t, const char *name)
{
	struct values *v = calloc(1, sizeof *v);
	int err = v ? match_value_open(&v->value, t, name) : -ENOMEM;

	*result = v;
	if (err) {
		free(v);
		*result = NULL;
	}
	return err;
}

void values_close(struct values *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < v->n_rooms; i++)
		free(v->texts[i]);
	free(v->texts);
	index_fini(&v->keys);
	match_value_close(v->value);
	free(v);
}

static char *text_of(int type, const struct filter_value *value)
{
	char text[32];

	if (type == FILTER_STRING)
		return strndup(value->text, (size_t)value->more);
	if (type == FILTER_F64)
		snprintf(text, sizeof text, "%.17g", value->real);
	else if (value->more)
		snprintf(text, sizeof text, "%" PRId64, (int64_t)value->bits);
	else
		snprintf(text, sizeof text, "%" PRIu64, value->bits);
	return strdup(text);
}

int64_t values_of(struct values *v, const struct trace_event *e, const struct thread_identity *w)
{
	struct filter_value value = { .bits = 0 };
	int type = match_value_get(v->value, e, w, &value);
	int64_t i;

	if (type < 0)
		return VALUE_NONE;
	if (type == FILTER_STRING)
		i = index_find(&v->keys, (uint64_t)type, hash_bytes(value.text, (size_t)value.more),
			       value.more, true);
	else
		i = index_find(&v->keys, (uint64_t)type, value.bits,
			       type == FILTER_INTEGER ? value.more : 0, true);
	if (i < 0 || pass_grow(&v->texts, &v->n_rooms, (uint32_t)i + 1, sizeof *v->texts))
		return -ENOMEM;
	assert((uint64_t)i < v->keys.n);
	if (!v->texts[i + 1])
		v->texts[i + 1] = text_of(type, &value);
	return v->texts[i + 1] ? i + 1 : -ENOMEM;
}

const char *values_text(const struct values *v, uint32_t number)
{
	assert(number <= v->keys.n);
	return number == VALUE_NONE ? NULL : v->texts[number];
}
