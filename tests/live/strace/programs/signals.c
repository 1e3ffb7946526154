/* SPDX-License-Identifier: MIT */
/* signals.c - receives signals of all kinds, and ends by one: signals HOW. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int signal)
{
	(void)signal;
}

static void child(int how)
{
	pid_t pid = fork();

	if (!pid && how < 0)
		_exit(-how);
	if (!pid)
		signal(SIGALRM, SIG_DFL), raise(how);
	while (waitpid(pid, NULL, 0) < 0)
		;
}

static void timer(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGUSR2,
			      .sigev_value.sival_int = 77 };
	struct itimerspec once = { .it_value.tv_nsec = 1 };
	timer_t t;

	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &once, NULL);
	usleep(10000);
}

static void refuse(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 5),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { 4, f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	syscall(SYS_getppid);
}

static void end(const char *how)
{
	char *page = mmap((void *)0x123400000, 4096, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (!strcmp(how, "accerr"))
		page[16] = 1;
	if (!strcmp(how, "maperr"))
		*(volatile char *)(intptr_t)0x10 = 1;
	if (!strcmp(how, "fpe"))
		page[0] = (char)(1 / (volatile int){ 0 });
	if (!strcmp(how, "ill"))
		__builtin_trap();
	if (!strcmp(how, "protection"))
		*(volatile char *)(intptr_t)0x1111111111111111 = 1;
	if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "killed"))
		kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	struct itimerval once = { .it_value.tv_usec = 1 };
	int fds[2];

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	for (int s = 1; s < 32; s++)
		if (s != SIGSEGV && s != SIGFPE && s != SIGILL && s != SIGTERM)
			signal(s, nothing);
	kill(getpid(), SIGHUP);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 4711 });
	child(-3);
	child(SIGKILL);
	child(SIGALRM);
	setitimer(ITIMER_REAL, &once, NULL);
	usleep(10000);
	timer();
	if (!pipe(fds)) {
		fcntl(fds[0], F_SETOWN, getpid());
		fcntl(fds[0], F_SETSIG, SIGIO);
		fcntl(fds[0], F_SETFL, O_ASYNC);
		(void)!write(fds[1], "x", 1);
	}
	refuse();
	end(argc > 1 ? argv[1] : "");
	return 0;
}
