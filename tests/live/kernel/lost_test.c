/* SPDX-License-Identifier: MIT */
/* What does not fit is counted, exactly, and the count reaches the trace. */
#include <sys/syscall.h>

#include "live.h"

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

static void check_sums(const char *name, const struct kernel_counts *c)
{
	uint64_t discarded = 0;

	memset(discarded_last, 0, sizeof discarded_last);
	n_events = 0;
	exit_id = live_event_id(name, "syscall_exit_getppid");
	live_packets(name, count);
	for (int cpu = 0; cpu < 1024; cpu++)
		discarded += discarded_last[cpu];
	ok(c->lost > 0);
	is(discarded, c->lost);
	is(n_events + discarded, 2 * N);
}

static void small_buffers(const char *name, enum kernel_backend backend, bool overwrite, bool is_lazy)
{
	struct kernel_options o = { .patterns = patterns, .n_patterns = 1, .overwrite = overwrite,
				    .buffer_kib = 512, .backend = backend };
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

int main(void)
{
	const char *reason;

	live_begin();
	run(full_buffers_refuse_and_count);
	run(full_buffers_overwrite_and_count);
	run(losses_between_polls_are_counted);
	if (live_has_bpf(&reason))
		run(full_rings_of_bpf_programs_refuse_and_count);
	else
		printf("# by BPF programs: not here: %s\n", reason);
	return test_status();
}
