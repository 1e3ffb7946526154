/* SPDX-License-Identifier: MIT */
/* ui/server/peer.c - whose process is at the other end of a connection of this machine: /proc/net/tcp. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ui/server/internal.h"

static bool is_end(uint32_t address, unsigned port, const struct sockaddr_in *end)
{
	return address == end->sin_addr.s_addr && port == ntohs(end->sin_port);
}

/* The user of the socket from @from to @to; -1: there is none. */
static int64_t user_of(const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	FILE *f = fopen("/proc/net/tcp", "re");
	int64_t user = -1;
	char line[512];

	while (f && user < 0 && fgets(line, sizeof line, f)) {
		uint32_t own, other;
		unsigned own_port, other_port, uid;

		if (sscanf(line, " %*u: %8x:%4x %8x:%4x %*x %*s %*s %*s %u", &own, &own_port,
			   &other, &other_port, &uid) == 5 &&
		    is_end(own, own_port, from) && is_end(other, other_port, to))
			user = uid;
	}
	if (f)
		fclose(f);
	return user;
}

bool peer_is_own(int fd)
{
	struct sockaddr_in here, there;
	socklen_t size = sizeof here, there_size = sizeof there;
	int64_t user;

	if (getsockname(fd, (struct sockaddr *)&here, &size) ||
	    getpeername(fd, (struct sockaddr *)&there, &there_size) || here.sin_family != AF_INET ||
	    there.sin_family != AF_INET)
		return false;
	user = user_of(&there, &here);
	return user == geteuid() || !user;
}
