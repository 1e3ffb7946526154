/* SPDX-License-Identifier: MIT */
/* cmd/report/histogram.c - a distribution as a table with bars: one row for each power of two. */
#include <assert.h>
#include <string.h>

#include "cmd/report/table.h"

enum { BAR_CHARACTERS = 40 };

/* Uses eighths of a character if the terminal can show them. */
static const char *bar(uint64_t n, uint64_t most, char text[BAR_CHARACTERS * 3 + 1])
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	bool is_fine = terminal_is_utf8();
	uint64_t length = (uint64_t)((double)n / (double)most * BAR_CHARACTERS * 8 + 0.5);
	char *at = text;

	assert(n <= most && length <= BAR_CHARACTERS * 8);
	if (n && !length)
		length = 1;
	for (uint64_t i = 0; i < length / 8; i++)
		at = stpcpy(at, is_fine ? "█" : "#");
	if (is_fine)
		at = stpcpy(at, eighths[length % 8]);
	else if (!(length / 8) && length)
		at = stpcpy(at, ".");
	*at = 0;
	return text;
}

void page_histogram(struct page *p, const char *key, const char *heading, const struct samples *s,
		    enum cell_kind kind)
{
	const struct column columns[] = {
		{ kind == CELL_NS ? "from_ns" : "from_bytes", "from", kind },
		{ kind == CELL_NS ? "to_ns" : "to_bytes", "below", kind },
		{ "n", "times", CELL_COUNT },
		{ "bar", "", CELL_TEXT },
	};
	char text[BAR_CHARACTERS * 3 + 1];
	uint64_t counts[64], most = 1;
	int first = 0, last = 63;
	struct table t = { .columns = columns, .n_columns = p->is_json ? 3 : 4 };

	samples_by_power(s, counts);
	while (first < 63 && !counts[first])
		first++;
	while (last > first && !counts[last])
		last--;
	for (int i = first; i <= last; i++)
		most = counts[i] > most ? counts[i] : most;
	for (int i = first; i <= last && s->n; i++) {
		table_number(&t, i ? (int64_t)(1ull << i) : 0);
		table_number(&t, i < 62 ? (int64_t)(1ull << (i + 1)) : INT64_MAX);
		table_number(&t, (int64_t)counts[i]);
		if (!p->is_json)
			table_text(&t, bar(counts[i], most, text));
	}
	page_table(p, key, heading, &t, UINT64_MAX);
}
