/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/numbers.c - threads that record numbers, each event complete in itself,
 * until SIGTERM; then prints how long the slowest took.
 *
 * usage: numbers THREADS PER_SECOND [pin] [call]
 *
 * PER_SECOND, at the most; 0: as fast as it goes.  pin: one CPU for each thread.  call: before each
 * event a system call that carries the same number.  In the file PROGRESS of the environment each
 * thread keeps how many it has recorded.
 */
#include <duet/duet.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, FILLER_MAX = 61 };

DUET_EVENT(snap, number, (u32, thread), (u64, n), (x64, check), (str, filler));

static volatile sig_atomic_t stop;
static int per_second, is_pinned, has_call;
static uint64_t progress_of_nobody[THREADS_MAX], *progress = progress_of_nobody;

static void on_term(int signal)
{
	(void)signal;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pin(unsigned thread)
{
	cpu_set_t all, one;
	int n = 0;

	sched_getaffinity(0, sizeof all, &all);
	thread %= (unsigned)CPU_COUNT(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && n++ == (int)thread) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof one, &one);
		}
}

static uint64_t check_of(uint32_t thread, uint64_t n)
{
	return (n * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)thread << 32 | (uint64_t)getpid());
}

static void record(uint32_t thread, uint64_t n)
{
	char filler[FILLER_MAX + 8];

	memset(filler, 'a' + (int)(n % 26), sizeof filler);
	filler[n % FILLER_MAX] = 0;
	if (has_call)
		syscall(SYS_dup,
			1000000 + (int)n); /* fails; its argument is in the kernel's event */
	trace_snap_number(thread, n, check_of(thread, n), filler);
}

static void *run(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;
	uint64_t worst_ns = 0, t_ns = now_ns();
	int burst = per_second / 500 + 1;

	if (is_pinned)
		pin(thread);
	for (uint64_t n = 0; !stop; n++) {
		uint64_t end_ns;

		record(thread, n);
		__atomic_store_n(&progress[thread], n + 1, __ATOMIC_RELEASE);
		end_ns = now_ns();
		if (end_ns - t_ns > worst_ns)
			worst_ns = end_ns - t_ns;
		t_ns = end_ns;
		if (per_second && n % (uint64_t)burst == 0) {
			usleep(2000);
			t_ns = now_ns();
		}
	}
	return (void *)(uintptr_t)worst_ns;
}

static void map_progress(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof progress_of_nobody))
		return;
	at = mmap(NULL, sizeof progress_of_nobody, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		progress = at;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS_MAX];
	uint64_t worst_ns = 0;

	per_second = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 3; i < argc; i++) {
		is_pinned |= !strcmp(argv[i], "pin");
		has_call |= !strcmp(argv[i], "call");
	}
	map_progress(getenv("PROGRESS"));
	signal(SIGTERM, on_term);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
	for (int i = 0; i < n; i++) {
		void *result;

		pthread_join(threads[i], &result);
		if ((uintptr_t)result > worst_ns)
			worst_ns = (uintptr_t)result;
	}
	printf("worst %.6f\n", (double)worst_ns / 1e9);
	return 0;
}
