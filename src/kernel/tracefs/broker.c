/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/broker.c - the borrower's side: asks the lender for an instance.
 *
 * The borrower trusts only a lender that runs as root (SO_PEERCRED). See broker.h. */
#include "kernel/tracefs/broker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel/tracefs/rights.h"

enum { ANSWER_TIMEOUT_S = 10 };

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

/* Returns 0 and up to two descriptors; a missing one is -1. */
static int receive(int connection, struct broker_answer *a, int fds[2])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec v = { a, sizeof *a };
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t n = recvmsg(connection, &h, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&h);

	fds[0] = fds[1] = -1;
	if (n < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fds, CMSG_DATA(c),
		       c->cmsg_len >= CMSG_LEN(2 * sizeof(int)) ? 2 * sizeof(int) : sizeof(int));
	a->why[sizeof a->why - 1] = 0;
	return n == (ssize_t)sizeof *a ? 0 : -EPROTO;
}

static void close_all(int connection, int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(connection);
}

int broker_request(struct kernel_instance *in, int *available, struct diag *d)
{
	int connection = connect_to_broker(), fds[2] = { -1, -1 }, err;
	struct broker_answer a = { 0 };

	if (connection == -EACCES)
		return kernel_rights_broker(d);
	if (connection < 0)
		return -ENOENT;
	/* A broker that closed the connection already must not end this process by SIGPIPE. */
	err = send(connection, in ? "i" : "l", 1, MSG_NOSIGNAL) == 1 ? receive(connection, &a, fds)
								     : -errno;
	if (!err && !a.error && (fds[0] < 0 || (in && fds[1] < 0)))
		err = -EPROTO;
	if (err || a.error) {
		close_all(connection, fds);
		return err ? diag_fail(d, err,
				       "the lender of tracefs instances does not answer as it "
				       "should: %s",
				       strerror(-err))
			   : diag_fail(d, a.error, "%s", a.why);
	}
	*available = fds[0];
	if (in)
		return kernel_instance_borrow(in, fds[1], connection, d);
	close(connection);
	return 0;
}
