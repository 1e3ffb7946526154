/* SPDX-License-Identifier: MIT */
/*
 * control/start.c - duet_start: run `duet start`, which returns when the session records.
 *
 * The command is the only way to begin a session, so limits, supervisor and files are set up in one
 * place.  The program does not notice the child: no SIGCHLD, no status for its wait(2), no
 * inherited descriptor.  A process that executes another program raises SIGCHLD in any case.  So a
 * process stands between; it is made without an exit signal, and waits for the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compose.h"
#include "control/internal.h"

#define START_LIMIT_NS 10000000000ull

enum { ARGUMENTS = 512 };

extern char **environ;

struct command {
	char path[4096];
	const char *argv[ARGUMENTS];
	int n;
	char **env;
	int errors; /* standard error of the child */
};

static void add(struct command *c, const char *argument)
{
	if (c->n < ARGUMENTS)
		c->argv[c->n++] = argument; /* the last one stays NULL: is_too_long() */
}

static bool is_too_long(const struct command *c)
{
	return c->n == ARGUMENTS;
}

static bool find_program(struct command *c)
{
	const char *path = secure_getenv("PATH");

	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; p;) {
		const char *end = strchrnul(p, ':');

		if (*p == '/' && (size_t)(end - p) < sizeof c->path - 8) {
			memcpy(c->path, p, (size_t)(end - p));
			strcpy(c->path + (end - p), "/duet");
			if (!access(c->path, X_OK))
				return true;
		}
		p = *end ? end + 1 : NULL;
	}
	return false;
}

/*
 * Whether the child inherits @variable.  A collector must not be traced as the program is, so it
 * gets none of our variables but the runtime directory.
 */
static bool is_for_the_child(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) && strncmp(variable, "DUET_", 5);
}

static char **make_environment(const char *directory)
{
	size_t n = 0, kept = 0, room = strlen(directory) + sizeof "DUET_RUNTIME_DIR=";
	char **env, *runtime;

	while (environ && environ[n])
		n++;
	env = malloc((n + 2) * sizeof *env + room);
	if (!env)
		return NULL;
	runtime = (char *)(env + n + 2);
	compose(runtime, room, "DUET_RUNTIME_DIR=", directory, NULL);
	for (size_t i = 0; i < n; i++)
		if (is_for_the_child(environ[i]))
			env[kept++] = environ[i];
	env[kept++] = runtime;
	env[kept] = NULL;
	return env;
}

/* Fork without libc's knowledge; @signal is raised when the child ends. */
static pid_t split(int signal)
{
	return (pid_t)syscall(SYS_clone, (long)signal, 0L, 0L, 0L, 0L);
}

/* Only system calls: threads that do not exist in the child may hold the program's locks. */
static void become_command(const struct command *c)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(c->errors, 2) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return;
	syscall(SYS_close_range, 3u, ~0u, 0u); /* before Linux 5.9 the program's files stay open */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(c->path, (char *const *)c->argv, c->env);
}

/* Run the command, and end with its status. */
static void stand_between(const struct command *c)
{
	static const uint64_t by_default[4]; /* struct sigaction, as the kernel has it */
	int status = 127 << 8;
	pid_t pid;

	syscall(SYS_rt_sigaction, SIGCHLD, by_default, NULL,
		8); /* if SIGCHLD were ignored, there would be no status */
	pid = split(SIGCHLD);
	if (!pid) {
		become_command(c);
		syscall(SYS_exit_group, 127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	syscall(SYS_exit_group, WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/*
 * Returns the child's pid or -errno.  All signals are blocked, because the child must not run the
 * program's handlers.
 */
static pid_t run(const struct command *c)
{
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = split(0);
	if (!pid)
		stand_between(c);
	pid = pid < 0 ? -errno : pid;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

/* Returns the status as of waitpid(2), or -ETIMEDOUT after it killed the child. */
static int await(struct client_call *a, pid_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = 0, n = 0;

	while (p.fd >= 0 && !n && client_left_ns(a)) {
		n = poll(&p, 1, (int)(client_left_ns(a) / 1000000 % INT32_MAX) + 1);
		n = n < 0 && errno == EINTR ? 0 : n;
	}
	if (p.fd >= 0)
		close(p.fd);
	if (p.fd >= 0 && !n)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return p.fd >= 0 && !n ? -ETIMEDOUT : status;
}

/* Its standard error has the reason why the session did not begin. */
static int report_refusal(struct client_call *a, int errors)
{
	char text[DUET_WHY_BYTES];
	ssize_t n = read(errors, text, sizeof text - 1);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = 0;
	return client_fail(a, strstr(text, "already") ? -EEXIST : -EREMOTEIO,
			   n > 0 ? text : "duet start failed, and did not say why", NULL, NULL);
}

static int run_and_wait(struct client_call *a, struct command *c)
{
	int errors[2], status;
	pid_t pid;

	if (pipe2(errors, O_CLOEXEC | O_NONBLOCK))
		return client_fail(a, -errno, "no pipe", NULL, NULL);
	c->errors = errors[1];
	pid = run(c);
	close(errors[1]);
	if (pid < 0)
		status = client_fail(a, pid, "cannot run ", c->path, NULL);
	else
		status = await(a, pid);
	if (status == -ETIMEDOUT)
		client_fail(a, status, "duet start took too long, and was ended", NULL, NULL);
	else if (status > 0)
		status = report_refusal(a, errors[0]);
	close(errors[0]);
	return status;
}

/* Like client_begin, but the directory need not exist yet. */
static int begin(struct client_call *a, struct duet_control *c, const struct duet_start_options *o)
{
	char pid[DECIMAL_BYTES];
	int err = client_begin(a, c, START_LIMIT_NS);

	if (err && err != -ENOENT)
		return err;
	if (a->c)
		a->c->why[0] = 0;
	if (c && c->session)
		return compose(a->session, sizeof a->session, c->session, NULL) ? 0 : -EINVAL;
	if (o->only_this_process)
		compose(a->session, sizeof a->session, "self-",
			decimal(pid, (unsigned long)getpid()), NULL);
	else
		compose(a->session, sizeof a->session, "default", NULL);
	return 0;
}

static void say(struct command *command, const struct client_call *a,
		const struct duet_start_options *o, const char *pid)
{
	add(command, "duet");
	add(command, "start");
	add(command, a->session);
	add(command, "-q");
	if (o->output) {
		add(command, "-o");
		add(command, o->output);
	}
	for (int i = 0; o->events && o->events[i]; i++) {
		add(command, "-e");
		add(command, o->events[i]);
		if (o->filter) {
			add(command, "-f");
			add(command, o->filter);
		}
	}
	if (o->flight_recorder)
		add(command, "--overwrite");
	if (o->only_this_process) {
		add(command, "-p");
		add(command, pid);
	}
	for (int i = 0; o->arguments && o->arguments[i]; i++)
		add(command, o->arguments[i]);
}

int duet_start(struct duet_control *c, const struct duet_start_options *options)
{
	static const struct duet_start_options defaults = { .size = sizeof defaults };
	const struct duet_start_options *o = options ? options : &defaults;
	struct command command = { .n = 0 };
	char pid[DECIMAL_BYTES];
	struct client_call a;
	int err = begin(&a, c, o);

	if (!err && o->size < sizeof *o)
		err = client_fail(&a, -EINVAL, "the options have no `size`", NULL, NULL);
	if (!err && !find_program(&command))
		err = client_fail(&a, -ENOENT, "duet is not installed: it is not in PATH", NULL,
				  NULL);
	if (err)
		return client_end(&a, err);
	say(&command, &a, o, decimal(pid, (unsigned long)getpid()));
	command.env = make_environment(a.directory);
	if (is_too_long(&command))
		err = client_fail(&a, -EINVAL, "too many arguments", NULL, NULL);
	else if (!command.env)
		err = client_fail(&a, -ENOMEM, "no memory", NULL, NULL);
	else
		err = run_and_wait(&a, &command);
	free(command.env);
	return client_end(&a, err);
}
