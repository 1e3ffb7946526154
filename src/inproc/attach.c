/* SPDX-License-Identifier: MIT */
/*
 * inproc/attach.c - map the memory of a session, at registration or on the first event.
 *
 * It takes one request and one answer on the collector's socket.  The answer passes the descriptor
 * of the memory, which is closed after the mapping.  Several threads and handlers may do this at
 * once: each makes its own mapping, one is installed, the others are dropped.  None waits for
 * another.
 *
 * Neither side trusts the other.  The socket must belong to us or to root.  The memory must be
 * sealed against shrinking, else its owner could turn our stores into SIGBUS.  The pool must be
 * sound, and its clock readable here: no event is better than one at a wrong time.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "inproc/page.h"
#include "inproc/process.h"
#include "ring/drift.h"

/* The first answer may be late on a busy machine, and waiting for it loses no event.  After a
 * timeout the next waits are shorter: if the collector is stopped, they take a fifth of the
 * program's time. */
enum { FIRST_US = 1000000, AGAIN_US = 250000, RETRY_NS = 1000000000 };
enum { NO_UID = 65534 }; /* Linux's default, in /proc/sys/kernel/overflowuid */

/* After a failure no attempt is made for a while, so that a dead collector costs little.  The next
 * session in the slot has another epoch, so it is tried at once. */
static struct {
	uint64_t epoch;
	int64_t next_try_ns;
	uint64_t timed_out;	  /* the epoch of a session that did not answer in time */
	uint64_t timed_out_early; /* the same at registration, where signals wait too: the timeout
				  is shorter */
} failed[ABI_SESSIONS];

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

/* The same by the kernel: few programs have read a clock when they start, and the vDSO would cost them
 * two pages.  Not where a sandbox may forbid system calls. */
static int64_t kernel_coarse_ns(void)
{
	struct timespec t = { 0 };

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* At least 1 us, as setsockopt takes 0 for no limit. */
static struct timeval time_left(int64_t until_ns)
{
	int64_t us = (until_ns - kernel_coarse_ns()) / 1000;

	us = us < 1 ? 1 : us;
	return (struct timeval){ .tv_sec = us / 1000000, .tv_usec = us % 1000000 };
}

static int connect_at(const struct sockaddr_un *a, int64_t until_ns, struct ucred *peer)
{
	struct timeval limit = time_left(until_ns);
	socklen_t n = sizeof *peer;
	int fd, err;

	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	do
		err = (int)syscall(SYS_connect, fd, a, sizeof *a);
	while (err && was_interrupted(until_ns));
	if (!err && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &n))
		return fd;
	syscall(SYS_close, fd);
	return -1;
}

/*
 * A collector outside our user namespace has no uid in it, and appears with an overflow uid that
 * many share.  Then the directory is the proof: it is ours and closed, so only we and users with
 * power over us can have put a socket there.  It is opened and checked, and the socket is reached
 * through it and by no other path.
 */
static int connect_within(const char *file, int64_t until_ns, struct ucred *peer)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int dir = runtime_dir_open_at(process.directory, false), fd = -1;
	char digits[DECIMAL_BYTES];

	if (dir < 0)
		return -1;
	if (compose(a.sun_path, sizeof a.sun_path, "/proc/self/fd/", decimal(digits, (uint32_t)dir),
		    "/", file, NULL))
		fd = connect_at(&a, until_ns, peer);
	syscall(SYS_close, dir);
	return fd;
}

int session_connect(const char *name, int64_t until_ns)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char file[ABI_NAME_BYTES + 8];
	struct ucred peer = { .pid = 0 };
	int fd;

	compose(file, sizeof file, "sock-", name, NULL);
	if (!runtime_file(a.sun_path, sizeof a.sun_path, file))
		return -1;
	fd = connect_at(&a, until_ns, &peer);
	if (fd < 0 || peer.uid == 0 || peer.uid == geteuid())
		return fd;
	syscall(SYS_close, fd);
	fd = peer.uid == NO_UID ? connect_within(file, until_ns, &peer) : -1;
	if (fd < 0 || peer.uid == NO_UID)
		return fd;
	syscall(SYS_close, fd);
	return -1;
}

/* The descriptor passed with @m, or -1. */
static int passed_descriptor(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* Requests the memory of session @name; returns the connection, on which the answer comes, or -1. */
static int request_memory(const char *name, int64_t until_ns)
{
	struct abi_attach q = { .magic = ABI_ATTACH_MAGIC, .version = ABI_SESSION_MEMORY_VERSION };
	int fd = session_connect(name, until_ns);
	ssize_t n;

	if (fd < 0)
		return -1;
	if (process.control) {
		q.pid = process.control->pid;
		memcpy(q.program, process.control->program, sizeof q.program);
	} else {
		q.pid = process.pid;
		page_program(q.program);
	}
	do
		n = syscall(SYS_sendto, fd, &q, sizeof q, MSG_NOSIGNAL, NULL, 0);
	while (n < 0 && was_interrupted(until_ns));
	if (n == (ssize_t)sizeof q)
		return fd;
	syscall(SYS_close, fd);
	return -1;
}

/* Waits for the answer on @fd; returns the descriptor of the memory or -1. */
static int receive_memory(int fd, struct abi_attach_answer *answer, int64_t until_ns)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { answer, sizeof *answer };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) }; /* one, not two */
	struct timeval limit = time_left(until_ns);
	ssize_t n;
	int pool;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	do
		n = syscall(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && was_interrupted(until_ns));
	if (n != (ssize_t)sizeof *answer)
		return -1;
	pool = passed_descriptor(&m);
	if (pool >= 0 && (answer->magic != ABI_ATTACH_MAGIC || answer->error)) {
		syscall(SYS_close, pool);
		return -1;
	}
	return pool;
}

static bool is_sealed(int fd, uint64_t size)
{
	struct stat st;
	int seals = (int)syscall(SYS_fcntl, fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !syscall(SYS_fstat, fd, &st) &&
	       st.st_size > 0 && (uint64_t)st.st_size >= size;
}

static void drop(struct session *s)
{
	if (!s)
		return;
	if (s->memory)
		munmap(s->memory, s->memory_size);
	munmap(s, sizeof *s);
}

static struct session *new_session(uint32_t session_slot)
{
	struct session *s =
		mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->current = &process.control->session_slots[session_slot].epoch;
	s->session_slot = session_slot;
	return s;
}

static void identify(struct session *s, uint64_t epoch, uint32_t pid_namespace)
{
	s->word = ABI_ENABLES(ABI_GENERATION(epoch), s->session_slot);
	s->epoch = epoch;
	s->pid_namespace = pid_namespace;
}

static bool map_session(struct session *s, int fd, const struct abi_attach_answer *a)
{
	void *memory;

	if (!is_sealed(fd, a->size))
		return false;
	identify(s, a->epoch, a->pid_namespace);
	memory = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		store(&process.control->loss,
		      errno == EAGAIN ? ABI_LOSS_LOCKED : ABI_LOSS_ADDRESSES);
		return false;
	}
	s->memory = memory;
	s->memory_size = a->size;
	madvise(memory, a->size, MADV_DONTDUMP); /* not the program's own memory; hundreds of MiB */
	return session_open_channels(s, fd, a->host_pid);
}

void session_stop_clock(struct session *s)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		pool_stop_clock(&s->channels[i].pool);
}

/* While the answer is awaited, the session gets the pages that attaching and the first event will write:
 * three of five.  A fault for each takes less than MADV_POPULATE_WRITE of all. */
static struct session *new_session_early(uint32_t session_slot)
{
	struct session *s = new_session(session_slot);

	if (s) {
		store(&s->channels[0].ids[0], 0);
		store(&s->channels[1].contexts, 0);
	}
	return s;
}

/* The connection with a request; consumes it. */
static struct session *attach_on(int fd, uint32_t session_slot, int64_t until_ns)
{
	struct abi_attach_answer answer;
	struct session *s = NULL;
	int pool = -1;

	if (fd >= 0) {
		s = new_session_early(session_slot);
		pool = receive_memory(fd, &answer, until_ns);
		syscall(SYS_close, fd);
	}
	if (pool < 0)
		store(&process.control->loss, ABI_LOSS_ANSWER);
	if (s && (pool < 0 || !map_session(s, pool, &answer))) {
		drop(s);
		s = NULL;
	}
	if (pool >= 0)
		syscall(SYS_close, pool);
	return s;
}

/* The request that was sent at the start of the program. */
static struct {
	uint64_t epoch; /* 0: there is none */
	int64_t until_ns;
	int fd;
} expected;

static struct session *attach(const char *name, uint32_t session_slot, int64_t until_ns)
{
	if (!*name || strchr(name, '/'))
		return NULL;
	return attach_on(request_memory(name, until_ns), session_slot, until_ns);
}

static struct session *attach_as_expected(uint32_t session_slot)
{
	expected.epoch = 0;
	return attach_on(expected.fd, session_slot, expected.until_ns);
}

static bool has_epoch(const struct session *s, uint64_t epoch)
{
	return s && s->epoch == epoch;
}

/* A process with an inherited mapping can do without an answer. */
static int64_t answer_timeout_ns(uint32_t session_slot, uint64_t epoch)
{
	bool again = load(&failed[session_slot].timed_out) == epoch ||
		     load(&process.inherited[session_slot]);

	return (again ? AGAIN_US : FIRST_US) * 1000ll;
}

static bool has_just_failed(uint32_t session_slot, uint64_t epoch)
{
	return load(&failed[session_slot].epoch) == epoch &&
	       coarse_ns() < load(&failed[session_slot].next_try_ns);
}

static void record_timeout(uint64_t *of, uint64_t epoch, int64_t begin_ns)
{
	if (coarse_ns() - begin_ns >= AGAIN_US * 1000ll)
		store(of, epoch);
}

static void record_failure(uint32_t session_slot, uint64_t epoch, int64_t begin_ns)
{
	record_timeout(&failed[session_slot].timed_out, epoch, begin_ns);
	store(&failed[session_slot].next_try_ns, coarse_ns() + RETRY_NS);
	store(&failed[session_slot].epoch, epoch);
}

/* @is_early: under process_lock, which guards `expected`. */
static struct session *obtain(const char *name, uint32_t session_slot, uint64_t epoch,
			      int64_t for_ns, bool is_early)
{
	struct session **place = &process.sessions[session_slot], *have = load_acquire(place),
		       *s; /* [J] */

	if (has_epoch(have, epoch))
		return have;
	if (!process_has_clock()) {
		store(&process.control->dormant, ABI_DORMANT_CLOCK);
		store(&process.control->loss, ABI_LOSS_CLOCK);
		return NULL;
	}
	s = is_early && expected.epoch == epoch ? attach_as_expected(session_slot)
						: attach(name, session_slot, coarse_ns() + for_ns);
	if (!s)
		return NULL;
	s->before = have;
	/* [J] A whole session, then the pointer.  An old one stays mapped: other threads may be in
	 * it. */
	if (s->epoch == epoch && compare_exchange(place, &have, s))
		return s;
	drop(s);
	return has_epoch(have, epoch) ? have : NULL;
}

/* Reads the seats again: the collector has written its epoch into the page from outside, but no
 * name. */
static struct session *obtain_by_session_slot(uint32_t session_slot, uint64_t epoch)
{
	struct abi_session_slots session_slots;

	if (!runtime_session_slots(&session_slots, -1) ||
	    session_slots.at[session_slot].epoch != epoch)
		return NULL;
	return obtain(session_slots.at[session_slot].session, session_slot, epoch,
		      answer_timeout_ns(session_slot, epoch), false);
}

/*
 * A child that cannot attach continues in the mapping that it inherited.  As owner of chunks it
 * uses its pid, if that has the same meaning for the collector, else 0.  If an owner 0 is killed,
 * its chunk stays out of use until the session ends; but the collector never takes a chunk from it
 * while it writes.
 */
static struct session *adopt(uint32_t session_slot, uint64_t epoch, bool sandboxed)
{
	struct session *s = load_acquire(&process.inherited[session_slot]), *none = NULL;
	uint32_t ns = sandboxed ? 0 : runtime_pid_namespace();

	if (!has_epoch(s, epoch) || !compare_exchange(&process.inherited[session_slot], &s, NULL))
		return NULL;
	if (!session_open_channels(s, -1, ns && ns == s->pid_namespace ? process.pid : 0))
		return NULL;
	s->current = &process.control->session_slots[session_slot].epoch;
	return compare_exchange(&process.sessions[session_slot], &none, s) ? s : NULL;
}

struct session *session_current(uint32_t session_slot, uint64_t epoch)
{
	struct session *have = load_acquire(&process.sessions[session_slot]),
		       *s; /* pairs with [J] */
	int64_t begin_ns;
	bool sandboxed;

	if (has_epoch(have, epoch))
		return have;
	if (has_just_failed(session_slot, epoch))
		return NULL;
	begin_ns = coarse_ns();
	sandboxed = process_is_sandboxed();
	s = sandboxed ? NULL : obtain_by_session_slot(session_slot, epoch);
	if (!s)
		s = adopt(session_slot, epoch, sandboxed);
	if (s)
		return s;
	if (sandboxed) {
		store(&process.control->dormant, ABI_DORMANT_SECCOMP);
		store(&process.control->loss, ABI_LOSS_SECCOMP);
	}
	record_failure(session_slot, epoch, begin_ns);
	return NULL;
}

struct session *session_attach_now(const struct abi_session *f)
{
	bool is_expected = expected.epoch == f->epoch; /* its wait began with the request */
	int64_t begin_ns = is_expected ? expected.until_ns - AGAIN_US * 1000ll : coarse_ns();
	struct session *s;

	if (!process_may_call())
		return NULL;
	s = obtain(f->name, f->session_slot, f->epoch, AGAIN_US * 1000ll, true);
	if (!s)
		record_timeout(&failed[f->session_slot].timed_out_early, f->epoch, begin_ns);
	return s;
}

struct session *session_attach_early(const struct abi_session *f)
{
	if (load(&failed[f->session_slot].timed_out_early) == f->epoch ||
	    has_just_failed(f->session_slot, f->epoch))
		return NULL;
	return session_attach_now(f);
}

void session_request_early(const struct abi_session *f)
{
	int64_t begin_ns = kernel_coarse_ns();
	int fd;

	if (!*f->name || strchr(f->name, '/') || !process_has_clock())
		return;
	expected.until_ns = begin_ns + AGAIN_US * 1000ll;
	fd = request_memory(f->name, expected.until_ns);
	if (fd < 0) {
		record_timeout(&failed[f->session_slot].timed_out_early, f->epoch, begin_ns);
		return;
	}
	expected.fd = fd;
	expected.epoch = f->epoch;
}

void session_expect_none(uint64_t epoch)
{
	if (!expected.epoch || (epoch && epoch != expected.epoch))
		return;
	syscall(SYS_close, expected.fd);
	expected.epoch = 0;
}

/* A second mapping of the session that the parent has attached in that slot. */
static struct session *inherit(uint32_t session_slot, const struct session *from)
{
	void *memory = mremap(from->memory, 0, from->memory_size, MREMAP_MAYMOVE);
	struct session *s;

	if (memory == MAP_FAILED)
		return NULL;
	s = new_session(session_slot);
	if (!s) {
		munmap(memory, from->memory_size);
		return NULL;
	}
	identify(s, from->epoch, from->pid_namespace);
	s->memory = memory;
	s->memory_size = from->memory_size;
	return s;
}

void sessions_inherit(void)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		if (!process.sessions[i])
			continue;
		if (process.inherited[i])
			drop(process.inherited[i]); /* of a grandparent: our parent could attach */
		process.inherited[i] = inherit(i, process.sessions[i]);
	}
}

void sessions_forget(void)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		for (struct session *s = exchange(&process.sessions[i], NULL); s; s = s->before)
			store(&s->word, SESSION_OVER);
}

static void detach(const struct session *s)
{
	mmap(s->memory, s->memory_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void sessions_detach(void)
{
	if (process.has_detached)
		return; /* the parent did, and has not recorded since */
	sessions_inherit();
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		for (struct session *s = process.sessions[i]; s; s = s->before) {
			detach(s);
			process.has_detached = true;
		}
}
