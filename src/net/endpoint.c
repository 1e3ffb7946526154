/* SPDX-License-Identifier: MIT */
/* net/endpoint.c - name resolution, connect with a timeout, listen on each address of a host. */
#include "net/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SEND_BUFFER = 256 << 10, /* bytes in the kernel of a slow link: they delay times and ends */
	BACKLOG = 512,
};

int endpoint_parse(struct endpoint *p, const char *text, struct diag *d)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text), *host = text;

	if (*text == '[') {
		const char *close = strchr(text, ']');

		if (!close || (close[1] && close[1] != ':'))
			return diag_fail(d, -EINVAL, "%s: [ADDRESS]:PORT expected", text);
		host = text + 1;
		end = close;
		colon = close[1] ? close + 1 : NULL;
	} else if (colon && strchr(text, ':') == colon) {
		end = colon;
	} else {
		colon = NULL; /* no port, or an IPv6 address */
	}
	if ((size_t)(end - host) >= sizeof p->host ||
	    (colon && (strlen(colon + 1) >= sizeof p->port || !colon[1])))
		return diag_fail(d, -EINVAL, "%s: HOST or HOST:PORT expected", text);
	snprintf(p->host, sizeof p->host, "%.*s", (int)(end - host), host);
	snprintf(p->port, sizeof p->port, "%s", colon ? colon + 1 : ENDPOINT_PORT);
	return 0;
}

static int resolve(const struct endpoint *p, bool listens, struct addrinfo **list, struct diag *d)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = listens ? AI_PASSIVE : 0 };
	int e = getaddrinfo(*p->host ? p->host : NULL, p->port, &hints, list);

	if (!e)
		return 0;
	return diag_fail(d, e == EAI_AGAIN ? -EAGAIN : -EHOSTUNREACH, "%s:%s: %s", p->host, p->port,
			 e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
}

static bool is_here(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int refuse_elsewhere(const struct endpoint *p, struct diag *d)
{
	return diag_fail(d, -EACCES,
			 "%s:%s: --plain is only for this machine's own addresses (127.0.0.1, "
			 "::1): a connection over a network needs --psk or --cert",
			 *p->host ? p->host : "*", p->port);
}

static int wait_connected(int fd, int timeout_ms, int stop)
{
	struct pollfd f[2] = { { .fd = fd, .events = POLLOUT }, { .fd = stop, .events = POLLIN } };
	int n = poll(f, 2, timeout_ms), err = 0;
	socklen_t size = sizeof err;

	if (n > 0 && f[1].revents)
		return -ECANCELED;
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -errno : -err;
}

static void tune(int fd)
{
	const int on = 1, buffer = SEND_BUFFER;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
}

static int connect_one(const struct addrinfo *a, int timeout_ms, int stop)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	tune(fd);
	if (connect(fd, a->ai_addr, a->ai_addrlen))
		err = errno == EINPROGRESS ? wait_connected(fd, timeout_ms, stop) : -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int endpoint_connect(const struct endpoint *p, bool only_here, int timeout_ms, int stop,
		     struct diag *d)
{
	struct addrinfo *list;
	int err = resolve(p, false, &list, d), fd = -EHOSTUNREACH;

	if (err)
		return err;
	for (struct addrinfo *a = list; a && fd < 0 && fd != -ECANCELED && fd != -EACCES;
	     a = a->ai_next) {
		fd = only_here && !is_here(a->ai_addr) ? -EACCES : connect_one(a, timeout_ms, stop);
	}
	freeaddrinfo(list);
	if (fd == -EACCES)
		return refuse_elsewhere(p, d);
	if (fd < 0)
		return diag_fail(d, fd, "%s:%s: %s", p->host, p->port, strerror(-fd));
	return fd;
}

static int listen_one(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;
	const int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int endpoint_listen(const struct endpoint *p, bool only_here, int *fds, int most, struct diag *d)
{
	struct addrinfo *list;
	int err = resolve(p, true, &list, d), n = 0, last = 0;

	if (err)
		return err;
	for (struct addrinfo *a = list; a && n < most && last != -EACCES; a = a->ai_next) {
		last = only_here && !is_here(a->ai_addr) ? -EACCES : listen_one(a);
		if (last >= 0)
			fds[n++] = last;
	}
	freeaddrinfo(list);
	if (n && last != -EACCES)
		return n;
	while (n)
		close(fds[--n]);
	if (last == -EACCES && only_here)
		return refuse_elsewhere(p, d);
	return diag_fail(d, last, "cannot listen on %s:%s: %s", *p->host ? p->host : "*", p->port,
			 strerror(-last));
}
