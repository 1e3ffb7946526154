/* SPDX-License-Identifier: MIT */
/*
 * Counters of the processor: how their pages are read, with a simulated register; and how they are
 * opened and closed with threads and children.  Clocks of the kernel replace the counters: their
 * pages are as real, and every machine has them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "base/perf_counter.h"
#include "context_host.h"
#include "inproc/thread_counters.h"

static int n_opened;
static bool is_refused;

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	struct perf_event_attr a;
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open) {
		n_opened++;
		errno = EACCES;
		if (is_refused)
			return -1;
		memcpy(&a, (void *)arg[0], PERF_ATTR_SIZE_VER0);
		a.type = PERF_TYPE_SOFTWARE;
		a.config = PERF_COUNT_SW_TASK_CLOCK;
		arg[0] = (long)&a;
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---------------------------------------------------------------- reading */

static struct perf_event_mmap_page page;
static uint64_t in_register;
static uint32_t asked_for;
static int n_reads, n_disturbed;

static uint64_t read_register(uint32_t number)
{
	asked_for = number;
	n_reads++;
	if (n_disturbed > 0) { /* taken off the processor, and put on again elsewhere */
		n_disturbed--;
		page.lock++;
		page.index = 7;
		page.offset = 5000;
		in_register = 17;
	}
	return in_register;
}

static uint64_t value_of(uint32_t index, uint16_t width, int64_t offset, uint64_t raw)
{
	page = (struct perf_event_mmap_page){
		.lock = 2, .index = index, .offset = offset, .pmc_width = width, .cap_user_rdpmc = 1
	};
	in_register = raw;
	n_reads = 0;
	return counter_value(&page, read_register);
}

static void a_counter_is_its_register_and_an_offset(void)
{
	is(value_of(1, 48, 1000, 234), 1234);
	is(asked_for, 0);
	is(value_of((1u << 30) + 2, 48, 0, 1), 1);
	is(asked_for, (1u << 30) + 1);
	is(value_of(1, 48, -1000, 1234), 234);
}

static void a_register_has_a_sign_at_its_width(void)
{
	is(value_of(1, 48, 1000, (1ull << 48) - 10), 990);
	is(value_of(1, 40, 1000, (1ull << 40) - 10), 990);
	is(value_of(1, 64, 1000, UINT64_MAX - 9), 990);
	is(value_of(1, 48, 0, (1ull << 47) - 1), (1ll << 47) - 1);
	/* Bits above the width are not the counter's. */
	is(value_of(1, 32, 1000, 5ull << 32 | 7), 1007);
}

static void a_page_that_changes_meanwhile_is_read_again(void)
{
	n_disturbed = 1;
	is(value_of(3, 48, 1000, 234), 5017);
	is(n_reads, 2);
	is(asked_for, 6);
	n_disturbed = 2;
	is(value_of(3, 48, 1000, 234), 5017);
	is(n_reads, 3);
}

static void without_a_register_a_counter_is_its_offset(void)
{
	is(value_of(0, 48, 4321, 99), 4321);
	is(n_reads, 0);
}

static void a_register_that_may_not_be_read_is_not(void)
{
	page = (struct perf_event_mmap_page){ .index = 1, .offset = -77, .pmc_width = 48 };
	n_reads = 0;
	is(counter_value(&page, read_register), 0);
	is(n_reads, 0);
}

/* ---------------------------------------------------------------- threads and children */

/* Pages of the kernel's counters in our memory; @first: where the first is. */
static int n_pages(const void **first)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "[perf_event]")) {
			unsigned long begin = 0, end = 0;

			sscanf(line, "%lx-%lx", &begin, &end);
			if (first && !n)
				*first = (const void *)begin;
			n += (int)((end - begin) / (unsigned long)sysconf(_SC_PAGESIZE));
		}
	if (f)
		fclose(f);
	return n;
}

static int lowest_descriptor(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	close(fd);
	return fd;
}

/* The event counted does not matter: the clocks that replace counters may stand at 0. */
static void put(uint64_t mask)
{
	char bytes[ABI_CONTEXT_MAX_BYTES];

	is(counters_put(mask, bytes) - bytes, 8 * __builtin_popcountll(mask & COUNTERS_MASK));
}

static uint64_t put_zeros(void)
{
	uint64_t v[COUNTERS] = { 1, 1, 1, 1 };

	counters_put(~0ull, (char *)v);
	return v[0] | v[1] | v[2] | v[3];
}

static void in_a_thread(void *(*f)(void *))
{
	pthread_t t;

	is(pthread_create(&t, NULL, f, NULL), 0);
	is(pthread_join(t, NULL), 0);
}

static void *count_two_then_all(void *arg)
{
	int before = lowest_descriptor(), opened = n_opened;

	errno = ENOTTY;
	put(ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES) |
	    ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CACHE_MISSES));
	is(n_pages(NULL), 2);
	put(COUNTERS_MASK);
	is(n_pages(NULL), 4);
	for (int i = 0; i < 1000; i++)
		put(~0ull);
	is(errno, ENOTTY);
	is(n_opened - opened, 4);
	is(lowest_descriptor(), before);
	return arg;
}

static void a_thread_has_pages_until_it_ends_and_no_descriptor(void)
{
	is(n_pages(NULL), 0);
	in_a_thread(count_two_then_all);
	is(n_pages(NULL), 0);
}

static int n_opened_late = -1;

static void record_late(void *unused)
{
	int before = n_opened;

	(void)unused;
	is(put_zeros(), 0);
	n_opened_late = n_opened - before;
}

static void *end_with_an_event(void *key)
{
	put(COUNTERS_MASK);
	pthread_setspecific(*(pthread_key_t *)key, key);
	return NULL;
}

static void an_ended_thread_counts_no_more(void)
{
	pthread_key_t key; /* made after ours, so its destructor comes after */
	pthread_t t;

	is(pthread_key_create(&key, record_late), 0);
	is(pthread_create(&t, NULL, end_with_an_event, &key), 0);
	is(pthread_join(t, NULL), 0);
	is(n_opened_late, 0);
	is(n_pages(NULL), 0);
	pthread_key_delete(key);
}

/* Forks as a handler would that interrupted the reading of a page, which the child then goes on
 * with. */
static void *fork_while_counting(void *arg)
{
	const volatile struct perf_event_mmap_page *first = NULL;
	int status, opened;
	pid_t child;

	put(COUNTERS_MASK);
	is(n_pages((const void **)&first), 4);
	counters_before_fork();
	fflush(stdout);
	child = fork();
	if (!child) {
		test_n_failed = 0;
		is(n_pages(NULL), 0);
		counters_forked();
		ok(!first->index && !first->lock);
		is(n_pages(NULL), 0);
		opened = n_opened;
		put(COUNTERS_MASK);
		is(n_opened - opened, 4);
		is(n_pages(NULL), 4);
		fflush(stdout);
		_exit(test_n_failed != 0);
	}
	is(waitpid(child, &status, 0), child);
	is(status, 0);
	is(n_pages(NULL), 4);
	return arg;
}

static void a_child_begins_anew_and_ends_what_it_was_reading(void)
{
	in_a_thread(fork_while_counting);
}

static void *be_refused(void *arg)
{
	int before = n_opened;

	is_refused = true;
	is(put_zeros(), 0);
	is(n_opened - before, 4);
	is(put_zeros(), 0);
	is(n_opened - before, 4);
	is_refused = false;
	return arg;
}

static void refused_counters_are_0_and_not_opened_again(void)
{
	in_a_thread(be_refused);
}

static void *be_sandboxed(void *arg)
{
	int opened = n_opened, asked;

	is(put_zeros(), 0);
	asked = n_asked;
	is(put_zeros(), 0);
	is(n_asked, asked);
	is(n_opened, opened);
	is(n_pages(NULL), 0);
	return arg;
}

static void under_any_filter_the_kernel_is_not_asked(void)
{
	is_sandboxed = true;
	in_a_thread(be_sandboxed);
	is_sandboxed = false;
	process.seccomp_at_start = 2;
	in_a_thread(be_sandboxed);
	process.seccomp_at_start = 0;
}

int main(void)
{
	run(a_counter_is_its_register_and_an_offset);
	run(a_register_has_a_sign_at_its_width);
	run(a_page_that_changes_meanwhile_is_read_again);
	run(without_a_register_a_counter_is_its_offset);
	run(a_register_that_may_not_be_read_is_not);
	run(under_any_filter_the_kernel_is_not_asked);
	if (!COUNTERS_ARE_READABLE) {
		printf("# counters of this kind of processor are not opened\n");
		return test_status();
	}
	run(a_thread_has_pages_until_it_ends_and_no_descriptor);
	run(an_ended_thread_counts_no_more);
	run(a_child_begins_anew_and_ends_what_it_was_reading);
	run(refused_counters_are_0_and_not_opened_again);
	return test_status();
}
