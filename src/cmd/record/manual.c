/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/manual.c - print the options of a verb as mdoc(7), for its manual page.
 *
 *	option-manual record|start|collect
 *
 * A program of its own, which is built and not installed: it reads the rows of options.c with only
 * their names and manual text.  tests/man/options.py compares its output with the pages.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/record/options.h"

struct paragraph {
	const char *name, *arguments, *text; /* text: NULL for an alias */
	unsigned verbs;
	char letter;
};

#define OPTION(NAME, LETTER, ARGUMENT, VERBS, TARGET, HELP, MAN)                                   \
	{ .name = NAME, .letter = LETTER, .verbs = VERBS, MAN },
#define MANUAL(ARGUMENTS, TEXT) .arguments = ARGUMENTS, .text = TEXT
#define ALIAS(NAME, VERBS, HELP) { .name = NAME, .verbs = VERBS },

static const struct paragraph paragraphs[] = {
#include "cmd/record/options_all.def"
};
enum { N_PARAGRAPHS = sizeof paragraphs / sizeof *paragraphs };

/* All names of the option in paragraph @i and of its aliases, then its argument. */
static void print_item(int i)
{
	const struct paragraph *p = &paragraphs[i];

	printf(".It ");
	if (p->letter)
		printf("Fl %c , ", p->letter);
	printf("Fl -%s", p->name);
	for (int k = i + 1; k < N_PARAGRAPHS && !paragraphs[k].text; k++)
		if (paragraphs[k].verbs & p->verbs)
			printf(" , Fl -%s", paragraphs[k].name);
	printf("%s%s\n%s", *p->arguments ? " " : "", p->arguments, p->text);
}

int main(int argc, char **argv)
{
	static const char *const verbs[] = { "record", "start", "collect" };

	for (unsigned v = 0; argc == 2 && v < sizeof verbs / sizeof *verbs; v++) {
		if (strcmp(argv[1], verbs[v]) != 0)
			continue;
		for (int i = 0; i < N_PARAGRAPHS; i++)
			if (paragraphs[i].text && paragraphs[i].verbs & VERB_RECORD << v)
				print_item(i);
		printf(".It Fl h , Fl -help\nPrint how it is used.\n");
		return 0;
	}
	fprintf(stderr, "usage: option-manual record|start|collect\n");
	return 2;
}
