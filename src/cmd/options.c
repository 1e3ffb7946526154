/* SPDX-License-Identifier: MIT */
/*
 * cmd/options.c - getopt_long's arrays and the help of a verb, made from its rows.
 *
 * Arrays are made anew in each call: a process parses the options of one verb once.
 */
#include "cmd/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 24, FIRST_VALUE = 256 };

/* The rows that one verb accepts, in the order of the help. */
struct accepted {
	const struct option_row *rows[OPTIONS_MAX];
	int n;
};

static bool are_distinct(const struct option_row *a, const struct option_row *b)
{
	return strcmp(a->name, b->name) && (!a->letter || a->letter != b->letter);
}

static void accept_row(struct accepted *a, const struct option_row *row)
{
	for (int i = 0; i < a->n; i++)
		assert(are_distinct(a->rows[i], row));
	assert(a->n < OPTIONS_MAX);
	assert(row->letter != 'h' && strcmp(row->name, "help"));
	assert(row->kind == OPTION_ALIAS ? a->n > 0 : row->part < OPTIONS_PARTS);
	a->rows[a->n++] = row;
}

static void find_accepted(const struct options *o, struct accepted *a)
{
	a->n = 0;
	for (int t = 0; t < OPTIONS_TABLES && o->tables[t]; t++)
		for (int i = 0; i < o->tables[t]->n; i++)
			if (o->tables[t]->rows[i].verbs & o->bit)
				accept_row(a, &o->tables[t]->rows[i]);
}

/* The row whose target @i has: an alias has that of the row above. */
static const struct option_row *target_row(const struct accepted *a, int i)
{
	while (a->rows[i]->kind == OPTION_ALIAS)
		i--;
	return a->rows[i];
}

/* ---------------------------------------------------------------- help */

static void print_row(const struct accepted *a, int i)
{
	const struct option_row *row = a->rows[i];
	const char *argument = target_row(a, i)->argument, *line = row->help, *end;
	char left[128];
	int n = snprintf(left, sizeof left, "  %c%c%c --%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
			 argument ? " " : "", argument ? argument : "");

	assert(n < (int)sizeof left);
	printf("%-*s", n < HELP_COLUMN ? HELP_COLUMN : n + 2, left);
	for (; (end = strchr(line, '\n')); line = end + 1)
		printf("%.*s\n%*s", (int)(end - line), line, HELP_COLUMN, "");
	puts(line);
}

static void print_help(const struct options *o, const struct accepted *a)
{
	fputs(o->usage, stdout);
	for (int i = 0; i < a->n; i++)
		print_row(a, i);
	if (o->notes)
		fputs(o->notes, stdout);
}

/* ---------------------------------------------------------------- parsing */

struct arrays {
	struct option options[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4];
};

static void add_letter(char *letters, char letter, bool has_argument)
{
	size_t n = strlen(letters);

	letters[n++] = letter;
	if (has_argument)
		letters[n++] = ':';
	letters[n] = 0;
}

/* Option i of @a has the value FIRST_VALUE + i, by its long name and by its letter. */
static void make_arrays(const struct options *o, const struct accepted *a, struct arrays *to)
{
	strcpy(to->letters, o->has_command ? "+:h" : ":h");
	for (int i = 0; i < a->n; i++) {
		bool has_argument = target_row(a, i)->argument;

		to->options[i] =
			(struct option){ a->rows[i]->name, has_argument, NULL, FIRST_VALUE + i };
		if (a->rows[i]->letter)
			add_letter(to->letters, a->rows[i]->letter, has_argument);
	}
	to->options[a->n] = (struct option){ "help", no_argument, NULL, 'h' };
	to->options[a->n + 1] = (struct option){ NULL, 0, NULL, 0 };
}

/* The number of the option that getopt_long reported as @c. */
static int find_option(const struct accepted *a, int c)
{
	int i = 0;

	if (c >= FIRST_VALUE)
		return c - FIRST_VALUE;
	while (i < a->n && a->rows[i]->letter != c)
		i++;
	assert(i < a->n);
	return i;
}

static int take_value(const struct options *o, const struct option_row *row, char *value)
{
	void *part = o->parts[row->part], *field = (char *)part + row->offset;

	assert(part);
	assert(!row->argument == !value);
	switch ((enum option_kind)row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)field = value;
		return 0;
	case OPTION_SIZE:
		return cmd_parse_size(o->verb, value, field) ? 0 : CMD_FAILED;
	case OPTION_TIME:
		return cmd_parse_time(o->verb, value, field) ? 0 : CMD_FAILED;
	case OPTION_STRINGS:
		cmd_add_string(field, value);
		return 0;
	case OPTION_TAKE:
		return row->take(&(struct option_value){ o->verb, value, part, row->detail });
	case OPTION_ALIAS:
		break;
	}
	assert(!"an alias has the target of another row");
	return CMD_FAILED;
}

int options_parse(const struct options *o, int argc, char **argv)
{
	struct accepted accepted;
	struct arrays arrays;
	int c;

	find_accepted(o, &accepted);
	make_arrays(o, &accepted, &arrays);
	opterr = 0;
	while ((c = getopt_long(argc, argv, arrays.letters, arrays.options, NULL)) != -1) {
		if (c == ':')
			return cmd_usage(o->verb, "an option lacks its value");
		if (c == '?')
			return cmd_usage(o->verb, "no such option");
		if (c == 'h') {
			print_help(o, &accepted);
			return 0;
		}
		if (take_value(o, target_row(&accepted, find_option(&accepted, c)), optarg))
			return CMD_FAILED;
	}
	return OPTIONS_GO_ON;
}
