/* SPDX-License-Identifier: MIT */
/*
 * ui/child/launcher.c - requests and answers over a socket pair, one at a time.
 *
 * A request is a head, with the command's descriptors, and the command's words, each with its NUL.
 * An answer is two numbers; that of a started command brings its pidfd.
 */
#include "ui/child/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

enum { SPAWN = 1, SIGNAL, WAIT };
enum { WORDS_MAX = 1024, BYTES_MAX = 1 << 20, COMMANDS_MAX = 256, CONTROL = 3 };

struct request {
	uint32_t kind, size; /* of the words */
	int32_t pid, signal;
};
struct answer {
	int32_t result, status;
};

static struct {
	pthread_mutex_t lock;
	int fd; /* -1: none */
	pid_t pid;
	char directory[256];
} launcher = { PTHREAD_MUTEX_INITIALIZER, -1, 0, "" };

union fds { /* aligned for the header */
	struct cmsghdr head;
	char bytes[CMSG_SPACE(LAUNCHER_FILES_MAX * sizeof(int))];
};

static ssize_t send_with(int to, const void *bytes, size_t size, const int *fds, int n)
{
	struct iovec part = { (void *)(uintptr_t)bytes, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union fds control = { .bytes = "" };

	if (n) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		*CMSG_FIRSTHDR(&m) =
			(struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN((size_t)n * sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, (size_t)n * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

/* Reads @size bytes and up to LAUNCHER_FILES_MAX descriptors.  Returns how many of these; -1 at the
 * end. */
static int receive_with(int from, void *bytes, size_t size, int *fds)
{
	struct iovec part = { bytes, size };
	union fds control;
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof control.bytes };
	struct cmsghdr *c;
	ssize_t n;
	int n_fds = 0;

	while ((n = recvmsg(from, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL)) < 0 && errno == EINTR)
		;
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)n_fds * sizeof(int));
	}
	return n == (ssize_t)size ? n_fds : -1;
}

/* ---------------------------------------------------------------- the launcher's process */

struct serving {
	int fd;
	const char *self;
	pid_t commands[COMMANDS_MAX];
};

static pid_t *find_command(struct serving *s, pid_t pid)
{
	for (int i = 0; i < COMMANDS_MAX; i++)
		if (s->commands[i] == pid)
			return &s->commands[i];
	return NULL;
}

static int spawn(const char *const *argv, const int *files, int n, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int err;

	sigemptyset(&none);
	sigfillset(&usual);
	sigdelset(&usual, SIGKILL);
	sigdelset(&usual, SIGSTOP);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < n; i++) /* files are above these numbers: see run() */
		posix_spawn_file_actions_adddup2(&actions, files[i], i);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	err = posix_spawn(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
			  environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* The words of a request; NULL behind the last one.  False: they are too many, or the last has no
 * NUL. */
static bool split(char *bytes, size_t size, const char **argv)
{
	int n = 0;

	if (!size || bytes[size - 1])
		return false;
	for (char *at = bytes; at < bytes + size; at += strlen(at) + 1) {
		if (n == WORDS_MAX - 1)
			return false;
		argv[n++] = at;
	}
	argv[n] = NULL;
	return true;
}

static void start_command(struct serving *s, char *words, size_t size, const int *files, int n)
{
	static const char *argv[WORDS_MAX];
	struct answer a = { -EPERM, 0 };
	pid_t *free_place = find_command(s, 0);
	int pidfd = -1;

	if (!free_place) {
		a.result = -EAGAIN;
	} else if (split(words, size, argv) && launcher_allows(argv, launcher.directory)) {
		argv[0] = s->self;
		a.result = spawn(argv, files, n, free_place);
	}
	if (!a.result) {
		a.result = *free_place;
		pidfd = (int)syscall(SYS_pidfd_open, *free_place, 0);
	} else if (free_place) {
		*free_place = 0;
	}
	send_with(s->fd, &a, sizeof a, &pidfd, pidfd >= 0);
	if (pidfd >= 0)
		close(pidfd);
}

static void answer_other(struct serving *s, const struct request *q)
{
	pid_t *command = q->pid > 0 ? find_command(s, q->pid) : NULL;
	struct answer a = { 0, -1 };

	if (command && q->kind == SIGNAL && (q->signal == SIGTERM || q->signal == SIGKILL)) {
		kill(-*command, q->signal);
	} else if (command && q->kind == WAIT) {
		while (waitpid(*command, &a.status, 0) < 0 && errno == EINTR)
			;
		*command = 0;
	}
	send_with(s->fd, &a, sizeof a, NULL, 0);
}

/* False at the end. */
static bool serve(struct serving *s)
{
	static char words[BYTES_MAX];
	int files[LAUNCHER_FILES_MAX];
	struct request q;
	int n = receive_with(s->fd, &q, sizeof q, files);
	bool is_good = n >= 0 && q.size <= sizeof words &&
		       io_read(s->fd, words, q.size) == (ssize_t)q.size;

	if (is_good && q.kind == SPAWN)
		start_command(s, words, q.size, files, n);
	else if (is_good)
		answer_other(s, &q);
	for (int i = 0; i < n; i++)
		close(files[i]);
	return is_good;
}

/* A signal of the terminal is the server's; the launcher ends with it. */
static _Noreturn void run(const char *self, int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	static struct serving s;
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Descriptors 0 to 3 are taken, so that those of a command are above them. */
	if (fd != CONTROL && dup3(fd, CONTROL, O_CLOEXEC) < 0)
		_exit(1);
	for (int i = 0; i < CONTROL && nothing >= 0; i++)
		dup2(nothing, i);
	syscall(SYS_close_range, CONTROL + 1u, ~0u, 0u);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "duet-launcher");
	s.fd = CONTROL;
	s.self = self;
	while (serve(&s))
		;
	io_remove_tree(launcher.directory);
	_exit(0);
}

/* ---------------------------------------------------------------- the server's side */

static int make_directory(struct diag *d)
{
	const char *tmp = getenv("TMPDIR");
	char *path = launcher.directory;

	tmp = tmp && *tmp ? tmp : "/tmp";
	if (snprintf(path, sizeof launcher.directory, "%s/duet-ui-XXXXXX", tmp) >=
		    (int)sizeof launcher.directory ||
	    !mkdtemp(path)) {
		*path = 0;
		return diag_errno(d, "cannot make a directory in %.80s (TMPDIR names it)", tmp);
	}
	return setenv("TMPDIR", path, 1) ? -ENOMEM : 0;
}

int launcher_start(const char *self, struct diag *d)
{
	int ends[2], err = make_directory(d);

	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return diag_errno(d, "cannot start the launcher");
	fflush(NULL);
	launcher.pid = fork();
	if (!launcher.pid)
		run(self, ends[0]);
	close(ends[0]);
	launcher.fd = ends[1];
	return launcher.pid < 0 ? diag_errno(d, "cannot start the launcher") : 0;
}

void launcher_end(void)
{
	if (launcher.fd < 0)
		return;
	close(launcher.fd);
	launcher.fd = -1;
	while (waitpid(launcher.pid, NULL, 0) < 0 && errno == EINTR)
		;
}

const char *launcher_directory(void)
{
	return launcher.fd >= 0 ? launcher.directory : NULL;
}

static struct answer ask(const struct request *q, const char *words, const int *files, int n,
			 int *pidfd)
{
	struct answer a = { -EIO, -1 };
	int fds[LAUNCHER_FILES_MAX], n_fds = -1;

	pthread_mutex_lock(&launcher.lock);
	if (send_with(launcher.fd, q, sizeof *q, files, n) == (ssize_t)sizeof *q &&
	    !io_write(launcher.fd, words, q->size))
		n_fds = receive_with(launcher.fd, &a, sizeof a, fds);
	pthread_mutex_unlock(&launcher.lock);
	if (pidfd)
		*pidfd = n_fds > 0 ? fds[0] : -1;
	return a;
}

pid_t launcher_spawn(const char *const *argv, const int *files, int n_files, int *pidfd)
{
	struct request q = { .kind = SPAWN };
	struct answer a;
	char *words;
	size_t size = 0;

	if (launcher.fd < 0) { /* a program without a server */
		pid_t pid;
		int err = spawn(argv, files, n_files, &pid);

		*pidfd = err ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
		return err ? err : pid;
	}
	for (int i = 0; argv[i]; i++)
		size += strlen(argv[i]) + 1;
	words = size <= BYTES_MAX ? malloc(size) : NULL;
	if (!words)
		return size <= BYTES_MAX ? -ENOMEM : -E2BIG;
	for (int i = 0; argv[i]; i++) {
		memcpy(words + q.size, argv[i], strlen(argv[i]) + 1);
		q.size += (uint32_t)strlen(argv[i]) + 1;
	}
	a = ask(&q, words, files, n_files, pidfd);
	free(words);
	return a.result;
}

void launcher_signal(pid_t pid, int signal)
{
	const struct request q = { .kind = SIGNAL, .pid = pid, .signal = signal };

	if (launcher.fd < 0)
		kill(-pid, signal);
	else
		ask(&q, NULL, NULL, 0, NULL);
}

int launcher_wait(pid_t pid)
{
	const struct request q = { .kind = WAIT, .pid = pid };
	int status = -1;

	while (launcher.fd < 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (launcher.fd < 0)
		return status;
	return ask(&q, NULL, NULL, 0, NULL).status;
}
