/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/broker_server.c - the lender's side: makes instances, serves and removes them.
 *
 * One thread polls the listener and all connections. A connection is a lease: an instance lives
 * exactly as long as its connection, and what cannot be removed then is tried again (lent.h). Each
 * borrower has one request served in a round, so one that sends many does not delay others by more
 * than its turn. See broker.h.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/tracefs/broker_rules.h"
#include "kernel/tracefs/lent.h"

enum { LEASES_MAX = 64, FDS_MAX = 3, GROUPS_MAX = 1024, REAP_MS = 500 };

/* A loan of a user that the group does not list counts against this one: a member has 65 536 uids
 * below its own (subuid(5)), and they keep the group. */
enum { UNLISTED = 65534 };

struct lease {
	int connection; /* -1: free */
	int alive;	/* kernel_lent_mark_alive() of the instance; -1: there is none */
	uid_t uid, payer;
	struct kernel_instance instance; /* root is -1 until the client requests an instance */
	size_t n_received;
	struct broker_message message; /* n_received bytes of it */
};

struct broker_server {
	int root; /* of tracefs */
	int listener;
	int spare; /* io_turn_away() */
	int guard; /* open while this process lives: start_guard() */
	struct broker_policy policy;
	uint64_t buffer_kib_max;
	uint64_t reaped_ms;
	int n_kept; /* at the last look */
	struct broker_state state;
	struct lease leases[LEASES_MAX];
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void free_lease(struct lease *l)
{
	l->connection = l->alive = -1;
	l->instance = KERNEL_NO_INSTANCE;
	l->n_received = 0;
}

static void reap(struct broker_server *l)
{
	struct kernel_lent_counts c;

	kernel_instance_reap(l->root, NULL);
	l->reaped_ms = now_ms();
	if (kernel_lent_count(l->root, 0, &c))
		return;
	/* A killed recorder's files are closed one after another: the second look counts. */
	l->state.n_kept = c.kept_of_all < l->n_kept ? c.kept_of_all : l->n_kept;
	l->state.kept_by = c.kept_by;
	l->n_kept = c.kept_of_all;
}

/* ---------------------------------------------------------------- the guard */

/*
 * A process that ends this lender's loans if it is killed: a member keeps files of its instance open, so
 * nothing in the kernel does. It is a child that holds the root of tracefs and one end of a pair of
 * sockets, and no other descriptor; the lender alone holds the other end. A byte says that it is
 * ready. If both are killed at once, the
 * next lender or recorder of root ends the loans (kernel_instance_reap).
 */
enum { LENDER, ROOT, N_KEPT }; /* the guard's descriptors */

/* Signals that end a service or come from a terminal are for the lender. */
static _Noreturn void run_guard(int socket, int root, pid_t lender, unsigned long long start)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "duet-guard");
	setsid();
	if (io_keep_descriptors((int *const[]){ &socket, &root }, N_KEPT) || chdir("/") ||
	    io_write(LENDER, "", 1))
		_exit(EXIT_FAILURE);
	while (io_read(LENDER, &byte, 1) > 0)
		;
	kernel_lent_end_loans_of(ROOT, lender, start);
	_exit(EXIT_SUCCESS);
}

/* Returns the descriptor to close at the end, or a negative errno. */
static int start_guard(int root, struct diag *d)
{
	unsigned long long start = kernel_own_start();
	pid_t lender = getpid(), child;
	int pair[2], err = 0;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_errno(d, "cannot make a pair of sockets");
	child = fork();
	if (!child) {
		close(pair[1]);
		run_guard(pair[0], root, lender, start);
	}
	if (child < 0)
		err = diag_errno(d, "cannot fork");
	close(pair[0]);
	if (!err && io_read(pair[1], &byte, 1) != 1) {
		close(pair[1]); /* else the guard, if it lives, waits for it */
		pair[1] = -1;
		waitpid(child, NULL, 0);
		err = diag_fail(d, -ECHILD,
				"the process that ends loans after a kill cannot start");
	}
	if (err && pair[1] >= 0)
		close(pair[1]);
	return err ? err : pair[1];
}

/* ---------------------------------------------------------------- leases */

int broker_server_open(struct broker_server **out, int listener, const struct broker_policy *p,
		       struct diag *d)
{
	struct broker_server *l = calloc(1, sizeof *l);
	int root = l ? kernel_tracefs_open(d) : diag_fail(d, -ENOMEM, "no memory"), guard;

	*out = NULL;
	guard = root < 0 ? root : start_guard(root, d);
	if (guard < 0) {
		if (root >= 0)
			close(root);
		free(l);
		return guard;
	}
	l->root = root;
	l->guard = guard;
	l->listener = listener;
	l->spare = io_spare();
	l->policy = *p;
	l->buffer_kib_max = broker_buffer_kib_max();
	io_refuse_descriptors(listener);
	for (int i = 0; i < LEASES_MAX; i++)
		free_lease(&l->leases[i]);
	reap(l); /* also what lenders and their guards left when both were killed */
	*out = l;
	return 0;
}

/* Connections without an instance; all instances are counted by their names. */
static int count_waiting(const struct broker_server *l, uid_t payer)
{
	int n = 0;

	for (int i = 0; i < LEASES_MAX; i++)
		n += l->leases[i].connection >= 0 && l->leases[i].payer == payer &&
		     l->leases[i].instance.root < 0;
	return n;
}

static bool is_listed(uid_t uid, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	int n = GROUPS_MAX;
	struct passwd *p = getpwuid(uid);

	if (!p || getgrouplist(p->pw_name, p->pw_gid, groups, &n) < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return false;
}

static void take_back(struct broker_server *l, struct lease *one)
{
	/* First: to end the loan needs a descriptor. */
	if (one->alive >= 0)
		close(one->alive);
	close(one->connection);
	if (one->instance.root >= 0 && kernel_lent_return(&one->instance))
		l->reaped_ms = 0; /* a moment later its last file may be closed */
	free_lease(one);
}

static void answer(int connection, const struct broker_answer *a, const int *fds, int n, bool *ok)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { (void *)a, sizeof *a };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	*ok = sendmsg(connection, &h, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *a;
}

static void turn_away(int connection, const char *why)
{
	struct broker_answer a = { .error = -EDQUOT };
	bool ok;

	snprintf(a.why, sizeof a.why, "%s", why);
	answer(connection, &a, NULL, 0, &ok);
	close(connection);
}

static void accept_client(struct broker_server *l)
{
	int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const int few = 4096; /* answers: the kernel limits root's descriptors in unread messages */
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;
	uid_t payer;

	if (fd < 0 && io_lacks_descriptors(errno))
		io_turn_away(&l->spare, l->listener);
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof few);
	payer = !peer.uid || is_listed(peer.uid, l->policy.group) ? peer.uid : UNLISTED;
	if (count_waiting(l, payer) >= BROKER_LOANS_OF_ONE) {
		turn_away(fd, "this user has requests to the lender of kernel tracing already");
		return;
	}
	for (int i = 0; i < LEASES_MAX; i++)
		if (l->leases[i].connection < 0) {
			l->leases[i].connection = fd;
			l->leases[i].uid = peer.uid;
			l->leases[i].payer = payer;
			return;
		}
	turn_away(fd, "the lender of kernel tracing has as many loans as it can have\n  end "
		      "another recording of the kernel");
}

/* ---------------------------------------------------------------- requests */

static struct broker_rules rules_of(const struct broker_server *l, const struct lease *one)
{
	return (struct broker_rules){ .root = l->root,
				      .dir = one->instance.dir,
				      .uid = one->uid,
				      .own_only = l->policy.own_only,
				      .buffer_kib_max = l->buffer_kib_max };
}

static int make(struct broker_server *l, struct lease *one, struct diag *d)
{
	struct broker_rules rules;
	int err;

	assert(one->instance.root < 0); /* one instance for each lease */
	reap(l);
	err = kernel_lent_make(&one->instance, l->root, one->payer, l->policy.own_only,
			       count_waiting(l, one->payer) - 1, d);
	if (err)
		return err;
	one->alive = kernel_lent_mark_alive(&one->instance);
	if (one->alive < 0)
		return diag_fail(d, one->alive, "cannot lock tracefs/%s: %s", one->instance.path,
				 strerror(-one->alive));
	rules = rules_of(l, one);
	err = broker_rules_begin(&rules);
	return err ? diag_fail(d, err, "cannot restrict tracefs/%s to own processes: %s",
			       one->instance.path, strerror(-err))
		   : 0;
}

static int open_file(int dir, const char *path, int flags, struct diag *d)
{
	int fd = openat(dir, path, flags | O_CLOEXEC);

	return fd < 0 ? diag_errno(d, "cannot open tracefs %s", path) : fd;
}

/* Returns false if the lease has ended. */
static bool answer_first(struct broker_server *l, struct lease *one, char request)
{
	struct broker_answer a = { .flags = l->policy.own_only ? BROKER_OWN_ONLY : 0 };
	bool is_instance = request == 'i', ok = false;
	int fds[FDS_MAX] = { -1, -1, -1 };
	struct diag d = { "" };

	fds[0] = open_file(l->root, "available_events", O_RDONLY, &d);
	if (fds[0] < 0)
		a.error = fds[0];
	else if (is_instance)
		a.error = make(l, one, &d);
	if (is_instance && !a.error) {
		fds[1] = one->instance.dir;
		fds[2] = open_file(fds[1], "tracing_on", O_RDWR, &d);
		a.error = fds[2] < 0 ? fds[2] : 0;
	}
	snprintf(a.why, sizeof a.why, "%.230s", d.text);
	answer(one->connection, &a, fds, a.error ? 0 : is_instance ? FDS_MAX : 1, &ok);
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[2] >= 0)
		close(fds[2]);
	return ok && !a.error && is_instance;
}

static bool answer_message(struct broker_server *l, struct lease *one)
{
	struct broker_rules rules = rules_of(l, one);
	struct broker_answer a = { .id = one->message.id };
	bool ok;
	int fd;

	a.error = broker_rules_do(&rules, &one->message, &fd);
	answer(one->connection, &a, &fd, fd >= 0 ? 1 : 0, &ok);
	if (fd >= 0)
		close(fd);
	return ok && a.error != -ESTALE;
}

/* Returns false if the lease has ended: the connection is closed, or its client is not duet or does
 * not read its answers. */
static bool serve(struct broker_server *l, struct lease *one)
{
	char *bytes = (char *)&one->message;
	bool has_instance = one->instance.root >= 0;
	size_t wanted = has_instance ? sizeof one->message : 1;
	ssize_t n = recv(one->connection, bytes + one->n_received, wanted - one->n_received,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	one->n_received += (size_t)n;
	if (one->n_received < wanted)
		return true;
	one->n_received = 0;
	if (has_instance)
		return answer_message(l, one);
	return (*bytes == 'i' || *bytes == 'l') && answer_first(l, one, *bytes);
}

int broker_server_step(struct broker_server *l, int timeout_ms, struct broker_state *s,
		       struct diag *d)
{
	struct pollfd p[LEASES_MAX + 1] = { { .fd = l->listener, .events = POLLIN } };
	struct lease *of[LEASES_MAX + 1] = { NULL };
	bool has_kept = l->n_kept || !l->reaped_ms;
	nfds_t n = 1;

	/* No more than there are: poll refuses more entries than the process may have descriptors. */
	for (int i = 0; i < LEASES_MAX; i++)
		if (l->leases[i].connection >= 0) {
			of[n] = &l->leases[i];
			p[n] = (struct pollfd){ .fd = of[n]->connection, .events = POLLIN };
			n++;
		}
	if (poll(p, n, has_kept && timeout_ms > REAP_MS ? REAP_MS : timeout_ms) < 0 &&
	    errno != EINTR)
		return diag_errno(d, "poll");
	for (nfds_t i = 1; i < n; i++)
		if (p[i].revents && !serve(l, of[i]))
			take_back(l, of[i]);
	if (p[0].revents & POLLIN)
		accept_client(l);
	/* Also those of a recorder that outlived the lender before this one. */
	if (now_ms() - l->reaped_ms >= REAP_MS)
		reap(l);
	l->state.n_borrowers = 0;
	for (int i = 0; i < LEASES_MAX; i++)
		l->state.n_borrowers += l->leases[i].connection >= 0;
	*s = l->state;
	return 0;
}

void broker_server_close(struct broker_server *l)
{
	if (!l)
		return;
	for (int i = 0; i < LEASES_MAX; i++)
		if (l->leases[i].connection >= 0)
			take_back(l, &l->leases[i]);
	close(l->guard);
	close(l->root);
	if (l->spare >= 0)
		close(l->spare);
	free(l);
}
