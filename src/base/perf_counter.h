/* SPDX-License-Identifier: MIT */
/*
 * base/perf_counter.h - hardware counters, opened once and then read without a system call.
 *
 * The kernel counts for one thread in user mode.  Its page, struct perf_event_mmap_page of
 * <linux/perf_event.h>, holds the value to add to the register; see perf_event_open(2), "MMAP
 * layout".  Only the counted thread can use the page: the kernel changes it, and its lock, on the
 * CPU of that thread, so compiler barriers are enough.
 *
 * libduet uses it, and duet does to find out beforehand whether it works on this machine.
 */
#ifndef BASE_PERF_COUNTER_H
#define BASE_PERF_COUNTER_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"

enum { COUNTERS = 4 };

/* The events counted, in the order of enum abi_context from ABI_CONTEXT_PERF_CYCLES on. */
static const uint64_t counter_config[COUNTERS] = {
	PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CACHE_MISSES,
	PERF_COUNT_HW_BRANCH_MISSES,
};

typedef uint64_t counter_register(uint32_t number);

/*
 * counter_value - the current value of the counter of @page.
 *
 * @read_register: counter_rdpmc; inlined if it is named at the call.
 *
 * A counter that shares registers may have none at the moment; then this is its value when it lost
 * the register.  0 if the register must not be read.  For the counted thread and its signal
 * handlers.  No system call.
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

			/* Signed and as wide as the register: the kernel lets it start below 0. */
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
/* Elsewhere the instruction faults unless the kernel is set up for it, and its page does not state
 * that. */
#define COUNTERS_ARE_READABLE 0
static inline uint64_t counter_rdpmc(uint32_t number)
{
	(void)number;
	return 0;
}
#endif

/* counter_open - start counter @i < COUNTERS for this thread.  A descriptor, or -1 with errno. */
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
 * counter_map - map the page of counter @fd; MAP_FAILED with errno.
 *
 * The mapping keeps the counter alive without the descriptor.  The kernel does not map it in
 * children of fork.
 */
static inline struct perf_event_mmap_page *counter_map(int fd, size_t page_size)
{
	return mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0);
}

#endif
