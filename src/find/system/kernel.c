/* SPDX-License-Identifier: MIT */
/*
 * find/system/kernel.c - what the running kernel offers to this user: tracefs and what lies in it,
 * BPF, perf, ptrace, restartable sequences, the clock.
 *
 * A tracefs that is mounted nowhere is opened detached, as recordings do: it vanishes with its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/clock.h"
#include "base/io.h"
#include "bpf/object.h"
#include "clock/clock.h"
#include "find/system/internal.h"
#include "kernel/tracefs/public.h"
#include "sandbox/sandbox.h"

static long setting(const char *path, long otherwise)
{
	char text[32];

	return io_read_file(path, text, sizeof text) > 0 ? strtol(text, NULL, 10) : otherwise;
}

/* ---------------------------------------------------------------- tracefs */

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += n)
		if ((p == text || p[-1] == ' ' || p[-1] == '\n') && strchr(" \n", p[n]))
			return true;
	return false;
}

static void check_graph(const struct checking *c, int tracefs)
{
	char *tracers = NULL;

	if (kernel_tracefs_read(tracefs, "available_tracers", &tracers) > 0 &&
	    has_word(tracers, "function_graph"))
		check_fine(c, "function graph", "--graph FUNCTIONS of the kernel");
	else
		check_bad(c, "function graph", FIND_NOTE,
			  "a kernel with CONFIG_FUNCTION_GRAPH_TRACER",
			  "not in this kernel: no --graph of its functions");
	free(tracers);
}

static void check_part(const struct checking *c, int tracefs, const char *name, const char *path,
		       const char *use, const char *option)
{
	char remedy[96];

	if (!faccessat(tracefs, path, F_OK, 0)) {
		check_fine(c, name, "%s", use);
		return;
	}
	snprintf(remedy, sizeof remedy, "a kernel with %s", option);
	check_bad(c, name, FIND_NOTE, remedy, "not in this kernel: no %s", use);
}

static bool is_mounted(void)
{
	return !access("/sys/kernel/tracing/events", F_OK);
}

static void check_tracefs(const struct checking *c)
{
	struct diag d = { "" };
	int fd = kernel_tracefs_open(&d);

	if (fd < 0 && !access(BROKER_SOCKET, W_OK)) {
		check_fine(c, "tracefs", "lent by root: %s", BROKER_SOCKET);
		return;
	}
	if (fd < 0) {
		check_diag(c, "tracefs", FIND_FINDING, &d);
		return;
	}
	check_fine(c, "tracefs", "%s",
		   is_mounted() ? "mounted at /sys/kernel/tracing"
				: "not mounted; duet opens it without a mount point");
	check_part(c, fd, "system calls", "events/raw_syscalls", "-k syscalls",
		   "CONFIG_FTRACE_SYSCALLS");
	check_part(c, fd, "scheduler", "events/sched", "-k sched", "CONFIG_EVENT_TRACING");
	check_part(c, fd, "uprobes", "uprobe_events", "-u and --usdt by the kernel",
		   "CONFIG_UPROBE_EVENTS");
	check_part(c, fd, "kprobes", "kprobe_events", "probes of the kernel's functions",
		   "CONFIG_KPROBE_EVENTS");
	check_graph(c, fd);
	close(fd);
}

/* ---------------------------------------------------------------- BPF and perf */

static void check_bpf(const struct checking *c)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct bpf_program_spec s = { .name = "duet_doctor",
					    .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					    .insns = nothing,
					    .n = 2 };
	struct diag d = { "" };
	int fd;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		check_bad(c, "BPF", FIND_NOTE, "a kernel with CONFIG_DEBUG_INFO_BTF",
			  "no types of the kernel (BTF): system calls are recorded by ftrace, "
			  "without file names");
		return;
	}
	fd = bpf_program_load(&s, false, &d);
	if (fd < 0) {
		check_bad(c, "BPF", FIND_NOTE,
			  fd == -EPERM || fd == -EACCES ? "root, or CAP_BPF and CAP_PERFMON"
							: "a kernel with CONFIG_BPF_SYSCALL",
			  "no program can be loaded (%s): system calls are recorded by ftrace, "
			  "without file names",
			  strerror(-fd));
		return;
	}
	close(fd);
	check_fine(c, "BPF", "programs and types of the kernel (BTF)");
}

/* Samples of all processes; else those of one's own. */
static int open_perf(pid_t pid, int cpu)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof a,
				     .config = PERF_COUNT_SW_CPU_CLOCK,
				     .sample_period = 1000000000,
				     .disabled = 1,
				     .exclude_kernel = pid == 0 };
	int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void check_perf(const struct checking *c)
{
	long paranoid = setting("/proc/sys/kernel/perf_event_paranoid", 2);
	int all = open_perf(-1, 0), own = open_perf(0, -1);

	if (all >= 0)
		check_fine(c, "perf",
			   "samples and counters of all processes "
			   "(perf_event_paranoid %ld)",
			   paranoid);
	else if (own >= 0)
		check_bad(c, "perf", FIND_NOTE,
			  "root, CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=0",
			  "only this user's own processes (perf_event_paranoid %ld)", paranoid);
	else
		check_bad(c, "perf", FIND_NOTE,
			  "root, CAP_SYS_ADMIN, or: sysctl kernel.perf_event_paranoid=2",
			  "refused (%s, perf_event_paranoid %ld): no -k profile and counter:",
			  strerror(-own), paranoid);
	if (all >= 0)
		close(all);
	if (own >= 0)
		close(own);
}

/* ---------------------------------------------------------------- for programs */

static void check_rseq(const struct checking *c)
{
#ifdef SYS_rseq
	bool has_it = syscall(SYS_rseq, NULL, 0, 0, 0) == 0 || errno != ENOSYS;
#else
	bool has_it = false;
#endif

	if (has_it)
		check_fine(c, "rseq", "restartable sequences: the fast write path");
	else
		check_bad(c, "rseq", FIND_NOTE, "Linux 4.18 or later with CONFIG_RSEQ",
			  "no restartable sequences: each event takes a chunk for its thread");
}

static void check_clock(const struct checking *c)
{
	struct abi_clock clock;
	struct diag d = { "" };

	if (clock_init_kind(&clock, 0, &d))
		check_diag(c, "clock", FIND_FINDING, &d);
	else if (clock.kind == ABI_CLOCK_MONOTONIC)
		check_bad(c, "clock", FIND_NOTE, "the kernel's log says why: dmesg | grep -i tsc",
			  "CLOCK_MONOTONIC, as the kernel does not trust the time stamp counter");
	else
		check_fine(c, "clock", "the time stamp counter, which the kernel trusts");
}

static void check_ptrace(const struct checking *c)
{
	long scope = setting("/proc/sys/kernel/yama/ptrace_scope", 0);

	if (!scope || (!c->by->uid && scope < 3))
		check_fine(c, "ptrace", "--graph reaches running programs");
	else
		check_bad(c, "ptrace", FIND_NOTE,
			  scope < 3 ? "root, or: sysctl kernel.yama.ptrace_scope=0"
				    : "it cannot be changed before the next boot",
			  "kernel.yama.ptrace_scope is %ld: --graph reaches only programs that "
			  "duet starts",
			  scope);
}

/* For recordings of others: sandbox/sandbox.h. */
static void check_sandbox(const struct checking *c)
{
	int version = sandbox_landlock_version();
	bool has_seccomp = sandbox_has_seccomp();

	if (version && has_seccomp)
		check_fine(c, "sandbox", "Landlock %d and seccomp: readers, servers and relays",
			   version);
	else
		check_bad(
			c, "sandbox", FIND_NOTE,
			version ? "a kernel with CONFIG_SECCOMP_FILTER"
				: "Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock "
				  "in the boot parameter lsm=",
			"%s: a recording of others is read with %s",
			version	      ? "no seccomp"
			: has_seccomp ? "no Landlock"
				      : "neither Landlock nor seccomp",
			version || has_seccomp ? "half of the sandbox"
					       : "all rights of its reader");
}

void check_kernel(struct checking *c)
{
	check_tracefs(c);
	check_bpf(c);
	check_perf(c);
	check_rseq(c);
	check_clock(c);
	check_ptrace(c);
	check_sandbox(c);
}
