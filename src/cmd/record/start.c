/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/start.c - duet start: a session in the background.
 *
 * The background process works as duet collect.  Each session has a supervisor and a
 * collector of its own, so that one that ends or fails does not affect the others
 * (docs/design/sessions.md).  The command waits until the session records, or has printed why it
 * does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/announce.h"
#include "cmd/record/options.h"
#include "cmd/record/recording.h"
#include "cmd/doctor/unseen.h"
#include "cmd/print/print.h"

static const char usage[] =
	"usage: duet start [NAME] [OPTIONS]\n\n"
	"Records in the background, as session NAME (default: \"default\"), until `duet stop`: all "
	"programs of\n"
	"this user, those that run and those that start.  Returns when it records.  Several "
	"sessions run side\n"
	"by side; `duet status` shows them, `duet enable` and `duet disable` change what they "
	"record.\n\n";

static const char examples[] =
	"  duet start -e 'shop:*'            then: duet status; duet stop\n"
	"  duet start crash --overwrite      a flight recorder beside it; duet snapshot -s crash\n";

/* ---------------------------------------------------------------- the session's side */

struct ready {
	const struct recording *recording;
	int socket; /* to the command; if the command ends, the session ends too */
};

/* Later messages go to a file of the recording: no terminal shows them. */
static int open_log(const struct recording *a, struct diag *d)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof path, "%s/.duet/log", a->o.path) >= (int)sizeof path)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", a->o.path);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return fd < 0 ? diag_errno(d, "cannot create %s", path) : fd;
}

static int report_ready(void *arg, struct diag *d)
{
	struct ready *r = arg;
	const char kernel_records = r->recording->kernel_records;
	int log = open_log(r->recording, d);

	if (log < 0)
		return log;
	if (send(r->socket, &kernel_records, 1, MSG_NOSIGNAL) != 1)
		return diag_errno(d, "the command that started the session has ended");
	close(r->socket);
	dup2(log, STDERR_FILENO);
	close(log);
	return 0;
}

/* Inherit no descriptor of the caller: the other end of a pipe would wait for us. */
static int run_session(struct recording *a, int socket, int messages)
{
	/* Above 0 to 2, which the caller may have closed. */
	int kept = fcntl(socket, F_DUPFD_CLOEXEC, 3), said = fcntl(messages, F_DUPFD_CLOEXEC, 3);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ready ready = { .recording = a, .socket = kept };

	setsid();
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	if (kept > 3)
		close_range(3, (unsigned)kept - 1, 0);
	close_range((unsigned)kept + 1, ~0u, 0);
	a->quiet = true; /* duet stop prints the summary */
	a->o.on_ready = report_ready;
	a->o.on_ready_arg = &ready;
	return recording_run(a);
}

/* ---------------------------------------------------------------- the caller's side */

/* Copy the messages of the session's start to standard error. */
static bool pass_message(int messages)
{
	char text[4096];
	ssize_t n = read(messages, text, sizeof text);

	if (n > 0)
		print_lines_err(text, (size_t)n);
	return n > 0;
}

/* Wait until the session records (true) or has ended (false); find whether the kernel is recorded. */
static bool wait_until_ready(int socket, int messages, bool *kernel_records)
{
	struct pollfd p[] = { { .fd = messages, .events = POLLIN },
			      { .fd = socket, .events = POLLIN } };
	char records = 0;
	bool is_ready;

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return false;
		if (p[0].revents & POLLIN)
			pass_message(messages);
		else if (p[1].revents) {
			is_ready = read(socket, &records, 1) == 1;
			*kernel_records = records;
			return is_ready;
		} else if (p[0].revents)
			p[0].fd = -1;
	}
}

static int exit_status(pid_t session)
{
	int status = 0;

	while (waitpid(session, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return cmd_error("start", "the session was killed while it started (signal %d)",
				 WTERMSIG(status));
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : CMD_FAILED;
}

static int start(struct recording *a)
{
	int sockets[2], messages[2];
	char subject[ANNOUNCE_BYTES], manner[ANNOUNCE_BYTES];
	pid_t session;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
	    pipe2(messages, O_CLOEXEC))
		return cmd_error("start", "no file descriptors: %s", strerror(errno));
	fflush(NULL);
	session = fork();
	if (session < 0)
		return cmd_error("start", "cannot fork: %s", strerror(errno));
	if (!session)
		_exit(run_session(a, sockets[1], messages[1]));
	close(sockets[1]);
	close(messages[1]);
	if (!wait_until_ready(sockets[0], messages[0], &a->kernel_records)) {
		while (pass_message(messages[0]))
			;
		return exit_status(session);
	}
	if (!a->quiet)
		print_out("session %s records %s into %s%s; `duet stop%s%s` ends it\n", a->session,
			  announce_subject(a, subject), a->o.path, announce_manner(a, manner),
			  strcmp(a->session, "default") != 0 ? " " : "",
			  strcmp(a->session, "default") != 0 ? a->session : "");
	return 0;
}

/* Make the path absolute: other commands run in other directories. */
static int make_path_whole(struct recording *a, char whole[PATH_MAX])
{
	char here[PATH_MAX];

	if (*a->o.path == '/')
		return 0;
	if (!getcwd(here, sizeof here) ||
	    snprintf(whole, PATH_MAX, "%s/%s", strcmp(here, "/") ? here : "", a->o.path) >=
		    PATH_MAX)
		return cmd_error(a->verb, "%s: the path is too long", a->o.path);
	a->o.path = whole;
	return 0;
}

int cmd_start(int argc, char **argv)
{
	struct options options = {
		.verb = "start", .bit = VERB_START, .usage = usage, .examples = examples
	};
	char whole[PATH_MAX];
	struct recording a;
	int status;

	recording_begin_defaults(&a, "start");
	status = recording_options_parse(&a, &options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (recording_take_name(&a, argc - optind, argv + optind))
		return CMD_FAILED;
	if (recording_resolve(&a) || make_path_whole(&a, whole))
		return CMD_FAILED;
	recording_choose_defaults(&a);
	a.o.keep = true;
	return unseen_report(&a) ? CMD_FAILED : start(&a);
}
