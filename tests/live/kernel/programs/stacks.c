/* SPDX-License-Identifier: MIT */
/*
 * Enters the kernel N times from functions with known stacks: `program N`.  Sleeps in wait_here(),
 * reads its parent's pid in ask_here(), closes a bad descriptor in fail_here(), and touches pages in
 * touch_here(); prints the address of the pages.  Prints "ready" before, and waits for SIGUSR1, then
 * and at the end: a program that has ended has no mappings to read.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long done;

/* libc keeps no frame pointers: a stack has no caller of libc, but the caller of that one. */
__attribute__((noinline)) static void call(long (*one)(void))
{
	done += one();
}

static long nap(void)
{
	return usleep(1000);
}

static long ask(void)
{
	return syscall(SYS_getppid);
}

static long fail(void)
{
	return close(-1);
}

__attribute__((noinline)) static void wait_here(int n)
{
	while (n--)
		call(nap);
	done++;
}

__attribute__((noinline)) static void ask_here(int n)
{
	while (n--)
		call(ask);
	done++;
}

__attribute__((noinline)) static void fail_here(int n)
{
	while (n--)
		call(fail);
	done++;
}

__attribute__((noinline)) static void touch_here(volatile char *pages, int n)
{
	while (n--)
		pages[(size_t)n * 4096] = 1;
	done++;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), sig;
	size_t size = (size_t)n * 4096;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t usr1;

	if (pages == MAP_FAILED || sysconf(_SC_PAGESIZE) != 4096)
		return 77;
	madvise(pages, size, MADV_NOHUGEPAGE);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	printf("ready\n");
	fflush(stdout);
	sigwait(&usr1, &sig);
	wait_here(n);
	ask_here(n);
	fail_here(n);
	touch_here(pages, n);
	printf("%p\n", (void *)pages);
	fflush(stdout);
	sigwait(&usr1, &sig);
	return 0;
}
