/* SPDX-License-Identifier: MIT */
/*
 * ui/sessions/sessions.c - requests about sessions as commands: a table of members and options.
 *
 * A value stands behind its option and an equals sign, a name or pattern behind "--", so nothing of a
 * request is taken for an option.
 */
#include "ui/sessions/sessions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ui/child/child.h"
#include "ui/sessions/body.h"

/* An event has at most a filter and a level with it. */
enum { ARGUMENTS_MAX = 3 * BODY_PAIRS_MAX + 16 };
#define LIST_LIMIT_NS 20000000000ull
#define CHANGE_LIMIT_NS 600000000000ull

enum verb_bit {
	START = 1,
	STOP = 2,
	SNAPSHOT = 4,
	ROTATE = 8,
	ENABLE = 16,
	DISABLE = 32,
};
static const struct {
	const char *name;
	unsigned bit;
} verbs[] = { { "start", START },   { "stop", STOP },	  { "snapshot", SNAPSHOT },
	      { "rotate", ROTATE }, { "enable", ENABLE }, { "disable", DISABLE } };

/* Members that are options; with '=' at the end they have a value.  In the order of the command.
 * None makes a command run: triggers could. */
static const struct {
	const char *member, *option;
	unsigned verbs;
} options[] = {
	{ "session", "--session=", SNAPSHOT | ENABLE | DISABLE },
	{ "output", "--output=", START | SNAPSHOT },
	{ "events", "--event=", START },
	{ "kernel", "--kernel=", START },
	{ "filter", "--filter=", START | ENABLE },
	{ "level", "--level=", START | ENABLE | DISABLE },
	{ "programs", "--program=", START | ENABLE | DISABLE },
	{ "channels", "--channel=", START },
	{ "channel", "--channel=", ENABLE },
	{ "contexts", "--context=", START },
	{ "buffer", "--buffer=", START },
	{ "rotate", "--rotate=", START },
	{ "overwrite", "--overwrite", START },
	{ "last", "--last=", SNAPSHOT },
	{ "max_size", "--max-size=", SNAPSHOT },
};
/* And those that are arguments. */
static const struct {
	const char *member;
	unsigned verbs;
} arguments[] = { { "session", START | STOP | ROTATE }, { "events", ENABLE | DISABLE } };

struct change {
	struct body body;
	const char *verb, *session;
	unsigned bit;
	struct text words; /* the arguments, each with its NUL */
	const char *argv[ARGUMENTS_MAX];
	char path[PATH_MAX]; /* of the recording it is about; or "" */
};

/* ---------------------------------------------------------------- the command */

/* Returns the option of @member, "" for an argument, NULL if @verb has no such member. */
static const char *option_of(const char *member, unsigned verb)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if ((options[i].verbs & verb) && !strcmp(options[i].member, member))
			return options[i].option;
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
		if ((arguments[i].verbs & verb) && !strcmp(arguments[i].member, member))
			return "";
	return NULL;
}

static void add_word(struct text *words, const char *option, const char *value)
{
	text_addf(words, "%s%s", option, value);
	text_add(words, "", 1);
}

/* For the command a filter and a level belong to the event before them. */
static void add_condition(struct change *c, const char *name)
{
	const char *value = body_value(&c->body, name);

	if (value)
		add_word(&c->words, option_of(name, c->bit), value);
}

static void add_option(struct change *c, const struct body_pair *p)
{
	const char *option = option_of(p->name, c->bit);
	bool has_value = option[strlen(option) - 1] == '=';
	bool is_condition = !strcmp(p->name, "filter") || !strcmp(p->name, "level");

	if (c->bit == START && is_condition && body_value(&c->body, "events"))
		return;
	if (has_value)
		add_word(&c->words, option, p->value);
	else if (!strcmp(p->value, "true"))
		add_word(&c->words, option, "");
	if (c->bit == START && !strcmp(p->name, "events")) {
		add_condition(c, "filter");
		add_condition(c, "level");
	}
}

static bool check_members(struct change *c, struct ui_answer *a)
{
	for (int i = 0; i < c->body.n; i++) {
		const char *name = c->body.pairs[i].name;

		if (strcmp(name, "verb") && !option_of(name, c->bit)) {
			ui_refuse(a, 400, "%s has no member \"%s\"", c->verb, name);
			return false;
		}
	}
	return true;
}

static bool find_verb(struct change *c, struct ui_answer *a)
{
	c->verb = body_value(&c->body, "verb");
	c->session = body_value(&c->body, "session");
	for (size_t i = 0; c->verb && i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verbs[i].name, c->verb))
			c->bit = verbs[i].bit;
	if (!c->bit)
		ui_refuse(a, 400, "\"verb\" is start, stop, snapshot, rotate, enable or disable");
	return c->bit && check_members(c, a);
}

/* Options first, then "--", then arguments; all are texts of `words`, which does not move any more
 * when argv is filled. */
static bool make_command(struct change *c, const char *self, struct ui_answer *a)
{
	const char *word;
	int n = 0;

	add_word(&c->words, self, "");
	add_word(&c->words, c->verb, "");
	for (int i = 0; i < c->body.n; i++)
		if (strcmp(c->body.pairs[i].name, "verb") &&
		    *option_of(c->body.pairs[i].name, c->bit))
			add_option(c, &c->body.pairs[i]);
	add_word(&c->words, "--", "");
	for (int i = 0; i < c->body.n; i++)
		if (strcmp(c->body.pairs[i].name, "verb") &&
		    !*option_of(c->body.pairs[i].name, c->bit))
			add_word(&c->words, c->body.pairs[i].value, "");
	if (c->words.failed) {
		ui_refuse(a, 500, "no memory for the command");
		return false;
	}
	for (word = c->words.bytes; word < c->words.bytes + c->words.size;
	     word += strlen(word) + 1) {
		assert(n < ARGUMENTS_MAX - 1);
		c->argv[n++] = word;
	}
	return true;
}

/* ---------------------------------------------------------------- the answer */

/* The errors that a command printed, without its first words, "duet VERB: ". */
static const char *told(const struct change *c, const struct ui_child_result *r)
{
	char before[64];
	const char *text = r->errors.size ? r->errors.bytes : "";
	size_t n = (size_t)snprintf(before, sizeof before, "duet %s: ", c->verb);

	return strncmp(text, before, n) ? text : text + n;
}

static void refuse_as(struct ui_answer *a, const struct change *c, const struct ui_child_result *r)
{
	const char *text = told(c, r);

	if (r->end != UI_CHILD_EXITED)
		ui_refuse(a, 500, "duet %s was ended: it took too long, or printed too much",
			  c->verb);
	else if (*text)
		ui_refuse(a, 409, "%.*s", (int)strcspn(text, "\n"), text);
	else
		ui_refuse(a, 409, "duet %s ended with status %d", c->verb, r->status);
}

/* snapshot prints "PATH: 3 MB, ...", rotate the path. */
static void take_printed_path(struct change *c, const struct ui_child_result *r)
{
	const char *text = r->out.size ? r->out.bytes : "";
	size_t n = strcspn(text, "\n");

	if (c->bit == SNAPSHOT)
		while (n && strncmp(text + n, ": ", 2))
			n--;
	if (n && *text == '/' && n < sizeof c->path)
		snprintf(c->path, sizeof c->path, "%.*s", (int)n, text);
}

static void answer_done(struct change *c, const struct ui_child_result *r, struct ui_answer *a)
{
	struct text text = { 0 };

	if (c->bit == START)
		ui_session_find(c->session ? c->session : "default", c->path, NULL);
	else if (c->bit & (SNAPSHOT | ROTATE))
		take_printed_path(c, r);
	text_addf(&text, "%s%s", r->out.size ? r->out.bytes : "", told(c, r));
	text_addf(&a->body, "{\"ok\":true,\"text\":");
	ui_json_string(&a->body, text.bytes ? text.bytes : "", text.size);
	text_fini(&text);
	text_addf(&a->body, ",\"path\":");
	ui_json_string(&a->body, c->path, strlen(c->path));
	text_addf(&a->body, "}");
}

static void run(struct change *c, const struct ui_request *q, struct ui_answer *a)
{
	const struct ui_child_options o = { .argv = c->argv, .timeout_ns = CHANGE_LIMIT_NS };
	/* 1: done, for programs that start later */
	const int is_finding = (c->bit & (ENABLE | DISABLE)) != 0;
	struct ui_child_result r;
	struct diag d;

	(void)q; /* a change goes on when the page is closed */
	if (c->session && (c->bit & STOP))
		ui_session_find(c->session, c->path, NULL);
	if (ui_child_run(&o, &r, &d))
		ui_refuse(a, 500, "%s", d.text);
	else if (r.end != UI_CHILD_EXITED || r.status > is_finding)
		refuse_as(a, c, &r);
	else
		answer_done(c, &r, a);
	ui_child_result_fini(&r);
}

void ui_sessions_change(const char *self, const struct ui_request *q, struct ui_answer *a)
{
	struct change c = { .path = "" };
	struct diag d;

	if (body_parse(&c.body, q->body, q->body_size, &d))
		ui_refuse(a, 400, "%s", d.text);
	else if (find_verb(&c, a) && make_command(&c, self, a))
		run(&c, q, a);
	body_fini(&c.body);
	text_fini(&c.words);
}

/* ---------------------------------------------------------------- the list */

void ui_sessions_list(const char *self, const char *open, const struct ui_request *q,
		      struct ui_answer *a)
{
	const char *const argv[] = { self, "status", "--json", NULL };
	const struct ui_child_options o = { .argv = argv,
					    .timeout_ns = LIST_LIMIT_NS,
					    .is_cancelled = q->is_cancelled };
	struct ui_child_result r;
	struct timespec now;
	struct diag d;
	int err = ui_child_run(&o, &r, &d);

	clock_gettime(CLOCK_REALTIME, &now);
	if (err) {
		ui_refuse(a, 500, "%s", d.text);
	} else if (r.end != UI_CHILD_EXITED || r.status > 1 || !r.out.size || *r.out.bytes != '{') {
		ui_refuse(a, 500, "%.*s", r.errors.size ? (int)strcspn(r.errors.bytes, "\n") : 80,
			  r.errors.size ? r.errors.bytes : "duet status does not answer");
	} else {
		text_addf(&a->body, "{\"time_ns\":\"%" PRIu64 "\",\"open\":",
			  (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
		ui_json_string(&a->body, open, strlen(open));
		text_addf(&a->body, ",");
		text_add(&a->body, r.out.bytes + 1, r.out.size - 1);
	}
	ui_child_result_fini(&r);
}
