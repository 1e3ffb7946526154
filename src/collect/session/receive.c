/* SPDX-License-Identifier: MIT */
/*
 * collect/session/receive.c - read one message of a connection: a program that joins, or a request.
 *
 * Anything else is closed without an answer.  Descriptors that a message passes are closed unless
 * the caller gets them.
 */
#include "collect/session/session.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/monotonic.h"

enum { GROW_MOST_NS = 1000000 }; /* a program that joins stands still meanwhile */

/* False if it is not received: a program does not wait forever, and asks again. */
static bool send_answer(const struct session *s, int fd, const struct ucred *peer, int error)
{
	struct abi_attach_answer a = { .magic = ABI_ATTACH_MAGIC,
				       .error = error,
				       .epoch = s->file.epoch,
				       .host_pid = (uint32_t)peer->pid,
				       .pid_namespace = s->pid_namespace,
				       .size = s->memory_size };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { &a, sizeof a };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (!error) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &s->memory_fd, sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof a;
}

/*
 * Receives a message and at most one descriptor.  Returns its size; 0 if it is too long; or -errno.
 */
static ssize_t receive(int fd, struct session_message *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { m->text, sizeof m->text - 1 };
	/*
	 * CMSG_LEN, not CMSG_SPACE: the padding would have room for a second descriptor, which
	 * would leak.
	 */
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&h);

	m->fd = fd;
	m->passed = -1;
	if (n < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&m->passed, CMSG_DATA(c), sizeof(int));
	m->text[n] = 0;
	return h.msg_flags & MSG_TRUNC ? 0 : n;
}

static bool is_same_user_or_root(uid_t uid, const struct ucred *peer)
{
	return peer->uid == uid || !peer->uid;
}

/*
 * The pools of a command begin small, and grow from then on.  A program that joins sooner may write
 * much in its first milliseconds, while this process waits for a CPU: it is answered a step later.
 * All of the memory would take 26 ms, which a program must not stand still.
 */
static void prepare_for_first(struct session *s)
{
	uint64_t end_ns = monotonic_ns() + GROW_MOST_NS;

	while (session_grow_memory(s) && monotonic_ns() < end_ns)
		;
}

static enum session_event answer_join(struct session *s, int fd, struct abi_attach *q,
				      const struct ucred *peer)
{
	bool joined =
		q->version == ABI_SESSION_MEMORY_VERSION && is_same_user_or_root(s->uid, peer);

	if (joined && s->on_join)
		s->on_join(s->on_join_arg, peer->pid);
	if (joined && !s->n_joined)
		prepare_for_first(s);
	joined &= send_answer(s, fd, peer, joined ? 0 : -EPROTO);
	q->program[sizeof q->program - 1] = 0;
	s->n_joined += joined;
	return joined ? SESSION_JOINED : SESSION_NOTHING;
}

enum session_event session_read_request(struct session *s, int i, struct session_message *m)
{
	int fd = s->connections[i].fd;
	struct ucred peer;
	socklen_t size = sizeof peer;
	ssize_t n = receive(fd, m);
	enum session_event e = SESSION_NOTHING;

	assert(i >= 0 && i < SESSION_CONNECTIONS && fd >= 0);
	if (n == -EAGAIN || n == -EINTR) {
		s->connections[i].has_sent = n == -EINTR;
		return SESSION_NOTHING;
	}
	session_turn_ended(s, i);
	if (n > 0 && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		if (n == (ssize_t)sizeof m->join && m->join.magic == ABI_ATTACH_MAGIC)
			e = answer_join(s, fd, &m->join, &peer);
		else if (n == (ssize_t)sizeof m->plan && m->plan.magic == ABI_PLAN_REQUEST_MAGIC &&
			 is_same_user_or_root(s->uid, &peer))
			e = SESSION_WANTS_PLAN;
		else if (m->text[0] == '{' && s->connections[i].may_ask &&
			 is_same_user_or_root(geteuid(), &peer))
			e = SESSION_ASKED;
		m->pid = peer.pid;
	}
	if (e != SESSION_ASKED && m->passed >= 0)
		close(m->passed);
	if (e == SESSION_ASKED || e == SESSION_WANTS_PLAN) {
		s->connections[i].fd = -1; /* the caller owns it now */
		return e;
	}
	session_close_connection(s, i);
	return e;
}
