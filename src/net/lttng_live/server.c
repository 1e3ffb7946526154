/* SPDX-License-Identifier: MIT */
/* net/lttng_live/server.c - accepts viewers, reads their commands and writes the answers. */
#include "net/lttng_live/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "net/lttng_live/protocol.h"

enum { VIEWERS = 64, LISTENERS = 8, EVENTS = 16, READ_BYTES = 512, TURNS = 64 };

struct viewer {
	int fd; /* -1: the slot is free */
	bool waits_to_write;
	uint64_t last_read_ns;
	struct live_connection connection;
};

struct live_server {
	struct live_files files;
	bool from_begin;
	int epoll;
	int listeners[LISTENERS];
	int n_listeners;
	int spare; /* io_turn_away() */
	struct viewer viewers[VIEWERS];
	int most_viewers; /* of them */
	uint64_t n_late, n_refused;
};

static void drop(struct live_server *s, struct viewer *v)
{
	s->n_refused += v->connection.is_over;
	s->n_late += v->connection.n_late;
	live_connection_fini(&v->connection);
	close(v->fd);
	v->fd = -1;
}

/* Half of the descriptors of a process with few: the files of recordings need the other half. */
static int most_viewers(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 2 >= VIEWERS)
		return VIEWERS;
	return files.rlim_cur > 2 ? (int)files.rlim_cur / 2 : 1;
}

/* A free slot; else that of the viewer that has not sent CONNECT, or has been silent longest. */
static struct viewer *find_slot(struct live_server *s)
{
	struct viewer *oldest = NULL;

	for (int i = 0; i < s->most_viewers; i++) {
		struct viewer *v = &s->viewers[i];

		if (v->fd < 0)
			return v;
		if (!oldest || v->connection.has_connected < oldest->connection.has_connected ||
		    (v->connection.has_connected == oldest->connection.has_connected &&
		     v->last_read_ns < oldest->last_read_ns))
			oldest = v;
	}
	s->n_refused++;
	drop(s, oldest);
	return oldest;
}

static void accept_viewer(struct live_server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event e = { .events = EPOLLIN };
	struct viewer *v;

	if (fd < 0 && io_lacks_descriptors(errno))
		io_turn_away(&s->spare, listener);
	if (fd < 0)
		return;
	v = find_slot(s);
	e.data.u32 = (uint32_t)(v - s->viewers);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e)) {
		close(fd);
		return;
	}
	*v = (struct viewer){ .fd = fd, .last_read_ns = monotonic_ns() };
	v->connection.files = &s->files;
	v->connection.from_begin = s->from_begin;
}

/* Returns false if the viewer is gone. */
static bool write_some(struct viewer *v)
{
	struct live_connection *c = &v->connection;

	while (c->out.size) {
		ssize_t n = send(v->fd, c->out.bytes + c->n_sent, c->out.size - c->n_sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		live_connection_sent(c, (size_t)n);
	}
	return true;
}

/* Commands are read with MSG_PEEK: those that wait for an earlier answer stay in the socket. */
static bool read_some(struct viewer *v)
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = recv(v->fd, bytes, sizeof bytes, MSG_PEEK);
	uint32_t taken;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	v->last_read_ns = monotonic_ns();
	taken = live_connection_process(&v->connection, bytes, (uint32_t)n);
	return recv(v->fd, bytes, taken, 0) == (ssize_t)taken && !v->connection.is_over;
}

static void serve(struct live_server *s, struct viewer *v)
{
	struct epoll_event e = { .data.u32 = (uint32_t)(v - s->viewers) };
	bool stays = write_some(v);

	if (stays && !v->connection.out.size)
		stays = read_some(v) && write_some(v);
	if (!stays)
		return drop(s, v);
	if (v->waits_to_write == !!v->connection.out.size)
		return;
	v->waits_to_write = v->connection.out.size;
	e.events = v->waits_to_write ? EPOLLOUT : EPOLLIN;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, v->fd, &e);
}

void live_work(struct live_server *s)
{
	struct epoll_event e[EVENTS];
	int n = 1;

	for (int turns = 0; turns < TURNS && n > 0; turns++) {
		n = epoll_wait(s->epoll, e, EVENTS, 0);
		for (int i = 0; i < n; i++)
			if (e[i].data.u32 >= VIEWERS)
				accept_viewer(s, s->listeners[e[i].data.u32 - VIEWERS]);
			else if (s->viewers[e[i].data.u32].fd >= 0)
				serve(s, &s->viewers[e[i].data.u32]);
	}
}

static int open_sockets(struct live_server *s, const struct live_options *o, struct diag *d)
{
	struct endpoint p = o->listen;
	int n, err;

	if (!*p.host)
		strcpy(p.host, "127.0.0.1");
	n = endpoint_listen(&p, !o->allows_remote, s->listeners, LISTENERS, d);
	if (n == -EACCES && !o->allows_remote)
		return diag_fail(d, n,
				 "%s: lttng-live has neither keys nor encryption: other "
				 "addresses than 127.0.0.1 "
				 "and ::1 need --anywhere",
				 p.host);
	if (n < 0)
		return n;
	s->n_listeners = n;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll < 0 ? diag_errno(d, "cannot set up the server's loop") : 0;
	for (int i = 0; i < n && !err; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u32 = (uint32_t)(VIEWERS + i) };

		if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listeners[i], &e))
			err = diag_errno(d, "cannot set up the server's loop");
	}
	return err;
}

int live_open(struct live_server **out, const struct live_options *o, struct diag *d)
{
	struct live_server *s = calloc(1, sizeof *s);
	int err;

	*out = NULL;
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory");
	s->epoll = -1;
	s->spare = io_spare();
	s->most_viewers = most_viewers();
	s->from_begin = o->from_begin;
	for (int i = 0; i < VIEWERS; i++)
		s->viewers[i].fd = -1;
	err = live_files_open(&s->files, o->roots, o->n_roots);
	if (err)
		diag_fail(d, err, "no memory");
	else
		err = open_sockets(s, o, d);
	if (err)
		live_close(s);
	else
		*out = s;
	return err;
}

void live_close(struct live_server *s)
{
	if (!s)
		return;
	for (int i = 0; i < VIEWERS; i++)
		if (s->viewers[i].fd >= 0)
			drop(s, &s->viewers[i]);
	for (int i = 0; i < s->n_listeners; i++)
		close(s->listeners[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->spare >= 0)
		close(s->spare);
	live_files_close(&s->files);
	free(s);
}

int live_port(const struct live_server *s)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof a;
	char port[10] = "0";

	if (!getsockname(s->listeners[0], (struct sockaddr *)&a, &size))
		getnameinfo((struct sockaddr *)&a, size, NULL, 0, port, sizeof port,
			    NI_NUMERICSERV);
	return atoi(port);
}

int live_fd(const struct live_server *s)
{
	return s->epoll;
}

void live_counts(struct live_server *s, struct live_counts *c)
{
	*c = (struct live_counts){ .late = s->n_late, .refused = s->n_refused };
	live_files_scan(&s->files);
	for (int i = 0; i < VIEWERS; i++) {
		c->viewers += s->viewers[i].fd >= 0;
		c->late += s->viewers[i].fd >= 0 ? s->viewers[i].connection.n_late : 0;
	}
	c->recordings = s->files.n_recordings;
	for (uint32_t i = 0; i < s->files.n_recordings; i++)
		c->growing += s->files.recordings[i].progress.state == PROGRESS_GROWS;
}
