/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls of many kinds, with known arguments, that succeed and that fail: the same each
 * time.
 *
 *	program calls DIRECTORY	once; then a child, and a thread
 *	program cold FILE	names 9 files; the names are in the mapped FILE, a page each, which
 *				are not in memory
 *	program waits		prints "ready"; then answers each byte of its standard input by
 *				getppid 100 times and "done"
 *	program rests		prints "ready", sleeps in read until a byte comes, and ends
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char page[65536];

static void files(void)
{
	struct stat st;
	int fd, other;

	fd = open("a", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	(void)!write(fd, page, 5000);
	lseek(fd, -10, SEEK_END);
	lseek(fd, 0, SEEK_DATA);
	(void)!read(fd, page, 100);
	(void)!pread(fd, page, 7, 3);
	other = fcntl(fd, F_DUPFD_CLOEXEC, 20);
	fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
	fcntl(fd, F_GETFD);
	fcntl(other, F_SETFD, 0);
	flock(fd, LOCK_EX | LOCK_NB);
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096);
	(void)!ftruncate(fd, 77);
	fsync(fd);
	fchmod(fd, 04711);
	futimens(fd, NULL);
	dup3(fd, 30, O_CLOEXEC);
	close(other);
	close(other);
	close(-1);
	close_range(30, 40, 0);
	open("none", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	openat(fd, "x", O_WRONLY | O_SYNC);
	open(".", O_TMPFILE | O_RDWR, 0600);
	access("a", R_OK | W_OK);
	access("none", F_OK);
	faccessat(AT_FDCWD, "a", X_OK, AT_SYMLINK_NOFOLLOW);
	fstatat(AT_FDCWD, "none", &st, AT_SYMLINK_NOFOLLOW);
	mkdir("d", 0755);
	mkdir("d", 0700);
	renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_NOREPLACE);
	unlinkat(AT_FDCWD, "d", AT_REMOVEDIR);
	unlinkat(AT_FDCWD, "d", 0);
	umask(022);
	ioctl(fd, TIOCGWINSZ, page);
	ioctl(fd, 0x12345678, page);
	close(fd);
}

static void memory(void)
{
	char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	mprotect(p, 4096, PROT_NONE);
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	madvise(p, 8192, MADV_DONTNEED);
	madvise(p, 8192, 999);
	mremap(p, 65536, 131072, MREMAP_MAYMOVE);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED, 99, 4096);
	msync(page, 1, MS_ASYNC | MS_INVALIDATE);
	mlock(page, 1);
	munmap(p, 4096);
	munmap((void *)1, 4096);
}

static void sockets(void)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP),
	    pair[2];
	struct sockaddr_in to = { .sin_family = AF_INET };

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	bind(fd, (struct sockaddr *)&to, sizeof to);
	listen(fd, 5);
	accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	shutdown(fd, SHUT_RDWR);
	socket(AF_INET6, SOCK_DGRAM, 0);
	socket(AF_UNIX, SOCK_SEQPACKET, 0);
	socket(99, SOCK_RAW, 0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	send(pair[0], page, 10, MSG_NOSIGNAL | MSG_DONTWAIT);
	recv(pair[1], page, 20, MSG_PEEK);
	recv(pair[1], page, 20, MSG_DONTWAIT | MSG_TRUNC);
	recv(pair[1], page, 20, MSG_DONTWAIT);
}

/* The kernel assigns the port; the peer is connected before accept is called. */
static void internet(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
			   from;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
	    client = socket(AF_INET, SOCK_STREAM, 0), got;
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = listener, .events = POLLIN };
	socklen_t size = sizeof at;

	bind(listener, (struct sockaddr *)&at, sizeof at);
	listen(listener, 5);
	getsockname(listener, (struct sockaddr *)&at, &size);
	connect(client, (struct sockaddr *)&at, sizeof at);
	poll(&p, 1, 30000);
	size = sizeof from;
	got = accept(listener, (struct sockaddr *)&from, &size);
	getpeername(got, (struct sockaddr *)&from, &size);
	accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
	close(client);
	close(got);

	at.sin_port = 0;
	bind(udp, (struct sockaddr *)&at, sizeof at);
	size = sizeof at;
	getsockname(udp, (struct sockaddr *)&at, &size);
	sendto(udp, page, 10, 0, (struct sockaddr *)&at, sizeof at);
	p.fd = udp;
	poll(&p, 1, 30000);
	size = sizeof from;
	recvfrom(udp, page, 20, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
	connect(udp, (struct sockaddr *)&six, sizeof six);
	connect(udp, (struct sockaddr *)&six, 1);
	connect(udp, NULL, 16);
}

static void local(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "socket" }, from;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = sizeof from;

	bind(listener, (struct sockaddr *)&to, sizeof to);
	listen(listener, 5);
	connect(client, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + 6);
	accept(listener, (struct sockaddr *)&from, &size);
	size = sizeof from;
	getpeername(client, (struct sockaddr *)&from, &size);
	unlink("socket");
	memcpy(to.sun_path, "\0no such\0name", 14);
	connect(client, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + 14);
}

static void times(void)
{
	struct timespec t = { .tv_nsec = 1000 };

	syscall(SYS_nanosleep, &t, NULL);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
	syscall(SYS_futex, page, FUTEX_WAIT, 1, &t, NULL, 0);
	t.tv_sec = -1;
	syscall(SYS_nanosleep, &t, NULL);
	syscall(SYS_nanosleep, NULL, NULL);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	syscall(SYS_clock_getres, CLOCK_REALTIME, &t);
	syscall(SYS_clock_gettime, 77, &t);
}

static void events(void)
{
	int e = epoll_create1(EPOLL_CLOEXEC), v = eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE);
	struct epoll_event one = { .events = EPOLLIN };
	struct itimerspec off = { { 0 } };
	struct pollfd p = { .fd = v, .events = POLLIN };
	struct timespec t;
	sigset_t set;
	int timer;

	epoll_ctl(e, EPOLL_CTL_ADD, v, &one);
	epoll_ctl(e, EPOLL_CTL_MOD, 88, &one);
	epoll_wait(e, &one, 1, 0);
	poll(&p, 1, 0);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &off, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(77, &set, NULL);
	signalfd(-1, &set, SFD_CLOEXEC);
	kill(0x7ffffff0, 0);
	syscall(SYS_tgkill, getpid(), getpid(), 0);
	syscall(SYS_futex, page, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
	syscall(SYS_futex, page, FUTEX_WAIT, 1, NULL, NULL, 0);
	syscall(SYS_futex, page, 99, 1, NULL, NULL, 0);
	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t);
	(void)!getrandom(page, 8, GRND_NONBLOCK);
}

static void processes(void)
{
	struct rlimit limit;

	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_NAME, "known calls");
	getrlimit(RLIMIT_NOFILE, &limit);
	getrusage(RUSAGE_CHILDREN, (struct rusage *)page);
	getpriority(PRIO_PROCESS, 0);
	sched_getscheduler(0);
	waitpid(-1, NULL, WNOHANG);
	waitid(P_ALL, 0, (siginfo_t *)page, WEXITED | WNOHANG);
	unshare(CLONE_FS | CLONE_FILES);
	syscall(9999, 1, 2, 3);
}

static void *thread(void *arg)
{
	getppid();
	lseek(-1, 5, SEEK_CUR);
	return arg;
}

static void handler(int number)
{
	(void)number;
}

static int calls(void)
{
	/* On the stack: constants may not be in memory yet, and the kernel does not wait for a
	 * page that it has to record. */
	char name[] = "true", text[] = "a \"text\"\n", letter[] = "x";
	char *few[] = { name, text, NULL }, *many[] = { name,	letter, letter, letter, letter,
							letter, letter, letter, letter, NULL };
	pthread_t t;
	pid_t child;
	int status;

	signal(SIGUSR1, handler);
	files();
	memory();
	sockets();
	internet();
	local();
	times();
	events();
	processes();
	child = fork();
	if (!child) {
		getppid();
		execve("none", many, NULL);
		execve("/bin/true", few, NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return status ? 1 : 7;
}

/* A page is in memory once it was touched, with some around it: so each name is in a mapping of its
 * own. */
static int name_cold_files(const char *path)
{
	int fd = open(path, O_RDONLY);

	for (int i = 0; i < 9; i++) {
		char *name = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, i * 4096);

		if (name == MAP_FAILED)
			return 2;
		access(name, F_OK);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char c;

	if (!strcmp(what, "calls"))
		return argc == 3 && !chdir(argv[2]) ? calls() : 2;
	if (!strcmp(what, "cold"))
		return argc == 3 ? name_cold_files(argv[2]) : 2;
	if (write(1, "ready\n", 6) != 6)
		return 2;
	while (read(0, &c, 1) == 1 && !strcmp(what, "waits")) {
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
		if (write(1, "done\n", 5) != 5)
			return 2;
	}
	return 0;
}
