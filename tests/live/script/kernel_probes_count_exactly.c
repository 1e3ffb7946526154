/* SPDX-License-Identifier: MIT */
/*
 * tests/live/script/kernel_probes_count_exactly.c - direct kernel probes see every call of a known
 * workload, folded into the kernel and streamed; nothing of them outlives this process.
 *
 * As a workload: kernel_probes_count_exactly CALLS PROCESSES: getppid() that often in all, with the
 * number of calls left, modulo 1024, as an argument.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/monotonic.h"
#include "bpf/object.h"
#include "live_script.h"

static char self[4096];

static const char *workload(long calls, int processes)
{
	static char command[4200];

	snprintf(command, sizeof command, "%s %ld %d", self, calls, processes);
	return command;
}

static int work(long calls, int processes)
{
	for (int i = 0; i < processes; i++)
		if (!fork()) {
			for (long n = calls / processes; n > 0; n--)
				syscall(SYS_getppid, n % 1024);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

static bool can_probe(void)
{
	struct diag d;

	return !script_kernel_rights(&d);
}

/* ---------------------------------------------------------------- counts */

static const char counts[] =
	"global by_pid, all, sizes, none\n"
	"probe syscall.getppid {\n"
	"	if (execname() != \"kernel_probes_c\") next\n"
	"	by_pid[execname(), uid()]++\n"
	"	all += 2\n"
	"	sizes <<< 5\n"
	"	if (cpu() < 0) none++\n"
	"}\n"
	"probe end {\n"
	"	foreach ([e, u] in by_pid) printf(\"%s %d: %d\\n\", e, u, by_pid[e, u])\n"
	"	printf(\"%d %d %d %d %d\\n\", all, @count(sizes), @sum(sizes), @max(sizes), none)\n"
	"	print(@hist_log(sizes))\n"
	"}\n";

static void every_call_is_counted_folded_and_streamed(void)
{
	struct live folded = { 0 }, streamed = { .o.folds_nothing = true };

	live_run(&folded, counts, workload(50000, 1));
	live_run(&streamed, counts, workload(50000, 1));
	ok(strstr(folded.words.bytes, "folded into the kernel"));
	ok(strstr(streamed.words.bytes, "stream"));
	ok(strstr(folded.out.bytes, "kernel_probes_c 0: 50000\n100000 50000 250000 5 0\n"));
	is_text(streamed.out.bytes, folded.out.bytes);
	is(streamed.result.n_lost, 0);
	live_close(&folded);
	live_close(&streamed);
}

static void names_of_probes_and_constants_are_keys(void)
{
	struct live l[2] = { [1] = { .o.folds_nothing = true } };

	for (int i = 0; i < 2; i++)
		live_run(&l[i],
			 "global n; probe syscall.getppid, syscall.getppid.return {\n"
			 "	if (execname() == \"kernel_probes_c\")\n"
			 "		n[pp(), probefunc(), probemod(), \"fifteen letters\", "
			 "pid() > 0]++\n"
			 "}\n"
			 "probe end { foreach ([a+, b, c, d, e] in n) println(a, b, c, d, e, n[a, "
			 "b, c, d, e]) }\n",
			 workload(1000, 1));
	ok(!strstr(l[0].words.bytes, "stream"));
	is_text(l[0].out.bytes, "syscall.getppidgetppidkernelfifteen letters11000\n"
				"syscall.getppid.returngetppidkernelfifteen letters11000\n");
	is_text(l[1].out.bytes, l[0].out.bytes);
	live_close(&l[0]);
	live_close(&l[1]);
}

/* A key as it is compared in the kernel is the value that the stream has. */
static void user_mode_is_0_or_1_folded_and_streamed(void)
{
	for (int i = 0; i < 2; i++) {
		struct live l = { .o.folds_nothing = i };

		live_run(&l,
			 "global n, other; probe timer.profile.freq.hz(1000) { n[user_mode()]++ }\n"
			 "probe end { foreach (m in n) if (m != 0 && m != 1) other++\n"
			 "	printf(\"%d %d\", n[1] > 0, other) }\n",
			 workload(1000000, 2));
		is_text(l.out.bytes, "1 0");
		live_close(&l);
	}
}

static void no_count_is_lost_by_a_snapshot_every_millisecond(void)
{
	struct live l = { 0 };

	live_run(&l,
		 "global n, total, snapshots\n"
		 "probe syscall.getppid { if (execname() == \"kernel_probes_c\") n[tid()]++ }\n"
		 "probe timer.ms(1) { snapshots++; foreach (t in n) total += n[t]; delete n }\n"
		 "probe end { foreach (t in n) total += n[t]; printf(\"%d %d\", total, snapshots > "
		 "9) }\n",
		 workload(2000000, 2));
	ok(strstr(l.words.bytes, "folded into the kernel"));
	is_text(l.out.bytes, "2000000 1");
	is(l.result.n_skipped, 0);
	live_close(&l);
}

/* Each snapshot lets all elements be made again, by both processes and by programs that interrupt
 * them: samples, and waits for the very lock under which elements are made. */
static void elements_made_by_programs_that_interrupt_each_other_are_counted(void)
{
	struct live l = { .limits.skipped = 1 << 30 };

	live_run(&l,
		 "global n, m, total, other, snapshots\n"
		 "probe syscall.getppid { if (execname() == \"kernel_probes_c\") { n[$arg1]++; "
		 "m[$arg1] <<< $arg1 } }\n"
		 "probe timer.profile.freq.hz(5000) { n[-1 - cpu()]++ }\n"
		 "probe kernel.trace(\"contention_begin\") { n[-100 - cpu()]++ }\n"
		 "function take() { foreach (a in n) if (a >= 0) total += n[a]; delete n\n"
		 "	foreach (a in m) { other += @count(m[a]); if (@min(m[a]) != a || "
		 "@max(m[a]) != a) println(\"wrong\") } delete m }\n"
		 "probe timer.ms(1) { snapshots++; take() }\n"
		 "probe end { take(); printf(\"%d %d %d\", total, other, snapshots > 9) }\n",
		 workload(1000000, 2));
	is(l.result.n_lost, 0);
	ok(!strstr(l.words.bytes, "stream"));
	ok(!l.errors.bytes || !strstr(l.errors.bytes, "is full"));
	is_text(l.out.bytes, "1000000 1000000 1");
	printf("# %s\n", l.errors.bytes ? l.errors.bytes : "no messages");
	live_close(&l);
}

static void a_full_array_is_an_error_as_in_the_stream(void)
{
	struct live l = { 0 };

	live_run(&l,
		 "global n[2]\n"
		 "probe syscall.getppid { if (execname() == \"kernel_probes_c\") n[tid()]++ }\n"
		 "probe end { foreach (t in n) printf(\"%d\", n[t]) }\n",
		 workload(4, 4));
	ok(strstr(l.errors.bytes ? l.errors.bytes : l.d.text, "is full"));
	live_close(&l);
}

/* ---------------------------------------------------------------- records */

static void a_full_ring_counts_what_it_loses(void)
{
	struct live l = { .o = { .ring_bytes = 1 << 16 } };
	uint64_t lost = 0, n = 0;
	struct script_losses loss;
	struct script_event e;

	if (!ok(live_compile(&l, "probe syscall.getppid { if (execname() == \"kernel_probes_c\") "
				 "println(tid()) }")) ||
	    !ok(!script_kernel_source(&l.source, l.kernel, l.program, l.vm, &l.d)) ||
	    !ok(!l.source->ops->start(l.source, &l.d)))
		return;
	if (system(workload(20000, 1)))
		ok(!"the workload runs");
	l.source->ops->stop(l.source);
	while (l.source->ops->next(l.source, &e, &l.d) == 1)
		n++;
	while (l.source->ops->losses(l.source, &loss) == 1)
		lost += loss.lost;
	ok(lost > 0);
	is(n + lost, 20000);
	live_close(&l);
}

static void values_of_the_kernel_are_right(void)
{
	struct live l = { 0 };
	char want[200];

	live_run(
		&l,
		"probe kernel.trace(\"sched_process_exec\") {\n"
		"	if (pid() != target()) next\n"
		"	printf(\"%d %d %s %s %d \", $p->pid == tid(), $p->real_parent->tgid == "
		"ppid(),\n"
		"		execname(), kernel_string($bprm->filename), uid())\n"
		"}\n"
		"probe syscall.exit_group { if (pid() == target()) printf(\"%d\", $error_code) }\n",
		"true");
	snprintf(want, sizeof want, "1 1 true %s 0 0",
		 l.out.bytes && strstr(l.out.bytes, "/usr") ? "/usr/bin/true" : "/bin/true");
	is_text(l.out.bytes, want);
	live_close(&l);
}

/* $x$: also at the end of a path, through the last pointer, with structures inside for $$. */
static void structures_are_shown_as_text(void)
{
	struct live l = { 0 };

	live_run(&l,
		 "global seen\n"
		 "probe kernel.trace(\"sched_process_exec\") {\n"
		 "	if (pid() != target() || seen++) next\n"
		 "	shallow = $p->se$\n"
		 "	if (shallow !~ \"^\\\\{.load=\\\\{...\\\\}, \") println(shallow)\n"
		 "	deep = $p->se$$\n"
		 "	if (deep !~ \"^\\\\{.load=\\\\{.weight=[0-9]+, .inv_weight=\") "
		 "println(deep)\n"
		 "	if ($p->cred$ !~ \"^\\\\{.usage=\") println($p->cred$)\n"
		 "	if ($p->pid$ != sprint($p->pid)) println($p->pid$)\n"
		 "	if ($p->comm$ != \"\\\"true\\\"\") println($p->comm$)\n"
		 "	print(\"shown\")\n"
		 "}\n",
		 "true");
	is_text(l.out.bytes, "shown");
	live_close(&l);
}

/* ---------------------------------------------------------------- start, end */

static void forty_calls_are_probed_and_released_within_100_ms(void)
{
	struct live l = { 0 };
	uint64_t best_ns = UINT64_MAX;
	struct text script = { 0 };
	static const char *const calls[] = {
		"read",	       "write",	    "open",  "close",	 "stat",    "fstat",   "lstat",
		"poll",	       "lseek",	    "mmap",  "mprotect", "munmap",  "brk",     "ioctl",
		"pread64",     "pwrite64",  "readv", "writev",	 "access",  "pipe",    "select",
		"sched_yield", "mremap",    "msync", "mincore",	 "madvise", "dup",     "dup2",
		"pause",       "nanosleep", "alarm", "getpid",	 "socket",  "connect", "accept",
		"sendto",      "recvfrom",  "bind",  "listen",	 "clone"
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		text_addf(&script, "probe syscall.%s { if (tid() == %zu) println($arg%zu) }\n",
			  calls[i], i, 1 + i % 6);
	for (int i = 0; i < 5 && ok(live_compile(&l, script.bytes)); i++) {
		uint64_t begin;

		if (!ok(!script_kernel_source(&l.source, l.kernel, l.program, l.vm, &l.d)))
			break;
		begin = monotonic_ns();
		ok(!l.source->ops->start(l.source, &l.d));
		l.source->ops->close(l.source);
		l.source = NULL;
		begin = monotonic_ns() - begin;
		best_ns = begin < best_ns ? begin : best_ns;
		live_close(&l);
	}
	printf("# %llu us\n", (unsigned long long)best_ns / 1000);
	ok(best_ns < 100000000);
	text_fini(&script);
	live_close(&l);
}

/* The last program that was loaded in the kernel. */
static uint32_t newest_program(void)
{
	union bpf_attr a;
	uint32_t id = 0;

	for (;;) {
		memset(&a, 0, sizeof a);
		a.start_id = id;
		if (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &a, sizeof a))
			return id;
		id = a.next_id;
	}
}

static bool is_loaded(uint32_t id)
{
	union bpf_attr a;
	int fd;

	memset(&a, 0, sizeof a);
	a.prog_id = id;
	fd = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &a, sizeof a);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void a_killed_process_leaves_nothing_in_the_kernel(void)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	struct live l = { 0 };
	int pipe_fds[2], left = 200;
	uint32_t id = 0;
	pid_t pid;

	if (pipe(pipe_fds))
		return;
	pid = fork();
	if (!pid) {
		if (live_compile(&l,
				 "global n; probe syscall.getppid { n++ } "
				 "probe kernel.trace(\"sched_switch\") { println($next->pid) }") &&
		    !script_kernel_source(&l.source, l.kernel, l.program, l.vm, &l.d) &&
		    !l.source->ops->start(l.source, &l.d))
			id = newest_program();
		if (write(pipe_fds[1], &id, sizeof id) == sizeof id)
			pause();
		_exit(1);
	}
	is(read(pipe_fds[0], &id, sizeof id), sizeof id);
	ok(id && is_loaded(id));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (is_loaded(id) && left--)
		nanosleep(&nap, NULL);
	ok(!is_loaded(id));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void too_many_events_end_the_session(void)
{
	struct live l = { .o = { .overload_percent = 1 },
			  .most_ns = 10000000000,
			  .may_fail = true };

	live_run(&l,
		 "global n; probe syscall_any { n[tid(), name]++ } probe timer.ms(100) { foreach "
		 "([t, c] in n limit 1) t }",
		 workload(20000000, 2));
	ok(strstr(l.d.text, "of the processors' time"));
	live_close(&l);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return work(atol(argv[1]), atoi(argv[2]));
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !can_probe())
		skip("needs root: programs are loaded into the kernel");
	run(every_call_is_counted_folded_and_streamed);
	run(names_of_probes_and_constants_are_keys);
	run(user_mode_is_0_or_1_folded_and_streamed);
	run(no_count_is_lost_by_a_snapshot_every_millisecond);
	run(elements_made_by_programs_that_interrupt_each_other_are_counted);
	run(a_full_array_is_an_error_as_in_the_stream);
	run(a_full_ring_counts_what_it_loses);
	run(values_of_the_kernel_are_right);
	run(structures_are_shown_as_text);
	run(forty_calls_are_probed_and_released_within_100_ms);
	run(a_killed_process_leaves_nothing_in_the_kernel);
	run(too_many_events_end_the_session);
	return test_status();
}
