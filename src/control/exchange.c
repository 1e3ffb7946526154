/* SPDX-License-Identifier: MIT */
/*
 * control/exchange.c - connect, send, receive: each within the time limit of the exchange.
 *
 * The limit is the socket's own send and receive timeout, not poll(2): connect(2) to a full backlog
 * can only be limited that way.  After a signal the call is repeated with the time that is left.
 */
#include "control/exchange.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/monotonic.h"

uint64_t exchange_left_ns(uint64_t until_ns)
{
	uint64_t now_ns = monotonic_ns();

	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static int limit(const struct exchange *e, int fd, int option)
{
	uint64_t us = exchange_left_ns(e->until_ns) / 1000;
	struct timeval t;

	if (e->until_ns == EXCHANGE_NO_LIMIT)
		return 0;
	if (us < 1)
		us = 1; /* 0 means no limit */
	t = (struct timeval){ (time_t)(us / 1000000), (suseconds_t)(us % 1000000) };
	return setsockopt(fd, SOL_SOCKET, option, &t, sizeof t);
}

/* Whether a signal interrupted the call and time is left. */
static bool may_repeat(const struct exchange *e, int fd, int option)
{
	return errno == EINTR && exchange_left_ns(e->until_ns) && !limit(e, fd, option);
}

static bool is_own_user(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (peer.uid == geteuid() || !peer.uid);
}

int exchange_connect(const struct exchange *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, err;

	if (!compose(to.sun_path, sizeof to.sun_path, e->directory, "/sock-", e->session, NULL))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	limit(e, fd, SO_SNDTIMEO);
	limit(e, fd, SO_RCVTIMEO);
	do
		err = connect(fd, (struct sockaddr *)&to, sizeof to);
	while (err && may_repeat(e, fd, SO_SNDTIMEO));
	if (err)
		err = -errno;
	else if (e->requires_own_user && !is_own_user(fd))
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int send_line(const struct exchange *e, int fd, const char *line, size_t bytes)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { (char *)line, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t n;

	if (e->passed >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						       .cmsg_type = SCM_RIGHTS,
						       .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &e->passed, sizeof(int));
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && may_repeat(e, fd, SO_SNDTIMEO));
	return n < 0 ? -errno : 0;
}

static int receive_answer(const struct exchange *e, int fd, char *answer, size_t size)
{
	ssize_t n;

	do
		n = recv(fd, answer, size - 1, 0);
	while (n < 0 && may_repeat(e, fd, SO_RCVTIMEO));
	if (n <= 0)
		return n ? -errno : -EPIPE; /* it ended, or is of a version without this verb */
	answer[n] = 0;
	return (int)n;
}

int exchange_on(const struct exchange *e, int fd, const char *line, size_t line_bytes, char *answer,
		size_t size)
{
	int err = send_line(e, fd, line, line_bytes);

	return err ? err : receive_answer(e, fd, answer, size);
}

int exchange_run(const struct exchange *e, const char *line, size_t line_bytes, char *answer,
		 size_t size)
{
	int fd = exchange_connect(e), n = fd;

	if (fd < 0)
		return fd;
	n = exchange_on(e, fd, line, line_bytes, answer, size);
	close(fd);
	return n;
}
