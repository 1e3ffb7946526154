/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hostile/talk.c - sends invalid data to a collector's socket: requests and attach
 * messages made by the grammar and then mutated, descriptors of all kinds, too much, too little,
 * nothing.
 *
 * 	talk nonsense DIRECTORY N SEED     prints how many of N messages were answered, and how
 * 	talk sense DIRECTORY 0             sends valid requests meanwhile, until SIGTERM; prints how often, how often without success (status, attaching), and the longest times in milliseconds
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/session.h"
#include "abi/control.h"
#include "guest.h"

enum { FDS = 253 /* SCM_MAX_FD */, SILENT = 500, ANSWER_TIMEOUT_MS = 5000, TEXT = 200000 };

static unsigned long n_done, n_refused, n_silent, n_full;

/* ---------------------------------------------------------------- messages */

static char text[TEXT + 1];

static const char *one_of(const char *const *words, unsigned n)
{
	return words[guest_any() % n];
}
#define ONE_OF(words) one_of(words, sizeof words / sizeof *words)

/* No "stop", which is sense, and no pattern that meets the honest programs' events. */
static size_t say_request(void)
{
	static const char *const verbs[] = { "status",	    "status",
					     "enable",	    "enable",
					     "disable",	    "flush",
					     "snapshot",    "",
					     "STATUS",	    "statusstatusstatusstatusstatusstatus",
					     "\\u0073tatus" };
	static const char *const members[] = {
		"\"pattern\":\"none:x\"",
		"\"pattern\":\"none:*[\"",
		"\"pattern\":\"!none\"",
		"\"pattern\":7",
		"\"pattern\":\"\"",
		"\"pid\":1",
		"\"pid\":-1",
		"\"pid\":99999999999999999999999",
		"\"pid\":\"1\"",
		"\"pid\":2147483647",
		"\"filter\":\"id > 9\"",
		"\"filter\":\"((((((((((1))))))))))\"",
		"\"filter\":\"id >\"",
		"\"filter\":null",
		"\"channel\":0",
		"\"channel\":\"ring\"",
		"\"channel\":16",
		"\"channel\":18446744073709551616",
		"\"channel\":\"no\"",
		"\"last_ns\":5",
		"\"max_size\":4096",
		"\"path\":\"/etc/\\n\\t\\\"\"",
		"\"path\":\"\\",
		"\"uid\":0",
		"\"x\":true",
		"\"x\":1e999",
		"\"x\":{}",
		"\"x\":[1]",
		"\"verb\":\"status\"",
		"\"last_ns\":-5",
	};
	const char *verb = ONE_OF(verbs);
	int n = snprintf(text, TEXT, "{\"verb\":\"%s\"",
			 strcmp(verb, "snapshot") || guest_any() % 300 == 0 ? verb : "status");

	for (unsigned i = (unsigned)(guest_any() % 5); i; i--)
		n += snprintf(text + n, TEXT - (size_t)n, ",%s", ONE_OF(members));
	if (guest_any() % 50 == 0)
		while (n < 9000)
			n += snprintf(text + n, TEXT - (size_t)n, ",%s", ONE_OF(members));
	return (size_t)n + (size_t)snprintf(text + n, TEXT - (size_t)n, "}\n");
}

static size_t say_join(void)
{
	struct abi_attach q = { .magic = ABI_ATTACH_MAGIC,
				.version = ABI_SESSION_MEMORY_VERSION,
				.pid = (uint32_t)guest_any() };

	guest_fill(q.program, sizeof q.program);
	memcpy(text, &q, sizeof q);
	return sizeof q;
}

static size_t say_noise(void)
{
	size_t n = guest_any() % 20 ? guest_any() % 300 : guest_any() % TEXT;

	guest_fill(text, n < 9000 ? n : 9000);
	return n;
}

/* Bytes changed, taken out, doubled; the message cut, or made longer. */
static size_t mutate(size_t n)
{
	size_t at = n ? guest_any() % n : 0, some = 1 + guest_any() % 16;

	some = some > n - at ? n - at : some;
	switch (guest_any() % 6) {
	case 0:
		text[at] = (char)guest_any();
		return n ? n : 1;
	case 1:
		memmove(text + at, text + at + some, n - at - some);
		return n - some;
	case 2:
		memmove(text + at + some, text + at, n - at);
		return n + some;
	case 3:
		return at;
	case 4:
		text[at] = "\"\\{}:,\0\n"[guest_any() % 8];
		return n ? n : 1;
	default:
		memset(text + n, (int)guest_any(), 64);
		return n + guest_any() % 64;
	}
}

static size_t say_something(void)
{
	uint64_t how = guest_any() % 16;
	size_t n = how < 11 ? say_request() : how < 14 ? say_join() : say_noise();

	if (n < TEXT / 2)
		for (uint64_t i = guest_any() % 4; i; i--)
			n = mutate(n);
	text[n] = 0;
	return strstr(text, "\"stop\"") ? 0 : n;
}

/* ---------------------------------------------------------------- descriptors sent with messages */

static int odd_descriptor(void)
{
	static char fifo[64];
	int p[2];

	switch (guest_any() % 9) {
	case 0:
		return memfd_create("odd", MFD_CLOEXEC);
	case 1:
		return epoll_create1(EPOLL_CLOEXEC);
	case 2:
		return eventfd(0, EFD_CLOEXEC);
	case 3:
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case 4:
		return open("/", O_PATH | O_CLOEXEC);
	case 5:
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 6:
		return guest_connection();
	case 7:
		snprintf(fifo, sizeof fifo, "/tmp/odd-%d", (int)getpid());
		mkfifo(fifo, 0600);
		p[0] = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		unlink(fifo);
		return p[0];
	default:
		return pipe2(p, O_CLOEXEC) ? -1 : (close(p[0]), p[1]);
	}
}

static ssize_t send_with(int fd, size_t size, int n_fds)
{
	static union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FDS)];
	} control;
	struct iovec v = { text, size };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int fds[FDS], n = 0;
	ssize_t sent;

	while (n < n_fds && (fds[n] = odd_descriptor()) >= 0)
		n++;
	if (n) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof(int) * (size_t)n);
	}
	sent = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n)
		close(fds[--n]);
	return sent;
}

/* ---------------------------------------------------------------- conversations */

static void read_requests(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char answer[16384];
	ssize_t n = poll(&p, 1, ANSWER_TIMEOUT_MS) == 1
			    ? recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT)
			    : 0;

	answer[n > 0 ? n : 0] = 0;
	n_done += strstr(answer, "\"ok\":true") != NULL;
	n_refused += strstr(answer, "\"ok\":false") != NULL;
	n_silent += n <= 0;
}

/* Connects and sends nothing: the collector closes the oldest of these. */
static void be_silent(int fd)
{
	static int silent[SILENT];
	static unsigned next;
	int *place = &silent[next++ % SILENT];

	if (*place)
		close(*place);
	*place = fd;
}

static void say(void)
{
	size_t n = say_something();
	int fd = guest_connection(), n_fds = guest_any() % 8   ? 0
					     : guest_any() % 8 ? 1
							       : (int)(guest_any() % FDS);

	if (fd < 0) {
		n_full++;
		usleep(200);
	} else if (guest_any() % 16 == 0) {
		be_silent(fd);
	} else {
		if (send_with(fd, n, n_fds) >= 0 && guest_any() % 8)
			read_requests(fd);
		close(fd);
	}
}

static int nonsense(long n)
{
	for (long i = 0; i < n; i++)
		say();
	printf("%ld said: %lu done, %lu refused with the reason, %lu not answered; %lu times the "
	       "queue was full\n",
	       n, n_done, n_refused, n_silent, n_full);
	return 0;
}

/* ---------------------------------------------------------------- honest peers */

static int patient_connection(void)
{
	int fd;

	while ((fd = guest_connection()) < 0 && errno == EAGAIN)
		usleep(200);
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

static double status_ms(unsigned *failed)
{
	static const char request[] = "{\"verb\":\"status\"}\n";
	double begin = guest_now();
	char answer[16384];
	int fd = patient_connection();
	ssize_t n = fd >= 0 && send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0
			    ? recv(fd, answer, sizeof answer - 1, 0)
			    : -1;

	answer[n > 0 ? n : 0] = 0;
	*failed += !strstr(answer, "\"ok\":true");
	if (fd >= 0)
		close(fd);
	return (guest_now() - begin) * 1e3;
}

static double join_ms(unsigned *failed)
{
	double begin = guest_now();
	uint64_t size;
	int fd, pool;

	do
		fd = patient_connection();
	while (fd >= 0 && close(fd)); /* room in the queue */
	pool = guest_join(&size);
	*failed += pool < 0;
	if (pool >= 0)
		close(pool);
	return (guest_now() - begin) * 1e3;
}

static volatile sig_atomic_t stop;

static void on_signal(int s)
{
	stop = s;
}

static int sense(void)
{
	double worst_status = 0, worst_join = 0, ms;
	unsigned n, failed_status = 0, failed_join = 0;

	signal(SIGTERM, on_signal);
	for (n = 0; !stop; n++) {
		ms = status_ms(&failed_status);
		worst_status = ms > worst_status ? ms : worst_status;
		ms = join_ms(&failed_join);
		worst_join = ms > worst_join ? ms : worst_join;
		usleep(5000);
	}
	printf("%u %u %u %.1f %.1f\n", n, failed_status, failed_join, worst_status, worst_join);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	guest_directory = argv[2];
	guest_seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
	return strcmp(argv[1], "sense") ? nonsense(atol(argv[3])) : sense();
}
