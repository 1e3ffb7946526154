/* SPDX-License-Identifier: MIT */
/* torture/hostile/guest.c - see guest.h. */
#include "guest.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"
#include "abi/control.h"

const char *guest_directory;
uint64_t guest_seed;
const char *guest_name;

double guest_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t guest_any(void)
{
	uint64_t z = (guest_seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void guest_fill(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)p)[i] = (char)guest_any();
}

static bool has_connected(int fd, const char *session)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "%s/sock-%s", guest_directory, session);
	return !connect(fd, (struct sockaddr *)&a, sizeof a);
}

int guest_connection(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && !has_connected(fd, "default") && !has_connected(fd, "default.root")) {
		close(fd);
		return -1;
	}
	return fd;
}

int guest_join(uint64_t *size)
{
	struct abi_attach q = { .magic = ABI_ATTACH_MAGIC,
				.version = ABI_SESSION_MEMORY_VERSION,
				.pid = (uint32_t)guest_any() };
	struct abi_attach_answer answer;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { &answer, sizeof answer };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	int fd = guest_connection(), pool = -1;

	guest_fill(q.program, sizeof q.program);
	if (guest_name)
		snprintf(q.program, sizeof q.program, "%s", guest_name);
	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFL, 0);
	if (send(fd, &q, sizeof q, MSG_NOSIGNAL) == (ssize_t)sizeof q &&
	    recvmsg(fd, &m, 0) == (ssize_t)sizeof answer && CMSG_FIRSTHDR(&m))
		memcpy(&pool, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof pool);
	close(fd);
	*size = answer.size;
	return pool;
}
