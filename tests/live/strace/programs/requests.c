/* SPDX-License-Identifier: MIT */
/* requests.c - makes multiplexed calls: one argument decides how the others are read. All of them fail, or
 * do nothing. */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A text in memory that was used already: BPF programs read no others at an entry. */
static const char *used(const char *text)
{
	static char room[1024];
	static size_t n;
	char *at = memcpy(room + n, text, strlen(text) + 1);

	n += strlen(text) + 1;
	return at;
}

static void bpf(void)
{
	struct {
		uint32_t type, n;
		uint64_t instructions, license;
		uint32_t log_level, log_size;
		uint64_t log;
	} load = { 1, 1, 0, (uint64_t)used("GPL"), 1, 4, (uint64_t)used("log of a verifier") };
	uint32_t map[20] = { 2, 4, 8, 0, 4, -1, -1 };
	uint64_t pin[2] = { (uint64_t)used("/does/not/exist"), UINT32_MAX };

	syscall(SYS_bpf, BPF_MAP_CREATE, map, 16);
	syscall(SYS_bpf, BPF_MAP_CREATE, map, 72);
	syscall(SYS_bpf, BPF_PROG_LOAD, &load, 40);
	syscall(SYS_bpf, BPF_OBJ_PIN, pin, 12);
	syscall(SYS_bpf, BPF_OBJ_GET, 1, 12);
}

static void mounts(void)
{
	const char *type = used("a file system"), *data = used("some data"),
		   *value = used("a value");

	for (unsigned long flags = 0; flags <= MS_BIND; flags = flags ? flags * 2 : 1)
		syscall(SYS_mount, "source", "/does/not/exist", type, flags, data);
	for (int command = 0; command < 9; command++)
		syscall(SYS_fsconfig, -1, command, "a key", command < 5 ? value : NULL, 3);
}

static void traced(void)
{
	uint64_t set[2] = { 0, 0 }, mask = 1ull << (SIGUSR1 - 1);
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	const int nobody = 1 << 30;

	syscall(SYS_ptrace, PTRACE_CONT, nobody, 0, SIGUSR1);
	syscall(SYS_ptrace, PTRACE_GETREGS, nobody, 0, set);
	syscall(SYS_ptrace, PTRACE_GETREGSET, nobody, 1, set);
	syscall(SYS_ptrace, PTRACE_SETSIGMASK, nobody, 8, &mask);
	syscall(SYS_ptrace, PTRACE_SETSIGINFO, nobody, 0, &info);
	syscall(SYS_ptrace, PTRACE_SETOPTIONS, nobody, 0, PTRACE_O_TRACEFORK);
}

static void others(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HW_CACHE,
					.size = 4000,
					.config = 0x10203 };
	struct clone_args clone = { .flags = CLONE_INTO_CGROUP,
				    .exit_signal = SIGCHLD,
				    .cgroup = 12345 };
	uint32_t scheduling[14] = { 47 };

	syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	syscall(SYS_clone3, &clone, sizeof clone);
	syscall(SYS_sched_setattr, 0, scheduling, 0);
	syscall(SYS_keyctl, KEYCTL_SEARCH, -3, used("user"), used("no such key"), 0);
	syscall(SYS_keyctl, KEYCTL_UPDATE, 1, used("data"), 4);
	syscall(SYS_keyctl, KEYCTL_SETPERM, 1, 0x3f3f0000);
}

/* Filters that the kernel refuses: the last instruction does not return. */
static void filters_of_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 39, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, 0x60001),
		BPF_STMT(BPF_ALU | BPF_NEG, 0),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program);
	program.filter = (struct sock_filter *)(pages + 4096) - 2;
	memcpy(program.filter, code, 2 * sizeof *code);
	munmap(pages + 4096, 4096);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program);
	program.len = 0;
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program);
	program = (struct sock_fprog){ 2, NULL };
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, 8L);
	munmap(pages, 4096);
}

int main(void)
{
	filters_of_calls();
	bpf();
	mounts();
	traced();
	others();
	return 0;
}
