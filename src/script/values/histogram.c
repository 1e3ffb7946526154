/* SPDX-License-Identifier: MIT */
/*
 * values/histogram.c - a histogram as lines: the values of the bucket, a bar, the count.
 *
 *	        value |------------------------------ count
 *	        4..7  |###########                        3
 *	       8..15  |#############################      8
 *	         ...
 *	    128..255  |###                                1
 *
 * Empty buckets before the first and behind the last one that is not empty are left out; more than
 * two of them in between become one line of dots.
 */
#include <inttypes.h>
#include <stdio.h>

#include "script/values/internal.h"

enum { BAR = 40 };

static void log_label(char *label, uint32_t bucket)
{
	bool is_negative = bucket < 64;
	uint32_t power = is_negative ? 63 - bucket : bucket - 65;
	uint64_t low = power < 64 ? 1ull << power : 0;
	uint64_t high = low + (low - 1);

	if (bucket == 64)
		snprintf(label, VALUES_LABEL, "0");
	else if (power == 0)
		snprintf(label, VALUES_LABEL, is_negative ? "-1" : "1");
	else if (is_negative && power == 63)
		snprintf(label, VALUES_LABEL, "%" PRIi64, INT64_MIN);
	else if (is_negative)
		snprintf(label, VALUES_LABEL, "-%" PRIu64 "..-%" PRIu64, high, low);
	else
		snprintf(label, VALUES_LABEL, "%" PRIu64 "..%" PRIu64, low, high);
}

static void linear_label(char *label, const struct script_array_code *code, uint32_t bucket,
			 uint32_t n)
{
	uint64_t low = (uint64_t)code->low + (uint64_t)(bucket - 1) * (uint64_t)code->width;

	if (!bucket)
		snprintf(label, VALUES_LABEL, "< %" PRIi64, code->low);
	else if (bucket == n - 1)
		snprintf(label, VALUES_LABEL, "> %" PRIi64, code->high);
	else if (code->width == 1 || (int64_t)low == code->high)
		snprintf(label, VALUES_LABEL, "%" PRIi64, (int64_t)low);
	else if (bucket == n - 2)
		snprintf(label, VALUES_LABEL, "%" PRIi64 "..%" PRIi64, (int64_t)low, code->high);
	else
		snprintf(label, VALUES_LABEL, "%" PRIi64 "..%" PRIi64, (int64_t)low,
			 (int64_t)(low + (uint64_t)code->width - 1));
}

void values_bucket_label(const struct script_array_code *code, uint32_t bucket,
			 char label[VALUES_LABEL])
{
	if (code->histogram == HIST_LOG)
		log_label(label, bucket);
	else
		linear_label(label, code, bucket, values_n_buckets(code));
}

struct shape {
	uint32_t first, last;
	uint64_t most;
	int label_width, count_width;
};

static struct shape shape_of(const struct array *a, const uint64_t *buckets)
{
	struct shape s = { .first = a->n_buckets, .label_width = 5, .count_width = 5 };
	char label[VALUES_LABEL];
	int width;

	for (uint32_t i = 0; i < a->n_buckets; i++) {
		if (!buckets[i])
			continue;
		s.first = i < s.first ? i : s.first;
		s.last = i;
		s.most = buckets[i] > s.most ? buckets[i] : s.most;
	}
	for (uint32_t i = s.first; i <= s.last; i++) {
		values_bucket_label(a->code, i, label);
		width = (int)strlen(label);
		s.label_width = width > s.label_width ? width : s.label_width;
	}
	width = snprintf(label, sizeof label, "%" PRIu64, s.most);
	s.count_width = width > s.count_width ? width : s.count_width;
	return s;
}

static void add_line(struct text *to, const struct shape *s, const char *label, uint64_t count)
{
	static const char bar[BAR + 1] = "########################################";
	int length = (int)((unsigned __int128)count * BAR / s->most);

	if (count && !length)
		length = 1;
	text_addf(to, "%*s |%-*.*s %*" PRIu64 "\n", s->label_width, label, BAR, length, bar,
		  s->count_width, count);
}

enum values_error values_histogram(struct script_values *v, uint32_t array,
				   const union script_cell *keys, struct text *to)
{
	static const char line[BAR + 1] = "----------------------------------------";
	const struct array *a = &v->arrays[array];
	const uint64_t *buckets = values_buckets(v, array, keys);
	struct shape s;
	char label[VALUES_LABEL];

	if (!buckets)
		return VALUES_EMPTY;
	s = shape_of(a, buckets);
	text_addf(to, "%*s |%s %*s\n", s.label_width, "value", line, s.count_width, "count");
	for (uint32_t i = s.first, next; i <= s.last; i = next) {
		for (next = i; next <= s.last && !buckets[next]; next++)
			;
		if (next > i + 2) {
			text_addf(to, "%*s\n", s.label_width, "...");
			continue;
		}
		next = i + 1;
		values_bucket_label(a->code, i, label);
		add_line(to, &s, label, buckets[i]);
	}
	return to->failed ? VALUES_NO_MEMORY : VALUES_FINE;
}
