/* SPDX-License-Identifier: MIT */
/*
 * inproc/thread_counters.c - open, read and close a thread's hardware counters.
 *
 * A thread that records counters has a block with the pages to read them by.  Invariants:
 *
 *   (1) a page named in the block of this process is mapped: the kernel zeroes the block in a
 *       forked child (MADV_WIPEONFORK), whichever way it was forked, and the child begins anew
 *   (2) blocks change with signals blocked: no handler finds one half made, and none that forks
 *       returns into the making of one
 *   (3) a counter that cannot be opened is a page of zeros with the value 0: it is not tried again
 *
 * No descriptor stays open: the mapping holds the counter.  A destructor of thread-specific data
 * unmaps it; without one, the pages of ended threads would stay until the program ends.
 */
#include "inproc/thread_counters.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/perf_counter.h"
#include "inproc/process.h"

_Static_assert(ABI_CONTEXT_PERF_BRANCH_MISSES - ABI_CONTEXT_PERF_CYCLES == COUNTERS - 1,
	       "one context for each");

typedef const struct perf_event_mmap_page page_type;

struct counters {
	page_type *page[COUNTERS]; /* NULL: not requested yet */
};

static page_type no_page;
/* For a thread without a block, and for one that has ended. */
static struct counters no_counters = { { &no_page, &no_page, &no_page, &no_page } };

static __thread struct counters *own __attribute__((tls_model("initial-exec")));

static page_type *of_forker[COUNTERS]; /* under process_lock, held across fork */

/* ---------------------------------------------------------------- the end of a thread */

/* glibc stores the values of the first 32 keys in the thread itself; setting a later one may
 * allocate. */
enum { KEY_NOT_MADE = 0, KEY_NOT_USED = -1, KEYS_WITHOUT_MALLOC = 32 };
static int key_plus_one;

static void forget_thread(void *block)
{
	struct counters *c = block;
	size_t page_size = getauxval(AT_PAGESZ);

	own = &no_counters; /* first: a handler may interrupt, and other destructors may record */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (process_is_sandboxed())
		return;
	for (int i = 0; i < COUNTERS; i++)
		if (c->page[i] && c->page[i] != &no_page)
			munmap((void *)c->page[i], page_size);
	munmap(c, page_size);
}

/* glibc makes a key by compare-and-swap; other libraries may take a lock, which a handler must
 * not. */
static void make_key(void)
{
#ifdef __GLIBC__
	int none = KEY_NOT_MADE;
	pthread_key_t key;

	if (load(&key_plus_one) != KEY_NOT_MADE || pthread_key_create(&key, forget_thread))
		return;
	if (key >= KEYS_WITHOUT_MALLOC)
		pthread_key_delete(key);
	else if (compare_exchange(&key_plus_one, &none, (int)key + 1))
		return;
	else
		pthread_key_delete(key); /* another thread made one first */
	none = KEY_NOT_MADE;
	compare_exchange(&key_plus_one, &none, KEY_NOT_USED);
#endif
}

/* ---------------------------------------------------------------- its beginning */

/*
 * No counting under any filter (seccomp), also not one that existed before us and let us attach:
 * few filters list this call, and some kill the caller.
 */
static bool may_count(void)
{
	return COUNTERS_ARE_READABLE && !process.seccomp_at_start && !process_is_sandboxed();
}

static struct counters *make_block(size_t page_size)
{
	struct counters *c;

	if (!may_count())
		return &no_counters;
	c = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return &no_counters;
	if (madvise(c, page_size, MADV_WIPEONFORK)) {
		munmap(c, page_size);
		return &no_counters;
	}
	make_key();
	if (load(&key_plus_one) > 0)
		pthread_setspecific((pthread_key_t)(load(&key_plus_one) - 1), c);
	return c;
}

static page_type *make_page(unsigned i, size_t page_size)
{
	page_type *page;
	int fd;

	if (!may_count())
		return &no_page;
	fd = counter_open(i);
	if (fd < 0)
		return &no_page;
	page = counter_map(fd, page_size);
	syscall(SYS_close, fd);
	return page == MAP_FAILED ? &no_page : page;
}

static __attribute__((noinline)) void begin(uint64_t mask)
{
	size_t page_size = getauxval(AT_PAGESZ);
	sigset_t all, before;
	int saved = errno;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!own)
		own = make_block(page_size);
	for (unsigned i = 0; i < COUNTERS; i++)
		if (mask & ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES + i) && !own->page[i])
			store(&own->page[i], make_page(i, page_size));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}

void counters_prepare(uint64_t mask)
{
	if (mask & COUNTERS_MASK)
		begin(mask);
}

char *counters_put(uint64_t mask, char *p)
{
	for (unsigned i = 0; i < COUNTERS; i++) {
		page_type *page;
		uint64_t value;

		if (!(mask & ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES + i)))
			continue;
		page = own ? load(&own->page[i]) : NULL;
		if (unlikely(!page)) {
			begin(mask);
			page = load(&own->page[i]);
		}
		value = counter_value(page, counter_rdpmc);
		memcpy(p, &value, sizeof value);
		p += sizeof value;
	}
	return p;
}

/* ---------------------------------------------------------------- fork */

void counters_before_fork(void)
{
	for (int i = 0; i < COUNTERS; i++)
		of_forker[i] = own ? own->page[i] : NULL;
}

void counters_forked(void)
{
	size_t page_size = getauxval(AT_PAGESZ);

	/* If something else is there by now, an earlier handler of pthread_atfork mapped it: it
	 * stays. */
	for (int i = 0; i < COUNTERS; i++)
		if (of_forker[i] && of_forker[i] != &no_page)
			mmap((void *)of_forker[i], page_size, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
