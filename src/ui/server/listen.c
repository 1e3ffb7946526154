/* SPDX-License-Identifier: MIT */
/* ui/server/listen.c - the sockets that the server listens on: loopback, or an address that the user names. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ui/server/internal.h"

enum { BACKLOG = 256 };

static int open_socket(struct ui_server *s, const struct sockaddr *at, socklen_t size)
{
	const int on = 1;
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (at->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (s->n_listeners == LISTENERS_MAX || bind(fd, at, size) || listen(fd, BACKLOG)) {
		int err = -errno;

		close(fd);
		return err;
	}
	s->listeners[s->n_listeners++] = fd;
	return 0;
}

static void note_port(struct ui_server *s)
{
	struct sockaddr_storage at;
	socklen_t size = sizeof at;

	if (getsockname(s->listeners[0], (struct sockaddr *)&at, &size))
		return;
	s->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
						 : ((struct sockaddr_in *)&at)->sin_port);
}

static int open_ipv4(struct ui_server *s, struct diag *d)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)s->o.port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int err = open_socket(s, (const struct sockaddr *)&at, sizeof at);

	if (err)
		return diag_fail(d, err, "cannot listen on 127.0.0.1:%d: %s", s->o.port,
				 strerror(-err));
	note_port(s);
	return 0;
}

/* The same port of the other loopback, if there is one: `localhost` may mean either. */
static void open_ipv6(struct ui_server *s)
{
	const struct sockaddr_in6 at = { .sin6_family = AF_INET6,
					 .sin6_port = htons((uint16_t)s->port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	open_socket(s, (const struct sockaddr *)&at, sizeof at);
}

/* ---------------------------------------------------------------- named addresses */

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
}

/* The port that the kernel gave the first is that of all. */
static void set_port(struct sockaddr *at, int port)
{
	if (at->sa_family == AF_INET6)
		((struct sockaddr_in6 *)at)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)at)->sin_port = htons((uint16_t)port);
}

static int open_named(struct ui_server *s, struct diag *d)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL;
	const bool is_all = !strcmp(s->o.listen, "0.0.0.0") || !strcmp(s->o.listen, "::");
	int err = getaddrinfo(s->o.listen, NULL, &hints, &found), first_err = 0;

	if (err)
		return diag_fail(d, -EADDRNOTAVAIL, "--listen %s: %s", s->o.listen,
				 gai_strerror(err));
	s->port = s->o.port;
	for (struct addrinfo *i = found; i; i = i->ai_next) {
		if (i->ai_family != AF_INET && i->ai_family != AF_INET6)
			continue;
		set_port(i->ai_addr, s->port);
		err = open_socket(s, i->ai_addr, i->ai_addrlen);
		if (!err)
			note_port(s);
		if (!err)
			s->access.is_beyond |= !is_loopback(i->ai_addr);
		first_err = first_err ? first_err : err;
	}
	freeaddrinfo(found);
	if (!is_all)
		snprintf(s->access.names[0], sizeof s->access.names[0], "%s", s->o.listen);
	gethostname(s->access.names[1], sizeof s->access.names[1] - 1);
	return s->n_listeners ? 0
			      : diag_fail(d, first_err, "cannot listen on %s, port %d: %s",
					  s->o.listen, s->o.port, strerror(-first_err));
}

int listen_open(struct ui_server *s, struct diag *d)
{
	int err;

	if (s->o.listen)
		return open_named(s, d);
	err = open_ipv4(s, d);
	if (!err)
		open_ipv6(s);
	return err;
}

void listen_close(struct ui_server *s)
{
	while (s->n_listeners)
		close(s->listeners[--s->n_listeners]);
}
