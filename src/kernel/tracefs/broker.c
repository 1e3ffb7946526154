/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/broker.c - the borrower's side: asks the lender for an instance.
 *
 * The borrower trusts only a lender that runs as root (SO_PEERCRED). See broker.h. */
#include "kernel/tracefs/broker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel/tracefs/rights.h"

/* The lender serves one request of each borrower in turn; some take the kernel a tenth of a second. */
enum { ANSWER_TIMEOUT_S = 30, FDS_MAX = 3 };

/* A connection to a lender that runs as root, or -errno. */
static int connect_to_broker(void)
{
	const char *path = secure_getenv("DUET_LENDER");
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof peer;
	int fd, err = 0;

	if (snprintf(a.sun_path, sizeof a.sun_path, "%s", path && *path ? path : BROKER_SOCKET) >=
	    (int)sizeof a.sun_path)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		err = -errno;
	else if (peer.uid)
		err = -EPERM; /* the instance it sends may not be a tracefs at all */
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void close_fds(int fds[FDS_MAX])
{
	for (int i = 0; i < FDS_MAX; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Returns 0 and up to FDS_MAX descriptors; a missing one is -1. */
static int receive(int connection, struct broker_answer *a, int fds[FDS_MAX])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec v = { a, sizeof *a };
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c;
	ssize_t n;

	/* A message is whole or not there: its sender does not send it in parts. */
	do
		n = recvmsg(connection, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n < 0 ? NULL : CMSG_FIRSTHDR(&h);
	memset(fds, -1, FDS_MAX * sizeof *fds);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	a->why[sizeof a->why - 1] = 0;
	return n == (ssize_t)sizeof *a ? 0 : n ? -EPROTO : -ECONNRESET;
}

/* ---------------------------------------------------------------- the instance */

/* Takes the connection and the descriptors, but for the first. */
static int borrow(struct kernel_instance *in, int connection, const struct broker_answer *a,
		  const int fds[FDS_MAX], struct diag *d)
{
	*in = (struct kernel_instance){ .root = -1,
					.dir = connection,
					.lock = fds[1],
					.tracing_on = fds[2],
					.free_buffer = -1,
					.is_own_only = a->flags & BROKER_OWN_ONLY };
	snprintf(in->path, sizeof in->path, "a borrowed instance");
	return kernel_instance_quiet(in, d);
}

int broker_request(struct kernel_instance *in, int *available, struct diag *d)
{
	int connection = connect_to_broker(), fds[FDS_MAX] = { -1, -1, -1 }, err;
	struct broker_answer a = { 0 };

	if (connection == -EACCES)
		return kernel_rights_broker(d);
	if (connection < 0)
		return -ENOENT;
	/* A broker that closed the connection already must not end this process by SIGPIPE. Its
	 * answer may be there all the same. */
	(void)!send(connection, in ? "i" : "l", 1, MSG_NOSIGNAL);
	err = receive(connection, &a, fds);
	if (!err && !a.error &&
	    (fds[0] < 0 || (in && (!kernel_is_tracefs(fds[1]) || !kernel_is_tracefs(fds[2])))))
		err = -EPROTO;
	if (err || a.error) {
		close_fds(fds);
		close(connection);
		return err ? diag_fail(d, err,
				       "the lender of tracefs instances does not answer as it "
				       "should: %s\n  lender and recorder must be of one version",
				       strerror(-err))
			   : diag_fail(d, a.error, "%s", a.why);
	}
	*available = fds[0];
	if (!in) {
		close(connection);
		return 0;
	}
	err = borrow(in, connection, &a, fds, d);
	if (err)
		close(fds[0]);
	return err;
}

/* ---------------------------------------------------------------- its files */

/* Two threads set up an instance: kernel_prepare(). */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_messages;

/* An answer to another message is that of a killed predecessor's. */
static int receive_answer_to(int connection, uint64_t id, int *fd)
{
	int fds[FDS_MAX], err;
	struct broker_answer a;

	for (;;) {
		err = receive(connection, &a, fds);
		if (err)
			break;
		if (a.id == id) {
			*fd = fds[0];
			fds[0] = -1;
			err = a.error;
			break;
		}
		close_fds(fds);
	}
	close_fds(fds);
	return err;
}

static int exchange(int connection, enum broker_operation operation, const char *path,
		    const char *text, size_t size, int *fd)
{
	struct broker_message m = { .operation = (char)operation };
	int err, received = -1;
	ssize_t n;

	if (strlen(path) >= sizeof m.path || size >= sizeof m.text)
		return -E2BIG;
	strcpy(m.path, path);
	memcpy(m.text, text, size);
	pthread_mutex_lock(&one_at_a_time);
	m.id = (uint64_t)getpid() << 32 | ++n_messages;
	do
		n = send(connection, &m, sizeof m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	err = n == (ssize_t)sizeof m ? receive_answer_to(connection, m.id, &received) : -errno;
	pthread_mutex_unlock(&one_at_a_time);
	if (fd)
		*fd = received;
	else if (received >= 0)
		close(received);
	return err;
}

/* A list of numbers may be longer than a message; the kernel appends each write to it. */
int broker_write(int connection, const char *path, const char *text)
{
	const size_t most = sizeof((struct broker_message *)0)->text - 1;
	size_t size = strlen(text), part;
	int err = 0;

	if (size > most && text[strspn(text, "0123456789 ")])
		return -E2BIG;
	for (; !err && size; text += part, size -= part) {
		for (part = size > most ? most : size;
		     part > 1 && part < size && text[part - 1] != ' ';)
			part--;
		err = exchange(connection, BROKER_WRITE, path, text, part, NULL);
	}
	return err;
}

int broker_empty(int connection, const char *path)
{
	return exchange(connection, BROKER_EMPTY, path, "", 0, NULL);
}

int broker_open_file(int connection, const char *path)
{
	int fd = -1, err = exchange(connection, BROKER_OPEN, path, "", 0, &fd);

	if (!err && fd < 0)
		err = -EPROTO;
	errno = -err;
	return err ? -1 : fd;
}
