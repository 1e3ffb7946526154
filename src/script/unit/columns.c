/* SPDX-License-Identifier: MIT */
/* unit/columns.c - the text of table() and plot() as columns. */
#include "script/unit/columns.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct span {
	const char *at;
	uint32_t size;
};

static struct span trim(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	while (at < end && isspace((unsigned char)end[-1]))
		end--;
	return (struct span){ at, (uint32_t)(end - at) };
}

static bool is_word(struct span s, const char *word)
{
	return s.size == strlen(word) && !memcmp(s.at, word, s.size);
}

static bool find_unit(struct span s, uint8_t *unit)
{
	static const char *const names[] = { [UNIT_NS] = "ns",
					     [UNIT_US] = "us",
					     [UNIT_MS] = "ms",
					     [UNIT_S] = "s",
					     [UNIT_BYTES] = "bytes" };

	for (uint8_t i = UNIT_NS; i <= UNIT_BYTES; i++)
		if (is_word(s, names[i])) {
			*unit = i;
			return true;
		}
	return false;
}

static bool find_statistic(struct span s, struct script_column *c)
{
	static const char *const names[] = {
		[STATISTIC_COUNT] = "count", [STATISTIC_SUM] = "sum",
		[STATISTIC_MIN] = "min",     [STATISTIC_MAX] = "max",
		[STATISTIC_AVG] = "avg",     [STATISTIC_VARIANCE] = "variance",
	};

	for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is_word(s, names[i])) {
			c->statistic = i;
			return true;
		}
	if (s.size < 2 || s.size > 6 || *s.at != 'p')
		return false;
	for (uint32_t i = 1; i < s.size; i++) {
		if (!isdigit((unsigned char)s.at[i]))
			return false;
		c->parameter = c->parameter * 10 + (s.at[i] - '0');
	}
	c->statistic = STATISTIC_QUANTILE;
	return true;
}

/* HEADING[=STATISTIC][:UNIT] */
static int parse_one(struct script_column *c, struct span s, bool is_statistic, struct diag *d)
{
	const char *colon = memrchr(s.at, ':', s.size), *end = s.at + s.size, *equals;
	struct span heading, name;

	*c = (struct script_column){ 0 };
	if (colon && find_unit(trim(colon + 1, end), &c->unit))
		end = colon;
	heading = name = trim(s.at, end);
	equals = is_statistic ? memrchr(heading.at, '=', heading.size) : NULL;
	if (equals) {
		name = trim(equals + 1, end);
		heading = trim(heading.at, equals);
	}
	c->heading = heading.at;
	c->heading_size = heading.size;
	if (!is_statistic || find_statistic(name, c))
		return 0;
	return diag_fail(d, -EINVAL,
			 "column `%.*s`: there is no statistic `%.*s` (count sum min max avg "
			 "variance p50 p99 ...)",
			 (int)s.size, s.at, (int)name.size, name.at);
}

static int add_defaults(struct script_column *columns, int n, uint32_t n_keys, bool is_stats)
{
	static const char *const statistics[] = { "count", "sum", "min", "avg", "max" };
	uint32_t n_values = is_stats ? sizeof statistics / sizeof *statistics : 1;

	for (; n < (int)n_keys; n++)
		columns[n] = (struct script_column){ .heading = "key", .heading_size = 3 };
	if (n > (int)n_keys)
		return n;
	for (uint32_t i = 0; i < n_values; i++, n++) {
		const char *name = is_stats ? statistics[i] : "value";

		columns[n] = (struct script_column){ .heading = name,
						     .heading_size = (uint32_t)strlen(name) };
		if (is_stats)
			find_statistic((struct span){ name, (uint32_t)strlen(name) }, &columns[n]);
	}
	return n;
}

int script_columns_parse(struct script_column columns[SCRIPT_COLUMNS_MAX], const char *text,
			 uint32_t n_keys, bool is_stats, struct diag *d)
{
	const char *end = text + strlen(text), *at = text;
	int n = 0, most = is_stats ? SCRIPT_COLUMNS_MAX : (int)n_keys + 1, err;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if (n == most)
			return diag_fail(d, -EINVAL,
					 "there are more columns than the array has "
					 "keys and values: %d",
					 most);
		err = parse_one(&columns[n], trim(at, stop), is_stats && n >= (int)n_keys, d);
		if (err)
			return err;
		n++;
		at = comma ? comma + 1 : end;
	}
	return add_defaults(columns, n, n_keys, is_stats);
}
