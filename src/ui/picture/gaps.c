/* SPDX-License-Identifier: MIT */
/*
 * ui/picture/gaps.c - places where events were lost, in pictures.
 *
 * There may be more than a picture can show.  Then neighbours are joined: the counts add up.
 */
#include <stdlib.h>

#include "ui/picture/internal.h"

enum { GAPS_SHOWN = 200, GAPS_READ = 1 << 16 };

/* Joins gaps of which less than @near_ns lies in between.  Returns their number. */
static uint32_t join(struct ui_gap *gaps, uint32_t n, int64_t near_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ui_gap *last = kept ? &gaps[kept - 1] : NULL;

		if (!last || gaps[i].begin_ns - last->end_ns >= near_ns) {
			gaps[kept++] = gaps[i];
			continue;
		}
		if (gaps[i].end_ns > last->end_ns)
			last->end_ns = gaps[i].end_ns;
		last->lost += gaps[i].lost;
		if (gaps[i].cpu != last->cpu)
			last->cpu = -1;
	}
	return kept;
}

void ui_add_gaps(struct text *t, struct ui_index *x, int64_t from, int64_t to)
{
	struct ui_gap *gaps = malloc(GAPS_READ * sizeof *gaps);
	uint32_t n = gaps ? ui_index_gaps(x, from, to, gaps, GAPS_READ) : 0;
	bool is_all = n < GAPS_READ;

	t->failed |= !gaps;
	for (int64_t near_ns = (to - from) / 4096 + 1; n > GAPS_SHOWN; near_ns *= 2)
		n = join(gaps, n, near_ns);
	ui_add_key(t, "gaps");
	add(t, "[");
	for (uint32_t i = 0; i < n; i++) {
		add(t, i ? ",[" : "[");
		ui_add_int(t, gaps[i].begin_ns);
		add(t, ",");
		ui_add_int(t, is_all || i + 1 < n ? gaps[i].end_ns : to);
		add(t, ",");
		ui_add_int(t, (int64_t)gaps[i].lost);
		add(t, ",");
		ui_add_int(t, gaps[i].cpu);
		add(t, "]");
	}
	add(t, "]");
	free(gaps);
}
