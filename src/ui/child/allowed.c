/* SPDX-License-Identifier: MIT */
/*
 * ui/child/allowed.c - the commands that the timeline's server may request.
 *
 * Options of a verb that are not here are refused, above all those that run a command (script -c,
 * record), add triggers, or write to a file of the request's choice.
 */
#include <stddef.h>
#include <string.h>

#include "ui/child/launcher.h"

/*
 * Words, in any order: "WORD" alone; "WORD=" with a value behind it; and with a value in the next
 * word "WORD:", "WORD/" (a file below the directory) and "WORD3" (the descriptor 3).
 */
static const struct {
	const char *verb, *words;
	const char *first; /* the first word after the verb; NULL: any */
} allowed[] = {
	{ "export", " perfetto csv ctf -o/ --from: --to: -f: ", NULL },
	{ "script", " --no-system --tables3 --from: --to: -r: - ", "--no-system" },
	{ "status", " --json ", NULL },
	{ "start",
	  " --output= --event= --kernel= --filter= --level= --program= --channel= --context= "
	  "--buffer= --rotate= --overwrite ",
	  NULL },
	{ "stop", " ", NULL },
	{ "rotate", " ", NULL },
	{ "snapshot", " --session= --output= --last= --max-size= ", NULL },
	{ "enable", " --session= --filter= --level= --program= --channel= ", NULL },
	{ "disable", " --session= --level= --program= ", NULL },
};

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && path[n] == '/' && !strstr(path, "/../");
}

/* The character behind the word in the list; 0: it is not there. */
static char find(const char *words, const char *word)
{
	size_t n = strcspn(word, "=");

	for (const char *at = words; n && (at = strchr(at, ' ')) && at[1]; at++) {
		char end = at[1 + n];

		if (!strncmp(at + 1, word, n) && end && strchr(" =:/3", end) &&
		    (end == '=') == (word[n] == '='))
			return end;
	}
	return 0;
}

/* Words behind "--" are no options. */
static bool allows_words(const char *words, const char *const *argv, const char *directory)
{
	for (; *argv && strcmp(*argv, "--"); argv++) {
		char kind = find(words, *argv);

		if (!kind)
			return false;
		if (kind == ' ' || kind == '=')
			continue;
		if (!*++argv || (kind == '/' && !is_below(*argv, directory)) ||
		    (kind == '3' && strcmp(*argv, "/dev/fd/3")))
			return false;
	}
	return true;
}

bool launcher_allows(const char *const *argv, const char *directory)
{
	for (size_t i = 0; *argv && argv[1] && i < sizeof allowed / sizeof *allowed; i++) {
		if (strcmp(argv[1], allowed[i].verb))
			continue;
		if (allowed[i].first && (!argv[2] || strcmp(argv[2], allowed[i].first)))
			return false;
		return allows_words(allowed[i].words, argv + 2, directory);
	}
	return false;
}
