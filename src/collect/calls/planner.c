/* SPDX-License-Identifier: MIT */
/* collect/calls/planner.c - fork the planner, and its loop. */
#include "collect/calls/planner.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/plan.h"
#include "base/io.h"

enum { SOCKET = 3, PLANS, RUNTIME, N_KEPT, NICE = 5 };

void planner_trouble(struct planner *p, const struct diag *d)
{
	struct calls_found *f = p->calls->found;

	if (!*f->trouble)
		snprintf(f->trouble, sizeof f->trouble, "%.*s", (int)sizeof f->trouble - 1,
			 d->text);
}

/* ---------------------------------------------------------------- answers */

static void answer_program(int fd, int error)
{
	const struct abi_plan_answer a = { .magic = ABI_PLAN_REQUEST_MAGIC, .error = error };

	(void)!send(fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool build_id_text(const struct abi_plan_request *q, char text[2 * ABI_BUILD_ID_BYTES + 1])
{
	if (!q->build_id_bytes || q->build_id_bytes > ABI_BUILD_ID_BYTES)
		return false;
	for (uint32_t i = 0; i < q->build_id_bytes; i++)
		sprintf(text + 2 * i, "%02x", q->build_id[i]);
	return true;
}

/*
 * The file as the program sees it, if its root is another one.  A program without that (it has
 * ended, or is not dumpable) gets the file of our root, if the build ID is the same.
 */
static void path_seen_by(pid_t pid, const char *path, char *to, size_t size)
{
	char root[64], target[8] = "";
	ssize_t n;

	snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
	n = readlink(root, target, sizeof target - 1);
	if (n > 0 && strcmp(target, "/") != 0 &&
	    snprintf(to, size, "%s%s", root, path) < (int)size && !access(to, R_OK))
		return;
	snprintf(to, size, "%s", path);
}

static int plan_for_program(struct planner *p, const struct abi_plan_request *q, pid_t pid,
			    struct diag *d)
{
	char id[2 * ABI_BUILD_ID_BYTES + 1], path[ABI_PLAN_PATH_BYTES + 64];
	int n;

	if (q->version != ABI_PLAN_VERSION || *q->path != '/' ||
	    !memchr(q->path, 0, sizeof q->path) || !build_id_text(q, id))
		return -EPROTO;
	path_seen_by(pid, q->path, path, sizeof path);
	n = planner_plan_file(p, path, id, false, d);
	return n < 0 ? n : 0;
}

static void on_plan(struct planner *p, const struct planner_message *m, int fd)
{
	struct abi_plan_request q;
	struct diag d = { "" };
	int err;

	memcpy(&q, m->body, sizeof q);
	err = plan_for_program(p, &q, m->pid, &d);
	if (err && *d.text) {
		planner_trouble(p, &d);
		p->calls->found->n_refused_plans++;
	}
	answer_program(fd, err);
}

static void on_prepare(struct planner *p)
{
	struct planner_prepared a = { .why = { "" } };

	a.error = planner_prepare(p, &a.why);
	(void)!send(p->socket, &a, sizeof a, MSG_NOSIGNAL);
}

/*
 * In a process of its own: a program that is attached to may ask the planner for a plan meanwhile.
 * SIGCHLD: the planner does not wait for it, but it waits for what it traces.
 */
bool planner_fork(void)
{
	if (fork())
		return false;
	signal(SIGCHLD, SIG_DFL);
	return true;
}

static void attach_all(struct planner *p)
{
	const struct recorder_options *o = p->calls->o;

	for (int i = 0; i < o->n_pids; i++) {
		struct diag d = { "" };

		if (planner_attach(p, o->pids[i], &d))
			planner_trouble(p, &d);
	}
}

static void on_attach(struct planner *p)
{
	if (!planner_fork())
		return;
	attach_all(p);
	_exit(0);
}

/* ---------------------------------------------------------------- the loop */

/* The size of the message; 0 at the end. */
static ssize_t receive(int socket, struct planner_message *m, int *client)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { m, sizeof *m };
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(socket, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*client = -1;
	c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(client, CMSG_DATA(c), sizeof(int));
	return n;
}

static void carry_out(struct planner *p, const struct planner_message *m, int client)
{
	switch (m->kind) {
	case PLANNER_PLAN:
		on_plan(p, m, client);
		break;
	case PLANNER_CHANGE:
		planner_change(p, m->body, client);
		break;
	case PLANNER_PREPARE:
		on_prepare(p);
		break;
	default:
		on_attach(p);
	}
}

static void count_plans(struct planner *p)
{
	int fd = openat(p->calls->plans, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	while (list && readdir(list))
		p->n_plans++;
	if (list)
		closedir(list);
}

static void run(struct planner *p)
{
	static struct planner_message m;
	int client;

	count_plans(p);
	planner_list_patterns(p);
	while (receive(p->socket, &m, &client) >= (ssize_t)offsetof(struct planner_message, body)) {
		carry_out(p, &m, client);
		if (client >= 0)
			close(client);
	}
}

/* ---------------------------------------------------------------- the process */

/* Keeps three descriptors: the collector's sockets and locks must not live on in the planner. */
static void keep_descriptors(struct calls *c, int socket)
{
	int in = open("/dev/null", O_RDWR | O_CLOEXEC), out = in, err = in;

	io_keep_descriptors((int *const[]){ &in, &out, &err, &socket, &c->plans, &c->dir }, N_KEPT);
}

static _Noreturn void become_planner(struct calls *c, int socket)
{
	static struct planner p;
	sigset_t none;

	keep_descriptors(c, socket);
	/* SIGINT of a terminal is for the command; the planner ends with the collectors. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, NICE);
	prctl(PR_SET_NAME, "duet-plan");
	p.calls = c;
	p.socket = SOCKET;
	if (selection_read(&p.selection, c->plans))
		_exit(1);
	run(&p);
	_exit(0);
}

int planner_start(struct calls *c, struct diag *d)
{
	int pair[2];

	assert(c->planner < 0 && c->plans >= 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return diag_errno(d, "cannot start the process that plans functions");
	c->planner_pid = fork();
	if (!c->planner_pid)
		become_planner(c, pair[1]);
	close(pair[1]);
	if (c->planner_pid < 0) {
		close(pair[0]);
		return diag_errno(d, "cannot start the process that plans functions");
	}
	c->planner = pair[0];
	return 0;
}

void planner_end(struct calls *c)
{
	if (c->planner >= 0)
		close(c->planner);
	c->planner = -1;
	/* A child of an earlier collector is not ours to wait for. */
	if (c->planner_pid > 0)
		waitpid(c->planner_pid, NULL, WNOHANG);
	c->planner_pid = 0;
}
