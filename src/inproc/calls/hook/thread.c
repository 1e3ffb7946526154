/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/thread.c - the state of a thread that records calls: made at its first call, renewed
 * in a child of fork, given up at its end.
 *
 * Everything here runs with signals blocked.  An area with tid 0 is free.  A thread of a child
 * finds its state zeroed and takes an area of the child's own file; the memory of the state is used
 * again.  A child of vfork writes as its parent: they share all memory, and one waits.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/calls/hook/path.h"
#include "inproc/calls/hook/slow.h"
#include "inproc/calls/hook/thread.h"

#include "base/runtime.h"
#include "inproc/process.h"

const struct calls_self calls_nobody, calls_ended;
__thread struct calls_here calls_here = { .self = CALLS_NOBODY };

/* glibc stores the values of the first 32 keys in the thread itself; setting a later one may
 * allocate. */
enum { KEYS_WITHOUT_MALLOC = 32, ENDS = 3 };
/* The states of all areas that were used, ABI_CALLS_THREADS; the memory serves the next thread of the area. */
static struct calls_self **selves;

static pthread_key_t key;
static bool has_key;

enum { GUARD_CHILD, GUARD_RENEWING, GUARD_USED };
static uint32_t *guard; /* in a page that the kernel zeroes in a child */

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *map_wiped(size_t size)
{
	void *p = map(size);

	if (!p || !madvise(p, size, MADV_WIPEONFORK))
		return p;
	munmap(p, size);
	return NULL;
}

/* ---------------------------------------------------------------- the end */

/* Other destructors may still call functions: so it asks to be called again, as often as libc
 * does. */
static void end_thread(void *self)
{
	struct calls_here *h = &calls_here;
	struct calls_self *s = self;
	struct calls_slow slow;

	if (h->self != s || !s->area)
		return;
	slow_begin(&slow);
	if (++s->n_ends < ENDS && !pthread_setspecific(key, s)) {
		slow_end(&slow);
		return;
	}
	batch_flush(s, ABI_BATCH_LAST);
	h->self = CALLS_ENDED;
	s->area->depth = 0;
	__atomic_store_n(&s->area->tid, 0, __ATOMIC_RELEASE);
	slow_end(&slow);
}

bool calls_threads_start(void)
{
	selves = map(ABI_CALLS_THREADS * sizeof *selves);
	guard = selves ? map_wiped(4096) : NULL;
	if (!guard)
		return false;
	store(guard, GUARD_USED);
	has_key = !pthread_key_create(&key, end_thread);
	if (has_key && key >= KEYS_WITHOUT_MALLOC) {
		pthread_key_delete(key);
		has_key = false;
	}
	return true;
}

static __attribute__((destructor)) void end_process(void)
{
	struct calls_self *s = calls_here.self;
	struct calls_slow slow;

	if (!s->area)
		return;
	slow_begin(&slow);
	batch_flush(s, ABI_BATCH_LAST);
	slow_end(&slow);
}

/* ---------------------------------------------------------------- the beginning */

/* False while another thread of the child does so. */
static bool renew_process(void)
{
	uint32_t child = GUARD_CHILD;

	if (load(guard) == GUARD_USED)
		return true;
	if (!compare_exchange(guard, &child, GUARD_RENEWING))
		return false;
	process_renew();
	calls_renew();
	store_release(guard, GUARD_USED);
	return true;
}

/* Gives the area its memory, to the last byte of its frames. The paths of a profile get theirs one by
 * one: path.c. */
static bool has_memory(struct abi_calls_thread *area)
{
	return runtime_reserve(area, offsetof(struct abi_calls_thread, paths));
}

static bool take(struct abi_calls_thread *area, uint32_t tid)
{
	uint32_t none = 0;

	return compare_exchange(&area->tid, &none, tid);
}

/* An area that no thread has; the one of a thread that is gone without a word is used last. */
static struct abi_calls_thread *find_area(uint32_t tid)
{
	struct abi_calls *shared = calls.shared;
	uint32_t n = load(&shared->n_threads);
	pid_t pid = (pid_t)syscall(SYS_getpid);

	for (uint32_t i = 0; i < n && i < ABI_CALLS_THREADS; i++)
		if (!load(&calls_area(i)->tid) && take(calls_area(i), tid))
			return calls_area(i);
	/* Areas below n_threads have their memory. */
	while (n < ABI_CALLS_THREADS && has_memory(calls_area(n)))
		if (compare_exchange(&shared->n_threads, &n, n + 1))
			return take(calls_area(n), tid) ? calls_area(n) : find_area(tid);
	for (uint32_t i = 0; i < load(&shared->n_threads) && i < ABI_CALLS_THREADS; i++) {
		uint32_t other = load(&calls_area(i)->tid);

		if (syscall(SYS_tgkill, pid, other, 0) && errno == ESRCH &&
		    compare_exchange(&calls_area(i)->tid, &other, tid)) {
			calls_count(&calls_area(i)->lost, 1); /* its last batch */
			return calls_area(i);
		}
	}
	return NULL;
}

static struct calls_self **self_of(const struct abi_calls_thread *area)
{
	return &selves[((const char *)area - (const char *)calls_area(0)) / ABI_CALLS_THREAD_BYTES];
}

static struct calls_self *find_memory(const struct abi_calls_thread *area)
{
	struct calls_self **s = self_of(area);

	if (!*s)
		store_release(s, map_wiped(sizeof **s + ABI_CALLS_FRAMES * sizeof *(*s)->frames));
	return *s;
}

/* The unfinished batch of the thread that had the area before is not sent: only a thread that ended
 * without its destructor leaves one. */
static void begin(struct calls_here *h, struct calls_self *s, struct abi_calls_thread *area,
		  const struct calls_frame *f, bool is_child)
{
	uint64_t *keys = s->keys;
	uint16_t *nodes = s->nodes;

	memset(s, 0, offsetof(struct calls_self, frames));
	s->keys = keys;
	s->nodes = nodes;
	s->area = area;
	s->epoch = calls_settings.epoch;
	area->lost = 0;
	area->depth = 0;
	area->sequence = 0;
	stack_begin(s, f);
	if (is_child)
		stack_rebuild(h, s);
	else
		h->depth = 0;
	batch_open(s);
	if (has_key)
		pthread_setspecific(key, s);
	s->generation = calls_settings.generation - 1;
	h->self = s;
	calls_take_over(s);
}

/* Another session has the program's calls now. */
static void begin_again(struct calls_self *s)
{
	s->epoch = calls_settings.epoch;
	s->area->lost = 0;
	s->area->n_paths = 0;
	s->pending = NULL;
	batch_open(s);
}

struct calls_self *calls_thread(struct calls_here *h, const struct calls_frame *f)
{
	struct calls_self *s = h->self;
	bool is_child = s != CALLS_NOBODY;
	struct abi_calls_thread *area;

	if (s == CALLS_ENDED || !calls.shared || !guard)
		return NULL;
	if (is_child && s->area) {
		if (unlikely(s->epoch != calls_settings.epoch))
			begin_again(s);
		return s;
	}
	if (!renew_process())
		return NULL;
	area = find_area((uint32_t)syscall(SYS_gettid));
	if (!area)
		return NULL;
	if (is_child)
		store_release(self_of(area), s);
	else
		s = find_memory(area);
	if (!s) {
		store_release(&area->tid, 0);
		return NULL;
	}
	begin(h, s, area, f, is_child);
	return s;
}

static void set_reach(struct calls_self *s)
{
	s->reach = calls_settings.has_ticks && !calls_here.inside ? CALLS_REACH : 0;
}

void calls_inside(void)
{
	calls_here.inside++;
	if (calls_here.self->area)
		set_reach(calls_here.self);
}

void calls_outside(void)
{
	calls_here.inside--;
	if (calls_here.self->area)
		set_reach(calls_here.self);
}

void calls_look_again(void)
{
	uint32_t n = selves ? load(&calls.shared->n_threads) : 0;

	for (uint32_t i = 0; i < n && i < ABI_CALLS_THREADS; i++) {
		struct calls_self *s = load_acquire(&selves[i]);

		store(&calls_area(i)->limit, 0);
		if (s)
			store(&s->most_depth, 0);
	}
}

void calls_take_over(struct calls_self *s)
{
	uint64_t most = ABI_CALLS_FRAMES;

	if (likely(s->generation == load(&calls_settings.generation)))
		return;
	s->generation = load(&calls_settings.generation);
	if (calls_settings.mode == ABI_CALLS_PROFILE && !path_begin(s))
		most = 0;
	if (most > calls_settings.depth)
		most = calls_settings.depth;
	if (((calls_settings.flags & ABI_PLAN_WITHIN) && !s->within) ||
	    load(&calls.shared->collect))
		most = 0;
	s->most_depth = most;
	set_reach(s);
}
