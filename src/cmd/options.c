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

#include "cmd/nearest.h"
#include "cmd/print/print.h"

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
	print_out("%-*s", n < HELP_COLUMN ? HELP_COLUMN : n + 2, left);
	for (; (end = strchr(line, '\n')); line = end + 1)
		print_out("%.*s\n%*s", (int)(end - line), line, HELP_COLUMN, "");
	print_out("%s\n", line);
}

/* Of the row's own table: rows of others may have the same name. */
static const char *heading_before(const struct options *o, const struct option_row *row)
{
	for (int i = 0; i < OPTIONS_TABLES && o->tables[i]; i++) {
		const struct option_table *t = o->tables[i];

		for (int k = 0; row >= t->rows && row < t->rows + t->n && k < t->n_headings; k++)
			if (!strcmp(t->headings[k].name, row->name))
				return t->headings[k].text;
	}
	return NULL;
}

static void print_help(const struct options *o, const struct accepted *a)
{
	const char *heading, *last = NULL;

	print_own(o->usage);
	if (o->examples) {
		print_own(o->examples);
		print_own("\n");
	}
	for (int i = 0; i < a->n; i++) {
		heading = heading_before(o, a->rows[i]);
		if (heading && (!last || strcmp(heading, last) != 0))
			print_out(i ? "\n%s:\n" : "%s:\n", heading);
		last = heading ? heading : last;
		print_row(a, i);
	}
	if (o->notes)
		print_own(o->notes);
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

/* Letters that other tools have for it, and what it is here. */
static const char *foreign_letter(const char *verb, int letter)
{
	static const struct {
		const char *verb;
		char letter;
		const char *here;
	} letters[] = {
		{ "record", 'F', "samples are asked for by -k profile:HZ" },
		{ "record", 'g', "-k profile records samples with call stacks" },
		{ "record", 'a', "--all-kernel records the whole machine" },
		{ "record", 'P', "--graph FUNCTIONS records calls of functions" },
		{ "view", 'n', "--limit N ends behind N events" },
		{ "view", 'i', "the recording is an argument: duet view DIR" },
		{ "report", 'i', "the recording is an argument: duet report why DIR" },
	};

	for (unsigned i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter && !strcmp(letters[i].verb, verb))
			return letters[i].here;
	return NULL;
}

int options_refuse(const char *verb, int c, const struct option *options, char *const *argv)
{
	char word[NEAREST_MAX], text[NEAREST_MAX + 64], near_text[NEAREST_MAX + 32];
	struct nearest near = { .wanted = word };
	bool is_letter = optopt > 0 && optopt < FIRST_VALUE;

	snprintf(word, sizeof word, "%s", argv[optind - 1]);
	if (!strncmp(word, "--", 2))
		word[2 + strcspn(word + 2, "=")] = 0;
	else if (is_letter)
		snprintf(word, sizeof word, "-%c", optopt);
	if (c == ':') {
		snprintf(text, sizeof text, "%s: an option lacks its value", word);
		return cmd_usage(verb, text);
	}
	for (int i = 0; options[i].name && !is_letter; i++) {
		char name[NEAREST_MAX];

		snprintf(name, sizeof name, "--%s", options[i].name);
		nearest_try(&near, name);
	}
	/* Of a long option that takes no value, getopt_long leaves the value to return. */
	snprintf(text, sizeof text,
		 optopt && !strncmp(word, "--", 2) ? "%s takes no value" : "no such option: %s",
		 word);
	if (is_letter && foreign_letter(verb, optopt))
		return cmd_error(verb, "%s: %s", text, foreign_letter(verb, optopt));
	if (optopt || !*near.best)
		return cmd_usage(verb, text);
	return cmd_error(verb, "%s%s", text, nearest_text(&near, near_text));
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
		if (c == ':' || c == '?')
			return options_refuse(o->verb, c, arrays.options, argv);
		if (c == 'h') {
			print_help(o, &accepted);
			return 0;
		}
		if (take_value(o, target_row(&accepted, find_option(&accepted, c)), optarg))
			return CMD_FAILED;
	}
	return OPTIONS_GO_ON;
}
