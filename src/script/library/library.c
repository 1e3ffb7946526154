/* SPDX-License-Identifier: MIT */
/*
 * library/library.c - finds the texts of the library that a script needs.
 *
 * It looks for words only: `scheduler` before a dot, or a name before a parenthesis.  A word in a
 * comment loads a text for nothing, which does no harm.
 */
#include "script/library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct word {
	const char *name;
	char behind; /* '.': of an alias; '(': of a function */
	uint32_t text;
};
#include "script/library/library_texts.inc"

enum {
	N_TEXTS = sizeof texts / sizeof *texts,
	N_WORDS = sizeof words / sizeof *words,
	N_NAMES = sizeof names / sizeof *names
};

const char *script_library_text(uint32_t i, const char **name)
{
	if (i >= N_TEXTS)
		return NULL;
	*name = texts[i].name;
	return texts[i].bytes;
}

const char *script_library_name(uint32_t i)
{
	return i < N_NAMES ? names[i] : NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_of_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

/* A pattern (sched*.wakeup) calls for every alias that begins so. */
static void match_word(const char *word, size_t size, const char *behind, bool needed[N_TEXTS])
{
	bool is_pattern =
		behind == word + size && (*behind == '*' || *behind == '?' || *behind == '{');

	for (uint32_t i = 0; i < N_WORDS; i++) {
		if (strncmp(words[i].name, word, size))
			continue;
		if (is_pattern ? words[i].behind == '.'
			       : !words[i].name[size] && words[i].behind == *behind)
			needed[words[i].text] = true;
	}
}

static void scan(const struct script_source *s, bool needed[N_TEXTS])
{
	const char *at = s->text, *end = s->text + s->size;

	while (at < end) {
		const char *word = at, *behind;

		if (!is_letter(*at)) {
			/* The rest of a number or $variable is no word. */
			at++;
			while (at < end && is_of_name(at[-1]) && is_of_name(*at))
				at++;
			continue;
		}
		while (at < end && is_of_name(*at))
			at++;
		for (behind = at; behind < end && (*behind == ' ' || *behind == '\t');)
			behind++;
		if (behind < end)
			match_word(word, (size_t)(at - word), behind, needed);
	}
}

static bool is_parsed(const struct script_sources *s, uint32_t text)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->at[i].is_library && !strcmp(s->at[i].name, texts[text].name))
			return true;
	return false;
}

static int parse_text(uint32_t i, struct script_file **file, struct script_sources *sources,
		      const struct script_parse_options *o, struct script_macros *macros,
		      struct script_messages *m)
{
	int64_t source = script_sources_add(sources, texts[i].name, texts[i].bytes, texts[i].size);

	if (source < 0)
		return (int)source;
	sources->at[source].is_library = true;
	return script_parse(file, sources, (uint32_t)source, o, macros, m);
}

int script_library_parse(struct script_file **files, uint32_t *n, uint32_t most,
			 struct script_sources *sources, const struct script_parse_options *o,
			 struct script_macros *macros, struct script_messages *m)
{
	bool needed[N_TEXTS] = { false };
	int err = 0;

	for (uint32_t source = 0; source < sources->n && !err; source++) { /* grows */
		scan(&sources->at[source], needed);
		for (uint32_t i = 0; i < N_TEXTS && !err; i++) {
			if (!needed[i] || is_parsed(sources, i))
				continue;
			if (*n == most)
				return -E2BIG;
			err = parse_text(i, &files[*n], sources, o, macros, m);
			*n += !err;
		}
	}
	return err == -EINVAL ? 0 : err; /* its messages are in @m */
}
