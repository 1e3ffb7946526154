/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/attach/target.c - a program that checks its own work while others attach to it.
 *
 *   target KIND     runs until its standard input ends; then prints "ok", or the check that failed
 *
 *   busy      8 threads: vector registers, memory, errno and system calls are as they must be
 *   heap      8 threads that do little but malloc and free
 *   blocked   a thread in each kind of blocking call; none may report EINTR, none may end early
 *   forks     threads that start, end, fork, vfork and exec all the time
 *   signals   4 threads with signals at 10 kHz, each handler counted
 *   waiting   the same, but calls that signal(7) lists as ended by stops may end so, and go on
 *   execs     a program that replaces itself every few milliseconds, threads and all
 *   short MS  busy, but ends by itself
 *   sandboxed one thread, under a seccomp filter
 *   guarded   one thread, not dumpable
 *   idle      one thread that waits
 */
#include <errno.h>
#include <immintrin.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8 };

static atomic_bool ends;
static _Atomic(const char *) wrong;
static atomic_ulong rounds;

static void check(bool right, const char *text)
{
	if (!right)
		wrong = text;
}

/* ---------------------------------------------------------------- busy */

/* All vector registers hold numbers across many instructions; the kernel must keep them. */
__attribute__((target("avx2"), noinline)) static bool vectors_stay(uint64_t seed)
{
	__m256i a = _mm256_set1_epi64x((int64_t)seed), b = a, c = a, d = a, e = a, f = a;
	uint64_t out[4], want = seed;

	for (int i = 0; i < 20000; i++) {
		a = _mm256_add_epi64(a, _mm256_set1_epi64x(7));
		b = _mm256_xor_si256(b, a);
		c = _mm256_add_epi64(c, b);
		d = _mm256_xor_si256(d, c);
		e = _mm256_add_epi64(e, d);
		f = _mm256_xor_si256(f, e);
		want += 7;
	}
	_mm256_storeu_si256((__m256i *)out, a);
	if (out[0] != want || out[3] != want)
		return false;
	_mm256_storeu_si256((__m256i *)out, f);
	return out[0] == out[1] && out[1] == out[2] && out[2] == out[3];
}

static bool heap_stays(unsigned *seed)
{
	unsigned char *p[32];
	bool right = true;

	for (int i = 0; i < 32; i++) {
		size_t n = (size_t)rand_r(seed) % 5000 + 1;

		p[i] = malloc(n);
		memset(p[i], i, n);
		right = right && p[i][n - 1] == i;
	}
	for (int i = 0; i < 32; i++) {
		right = right && p[i][0] == i;
		free(p[i]);
	}
	return right;
}

static void *busy(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!ends) {
		check(vectors_stay(seed), "a vector register changed");
		check(heap_stays(&seed), "memory changed");
		errno = EDOM;
		check(syscall(SYS_close, -1) == -1 && errno == EBADF, "a call failed otherwise");
		errno = ERANGE;
		for (volatile int i = 0; i < 20000; i++)
			;
		check(errno == ERANGE, "errno changed");
		rounds++;
	}
	return NULL;
}

static void *heap(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!ends) {
		check(heap_stays(&seed), "memory changed");
		rounds++;
	}
	return NULL;
}

/* ---------------------------------------------------------------- blocked */

static bool is_patient;
#define REPEATED(call)                                                                             \
	({                                                                                         \
		long n_;                                                                           \
		do                                                                                 \
			n_ = (call);                                                               \
		while (n_ == -1 && errno == EINTR && is_patient && !ends);                         \
		n_;                                                                                \
	})

static int never[2]; /* a pipe: nothing comes before the end */

/* Ends with a byte when the test is over; @n is the call's result. */
static void ended(long n, const char *text)
{
	check(ends || n != -1 || errno != EINTR, text);
	check(ends, text);
}

static void *in_read(void *arg)
{
	char c;

	(void)arg;
	ended(read(never[0], &c, 1), "read ended");
	return NULL;
}

static void *in_poll(void *arg)
{
	struct pollfd p = { .fd = never[0], .events = POLLIN };

	(void)arg;
	ended(poll(&p, 1, 1000000), "poll ended");
	return NULL;
}

static void *in_ppoll(void *arg)
{
	struct pollfd p = { .fd = never[0], .events = POLLIN };
	struct timespec t = { 1000, 0 };
	sigset_t none; /* all blocked */

	(void)arg;
	sigfillset(&none);
	ended(ppoll(&p, 1, &t, &none), "ppoll ended");
	return NULL;
}

static void *in_select(void *arg)
{
	struct timeval t = { 1000, 0 };
	fd_set s;

	(void)arg;
	FD_ZERO(&s);
	FD_SET(never[0], &s);
	ended(select(never[0] + 1, &s, NULL, NULL, &t), "select ended");
	return NULL;
}

static void *in_epoll(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, never[0], &e);
	ended(REPEATED(epoll_wait(fd, &e, 1, arg ? 1000000 : -1)), "epoll_wait ended");
	return NULL;
}

static void *in_recv(void *arg)
{
	struct timeval t = { 1000, 0 };
	int *fds = arg;
	char c;

	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	ended(REPEATED(recv(fds[0], &c, 1, 0)), "recv with a timeout ended");
	return NULL;
}

static sem_t semaphore;

static void *in_sem_timedwait(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	ended(sem_timedwait(&semaphore, &t), "sem_timedwait ended");
	return NULL;
}

static int system_v;

static void *in_semop(void *arg)
{
	struct sembuf b = { .sem_op = -1 };

	(void)arg;
	ended(REPEATED(semop(system_v, &b, 1)), "semop ended");
	return NULL;
}

static void *in_sigwait(void *arg)
{
	sigset_t s;

	(void)arg;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	ended(REPEATED(sigwaitinfo(&s, NULL)), "sigwaitinfo ended");
	return NULL;
}

/* Sleeps of 20 ms: never short, never interrupted; long ones would mean that they began anew. */
static void *in_sleep(void *arg)
{
	struct timespec t = { 0, 20000000 }, left, a, b;
	int64_t took;

	while (!ends) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		check(arg ? !nanosleep(&t, &left) : !clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left),
		      "a sleep was interrupted");
		clock_gettime(CLOCK_MONOTONIC, &b);
		took = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
		check(took >= 20000000, "a sleep was too short");
		rounds++;
	}
	return NULL;
}

static void start(void *(*f)(void *), void *arg, pthread_t *t)
{
	if (pthread_create(t, NULL, f, arg))
		abort();
}

static int sockets[2];

static void run_blocked(void)
{
	pthread_t t[16];
	sigset_t s;
	int n = 0;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
	if (pipe(never) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		abort();
	sem_init(&semaphore, 0, 0);
	system_v = semget(IPC_PRIVATE, 1, 0600);
	start(in_poll, NULL, &t[n++]);
	start(in_ppoll, NULL, &t[n++]);
	start(in_select, NULL, &t[n++]);
	start(in_epoll, NULL, &t[n++]);
	start(in_epoll, "timed", &t[n++]);
	start(in_recv, sockets, &t[n++]);
	start(in_sem_timedwait, NULL, &t[n++]);
	start(in_semop, NULL, &t[n++]);
	start(in_sigwait, NULL, &t[n++]);
	start(in_sleep, NULL, &t[n++]);
	start(in_sleep, "nanosleep", &t[n++]);
	start(in_read, NULL, &t[n++]);
	printf("ready\n");
	while (getchar() != EOF)
		;
	ends = true;
	if (write(sockets[1], "", 1) != 1)
		abort();
	sem_post(&semaphore);
	semctl(system_v, 0, IPC_RMID);
	kill(getpid(), SIGUSR2);
	close(never[1]); /* the end of the file, for all its readers */
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* ---------------------------------------------------------------- forks */

static void *nothing(void *arg)
{
	return arg;
}

static void *forks(void *arg)
{
	char *const echo[] = { "true", NULL };
	extern char **environ;
	unsigned seed = (unsigned)(uintptr_t)arg;
	pthread_t t;
	int status;
	pid_t p;

	while (!ends) {
		start(nothing, NULL, &t);
		pthread_join(t, NULL);
		p = fork();
		if (!p)
			_exit(heap_stays(&seed) ? 7 : 8);
		check(p > 0 && waitpid(p, &status, 0) == p && WEXITSTATUS(status) == 7,
		      "a forked child failed");
		check(!posix_spawnp(&p, "true", NULL, NULL, echo, environ) &&
			      waitpid(p, &status, 0) == p && !status,
		      "a spawned child failed");
		rounds++;
	}
	return NULL;
}

/* ---------------------------------------------------------------- signals */

static atomic_ulong handled;

static void handler(int number)
{
	int saved = errno;

	(void)number;
	errno = 0;
	handled++;
	errno = saved;
}

static void run_signals(pthread_t t[])
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		start(busy, (void *)(i + 1), &t[i]);
}

/* ---------------------------------------------------------------- main */

static void wait_for_end(void)
{
	char c;
	ssize_t n;

	printf("ready\n");
	do
		n = read(0, &c, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	ends = true;
}

/* Three threads live when the program is replaced; the count is in the arguments. */
static void run_execs(char **v)
{
	struct pollfd p = { .fd = 0 };
	char count[16];
	pthread_t t;

	for (uintptr_t i = 0; i < 2; i++)
		start(heap, (void *)(i + 1), &t);
	if (!v[2])
		printf("ready\n");
	usleep(5000);
	poll(&p, 1, 0);
	snprintf(count, sizeof count, "%d", v[2] ? atoi(v[2]) + 1 : 1);
	if (!wrong && !(p.revents & POLLHUP))
		execl("/proc/self/exe", v[0], v[1], count, NULL);
	fprintf(stderr, "%s times\n", count);
	printf("%s\n", wrong ? wrong : "ok");
	exit(!!wrong);
}

static void enter_sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

static int start_kind(const char *kind, pthread_t t[])
{
	static const struct {
		const char *name;
		void *(*run)(void *);
		int threads;
	} kinds[] = {
		{ "busy", busy, THREADS },
		{ "heap", heap, THREADS },
		{ "forks", forks, 2 },
		{ "short", busy, 4 },
	};
	int n = 0;

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (uintptr_t i = 0; !strcmp(kind, kinds[k].name) && (int)i < kinds[k].threads;
		     i++)
			start(kinds[k].run, (void *)(i + 1), &t[n++]);
	return n;
}

int main(int n, char **v)
{
	const char *kind = n > 1 ? v[1] : "idle";
	struct itimerval none = { 0 };
	pthread_t t[THREADS];
	int threads;

	setvbuf(stdout, NULL, _IOLBF, 0);
	is_patient = !strcmp(kind, "waiting");
	if (!strcmp(kind, "execs"))
		run_execs(v);
	if (!strcmp(kind, "sandboxed"))
		enter_sandbox();
	if (!strcmp(kind, "guarded"))
		prctl(PR_SET_DUMPABLE, 0);
	threads = start_kind(kind, t);
	if (!strcmp(kind, "signals"))
		run_signals(t), threads = 4;
	if (!strcmp(kind, "short")) {
		usleep((useconds_t)atoi(v[2]) * 1000);
		ends = true;
	} else if (is_patient || !strcmp(kind, "blocked")) {
		run_blocked();
	} else {
		wait_for_end();
	}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	fprintf(stderr, "%lu rounds, %lu signals\n", rounds, handled);
	printf("%s\n", wrong ? wrong : "ok");
	return !!wrong;
}
