/* SPDX-License-Identifier: MIT */
/* When a counter is missing, the message names the reason and a remedy. */
#include "collect/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "abi/context.h"
#include "test.h"

static const char *why(struct counters_attempt a, int want)
{
	static struct diag d;

	*d.text = 0;
	a.counter = 1;
	is(counters_explain(&a, &d), want);
	ok(strstr(d.text, "context 'perf_thread_instructions': "));
	return d.text;
}

#define HERE .has_register_access = true
#define REFUSED(error_, pmu, level)                                                                \
	((struct counters_attempt){ HERE, .step = COUNTERS_OPEN, .error = error_, .has_pmu = pmu,  \
				    .paranoid = level })

static void each_failure_names_its_reason(void)
{
	ok(strstr(why(REFUSED(ENOENT, false, 2), -EOPNOTSUPP), "no PMU"));
	ok(strstr(why(REFUSED(ENOENT, true, 2), -EOPNOTSUPP), "does not count that"));
	ok(strstr(why(REFUSED(EACCES, true, 4), -EACCES), "kernel.perf_event_paranoid is 4"));
	ok(strstr(why(REFUSED(EACCES, true, 4), -EACCES), "sysctl kernel.perf_event_paranoid=2"));
	ok(strstr(why(REFUSED(EPERM, true, 1), -EACCES), "seccomp"));
	ok(strstr(why(REFUSED(ENOSYS, true, 1), -EOPNOTSUPP), "without perf_event_open"));
	ok(strstr(why(REFUSED(EMFILE, true, 1), -EMFILE), strerror(EMFILE)));
	ok(strstr(why((struct counters_attempt){ HERE, .step = COUNTERS_MAP, .error = EPERM },
		      -EPERM),
		  "perf_event_mlock_kb"));
	ok(strstr(why((struct counters_attempt){ HERE, .step = COUNTERS_MAY_READ }, -EOPNOTSUPP),
		  "/sys/bus/event_source/devices/cpu/rdpmc must be 1"));
	ok(strstr(why((struct counters_attempt){ HERE, .step = COUNTERS_SCHEDULED }, -EBUSY),
		  "no counter left"));
	ok(strstr(why((struct counters_attempt){ HERE, .step = COUNTERS_READ }, -EOPNOTSUPP),
		  "kills"));
	ok(strstr(why((struct counters_attempt){ HERE }, -EOPNOTSUPP), "came to nothing"));
	ok(strstr(why((struct counters_attempt){ .step = COUNTERS_WORK }, -EOPNOTSUPP),
		  "x86-64 only"));
}

static void working_counters_have_no_reason(void)
{
	is(counters_explain(&(struct counters_attempt){ HERE, .step = COUNTERS_WORK }, NULL), 0);
}

static void other_contexts_need_no_counters(void)
{
	is(counters_check(0, NULL), 0);
	is(counters_check(ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES) - 1, NULL), 0);
}

static int lowest_descriptor(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	close(fd);
	return fd;
}

static void this_machine_has_them_or_says_why(void)
{
	struct diag d = { "" };
	int fd = lowest_descriptor();
	int err = counters_check(ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_INSTRUCTIONS) |
					 ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CACHE_MISSES),
				 &d);

	is(lowest_descriptor(), fd);
	if (!access("/sys/bus/event_source/devices/cpu", F_OK) ||
	    !access("/sys/bus/event_source/devices/cpu_core", F_OK)) {
		printf("# with a PMU: %s\n", err ? d.text : "counters work");
		ok(!err || *d.text);
		return;
	}
	is(err, -EOPNOTSUPP);
	ok(strstr(d.text, "context 'perf_thread_instructions': "));
	ok(strstr(d.text, "no PMU") || strstr(d.text, "x86-64 only"));
}

int main(void)
{
	run(each_failure_names_its_reason);
	run(working_counters_have_no_reason);
	run(other_contexts_need_no_counters);
	run(this_machine_has_them_or_says_why);
	return test_status();
}
