/* SPDX-License-Identifier: MIT */
/* arguments.c - random arguments: memory at fixed addresses, own files, numbers of all sizes. */
#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MEMORY ((uint8_t *)0x200000000) /* behind it, and before it, is nothing */
#define READ_ONLY ((uint8_t *)0x210000000)
#define SCRATCH 0x220000000 /* mapped and unmapped by calls */

enum { PAGE = 4096, N_BYTES = 16 * PAGE, NEW_MAX = 24 };

static unsigned n_own;
static uint64_t opened[NEW_MAX];
static unsigned n_opened;
static uint64_t waiting[NEW_MAX]; /* descriptors that block: they are only closed */
static unsigned n_waiting;
static uint64_t pid;
static unsigned structures; /* the place of the next one */

/* ---------------------------------------------------------------- files and memory */

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void map(void *at, size_t n)
{
	if (mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0) != at)
		fail("mmap");
	for (size_t i = 0; i < n; i += 8)
		*(uint64_t *)((uint8_t *)at + i) = dice();
}

static void keep(int fd)
{
	if (fd < 0 || dup3(fd, FIRST_FD + (int)n_own, O_CLOEXEC) < 0)
		fail("a descriptor");
	close(fd);
	fcntl(FIRST_FD + (int)n_own, F_SETFL, O_NONBLOCK);
	n_own++;
}

static void open_files(void)
{
	static const char *const names[] = { "f0", "f1", "f2" };
	int fd;

	mkdir("d0", 0700);
	for (int i = 0; i < 3; i++) {
		fd = open(names[i], O_RDWR | O_CREAT, 0600);
		if (write(fd, MEMORY, 1000) != 1000)
			fail("write");
		keep(fd);
	}
	keep(open(".", O_RDONLY | O_DIRECTORY));
	keep(open("d0", O_RDONLY | O_DIRECTORY));
	keep(open("f0", O_PATH));
	keep(memfd_create("own", MFD_ALLOW_SEALING));
}

static void open_sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "s0" };
	int two[2], fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, two))
		fail("socketpair");
	keep(two[0]);
	keep(two[1]);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, two))
		fail("socketpair");
	keep(two[0]);
	keep(two[1]);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&un, sizeof un) || listen(fd, 3))
		fail("bind");
	keep(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fd, (struct sockaddr *)&in, sizeof in))
		fail("bind");
	keep(fd);
	keep(socket(AF_INET, SOCK_STREAM, 0));
	keep(socket(AF_INET6, SOCK_DGRAM, 0));
}

static void open_others(void)
{
	int two[2];

	for (int i = 0; i < 2; i++) {
		if (pipe(two))
			fail("pipe");
		keep(two[0]);
		keep(two[1]);
	}
	keep(eventfd(3, 0));
	keep(epoll_create1(0));
	keep(timerfd_create(CLOCK_MONOTONIC, 0));
	keep(inotify_init());
	keep((int)syscall(SYS_pidfd_open, getpid(), 0));
	if (FIRST_FD + n_own != TIMER_FD + 3)
		fail("the numbers of random.h");
}

uint64_t own_pid(void)
{
	return pid;
}

void arguments_open(void)
{
	pid = (uint64_t)getpid();
	map(MEMORY, N_BYTES);
	map(READ_ONLY, PAGE);
	memset(READ_ONLY, 'r', PAGE);
	if (mprotect(READ_ONLY, PAGE, PROT_READ))
		fail("mprotect");
	map((void *)SCRATCH, N_BYTES);
	open_files();
	open_sockets();
	open_others();
}

unsigned arguments_seen(uint64_t address, uint8_t to[SEEN])
{
	const uint64_t begins[] = { (uint64_t)MEMORY, (uint64_t)READ_ONLY };
	const uint64_t sizes[] = { N_BYTES, PAGE };

	for (int i = 0; i < 2; i++)
		if (address >= begins[i] && address < begins[i] + sizes[i]) {
			uint64_t left = begins[i] + sizes[i] - address;
			unsigned n = left < SEEN ? (unsigned)left : SEEN;

			memcpy(to, (const void *)address, n);
			return n;
		}
	return 0;
}

/* ---------------------------------------------------------------- memory */

/* Structures have places of their own, in the upper half. */
uint64_t structure(const void *bytes, unsigned n)
{
	uint8_t *at;

	if (structures + n + 64 > N_BYTES / 2)
		structures = 0;
	at = MEMORY + N_BYTES / 2 + structures;
	memcpy(at, bytes, n);
	structures += (n + 71) & ~63u;
	return (uint64_t)at;
}

/* Nothing can be read there. */
static uint64_t bad_memory(void)
{
	return ONE_OF(0, 0, 1, (uint64_t)MEMORY - 8, (uint64_t)MEMORY + N_BYTES, 0xffffffffffffffff,
		      0xffff888000000000, 0x800000000000, 0xdeadbeef00000000);
}

/* The last bytes before an end, or nothing can be written there. */
static uint64_t edge(void)
{
	return ONE_OF((uint64_t)MEMORY + N_BYTES - 1 - below(24),
		      (uint64_t)READ_ONLY + below(PAGE));
}

static uint64_t good_memory(void)
{
	uint64_t at =
		(uint64_t)MEMORY + (below(N_BYTES / 2 - 256) & ~7u) + (below(8) ? 0 : below(8));
	unsigned n = below(5) * 8;

	/* Small numbers, as they are in structures, or zeros, or the old bytes. */
	if (!below(3))
		memset((void *)at, 0, 128);
	for (unsigned i = 0; i < n; i += 8)
		if (below(2))
			memcpy((uint8_t *)at + i, &(uint64_t){ dice() >> below(64) }, 8);
	return at;
}

uint64_t any_memory(void)
{
	return below(4) ? good_memory() : below(3) ? bad_memory() : edge();
}

/* A name without dots and slashes: it is below the working directory, or below a descriptor. */
static uint64_t name(void)
{
	static const char *const known[] = { "f0", "f1", "f2", "f3", "d0", "d1",
					     "l0", "l1", "s0", "p0", "" };
	char text[300];
	unsigned n;

	if (below(4)) {
		const char *k = known[below(sizeof known / sizeof *known)];

		return structure(k, (unsigned)strlen(k) + 1);
	}
	n = 1 + below(below(8) ? 20 : 280);
	for (unsigned i = 0; i < n; i++) {
		do
			text[i] = (char)(below(3) ? 'a' + below(26) : 1 + below(255));
		while (text[i] == '.' || text[i] == '/');
	}
	text[n] = 0;
	return structure(text, n + 1);
}

/* Never a random place: that may hold any name. */
uint64_t path(void)
{
	return below(8) ? name()
			: ONE_OF(0, 1, (uint64_t)MEMORY - 8, 0xffffffffffffffff, 0xffff888000000000,
				 0xdeadbeef00000000);
}

static uint64_t texts(void)
{
	uint64_t list[6] = { 0 };
	unsigned n = below(6);

	if (!below(6))
		return ONE_OF(0, 1, (uint64_t)MEMORY + N_BYTES, 0xffffffffffffffff);
	for (unsigned i = 0; i < n; i++)
		list[i] = below(8) ? name() : bad_memory();
	return structure(list, 8 * (n + 1));
}

static uint64_t vector(void)
{
	uint64_t list[12];

	for (unsigned i = 0; i < 12; i += 2) {
		list[i] = any_memory();
		list[i + 1] = below(10) ? below(40) : dice() >> below(64);
	}
	return below(8) ? structure(list, sizeof list) : bad_memory();
}

/* Nothing that waits for long: nanoseconds, or values that the kernel refuses. */
static uint64_t short_time(void)
{
	int64_t t[2] = { (int64_t)ONE_OF(0, 0, 0, (uint64_t)-1), (int64_t)below(2000) };

	if (!below(4))
		t[1] = (int64_t)ONE_OF(1000000000, (uint64_t)-5, 0x7fffffffffffffff);
	return below(8) ? structure(t, sizeof t)
			: ONE_OF(1, 0xffffffffffffffff, (uint64_t)MEMORY + N_BYTES);
}

uint64_t address(void)
{
	uint8_t a[128];
	struct sockaddr_in *in = (void *)a;
	struct sockaddr_in6 *in6 = (void *)a;

	for (unsigned i = 0; i < sizeof a; i++)
		a[i] = (uint8_t)(below(2) ? 'a' + below(26) : below(256) ? 'x' : 0);
	switch (below(5)) {
	case 0:
		*in = (struct sockaddr_in){ .sin_family = AF_INET,
					    .sin_port = htons(1),
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		break;
	case 1:
		*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					      .sin6_port = htons(1),
					      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		break;
	case 2:
		memcpy(a, &(uint16_t){ AF_UNIX }, 2);
		a[2] = (uint8_t)(below(2) ? 0 : 's');
		a[3 + below(100)] = 0;
		break;
	case 3:
		memcpy(a, "\1\0s0", 5);
		break;
	default:
		memcpy(a, &(uint16_t){ (uint16_t)ONE_OF(0, 77, 0xffff) }, 2);
	}
	return below(8) ? structure(a, sizeof a) : bad_memory();
}

/* ---------------------------------------------------------------- numbers */

uint64_t own_fd(void)
{
	return n_opened && !below(3) ? opened[below(n_opened)] : FIRST_FD + below(n_own);
}

static uint64_t bad_fd(void)
{
	return ONE_OF((uint64_t)-1, 900, 1000000, 0x7fffffff, 0x80000000, 0xffffffff);
}

static uint64_t fd(void)
{
	return below(7) ? own_fd() : below(4) ? bad_fd() : 0xffffffff00000000 | FIRST_FD;
}

static uint64_t directory(void)
{
	return below(6) ? ONE_OF((uint64_t)-100, (uint64_t)-100, FIRST_FD + 3, FIRST_FD + 4,
				 0xffffff9c)
			: fd();
}

/* One that was opened by a call, so that it may be closed. */
static uint64_t spare_fd(void)
{
	if (n_waiting)
		return waiting[--n_waiting];
	return n_opened && below(4) ? opened[--n_opened] : bad_fd();
}

/* For dup2(): numbers that no other descriptor has. */
static uint64_t target_fd(void)
{
	return below(5) ? 200 + below(8) : ONE_OF((uint64_t)-1, 0x7fffffff, 0x80000000);
}

static uint64_t size(void)
{
	return ONE_OF(0, 1, 2, 4, 8, 8, 16, below(64), below(64), below(300), below(5000));
}

static uint64_t big_size(void)
{
	return below(10) ? size()
			 : ONE_OF(0x7fffffff, 0x80000000, 0xffffffff, 1ull << 47, (uint64_t)-1,
				  1ull << 63);
}

static uint64_t number(void)
{
	return below(2) ? below(16) : dice() >> below(64);
}

static uint64_t flags(void)
{
	uint64_t f = 0;

	for (unsigned n = below(4); n; n--)
		f |= 1ull << below(below(6) ? 20 : 64);
	return below(12) ? f : dice();
}

static uint64_t offset(void)
{
	return ONE_OF(0, 0, 1, below(3000), (uint64_t)-1, (uint64_t)-below(100), 1ull << 31,
		      1ull << 63, 1ull << 40);
}

static uint64_t mode(void)
{
	return below(6) ? 0600 | below(01000) : dice() & 07777;
}

static uint64_t scratch(void)
{
	return SCRATCH + (uint64_t)below(16) * PAGE + (below(10) ? 0 : below(PAGE));
}

static uint64_t length(void)
{
	return ONE_OF(0, 1, PAGE, PAGE, 2 * PAGE, below(PAGE), PAGE + 1);
}

static uint64_t self(void)
{
	return below(2) ? pid : ONE_OF(0, 0, (uint64_t)-7, 0x7ffffffe, 0x7fffffff);
}

static uint64_t zero(void)
{
	return 0;
}

static argument_maker *maker(char kind)
{
	switch (kind) {
	case 'f':
		return fd;
	case 'd':
		return directory;
	case 'c':
		return spare_fd;
	case 't':
		return target_fd;
	case 'b':
		return bad_fd;
	case 'p':
		return path;
	case 'x':
		return any_memory;
	case 'X':
		return bad_memory;
	case 'v':
		return vector;
	case 'T':
		return short_time;
	case 'A':
		return address;
	case 'E':
		return texts;
	case 'n':
		return size;
	case 'N':
		return big_size;
	case 'i':
		return number;
	case 'F':
		return flags;
	case 'o':
		return offset;
	case 'm':
		return mode;
	case 's':
		return scratch;
	case 'l':
		return length;
	case 'P':
		return self;
	default:
		return zero;
	}
}

/* Registers that a call does not have are random too: tracers must not look at them. */
void arguments_make(const struct call *c, uint64_t a[N_ARGUMENTS])
{
	size_t n = strlen(c->kinds);

	for (size_t i = 0; i < N_ARGUMENTS; i++)
		a[i] = i < n ? maker(c->kinds[i])() : dice();
	if (c->tame)
		c->tame(a);
}

void arguments_opened(uint64_t fd, bool waits)
{
	if (waits)
		waiting[n_waiting++] = fd;
	else
		opened[n_opened++] = fd;
}

bool arguments_must_close(uint64_t *fd)
{
	if (n_waiting == NEW_MAX)
		*fd = waiting[--n_waiting];
	else if (n_opened == NEW_MAX)
		*fd = opened[--n_opened];
	else
		return false;
	return true;
}
