/* SPDX-License-Identifier: MIT */
/* descriptors.c - opens devices, files that are removed, and sockets of several types, and uses them.
 * Gets a signal while others are blocked. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static char data[] = "1"; /* in memory, where a recorder can read it */

/* strace keeps the first address of a socket that it finds: each gets one only. */
static void send_to_self(int family, int type)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr *at = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t size = family == AF_INET ? sizeof four : sizeof six;
	int server = socket(family, type, 0), client = socket(family, type, 0), other = -1;
	char text[8];

	if (bind(server, at, size))
		return;
	if (type == SOCK_STREAM)
		listen(server, 1);
	getsockname(server, at, &size);
	if (type == SOCK_DGRAM) {
		sendto(client, data, 1, 0, at, size);
		sendto(client, data, 1, 0, at, size);
	} else {
		connect(client, at, size);
		other = accept(server, NULL, NULL);
		send(client, data, 1, 0);
	}
	recv(other >= 0 ? other : server, text, sizeof text, 0);
	close(server);
	close(client);
	close(other);
}

static void send_by_name(const char *name, size_t size)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t all = (socklen_t)(sizeof at.sun_family + size);
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0),
	    other;
	char text[8];

	memcpy(at.sun_path, name, size);
	bind(server, (void *)&at, all);
	listen(server, 1);
	connect(client, (void *)&at, all);
	other = accept(server, NULL, NULL);
	send(client, data, 1, 0);
	recv(other, text, sizeof text, 0);
	close(server);
	close(client);
	close(other);
}

static void send_to_kernel(void)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK };
	int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	bind(s, (void *)&at, sizeof at);
	fsync(s);
	close(s);
}

static void open_files(void)
{
	int full = open("/dev/full", O_RDWR), file = open("removed", O_RDWR | O_CREAT, 0600),
	    pair[2], again;

	fsync(full);
	fsync(file);
	unlink("removed");
	fsync(file);
	again = open("removed", O_RDWR | O_CREAT, 0600);
	fsync(again);
	fsync(file);
	unlink("removed");
	if (!pipe2(pair, O_CLOEXEC) && write(pair[1], data, 1))
		fsync(pair[0]);
	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		send(pair[1], data, 1, 0);
	fsync((int)syscall(SYS_io_uring_setup, 0, NULL));
}

static void on_signal(int number)
{
	(void)number;
}

int main(int n, char **argv)
{
	sigset_t set;

	data[0] = (char)('0' + n);
	if (n < 2 || chdir(argv[1]))
		return 1;
	send_to_self(AF_INET, SOCK_STREAM);
	send_to_self(AF_INET, SOCK_DGRAM);
	send_to_self(AF_INET6, SOCK_STREAM);
	send_to_self(AF_INET6, SOCK_DGRAM);
	send_by_name("path", 5);
	unlink("path");
	send_by_name("\0duet-\"abstract", 15);
	send_to_kernel();
	open_files();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, 40);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, on_signal);
	return raise(SIGUSR1);
}
