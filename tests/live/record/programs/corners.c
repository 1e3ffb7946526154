/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/corners.c - programs in strange surroundings, and events at strange places.
 *
 * Called as steps.h describes.  A program to be enabled from outside notes "ready" and waits.
 */
#include "steps.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "abi/control.h"

/* Counted only if a session records by now. */
static void step_if_enabled(void)
{
	if (trace_life_step_enabled())
		step(1);
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void wait_until_enabled(void)
{
	note("ready", (int)getpid());
	for (int i = 0; i < 12000 && !trace_life_step_enabled(); i++)
		sleep_ms(10);
}

static void in_thread(void *(*run)(void *), size_t stack)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	if (stack)
		pthread_attr_setstacksize(&a, stack);
	if (pthread_create(&t, &a, run, NULL))
		exit(3);
	pthread_join(t, NULL);
	pthread_attr_destroy(&a);
}

static void *some_steps(void *arg)
{
	step(EVENTS);
	return arg;
}

static void wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		note("bad_end", 1);
}

/* ---------------------------------------------------------------- before main, after main */

static bool is_ordered; /* the mode that counts those below */

static __attribute__((constructor(101))) void before_registration(void)
{
	trace_life_step((int)getpid(), 0); /* not known yet: dormant, and harmless */
}

/* Runs after all destructors without a number, libduet's own among them. */
static __attribute__((destructor(101))) void after_everything(void)
{
	if (!is_ordered)
		return;
	step_if_enabled();
	note_steps();
}

static void at_exit(void)
{
	step_if_enabled();
}

static void key_destructor(void *arg)
{
	(void)arg;
	step(1);
}

static void *use_key(void *arg)
{
	static pthread_key_t key;

	pthread_key_create(&key, key_destructor);
	pthread_setspecific(key, "any");
	return arg;
}

static int resolved(void)
{
	return 7;
}

/* Runs while the program is being relocated. */
static int (*resolve(void))(void)
{
	trace_life_step(0, 0);
	return resolved;
}
int indirect(void) __attribute__((ifunc("resolve")));

static void ordered(void)
{
	is_ordered = true;
	atexit(at_exit);
	step(1);
	in_thread(use_key, 0);
	if (indirect() != 7)
		note("bad_end", 1);
	exit(0);
}

static void quick(void)
{
	at_quick_exit(note_steps); /* the last to run */
	at_quick_exit(at_exit);
	step(1);
	quick_exit(0);
}

/* ---------------------------------------------------------------- stacks and signals */

static void *mark_and_step(void *arg)
{
	step(2);
	trace_mark(life, marked, "pid %d text %s", (int)getpid(), "on a small stack");
	return arg;
}

static void small_stacks(void)
{
	for (int i = 0; i < 3; i++)
		in_thread(mark_and_step, (size_t)PTHREAD_STACK_MIN);
	n_steps += 3; /* the marks */
}

/* The lowest address of the kernel's signal frame that a program knows; x86 keeps the registers above. */
static const unsigned char *signal_frame;

static void handle(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	signal_frame =
		(unsigned char *)context < (unsigned char *)info ? context : (unsigned char *)info;
	step(2);
	trace_mark(life, marked, "pid %d text %s", (int)getpid(), "on a signal stack");
}

/*
 * How many bytes of the stack the handler used, below the kernel's frame.
 *
 * The frame is not as large as AT_MINSIGSTKSZ: on processors with AMX that has room for tiles, which
 * the kernel writes only for programs that asked for them.  So the frame's address is taken.
 */
static int depth(const unsigned char *stack)
{
	const unsigned char *p = stack;

	while (p < signal_frame && *p == 0xa5)
		p++;
	return (int)(signal_frame - p);
}

/* The first event comes in a handler on a signal stack of the size that libc reports. */
static void signal_stack(void)
{
	size_t size = (size_t)sysconf(_SC_SIGSTKSZ);
	unsigned char *stack =
		mmap(NULL, size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction a = { .sa_sigaction = handle, .sa_flags = SA_ONSTACK | SA_SIGINFO };
	stack_t s = { .ss_size = size };

	size &= ~(size_t)4095;
	s.ss_sp = stack += 4096; /* behind a page without access */
	s.ss_size = size;
	if (mprotect(stack, size, PROT_READ | PROT_WRITE))
		exit(3);
	memset(stack, 0xa5, size);
	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	wait_until_enabled();
	raise(SIGUSR1);
	note("first_depth", depth(stack));
	memset(stack, 0xa5, size);
	raise(SIGUSR1);
	note("later_depth", depth(stack));
	n_steps += 2;
}

static void all_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	wait_until_enabled();
	step(EVENTS);
	in_thread(some_steps, 0);
	if (!fork())
		child(EVENTS);
	wait(NULL);
}

static void stopped(void)
{
	step(EVENTS);
	note("ready", (int)getpid());
	raise(SIGSTOP);
	step(EVENTS);
}

/* ---------------------------------------------------------------- made by hand */

static atomic_int hand_made;

static int step_by_hand(void *arg)
{
	(void)arg;
	step(1);
	atomic_store(&hand_made, 0);
	return 0;
}

/* They share the memory of libc's own data with the thread that makes them, and it waits. */
static void by_hand(void)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int thread =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	uint64_t like_fork[8] = { [4] = SIGCHLD };

	step(1);
	for (int i = 0; i < 10; i++) {
		pid_t pid =
			clone(step_by_hand, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

		wait_for(pid);
		hand_made = 1;
		if (clone(step_by_hand, stack + 65536, thread, NULL) < 0)
			exit(3);
		while (hand_made)
			sleep_ms(1);
		sleep_ms(1); /* it is still on its stack */
		pid = (pid_t)syscall(SYS_clone3, like_fork, sizeof like_fork);
		if (!pid)
			child(EVENTS);
		wait_for(pid);
	}
}

/* In the child another thread records first; the one that forked has its own name then, too. */
static void forked_then_threaded(void)
{
	step(1);
	if (!fork()) {
		n_steps = 0;
		in_thread(some_steps, 0);
		step(EVENTS);
		note_steps();
		_exit(0);
	}
	wait(NULL);
}

static void exec_fails(void)
{
	step(1);
	execl("/nonexistent", "nonexistent", (char *)NULL);
	step(1);
	if (!fork()) {
		n_steps = 0;
		execl("/nonexistent", "nonexistent", (char *)NULL);
		child(EVENTS);
	}
	wait(NULL);
}

/* ---------------------------------------------------------------- rights */

static void give_up_rights(void)
{
	if (setgid(65534) || setuid(65534))
		exit(77);
}

static void steps_of_all(void)
{
	step(EVENTS);
	in_thread(some_steps, 0);
	if (!fork())
		child(EVENTS);
	wait(NULL);
}

/* Recorded before; its child cannot join any more. */
static void drop_rights(void)
{
	step(1);
	give_up_rights();
	steps_of_all();
}

static void drop_rights_first(void)
{
	give_up_rights();
	wait_until_enabled();
	step(EVENTS);
}

/* ---------------------------------------------------------------- clocks */

static volatile sig_atomic_t is_over;

static void on_term(int s)
{
	is_over = s;
}

static void plain_later(void)
{
	signal(SIGTERM, on_term);
	wait_until_enabled();
	step(EVENTS);
	note("lingers", 1);
	for (int i = 0; i < 12000 && !is_over; i++)
		sleep_ms(10);
}

/* Even libc's clock_gettime would kill it. */
static void without_counter(void)
{
#if defined __x86_64__
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#endif
	plain_later();
}

/* Only read, write and _exit are left to it, and not even a clock. */
static void strict(void)
{
	char c;

	note("ready", (int)getpid());
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	while (syscall(SYS_read, 0, &c, 1) > 0)
		trace_life_step(0, 0);
	syscall(SYS_exit, 0);
}

/* ---------------------------------------------------------------- limits */

static void no_address_space(void)
{
	struct rlimit few = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_AS, &few);
	wait_until_enabled();
	step(EVENTS);
}

/* Lost as long as there is no descriptor; recorded when there is one again, a second later. */
static void no_descriptor(void)
{
	struct rlimit few = { 16, 16 };
	int fds[16], n = 0;

	wait_until_enabled();
	setrlimit(RLIMIT_NOFILE, &few);
	while (n < 16 && (fds[n] = dup(0)) >= 0)
		n++;
	step(EVENTS);
	while (n)
		close(fds[--n]);
	sleep_ms(1100);
	step(EVENTS);
}

/* ---------------------------------------------------------------- the environment */

static void environment_changes(void)
{
	setenv("DUET_RUNTIME_DIR", "/nonexistent", 1);
	setenv("DUET_SESSION", "other", 1);
	wait_until_enabled();
	step(EVENTS);
	clearenv();
	if (!fork())
		child(EVENTS);
	wait(NULL);
}

/* The line in /proc/self/<file> that begins with or contains @what. */
static bool find_line(const char *file, const char *what, char *line, int size)
{
	char path[64];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/%s", file);
	f = fopen(path, "re");
	while (f && !found && fgets(line, size, f))
		found = strstr(line, what);
	if (f)
		fclose(f);
	return found;
}

static const char *own_page(char line[4096])
{
	char *path = find_line("maps", "/app-", line, 4096) ? strchr(line, '/') : NULL;

	if (!path)
		return "/nonexistent";
	path[strcspn(path, "\n")] = 0;
	return path;
}

static void modes_of_files(void)
{
	char line[4096];
	struct stat st;

	if (!stat(own_page(line), &st))
		note("page_mode", (int)st.st_mode & 0777);
	*strrchr(line, '/') = 0;
	if (!stat(strchr(line, '/'), &st))
		note("directory_mode", (int)st.st_mode & 0777);
}

/* Whether a core dump will hold the buffers: the flags behind their line in smaps. */
static void core(void)
{
	char line[4096];
	bool in_pool = false;
	FILE *f;

	step(1);
	f = fopen("/proc/self/smaps", "re");
	while (f && fgets(line, sizeof line, f)) {
		if (strstr(line, "duet-pool"))
			in_pool = true;
		if (in_pool && !strncmp(line, "VmFlags:", 8)) {
			note("excluded", strstr(line, " dd") != NULL);
			in_pool = false;
		}
	}
	fclose(f);
	step(EVENTS);
	note_steps();
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static uint32_t events_in_page(void)
{
	struct abi_control c = { .n_events = 0 };
	char line[4096];
	int fd = open(own_page(line), O_RDONLY);

	(void)!read(fd, &c, sizeof c);
	close(fd);
	return c.n_events;
}

/* The same library under so many names: each is an object of its own. */
static void many_objects(void)
{
	uint32_t before = 0;

	for (int i = 0; i < o.number; i++) {
		char path[1024];
		void (*f)(int, int);
		void *l, *p;

		snprintf(path, sizeof path, "%s/plugin-%d.so", getenv("LIFE_PLUGINS"), i);
		l = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		p = l ? dlsym(l, "plugin_step") : NULL;
		if (!p) {
			fprintf(stderr, "%s\n", dlerror());
			exit(3);
		}
		memcpy(&f, &p, sizeof f);
		f((int)getpid(), i);
		n_steps += 2;
		if (!i)
			before = events_in_page();
	}
	note("more_events", (int)(events_in_page() - before));
	if (!fork())
		child(EVENTS);
	wait(NULL);
}

/* ---------------------------------------------------------------- others */

/* In pid namespaces of our own, one in the other: the child is number 1 in each. */
static void nested_namespaces(void)
{
	step(1);
	if (unshare(CLONE_NEWPID))
		exit(77);
	if (!fork()) {
		n_steps = 0;
		step(1);
		if (!unshare(CLONE_NEWPID) && !fork())
			child(EVENTS);
		wait(NULL);
		note_steps();
		_exit(0);
	}
	wait(NULL);
}

static void traced(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		child(EVENTS);
	}
	while (waitpid(pid, &status, 0) == pid && !WIFEXITED(status) && !WIFSIGNALED(status))
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	note("status", status);
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
		      { "plain_later", plain_later },
		      { "ordered", ordered },
		      { "quick", quick },
		      { "small_stacks", small_stacks },
		      { "signal_stack", signal_stack },
		      { "all_blocked", all_blocked },
		      { "stopped", stopped },
		      { "by_hand", by_hand },
		      { "forked_then_threaded", forked_then_threaded },
		      { "exec_fails", exec_fails },
		      { "drop_rights", drop_rights },
		      { "drop_rights_first", drop_rights_first },
		      { "without_counter", without_counter },
		      { "strict", strict },
		      { "no_address_space", no_address_space },
		      { "no_descriptor", no_descriptor },
		      { "environment_changes", environment_changes },
		      { "modes_of_files", modes_of_files },
		      { "core", core },
		      { "many_objects", many_objects },
		      { "nested_namespaces", nested_namespaces },
		      { "traced", traced } };

	if (!begin(argc, argv))
		return 2;
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, o.mode)) {
			modes[i].run();
			note_steps();
			return 0;
		}
	return 2;
}
