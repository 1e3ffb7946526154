/* SPDX-License-Identifier: MIT */
/*
 * inproc/join.c - obtaining the session's pool, on the first event.
 *
 * One question and one answer over the collector's socket, with the pool's descriptor; the descriptor
 * is closed again at once.  Several threads and handlers may do it at the same time: each makes its
 * own mapping, one is installed, the others are dropped.  Nobody waits for anybody.
 *
 * Neither side trusts the other: the socket must belong to us or to root, the memory must be sealed
 * against shrinking (else its owner could turn our stores into SIGBUS), the pool must be sound, and
 * its clock one that we can read: no event is better than one at a wrong time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/runtime.h"
#include "clock/clock.h"
#include "inproc/process.h"

enum { TIMEOUT_US = 500000, EARLY_TIMEOUT_US = 100000, RETRY_NS = 1000000000 };

/* Fails for a while after a failure, so that a dead collector costs little. */
static int64_t next_try_ns;

static int64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A program may have a timer that is faster than the collector: a signal does not end the wait. */
static bool was_interrupted(int64_t until_ns)
{
	return errno == EINTR && coarse_ns() < until_ns;
}

static int connect_to(const char *name, long timeout_us, int64_t until_ns)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_usec = timeout_us };
	char file[ABI_NAME_BYTES + 8];
	struct ucred peer;
	socklen_t n = sizeof peer;
	int fd, err;

	snprintf(file, sizeof file, "sock-%s", name);
	if (!runtime_path(a.sun_path, sizeof a.sun_path, file))
		return -1;
	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	do
		err = (int)syscall(SYS_connect, fd, &a, sizeof a);
	while (err && was_interrupted(until_ns));
	if (!err && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	    (peer.uid == 0 || peer.uid == geteuid()))
		return fd;
	syscall(SYS_close, fd);
	return -1;
}

/* The descriptor that came with @m, or -1. */
static int passed_descriptor(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* Asks on @fd; returns the pool's descriptor or -1. */
static int ask(int fd, struct abi_join_answer *answer, int64_t until_ns)
{
	struct abi_join q = { .magic = ABI_JOIN_MAGIC, .version = ABI_POOL_VERSION };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { answer, sizeof *answer };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) }; /* one, not two */
	ssize_t n;
	int pool;

	q.pid = process.control->pid;
	memcpy(q.program, process.control->program, sizeof q.program);
	do
		n = syscall(SYS_sendto, fd, &q, sizeof q, MSG_NOSIGNAL, NULL, 0);
	while (n < 0 && was_interrupted(until_ns));
	if (n != (ssize_t)sizeof q)
		return -1;
	do
		n = syscall(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && was_interrupted(until_ns));
	if (n != (ssize_t)sizeof *answer)
		return -1;
	pool = passed_descriptor(&m);
	if (pool >= 0 && (answer->magic != ABI_JOIN_MAGIC || answer->error)) {
		syscall(SYS_close, pool);
		return -1;
	}
	return pool;
}

static bool is_sealed(int fd, uint64_t size)
{
	struct stat st;
	int seals = (int)syscall(SYS_fcntl, fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(fd, &st) && st.st_size > 0 &&
	       (uint64_t)st.st_size >= size;
}

static void drop(struct session *s)
{
	if (s->memory)
		munmap(s->memory, s->memory_size);
	munmap(s, sizeof *s);
}

static struct session *map_session(int pool, const struct abi_join_answer *a)
{
	struct session *s;
	void *memory;

	if (!is_sealed(pool, a->pool_size))
		return NULL;
	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	memory = mmap(NULL, a->pool_size, PROT_READ | PROT_WRITE, MAP_SHARED, pool, 0);
	s->memory = memory == MAP_FAILED ? NULL : memory;
	s->memory_size = a->pool_size;
	s->epoch = a->epoch;
	if (s->memory && !pool_attach(&s->pool, s->memory, s->memory_size, a->host_pid) &&
	    clock_is_readable(&s->pool.clock))
		return s;
	drop(s);
	return NULL;
}

static struct session *join(const char *name, long timeout_us)
{
	int64_t until_ns = coarse_ns() + timeout_us * 1000ll;
	struct abi_join_answer answer;
	struct session *s = NULL;
	int fd = connect_to(name, timeout_us, until_ns), pool;

	if (fd < 0)
		return NULL;
	pool = ask(fd, &answer, until_ns);
	syscall(SYS_close, fd);
	if (pool < 0)
		return NULL;
	s = map_session(pool, &answer);
	syscall(SYS_close, pool);
	return s;
}

static struct session *obtain(uint32_t epoch, long timeout_us)
{
	struct session *have = load_acquire(&process.session), *s; /* pairs with [J] */
	char name[ABI_NAME_BYTES];

	if (have && have->epoch == epoch)
		return have;
	memcpy(name, process.control->session, sizeof name);
	name[sizeof name - 1] = 0;
	s = name[0] && !strchr(name, '/') ? join(name, timeout_us) : NULL;
	if (!s)
		return NULL;
	/* [J] A whole session, then the pointer.  An old one stays mapped: others may be in it. */
	if (s->epoch == epoch && compare_exchange(&process.session, &have, s))
		return s;
	drop(s);
	return have && have->epoch == epoch ? have : NULL;
}

struct session *session_current(uint32_t epoch)
{
	struct session *have = load_acquire(&process.session), *s; /* pairs with [J] */

	if (have && have->epoch == epoch)
		return have;
	if (coarse_ns() < __atomic_load_n(&next_try_ns, __ATOMIC_RELAXED) || !process_may_call())
		return NULL;
	s = obtain(epoch, TIMEOUT_US);
	if (!s)
		store(&next_try_ns, coarse_ns() + RETRY_NS);
	return s;
}

struct session *session_join_early(uint32_t epoch)
{
	return process_may_call() ? obtain(epoch, EARLY_TIMEOUT_US) : NULL;
}
