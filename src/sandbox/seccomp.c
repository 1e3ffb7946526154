/* SPDX-License-Identifier: MIT */
/*
 * sandbox/seccomp.c - the system calls of a process, as a filter of classic BPF.
 *
 * The filter searches the number of the call among the rows of calls.def.  The kernel keeps a bitmap
 * of the calls that are allowed whatever their arguments (Linux 5.11), and runs the filter for the
 * others alone.
 *
 * A refused call raises SIGSYS in its thread (SECCOMP_RET_TRAP).  The handler writes a line and lets
 * the call fail.  SECCOMP_RET_ERRNO would be silent, and SECCOMP_RET_LOG reaches the kernel's log
 * alone.  An attacker in the process can replace the handler, but not the refusal.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sandbox/internal.h"

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define RESULT_OF(u) (u)->uc_mcontext.gregs[REG_RAX]
#define FOREIGN_CALLS 0x40000000u /* x32 */
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define RESULT_OF(u) (u)->uc_mcontext.regs[0]
#define FOREIGN_CALLS 0x80000000u
#endif

bool sandbox_has_seccomp(void)
{
#ifdef ARCHITECTURE
	const uint32_t action = SECCOMP_RET_TRAP;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action);
#else
	return false;
#endif
}

#ifdef ARCHITECTURE

/* Newer than the headers of some distributions; the numbers are those of all architectures. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* Rights that follow from others. */
enum { TRAFFIC = 1 << 16, MAKES_SOCKETS = 1 << 17 };

#define OPENS_TO_WRITE (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

struct list {
	uint32_t n, at[20];
};
#define LIST(name, ...)                                                                            \
	static const struct list name = { sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4,           \
					  { __VA_ARGS__ } }

/* None that sends a signal to another process: F_SETOWN, F_SETSIG, F_NOTIFY. */
LIST(harmless_fcntls, F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK,
     F_SETLK, F_SETLKW, 36 /* F_OFD_GETLK */, 37 /* F_OFD_SETLK */, 38 /* F_OFD_SETLKW */,
     1031 /* F_SETPIPE_SZ */, 1032 /* F_GETPIPE_SZ */, 1033 /* F_ADD_SEALS */,
     1034 /* F_GET_SEALS */);
/* None that types into a terminal (TIOCSTI, TIOCLINUX).  Each reads; FIONBIO sets a flag. */
LIST(harmless_ioctls, 0x5401 /* TCGETS */, 0x540f /* TIOCGPGRP */, 0x5413 /* TIOCGWINSZ */,
     0x541b /* FIONREAD */, 0x5421 /* FIONBIO */, 0x802c542a /* TCGETS2 */);
LIST(harmless_prctls, PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE,
     PR_SET_DUMPABLE, PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ,
     0x53564d41 /* PR_SET_VMA: names of mappings */);
LIST(families, AF_INET, AF_INET6, AF_UNIX, AF_NETLINK);
LIST(unix_family, AF_UNIX);

enum check {
	CHECK_NOTHING,
	CHECK_WITHOUT,
	CHECK_WITH,
	CHECK_OWN,
	CHECK_LIST,
	IS_ABSENT,
	IS_ATTACK,
	LACKS_RIGHT
};

static const struct row {
	int call;
	enum check check;
	uint32_t rights;
	int argument;
	uint32_t bits;
	const struct list *list;
} rows[] = {
#define ALLOW(call, rights) { SYS_##call, CHECK_NOTHING, rights, 0, 0, NULL },
#define WITHOUT_BITS(call, rights, arg, bits)                                                      \
	{ SYS_##call, CHECK_WITHOUT, rights, arg, bits, NULL },
#define WITH_BITS(call, rights, arg, bits) { SYS_##call, CHECK_WITH, rights, arg, bits, NULL },
#define OWN(call, rights, arg) { SYS_##call, CHECK_OWN, rights, arg, 0, NULL },
#define ONE_OF(call, rights, arg, list) { SYS_##call, CHECK_LIST, rights, arg, 0, &(list) },
#define ABSENT(call) { SYS_##call, IS_ABSENT, 0, 0, 0, NULL },
#define ATTACK(call) { SYS_##call, IS_ATTACK, 0, 0, 0, NULL },
#include "sandbox/calls.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---------------------------------------------------------------- the filter */

enum { INSNS_MAX = 1024 };

struct filter {
	struct sock_filter at[INSNS_MAX];
	unsigned n;
};

static void put(struct filter *f, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	assert(f->n < INSNS_MAX); /* rows are ours */
	f->at[f->n++] = (struct sock_filter){ code, if_true, if_false, k };
}

static void load(struct filter *f, size_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end_with(struct filter *f, uint32_t action)
{
	put(f, BPF_RET | BPF_K, action, 0, 0);
}

/* The next @n instructions are for values that are equal to @k. */
static void if_equal(struct filter *f, uint32_t k, uint8_t n)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, n);
}

static uint32_t refusal(int error)
{
	return SECCOMP_RET_TRAP | (uint32_t)error;
}

/* Little-endian: the low half of an argument comes first. */
static void load_argument(struct filter *f, int argument)
{
	load(f, offsetof(struct seccomp_data, args) + (size_t)argument * sizeof(uint64_t));
}

static void put_values(struct filter *f, const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if_equal(f, values[i], 1);
		end_with(f, SECCOMP_RET_ALLOW);
	}
	end_with(f, refusal(EPERM));
}

static void put_check(struct filter *f, const struct row *r)
{
	const uint32_t own[] = { 0, (uint32_t)getpid() };

	switch (r->check) {
	case CHECK_NOTHING:
		return end_with(f, SECCOMP_RET_ALLOW);
	case IS_ABSENT:
		return end_with(f, SECCOMP_RET_ERRNO | ENOSYS);
	case IS_ATTACK:
		return end_with(f, SECCOMP_RET_KILL_PROCESS);
	case LACKS_RIGHT:
		return end_with(f, refusal(EPERM));
	case CHECK_OWN: /* kill(0) reaches the whole process group */
		load_argument(f, r->argument);
		return put_values(f, r->call == SYS_kill ? own + 1 : own,
				  r->call == SYS_kill ? 1 : 2);
	case CHECK_LIST:
		load_argument(f, r->argument);
		return put_values(f, r->list->at, r->list->n);
	case CHECK_WITH:
	case CHECK_WITHOUT:
		load_argument(f, r->argument);
		put(f, BPF_ALU | BPF_AND | BPF_K, r->bits, 0, 0);
		return put_values(f, r->check == CHECK_WITH ? &r->bits : own, 1);
	}
}

/* A comparison and its check, which always ends the filter. */
static void put_row(struct filter *f, const struct row *r)
{
	unsigned at = f->n;

	if_equal(f, (uint32_t)r->call, 0);
	put_check(f, r);
	assert(f->n - at - 1 <= UINT8_MAX);
	f->at[at].jf = (uint8_t)(f->n - at - 1);
}

static int by_call(const void *a, const void *b)
{
	return ((const struct row *)a)->call - ((const struct row *)b)->call;
}

/* The row of each call that holds with these rights, by number.  Returns how many. */
static int choose_rows(struct row chosen[N_ROWS], uint32_t rights)
{
	int n = 0, k;

	for (int i = 0; i < N_ROWS; i++) {
		bool holds = !(rows[i].rights & ~rights);

		for (k = 0; k < n && chosen[k].call != rows[i].call; k++)
			;
		if (k < n && chosen[k].check != LACKS_RIGHT)
			continue;
		chosen[k] = rows[i];
		if (!holds)
			chosen[k].check = LACKS_RIGHT;
		n += k == n;
	}
	qsort(chosen, (size_t)n, sizeof *chosen, by_call);
	return n;
}

/* A search by halves: when the filter is installed the kernel runs it once for each call there is. */
static void put_rows(struct filter *f, const struct row *r, int n)
{
	enum { FEW = 4 };
	unsigned at;

	if (n <= FEW) {
		for (int i = 0; i < n; i++)
			put_row(f, &r[i]);
		return end_with(f, refusal(ENOSYS));
	}
	put(f, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)r[n / 2].call, 0, 1);
	at = f->n;
	put(f, BPF_JMP | BPF_JA, 0, 0, 0); /* its jump may be long */
	put_rows(f, r, n / 2);
	f->at[at].k = f->n - at - 1;
	put_rows(f, r + n / 2, n - n / 2);
}

static void build(struct filter *f, uint32_t rights)
{
	struct row chosen[N_ROWS];

	f->n = 0;
	load(f, offsetof(struct seccomp_data, arch));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	end_with(f, SECCOMP_RET_KILL_PROCESS);
	load(f, offsetof(struct seccomp_data, nr));
	put(f, BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1);
	end_with(f, SECCOMP_RET_KILL_PROCESS);
	put_rows(f, chosen, choose_rows(chosen, rights));
}

/* ---------------------------------------------------------------- refused calls */

enum { CALLS_MAX = 1024 };
static const char *program;
static uint8_t was_reported[CALLS_MAX];

static void report(int call)
{
	char line[160], digits[12];
	size_t n = strnlen(program, 40), at = sizeof digits;
	static const char text[] = ": the sandbox refused system call ";

	if (call < 0 || call >= CALLS_MAX ||
	    __atomic_exchange_n(&was_reported[call], 1, __ATOMIC_RELAXED))
		return;
	memcpy(line, program, n);
	memcpy(line + n, text, sizeof text - 1);
	n += sizeof text - 1;
	do
		digits[--at] = (char)('0' + call % 10);
	while (call /= 10);
	memcpy(line + n, digits + at, sizeof digits - at);
	n += sizeof digits - at;
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, n);
}

/* Runs in the thread that made the call, in place of the call. */
static void on_refused(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	int saved = errno;

	(void)number;
	if (info->si_code != 1 /* SYS_SECCOMP */)
		return;
	report(info->si_syscall);
	RESULT_OF(u) = (__typeof__(RESULT_OF(u)))-info->si_errno;
	errno = saved;
}

static int catch_refused(struct diag *d)
{
	const struct sigaction act = { .sa_sigaction = on_refused,
				       .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	if (sigaction(SIGSYS, &act, NULL) || sigprocmask(SIG_UNBLOCK, &set, NULL))
		return diag_errno(d, "cannot catch SIGSYS");
	return 0;
}

static uint32_t all_rights(unsigned rights)
{
	const unsigned makes = rights & (SANDBOX_CONNECTS | SANDBOX_CONNECTS_HERE);

	return rights | (makes ? MAKES_SOCKETS : 0u) |
	       (makes || (rights & SANDBOX_ACCEPTS) ? TRAFFIC : 0u);
}

/* Without SPEC_ALLOW kernels before 5.16 slow the process down, against attacks on other code in the
 * same process: there is none. */
static int install(const struct filter *f)
{
	const struct sock_fprog p = { (unsigned short)f->n, (struct sock_filter *)f->at };

	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &p))
		return 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p);
}

int sandbox_seccomp(const struct sandbox *s, struct diag *d)
{
	struct filter f;
	int err;

	if (!sandbox_has_seccomp())
		return 0;
	program = s->name;
	build(&f, all_rights(s->rights));
	err = catch_refused(d);
	if (!err && install(&f))
		err = diag_errno(d, "cannot enter the sandbox (seccomp)");
	return err;
}

#else

int sandbox_seccomp(const struct sandbox *s, struct diag *d)
{
	(void)s;
	(void)d;
	return 0;
}

#endif
