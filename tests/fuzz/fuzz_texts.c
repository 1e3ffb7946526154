/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_texts.c - libFuzzer's entry to the small languages within scripts: FUZZ=texts.
 *
 * The first byte chooses: a regular expression, NUL, a text to search; a format; columns of a table.
 * A match lies in the text, and the same search twice finds the same; directives and arguments of a
 * format agree; a refusal has a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "script/unit/columns.h"
#include "script/unit/format.h"
#include "script/values/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

static void search(struct script_regex *r, const char *text, size_t size)
{
	struct script_regex_match m, again;
	bool found = script_regex_match(r, text, size, &m);

	must(script_regex_match(r, text, size, &again) == found);
	must(script_regex_match(r, text, size, NULL) == found);
	for (uint32_t i = 0; found && i < m.n_groups; i++) {
		must(m.begin[i] == again.begin[i] && m.end[i] == again.end[i]);
		must(m.begin[i] < 0 || m.end[i] < 0 || (size_t)m.end[i] <= size);
		must(i || (m.begin[0] >= 0 && m.begin[0] <= m.end[0]));
	}
}

static void regex(struct script_arena *a, const char *bytes, size_t size)
{
	const char *end = memchr(bytes, 0, size);
	size_t n = end ? (size_t)(end - bytes) : size;
	struct diag d = { "" };
	uint32_t at = 0;
	struct script_regex *r = script_regex_compile(a, bytes, n, &at, &d);

	must(at <= n && (r || *d.text));
	if (r && n < size)
		search(r, bytes + n + 1, size - n - 1);
	if (r)
		search(r, bytes, n);
}

static void format(struct script_arena *a, const char *bytes, size_t size)
{
	struct script_format f;
	struct diag d = { "" };
	uint32_t at = 0, n = 0;

	if (script_format_parse(&f, a, bytes, size, &at, &d)) {
		must(a->failed || *d.text);
		return;
	}
	for (uint32_t i = 0; i < f.n; i++) {
		const struct script_directive *one = &f.directives[i];

		must(strlen(one->before) <= one->before_size);
		n += (one->conversion != 0) + (one->width == -2) + (one->precision == -2);
	}
	must(n == f.n_arguments);
}

static void columns(const char *bytes, size_t size, uint32_t n_keys, bool is_stats)
{
	struct script_column at[SCRIPT_COLUMNS_MAX];
	char *text = strndup(bytes, size);
	struct diag d = { "" };
	int n = text ? script_columns_parse(at, text, n_keys, is_stats, &d) : 0;

	must(n <= SCRIPT_COLUMNS_MAX && (n >= 0 || *d.text));
	must(!text || n < 0 || n > (int)n_keys);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct script_arena a = { .most = 16 << 20 };
	const char *rest = (const char *)bytes + 1;

	if (!size)
		return 0;
	switch (*bytes % 3) {
	case 0:
		regex(&a, rest, size - 1);
		break;
	case 1:
		format(&a, rest, size - 1);
		break;
	default:
		columns(rest, size - 1, *bytes / 3 % 10, *bytes & 128);
	}
	script_arena_fini(&a);
	return 0;
}
