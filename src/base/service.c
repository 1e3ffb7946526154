/* SPDX-License-Identifier: MIT */
/* base/service.c - the datagram of sd_notify(3) and the environment of sd_listen_fds(3). */
#include "base/service.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 }; /* sd_listen_fds(3) */

int service_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n;
	int fd, err = 0;

	assert(*state);
	if (!path || !*path)
		return 0;
	n = strlen(path);
	if ((*path != '/' && *path != '@') || n >= sizeof a.sun_path)
		return -EINVAL;
	memcpy(a.sun_path, path, n);
	if (*path == '@')
		a.sun_path[0] = 0; /* an abstract name, which no NUL ends */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*path == '/'))) < 0)
		err = -errno;
	close(fd);
	return err;
}

int service_listener(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	int listens = 0;
	socklen_t size = sizeof listens;
	int n = pid && fds && strtol(pid, NULL, 10) == getpid() ? atoi(fds) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (n <= 0)
		return -ENOENT;
	if (n > 1)
		return -E2BIG;
	if (getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) ||
	    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC))
		return -errno;
	return listens ? FIRST_FD : -EINVAL;
}
