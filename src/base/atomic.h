/* SPDX-License-Identifier: MIT */
/*
 * base/atomic.h - short names for the memory orders in use.
 *
 * `load` and `store` are single accesses without ordering.  An acquire pairs with a release that
 * the comment beside it names.  Read-modify-writes are sequentially consistent: none is on a hot
 * path.
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#define load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define compare_exchange(p, expected, v)                                                           \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
