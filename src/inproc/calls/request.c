/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/request.c - ask the collector to make a plan.
 *
 * One message each way on the session's socket (docs/formats/control.md).  Every wait is bounded: a
 * stopped collector must not stop the program.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/compose.h"
#include "inproc/calls/apply.h"

static int64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The next send or receive on @fd ends at @until_ns.  False: that is now. */
static bool limit_to(int fd, int option, int64_t until_ns)
{
	int64_t us = (until_ns - coarse_ns()) / 1000;
	struct timeval limit = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 };

	return us > 0 && !setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

static int exchange_messages(int fd, const struct abi_plan_request *q, int64_t until_ns)
{
	struct abi_plan_answer answer = { .magic = 0 };
	ssize_t n;

	if (!limit_to(fd, SO_SNDTIMEO, until_ns) ||
	    syscall(SYS_sendto, fd, q, sizeof *q, MSG_NOSIGNAL, NULL, 0) != (ssize_t)sizeof *q)
		return -EPIPE;
	do
		n = limit_to(fd, SO_RCVTIMEO, until_ns)
			    ? syscall(SYS_recvfrom, fd, &answer, sizeof answer, 0, NULL, NULL)
			    : (errno = ETIMEDOUT, -1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (n != (ssize_t)sizeof answer || answer.magic != ABI_PLAN_REQUEST_MAGIC)
		return -EPROTO;
	return answer.error > 0 ? -EPROTO : answer.error;
}

int request_plan(const char *session, const struct loaded *o, const char *path, int64_t until_ns)
{
	struct abi_plan_request *q = target_memory(sizeof *q);
	int fd, err = -ENOTCONN;

	if (!q)
		return -ENOMEM;
	*q = (struct abi_plan_request){ .magic = ABI_PLAN_REQUEST_MAGIC,
					.version = ABI_PLAN_VERSION,
					.build_id_bytes = o->build_id_bytes };
	memcpy(q->build_id, o->build_id, sizeof q->build_id);
	fd = compose(q->path, sizeof q->path, path, NULL) ? session_connect(session, until_ns) : -1;
	if (fd >= 0) {
		err = exchange_messages(fd, q, until_ns);
		syscall(SYS_close, fd);
	}
	munmap(q, sizeof *q);
	return err;
}
