/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/trigger.c - a recursive-descent parser for the text of a trigger.
 *
 * The condition ends at the first "->" outside quotes; the actions follow it.  Words are copied
 * into t->words without their quotes, and all strings of the result point there.
 */
#include "collect/trigger/trigger.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "filter/compile.h"

/*
 * The default `every`, so that no trigger floods the host.  Switches get a shorter one: a stop soon
 * after a stop may follow a start.
 */
#define EVERY_NS 1000000000ull
#define EVERY_SWITCH_NS 10000000ull

struct parser {
	struct trigger *t;
	const char *p;	 /* next character in t->text */
	const char *end; /* of the condition, or of the text */
	size_t used;	 /* bytes of t->words */
	struct diag *d;
};

static int fail_at(const struct parser *r, const char *what)
{
	return diag_fail(r->d, -EINVAL, "trigger: column %d: %s", (int)(r->p - r->t->text) + 1,
			 what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static void skip_blanks(struct parser *r)
{
	while (r->p < r->end && is_blank(*r->p))
		r->p++;
}

static bool is_at_end(struct parser *r)
{
	skip_blanks(r);
	return r->p == r->end;
}

/* A word ends at a blank or a comma outside quotes.  NULL: no word is left, or a quote is open. */
static char *next_word(struct parser *r)
{
	char *word = r->t->words + r->used, quote = 0;

	if (is_at_end(r) || *r->p == ',')
		return NULL;
	for (; r->p < r->end && (quote || (!is_blank(*r->p) && *r->p != ',')); r->p++) {
		if (quote && *r->p == quote)
			quote = 0;
		else if (!quote && (*r->p == '"' || *r->p == '\''))
			quote = *r->p;
		else
			r->t->words[r->used++] = *r->p;
	}
	r->t->words[r->used++] = 0;
	return quote ? NULL : word;
}

/* Consumes the next word if it is @word. */
static bool take_word(struct parser *r, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(r);
	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0 ||
	    (r->p + n < r->end && !is_blank(r->p[n]) && r->p[n] != ','))
		return false;
	r->p += n;
	return true;
}

static int expect(struct parser *r, const char *word, const char *what)
{
	return take_word(r, word) ? 0 : fail_at(r, what);
}

static bool read_digits(struct parser *r, uint64_t most, uint64_t *value)
{
	const char *begin;

	skip_blanks(r);
	begin = r->p;
	for (*value = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
		*value = *value * 10 + (uint64_t)(*r->p - '0');
		if (*value > most)
			return false;
	}
	return r->p > begin;
}

static int read_count(struct parser *r, uint64_t *count)
{
	if (!read_digits(r, TRIGGER_COUNT_MAX, count) || (r->p < r->end && !is_blank(*r->p)))
		return fail_at(r, "a number of events, at most 100000, expected");
	return 0;
}

static int read_time(struct parser *r, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 },	   { "us", 1000 },	    { "ms", 1000000 },
		      { "s", 1000000000 }, { "m", 60000000000ull }, { "h", 3600000000000ull } };
	const char *begin;
	uint64_t n;

	skip_blanks(r);
	begin = r->p;
	if (read_digits(r, TRIGGER_TIME_MAX_NS, &n))
		for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
			if (take_word(r, units[i].name)) {
				*ns = n * units[i].ns;
				if (n <= TRIGGER_TIME_MAX_NS / units[i].ns)
					return 0;
				break;
			}
	r->p = begin;
	return fail_at(r, "a time of at most 24h expected, such as 50ms or 2s");
}

static int read_pattern(struct parser *r, const char **pattern)
{
	const char *begin;

	skip_blanks(r);
	begin = r->p;
	*pattern = next_word(r);
	if (*pattern && **pattern && **pattern != '!' && strlen(*pattern) <= TRIGGER_PATTERN_MAX)
		return 0;
	r->p = begin;
	return fail_at(r, "an event's pattern expected, such as shop:order");
}

/* ---------------------------------------------------------------- conditions */

static int read_filter(struct parser *r)
{
	struct trigger *t = r->t;
	size_t n;
	struct filter_code code;
	struct diag why = { "" };

	if (!take_word(r, "if"))
		return is_at_end(r) ? 0 : fail_at(r, "\"if EXPRESSION\" or \"->\" expected");
	if (is_at_end(r))
		return fail_at(r, "an expression expected (duet-filter(7))");
	n = (size_t)(r->end - r->p);
	t->filter = memcpy(t->words + r->used, r->p, n);
	r->used += n;
	t->words[r->used++] = 0;
	r->p = r->end;
	if (filter_compile(t->filter, &code, &why))
		return diag_fail(r->d, -EINVAL, "trigger: %s", why.text);
	return 0;
}

/* "> TIME", for pairs */
static int read_longer(struct parser *r)
{
	int err = expect(r, ">", "\"> TIME\" expected");

	return err ? err : read_time(r, &r->t->time_ns);
}

/* "> N per TIME" */
static int read_rate(struct parser *r)
{
	int err = expect(r, ">", "\"> NUMBER per TIME\" expected");

	if (!err)
		err = read_count(r, &r->t->count);
	if (!err)
		err = expect(r, "per", "\"per TIME\" expected");
	if (!err)
		err = read_time(r, &r->t->time_ns);
	if (!err && !r->t->time_ns)
		err = fail_at(r, "\"per\" a time of more than 0 expected");
	return err;
}

static int read_event(struct parser *r)
{
	int err = read_pattern(r, &r->t->first);

	return err ? err : read_filter(r);
}

static int read_rate_of_events(struct parser *r)
{
	int err = read_pattern(r, &r->t->first);

	if (!err)
		err = read_rate(r);
	return err ? err : read_filter(r);
}

static int read_pair(struct parser *r)
{
	int err = read_pattern(r, &r->t->first);

	if (!err)
		err = expect(r, "to", "\"to\" and the second event expected");
	if (!err)
		err = read_pattern(r, &r->t->second);
	if (!err)
		err = read_longer(r);
	if (!err && take_word(r, "by")) {
		r->t->by = next_word(r);
		if (!r->t->by || !*r->t->by)
			err = fail_at(r, "a field's name expected");
	}
	return err ? err : read_filter(r);
}

static int read_signal(struct parser *r)
{
	if (take_word(r, "USR1"))
		r->t->signal = SIGUSR1;
	else if (take_word(r, "USR2"))
		r->t->signal = SIGUSR2;
	else
		return fail_at(r, "USR1 or USR2 expected");
	return 0;
}

static int read_file(struct parser *r)
{
	r->t->path = next_word(r);
	if (!r->t->path || *r->t->path != '/')
		return fail_at(r,
			       "a file's path expected, from / on: the collector may be elsewhere");
	return 0;
}

static const struct {
	const char *name;
	enum trigger_kind kind;
	int (*read)(struct parser *r);
} conditions[] = {
	{ "event", TRIGGER_EVENT, read_event }, { "rate", TRIGGER_RATE, read_rate_of_events },
	{ "time", TRIGGER_TIME, read_pair },	{ "late", TRIGGER_LATE, read_pair },
	{ "lost", TRIGGER_LOST, read_rate },	{ "signal", TRIGGER_SIGNAL, read_signal },
	{ "file", TRIGGER_FILE, read_file },
};

static int read_condition(struct parser *r)
{
	for (unsigned i = 0; i < sizeof conditions / sizeof *conditions; i++)
		if (take_word(r, conditions[i].name)) {
			int err;

			r->t->kind = conditions[i].kind;
			err = conditions[i].read(r);
			if (!err && !is_at_end(r))
				err = fail_at(r, "\"->\" expected");
			return err;
		}
	return fail_at(r, "a condition expected: event, rate, time, late, lost, signal or file");
}

/* ---------------------------------------------------------------- actions */

static int read_snapshot(struct parser *r, struct trigger_action *a)
{
	return take_word(r, "last") ? read_time(r, &a->last_ns) : 0;
}

static int read_run(struct parser *r, struct trigger_action *a)
{
	int n = 0;

	while (n < TRIGGER_WORDS && (a->argv[n] = next_word(r)))
		n++;
	if (n == TRIGGER_WORDS && !is_at_end(r) && *r->p != ',')
		return fail_at(r, "a command has at most 32 words");
	return n && *a->argv[0] ? 0 : fail_at(r, "a command expected");
}

static int read_shell(struct parser *r, struct trigger_action *a)
{
	static char shell[] = "/bin/sh", option[] = "-c";

	a->argv[0] = shell;
	a->argv[1] = option;
	a->argv[2] = next_word(r);
	return a->argv[2] && *a->argv[2] ? 0 : fail_at(r, "a quoted text for the shell expected");
}

static int read_nothing(struct parser *r, struct trigger_action *a)
{
	(void)r;
	(void)a;
	return 0;
}

static const struct {
	const char *name;
	enum trigger_act act;
	int (*read)(struct parser *r, struct trigger_action *a);
} acts[] = {
	{ "start", TRIGGER_START, read_nothing },   { "stop", TRIGGER_STOP, read_nothing },
	{ "end", TRIGGER_END, read_nothing },	    { "snapshot", TRIGGER_SNAPSHOT, read_snapshot },
	{ "rotate", TRIGGER_ROTATE, read_nothing }, { "run", TRIGGER_RUN, read_run },
	{ "shell", TRIGGER_RUN, read_shell },	    { "notify", TRIGGER_NOTIFY, read_nothing },
};

static int read_action(struct parser *r)
{
	struct trigger *t = r->t;

	if (take_word(r, "once")) {
		t->once = true;
		return 0;
	}
	if (take_word(r, "every")) {
		t->has_every = true;
		return read_time(r, &t->every_ns);
	}
	for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++)
		if (take_word(r, acts[i].name)) {
			if (t->n_actions == TRIGGER_ACTIONS)
				return fail_at(r, "at most 8 actions");
			t->actions[t->n_actions].act = acts[i].act;
			return acts[i].read(r, &t->actions[t->n_actions++]);
		}
	return fail_at(
		r, "an action expected: start, stop, end, snapshot, rotate, run, shell or notify; "
		   "or once, or every TIME");
}

static int read_actions(struct parser *r)
{
	int err;

	do {
		err = read_action(r);
		if (err)
			return err;
		if (is_at_end(r))
			return r->t->n_actions ? 0 : fail_at(r, "an action expected");
	} while (*r->p++ == ',');
	r->p--;
	return fail_at(r, "\",\" or the end expected");
}

/* The "->" outside quotes; NULL if there is none. */
static const char *find_arrow(const char *p)
{
	char quote = 0;

	for (; *p; p++) {
		if (quote == '"' && *p == '\\' && p[1])
			p++; /* in a filter's text */
		else if (quote)
			quote = *p == quote ? 0 : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
		else if (p[0] == '-' && p[1] == '>')
			return p;
	}
	return NULL;
}

const char *trigger_kernel_pattern(const char *pattern)
{
	static const char kernel[] = "kernel:";

	return pattern && !strncmp(pattern, kernel, sizeof kernel - 1) ? pattern + sizeof kernel - 1
								       : NULL;
}

bool trigger_does(const struct trigger *t, enum trigger_act act)
{
	for (int i = 0; i < t->n_actions; i++)
		if (t->actions[i].act == act)
			return true;
	return false;
}

static bool only_switches(const struct trigger *t)
{
	for (int i = 0; i < t->n_actions; i++)
		if (t->actions[i].act > TRIGGER_END)
			return false;
	return true;
}

int trigger_parse(struct trigger *t, const char *text, struct diag *d)
{
	struct parser r = { .t = t, .d = d };
	const char *arrow;
	int err;

	memset(t, 0, sizeof *t);
	if (strlen(text) >= sizeof t->text)
		return diag_fail(d, -E2BIG, "trigger: at most %d bytes", TRIGGER_TEXT_BYTES - 1);
	strcpy(t->text, text);
	for (const char *p = t->text; *p; p++)
		if ((unsigned char)*p < ' ' && !is_blank(*p))
			return diag_fail(d, -EINVAL, "trigger: it has control characters");
	r.p = t->text;
	arrow = find_arrow(t->text);
	if (!arrow)
		return diag_fail(d, -EINVAL,
				 "trigger: %.64s: \"CONDITION -> ACTION\" expected, such as "
				 "'event shop:order if id > 9 -> snapshot'",
				 text);
	r.end = arrow;
	err = read_condition(&r);
	if (err)
		return err;
	r.p = arrow + 2;
	r.end = t->text + strlen(t->text);
	err = read_actions(&r);
	if (!err && !t->has_every)
		t->every_ns = only_switches(t) ? EVERY_SWITCH_NS : EVERY_NS;
	return err;
}
