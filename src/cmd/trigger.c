/* SPDX-License-Identifier: MIT */
/* cmd/trigger.c - duet trigger: what a running recording does by itself, and when. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/parts.h"
#include "collect/apps.h"
#include "collect/session.h"

static const char help[] =
	"usage: duet trigger add [-s SESSION] TRIGGER...\n"
	"       duet trigger list [-s SESSION]\n"
	"       duet trigger remove [-s SESSION] NUMBER...\n"
	"       duet trigger watch [-s SESSION] [-n COUNT]\n\n"
	"A trigger is one argument, 'CONDITION -> ACTION, ACTION...':\n\n"
	"  event PATTERN [if EXPR]                     an event (duet-filter(7))\n"
	"  rate PATTERN > N per TIME [if EXPR]         more than N of them within TIME\n"
	"  time A to B > TIME [by FIELD] [if EXPR]     B comes more than TIME after its A\n"
	"  late A to B > TIME [by FIELD] [if EXPR]     A, and after TIME no B; same thread, or same FIELD\n"
	"  lost > N per TIME                           events that found no room\n"
	"  signal USR1 | signal USR2                   sent to the collector (duet status)\n"
	"  file PATH                                   appears\n"
	"  A PATTERN kernel:NAME is about kernel events that are recorded (-k), as in 'event kernel:sched_switch'.\n\n"
	"  snapshot [last TIME]    of a flight recorder      start, stop, end    recording\n"
	"  run COMMAND ARG...      facts in DUET_...         shell 'TEXT'        the same by /bin/sh\n"
	"  notify                  who watches               rotate              the files\n"
	"  once, every TIME        how often it may fire (default: every 1s)\n\n"
	"  -s, --session S   of which recording (default: the one that is running); of many users, of all its parts\n"
	"  -n, --count N     watch so many firings, and end\n\n"
	"  duet trigger add 'event shop:order if id > 9 -> snapshot last 5s, run page-me, every 1m'\n";

struct arguments {
	const char *session_wanted;
	uint64_t count; /* 0: until it ends */
	struct abi_session session;
};

static int ask(const struct arguments *a, struct text *t, struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = -1, .patience_s = CMD_PATIENCE_S };
	int status = cmd_ask("trigger", a->session.name, t, &how, answer);

	return status ? status : cmd_refused("trigger", a->session.name, answer);
}

static unsigned long long number_in(const struct cmd_answer *answer, const char *key)
{
	uint64_t n = 0;

	control_number(&answer->line, key, &n);
	return n;
}

static int add(const struct arguments *a, const char *text)
{
	struct cmd_answer answer;
	struct text t = { 0 };
	int status;

	control_add_text(&t, "verb", "trigger");
	control_add_text(&t, "add", text);
	status = ask(a, &t, &answer);
	if (!status)
		printf("%s%strigger %llu: %s\n", parts_label(a->session.name) ? a->session.name : "",
		       parts_label(a->session.name) ? ": " : "", number_in(&answer, "number"), text);
	return status;
}

static int remove_one(const struct arguments *a, const char *text)
{
	struct cmd_answer answer;
	struct text t = { 0 };
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end)
		return cmd_error("trigger", "%s: not a trigger's number (duet trigger list)", text);
	control_add_text(&t, "verb", "trigger");
	control_add_number(&t, "remove", n);
	return ask(a, &t, &answer);
}

static int list(const struct arguments *a)
{
	struct cmd_answer answer;
	uint64_t after = 0;
	char line[4096];
	int status;

	for (;;) {
		struct text t = { 0 };

		control_add_text(&t, "verb", "trigger");
		control_add_number(&t, "after", after);
		status = ask(a, &t, &answer);
		if (status || !control_number(&answer.line, "number", &after))
			break;
		if (!control_text(&answer.line, "text", line, sizeof line))
			strcpy(line, "?");
		printf("%3llu  %s\n     fired %llu", (unsigned long long)after, line, number_in(&answer, "fired"));
		if (number_in(&answer, "held_back"))
			printf(", held back %llu", number_in(&answer, "held_back"));
		if (number_in(&answer, "forgotten"))
			printf(", too many pairs at once: %llu forgotten", number_in(&answer, "forgotten"));
		putchar('\n');
		if (control_text(&answer.line, "error", line, sizeof line))
			printf("     ERROR: %s\n", line);
	}
	if (!status && !after)
		printf("no triggers: duet trigger add\n");
	if (!status && number_in(&answer, "missed"))
		printf("MISSED: %llu times more events came than could be looked at\n", number_in(&answer, "missed"));
	return status;
}

/* Lines of JSON, as they come. */
static int watch(const struct arguments *a)
{
	struct text t = { 0 };
	char line[8192];
	uint64_t n = 0;
	ssize_t size;
	int dir = runtime_dir_open(false), fd = dir < 0 ? dir : session_connect(dir, a->session.name);
	struct control_line answer;

	if (dir >= 0)
		close(dir);
	control_add_text(&t, "verb", "watch");
	if (fd < 0 || control_send(fd, &t, -1)) {
		text_fini(&t);
		return cmd_error("trigger", "session %s does not answer", a->session.name);
	}
	text_fini(&t);
	size = recv(fd, line, sizeof line, 0);
	if (size <= 0 || control_parse(&answer, line, (size_t)size) || !control_is_true(&answer, "ok")) {
		close(fd);
		return cmd_error("trigger", "session %s: many watch already", a->session.name);
	}
	while ((!a->count || n < a->count) && (size = recv(fd, line, sizeof line, 0)) > 0) {
		fwrite(line, 1, (size_t)size, stdout);
		fflush(stdout);
		n++;
	}
	close(fd);
	return a->count && n < a->count ? cmd_error("trigger", "session %s has ended", a->session.name) : 0;
}

static int choose(struct arguments *a, int *runtime)
{
	int dir = runtime_dir_open(false), status;

	if (dir < 0)
		return cmd_error("trigger", "nothing records: start `duet collect` or `duet record` first");
	apps_sweep(dir);
	status = cmd_choose_session("trigger", dir, a->session_wanted, &a->session);
	*runtime = dir;
	return status == 1 ? cmd_error("trigger", "nothing records: start `duet collect` or `duet record` first")
			   : status;
}

static int each(const struct arguments *a, int (*what)(const struct arguments *a, const char *text), int n,
		char **texts)
{
	int status = 0;

	for (int i = 0; i < n && !status; i++)
		status = what(a, texts[i]);
	return status;
}

/* What is said to a session, and so to each of its parts. */
struct saying {
	struct arguments *a;
	int (*what)(const struct arguments *a, const char *text); /* NULL: list */
	int n;
	char **texts;
};

static int say(void *arg, const char *part)
{
	struct saying *s = arg;

	snprintf(s->a->session.name, sizeof s->a->session.name, "%s", part);
	if (s->what)
		return each(s->a, s->what, s->n, s->texts);
	if (parts_label(part))
		printf("%s:\n", part);
	return list(s->a);
}

static int run(struct arguments *a, const char *what, int n, char **rest)
{
	bool adds = !strcmp(what, "add"), removes = !strcmp(what, "remove");
	struct saying s = { a, adds ? add : removes ? remove_one : NULL, n, rest };
	char session[ABI_NAME_BYTES];
	int dir = -1, status;

	if (!adds && !removes && strcmp(what, "list") && strcmp(what, "watch"))
		return cmd_usage("trigger", "add, list, remove or watch expected");
	if ((adds || removes) && !n)
		return cmd_usage("trigger", adds ? "no trigger given" : "no number given");
	if (!adds && !removes && n)
		return cmd_usage("trigger", "no argument expected");
	status = choose(a, &dir);
	if (status)
		return status;
	snprintf(session, sizeof session, "%s", a->session.name);
	return *what == 'w' ? watch(a) : parts_each(dir, session, say, &s);
}

int cmd_trigger(int argc, char **argv)
{
	static const struct option options[] = { { "session", required_argument, NULL, 's' },
						 { "count", required_argument, NULL, 'n' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { .count = 0 };
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:n:h", options, NULL)) != -1) {
		if (c == 's') {
			a.session_wanted = optarg;
		} else if (c == 'n') {
			a.count = strtoull(optarg, &end, 10);
			if (*optarg < '1' || *optarg > '9' || *end)
				return cmd_error("trigger", "-n %s: not a number of firings", optarg);
		} else if (c == 'h') {
			fputs(help, stdout);
			return 0;
		} else {
			return cmd_usage("trigger", c == ':' ? "an option lacks its value" : "no such option");
		}
	}
	if (optind == argc)
		return cmd_usage("trigger", "add, list, remove or watch expected");
	return run(&a, argv[optind], argc - optind - 1, argv + optind + 1);
}
