/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hostile/hostile.c - a program that joins a session and then does its worst.
 *
 * usage: hostile attack DIRECTORY SECONDS SEED      DIRECTORY: the runtime directory
 *        hostile honest SECONDS                     records numbers; says how many
 */
#include <duet/duet.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/control.h"
#include "abi/pool.h"

DUET_EVENT(honest, step, (i32, i), (str, text));

static const char *directory;
static double end;
static uint64_t seed;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t any(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void fill(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)p)[i] = (char)any();
}

static int door(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s/sock-default", directory);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int join(uint64_t *size)
{
	struct abi_join q = { .magic = ABI_JOIN_MAGIC, .version = ABI_POOL_VERSION, .pid = (uint32_t)any() };
	struct abi_join_answer answer;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { &answer, sizeof answer };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	int fd = door(), pool = -1;

	fill(q.program, sizeof q.program);
	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFL, 0);
	if (send(fd, &q, sizeof q, MSG_NOSIGNAL) == (ssize_t)sizeof q &&
	    recvmsg(fd, &m, 0) == (ssize_t)sizeof answer && CMSG_FIRSTHDR(&m))
		memcpy(&pool, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof pool);
	close(fd);
	*size = answer.pool_size;
	return pool;
}

/* All over the pool; mostly over the small parts that steer the rest. */
static void scribble(void)
{
	uint64_t size, steering;
	int pool = join(&size);
	char *p;

	if (pool < 0)
		return;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pool, 0);
	if (p == MAP_FAILED)
		exit(3);
	steering = 2 << 20;
	for (int i = 0; i < 20000; i++) {
		uint64_t at = any() % ((i % 4 ? steering : size) - 64), v = any();

		switch (any() % 5) {
		case 0: fill(p + at, 1 + any() % 64); break;
		case 1: memcpy(p + (at & ~7ull), &v, 8); break;
		case 2: v = any() % 4096; memcpy(p + (at & ~7ull), &v, 8); break;
		case 3: v = ABI_STATE(any(), any() % 4 ? 1 : any(), any() % 4); memcpy(p + (at & ~7ull), &v, 8); break;
		case 4: memset(p + at, any() % 2 ? 0 : 255, 1 + any() % 64); break;
		}
	}
	if (any() % 8 == 0)
		fill(p, size < 4u << 20 ? size : 4u << 20);
	munmap(p, size);
	(void)!ftruncate(pool, (off_t)(any() % size));
	fallocate(pool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(any() % size), (off_t)(any() % (1 << 20) + 1));
	fcntl(pool, F_ADD_SEALS, F_SEAL_WRITE);
	close(pool);
}

/* Files of the runtime directory: garbage, cut short, too long, of the wrong kind. */
static void spoil_files(void)
{
	char path[512], garbage[8192];
	int fd, n = (int)(any() % 6);

	snprintf(path, sizeof path, "%s/%s-%llu", directory, any() % 3 ? "app" : "session",
		 (unsigned long long)(any() % 2 ? any() % 100 : any()));
	unlink(path);
	if (n == 0)
		mkfifo(path, 0600);
	else if (n == 1)
		(void)!symlink("/etc/passwd", path);
	else if (n == 2)
		mkdir(path, 0700);
	fd = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	fill(garbage, sizeof garbage);
	if (any() % 2)
		memcpy(garbage, &(struct abi_control){ .magic = ABI_CONTROL_MAGIC, .version = ABI_CONTROL_VERSION,
						       .n_events = (uint32_t)any(), .lost = any() }, 168);
	(void)!write(fd, garbage, any() % sizeof garbage);
	if (any() % 4 == 0)
		(void)!ftruncate(fd, (off_t)(any() % (1u << 21)));
	close(fd);
	if (any() % 2)
		any() % 3 ? unlink(path) : rmdir(path);
}

/* Pages of others: what a program of the same user may do to them. */
static void spoil_pages(void)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	char garbage[256];

	while (d && (e = readdir(d))) {
		int fd = strncmp(e->d_name, "app-", 4) || any() % 4 ? -1
			: openat(dirfd(d), e->d_name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		fill(garbage, sizeof garbage);
		(void)!pwrite(fd, garbage, any() % sizeof garbage, (off_t)(any() % (1u << 20)));
		close(fd);
	}
	if (d)
		closedir(d);
}

static void talk_nonsense(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control = { .bytes = { 0 } };
	static char garbage[65536];
	struct iovec v = { garbage, any() % sizeof garbage };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int fd = door(), fds[64];

	if (fd < 0)
		return;
	fill(garbage, 256);
	if (any() % 2)
		*(uint64_t *)(void *)garbage = ABI_JOIN_MAGIC;
	if (any() % 2)
		v.iov_len = sizeof(struct abi_join);
	if (any() % 2) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof fds);
		for (int i = 0; i < 64; i++)
			fds[i] = fd;
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof fds);
	}
	(void)!sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void say_nothing(void)
{
	static int fds[1000];
	int n;

	for (n = 0; n < 1000; n++)
		if ((fds[n] = door()) < 0)
			break;
	usleep(20000);
	while (n--)
		close(fds[n]);
}

static void attack_by(void (*how)(void), uint64_t own_seed)
{
	if (fork())
		return;
	seed = own_seed;
	while (now() < end)
		how();
	_exit(0);
}

static int honest(void)
{
	int i;

	for (i = 0; now() < end; i++) {
		trace_honest_step(i, "an honest event");
		usleep(200);
	}
	printf("%d\n", i);
	return 0;
}

int main(int argc, char **argv)
{
	static void (*const ways[])(void) = { scribble, scribble, spoil_files, spoil_pages, talk_nonsense, say_nothing };
	int status, bad = 0;

	if (argc > 2 && !strcmp(argv[1], "honest")) {
		end = now() + atof(argv[2]);
		return honest();
	}
	if (argc < 5)
		return 2;
	directory = argv[2];
	end = now() + atof(argv[3]);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		attack_by(ways[i], (uint64_t)atoll(argv[4]) * 1000 + i);
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 1 : 0;
}
