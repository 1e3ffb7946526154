/* SPDX-License-Identifier: MIT */
/* The kernel's stamps and the application's readings are of one clock: every stamp of a system call
 * lies between readings before and after it; and nothing is lost or invented.  For each way to record. */
#include <sched.h>
#include <sys/syscall.h>

#include "kernel_recording.h"

enum { N = 100000 };

struct bracket {
	uint64_t before, after; /* ticks */
};

struct stamp {
	uint64_t ns;
	int id;
};

static struct bracket *brackets; /* shared with the child */
static struct stamp *stamps;
static int n_stamps, entry_id, exit_id, last_cpu;

static void call(void)
{
	cpu_set_t set;

	for (int i = 0; i < N; i++) {
		if (i % (N / 4) == 0) { /* on the first and the last CPU in turn */
			CPU_ZERO(&set);
			CPU_SET(i / (N / 4) % 2 ? last_cpu : 0, &set);
			sched_setaffinity(0, sizeof set, &set);
		}
		brackets[i].before = clock_ticks(&session_clock);
		syscall(SYS_getppid);
		brackets[i].after = clock_ticks(&session_clock);
	}
}

static void read_events(const struct abi_ctf_packet *p, const uint8_t *bytes, size_t size)
{
	uint64_t ns = p->begin_ns;
	size_t at = 0;

	while (at + 12 <= size && n_stamps < 2 * N) {
		uint32_t low;
		uint16_t id;

		memcpy(&low, bytes + at, 4);
		memcpy(&id, bytes + at + 4, 2);
		ns += low - (uint32_t)ns; /* modulo 2^32 */
		stamps[n_stamps++] = (struct stamp){ ns, id };
		at += 12 + (id == exit_id ? 8 : 0);
	}
	is(at, size);
	is(ns, p->end_ns);
}

static int earlier(const void *a, const void *b)
{
	const struct stamp *x = a, *y = b;

	/* Equal times: an entry comes before its exit. */
	if (x->ns == y->ns)
		return (x->id == exit_id) - (y->id == exit_id);
	return x->ns < y->ns ? -1 : 1;
}

static void every_stamp_lies_in_its_bracket(void)
{
	int n_bad = 0;

	qsort(stamps, (size_t)n_stamps, sizeof *stamps, earlier);
	for (int i = 0; 2 * i + 1 < n_stamps; i++) {
		uint64_t before = clock_ns(&session_clock, brackets[i].before);
		uint64_t after = clock_ns(&session_clock, brackets[i].after);
		struct stamp *s = &stamps[2 * i];

		n_bad += s[0].id != entry_id || s[1].id != exit_id || before > s[0].ns ||
			 s[0].ns > s[1].ns || s[1].ns > after;
	}
	is(n_bad, 0);
}

static void record(const char *name, enum kernel_backend backend)
{
	static const char *const patterns[] = { "syscall_entry_getppid", "syscall_exit_getppid" };
	struct kernel *k = live_open(name, (struct kernel_options){ .patterns = patterns,
								    .n_patterns = 2,
								    .backend = backend });
	struct kernel_counts c;

	live_record(k, call, false);
	kernel_counts(k, &c);
	kernel_close(k);
	is(c.lost, 0);
	is(c.malformed, 0);
	entry_id = live_event_id(name, "syscall_entry_getppid");
	exit_id = live_event_id(name, "syscall_exit_getppid");
	n_stamps = 0;
	live_packets(name, read_events);
	is(n_stamps, 2 * N);
	every_stamp_lies_in_its_bracket();
}

static void stamps_of_tracefs_lie_in_their_brackets(void)
{
	record("ftrace", KERNEL_BACKEND_FTRACE);
}

static void stamps_of_bpf_programs_lie_in_their_brackets(void)
{
	record("bpf", KERNEL_BACKEND_BPF);
}

int main(void)
{
	const char *reason;

	live_begin();
	last_cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	brackets = mmap(NULL, N * sizeof *brackets, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	stamps = calloc(2 * N, sizeof *stamps);
	if (brackets == MAP_FAILED || !stamps)
		return 1;
	run(stamps_of_tracefs_lie_in_their_brackets);
	if (live_has_bpf(&reason))
		run(stamps_of_bpf_programs_lie_in_their_brackets);
	else
		printf("# by BPF programs: not here: %s\n", reason);
	free(stamps);
	return test_status();
}
