/* SPDX-License-Identifier: MIT */
/* Forbids itself what patching takes, on pain of death; then calls a short function often. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KILL(number)                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                         \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)

static int forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL(SYS_mprotect),
		KILL(SYS_membarrier),
		KILL(SYS_openat),
		KILL(SYS_socket),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static __attribute__((noinline)) long step(long a, long b)
{
	__asm__ volatile("");
	return a * 31 + b;
}

int main(void)
{
	unsigned long sum = 0;

	if (forbid())
		return 3;
	for (long i = 0; i < 100000; i++)
		sum = (unsigned long)step((long)(sum & 0xffff), i);
	printf("%lu\n", sum);
	return 0;
}
