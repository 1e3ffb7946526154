/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/rotate.c - duet rotate: end one trace chunk of a running recording, begin the next.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/session/tenant_sessions.h"
#include "collect/session/public.h"

static const char help[] =
	"usage: duet rotate [SESSION]\n"
	"\n"
	"Ends the trace chunk of a recording that was started with --rotate, and begins the next.  "
	"Prints where\n"
	"the finished chunk is: a complete recording, which can be copied, read or removed while "
	"the programs\n"
	"and the recording go on.  For a session of several users it prints one for each of them.\n"
	"\n"
	"  SESSION               default: the one that is running\n"
	"\n"
	"  duet collect -o serve --rotate 1G & ... ; duet view $(duet rotate)\n";

enum { BUSY_WAIT_MS = 20 };

static int ask(const char *session, struct cmd_answer *answer)
{
	const char *label = tenant_session_label(session);
	/* A tenant collector that ends meanwhile has no chunk to rotate. */
	const struct cmd_asking how = { .passed = -1,
					.timeout_s = label ? CMD_PART_WRITES_S : 0,
					.may_end = label };
	struct text t = { 0 };
	int status;

	json_line_add_text(&t, "verb", "rotate");
	status = cmd_ask("rotate", session, &t, &how, answer);
	while (!status && json_line_is_true(&answer->line, "busy")) {
		cmd_pause(BUSY_WAIT_MS);
		json_line_add_text(&t, "verb", "rotate");
		status = cmd_ask("rotate", session, &t, &how, answer);
	}
	return status;
}

static int request(void *arg, const char *session)
{
	struct cmd_answer answer;
	char path[PATH_MAX];
	int status = ask(session, &answer);

	(void)arg;
	if (status == CMD_ENDED)
		return 0;
	if (!status)
		status = cmd_refused("rotate", session, &answer);
	if (status)
		return status;
	if (!json_line_text(&answer.line, "path", path, sizeof path))
		return cmd_error("rotate",
				 "the session answered what this duet does not understand");
	print_out("%s\n", path);
	return 0;
}

static int run(const char *wanted)
{
	int dir = runtime_dir_open(false), status;
	struct abi_session session;

	if (dir < 0)
		return cmd_error("rotate",
				 dir == -ENOENT
					 ? "nothing records: start `duet collect --rotate` first"
					 : "cannot use the runtime directory");
	status = cmd_select_session("rotate", dir, wanted, &session);
	if (status == 1)
		status =
			cmd_error("rotate", "nothing records: start `duet collect --rotate` first");
	else if (!status)
		status = tenant_sessions_each(dir, session.name, request, NULL);
	close(dir);
	return status;
}

int cmd_rotate(int argc, char **argv)
{
	static const struct option options[] = { { "session", required_argument, NULL, 's' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	const char *wanted = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("rotate", c, options, argv);
		if (c == 's')
			wanted = optarg;
		else if (c == 'h')
			return print_own(help);
	}
	if (optind < argc && !wanted)
		wanted = argv[optind++];
	return optind < argc ? cmd_usage("rotate", "one session expected") : run(wanted);
}
