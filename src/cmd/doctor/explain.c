/* SPDX-License-Identifier: MIT */
/* cmd/doctor/explain.c - a reason and a remedy as one line. */
#include "cmd/doctor/explain.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/finding.h"

enum { LINES = 3, MOST_CPU_NS = 300000000 }; /* of running programs; duet doctor prints all */

const struct find_by *explain_by(void)
{
	static char library[PATH_MAX], whole[PATH_MAX];
	static struct find_by by;
	const char *found = cmd_find_library("libduet.so.0", library, sizeof library);

	/* Without "..": it is shown.  The last name may be a link, and has to stay. */
	if (found && realpath(dirname(strcpy(whole, found)), library)) {
		snprintf(whole, sizeof whole, "%.*s/libduet.so.0", PATH_MAX - 16, library);
		found = whole;
	}
	find_by(&by, found);
	return &by;
}

static const char *text_of(const struct text *t)
{
	return t->bytes ? t->bytes : "";
}

static void print_process(const char *verb, const struct find_process *p, const struct find_by *by)
{
	struct text why = { 0 }, remedy = { 0 };
	char name[4 * sizeof p->name];

	find_process_words(p, by, &why, &remedy);
	text_printable(name, sizeof name, p->name);
	if (*name)
		cmd_finding(verb, "process %d (%s) %s: %s", (int)p->pid, name, text_of(&why),
			    text_of(&remedy));
	else
		cmd_finding(verb, "process %d %s: %s", (int)p->pid, text_of(&why),
			    text_of(&remedy));
	text_fini(&why);
	text_fini(&remedy);
}

enum find_state explain_state(pid_t pid)
{
	struct find_process p;

	find_process(&p, pid, explain_by(), NULL);
	find_process_fini(&p);
	return p.state;
}

enum find_state explain_process(const char *verb, pid_t pid, bool records_kernel)
{
	struct find_by by = *explain_by();
	struct find_process p;
	enum find_state state;

	by.records_kernel = records_kernel;
	find_process(&p, pid, &by, NULL);
	state = p.state;
	if (state != FIND_RECORDABLE)
		print_process(verb, &p, &by);
	find_process_fini(&p);
	return state;
}

static bool explain_with(const char *verb, const char *file, const struct find_by *by)
{
	struct text why = { 0 }, remedy = { 0 };
	struct find_file f;
	char path[PATH_MAX];
	bool is_bad;

	if (find_file(&f, file, by, NULL))
		return false;
	is_bad = f.state != FIND_RECORDABLE;
	find_file_words(&f, by, &why, &remedy);
	text_printable(path, sizeof path, file);
	if (is_bad)
		cmd_finding(verb, "%s %s: %s", path, text_of(&why), text_of(&remedy));
	text_fini(&why);
	text_fini(&remedy);
	find_file_fini(&f);
	return is_bad;
}

bool explain_file(const char *verb, const char *file)
{
	return explain_with(verb, file, explain_by());
}

bool explain_command(const char *verb, const char *file, bool records_kernel)
{
	struct find_by by = *explain_by();

	by.passes_library = by.library;
	by.records_kernel = records_kernel;
	return explain_with(verb, file, &by);
}

struct running {
	const char *verb;
	const struct find_by *by;
	bool is_named;		   /* the user gave names: each program of one is meant */
	int n;			   /* cannot be recorded at all */
	int n_users, n_containers; /* by other options */
};

/*
 * With a runtime directory of its own, the user has chosen the programs that it meets: others are
 * not looked for.
 */
static bool is_meant(const struct running *r, const struct find_process *p)
{
	const char *own = getenv("DUET_RUNTIME_DIR");

	if (p->state == FIND_RECORDABLE || (!p->program.n_sites && !r->is_named) ||
	    p->state == FIND_NOT_THERE || p->state == FIND_ZOMBIE || p->state == FIND_IS_KERNEL)
		return false;
	return !own || !*own || !strcmp(p->directory, r->by->directory) ||
	       (r->is_named && !*p->directory);
}

static int visit(void *arg, const struct find_process *p)
{
	struct running *r = arg;

	if (!is_meant(r, p))
		return 0;
	if (p->state == FIND_OTHER_USER)
		r->n_users++;
	else if (p->state == FIND_CONTAINER)
		r->n_containers++;
	else if (r->n++ < LINES)
		print_process(r->verb, p, r->by);
	return 0;
}

static void print_others(const struct running *r, int n, const char *whose, const char *option)
{
	if (n)
		cmd_finding(r->verb,
			    "%d program%s %s with trace sites %s not recorded: %s includes %s", n,
			    n == 1 ? "" : "s", whose, n == 1 ? "is" : "are", option,
			    n == 1 ? "it" : "them");
}

int explain_running(const char *verb, const char *names, bool is_quick)
{
	struct find_by by = *explain_by();
	struct running r = { .verb = verb, .by = &by, .is_named = names };

	by.most_cpu_ns = is_quick ? MOST_CPU_NS : 0;
	find_each(r.by, r.by->uid ? r.by->uid : FIND_ALL_USERS, names, visit, &r);
	if (r.n > LINES)
		cmd_finding(verb,
			    "%d more programs with trace sites cannot be recorded: duet doctor",
			    r.n - LINES);
	print_others(&r, r.n_users, "of other users", "--all-users");
	print_others(&r, r.n_containers, "in containers", "--containers");
	return r.n + r.n_users + r.n_containers;
}
