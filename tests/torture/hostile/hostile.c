/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hostile/hostile.c - a program that attaches to a session and then damages all it
 * can.
 *
 * 	hostile attack DIRECTORY SECONDS SEED      DIRECTORY: the runtime directory
 * 	hostile honest SECONDS                     records numbers; prints how many
 */
#include <duet/duet.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/session.h"
#include "abi/control.h"
#include "abi/pool.h"
#include "guest.h"

DUET_EVENT(honest, step, (i32, i), (str, text));
DUET_EVENT(honest, waits, (i32, i));
DUET_EVENT(honest, large, (i32, i), (str, body));

static double end;
static int status = 3; /* of a process that attacks; 0: it reached the pools, or did not try */

/* All over the pool; mostly over the small parts that steer the rest. */
static void scribble(void)
{
	uint64_t size, steering;
	int pool = guest_join(&size);
	char *p;

	if (pool < 0)
		return;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pool, 0);
	if (p == MAP_FAILED)
		exit(3);
	status = 0;
	steering = 4 << 20;
	for (int i = 0; i < 20000; i++) {
		uint64_t at = guest_any() % ((i % 4 ? steering : size) - 64), v = guest_any();

		switch (guest_any() % 5) {
		case 0:
			guest_fill(p + at, 1 + guest_any() % 64);
			break;
		case 1:
			memcpy(p + (at & ~7ull), &v, 8);
			break;
		case 2:
			v = guest_any() % 4096;
			memcpy(p + (at & ~7ull), &v, 8);
			break;
		case 3:
			v = ABI_STATE(guest_any(), guest_any() % 4 ? 1 : guest_any(),
				      guest_any() % 4);
			memcpy(p + (at & ~7ull), &v, 8);
			break;
		case 4:
			memset(p + at, guest_any() % 2 ? 0 : 255, 1 + guest_any() % 64);
			break;
		}
	}
	if (guest_any() % 8 == 0)
		guest_fill(p, size < 4u << 20 ? size : 4u << 20);
	munmap(p, size);
	(void)!ftruncate(pool, (off_t)(guest_any() % size));
	fallocate(pool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(guest_any() % size),
		  (off_t)(guest_any() % (1 << 20) + 1));
	fcntl(pool, F_ADD_SEALS, F_SEAL_WRITE);
	close(pool);
}

/* Files of the runtime directory: garbage, cut short, too long, of the wrong kind. */
static void spoil_files(void)
{
	char path[512], garbage[8192];
	int fd, n = (int)(guest_any() % 6);

	snprintf(path, sizeof path, "%s/%s-%llu", guest_directory,
		 guest_any() % 3 ? "app" : "session",
		 (unsigned long long)(guest_any() % 2 ? guest_any() % 100 : guest_any()));
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
	guest_fill(garbage, sizeof garbage);
	if (guest_any() % 2)
		memcpy(garbage,
		       &(struct abi_control){ .magic = ABI_CONTROL_MAGIC,
					      .version = ABI_CONTROL_VERSION,
					      .n_events = (uint32_t)guest_any(),
					      .session_slots = { { guest_any(), guest_any() } } },
		       256);
	(void)!write(fd, garbage, guest_any() % sizeof garbage);
	if (guest_any() % 4 == 0)
		(void)!ftruncate(fd, (off_t)(guest_any() % (1u << 21)));
	close(fd);
	if (guest_any() % 2)
		guest_any() % 3 ? unlink(path) : rmdir(path);
}

/* Control pages of other programs: everything that a program of the same user may do to them. */
static void spoil_pages(void)
{
	DIR *d = opendir(guest_directory);
	struct dirent *e;
	char garbage[256];

	while (d && (e = readdir(d))) {
		int fd = strncmp(e->d_name, "app-", 4) || guest_any() % 4
				 ? -1
				 : openat(dirfd(d), e->d_name,
					  O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		guest_fill(garbage, sizeof garbage);
		(void)!pwrite(fd, garbage, guest_any() % sizeof garbage,
			      (off_t)(guest_any() % (1u << 20)));
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
	struct iovec v = { garbage, guest_any() % sizeof garbage };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int fd = guest_connection(), fds[64];

	if (fd < 0)
		return;
	guest_fill(garbage, 256);
	if (guest_any() % 2)
		*(uint64_t *)(void *)garbage = ABI_ATTACH_MAGIC;
	if (guest_any() % 2)
		v.iov_len = sizeof(struct abi_attach);
	if (guest_any() % 2) {
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
		if ((fds[n] = guest_connection()) < 0)
			break;
	usleep(20000);
	while (n--)
		close(fds[n]);
}

static void attack_by(void (*how)(void), uint64_t own_seed)
{
	if (fork())
		return;
	guest_seed = own_seed;
	while (guest_now() < end)
		how();
	_exit(how == scribble ? status : 0);
}

static int honest(void)
{
	char body[1001];
	int i;

	memset(body, 'x', sizeof body - 1);
	body[sizeof body - 1] = 0;
	for (i = 0; guest_now() < end; i++) {
		trace_honest_step(i, "an honest event");
		trace_honest_waits(i);
		if (i % 16 == 0)
			trace_honest_large(i, body);
		usleep(200);
	}
	printf("%d\n", i);
	return 0;
}

int main(int argc, char **argv)
{
	static void (*const ways[])(void) = { scribble,	   scribble,	  spoil_files,
					      spoil_pages, talk_nonsense, say_nothing };
	int bad = 0;

	if (argc > 2 && !strcmp(argv[1], "honest")) {
		end = guest_now() + atof(argv[2]);
		return honest();
	}
	if (argc < 5)
		return 2;
	guest_directory = argv[2];
	end = guest_now() + atof(argv[3]);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		attack_by(ways[i], (uint64_t)atoll(argv[4]) * 1000 + i);
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 1 : 0;
}
