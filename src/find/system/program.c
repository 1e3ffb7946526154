/* SPDX-License-Identifier: MIT */
/*
 * find/system/program.c - what would be recorded of one program, by each way of recording it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "find/system/internal.h"
#include "kernel/tracefs/public.h"

static bool has_kernel(struct diag *d)
{
	int fd = kernel_tracefs_open(d);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || !access(BROKER_SOCKET, W_OK);
}

/* A subject, a process or a file. */
struct subject {
	const char *name; /* of its file */
	char who[32];	  /* "-p 4711", or "-- COMMAND" */
	const struct elf_program *program;
	bool is_process, loads_calls;
	const struct diag *no_calls;
};

static void check_events(const struct checking *c, enum find_state state, const char *command,
			 const struct text *why, const struct text *remedy)
{
	const char *reason = why->bytes ? why->bytes : "",
		   *fix = remedy->bytes ? remedy->bytes : "";

	/* Root records it by its number. */
	bool is_others = !c->by->uid && (state == FIND_OTHER_USER || state == FIND_CONTAINER);

	if (state != FIND_RECORDABLE)
		check_bad(c, "events", is_others ? FIND_NOTE : FIND_FINDING, fix, "it %s", reason);
	else if (*fix)
		check_bad(c, "events", FIND_FINDING, fix, "it %s", reason);
	else
		check_fine(c, "events", "it %s: duet record %s", reason, command);
}

static void check_kernel_events(const struct checking *c, const struct subject *s)
{
	struct diag d = { "" };

	if (!has_kernel(&d)) {
		check_diag(c, "kernel", FIND_NOTE, &d);
		return;
	}
	check_fine(c, "kernel", "duet record -k syscalls,sched %s", s->who);
	if (s->program->has_symbols)
		check_fine(c, "uprobes", "duet record -u %s:FUNCTION %s", s->name, s->who);
	else
		check_bad(c, "uprobes", FIND_NOTE, "install its debugging symbols",
			  "it is stripped: -u %s:FUNCTION knows exported functions only", s->name);
}

static void check_functions(const struct checking *c, const struct subject *s)
{
	if (!s->loads_calls && s->no_calls)
		check_diag(c, "functions", FIND_NOTE, s->no_calls);
	else if (!s->loads_calls)
		check_bad(c, "functions", FIND_NOTE, "link it dynamically",
			  "it is linked statically, and so cannot load libduet");
	else
		check_fine(c, "functions", "duet record --graph '%s:*' %s", s->name, s->who);
}

static void check_marks(const struct checking *c, const struct subject *s, const char *file)
{
	if (s->program->n_marks)
		check_fine(c, "USDT marks", "%u: duet record --usdt %s:%s %s", s->program->n_marks,
			   find_command_name(file), s->program->mark, s->who);
}

void find_process_checks(const struct find_process *p, const struct find_by *by,
			 find_report *report, void *arg)
{
	struct checking c = { .by = by, .group = "program", .report = report, .arg = arg };
	struct subject s = { .name = find_command_name(p->file),
			     .program = &p->program,
			     .is_process = true,
			     .loads_calls = p->loads_calls || p->state == FIND_RECORDABLE,
			     .no_calls = &p->no_calls };
	struct text why = { 0 }, remedy = { 0 };

	snprintf(s.who, sizeof s.who, "-p %d", (int)p->pid);
	find_process_words(p, by, &why, &remedy);
	check_events(&c, p->state, s.who, &why, &remedy);
	text_fini(&why);
	text_fini(&remedy);
	if (p->state <= FIND_HIDDEN && p->state != FIND_RECORDABLE)
		return;
	check_kernel_events(&c, &s);
	check_functions(&c, &s);
	check_marks(&c, &s, p->marks_in);
}

void find_file_checks(const struct find_file *f, const struct find_by *by, find_report *report,
		      void *arg)
{
	struct checking c = { .by = by, .group = "program", .report = report, .arg = arg };
	struct subject s = { .name = find_command_name(f->path),
			     .who = "-- COMMAND",
			     .program = &f->program,
			     .loads_calls = !f->program.is_static };
	struct text why = { 0 }, remedy = { 0 };

	find_file_words(f, by, &why, &remedy);
	check_events(&c, f->state, s.who, &why, &remedy);
	text_fini(&why);
	text_fini(&remedy);
	check_kernel_events(&c, &s);
	check_functions(&c, &s);
	check_marks(&c, &s, f->path);
}
