/* SPDX-License-Identifier: MIT */
/*
 * collect/counters.c - try the requested hardware counters in a child process, and explain a
 * failure.
 *
 * A program without a working counter could only record a 0 in each event.  So this is checked
 * before the recording, where the user sees the reason.  The result is that of duet's own
 * privileges: a traced program may have fewer.
 */
#include "collect/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "abi/context.h"
#include "base/perf_counter.h"
#include "base/monotonic.h"
#include "base/text.h"
#include "ctf/write/public.h"

#define RDPMC_FILE "/sys/bus/event_source/devices/cpu/rdpmc"

enum { WAIT_FOR_REGISTER_MS = 100 }; /* counters that share registers take turns of a few ms */

static uint64_t context_bit(unsigned counter)
{
	return ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES + counter);
}

/* ---------------------------------------------------------------- the attempt */

static bool is_scheduled(const struct perf_event_mmap_page *page)
{
	uint64_t end_ns = monotonic_ns() + WAIT_FOR_REGISTER_MS * 1000000ull;

	while (!load(&page->index))
		if (monotonic_ns() > end_ns)
			return false;
	return true;
}

static void begin_step(struct counters_attempt *a, unsigned counter, enum counters_step step)
{
	a->counter = counter;
	a->error = errno;
	store(&a->step, step);
	errno = 0;
}

/*
 * Runs in the child.  Each step is stored before it is tried: the last one stored is the one that
 * failed.
 */
static void try_all(uint64_t mask, struct counters_attempt *a)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page[COUNTERS];
	int fd;

	for (unsigned i = 0; i < COUNTERS; i++) {
		if (!(mask & context_bit(i)))
			continue;
		begin_step(a, i, COUNTERS_OPEN);
		fd = counter_open(i);
		if (fd < 0)
			goto failed;
		begin_step(a, i, COUNTERS_MAP);
		page[i] = counter_map(fd, page_size);
		if (page[i] == MAP_FAILED)
			goto failed;
		close(fd);
		begin_step(a, i, COUNTERS_MAY_READ);
		if (!page[i]->cap_user_rdpmc)
			return;
	}
	for (unsigned i = 0; i < COUNTERS; i++) {
		if (!(mask & context_bit(i)))
			continue;
		begin_step(a, i, COUNTERS_SCHEDULED);
		if (!is_scheduled(page[i]))
			return;
		begin_step(a, i, COUNTERS_READ);
		counter_value(page[i], counter_rdpmc);
	}
	begin_step(a, 0, COUNTERS_WORK);
	return;
failed:
	a->error = errno;
}

static int attempt(uint64_t mask, struct counters_attempt *result, struct diag *d)
{
	struct counters_attempt *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (shared == MAP_FAILED)
		return diag_errno(d, "cannot try the counters of the processor");
	child = fork();
	if (!child) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file if it is killed */
		try_all(mask, shared);
		_exit(0);
	}
	if (child < 0) {
		diag_errno(d, "cannot try the counters of the processor: fork");
		munmap(shared, sizeof *shared);
		return -EAGAIN;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	result->step = load(&shared->step);
	result->error = shared->error;
	result->counter = shared->counter < COUNTERS ? shared->counter : 0;
	munmap(shared, sizeof *shared);
	return 0;
}

/* ---------------------------------------------------------------- the reason */

static int read_number(const char *path, int if_missing)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return if_missing;
	text[n] = 0;
	return atoi(text);
}

static void read_machine(struct counters_attempt *a)
{
	a->has_register_access = COUNTERS_ARE_READABLE;
	a->has_pmu = !access("/sys/bus/event_source/devices/cpu", F_OK) ||
		     !access("/sys/bus/event_source/devices/cpu_core", F_OK);
	a->paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 2);
}

static int explain_open(const struct counters_attempt *a, const char *name, struct diag *d)
{
	switch (a->error) {
	case EACCES:
	case EPERM:
		if (a->paranoid > 2)
			return diag_fail(
				d, -EACCES,
				"context '%s': not allowed: kernel.perf_event_paranoid is %d\n"
				"  allow it with: sysctl kernel.perf_event_paranoid=2",
				name, a->paranoid);
		return diag_fail(
			d, -EACCES,
			"context '%s': perf_event_open: %s, though kernel.perf_event_paranoid is "
			"%d\n"
			"  containers forbid it by seccomp(2), others by a security module",
			name, strerror(a->error), a->paranoid);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		if (!a->has_pmu)
			return diag_fail(
				d, -EOPNOTSUPP,
				"context '%s': this machine has no counters (no PMU), or its "
				"hypervisor does not show them\n"
				"  /sys/bus/event_source/devices/cpu is missing",
				name);
		return diag_fail(d, -EOPNOTSUPP, "context '%s': this processor does not count that",
				 name);
	case ENOSYS:
		return diag_fail(d, -EOPNOTSUPP,
				 "context '%s': this kernel was built without perf_event_open",
				 name);
	default:
		return diag_fail(d, -a->error, "context '%s': perf_event_open: %s", name,
				 strerror(a->error));
	}
}

static int explain(const struct counters_attempt *a, const char *name, struct diag *d)
{
	if (!a->has_register_access)
		return diag_fail(d, -EOPNOTSUPP,
				 "context '%s': counters are recorded on x86-64 only\n"
				 "  use perf(1) for the program as a whole",
				 name);
	switch (a->step) {
	case COUNTERS_WORK:
		return 0;
	case COUNTERS_OPEN:
		return explain_open(a, name, d);
	case COUNTERS_MAP:
		return diag_fail(d, -a->error,
				 "context '%s': cannot map its page: %s\n"
				 "  see kernel.perf_event_mlock_kb and ulimit -l",
				 name, strerror(a->error));
	case COUNTERS_MAY_READ:
		return diag_fail(d, -EOPNOTSUPP,
				 "context '%s': programs may not read counters (rdpmc) here\n"
				 "  " RDPMC_FILE " must be 1",
				 name);
	case COUNTERS_SCHEDULED:
		return diag_fail(
			d, -EBUSY,
			"context '%s': the processor has no counter left for it\n"
			"  others use them (perf, kernel.nmi_watchdog), or fewer -c perf_... fit",
			name);
	case COUNTERS_READ:
		return diag_fail(
			d, -EOPNOTSUPP,
			"context '%s': reading it (rdpmc) kills the program on this machine", name);
	default:
		return diag_fail(d, -EOPNOTSUPP,
				 "context '%s': the attempt to count came to nothing", name);
	}
}

int counters_explain(const struct counters_attempt *a, struct diag *d)
{
	struct text name = { 0 };
	int err;

	context_names(&name, context_bit(a->counter));
	err = explain(a, name.bytes ? name.bytes : "perf_thread_", d);
	text_fini(&name);
	return err;
}

int counters_check(uint64_t mask, struct diag *d)
{
	struct counters_attempt a = { 0 };
	int err = 0;

	for (unsigned i = COUNTERS; i-- > 0;)
		if (mask & context_bit(i))
			a.counter = i;
	if (!(mask & context_bit(a.counter)))
		return 0;
	read_machine(&a);
	if (a.has_register_access)
		err = attempt(mask, &a, d);
	return err ? err : counters_explain(&a, d);
}
