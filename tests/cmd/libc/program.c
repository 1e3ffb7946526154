/* SPDX-License-Identifier: MIT */
/*
 * program.c - uses the heap in the ways that libc.py selects by name.
 *
 * In all of them malloc(77) is called from .preinit_array, before libc is initialised.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile keep; /* so that the compiler removes nothing */

static void before_everything(void)
{
	keep = malloc(77);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_everything;

/* Prints a line that the trace must contain, without using the heap. */
static __attribute__((format(printf, 1, 2))) void expect(const char *format, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	if (write(1, line, (size_t)n) != n)
		_exit(3);
}

static void *report(void *p, const char *call)
{
	expect("%s ptr=%lu\n", call, (unsigned long)p);
	return keep = p;
}

static int values(void)
{
	size_t huge = (size_t)-1 - 100;
	void *a, *b, *out = (void *)1;
	int result;

	a = report(malloc(4242), "malloc size=4242");
	b = report(calloc(3, 1001), "calloc nmemb=3 size=1001");
	expect("realloc in_ptr=%lu size=100000", (unsigned long)a);
	a = report(realloc(a, 100000), "");
	expect("realloc in_ptr=%lu size=%lu", (unsigned long)a, huge);
	report(realloc(a, huge), "");
	expect("free ptr=%lu\n", (unsigned long)b);
	free(b);
	report(realloc(NULL, 11), "realloc in_ptr=0 size=11");
	a = report(memalign(64, 640), "memalign alignment=64 size=640");
	expect("free ptr=%lu\n", (unsigned long)a);
	free(a);
	result = posix_memalign(&out, 256, 777);
	expect("posix_memalign out_ptr=%lu alignment=256 size=777 result=%d\n", (unsigned long)out,
	       result);
	result = posix_memalign(&out, 3, 778);
	expect("posix_memalign out_ptr=0 alignment=3 size=778 result=%d\n", result);
	report(aligned_alloc(128, 1280), "aligned_alloc alignment=128 size=1280");
	report(valloc(99), "memalign alignment=4096 size=99");
	report(pvalloc(98), "memalign alignment=4096 size=98");
	report(reallocarray(NULL, 7, 13), "realloc in_ptr=0 size=91");
	errno = 0;
	report(malloc(huge), "malloc size=18446744073709551515");
	if (errno != ENOMEM)
		return 4;
	errno = 5;
	expect("free ptr=0\n");
	free(NULL);
	return errno == 5 ? 0 : 5;
}

/* Threads that pass blocks to each other: an address freed here is soon returned there. */
enum { THREADS = 4, PLACES = 64, ROUNDS = 20000 };
static void *places[PLACES];

static void *exchange_blocks(void *arg)
{
	unsigned long x = (unsigned long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		void **place, *p;

		x = x * 6364136223846793005ul + 1442695040888963407ul;
		place = &places[(x >> 40) % PLACES];
		p = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
		if (x >> 63)
			p = realloc(p, 16 + (x >> 50) % 2000);
		else {
			free(p);
			p = malloc(16 + (x >> 50) % 100);
		}
		free(__atomic_exchange_n(place, p, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static int threads(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, exchange_blocks, (void *)(i + 1)))
			return 3;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < PLACES; i++)
		free(places[i]);
	return 0;
}

/* Dies while it allocates. */
static int killed(void)
{
	for (size_t i = 0;; i++) {
		free(keep);
		keep = malloc(100 + i % 100);
		if (i == 50000)
			kill(getpid(), SIGKILL);
	}
}

static int forks(void)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (!pid) {
			keep = malloc(100000 + (size_t)i);
			if (i % 2)
				_exit(0);
			return 0;
		}
		if (pid < 0)
			return 3;
	}
	for (int i = 0; i < 200; i++) {
		int status;

		if (wait(&status) < 0 || status)
			return 4;
	}
	return 0;
}

/* Closes all descriptors, in the process and in a child, which has to attach again; none is open
 * afterwards. */
static int closed(void)
{
	int status;

	for (int fd = 0; fd < 256; fd++)
		close(fd);
	keep = malloc(5001);
	if (!fork()) {
		keep = malloc(5002);
		for (int fd = 0; fd < 256; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				_exit(1);
		_exit(0);
	}
	return wait(&status) < 0 || status;
}

/* The first event of a thread must fit on the smallest stacks. */
static void *first_on_small_stack(void *arg)
{
	(void)arg;
	keep = aligned_alloc(64, 6400);
	if (!fork()) {
		keep = malloc(6001);
		_exit(0);
	}
	return NULL;
}

static void first_in_handler(int signal)
{
	(void)signal;
	keep = memalign(32, 6402);
}

static int small(void)
{
	static char bytes[8192]; /* SIGSTKSZ, as compiled in before AVX-512 */
	stack_t stack = { .ss_sp = bytes, .ss_size = sizeof bytes };
	struct sigaction sa = { .sa_handler = first_in_handler, .sa_flags = SA_ONSTACK };
	pthread_attr_t a;
	pthread_t t;
	int status;

	pthread_attr_init(&a);
	if (pthread_attr_setstacksize(&a, 16384) ||
	    pthread_create(&t, &a, first_on_small_stack, NULL) || pthread_join(t, NULL))
		return 3;
	if (wait(&status) < 0 || status)
		return 4;
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &sa, NULL) || raise(SIGUSR1))
		return 5;
	return 0;
}

/*
 * The collector is stopped while a child wants to attach: the child's events are lost, and counted,
 * whether it ends then or executes another program.
 */
static int lose(bool exec)
{
	pid_t duet = getppid();
	int status;

	kill(duet, SIGSTOP);
	if (!fork()) {
		for (int i = 0; i < 10; i++)
			keep = malloc(8000);
		if (exec)
			execl("/proc/self/exe", "another", "brief", (char *)NULL);
		exit(7);
	}
	if (wait(&status) < 0 || kill(duet, SIGCONT))
		return 3;
	return WEXITSTATUS(status) != 7;
}

static int lost(void)
{
	return lose(false);
}

static int lost_exec(void)
{
	return lose(true);
}

/* Allocates, reports it, and stays until its input ends. */
static int waiting(void)
{
	char c;

	for (int i = 0; i < 10; i++)
		keep = malloc(9000);
	expect("ready\n");
	return read(0, &c, 1) != 0;
}

static int brief(void)
{
	keep = malloc(7001);
	return 7;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} ways[] = { { "values", values },  { "threads", threads }, { "killed", killed },
		     { "forks", forks },    { "closed", closed },   { "small", small },
		     { "brief", brief },    { "lost", lost },	    { "lost_exec", lost_exec },
		     { "waiting", waiting } };

	for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return 2;
}
