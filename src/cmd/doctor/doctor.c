/* SPDX-License-Identifier: MIT */
/*
 * cmd/doctor/doctor.c - duet doctor: what can be recorded here and what not, why, and the command
 * that changes it.
 *
 * It reads and tries, and changes nothing.
 */
#include "cmd/doctor/doctor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/doctor/explain.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"

static const char usage[] =
	"usage: duet doctor                 this machine, this user, and the running programs with "
	"trace sites\n"
	"       duet doctor PID|FILE...     what can be recorded of a process, a program or a "
	"library\n\n"
	"Says what can be recorded and what not, why, and what to do.  Changes nothing.\n\n";

static const char notes[] =
	"\n  ok   it works      note  something optional does not      FIX  something is to be "
	"done\n"
	"Exit status: 0 all is well, 1 something is to be done, 2 it could not look.\n";

enum { DOCTOR_BIT = 1 };

struct arguments {
	bool is_json;
};

static int visit(void *arg, const struct find_process *p)
{
	doctor_process(arg, p);
	return 0;
}

static void look_at_machine(struct doctor *d)
{
	char here[PATH_MAX];

	doctor_array(d, "checks");
	find_system(d->by, getcwd(here, sizeof here) ? here : ".", doctor_check, d);
	doctor_end_array(d);
	doctor_array(d, "programs");
	find_each(d->by, d->by->uid ? d->by->uid : FIND_ALL_USERS, NULL, visit, d);
	doctor_end_array(d);
	if (!d->is_json && strcmp(d->group, "programs") != 0)
		print_out("\nprograms\n  -     no program with trace sites runs: duet doctor PID "
			  "looks "
			  "at one without\n");
}

/* A number is a process, unless there is a file of that name. */
static bool is_pid(const char *argument, pid_t *pid)
{
	char *end;
	long n = strtol(argument, &end, 10);

	*pid = (pid_t)n;
	return *argument >= '0' && *argument <= '9' && !*end && n > 0 && n <= INT_MAX &&
	       access(argument, F_OK);
}

static int look_at_process(struct doctor *d, pid_t pid)
{
	struct find_process p;
	int status = 0;

	find_process(&p, pid, d->by, NULL);
	if (p.state == FIND_NOT_THERE) {
		status = cmd_error("doctor",
				   "process %d does not exist: duet list shows the traced programs",
				   (int)pid);
	} else {
		doctor_begin_process(d, &p);
		find_process_checks(&p, d->by, doctor_check, d);
		doctor_end_program(d);
	}
	find_process_fini(&p);
	return status;
}

static int look_at_file(struct doctor *d, const char *file)
{
	struct diag why = { "" };
	struct find_file f;

	if (find_file(&f, file, d->by, &why))
		return cmd_error("doctor", "%s", why.text);
	doctor_begin_file(d, &f);
	find_file_checks(&f, d->by, doctor_check, d);
	doctor_end_program(d);
	find_file_fini(&f);
	return 0;
}

static int look_at_all(struct doctor *d, int n, char **arguments)
{
	int status = 0;
	pid_t pid;

	doctor_array(d, "programs");
	for (int i = 0; i < n; i++) {
		int one = is_pid(arguments[i], &pid) ? look_at_process(d, pid)
						     : look_at_file(d, arguments[i]);

		status = one > status ? one : status;
	}
	doctor_end_array(d);
	return status;
}

static int print_json(struct doctor *d)
{
	text_addf(&d->json, ",\"findings\":%d}\n", d->n_findings);
	if (d->json.failed)
		return cmd_error("doctor", "no memory");
	print_data(d->json.bytes, d->json.size);
	return 0;
}

static int finish(struct doctor *d, int status)
{
	char count[64];

	if (d->is_json)
		status = print_json(d) ? CMD_FAILED : status;
	else if (!status)
		print_out("\n%s\n",
			  d->n_findings ? cmd_count_text((uint64_t)d->n_findings, "finding", count)
					: "no findings");
	text_fini(&d->json);
	return status ? status : d->n_findings ? 1 : 0;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option_row rows[] = {
		{ .name = "json",
		  .verbs = DOCTOR_BIT,
		  .help = "for programs",
		  OPTION_FIELD(OPTION_FLAG, 0, bool, arguments, is_json) },
	};
	static const struct option_table table = { rows, sizeof rows / sizeof *rows };
	struct arguments a = { .is_json = false };
	const struct options options = { .verb = "doctor",
					 .bit = DOCTOR_BIT,
					 .usage = usage,
					 .notes = notes,
					 .tables = { &table },
					 .parts = { &a } };
	struct doctor d = { .by = explain_by() };
	int status = options_parse(&options, argc, argv);

	if (status != OPTIONS_GO_ON)
		return status;
	d.is_json = a.is_json;
	status = 0;
	pager_open();
	if (optind < argc)
		status = look_at_all(&d, argc - optind, argv + optind);
	else
		look_at_machine(&d);
	status = finish(&d, status);
	pager_close();
	return status;
}
