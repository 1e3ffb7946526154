/* SPDX-License-Identifier: MIT */
/* cmd/strace/recorder.c - the recording of `duet strace`, made in a child process. */
#include "cmd/strace/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/record/recording.h"
#include "kernel/kernel.h"

static void set_variable(const char *text)
{
	const char *equals = strchr(text, '=');
	char *name = strndup(text, equals ? (size_t)(equals - text) : strlen(text));

	if (name && equals)
		setenv(name, equals + 1, 1);
	else if (name)
		unsetenv(name);
	free(name);
}

/* In the child; it prints its own errors. */
static int run(void *arg, const char *path, struct recorder_child_ready *ready, struct diag *d)
{
	const struct strace_record *r = arg;
	struct recording a;

	(void)d;
	for (int i = 0; i < r->environment.n; i++)
		set_variable(r->environment.at[i]);
	recording_begin(&a, "strace");
	snprintf(a.session, sizeof a.session, "strace-%d", (int)getpid());
	a.quiet = true;
	a.o.path = path;
	a.o.wants_kernel = true;
	a.o.kernel.backend = r->backend;
	a.o.kernel.capture_bytes = r->capture_bytes;
	a.o.kernel.dumps_followed = !r->keep && !r->names_pids;
	a.o.kernel.captures_environment = r->captures_environment;
	a.o.kernel.captures_files = r->captures_files;
	a.o.no_default_events = true; /* no events of applications */
	a.o.leaves_environment = true;
	a.o.command = r->command;
	a.o.kernel.buffer_kib = (uint32_t)(r->kernel_buffer >> 10);
	a.pids = r->pids;
	a.o.ends_with_pids = true;
	for (int i = 0; i < r->patterns.n; i++) {
		cmd_add_string(&a.kernel_events, r->patterns.at[i]);
		cmd_add_string(&a.kernel_filters, NULL);
	}
	a.o.on_ready = recorder_child_report;
	a.o.on_ready_arg = ready;
	a.o.command_pid = &ready->program;
	return recording_resolve(&a) ? CMD_FAILED : recording_run(&a);
}

bool strace_record_backend(struct strace_record *r, const char *name)
{
	return recording_backend("strace", name, &r->backend);
}

int strace_record_start(struct strace_record *r)
{
	struct diag d = { "" };

	r->child.verb = "strace";
	r->child.keep = r->keep;
	r->child.has_command = r->command != NULL;
	if (!recorder_child_start(&r->child, run, r, &d))
		return 0;
	if (*d.text)
		cmd_error("strace", "%s", d.text);
	return r->child.has_ended && r->child.status ? r->child.status : CMD_FAILED;
}
