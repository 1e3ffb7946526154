/* SPDX-License-Identifier: MIT */
/*
 * collect/session/accept.c - a session's connections, and the order in which they are served: see
 * session.h.
 *
 * A client is a process.  Its requests queue behind each other: the first one joins the current or
 * the next round, each further one the round after that.  Rounds are served in order, and within a
 * round the earliest request first.  So a client with many connections gets at most one request
 * served between two requests of any other client (fair queueing: Nagle, RFC 970, 1985).
 *
 * There are more connection slots than the socket's backlog holds; otherwise a crowd would wait in
 * the backlog, in its own order.  The lowest free one is taken, and each turn of the loop looks only
 * below `n_places`: all from there on are free.  Looking at all of them cost a wake-up 40 KiB of cold
 * memory.
 */
#include "collect/session/session.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"

#define CONNECTION_TIMEOUT_NS 1000000000u
enum { FILES = 512 }; /* descriptors for other purposes, where there are many */

/* Returns the oldest connection without unread data, which may be replaced; or -1. */
static int find_silent(const struct session *s)
{
	struct pollfd p[SESSION_CONNECTIONS];
	int at[SESSION_CONNECTIONS], found = -1;
	nfds_t n = 0;

	/* Only those: poll(2) refuses more entries than a process may have descriptors. */
	for (int i = 0; i < s->n_places; i++)
		if (s->connections[i].fd >= 0) {
			at[n] = i;
			p[n++] = (struct pollfd){ .fd = s->connections[i].fd, .events = POLLIN };
		}
	if (poll(p, n, 0) < 0)
		return -1;
	for (nfds_t k = 0; k < n; k++)
		if (!p[k].revents &&
		    (found < 0 || s->connections[at[k]].since_ns < s->connections[found].since_ns))
			found = at[k];
	return found;
}

/*
 * Half of the descriptors of a process with few: streams need the other half.  Where there are many it
 * is all slots.
 */
static int most_connections(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= SESSION_CONNECTIONS + FILES)
		return SESSION_CONNECTIONS;
	return files.rlim_cur > 2 ? (int)files.rlim_cur / 2 : 1;
}

/*
 * A free slot, or the oldest silent connection, so that silent clients do not keep others out.  -1:
 * all have data to read first.
 */
static int find_connection(const struct session *s)
{
	int n = 0, free_slot = -1;

	for (int i = 0; i < s->n_places; i++) {
		n += s->connections[i].fd >= 0;
		if (s->connections[i].fd < 0 && free_slot < 0)
			free_slot = i;
	}
	if (free_slot < 0 && s->n_places < SESSION_CONNECTIONS)
		free_slot = s->n_places;
	/* The first is always taken, without a question: a program waits for it. */
	return free_slot >= 0 && (!n || n < most_connections()) ? free_slot : find_silent(s);
}

static pid_t client_of(int fd)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
}

/*
 * Without descriptors: a silent connection goes, or the ones that wait to be accepted; the driver calls
 * again for the rest.
 */
static void make_room(struct session *s)
{
	int i = find_silent(s);

	if (i >= 0)
		session_close_connection(s, i);
	else if (s->client_fd < 0 || !io_turn_away(&s->spare_fd, s->client_fd))
		io_turn_away(&s->spare_fd, s->listen_fd);
}

int session_accept(struct session *s, uint64_t now_ns)
{
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int i = find_connection(s),
	    fd = i < 0 || s->client_fd < 0 ? -1 : accept4(s->client_fd, NULL, NULL, flags);
	bool may_ask = fd >= 0 || !s->tenant;

	if (fd < 0 && i >= 0)
		fd = accept4(s->listen_fd, NULL, NULL, flags);
	if (fd < 0 && i >= 0 && io_lacks_descriptors(errno))
		make_room(s);
	if (fd < 0)
		return -1;
	if (s->connections[i].fd >= 0)
		close(s->connections[i].fd);
	s->n_places = i < s->n_places ? s->n_places : i + 1;
	s->connections[i] = (struct connection){
		.fd = fd, .may_ask = may_ask, .client = client_of(fd), .since_ns = now_ns
	};
	session_readable(s, i); /* a client sends at once after it connects */
	return i;
}

void session_readable(struct session *s, int i)
{
	struct connection *connection = &s->connections[i];
	uint64_t round = s->round;

	assert(i >= 0 && i < SESSION_CONNECTIONS);
	if (connection->fd < 0 || connection->has_sent)
		return;
	for (int k = 0; k < s->n_places; k++)
		if (s->connections[k].fd >= 0 && s->connections[k].has_sent &&
		    s->connections[k].client == connection->client &&
		    s->connections[k].round >= round)
			round = s->connections[k].round + 1;
	connection->round = round;
	connection->order = s->next_order++;
	connection->has_sent = true;
}

static bool is_before(const struct connection *a, const struct connection *b)
{
	return a->round != b->round ? a->round < b->round : a->order < b->order;
}

int session_next(const struct session *s)
{
	int found = -1;

	for (int i = 0; i < s->n_places; i++)
		if (s->connections[i].fd >= 0 && s->connections[i].has_sent &&
		    (found < 0 || is_before(&s->connections[i], &s->connections[found])))
			found = i;
	return found;
}

void session_turn_ended(struct session *s, int i)
{
	assert(i >= 0 && i < SESSION_CONNECTIONS);
	if (s->connections[i].round > s->round)
		s->round = s->connections[i].round;
}

void session_close_connection(struct session *s, int i)
{
	assert(s->connections[i].fd >= 0);
	close(s->connections[i].fd);
	s->connections[i].fd = -1;
}

void session_close_connections(struct session *s)
{
	for (int i = 0; i < s->n_places; i++)
		if (s->connections[i].fd >= 0)
			session_close_connection(s, i);
}

static bool is_silent(const struct connection *connection)
{
	struct pollfd p = { .fd = connection->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

void session_expire(struct session *s, uint64_t now_ns)
{
	for (int i = 0; i < s->n_places; i++)
		if (s->connections[i].fd >= 0 &&
		    now_ns - s->connections[i].since_ns > CONNECTION_TIMEOUT_NS &&
		    is_silent(&s->connections[i]))
			session_close_connection(s, i);
	while (s->n_places && s->connections[s->n_places - 1].fd < 0)
		s->n_places--;
}
