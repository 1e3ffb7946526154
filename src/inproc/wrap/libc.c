/* SPDX-License-Identifier: MIT */
/*
 * inproc/wrap/libc.c - libduet-libc.so: record a program's use of the heap as events.
 *
 * It is preloaded before malloc and related functions, and records their arguments and results in
 * the events and fields that readers know from LTTng-UST.  The real functions are the next ones in
 * the search order, so other preloads and allocators may follow.  It is a normal client of
 * duet/duet.h with one exception: its first call precedes all constructors, so it registers its
 * sites itself.
 *
 * Invariants:
 *
 *   (1) every call is passed on exactly once, except those that arena.at serves while begin() looks
 *       up the real functions; errno is the real function's
 *   (2) it takes no lock and allocates nothing; any thread or handler, as far as malloc allows
 *   (3) an event inside an event (a handler; libduet attaching a session, if libc allocates) is
 *       recorded too, down to DEPTH; below that it is counted as lost
 *
 * The order of events: an address is free between a moment inside one thread's free and a moment
 * inside another thread's malloc.  So free's event precedes the call and malloc's event follows it,
 * and a thread always seems to get an address after it was freed.  realloc does both in one call;
 * its event is late for in_ptr or early for ptr.  It follows the call: the result is known, other
 * tools do the same, and the reader can still resolve it.  If an address is returned while it is
 * live, its owner is inside a realloc (in_ptr) whose event follows later and ends the older
 * allocation.  ptr = 0 with size > 0 means that in_ptr stays allocated; with size = 0 that it is
 * freed.
 *
 * glibc's reallocarray calls realloc and so is recorded; valloc and pvalloc are recorded as
 * memalign to a page.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"

/* The return address of malloc: its events travel in registers, and malloc itself records them. */
#define DUET_I_HERE __builtin_return_address(0)
#include "duet/duet.h"

DUET_EVENT(lttng_ust_libc, malloc, (size_t, size), (ptr, ptr));
DUET_EVENT(lttng_ust_libc, calloc, (size_t, nmemb), (size_t, size), (ptr, ptr));
DUET_EVENT(lttng_ust_libc, realloc, (ptr, in_ptr), (size_t, size), (ptr, ptr));
DUET_EVENT(lttng_ust_libc, free, (ptr, ptr));
DUET_EVENT(lttng_ust_libc, memalign, (size_t, alignment), (size_t, size), (ptr, ptr));
DUET_EVENT(lttng_ust_libc, posix_memalign, (ptr, out_ptr), (size_t, alignment), (size_t, size),
	   (i32, result));
DUET_EVENT(lttng_ust_libc, aligned_alloc, (size_t, alignment), (size_t, size), (ptr, ptr));

#define EXPORT __attribute__((visibility("default")))
#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))

/* ---------------------------------------------------------------- events */

enum { DEPTH = 4 };

PER_THREAD volatile int depth;

extern char __libc_single_threaded __attribute__((weak)); /* glibc, since 2.32 */

/*
 * The processor may read the clock before earlier loads, also before the load of an address that
 * another thread just freed.  Seen in 2 of 120 000 hand-overs between two CPUs.
 */
static void order_clock(void)
{
#if defined __x86_64__
	if (!&__libc_single_threaded || !__libc_single_threaded)
		__builtin_ia32_lfence();
#endif
}

static bool enter(void)
{
	if (likely(depth < DEPTH)) {
		order_clock();
		depth++;
		return true;
	}
	duet_i_api->lost();
	return false;
}

#define RECORD(event, ...)                                                                         \
	do {                                                                                       \
		if (trace_lttng_ust_libc_##event##_enabled() && enter()) {                         \
			trace_lttng_ust_libc_##event(__VA_ARGS__);                                 \
			depth--;                                                                   \
		}                                                                                  \
	} while (0)

/* ---------------------------------------------------------------- the arena */

enum { ARENA_BYTES = 16 << 10, ALIGNMENT = 16 };

/* Each block begins with its size.  None is freed: dlsym needs a few hundred bytes, once. */
static struct {
	size_t used;
	char at[ARENA_BYTES] __attribute__((aligned(ALIGNMENT)));
} arena;

static bool is_in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena.at < sizeof arena.at;
}

/* The block is zeroed. */
static void *arena_take(size_t size)
{
	size_t whole = (size + 2 * ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1), begin;

	if (size <= sizeof arena.at) {
		begin = fetch_add(&arena.used, whole);
		if (begin <= sizeof arena.at && whole <= sizeof arena.at - begin) {
			memcpy(arena.at + begin, &size, sizeof size);
			return arena.at + begin + ALIGNMENT;
		}
	}
	errno = ENOMEM;
	return NULL;
}

static void *arena_take_aligned(size_t alignment, size_t size)
{
	return alignment <= ALIGNMENT ? arena_take(size) : (errno = ENOMEM, NULL);
}

/* Also moves a block out of the arena, when `to` comes from the real malloc. */
static void *arena_copy(void *to, const void *from, size_t size)
{
	size_t old;

	if (!to || !from)
		return to;
	memcpy(&old, (const char *)from - ALIGNMENT, sizeof old);
	return memcpy(to, from, old < size ? old : size);
}

/* ---------------------------------------------------------------- the beginning */

static struct functions {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

static const char *const names[] = { "malloc",	      "calloc",	  "realloc",
				     "free",	      "memalign", "posix_memalign",
				     "aligned_alloc", "valloc",	  "pvalloc" };

enum { N_NAMES = sizeof names / sizeof *names };
_Static_assert(sizeof real == N_NAMES * sizeof(void *), "a name for each function");

static void find_real(void)
{
	void *found[N_NAMES];

	for (int i = 0; i < N_NAMES; i++)
		found[i] = dlsym(RTLD_NEXT, names[i]);
	/* All or none: a block of the arena must not reach a real realloc. */
	for (int i = 0; i < N_NAMES; i++)
		store((void **)&real + i, found[i]);
}

extern void *__libc_stack_end __attribute__((weak)); /* the address where the kernel put argc,
							argv, envp */

/* A program's .preinit_array runs before libc has set its environment, and libduet needs it now. */
static void find_environment(void)
{
	if (!environ && &__libc_stack_end && __libc_stack_end) {
		long *argc = __libc_stack_end;

		environ = (char **)(argc + 1 + *argc + 1);
	}
}

static __attribute__((noinline, cold)) void begin(void)
{
	PER_THREAD bool is_inside;
	static bool is_registered;
	int saved = errno;

	if (is_inside)
		return;
	is_inside = true;
	find_real();
	if (!exchange(&is_registered, true)) {
		find_environment();
		duet_i_constructor();
	}
	errno = saved;
	is_inside = false;
}

/* Whether the real function is known; false inside begin(), and if no library has it. */
#define KNOWN(function) (likely(real.function) || (begin(), real.function))

/* ---------------------------------------------------------------- the functions */

EXPORT void *malloc(size_t size)
{
	void *p;

	if (!KNOWN(malloc))
		return arena_take(size);
	p = real.malloc(size);
	RECORD(malloc, size, p);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *p;

	if (!KNOWN(calloc))
		return arena_take(size && n > SIZE_MAX / size ? SIZE_MAX : n * size);
	p = real.calloc(n, size);
	RECORD(calloc, n, size, p);
	return p;
}

EXPORT void *realloc(void *old, size_t size)
{
	void *p;

	if (!KNOWN(realloc))
		return arena_copy(arena_take(size), old, size);
	if (unlikely(is_in_arena(old)))
		return arena_copy(malloc(size), old, size);
	p = real.realloc(old, size);
	RECORD(realloc, old, size, p);
	return p;
}

EXPORT void free(void *p)
{
	if (unlikely(is_in_arena(p)) || !KNOWN(free))
		return;
	RECORD(free, p);
	real.free(p);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *p;

	if (!KNOWN(memalign))
		return arena_take_aligned(alignment, size);
	p = real.memalign(alignment, size);
	RECORD(memalign, alignment, size, p);
	return p;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	int result;

	if (!KNOWN(posix_memalign)) {
		*out = arena_take_aligned(alignment, size);
		return *out ? 0 : ENOMEM;
	}
	result = real.posix_memalign(out, alignment, size);
	RECORD(posix_memalign, result ? NULL : *out, alignment, size, result);
	return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *p;

	if (!KNOWN(aligned_alloc))
		return arena_take_aligned(alignment, size);
	p = real.aligned_alloc(alignment, size);
	RECORD(aligned_alloc, alignment, size, p);
	return p;
}

EXPORT void *valloc(size_t size)
{
	void *p;

	if (!KNOWN(valloc))
		return arena_take_aligned(SIZE_MAX, size);
	p = real.valloc(size);
	RECORD(memalign, (size_t)getpagesize(), size, p);
	return p;
}

EXPORT void *pvalloc(size_t size)
{
	void *p;

	if (!KNOWN(pvalloc))
		return arena_take_aligned(SIZE_MAX, size);
	p = real.pvalloc(size);
	RECORD(memalign, (size_t)getpagesize(), size, p);
	return p;
}
