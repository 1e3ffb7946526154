/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/life.c - one way to live and to die for each mode; NOTES gets "PID
 * EVENTS" of each process that can still write it, and "secure", "enabled" where a test needs that.
 *
 * usage: program MODE NOTES [NUMBER]
 */
#include "steps.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4 };

static atomic_bool stop;

static void *busy(void *arg)
{
	while (!stop) {
		step(5);
		usleep(200);
	}
	return arg;
}

static void start_threads(pthread_t *t)
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, busy, NULL))
			exit(3);
}

static void stop_threads(pthread_t *t)
{
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void wait_all(void)
{
	pid_t pid;

	do
		pid = wait(NULL);
	while (pid > 0 || errno == EINTR);
}

/* ---------------------------------------------------------------- children */

static void fork_among_threads(void)
{
	pthread_t t[THREADS];

	start_threads(t);
	for (int i = 0; i < o.number; i++) {
		if (!fork())
			child(EVENTS);
		waitpid(-1, NULL, 0);
	}
	stop_threads(t);
}

static void fork_here(int sig)
{
	int saved = errno;

	(void)sig;
	if (!fork())
		child(2);
	o.number--;
	errno = saved;
}

static void set_timer(void (*handler)(int), long us)
{
	struct sigaction a = { .sa_handler = handler };
	struct itimerval t = { { 0, us }, { 0, us } };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void fork_in_handler(void)
{
	set_timer(fork_here, 1000);
	while (o.number > 0) {
		step(1);
		for (volatile int i = 0; i < 1000; i++)
			;
	}
	set_timer(SIG_IGN, 0);
	wait_all();
}

/*
 * The event's last bytes cannot be read: the handler comes in the middle of the copy, and forks.
 * The child comes back into the event that the parent was writing, and ends it late, when the
 * parent's chunk has long gone on: it is the parent's event alone.
 */
enum { LARGE_BYTES = 5 * 4096 };
static unsigned char *large;
static volatile bool is_child;

static void fork_and_return(int sig)
{
	pid_t pid;

	(void)sig;
	mprotect(large, LARGE_BYTES, PROT_READ);
	pid = fork();
	if (pid < 0)
		_exit(3);
	is_child = !pid;
	if (is_child)
		usleep(2000);
}

static void fork_in_mid_event(void)
{
	struct sigaction a = { .sa_handler = fork_and_return };
	int pid = getpid();

	large = mmap(NULL, LARGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < o.number && !is_child; i++) {
		mprotect(large + LARGE_BYTES - 4096, 4096, PROT_NONE);
		for (int k = 0; k < 5 && !is_child; k++, n_steps++)
			trace_life_large(pid, n_steps, large, LARGE_BYTES);
		if (!is_child)
			usleep(1000);
	}
	if (is_child) {
		n_steps = 0;
		step(3);
	} else {
		wait_all();
	}
}

static void load_plugin(int pid, int i, int *count)
{
	void (*f)(int, int);
	void *l, *p;
	char path[1024];

	snprintf(path, sizeof path, "%s/life_plugin.so", getenv("LIFE_DIR"));
	l = dlopen(path, RTLD_NOW);
	p = l ? dlsym(l, "plugin_step") : NULL;
	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	memcpy(&f, &p, sizeof f);
	if (pid) {
		f(pid, i);
		*count += 2;
	}
	dlclose(l);
}

static void fork_in_handler_of_a_loader(void)
{
	set_timer(fork_here, 700);
	while (o.number > 0)
		load_plugin(0, 0, NULL);
	set_timer(SIG_IGN, 0);
	wait_all();
}

static void vfork_and_spawn(void)
{
	char number[] = "3", mode[] = "plain";
	char *args[] = { (char *)o.self, mode, (char *)o.notes, number, NULL };
	extern char **environ;
	pid_t pid;

	step(1);
	for (int i = 0; i < o.number; i++) {
		pid = vfork();
		if (!pid) {
			execv(o.self, args);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		if (!posix_spawn(&pid, o.self, NULL, NULL, args, environ))
			waitpid(pid, NULL, 0);
	}
}

static void vfork_and_record(void)
{
	pid_t pid;

	step(1);
	for (int i = 0; i < o.number; i++) {
		pid = vfork();
		if (!pid) {
			step(1); /* in the parent's name */
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void raw_clone(void)
{
	step(1);
	for (int i = 0; i < o.number; i++) {
		long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

		if (!pid)
			child(EVENTS);
		waitpid((pid_t)pid, NULL, 0);
	}
}

static void exec_again(void)
{
	char number[16];

	step(3);
	note_steps();
	snprintf(number, sizeof number, "%d", o.number - 1);
	if (o.number)
		execl(o.self, o.self, o.mode, o.notes, number, (char *)NULL);
	_exit(0);
}

static void daemonise(void)
{
	char number[] = "0";

	step(1);
	note_steps();
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	(void)number;
	syscall(SYS_close_range, 0, ~0u, 0);
	(void)!chdir("/");
	n_steps = 0;
	step(100);
	o.notes_fd = open(o.notes, O_WRONLY | O_APPEND);
	note("descriptor", o.notes_fd); /* 0: we took none */
	note_steps();
	_exit(0);
}

/* ---------------------------------------------------------------- ends */

static void *end_thread(void *arg)
{
	step(EVENTS);
	pthread_exit(arg);
}

static void thread_exits(void)
{
	pthread_t t;

	for (int i = 0; i < o.number; i++)
		if (!pthread_create(&t, NULL, end_thread, NULL))
			pthread_join(t, NULL);
}

static void die_by(const char *how)
{
	step(EVENTS);
	note_steps();
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (!strcmp(how, "sigkill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(NULL);
}

/* ---------------------------------------------------------------- locked up */

static void *some_steps(void *arg)
{
	step(EVENTS);
	return arg;
}

#define ALLOW(number)                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(number)                                                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void leave(int s)
{
	(void)s;
	_exit(0);
}

static void install(struct sock_filter *filter, unsigned short n)
{
	struct sock_fprog p = { n, filter };

	signal(SIGTERM, leave);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		exit(77);
}

static void refuse_sockets(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				   REFUSE(SYS_socket),
				   REFUSE(SYS_connect),
				   REFUSE(SYS_memfd_create),
				   REFUSE(SYS_sendto),
				   REFUSE(SYS_recvmsg),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	install(f, sizeof f / sizeof *f);
}

/* The calls that this program still needs; none that returns its identity. */
static void kill_for_all_but_the_least(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				   ALLOW(SYS_write),
				   ALLOW(SYS_exit_group),
				   ALLOW(SYS_exit),
				   ALLOW(SYS_nanosleep),
				   ALLOW(SYS_clock_nanosleep),
				   ALLOW(SYS_mmap),
				   ALLOW(SYS_munmap),
				   ALLOW(SYS_mprotect),
				   ALLOW(SYS_madvise),
				   ALLOW(SYS_clone),
				   ALLOW(SYS_clone3),
				   ALLOW(SYS_futex),
				   ALLOW(SYS_rt_sigprocmask),
				   ALLOW(SYS_rt_sigaction),
				   ALLOW(SYS_set_robust_list),
				   ALLOW(SYS_rseq),
				   ALLOW(SYS_prctl),
				   ALLOW(SYS_getpid),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };

	install(f, sizeof f / sizeof *f);
}

/* Waits under the filter until the event is enabled, and afterwards for SIGTERM. */
static void wait_and_step(void)
{
	struct timespec t = { 0, 10000000 };
	pthread_t thread;

	note("ready", (int)syscall(SYS_getpid));
	for (int i = 0; i < 12000 && !trace_life_step_enabled(); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	step(EVENTS);
	if (!pthread_create(&thread, NULL, some_steps, NULL))
		pthread_join(thread, NULL);
	note_steps();
	for (int i = 0; i < o.number; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	_exit(0);
}

static void filter_kills(void)
{
	kill_for_all_but_the_least();
	wait_and_step();
}

static void filter_refuses(void)
{
	refuse_sockets();
	wait_and_step();
}

static void filter_kills_a_child(void)
{
	int status = 0;

	step(1);
	if (!fork()) {
		kill_for_all_but_the_least();
		child(EVENTS);
	}
	wait(&status);
	note("status", status);
}

static void change_root(void)
{
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		exit(77);
	step(EVENTS);
	if (!fork())
		child(EVENTS);
	wait(NULL);
}

static void secure(void)
{
	step(EVENTS);
	note("secure", (int)getauxval(AT_SECURE));
	note("enabled", trace_life_step_enabled());
}

/* ---------------------------------------------------------------- others */

static void nothing(int sig)
{
	(void)sig;
}

static __attribute__((constructor(101))) void early_timer(void)
{
	if (getenv("LIFE_TIMER"))
		set_timer(nothing, 50);
}

/* A number out of /proc/self/status, or the number of mappings. */
static long status_of(const char *what)
{
	FILE *f = fopen(what ? "/proc/self/status" : "/proc/self/maps", "re");
	char line[512];
	long n = 0;

	while (f && fgets(line, sizeof line, f))
		if (!what)
			n++;
		else if (!strncmp(line, what, strlen(what)))
			n = atol(line + strlen(what));
	if (f)
		fclose(f);
	return n;
}

static void load_and_unload(void)
{
	int pid = (int)getpid(), count = 0;
	long rss = 0, maps = 0;

	for (int i = 0; i < o.number; i++) {
		load_plugin(pid, i, &count);
		if (i == 50) {
			rss = status_of("RssAnon:");
			maps = status_of(NULL);
		}
	}
	n_steps += count;
	note("rss", (int)(status_of("RssAnon:") - rss));
	note("maps", (int)(status_of(NULL) - maps));
	note("next_descriptor", dup(0));
}

static void plain(void)
{
	step(o.number);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "plain", plain },
		      { "fork_among_threads", fork_among_threads },
		      { "fork_in_handler", fork_in_handler },
		      { "fork_in_mid_event", fork_in_mid_event },
		      { "fork_in_handler_of_a_loader", fork_in_handler_of_a_loader },
		      { "vfork_and_spawn", vfork_and_spawn },
		      { "vfork_and_record", vfork_and_record },
		      { "raw_clone", raw_clone },
		      { "exec_again", exec_again },
		      { "daemonise", daemonise },
		      { "thread_exits", thread_exits },
		      { "filter_kills", filter_kills },
		      { "filter_refuses", filter_refuses },
		      { "filter_kills_a_child", filter_kills_a_child },
		      { "chroot", change_root },
		      { "secure", secure },
		      { "load_and_unload", load_and_unload } };

	if (!begin(argc, argv))
		return 2;
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, o.mode)) {
			modes[i].run();
			note_steps();
			return 0;
		}
	die_by(o.mode);
	return 0;
}
