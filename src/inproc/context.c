/* SPDX-License-Identifier: MIT */
/*
 * inproc/context.c - read and cache a thread's contexts, and walk its call stack.
 *
 * Most values change rarely and cost a system call.  So each thread reads them once and caches them
 * in initial-exec TLS, which libraries loaded late have little of.  The cache is per thread because
 * in Linux the values may be (setns, a name), and because it needs no lock.
 *
 * A call stack is walked by frame pointers, in memory that is known to be this thread's stack:
 *
 *   (1) of the stack, [low, top) was checked to be mapped and readable, page by page
 *   (2) nothing is read below the first frame of the walk, which is in use, nor at or above top
 *   (3) frames ascend, so the walk ends
 *
 * All between a frame in use and the top of its stack is in use too, and so stays readable.  If the
 * frame is on another stack (sigaltstack, coroutines), (1) does not hold and only ip is recorded.
 */
#include "inproc/context.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/thread_counters.h"
#include "inproc/process.h"
#include "ring/write_fast.h"

#define BIT(name) ABI_CONTEXT_BIT(ABI_CONTEXT_##name)

enum { N_IDS = 5, N_NAMESPACES = 8, N_NUMBERS = N_IDS + N_NAMESPACES };
/* From PPID to UTS_NS: cached as 32 bits. */
static const uint64_t numbers_mask = ABI_CONTEXT_BIT(ABI_CONTEXT_UTS_NS + 1) - BIT(PPID);
static const uint64_t cached_mask = ABI_CONTEXT_BIT(ABI_CONTEXT_UTS_NS + 1) - 1;
_Static_assert(N_NUMBERS == ABI_CONTEXT_UTS_NS - ABI_CONTEXT_PPID + 1, "a number for each");
_Static_assert(ABI_CONTEXT_UTS_NS < 32, "`have` is 32 bits");

struct values {
	uint32_t number[N_NUMBERS]; /* of context ABI_CONTEXT_PPID + i */
	uint32_t have;		    /* contexts whose values are here */
	char procname[ABI_PROCNAME_BYTES - 1];
};

/* One store and one load: a signal handler finds it done or not begun. */
typedef uint64_t slot_type __attribute__((vector_size(ABI_SLOT_BYTES)));

static __thread struct {
	slot_type slot;
	uintptr_t stack_low, stack_top; /* 0: not checked yet */
	uint32_t n_elsewhere;		/* frames that are not on the known stack */
	uint32_t generation;
	struct values values;
} own __attribute__((tls_model("initial-exec")));
_Static_assert(sizeof own <= 128, "room for TLS of late libraries is small");

uint32_t context_generation;	 /* if `own` has another one, read the values again */
static struct values of_process; /* as the last thread found them */

void context_forget(void)
{
	fetch_add(&context_generation, 1);
}

void context_set(const void *bytes16)
{
	slot_type v = { 0, 0 };

	if (bytes16)
		memcpy(&v, bytes16, sizeof v);
	own.slot = v;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---------------------------------------------------------------- cached values */

static uint32_t read_namespace(enum abi_context c)
{
	static const char *const path[N_NAMESPACES] = {
		"/proc/thread-self/ns/cgroup", "/proc/thread-self/ns/ipc",
		"/proc/thread-self/ns/mnt",    "/proc/thread-self/ns/net",
		"/proc/thread-self/ns/pid",    "/proc/thread-self/ns/time",
		"/proc/thread-self/ns/user",   "/proc/thread-self/ns/uts",
	};
	struct stat st;

	/* 0 without /proc, as in a chroot. */
	return syscall(SYS_newfstatat, AT_FDCWD, path[c - ABI_CONTEXT_CGROUP_NS], &st, 0)
		       ? 0
		       : (uint32_t)st.st_ino;
}

static uint32_t read_number(enum abi_context c)
{
	switch (c) {
	case ABI_CONTEXT_PPID:
		return (uint32_t)syscall(SYS_getppid);
	case ABI_CONTEXT_VUID:
		return (uint32_t)syscall(SYS_getuid);
	case ABI_CONTEXT_VEUID:
		return (uint32_t)syscall(SYS_geteuid);
	case ABI_CONTEXT_VGID:
		return (uint32_t)syscall(SYS_getgid);
	case ABI_CONTEXT_VEGID:
		return (uint32_t)syscall(SYS_getegid);
	default:
		return read_namespace(c);
	}
}

static void read_procname(void)
{
	char name[16] = "";

	syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	memcpy(own.values.procname, name, sizeof name);
	memcpy(of_process.procname, name, sizeof name);
}

static void read_values(uint64_t missing)
{
	if (missing & BIT(PROCNAME))
		read_procname();
	for (int i = 0; i < N_NUMBERS; i++)
		if (missing & ABI_CONTEXT_BIT(ABI_CONTEXT_PPID + i)) {
			own.values.number[i] =
				read_number((enum abi_context)(ABI_CONTEXT_PPID + i));
			store(&of_process.number[i], own.values.number[i]);
		}
	__atomic_fetch_or(&of_process.have, (uint32_t)missing, __ATOMIC_RELEASE); /* [V] */
}

/* If a sandbox forbids system calls, a thread takes the values that another one found: threads
 * rarely differ, and less so in a sandbox. */
static void borrow(uint64_t missing)
{
	uint32_t have = load_acquire(&of_process.have); /* pairs with [V] */

	if (missing & BIT(PROCNAME))
		memcpy(own.values.procname, of_process.procname, sizeof own.values.procname);
	for (int i = 0; i < N_NUMBERS; i++)
		if (missing & ABI_CONTEXT_BIT(ABI_CONTEXT_PPID + i)) {
			uint32_t unknown = i < N_IDS ? UINT32_MAX : 0;

			own.values.number[i] = have & ABI_CONTEXT_BIT(ABI_CONTEXT_PPID + i)
						       ? load(&of_process.number[i])
						       : unknown;
		}
}

/* A handler may interrupt this and do the same.  It finds the same values, so at worst the work is
 * done twice. */
static __attribute__((noinline)) void refresh(uint64_t wanted)
{
	uint32_t now = load(&context_generation);
	uint64_t missing;
	int saved = errno;

	if (own.generation != now) {
		own.values.have = 0;
		own.generation = now;
	}
	missing = wanted & ~(uint64_t)own.values.have;
	if (missing && process_is_sandboxed())
		borrow(missing);
	else if (missing)
		read_values(missing);
	/* Not if the values became outdated before all were read. */
	if (now == load(&context_generation))
		own.values.have |= (uint32_t)missing;
	errno = saved;
}

void context_prepare(uint64_t mask)
{
	refresh(mask & cached_mask);
	counters_prepare(mask);
}

static char *put_cached(uint64_t mask, char *p)
{
	uint64_t wanted = mask & cached_mask;

	if (unlikely(wanted & ~(uint64_t)own.values.have ||
		     own.generation != load(&context_generation)))
		refresh(wanted);
	if (mask & BIT(PROCNAME)) {
		memcpy(p, own.values.procname, sizeof own.values.procname);
		p[sizeof own.values.procname] = 0;
		p += ABI_PROCNAME_BYTES;
	}
	for (uint64_t left = mask & numbers_mask; left; left &= left - 1) {
		memcpy(p, &own.values.number[__builtin_ctzll(left) - ABI_CONTEXT_PPID], 4);
		p += 4;
	}
	return p;
}

__thread struct context_kept context_kept;

/* Values of another generation do not hold any more.  `what` comes first: a handler finds none of them. */
static void renew_kept(uint32_t generation)
{
	if (context_kept.generation == generation)
		return;
	for (uint32_t i = 0; i < CONTEXTS_KEPT; i++)
		context_kept.ready[i].what = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	context_kept.generation = generation;
}

/* The values of @mask into @r, which has none.  False: there is no room. */
static bool fill(struct ring_prefix *r, uint64_t mask)
{
	char values[ABI_CONTEXT_MAX_BYTES];
	size_t size = (size_t)(put_cached(mask & cached_mask, values) - values);

	if (size > sizeof r->bytes)
		return false;
	memcpy(r->bytes, values, size);
	r->size = (uint32_t)size;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->what = mask;
	return true;
}

const struct ring_prefix *context_make_prefix(uint64_t mask)
{
	struct ring_prefix *r;
	bool is_made;

	if (mask & ~(cached_mask | BIT(IP)) || context_kept.is_changing)
		return NULL;
	context_kept.is_changing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	renew_kept(load(&context_generation));
	r = &context_kept.ready[context_kept.next % CONTEXTS_KEPT];
	r->what = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	is_made = fill(r, mask);
	context_kept.next += is_made;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	context_kept.is_changing = false;
	return is_made ? r : NULL;
}

/* ---------------------------------------------------------------- the stack */

enum { STEP_BYTES = 1 << 20 /* checked at once */, SMALLEST_PAGE = 4096 };

/*
 * Each frame outside the known stack costs system calls; in a coroutine every frame is one.  So
 * after the first ones only few are checked, at growing intervals: the stack is then found later.
 */
static bool is_worth_asking(uint32_t n_elsewhere)
{
	return n_elsewhere < 64 || !(n_elsewhere & (n_elsewhere - 1));
}

extern void *__libc_stack_end __attribute__((weak)); /* the main thread's, at the program's start */

static uintptr_t thread_pointer(void)
{
	uintptr_t p;

#if defined __x86_64__
	__asm__("movq %%fs:0, %0" : "=r"(p));
#elif defined __aarch64__
	__asm__("mrs %0, tpidr_el0" : "=r"(p));
#endif
	return p;
}

/* Set when we are loaded: after a fork another thread may have the id that equals the process's. */
static uintptr_t main_thread;

static __attribute__((constructor)) void find_main_thread(void)
{
	if (syscall(SYS_gettid) == syscall(SYS_getpid))
		main_thread = thread_pointer();
}

/* libc keeps a thread's own data at the upper end of its stack, also if the program allocated
 * it. */
static uintptr_t top_of_stack(void)
{
	uintptr_t tp = thread_pointer();

	if (tp == main_thread ||
	    (!main_thread && thread_context == ABI_CTF_IDS(process.pid, process.pid)))
		return &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	return tp;
}

/*
 * Whether all of [from, to) is readable; multiples of a page, at most STEP_BYTES.  mincore comes
 * first: it reports unmapped memory without making the main thread's stack grow.  Then each page is
 * passed to a call that reads from it and, because of its first argument, does nothing.
 */
static bool is_readable(uintptr_t from, uintptr_t to)
{
	unsigned char there[STEP_BYTES / SMALLEST_PAGE];

	if (syscall(SYS_mincore, from, to - from, there))
		return false;
	for (uintptr_t page = to; page > from; page -= SMALLEST_PAGE)
		if (syscall(SYS_rt_sigprocmask, -1, page - SMALLEST_PAGE, NULL, 8) &&
		    errno == EFAULT)
			return false;
	return true;
}

/* Extends the known stack down to the page of @at. */
static bool extend_to(uintptr_t at)
{
	uintptr_t page = getauxval(AT_PAGESZ), low = own.stack_low, from;

	at &= -page;
	if (page < SMALLEST_PAGE || page > STEP_BYTES || !page)
		return false;
	while (at < low) {
		from = low - at > STEP_BYTES ? low - STEP_BYTES : at;
		if (!is_readable(from, low))
			return false;
		own.stack_low = low = from;
	}
	return true;
}

static __attribute__((noinline)) bool extend_stack(uintptr_t at)
{
	int saved = errno;
	bool is_there;

	if (!own.stack_top) {
		uintptr_t page = getauxval(AT_PAGESZ), top = top_of_stack() & -sizeof(uintptr_t);

		own.stack_low = (top + page - 1) & -page;
		own.stack_top = top;
	}
	is_there = at < own.stack_top && is_worth_asking(own.n_elsewhere) &&
		   !process_is_sandboxed() && extend_to(at);
	own.n_elsewhere += !is_there;
	errno = saved;
	return is_there;
}

static bool is_on_stack(uintptr_t at)
{
	return likely(at >= own.stack_low && at < own.stack_top) || extend_stack(at);
}

/* A plausible return address, without its signature; else 0. */
static uintptr_t clean_address(uintptr_t a)
{
#if defined __aarch64__
	a &= (1ull << 48) - 1;
#endif
	return a >= SMALLEST_PAGE && a < 1ull << 56 ? a : 0;
}

static char *put_address(char *p, uintptr_t a)
{
	uint64_t v = a;

	memcpy(p, &v, sizeof v);
	return p + sizeof v;
}

/* Stack frames of other functions are not objects that a sanitizer knows. */
__attribute__((no_sanitize("address"))) static char *put_callstack(char *p, const void *ip,
								   const void *frame)
{
	enum { BETWEEN_MAX = 4 }; /* frames before the one whose return address is ip */
	char *count = p, *begin = p + 4;
	uintptr_t at = (uintptr_t)frame, top;
	uint32_t n;

	p = put_address(begin, (uintptr_t)ip);
	if (at % sizeof at || !is_on_stack(at))
		at = 0;
	top = own.stack_top;
	for (int depth = 0; at && top - at >= 2 * sizeof at && p < begin + 8 * ABI_CALLSTACK_MAX;
	     depth++) {
		const volatile uintptr_t *record = (const volatile uintptr_t *)at;
		uintptr_t next = record[0], address = clean_address(record[1]);

		if (!address)
			break;
		if (depth < BETWEEN_MAX && address == (uintptr_t)ip)
			p = begin + 8;
		else if (depth)
			p = put_address(p, address);
		at = next > at && next < top && next % sizeof next == 0 ? next : 0;
	}
	n = (uint32_t)(p - begin) / 8;
	memcpy(count, &n, sizeof n);
	return p;
}

char *context_put(uint64_t mask, char *p, const void *ip, const void *frame)
{
	if (mask & cached_mask)
		p = put_cached(mask, p);
	if (mask & BIT(IP))
		p = put_address(p, (uintptr_t)ip);
	if (mask & BIT(CALLSTACK))
		p = put_callstack(p, ip, frame);
	if (mask & BIT(SLOT)) {
		slot_type v = own.slot;

		memcpy(p, &v, sizeof v);
		p += sizeof v;
	}
	if (mask & COUNTERS_MASK)
		p = counters_put(mask, p);
	return p;
}
