/* SPDX-License-Identifier: MIT */
/*
 * base/counter.h - counters of the processor, opened once and then read without a system call.
 *
 * The kernel counts for one thread, in user mode, and keeps in a page what must be added to the
 * register: struct perf_event_mmap_page of <linux/perf_event.h>, which says how it is read; see
 * also perf_event_open(2), "MMAP layout".  The page is only of use to the thread that is counted:
 * the kernel changes it, and its lock, on the CPU that thread runs on, so compiler barriers are
 * enough.
 *
 * Used by libduet, and by duet to find out beforehand whether this works here.
 */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"

enum { COUNTERS = 4 };

/* What we count: as enum abi_context has them from ABI_CONTEXT_PERF_CYCLES on. */
static const uint64_t counter_config[COUNTERS] = {
	PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CACHE_MISSES,
	PERF_COUNT_HW_BRANCH_MISSES,
};

typedef uint64_t counter_register(uint32_t number);

/*
 * counter_value - what the counter of @page says now.
 *
 * @read_register: counter_rdpmc; inlined if it is named at the call.
 *
 * A counter that has no register at the moment, because others share them, has the value it had
 * when it lost it.  0 if there is a register that may not be read.  The thread that is counted, and
 * its signal handlers.  No system call.
 */
static inline __attribute__((always_inline)) uint64_t
counter_value(const struct perf_event_mmap_page *page, counter_register *read_register)
{
	uint64_t value;
	uint32_t lock;

	do {
		lock = load(&page->lock);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		uint32_t index = load(&page->index);

		value = (uint64_t)load(&page->offset);
		if (index && page->cap_user_rdpmc) {
			unsigned unused = (64u - load(&page->pmc_width)) & 63;

			/* Signed, as wide as the register is: the kernel lets it start below 0. */
			value +=
				(uint64_t)((int64_t)(read_register(index - 1) << unused) >> unused);
		} else if (index) {
			value = 0;
		}
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (unlikely(load(&page->lock) != lock));
	return value;
}

#if defined __x86_64__
#define COUNTERS_ARE_READABLE 1
static inline uint64_t counter_rdpmc(uint32_t number)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
	return low | (uint64_t)high << 32;
}
#else
/* Elsewhere the instruction faults unless the kernel was told otherwise, and its page does not say
 * so. */
#define COUNTERS_ARE_READABLE 0
static inline uint64_t counter_rdpmc(uint32_t number)
{
	(void)number;
	return 0;
}
#endif

/* counter_open - begin to count @i < COUNTERS for this thread.  A descriptor, or -1 with errno. */
static inline int counter_open(unsigned i)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = counter_config[i],
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * counter_map - the page of counter @fd; MAP_FAILED with errno.
 *
 * It keeps the counter alive without the descriptor.  The kernel leaves it out of the children of
 * fork.
 */
static inline struct perf_event_mmap_page *counter_map(int fd, size_t page_size)
{
	return mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0);
}

#endif
