/* SPDX-License-Identifier: MIT */
/*
 * cmd/complete.c - candidates for a word of a command line, for all shells.
 *
 * A value is found by the option before it: by a table of rows.  Verbs, options, questions and formats
 * come from the help of duet itself, run once more: so they are never out of date.
 *
 *   (1) a candidate has only characters that are shown, and is one line; names come from other programs
 *   (2) what cannot be read gives no candidate and no message
 */
#include "cmd/complete.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/runtime.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "collect/session/public.h"
#include "ctf/write/public.h"
#include "kernel/kernel.h"
#include "kernel/select/candidates.h"
#include "trace/public.h"

struct completion {
	int n;
	char *const *words;
	const char *verb, *word;
	int settled; /* bytes of the word up to its last comma, repeated before each candidate */
};

static void put(const struct completion *c, const char *text)
{
	for (size_t i = 0, size = strlen(text), n; i < size; i += n) {
		n = text_shown_length(text + i, size - i);
		if (!n)
			return;
	}
	print_out("%.*s%s\n", c->settled, c->word, text);
}

/* "auto always never" */
static void put_words(const struct completion *c, const char *words)
{
	char copy[256], *rest = copy;

	snprintf(copy, sizeof copy, "%s", words);
	for (char *word; (word = strsep(&rest, " "));)
		put(c, word);
}

/* ---------------------------------------------------------------- from the help */

/* The first word of a line that is indented by two spaces. */
static void put_entry(const struct completion *c, char *line)
{
	size_t n = strncmp(line, "  ", 2)
			   ? 0
			   : strspn(line + 2, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (!n || !islower((unsigned char)line[2]) || line[2 + n] != ' ')
		return;
	line[2 + n] = 0;
	put(c, line + 2);
}

static void put_options(const struct completion *c, char *line)
{
	for (char *p = line; (p = strchr(p, '-'));) {
		size_t n = 1 + (p[1] == '-');
		bool begins = p == line || strchr(" ,(|[", p[-1]);
		char option[64];

		n += strspn(p + n, n == 2 ? "abcdefghijklmnopqrstuvwxyz-" : "");
		if (n == 1 && isalpha((unsigned char)p[1]) && !isalnum((unsigned char)p[2]))
			n = 2;
		snprintf(option, sizeof option, "%.*s", (int)n, p);
		if (begins && isalpha((unsigned char)option[n > 2 ? 2 : 1]))
			put(c, option);
		p += n;
	}
}

/* Run `duet [VERB] --help`, and give @put each of its lines. */
static void read_help(const struct completion *c, const char *verb,
		      void (*put_line)(const struct completion *, char *))
{
	char line[1024];
	int ends[2];
	pid_t child;
	FILE *f;

	print_flush();
	if (pipe2(ends, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "duet", verb ? verb : "--help", verb ? "--help" : NULL,
		      NULL);
		_exit(127);
	}
	close(ends[1]);
	f = fdopen(ends[0], "r");
	while (f && fgets(line, sizeof line, f))
		put_line(c, line);
	if (f)
		fclose(f);
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* ---------------------------------------------------------------- what runs */

/* Events of running programs: shop:order, and its channel as shop:*. */
static int put_program_events(void *arg, struct program *a)
{
	struct program_event e;
	char name[512];

	for (uint32_t i = 0; program_event(a, i, &e); i++) {
		char *colon;

		if (!schema_name(e.schema, strlen(e.schema), name, sizeof name - 2))
			continue;
		put(arg, name);
		colon = strchr(name, ':');
		if (colon) {
			strcpy(colon + 1, "*");
			put(arg, name);
		}
	}
	return 0;
}

static int put_pid(void *arg, struct program *a)
{
	char text[16];

	snprintf(text, sizeof text, "%d", (int)program_pid(a));
	if (program_pid(a) > 0)
		put(arg, text);
	return 0;
}

static void put_programs(const struct completion *c, int (*visit)(void *, struct program *))
{
	int dir = runtime_dir_open(false);

	if (dir < 0)
		return;
	programs_each(dir, 0, visit, (void *)c);
	close(dir);
}

static void put_events(const struct completion *c)
{
	put_programs(c, put_program_events);
}

static void put_pids(const struct completion *c)
{
	put_programs(c, put_pid);
}

/* Sessions that record; of one of several users the whole. */
static void put_sessions(const struct completion *c)
{
	int dir = runtime_dir_open(false);
	struct cmd_strings names = { 0 };

	if (dir < 0)
		return;
	cmd_list_sessions(dir, &names);
	close(dir);
	for (int i = 0; i < names.n; i++)
		if (!strchr(names.at[i], '@'))
			put(c, names.at[i]);
}

/* ---------------------------------------------------------------- kernel, contexts, recordings */

static void put_kernel_event(void *arg, const char *event, const char *tracefs_name)
{
	put(arg, event);
	put(arg, tracefs_name);
}

static void put_kernel(const struct completion *c)
{
	const struct kernel_event_set *set;

	for (size_t i = 0; (set = kernel_event_set(i)); i++)
		if (!i || strcmp(set->set, kernel_event_set(i - 1)->set) != 0)
			put(c, set->set);
	kernel_list(put_kernel_event, (void *)c, NULL);
}

static void put_contexts(const struct completion *c)
{
	struct text names = { 0 };

	context_names(&names, ABI_CONTEXT_ALL);
	for (char *rest = names.bytes, *name; (name = strsep(&rest, ","));)
		put(c, name);
	text_fini(&names);
}

/* NAME:KEY=VALUE,...: the keys, behind the name. */
static void put_channel_keys(const struct completion *c)
{
	const char *colon = strchr(c->word, ':');
	struct completion keys = *c;

	if (!colon)
		return;
	if (!keys.settled)
		keys.settled = (int)(colon + 1 - c->word);
	put_words(&keys, "size= count= mode=discard mode=overwrite mode=block wait= context= "
			 "ids=thread ids=none clock=exact clock=coarse events=");
}

/* Names of events in the recordings of the line; without one, of what runs and of the kernel. */
static void put_recorded(const struct completion *c)
{
	const char **paths = cmd_grow(NULL, c->n, sizeof *paths);
	struct trace *t = NULL;
	struct diag d = { "" };
	struct stat st;
	int n = 0;

	for (int i = 2; i < c->n - 1; i++)
		if (*c->words[i] != '-' && !stat(c->words[i], &st) && S_ISDIR(st.st_mode))
			paths[n++] = c->words[i];
	if (n && !reader_confine(&(struct reader){ .verb = "complete" }) &&
	    !trace_open(&t, paths, n, NULL, &d)) {
		for (uint32_t i = 0; i < trace_n_sources(t); i++)
			for (const struct ctf_event_class *e = trace_source(t, i)->meta->events; e;
			     e = e->next)
				put(c, e->name);
		trace_close(t);
	} else if (!n) {
		put_events(c);
		kernel_list(put_kernel_event, (void *)c, NULL);
	}
	free(paths);
}

/* ---------------------------------------------------------------- the line */

#define RECORDING " record start collect "

/* The values of an option of some verbs: either a function's or these words. */
static const struct row {
	const char *option, *letter;
	const char *verbs; /* NULL: all; "!" before them: all others */
	void (*put)(const struct completion *);
	const char *words;
	bool is_list; /* between commas */
} rows[] = {
	{ "--event", "-e", RECORDING, put_events, NULL, true },
	{ "--event", "-e", "! strace script ", put_recorded, NULL, true },
	{ "--kernel", "-k", "! list ", put_kernel, NULL, true },
	{ "--context", "-c", RECORDING, put_contexts, NULL, true },
	{ "--channel", "", RECORDING, put_channel_keys, NULL, true },
	{ "--pass", "-p", " script ", NULL, "1 2 3 4", false },
	{ "--pid", "-p", NULL, put_pids, NULL, false },
	{ "--session", "-s", "! script strace ", put_sessions, NULL, false },
	{ "--define", "-D", " script ", NULL,
	  "MAXSTRINGLEN= MAXACTION= MAXNESTING= MAXMAPENTRIES= MAXERRORS= MAXSKIPPED= MAXMEMORY=",
	  false },
	{ "--by", "", " stats ", NULL, "event process thread cpu stream function", false },
	{ "--by", "", " report ", NULL, "process thread file cpu", false },
	{ "--by", "", " top ", NULL, "thread process event", false },
	{ "--color", "", NULL, NULL, "auto always never", false },
	{ "--time", "", NULL, NULL, "clock date utc epoch relative", false },
	{ "--calls", "", NULL, NULL, "line both none", false },
	{ "--clock", "", NULL, NULL, "tsc mono", false },
	{ "--kernel-backend", "", NULL, NULL, "auto bpf ftrace", false },
	{ "--graph-mode", "", NULL, NULL, "governed exact profile", false },
	{ "--usdt-by", "", NULL, NULL, "program kernel", false },
};

static bool is_among(const char *verbs, const char *verb)
{
	char wanted[32];

	snprintf(wanted, sizeof wanted, " %.28s ", verb);
	return !verbs || (*verbs == '!') != !!strstr(verbs, wanted);
}

static bool put_value(struct completion *c, const char *option)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		const char *comma = r->is_list ? strrchr(c->word, ',') : NULL;

		if ((strcmp(option, r->option) != 0 && strcmp(option, r->letter) != 0) ||
		    !is_among(r->verbs, c->verb))
			continue;
		c->settled = comma ? (int)(comma + 1 - c->word) : 0;
		if (r->put)
			r->put(c);
		else
			put_words(c, r->words);
		return true;
	}
	return false;
}

static void put_argument(const struct completion *c)
{
	const bool is_first = c->n == 3;

	if (is_among(" report export ", c->verb) && is_first)
		read_help(c, c->verb, put_entry);
	else if (!strcmp(c->verb, "help") && is_first)
		read_help(c, NULL, put_entry);
	else if (!strcmp(c->verb, "trigger") && is_first)
		put_words(c, "add list remove watch");
	else if (is_among(" enable disable ", c->verb))
		put_events(c);
	else if (is_among(" stop status snapshot rotate live top ui ", c->verb))
		put_sessions(c);
}

int complete_line(int n, char *const *words)
{
	struct completion c = { .n = n, .words = words };

	if (n < 2)
		return 0;
	c.verb = words[1];
	c.word = words[n - 1];
	if (n == 2) {
		read_help(&c, NULL, put_entry);
		put_words(&c, "help --help --version");
		return 0;
	}
	for (int i = 2; i < n - 1; i++)
		if (!strcmp(words[i], "--"))
			return 0; /* a command: the shell knows those */
	if (put_value(&c, words[n - 2]))
		return 0;
	if (*c.word == '-')
		read_help(&c, c.verb, put_options);
	else
		put_argument(&c);
	return 0;
}
