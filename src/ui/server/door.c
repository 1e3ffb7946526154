/* SPDX-License-Identifier: MIT */
/*
 * ui/server/door.c - connections from their begin: accepted, held until their first head is whole, and
 * handed to libmicrohttpd; later their end is watched, and cancels their request.
 *
 * The head is looked at and left in the socket (MSG_PEEK), so libmicrohttpd reads all of it.  Bytes
 * that are no request are refused here, with the headers that every answer has; libmicrohttpd would
 * refuse them without.  This thread ends the server too.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "ui/server/head.h"
#include "ui/server/internal.h"

enum { EVENTS_MAX = 64, TICK_MS = 1000, ACCEPTS_MAX = 16, NAP_NS = 10000000 };

/* An event's data: the life of a connection above its descriptor; 0 for other descriptors. */
static uint64_t data_of(int fd, uint32_t life)
{
	return (uint64_t)life << 32 | (uint32_t)fd;
}

static int watch(struct ui_server *s, int fd, uint32_t life, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = data_of(fd, life) };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int door_open(struct ui_server *s, struct diag *d)
{
	int err;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->spare = io_spare();
	if (s->epoll < 0 || s->stop_event < 0 || s->spare < 0)
		return diag_errno(d, "cannot wait for connections");
	err = watch(s, s->stop_event, 0, EPOLLIN);
	for (int i = 0; i < s->n_listeners && !err; i++)
		err = watch(s, s->listeners[i], 0, EPOLLIN);
	return err ? diag_fail(d, err, "cannot wait for connections: %s", strerror(-err)) : 0;
}

static void drop(struct ui_server *s, int fd)
{
	link_remove(&s->links, fd);
	close(fd);
}

/* ---------------------------------------------------------------- at the door */

static void hand_on(struct ui_server *s, int fd, uint32_t life)
{
	struct epoll_event e = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = data_of(fd, life) };
	struct sockaddr_storage from;
	socklen_t size = sizeof from;

	if (getpeername(fd, (struct sockaddr *)&from, &size) ||
	    epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &e)) {
		drop(s, fd);
		return;
	}
	link_set_state(&s->links, fd, LINK_HTTP);
	if (MHD_add_connection(s->http, fd, (struct sockaddr *)&from, size) != MHD_YES)
		link_remove(&s->links, fd); /* it has closed it */
}

/* All that still comes is read, else the kernel takes the answer back with a reset. */
static void refuse(struct ui_server *s, int fd, int status)
{
	char answer[1024];
	size_t size = answer_refusal(status, answer, sizeof answer);

	send(fd, answer, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fd, SHUT_WR);
	link_set_state(&s->links, fd, LINK_DRAIN);
}

static void drain(struct ui_server *s, int fd)
{
	char bytes[16384];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		;
	if (!n || (errno != EAGAIN && errno != EINTR))
		drop(s, fd);
}

static void look_at_head(struct ui_server *s, int fd, uint32_t life, bool is_ended)
{
	static char bytes[HEAD_MAX]; /* of the one thread of the door */
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
	int status;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(s, fd);
		return;
	}
	status = head_check(bytes, (size_t)n);
	if (status == HEAD_IS_WHOLE) {
		hand_on(s, fd, life);
	} else if (status == HEAD_IS_PART && is_ended) {
		drop(s, fd);
	} else if (status != HEAD_IS_PART) {
		refuse(s, fd, status);
		drain(s, fd);
	}
}

/* ---------------------------------------------------------------- events */

static void take_in(struct ui_server *s, int fd)
{
	const int on = 1;
	uint32_t life = link_add(&s->links, fd);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (!life)
		close(fd);
	else if (watch(s, fd, life, EPOLLIN | EPOLLRDHUP | EPOLLET))
		drop(s, fd);
	else if (s->access.is_beyond) /* its head is encrypted */
		hand_on(s, fd, life);
}

/*
 * The process lacks descriptors.  Another thread may have taken the spare one while it was given up; then
 * the connections wait, and epoll reports them again and again: so we wait a little.  False: we did.
 */
static bool turn_away(struct ui_server *s, int listener)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	io_turn_away(&s->spare, listener);
	if (s->spare >= 0)
		return true;
	nanosleep(&nap, NULL);
	return false;
}

static void accept_some(struct ui_server *s, int listener)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			take_in(s, fd);
		else if (io_lacks_descriptors(errno) ? !turn_away(s, listener)
						     : errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void look_after(struct ui_server *s, int fd, uint32_t life, uint32_t events)
{
	const uint32_t end = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

	switch (link_state(&s->links, fd, life)) {
	case LINK_HEAD:
		look_at_head(s, fd, life, events & end);
		break;
	case LINK_DRAIN:
		drain(s, fd);
		break;
	case LINK_HTTP:
		if (events & end)
			link_gone(&s->links, fd, life);
		break;
	case LINK_NONE:
		break;
	}
}

static bool is_over(struct ui_server *s)
{
	if (links_are_busy(&s->links))
		atomic_store(&s->last_request_ns, monotonic_ns());
	uint64_t last_ns = atomic_load(
		&s->last_request_ns); /* first: another thread may make it later than now */

	return s->o.idle_ns && monotonic_ns() - last_ns > s->o.idle_ns;
}

/* Returns whether the server shall end. */
static bool handle(struct ui_server *s, const struct epoll_event *e)
{
	int fd = (int)(uint32_t)e->data.u64;
	uint32_t life = (uint32_t)(e->data.u64 >> 32);

	if (life)
		look_after(s, fd, life, e->events);
	else if (fd != s->stop_event)
		accept_some(s, fd);
	return !life && fd == s->stop_event;
}

int door_run(struct ui_server *s, struct diag *d)
{
	struct epoll_event events[EVENTS_MAX];

	while (!is_over(s)) {
		int n = epoll_wait(s->epoll, events, EVENTS_MAX, TICK_MS);

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "cannot wait for connections");
		for (int i = 0; i < n; i++)
			if (handle(s, &events[i]))
				return 0;
		links_check(&s->links);
	}
	return 0;
}

void door_close(struct ui_server *s)
{
	const int own[] = { s->epoll, s->stop_event, s->spare };

	for (int fd = 0; fd < s->links.end; fd++) {
		enum link_state state = s->links.at[fd].state;

		if (state == LINK_HEAD || state == LINK_DRAIN)
			close(fd);
	}
	for (int i = 0; i < 3; i++)
		if (own[i] >= 0)
			close(own[i]);
}
