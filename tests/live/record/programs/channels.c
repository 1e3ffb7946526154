/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/channels.c - records as the lines on standard input request:
 *
 *	high N		N events high:flood, as fast as it can
 *	both N M	the same, with a low:step after every M
 *	slow N MS	N events slow:step; prints how many calls took MS milliseconds or more, the
 *			worst call, and all, in milliseconds
 *	large SIZE N	N events big:text of SIZE bytes of text
 *	timer US	an event hand:tick in a signal handler every US microseconds; 0: no more,
 *			prints how many
 *	lock		from now on the kernel kills for nanosleep(2)
 *	kinds N		N events of many types, numbered
 *	stack N		N events from three functions deep
 *	threads N, fork N, exec N	N events low:step in a new thread, child, program
 *
 * A line "done ..." answers each.  usage: program [low N]
 */
#include <duet/duet.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(high, flood, (u64, id));
DUET_EVENT(low, step, (u64, id));
DUET_EVENT(slow, step, (u64, id));
DUET_EVENT(big, text, (u64, id), (str, body));
DUET_EVENT(hand, tick, (u64, id));
DUET_EVENT(stack, here, (u64, id));
DUET_EVENT(kinds, all, (i32, id), (str, name), (f64, ratio),
	   (enumeration(u8, OPEN, PAID = 5, SENT), state), (array(u16, 3), triple),
	   (seq(i32), list), (text(4), code));
DUET_EVENT(kinds, long_text, (i32, id), (str, body));

static volatile sig_atomic_t n_ticks;

static void on_timer(int s)
{
	(void)s;
	trace_hand_tick((uint64_t)n_ticks);
	n_ticks++;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void record_high(long n, long every)
{
	uint64_t low = 0;

	for (long i = 0; i < n; i++) {
		trace_high_flood((uint64_t)i);
		if (every && i % every == 0)
			trace_low_step(low++);
	}
	puts("done");
}

static void record_slowly(long n, long limit_ms)
{
	double begin = now_ms(), at = begin, worst = 0;
	long held = 0;

	for (long i = 0; i < n; i++) {
		double before = at;

		trace_slow_step((uint64_t)i);
		at = now_ms();
		held += at - before >= (double)limit_ms;
		worst = at - before > worst ? at - before : worst;
	}
	printf("done %ld %.3f %.3f\n", held, worst, now_ms() - begin);
}

static void record_large(long size, long n)
{
	char *body = malloc((size_t)size + 1);

	memset(body, 'x', (size_t)size);
	body[size] = 0;
	for (long i = 0; i < n; i++)
		trace_big_text((uint64_t)i, body);
	free(body);
	puts("done");
}

static void set_timer(long us)
{
	struct itimerval t = { { 0, us }, { 0, us } };

	if (us)
		n_ticks = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	printf("done %d\n", (int)n_ticks);
}

static void lock(void)
{
	struct sock_filter kill_for_sleep[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { 4, kill_for_sleep };

	puts(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)
		     ? "done not"
		     : "done");
}

static void record_kinds(long n)
{
	static const uint8_t states[] = { 0, 5, 6 };
	char body[1201];

	for (int i = 0; i < n; i++) {
		uint16_t triple[] = { (uint16_t)i, (uint16_t)(2 * i), (uint16_t)(3 * i) };
		int32_t list[4] = { 0, i, 2 * i, 3 * i };
		char code[5];

		snprintf(code, sizeof code, "%04d", i % 10000);
		memset(body, i % 2 ? 'x' : 'y', sizeof body - 1);
		body[600 + i % 600] = 0;
		trace_kinds_all(i, i % 2 ? "odd" : "even", i / 4.0, states[i % 3], triple, list,
				(size_t)(i % 5), code);
		trace_kinds_long_text(i, body);
		trace_mark(kinds, marked, "id %d by %s size %lu", i, i % 2 ? "odd" : "even",
			   7ul * (unsigned)i);
		trace_mark(kinds, marked_long, "id %d by %s", i, body);
	}
	puts("done");
}

#define FRAME                                                                                      \
	__attribute__((noinline, noclone,                                                          \
		       optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))

FRAME void stack_inner(long i);
FRAME void stack_middle(long i);
FRAME void stack_outer(long i);

FRAME void stack_inner(long i)
{
	trace_stack_here((uint64_t)i);
	__asm__ volatile("");
}

FRAME void stack_middle(long i)
{
	stack_inner(i);
	__asm__ volatile("");
}

FRAME void stack_outer(long i)
{
	stack_middle(i);
	__asm__ volatile("");
}

static void record_stack(long n)
{
	extern char __executable_start;

	for (long i = 0; i < n; i++)
		stack_outer(i);
	printf("done %lu\n", (unsigned long)&__executable_start);
}

static void record_low(long n)
{
	for (long i = 0; i < n; i++)
		trace_low_step((uint64_t)i);
}

static void *in_thread(void *n)
{
	prctl(PR_SET_NAME, "worker");
	record_low((long)n);
	return NULL;
}

static void in_threads(long n)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, (void *)n);
	pthread_join(t, NULL);
	puts("done");
}

static void in_child(long n, const char *again)
{
	char number[32];
	pid_t pid = fork();

	if (!pid && again) {
		snprintf(number, sizeof number, "%ld", n);
		execl(again, again, "low", number, (char *)NULL);
		_exit(127);
	}
	if (!pid) {
		record_low(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("done %d\n", (int)pid);
}

static void obey(const char *verb, long a, long b)
{
	if (!strcmp(verb, "high"))
		record_high(a, 0);
	else if (!strcmp(verb, "both"))
		record_high(a, b);
	else if (!strcmp(verb, "slow"))
		record_slowly(a, b);
	else if (!strcmp(verb, "large"))
		record_large(a, b);
	else if (!strcmp(verb, "timer"))
		set_timer(a);
	else if (!strcmp(verb, "lock"))
		lock();
	else if (!strcmp(verb, "kinds"))
		record_kinds(a);
	else if (!strcmp(verb, "stack"))
		record_stack(a);
	else if (!strcmp(verb, "threads"))
		in_threads(a);
	else if (!strcmp(verb, "fork"))
		in_child(a, NULL);
	else if (!strcmp(verb, "exec"))
		in_child(a, "/proc/self/exe");
	else
		puts("done what?");
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	char line[128], verb[16];

	if (argc > 2) {
		record_low(atol(argv[2]));
		return 0;
	}
	sigaction(SIGALRM, &act, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		long a = 0, b = 0;

		if (sscanf(line, "%15s %ld %ld", verb, &a, &b) > 0)
			obey(verb, a, b);
	}
	return 0;
}
