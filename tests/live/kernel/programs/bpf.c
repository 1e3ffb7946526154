/* SPDX-License-Identifier: MIT */
/*
 * tests/live/kernel/programs/bpf.c - makes system calls, and prints which.
 *
 *	program calls PROCESSES CALLS	so many getppid in each process, children of this one; prints
 *					their numbers
 *	program texts			calls with texts of all kinds, between two getppid; then
 *					prints the expected texts
 *	program captures		calls with addresses, times and arguments of a program,
 *					between two getppid
 *	program numbers			prints its number; dup of 1000000, 1000001, ... until its
 *					input ends; then prints how many
 *	program tree			between two getppid: children and threads that wait for each
 *					other
 *	program wait			prints "ready"; calls getppid 10 times for each line that it
 *					reads, in a thread and in a child, both older than the line,
 *					and in a new child; prints "done"
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void call(long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static int calls(int n_processes, long n)
{
	pid_t pid;

	for (int i = 0; i < n_processes; i++) {
		pid = fork();
		if (!pid) {
			call(n);
			_exit(0);
		}
		printf("%d\n", (int)pid);
		fflush(stdout);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

/* ---------------------------------------------------------------- texts */

enum { LONG = 5000, TEXTS = 16 };

static char *expected[TEXTS];
static int n_expected;

static void expect(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void expect(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (vasprintf(&expected[n_expected++], format, list) < 0)
		exit(2);
	va_end(list);
}

static void open_it(const char *path)
{
	syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_PATH, 0);
}

/* Two pages; the second cannot be read; the first ends with @n bytes of text. */
static char *before_nothing(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE))
		exit(2);
	return memset(p + page - n, 'e', n);
}

static int texts(void)
{
	static char at_most[4096], too_long[4097], very_long[LONG + 1];
	static const char odd[] = "/a\tb\n\"\\\xc3\xa9";
	char *ends = before_nothing(10), *is_cut = before_nothing(10);

	memset(at_most, 'm', 4095);
	memset(too_long, 'l', 4096);
	memset(very_long, 'v', LONG);
	ends[9] = 0;
	expect("%s", "/x");
	expect("%s", at_most);
	expect("%s", too_long);
	expect("%.4096s", very_long);
	expect("0x0");
	expect("0x1");
	expect("%p", (void *)(ends + 10));
	expect("%s", ends);
	expect("%p %.10s", (void *)is_cut, is_cut);
	expect("%s", odd);
	expect("%s", "");
	call(1);
	open_it("/x");
	open_it(at_most);
	open_it(too_long);
	open_it(very_long);
	open_it(NULL);
	open_it((const char *)1);
	open_it(ends + 10);
	open_it(ends);
	open_it(is_cut);
	open_it(odd);
	open_it("");
	syscall(SYS_renameat2, AT_FDCWD, "/duet/no/a", AT_FDCWD, "/duet/no/b", 0);
	syscall(SYS_mount, "/duet/no/device", "/duet/no/dir", "nosuchfs", 0, NULL);
	syscall(SYS_write, -1, "bytes", 5);
	call(1);
	for (int i = 0; i < n_expected; i++) {
		fwrite(expected[i], 1, strlen(expected[i]) + 1, stdout); /* each ends with a NUL */
		free(expected[i]);
	}
	return 0;
}

/* ---------------------------------------------------------------- other memory that arguments point to */

static const struct sockaddr_in nowhere = { .sin_family = AF_INET,
					    .sin_port = 0x0900,
					    .sin_addr.s_addr = 0x0100007f };

static void addresses(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0duet" };
	struct sockaddr_storage got;
	char many[200] = "";
	socklen_t size = sizeof got;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "duet-%d", (int)getpid());
	syscall(SYS_bind, fd, &name, 16);
	syscall(SYS_getsockname, fd, &got, &size);
	syscall(SYS_connect, -1, &nowhere, sizeof nowhere);
	syscall(SYS_connect, -1, many, sizeof many); /* more than any address has */
	syscall(SYS_connect, -1, NULL, 16);
	syscall(SYS_connect, -1, &nowhere, -1);
	syscall(SYS_sendto, -1, "x", 1, 0, &nowhere, sizeof nowhere);
	syscall(SYS_getpeername, fd, &got, &size); /* fails */
}

static void times(void)
{
	struct timespec t = { 0, 1234 }, now;

	syscall(SYS_nanosleep, &t, NULL);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	syscall(SYS_ppoll, NULL, 0, &(struct timespec){ 0, 77 }, NULL, 8);
	syscall(SYS_ppoll, NULL, 0, (void *)1, NULL, 8);
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, &now);
	syscall(SYS_clock_getres, -1, &now);
}

static void arguments(void)
{
	static char exact[64], over[65];
	const char *few[] = { "a", "", "b c", NULL }, *most[33] = { NULL }, *more[34] = { NULL },
		   *none[] = { NULL };
	const char *lengths[] = { exact, over, NULL };

	for (int i = 0; i < 32; i++)
		most[i] = more[i] = "1";
	more[32] = "2";
	memset(exact, 'e', 63);
	memset(over, 'o', 64);
	syscall(SYS_execve, "/duet/no", few, NULL);
	syscall(SYS_execve, "/duet/no", most, NULL);
	syscall(SYS_execve, "/duet/no", more, NULL);
	syscall(SYS_execve, "/duet/no", lengths, NULL);
	syscall(SYS_execve, "/duet/no", none, NULL);
	syscall(SYS_execveat, AT_FDCWD, "/duet/no", few, NULL, 0);
	syscall(SYS_execve, "/duet/no", (void *)1, NULL);
}

static int captures(void)
{
	call(1);
	addresses();
	times();
	arguments();
	call(1);
	printf("%d\n", (int)getpid());
	return 0;
}

/* ---------------------------------------------------------------- numbers */

static int numbers(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	long n = 0;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (!poll(&input, 1, 1))
		for (int i = 0; i < 20; i++)
			syscall(SYS_dup, 1000000 + n++);
	printf("%ld\n", n);
	return 0;
}

/* ---------------------------------------------------------------- a tree */

static int ping[2], pong[2];

static void *answer(void *arg)
{
	char byte;

	while (read(ping[0], &byte, 1) == 1 && byte != 'q')
		if (write(pong[1], &byte, 1) != 1)
			break;
	return arg;
}

static void ask(int n)
{
	char byte = 'x';

	for (int i = 0; i < n; i++)
		if (write(ping[1], &byte, 1) != 1 || read(pong[0], &byte, 1) != 1)
			exit(2);
	if (write(ping[1], "q", 1) != 1)
		exit(2);
}

static void sleep_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void child(void)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		sleep_a_little();
	if (pthread_create(&thread, NULL, answer, NULL))
		_exit(2);
	ask(20);
	pthread_join(thread, NULL);
	open_it("/proc/self");
	if (!fork()) {
		sleep_a_little();
		execl("/bin/true", "true", (char *)NULL);
		_exit(2);
	}
	wait(NULL);
	_exit(0);
}

static int tree(void)
{
	if (pipe(ping) || pipe(pong))
		return 2;
	call(1);
	for (int i = 0; i < 3; i++) {
		if (!fork())
			child();
		wait(NULL);
	}
	/* wait() returns before the child's last switch: without a pause a recording could end
	 * between the two, and have it in one of its backends only. */
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	call(1);
	return 0;
}

/* ---------------------------------------------------------------- waiting */

static pthread_barrier_t to_thread;

static void *call_on_barrier(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&to_thread);
		call(10);
		pthread_barrier_wait(&to_thread);
	}
	return arg;
}

static int wait_for_lines(void)
{
	pthread_t thread;
	char line[64], byte;
	pid_t pid, young;

	if (pipe(ping) || pipe(pong) || pthread_barrier_init(&to_thread, NULL, 2) ||
	    pthread_create(&thread, NULL, call_on_barrier, NULL))
		return 2;
	pid = fork();
	if (!pid) {
		close(ping[1]);
		while (read(ping[0], &byte, 1) == 1) {
			call(10);
			if (write(pong[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		pthread_barrier_wait(&to_thread);
		pthread_barrier_wait(&to_thread);
		if (write(ping[1], "x", 1) != 1 || read(pong[0], &byte, 1) != 1)
			return 2;
		young = fork();
		if (!young) {
			call(10);
			_exit(0);
		}
		waitpid(young, NULL, 0);
		puts("done");
		fflush(stdout);
	}
	kill(pid, SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "calls"))
		return calls(atoi(argv[2]), atol(argv[3]));
	if (argc == 2 && !strcmp(argv[1], "texts"))
		return texts();
	if (argc == 2 && !strcmp(argv[1], "captures"))
		return captures();
	if (argc == 2 && !strcmp(argv[1], "numbers"))
		return numbers();
	if (argc == 2 && !strcmp(argv[1], "tree"))
		return tree();
	return argc == 2 && !strcmp(argv[1], "wait") ? wait_for_lines() : 2;
}
