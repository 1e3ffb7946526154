/* SPDX-License-Identifier: MIT */
/* filter/compile_hints.c - explain link failures, list names, and measure how similar names are. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "filter/compile.h"
#include "filter/step.h"

int filter_explain(const struct filter_problem *p, int err, struct diag *d)
{
	static const char *const texts[] = {
		[FILTER_FINE] = "nothing is wrong",
		[FILTER_BROKEN] = "this is no byte code of a filter",
		[FILTER_TOO_LARGE] =
			"it needs more room than there is; name fewer texts and labels",
		[FILTER_NO_FIELD] = "there is no field `%s'",
		[FILTER_NO_CONTEXT] = "there is no context `$%s'",
		[FILTER_NO_ELEMENT] = "`%s' is beyond the end of the array",
		[FILTER_IS_MANY] =
			"`%s' is more than one value; name one of them, as in a[0] or a.b",
		[FILTER_IS_ONE] = "`%s': this is no array",
		[FILTER_NO_LABEL] = "`%s' never has such a label",
		[FILTER_IS_TEXT] =
			"`%s' is a text, where a number is needed; compare it with one in \"\"",
		[FILTER_IS_NUMBER] =
			"`%s' is a number, where a text is needed; write numbers without quotes",
		[FILTER_IS_REAL] = "`%s' is a floating-point number, where an integer is needed",
		[FILTER_LABEL_NOT_CONSTANT] =
			"a label of `%s' is compared by == != ~ !~ with a text in \"\"",
	};
	const char *text = texts[p->why], *hole = strstr(text, "%s");

	assert(err < 0 && p->why < sizeof texts / sizeof *texts);
	if (!hole)
		return diag_fail(d, err, "filter: %s", text);
	return diag_fail(d, err, "filter: %.*s%s%s", (int)(hole - text), text,
			 *p->name ? p->name : "a value", hole + 2);
}

void filter_each_name(const struct filter_code *code,
		      void (*report)(void *context, bool is_context, const char *name),
		      void *context)
{
	struct abi_filter head;
	const uint8_t *p, *end;
	const char *data;

	memcpy(&head, code->bytes, sizeof head);
	p = code->bytes + sizeof head;
	end = p + head.code_size;
	data = (const char *)end;
	for (; p < end; p += 1 + operand_bytes(*p)) {
		char name[ABI_FILTER_NAME_MAX + 1];
		uint16_t at;

		if (*p != ABI_FILTER_FIELD && *p != ABI_FILTER_CONTEXT)
			continue;
		memcpy(&at, p + 1, sizeof at);
		assert(p[3] <= ABI_FILTER_NAME_MAX);
		memcpy(name, data + at, p[3]);
		name[p[3]] = 0;
		report(context, *p == ABI_FILTER_CONTEXT, name);
	}
	assert(p == end);
}

/* Wagner and Fischer, The String-to-String Correction Problem (1974), one row at a time. */
unsigned filter_distance(const char *a, const char *b)
{
	uint8_t row[ABI_FILTER_NAME_MAX + 1];
	size_t n = strlen(b);

	if (n > ABI_FILTER_NAME_MAX || strlen(a) > ABI_FILTER_NAME_MAX)
		return 255;
	for (size_t i = 0; i <= n; i++)
		row[i] = (uint8_t)i;
	for (; *a; a++) {
		uint8_t diagonal = row[0]++;

		for (size_t i = 1; i <= n; i++) {
			uint8_t above = row[i], best = (uint8_t)(diagonal + (*a != b[i - 1]));

			if (above + 1 < best)
				best = (uint8_t)(above + 1);
			if (row[i - 1] + 1 < best)
				best = (uint8_t)(row[i - 1] + 1);
			row[i] = best;
			diagonal = above;
		}
	}
	return row[n];
}
