/* SPDX-License-Identifier: MIT */
/*
 * program.c MODE - a program with known behaviour, which prints its own numbers as lines "word
 * value" at its end.
 *
 *	calls		system calls, some fail, in three threads and a child
 *	cpu		two threads and a child that compute and sleep; prints its CPU time as the
 *			kernel counts it (schedstat, rusage)
 *	heap		a balance of the heap
 *	leaks FILE	blocks that are not freed, by function; prints their number and sizes, then
 *			lives until the recorder has written to FILE
 *	latency		sleeps between two events
 *	waits		two threads that take turns on one CPU
 *	mutex		a thread that waits for a mutex while another sleeps with it
 *	io		reads and writes; prints the counts of /proc/self/io
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <duet/duet.h>

DUET_EVENT(work, begin, (i32, id), (str, name));
DUET_EVENT(work, end, (i32, id), (str, name));

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}

static void compute(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* ---------------------------------------------------------------- system calls */

static void *call_some(void *argument)
{
	for (int i = 0; i < 500; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 37; i++)
		if (open("/nonexistent/file", O_RDONLY) >= 0)
			exit(1);
	for (int i = 0; i < 11; i++)
		if (close(-1) != -1 || lseek(-1, 0, SEEK_SET) != -1)
			exit(1);
	return argument;
}

static void calls(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, call_some, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (!fork()) {
		call_some(NULL);
		_exit(0);
	}
	wait(NULL);
	sleep_ns(20000000);
}

/* ---------------------------------------------------------------- CPU time */

static unsigned long long schedstat(void)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)syscall(SYS_gettid));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &ns) != 1)
		exit(1);
	fclose(f);
	return ns;
}

static void work_and_report(const char *name, int turns)
{
	struct rusage u;

	for (int i = 0; i < turns; i++) {
		compute(4000000);
		sleep_ns(3000000);
	}
	getrusage(RUSAGE_THREAD, &u);
	printf("thread %s %d %llu %ld\n", name, (int)syscall(SYS_gettid), schedstat(),
	       u.ru_nvcsw + u.ru_nivcsw);
	fflush(stdout);
}

static void *other_thread(void *argument)
{
	work_and_report("second", 20);
	return argument;
}

static void cpu(void)
{
	pthread_t second;

	if (!fork()) {
		work_and_report("child", 10);
		_exit(0);
	}
	pthread_create(&second, NULL, other_thread, NULL);
	work_and_report("first", 30);
	pthread_join(second, NULL);
	wait(NULL);
}

/* ---------------------------------------------------------------- the heap */

/* First 40 blocks of 1000, the peak.  Then 33 are freed, one grows, and so on. */
static void heap(void)
{
	void *at[40], *p;
	int bad;

	for (int i = 0; i < 40; i++)
		at[i] = malloc(1000);
	at[0] = realloc(at[0], 500000);
	sleep_ns(20000000);
	for (int i = 0; i < 33; i++)
		free(at[i]);
	p = calloc(30, 100);
	p = realloc(p, 5000);
	if (posix_memalign(&at[0], 64, 777))
		exit(1);
	bad = posix_memalign(&at[1], 3, 777);
	free(NULL);
	if (!bad || realloc(p, PTRDIFF_MAX) || !at[0])
		exit(1);
	_exit(0); /* libc frees nothing here: live are 7 of 1000, one of 5000, one of 777 */
}

/* Sums of the blocks that each function allocates and does not free, as the program knows them. */
struct leaked {
	unsigned long long n, bytes;
};

static void *volatile lost;

static __attribute__((noinline)) void leak_small(struct leaked *l, size_t size)
{
	lost = malloc(size);
	l->n++;
	l->bytes += size;
}

static __attribute__((noinline)) void leak_grown(struct leaked *l, size_t size)
{
	lost = malloc(10);
	lost = realloc(lost, size);
	l->n++;
	l->bytes += size;
}

static __attribute__((noinline)) void leak_zeroed(struct leaked *l, size_t size)
{
	lost = calloc(3, size);
	l->n++;
	l->bytes += 3 * size;
}

static __attribute__((noinline)) void leak_nothing(struct leaked *l, size_t size)
{
	void *volatile p = malloc(size);

	free(p);
	l->n += 0;
}

static const char *file;

static void leaks(void)
{
	static const struct {
		const char *name;
		void (*leak)(struct leaked *, size_t);
	} ways[] = { { "leak_small", leak_small },
		     { "leak_grown", leak_grown },
		     { "leak_zeroed", leak_zeroed },
		     { "leak_nothing", leak_nothing } };
	struct leaked l[4] = { 0 };
	struct stat s = { 0 };

	for (int i = 0; i < 300; i++)
		for (int k = 0; k < (i % 3 ? 4 : 1); k++)
			ways[k].leak(&l[k], (size_t)(i * 7 + k * 50 + 1));
	for (int k = 0; k < 4; k++)
		printf("leak %s %llu %llu\n", ways[k].name, l[k].n, l[k].bytes);
	for (int i = 0; i < 6000 && (stat(file, &s) || !s.st_size); i++)
		sleep_ns(10000000);
}

/* ---------------------------------------------------------------- latencies */

static void latency(void)
{
	char name[16];
	uint64_t begin;

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "n%d", i % 5);
		begin = now_ns();
		trace_work_begin(i, name);
		sleep_ns(i == 31 ? 30000000 : (uint64_t)(i + 1) * 50000);
		trace_work_end(i, name);
		printf("took %d %llu\n", i, (unsigned long long)(now_ns() - begin));
	}
	/* Two at a time, the second ends first: only `id` distinguishes them. */
	trace_work_begin(1001, "a");
	sleep_ns(1000000);
	trace_work_begin(1002, "b");
	sleep_ns(1000000);
	trace_work_end(1002, "b");
	sleep_ns(1000000);
	trace_work_end(1001, "a");
}

/* ---------------------------------------------------------------- waiting for a CPU */

static void *be_woken(void *argument)
{
	int *fds = argument;
	char c;

	printf("woken %d\n", (int)syscall(SYS_gettid));
	fflush(stdout);
	while (read(fds[0], &c, 1) == 1)
		;
	return argument;
}

/* The waker computes after waking, on the same CPU: the woken thread waits at least as long. */
static void waits(void)
{
	struct sched_param idle = { 0 };
	pthread_t other;
	cpu_set_t one;
	int fds[2];

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	if (pipe(fds))
		exit(1);
	pthread_create(&other, NULL, be_woken, fds);
	pthread_setschedparam(other, SCHED_BATCH, &idle);
	sleep_ns(5000000);
	for (int i = 0; i < 20; i++) {
		if (write(fds[1], "x", 1) != 1)
			exit(1);
		compute(2000000);
		sleep_ns(10000000);
	}
	close(fds[1]);
	pthread_join(other, NULL);
}

/* ---------------------------------------------------------------- waiting for a lock */

enum { TURNS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *wait_for_it(void *argument)
{
	uint64_t waited = 0, begin;

	for (int i = 0; i < TURNS; i++) {
		pthread_barrier_wait(&barrier);
		begin = now_ns();
		pthread_mutex_lock(&mutex);
		waited += now_ns() - begin;
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	printf("waiter %d %llu %d\n", (int)syscall(SYS_gettid), (unsigned long long)waited, TURNS);
	return argument;
}

static void hold_mutex(void)
{
	pthread_t waiter;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&waiter, NULL, wait_for_it, NULL);
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		sleep_ns(20000000);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(waiter, NULL);
	printf("holder %d\n", (int)getpid());
}

/* ---------------------------------------------------------------- reading and writing */

struct moved {
	unsigned long long read, written, n_read, n_written;
};

static struct moved moved_so_far(void)
{
	struct moved m;
	FILE *f = fopen("/proc/self/io", "r");

	if (!f || fscanf(f, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &m.read, &m.written,
			 &m.n_read, &m.n_written) != 4)
		exit(1);
	fclose(f);
	return m;
}

static void io(void)
{
	static char buffer[1 << 20];
	struct moved before, after;
	int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);

	before = moved_so_far();
	for (int i = 0; i < 100; i++)
		if (read(from, buffer, 10000 * (size_t)(i + 1)) <= 0 ||
		    write(to, buffer, 5000 * (size_t)i + 1) <= 0)
			exit(1);
	after = moved_so_far();
	printf("io %d %llu %llu %llu %llu\n", (int)getpid(), after.read - before.read,
	       after.written - before.written, after.n_read - before.n_read,
	       after.n_written - before.n_written);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "calls", calls },      { "cpu", cpu },
		      { "heap", heap },	       { "leaks", leaks },
		      { "latency", latency },  { "waits", waits },
		      { "mutex", hold_mutex }, { "io", io } };

	file = argc > 2 ? argv[2] : "";
	for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	return 2;
}
