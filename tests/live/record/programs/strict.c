/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/strict.c - events in programs that forbid themselves system calls.
 *
 *	strict HOW N	HOW: mode1 (SECCOMP_MODE_STRICT), filter (the same calls), unprepared (mode1)
 *
 * It prepares itself, and writes "again" for each time that a session did not answer; locks itself
 * up, writes "ready", and at each byte that it reads records N
 * events of each kind.  At the end of its input it exits by the system call alone.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "duet/duet.h"
#include "duet/sandbox.h"

DUET_EVENT(strict, none);
DUET_EVENT(strict, number, (u32, n));
DUET_EVENT(strict, text, (u32, n), (str, text));
DUET_EVENT(strict, large, (u32, n), (seq(u8), bytes));

static const uint8_t bytes[20000];

static void lock_up(int by_filter)
{
#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)),
					ALLOW(SYS_read),
					ALLOW(SYS_write),
					ALLOW(SYS_exit),
					ALLOW(SYS_rt_sigreturn),
					BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_filter ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
		      : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(77);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	char c;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "unprepared")) {
		int attached;

		while ((attached = duet_prepare(DUET_WITHOUT_CLOCK)) == -EAGAIN)
			syscall(SYS_write, 1, "again\n", 6); /* the collector is slow */
		if (attached < 1)
			return 3;
	}
	lock_up(!strcmp(argv[1], "filter"));
	syscall(SYS_write, 1, "ready\n", 6);
	while (syscall(SYS_read, 0, &c, 1) > 0) {
		for (int i = 0; i < n; i++) {
			trace_strict_none();
			trace_strict_number((uint32_t)i);
			trace_strict_text((uint32_t)i, "in strict mode");
			trace_strict_large((uint32_t)i, bytes, sizeof bytes);
			trace_mark(strict, mark, "");
			trace_mark(strict, mark_of, "n %d of %s", i, "strict");
		}
		syscall(SYS_write, 1, "done\n", 5);
	}
	syscall(SYS_exit, 0);
}
