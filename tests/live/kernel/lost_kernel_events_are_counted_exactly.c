/* SPDX-License-Identifier: MIT */
/* Events that do not fit are counted exactly, and the count reaches the trace. */
#include <sys/syscall.h>

#include "kernel_recording.h"

enum { N = 100000 };

static const char *const patterns[] = { "syscall_*_getppid" };
static uint64_t discarded_last[1024], n_events;
static int exit_id;

static void call(void)
{
	for (int i = 0; i < N; i++)
		syscall(SYS_getppid);
}

static void count(const struct abi_ctf_packet *p, const uint8_t *bytes, size_t size)
{
	uint16_t id;

	discarded_last[p->cpu] = p->discarded;
	for (size_t at = 0; at + 12 <= size; n_events++) {
		memcpy(&id, bytes + at + 4, 2);
		at += 12 + (id == exit_id ? 8 : 0);
	}
}

/* Events that a trace reports as lost; its events are added to n_events. */
static uint64_t reported_by(const char *name)
{
	uint64_t discarded = 0;

	memset(discarded_last, 0, sizeof discarded_last);
	exit_id = live_event_id(name, "syscall_exit_getppid");
	live_packets(name, count);
	for (int cpu = 0; cpu < 1024; cpu++)
		discarded += discarded_last[cpu];
	return discarded;
}

static void check_sums(const char *name, const struct kernel_counts *c)
{
	uint64_t discarded;

	n_events = 0;
	discarded = reported_by(name);
	ok(c->lost > 0);
	is(discarded, c->lost);
	is(n_events + discarded, 2 * N);
}

static void small_buffers(const char *name, enum kernel_backend backend, bool overwrite,
			  bool is_lazy)
{
	struct kernel_options o = { .patterns = patterns,
				    .n_patterns = 1,
				    .overwrite = overwrite,
				    .buffer_kib = 512,
				    .backend = backend };
	struct kernel *k = live_open(name, o);
	struct kernel_counts c;

	live_record(k, call, is_lazy);
	kernel_counts(k, &c);
	kernel_close(k);
	check_sums(name, &c);
}

static void full_buffers_refuse_and_count(void)
{
	small_buffers("refuse", KERNEL_BACKEND_FTRACE, false, true);
}

static void full_buffers_overwrite_and_count(void)
{
	small_buffers("overwrite", KERNEL_BACKEND_FTRACE, true, true);
}

static void losses_between_polls_are_counted(void)
{
	small_buffers("refuse-polled", KERNEL_BACKEND_FTRACE, false, false);
	small_buffers("overwrite-polled", KERNEL_BACKEND_FTRACE, true, false);
}

static void full_rings_of_bpf_programs_refuse_and_count(void)
{
	small_buffers("bpf", KERNEL_BACKEND_BPF, false, true);
	small_buffers("bpf-polled", KERNEL_BACKEND_BPF, false, false);
}

static void full_rings_of_a_flight_recorder_overwrite_and_count(void)
{
	small_buffers("bpf-overwrite", KERNEL_BACKEND_BPF, true, false);
	small_buffers("bpf-overwrite-lazy", KERNEL_BACKEND_BPF, true, true);
}

/* Ends take 32 bytes each in a ring. */
static void a_ring_that_is_full_to_the_byte_is_read_once(void)
{
	static const char *const ends[] = { "syscall_exit_getppid" };
	struct kernel *k =
		live_open("full", (struct kernel_options){ .patterns = ends,
							   .n_patterns = 1,
							   .buffer_kib = 64,
							   .backend = KERNEL_BACKEND_BPF });
	struct kernel_counts c;

	live_record(k, call, true);
	kernel_counts(k, &c);
	kernel_close(k);
	n_events = 0;
	is(reported_by("full"), c.lost);
	is(n_events + c.lost, N);
}

/* How often each program was not run because it was running there already: one cannot be made to,
 * so it is pretended. */
static uint64_t pretended;

struct bpf_link;
uint64_t __real_bpf_misses(const struct bpf_link *l);
uint64_t __wrap_bpf_misses(const struct bpf_link *l);

uint64_t __wrap_bpf_misses(const struct bpf_link *l)
{
	return __real_bpf_misses(l) + pretended;
}

static void few_calls(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
}

static void missed_runs_of_bpf_programs_are_counted_and_reported(void)
{
	enum { PROGRAMS = 4, MISSED = 3 }; /* entries, ends, forks, frees */
	struct kernel *k =
		live_open("misses", (struct kernel_options){ .patterns = patterns,
							     .n_patterns = 1,
							     .backend = KERNEL_BACKEND_BPF });
	struct kernel_counts c;

	pretended = MISSED;
	live_note = "the kernel skipped 12 runs of BPF programs";
	live_record(k, few_calls, false);
	live_note = "";
	kernel_counts(k, &c);
	kernel_close(k);
	pretended = 0;
	n_events = 0;
	is(c.lost, PROGRAMS * MISSED);
	is(reported_by("misses"), PROGRAMS * MISSED);
	is(n_events, 200);
}

/* A collector, which writes the available events and is killed. */
static void poll_and_die(struct kernel *k)
{
	pid_t child = fork();
	int status;

	if (!child) {
		for (int more = 1; more > 0;)
			more = kernel_poll(k, clock_now_ns(&session_clock), NULL);
		kill(getpid(), SIGKILL);
	}
	is(waitpid(child, &status, 0), child);
	ok(WIFSIGNALED(status));
}

/* Each of three collectors finds that more was lost than it can read; the last one ends well. */
static void successors_report_only_new_losses(const char *name, enum kernel_backend backend)
{
	struct kernel_options o = {
		.patterns = patterns, .n_patterns = 1, .buffer_kib = 512, .backend = backend
	};
	struct kernel *k = live_open(name, o);
	char lives[3][32], path[128];
	struct live_child c[3];
	struct kernel_counts n;
	uint64_t reported[3];

	for (int i = 0; i < 3; i++) {
		c[i] = live_fork(call);
		is(kernel_add_pid(k, c[i].pid, &why), 0);
		snprintf(lives[i], sizeof lives[i], i ? "%s-%d" : "%s", name, i + 1);
	}
	is(kernel_start(k, &why), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, lives[i]);
		if (i)
			is(kernel_resume(k, path, &why), 0);
		is(write(c[i].go, "", 1), 1);
		is(waitpid(c[i].pid, NULL, 0), c[i].pid);
		close(c[i].go);
		if (i < 2)
			poll_and_die(k);
	}
	is(kernel_stop(k, &why), 0);
	kernel_counts(k, &n);
	kernel_close(k);
	n_events = 0;
	for (int i = 0; i < 3; i++)
		reported[i] = reported_by(lives[i]);
	ok(reported[0] > 0 && reported[2] > 0);
	is(reported[0] + reported[1] + reported[2], n.lost);
	is(n_events + n.lost, 3 * 2 * N);
}

static void successors_of_a_killed_collector_report_only_new_losses(void)
{
	successors_report_only_new_losses("killed", KERNEL_BACKEND_FTRACE);
}

static void successors_with_bpf_programs_report_only_new_losses(void)
{
	successors_report_only_new_losses("killed-bpf", KERNEL_BACKEND_BPF);
}

int main(void)
{
	const char *reason;

	live_begin();
	run(full_buffers_refuse_and_count);
	run(full_buffers_overwrite_and_count);
	run(losses_between_polls_are_counted);
	run(successors_of_a_killed_collector_report_only_new_losses);
	if (live_has_bpf(&reason)) {
		run(full_rings_of_bpf_programs_refuse_and_count);
		run(a_ring_that_is_full_to_the_byte_is_read_once);
		run(full_rings_of_a_flight_recorder_overwrite_and_count);
		run(successors_with_bpf_programs_report_only_new_losses);
		run(missed_runs_of_bpf_programs_are_counted_and_reported);
	} else
		printf("# by BPF programs: not here: %s\n", reason);
	return test_status();
}
