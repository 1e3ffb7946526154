/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/inject.c - runs a command and makes its n-th system call fail.
 *
 * usage: inject [-n N] [-e ERRNO] [-l LIBRARY] [-s] [-f] [-o REPORT] -- COMMAND ...
 *
 *   -n N         which call, from 1; none: only count
 *   -e ERRNO     how it fails; default ENOMEM
 *   -l LIBRARY   count only calls that this library makes: by itself, or a return address into it
 *                lies on top of the stack, as libc's wrappers are leaves or nearly so
 *   -s           only from the end of the dynamic loader's work on: its failures are its own
 *   -f           children made by fork and clone too
 *   -o REPORT    "calls COUNT", and "failed NAME" with the number of the call that was made to fail
 *
 * The exit status is the command's; 128 + signal if one killed it.  By ptrace(2), so that it works
 * for static programs and for everything libc does on its own.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 64, STACK_WORDS = 4, SYSCALL_STOP = SIGTRAP | 0x80 };

struct task {
	pid_t tid;
	bool in_call;
	bool is_to_fail;
	uint64_t argument; /* the first one of that call */
	bool knows_text;
	uint64_t text_begin, text_end; /* of the library */
};

static struct task tasks[TASKS];
static struct {
	long n, count, failed;
	int error;
	const char *library;
	bool follow, skip_loader;
} o = { .error = ENOMEM, .failed = -1 };

static struct task *task_of(pid_t tid)
{
	struct task *free_one = NULL;

	for (int i = 0; i < TASKS; i++) {
		if (tasks[i].tid == tid)
			return &tasks[i];
		if (!tasks[i].tid && !free_one)
			free_one = &tasks[i];
	}
	if (!free_one)
		exit(125);
	*free_one = (struct task){ .tid = tid };
	return free_one;
}

/* Where the code of the file named so lies, if it is mapped already. */
static bool find_text(struct task *t, const char *file)
{
	unsigned long begin, end;
	char path[64], line[1024];
	FILE *f;

	if (t->knows_text)
		return true;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (strstr(line, " r-xp ") && strchr(line, '/') &&
		    strstr(strchr(line, '/'), file) && sscanf(line, "%lx-%lx", &begin, &end) == 2) {
			t->text_begin = begin;
			t->text_end = end;
			t->knows_text = true;
		}
	}
	if (f)
		fclose(f);
	return t->knows_text;
}

static bool is_from_library(struct task *t, const struct user_regs_struct *r)
{
	uint64_t words[STACK_WORDS];
	struct iovec to = { words, sizeof words }, from = { (void *)r->rsp, sizeof words };

	if (!o.library)
		return true;
	if (!find_text(t, o.library))
		return false;
	if (r->rip >= t->text_begin && r->rip < t->text_end)
		return true;
	if (process_vm_readv(t->tid, &to, 1, &from, 1, 0) != (ssize_t)sizeof words)
		return false;
	for (int i = 0; i < STACK_WORDS; i++)
		if (words[i] >= t->text_begin && words[i] < t->text_end)
			return true;
	return false;
}

/* The loader has system calls of its own; users of libc's run after it. */
static bool is_from_loader(struct task *t, const struct user_regs_struct *r)
{
	if (o.skip_loader && find_text(t, "/ld-linux") && r->rip >= t->text_begin &&
	    r->rip < t->text_end)
		return true;
	o.skip_loader = false;
	return false;
}

static bool may_fail(long number)
{
	return number != SYS_exit && number != SYS_exit_group && number != SYS_rt_sigreturn &&
	       number != SYS_execve && number != SYS_getpid &&
	       number != SYS_gettid; /* cannot fail */
}

static void on_call(struct task *t)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &r))
		return;
	t->in_call = !t->in_call;
	if (t->in_call) {
		if (!may_fail((long)r.orig_rax) || is_from_loader(t, &r) ||
		    !is_from_library(t, &r) || ++o.count != o.n)
			return;
		o.failed = (long)r.orig_rax;
		/* brk has no errors: it returns the previous break, as it does when asked for 0.
		 * close closes, even if it returns an error. */
		t->is_to_fail = true;
		t->argument = r.rdi;
		if (o.failed == SYS_brk)
			r.rdi = 0;
		else if (o.failed != SYS_close)
			r.orig_rax = (unsigned long long)-1;
		ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
	} else if (t->is_to_fail) {
		t->is_to_fail = false;
		r.rdi = t->argument;
		if (o.failed != SYS_brk)
			r.rax = (unsigned long long)-o.error;
		ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
	}
}

/* The signal to deliver as the task goes on. */
static int on_stop(struct task *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (sig == SYSCALL_STOP)
		on_call(t);
	else if (event == PTRACE_EVENT_EXEC)
		t->knows_text = false;
	else if (!event && sig != SIGSTOP && sig != SIGTRAP)
		return sig;
	return 0;
}

static int run(pid_t main_pid)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status, result = 126;
	bool begun = false;
	pid_t tid;

	if (o.follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *t = task_of(tid);

		if (WIFSTOPPED(status)) {
			if (!begun)
				ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options);
			begun = true;
			ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)on_stop(t, status));
			continue;
		}
		if (tid == main_pid)
			result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		t->tid = 0;
	}
	return result;
}

int main(int argc, char **argv)
{
	const char *report = NULL;
	int c, result;
	pid_t pid;
	FILE *f;

	while ((c = getopt(argc, argv, "+n:e:l:o:fs")) != -1) {
		if (c == 'n')
			o.n = atol(optarg);
		else if (c == 'e')
			o.error = atoi(optarg);
		else if (c == 'l')
			o.library = optarg;
		else if (c == 'o')
			report = optarg;
		else if (c == 's')
			o.skip_loader = true;
		else if (c == 'f')
			o.follow = true;
		else
			return 125;
	}
	if (optind == argc)
		return 125;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[optind], argv + optind);
		_exit(127);
	}
	result = run(pid);
	f = report ? fopen(report, "we") : NULL;
	if (f) {
		fprintf(f, "calls %ld\nfailed %ld\n", o.count, o.failed);
		fclose(f);
	}
	return result;
}
